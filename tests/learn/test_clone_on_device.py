"""Cloning that stays on the device: the updates of a loop on the host, one after another."""

from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice
from linkwalk.learn.clone import CloneConfig, clone, cloning_loss
from linkwalk.learn.clone_on_device import CloneOnDevice, clone_recorded, recordable
from linkwalk.learn.metrics import read_rows
from linkwalk.policy import from_walks, without
from linkwalk.policy.heads import FeedForward, HeadConfig, NodeTable
from linkwalk.progress import Progress
from linkwalk.recipes import RECIPES
from linkwalk.settings import with_settings
from linkwalk.walks import ForwardWalks, ReverseWalks, drop_edges
from tests.graph.conftest import random_graph
from tests.on_device import DEVICE, way
from tests.walks.conftest import turned, unsorted_graph

__all__ = ["way"]
WIDTH, STEPS, UPDATES = 8, 4, 12


def world():
    rng = np.random.default_rng(0)
    graph = unsorted_graph(rng, nodes=50, links=6.0)
    kinds = rng.integers(0, 4, len(graph.indices)).astype(np.uint8)
    vectors = torch.tensor(rng.normal(size=(50, WIDTH)), dtype=torch.float32, device=DEVICE)
    return graph, kinds, vectors


def new_head() -> tuple[FeedForward, torch.optim.Optimizer]:
    torch.manual_seed(0)
    head = FeedForward(HeadConfig(width=WIDTH)).to(DEVICE)
    capturable = DEVICE.type == "cuda"
    return head, torch.optim.RMSprop(head.parameters(), lr=0.01, alpha=0.9, eps=1e-5, capturable=capturable)


def trainer(config: CloneConfig, *, reverse: bool = False) -> CloneOnDevice:
    graph, kinds, vectors = world()
    forward = DeviceGraph.of(graph, kinds, device=DEVICE)
    walked = DeviceGraph.of(turned(graph), device=DEVICE) if reverse else forward
    walks = WalksOnDevice(walked, steps=STEPS, reverse=reverse)
    return CloneOnDevice(*new_head(), forward, walks, vectors, config)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("edge_dropout", [0.0, 0.5])
@pytest.mark.parametrize("reverse", [False, True])
def test_losses_and_weights_are_those_of_the_loop_on_the_host(edge_dropout: float, reverse: bool) -> None:
    config = CloneConfig(batch=12, updates=UPDATES, edge_dropout=edge_dropout, seed=3)
    there = trainer(config, reverse=reverse)
    there.run()
    graph, kinds, vectors = world()
    head, optimiser = new_head()
    forward, backward = ForwardWalks(graph, steps=STEPS), ReverseWalks(graph, turned(graph), steps=STEPS)
    sampler = backward if reverse else forward
    rng = np.random.default_rng(config.seed)
    here = []
    for _ in range(UPDATES):
        walks = sampler.sample(config.batch, rng)
        decisions = from_walks(walks, graph, kinds)
        if edge_dropout:
            decisions = without(decisions, drop_edges(graph, walks, probability=edge_dropout, rng=rng).hidden)
        loss, accuracy = cloning_loss(head, NodeTable(vectors), decisions)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        here.append((loss.item(), accuracy.item()))
    assert np.allclose(there.metrics.cpu().numpy(), here, atol=2e-3)
    for a, b in zip(there.head.parameters(), head.parameters(), strict=True):
        assert torch.allclose(a, b, atol=2e-3)


def test_a_run_in_pieces_is_the_same_run() -> None:
    config = CloneConfig(batch=8, updates=9)
    whole, pieces = trainer(config), trainer(config)
    whole.run()
    for updates in (1, 5, None):
        pieces.run(updates)
    assert torch.equal(whole.metrics, pieces.metrics)
    assert [row["update"] for row in whole.rows(every=4)] == [1, 4, 8, 9]
    with pytest.raises(InputError, match="0 of 9 are left"):
        whole.run(1)


def test_training_makes_the_walks_likelier() -> None:
    done = trainer(CloneConfig(batch=32, updates=150))
    done.run()
    losses = done.metrics[:, 0]
    assert losses[-20:].mean() < losses[:5].mean() - 0.5


def test_no_probability() -> None:
    with pytest.raises(InputError, match="choose 0 to 1"):
        trainer(CloneConfig(edge_dropout=1.5))


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
