"""Recorded updates are the loop's."""

from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.learn.clone import clone
from linkwalk.learn.clone_recorded import clone_recorded, recordable
from linkwalk.learn.metrics import read_rows
from linkwalk.progress import Progress
from linkwalk.recipes import RECIPES, with_settings
from tests.graph.conftest import random_graph


@pytest.mark.parametrize("walks", ["forward", "reverse"])
@pytest.mark.parametrize("multistep", ["true", "false"])
def test_the_same_training_as_the_loop(tmp_path: Path, walks: str, multistep: str) -> None:
    graph = random_graph(tmp_path / "wiki", np.random.default_rng(1), articles=20, links=3.0)
    embed(tmp_path / "wiki", EmbedConfig(encoder="random", width=16))
    vectors = Embeddings.open(tmp_path / "wiki", "random", graph).vectors
    # A floor under RMSProp's root: without it, rounding decides the sign of a weight's first steps.
    settings = [
        f"walks={walks}",
        f"multistep={multistep}",
        "steps=5",
        "batch=16",
        "updates=12",
        "epsilon=1e-4",
    ]
    config = with_settings(RECIPES["paper"](16), settings)
    assert recordable(config)
    there = clone_recorded(
        graph, vectors, config, device="cpu", folder=tmp_path / "there", progress=Progress(quiet=True)
    )
    here = clone(
        graph.forward, graph.reverse, graph.out_kinds, vectors, config, device="cpu", folder=tmp_path / "here"
    )
    rows = [read_rows(tmp_path / "there"), read_rows(tmp_path / "here")]
    assert [[row["update"] for row in own] for own in rows] == [[1, 12], [1, 12]]
    for ours, theirs in zip(*rows, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=2e-3)
        assert ours["seconds"] >= 0
    for a, b in zip(there.parameters(), here.parameters(), strict=True):
        assert torch.allclose(a, b, atol=2e-3)


@pytest.mark.parametrize(
    "setting",
    [
        "walks=shortest",
        "head.head=mlp",
        "head.visited=false",
        "optimiser=adamw",
        "schedule=cosine",
        "warmup=5",
        "validation=0.1",
    ],
)
def test_what_it_does_not_know_is_left_to_the_loop(setting: str) -> None:
    assert not recordable(with_settings(RECIPES["paper"](16), [setting]))
