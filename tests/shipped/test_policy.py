"""The policy that ships: its files are there, small, with the encoder it goes by, described, and in the wheel."""

import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np

from linkwalk import shipped
from linkwalk.embed import Embeddings
from linkwalk.policy.checkpoint import is_compass, load_compass, read_policy

ROOT = Path(__file__).parents[2]
FILES = {"manifest.json", "weights.safetensors", "MODEL_CARD.md"}
FILES |= {f"{part}.{kind}" for part in ("encoder", "target") for kind in ("json", "safetensors")}
LIMIT = 4_000_000


def test_its_files_are_small() -> None:
    folder = files("linkwalk.shipped") / "policy"
    sizes = {file.name: len(file.read_bytes()) for file in folder.iterdir()}
    assert set(sizes) >= FILES
    assert set(sizes) - FILES <= {"map.json"}
    assert sum(sizes.values()) <= LIMIT
    assert shipped.policy_path() == Path(str(folder))


def test_it_is_a_compass_for_the_encoder_it_brings(embedded_world: Path) -> None:
    manifest = read_policy(shipped.policy_path())
    assert is_compass(manifest)
    table = Embeddings.open(embedded_world)
    assert (manifest["encoder"], manifest["encoder_name"]) == (table.fingerprint, "minilm-walks")
    direction = load_compass(shipped.policy_path(), table.fingerprint)
    assert direction.bias.shape == (table.width,)
    assert np.abs(direction.weight).max() > 0, "trained"


def test_its_target_encoder_is_of_that_encoder_too(embedded_world: Path) -> None:
    from linkwalk.policy.target import load_target

    encoder = load_target(shipped.policy_path(), Embeddings.open(embedded_world), device="cpu")
    assert encoder is not None
    assert np.isfinite(encoder.encode(["A sentence of its goal."])).all()


def test_the_card_is_of_this_policy() -> None:
    manifest = read_policy(shipped.policy_path())
    card = (shipped.policy_path() / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert len(card.splitlines()) <= 120
    for heading in ("What it is", "Data", "Recipe", "Results", "Intended use", "Limits", "Licence"):
        assert f"\n## {heading}" in card, heading
    on = manifest["trained_on"]["wikis"]
    assert "schools2007 (train half)" in on, "figures on the eval half are of this run"
    assert not any("computing" in name for name in on), "it is for testing alone"
    for fact in (manifest["encoder"], *on):
        assert fact in card, "the card is of another run"


def test_the_wheel_has_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    here = {f"linkwalk/shipped/policy/{path.name}" for path in shipped.policy_path().iterdir()}
    assert here <= set(zipfile.ZipFile(wheel).namelist())
