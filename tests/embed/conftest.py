"""A small graph of real prose, and the one real encoder, loaded once."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from linkwalk.embed.model import find_model
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.graph.store import Graph
from tests.graph.conftest import Page, write_graph

TEXTS = [
    "The Danube rises in the Black Forest and reaches the sea after 2,850 kilometres.",
    "Copper conducts heat.",
    "",
    "東京 is the capital of Japan; Москва is that of Russia. Naïve café.",
    "A fugue takes one theme and lets every voice enter with it in turn, first alone and then against the others, "
    "until the whole texture is made of a single thought. " * 12,
    "She was born in 1945.",
    "x",
    "Orbits of planets are ellipses with the sun at one focus, as Kepler found in the tables of Tycho Brahe.",
    "In 1869 Mendeleev set the elements out by weight and left gaps where none was known.",
    "Glass is a liquid? No: glass is an amorphous solid, and old windows are thicker below because they were made so.",
    "A bridge of stone stands by its weight, a bridge of steel by its tension.",
    "The letter was never sent.",
]


def pages(count: int = 10) -> dict[str, list[Page]]:
    """Articles of two blocks each, so that a title serves more than one block."""
    return {
        f"Article {i} é": [Page(f"{TEXTS[i % 4]} Number {i}."), Page(f"{TEXTS[5 + i % 7]} Again {i}.")]
        for i in range(count)
    }


def tiny_bert(folder: Path, kind: str = "BertModel", *, seed: int = 0, **config: Any) -> Path:
    """One thin layer of random weights that reads MiniLM's tokens: a model folder like any other."""
    import transformers

    torch.manual_seed(seed)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = getattr(transformers, kind)(transformers.BertConfig(**sizes | config))
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(model.config.to_dict()))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(find_model("minilm").path / name, folder / name)
    return folder


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Twenty short blocks in the workspace ``tmp_path / "wiki"``."""
    return write_graph(tmp_path / "wiki", pages())


@pytest.fixture(scope="session")
def minilm() -> TransformerEncoder:
    return open_transformer("minilm", device="cpu")
