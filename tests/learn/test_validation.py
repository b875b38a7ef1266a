"""Held-out articles: never walked in training, the best weights there are kept, and training stops in time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.errors import InputError
from linkwalk.graph.csr import transpose
from linkwalk.graph.held_out import held_out_nodes
from linkwalk.learn.clone import Batches, CloneConfig, Validation, clone, within
from linkwalk.learn.metrics import read_rows
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head
from tests.graph.conftest import Page, csr, random_graph, write_graph
from tests.learn.conftest import WIDTH, World

HELD_OUT = np.arange(60) < 20


def test_whole_articles_are_held_out_whatever_else_the_wiki_holds(tmp_path: Path) -> None:
    pages = {f"Article {i}": [Page("a"), Page("b")] for i in range(2000)}
    graph = write_graph(tmp_path / "a", pages)
    held_out = held_out_nodes(graph, 0.1)
    assert (held_out[::2] == held_out[1::2]).all()
    assert held_out.mean() == pytest.approx(0.1, abs=0.03)
    fewer = write_graph(
        tmp_path / "b", {title: blocks for title, blocks in pages.items() if title[-1] != "3"}
    )
    again = held_out_nodes(fewer, 0.1)
    names = {graph.name(int(n)) for n in np.flatnonzero(held_out)}
    assert {fewer.name(int(n)) for n in np.flatnonzero(again)} == {
        n for n in names if n.split()[1][-1] != "3"
    }
    assert (held_out_nodes(graph, 0.3) >= held_out).all()
    assert not held_out_nodes(graph, 0.0).any()


def test_links_within(tmp_path: Path) -> None:
    graph = random_graph(tmp_path, np.random.default_rng(3), articles=20)
    chosen = np.random.default_rng(0).random(graph.nodes) < 0.6
    found, kinds = within(graph.forward, graph.out_kinds, chosen)
    assert found.nodes == graph.nodes
    for node in range(graph.nodes):
        row = slice(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1]))
        expected = [
            (int(t), int(k))
            for t, k in zip(graph.out_targets[row], graph.out_kinds[row], strict=True)
            if chosen[node] and chosen[t]
        ]
        mine = slice(int(found.indptr[node]), int(found.indptr[node + 1]))
        assert list(zip(found.indices[mine].tolist(), kinds[mine].tolist(), strict=True)) == expected


@pytest.mark.parametrize("walks", ["forward", "reverse", "shortest", "shortcut"])
def test_training_and_validation_share_no_page(walks: str, world: World) -> None:
    config = CloneConfig(head=HeadConfig(width=WIDTH), walks=walks, steps=4)
    validation = Validation(
        config, *within(world.forward, world.kinds, HELD_OUT), NodeTable.of(world.vectors, "cpu")
    )
    seen = validation.decisions
    for nodes in (
        seen.current,
        seen.goal,
        seen.target,
        validation.episodes.starts,
        validation.episodes.goals,
    ):
        assert HELD_OUT[nodes].all()
    forward, kinds = within(world.forward, world.kinds, ~HELD_OUT)
    drawn = Batches(config, forward, transpose(forward), kinds).draw(
        200, np.random.default_rng(0), build_head(config.head)
    )
    for nodes in (drawn.current, drawn.goal, drawn.target):
        assert not HELD_OUT[nodes].any()


def test_the_best_weights_are_kept(world: World, tmp_path: Path) -> None:
    """At a rate that ruins the policy, the best weights are early ones."""
    config = CloneConfig(
        head=HeadConfig(width=WIDTH, hidden=8),
        steps=6,
        batch=16,
        updates=400,
        learning_rate=0.3,
        validation=0.3,
        evaluate_every=10,
        patience=4,
    )
    head = clone(*world, config, held_out=HELD_OUT, folder=tmp_path / "p")
    looks = [row for row in read_rows(tmp_path / "p") if "validation_loss" in row]
    losses = [row["validation_loss"] for row in looks]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + config.patience < 400 / 10
    validation = Validation(
        config, *within(world.forward, world.kinds, HELD_OUT), NodeTable.of(world.vectors, "cpu")
    )
    assert validation.measure(head)["validation_loss"] == losses[best]
    assert losses[0] == validation.measure(build_untrained(config))["validation_loss"]


def build_untrained(config: CloneConfig) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        return build_head(config.head)


def test_success_can_be_the_criterion(world: World, tmp_path: Path) -> None:
    config = CloneConfig(
        head=HeadConfig(head="feedforward", width=WIDTH),
        steps=6,
        batch=16,
        updates=100,
        learning_rate=0.01,
        validation=0.3,
        evaluate_every=20,
        criterion="success",
    )
    head = clone(*world, config, held_out=HELD_OUT, folder=tmp_path / "p")
    successes = [row["success"] for row in read_rows(tmp_path / "p") if "success" in row]
    validation = Validation(
        config, *within(world.forward, world.kinds, HELD_OUT), NodeTable.of(world.vectors, "cpu")
    )
    assert validation.measure(head)["success"] == max(successes) > successes[0]


def test_the_share_and_the_nodes_go_together(world: World) -> None:
    for share, held_out, words in ((0.3, None, "not given"), (0.0, HELD_OUT, "given")):
        config = CloneConfig(head=HeadConfig(width=WIDTH), validation=share)
        with pytest.raises(InputError, match=f"validation={share:g}, but held-out nodes are {words}"):
            clone(*world, config, held_out=held_out)


def test_too_little_held_out(world: World) -> None:
    lonely = csr(4, [(0, 1), (1, 0), (2, 0)])
    with pytest.raises(InputError, match="too few links among themselves: hold out more, or none"):
        clone(
            lonely,
            transpose(lonely),
            np.zeros(3, np.uint8),
            np.eye(4, dtype=np.float32),
            CloneConfig(head=HeadConfig(width=4), validation=0.5),
            held_out=np.array([False, False, True, True]),
        )
