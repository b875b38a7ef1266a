"""Makes a policy that brings its encoder (``linkwalk train-wikis``) the one that ships, small enough for that.

    python runs/ship.py POLICY [--rank 32] [--map map.json] [--constants '{"homing": 0.06}'] [--into FOLDER]

Of what was added to each layer of the encoder the leading directions stay; the encoder is called ``minilm-walks`` from
then on, and the compass and what turns sentences are for it. The model card stays, with the encoder's new fingerprint.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from linkwalk.artifact import MANIFEST, read_json, seal, write_json
from linkwalk.embed import encoder_change as changed
from linkwalk.embed.encoder_change import EncoderChange, leading, read_change, save_change
from linkwalk.embed.job import EmbedConfig, transformer_fingerprint
from linkwalk.embed.model import MINILM, MINILM_WALKS, find_model
from linkwalk.navigate.trained_map import MAP, read_map
from linkwalk.policy import target
from linkwalk.policy.checkpoint import WEIGHTS
from linkwalk.shipped import policy_path

CARD = "MODEL_CARD.md"
CALLED = {"train": "schools2007 (train half)", "simple": "Simple English Wikipedia (part)"}
"""What a card calls the workspaces that a policy was trained on, where their folders are called otherwise."""


def cut(change: EncoderChange, rank: int) -> EncoderChange:
    """The same change with the leading directions alone, of the MiniLM that is installed."""
    weights = {}
    for layer in sorted({name.rpartition(".")[0] for name in change.weights}):
        whole = change.weights[f"{layer}.up"] @ change.weights[f"{layer}.down"]
        weights[f"{layer}.up"], weights[f"{layer}.down"] = leading(whole, rank)
    return EncoderChange(MINILM, find_model(MINILM).fingerprint, weights)


def settings(about: dict[str, Any], rank: int) -> dict[str, Any]:
    """How it was trained, as a manifest has it."""
    return {"config": about["config"] | {"kept_rank": rank}} if "config" in about else {}


def made(
    policy: Path, folder: Path, rank: int, map_file: Path | None, constants: dict[str, float]
) -> dict[str, Any]:
    """Write the policy as it ships into a folder; returns its manifest."""
    about = {name: read_json(policy / name, "") for name in (changed.MANIFEST, target.MANIFEST, MANIFEST)}
    change = read_change(policy)
    save_change(folder, cut(change, rank), settings(about[changed.MANIFEST], rank))
    if all(value.shape[1] <= rank for name, value in change.weights.items() if name.endswith(".up")):
        shutil.copyfile(policy / changed.WEIGHTS, folder / changed.WEIGHTS)  # bytes are not rounded twice
    encoder = transformer_fingerprint(EmbedConfig(encoder=str(folder)))
    called = {"encoder": encoder, "encoder_name": MINILM_WALKS}
    reader, whole = about[target.MANIFEST], about[MANIFEST]
    write_json(folder / target.MANIFEST, reader | settings(reader, rank) | called)
    for name in (target.WEIGHTS, WEIGHTS):
        shutil.copyfile(policy / name, folder / name)
    if map_file is not None:
        read_map(map_file)  # refuses what is none
        shutil.copyfile(map_file, folder / MAP)
    on = [CALLED.get(name, name) for name in whole["trained_on"]["wikis"]]
    whole["map"] = whole.get("map", {}) | constants
    return seal(folder, whole | settings(whole, rank) | called | {"trained_on": {"wikis": on}})


def main() -> None:
    """Put the policy in its place."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policy", type=Path)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--map", type=Path, dest="map_file", help="The map that it is to walk by.")
    parser.add_argument("--constants", type=json.loads, default={}, help="Of its map, in place of its own.")
    parser.add_argument("--into", type=Path, default=policy_path())
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        new = Path(place) / "policy"
        manifest = made(args.policy, new, args.rank, args.map_file, args.constants)
        card, old = args.into / CARD, args.into / MANIFEST
        if card.exists() and old.exists():
            before = str(read_json(old, "")["encoder"])
            (new / CARD).write_text(card.read_text("utf-8").replace(before, manifest["encoder"]), "utf-8")
        shutil.rmtree(args.into, ignore_errors=True)
        shutil.copytree(new, args.into, copy_function=shutil.copyfile)
    size = sum(path.stat().st_size for path in args.into.iterdir())
    print(f"{args.into}: encoder {manifest['encoder']}, {size:,} bytes")


if __name__ == "__main__":
    main()
