"""Makes what ``runs/evidence`` trained the reranker that ships.

    python runs/ship_evidence.py DIR [--seed 0] [--exit 3] [--about FILE] [--into FOLDER]

DIR has ``blocksSEED.safetensors``, ``searchSEED.safetensors`` and ``weightsSEED.json``. The model card stays. FILE is
JSON that goes into the manifest as it is: what it was trained on, and how.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from linkwalk.embed.job import EmbedConfig, transformer_fingerprint
from linkwalk.embed.model import MINILM, MINILM_WALKS, find_model
from linkwalk.retrieve.block_folder import SearchReader, read_ranking, save_blocks
from linkwalk.retrieve.cross import BlockConfig, load_cross
from linkwalk.retrieve.judge import JudgeWeights
from linkwalk.shipped import reranker_path

CARD = "MODEL_CARD.md"


def main() -> None:
    """Put it in its place."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trained", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exit", type=int, default=3, help="Layers up to the first head, as it was trained.")
    parser.add_argument("--max-tokens", type=int, default=176, help="Of a pair, as it was trained.")
    parser.add_argument("--about", type=Path)
    parser.add_argument("--into", type=Path, default=reranker_path())
    asked = parser.parse_args()
    weights = load_file(asked.trained / f"blocks{asked.seed}.safetensors")
    rank = next(value.shape[1] for name, value in weights.items() if name.endswith(".up"))
    config = BlockConfig(encoder=MINILM, rank=rank, exit=asked.exit, max_tokens=asked.max_tokens)
    search, ranking = (
        asked.trained / f"search{asked.seed}.safetensors",
        asked.trained / f"weights{asked.seed}.json",
    )
    table = transformer_fingerprint(EmbedConfig(encoder=MINILM_WALKS))
    with tempfile.TemporaryDirectory() as place:
        new = Path(place) / "reranker"
        save_blocks(
            new,
            {name: np.asarray(value, np.float32) for name, value in weights.items()},
            config,
            find_model(MINILM).fingerprint,
            {} if asked.about is None else json.loads(asked.about.read_text("utf-8")),
            ranking=JudgeWeights.from_json(json.loads(ranking.read_text("utf-8")))
            if ranking.exists()
            else None,
            search=SearchReader(table, load_file(search)) if search.exists() else None,
        )
        load_cross(new)
        read_ranking(new)
        if (card := asked.into / CARD).exists():
            shutil.copyfile(card, new / CARD)
        shutil.rmtree(asked.into, ignore_errors=True)
        shutil.copytree(new, asked.into, copy_function=shutil.copyfile)
    size = sum(path.stat().st_size for path in asked.into.iterdir())
    print(f"{asked.into}: {size:,} bytes, {', '.join(sorted(path.name for path in asked.into.iterdir()))}")


if __name__ == "__main__":
    main()
