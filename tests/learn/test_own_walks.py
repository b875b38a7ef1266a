"""Decisions on the policy's own walks: the right links are right, and a compass gets better by them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.learn.clone import Batches, CloneConfig, clone, cloning_loss
from linkwalk.learn.own_walks import PICKS, NothingToDecide, OwnWalks
from linkwalk.navigate import Episodes, Journeys, open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.policy.decisions import Decisions
from linkwalk.policy.heads import CompassHead, HeadConfig, NodeTable, build_head
from linkwalk.recipes import RECIPES
from linkwalk.settings import with_settings
from tests.graph.conftest import csr
from tests.learn.conftest import WIDTH, World, padded
from tests.walks.conftest import unsorted_graph


def own_walks(graph: Csr, vectors: NDArray[np.float32], *, workers: int = 1, steps: int = 10) -> OwnWalks:
    kinds = (np.arange(len(graph.indices)) % 4).astype(np.uint8)
    return OwnWalks(graph, transpose(graph), kinds, vectors, steps=steps, multistep=True, workers=workers)


def compass(width: int) -> CompassHead:
    return CompassHead(HeadConfig(head="compass", width=width))


def distances_to(graph: Csr, goal: int) -> dict[int, int]:
    """How many links lead from each page to the goal, of those that lead there."""
    into = [[a for a in range(graph.nodes) if b in graph.row(a)] for b in range(graph.nodes)]
    found, level = {goal: 0}, [goal]
    while level:
        level = list(dict.fromkeys(a for b in level for a in into[b] if a not in found))
        found |= dict.fromkeys(level, max(found.values()) + 1)
    return found


def right_links(
    graph: Csr, kinds: NDArray[np.uint8], path: list[int], goal: int
) -> list[tuple[int, int, int]]:
    """Of the last page's links those to unseen pages that lead to the goal: target, kind, distance."""
    to = distances_to(graph, goal)
    row = slice(graph.indptr[path[-1]], graph.indptr[path[-1] + 1])
    links = zip(graph.row(path[-1]).tolist(), kinds[row].tolist(), strict=True)
    return [(target, kind, to[target]) for target, kind in links if target not in path and target in to]


def test_the_right_links_are_those_nearer_to_the_goal() -> None:
    kept = left_out = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        graph = unsorted_graph(rng, nodes=25, links=3)
        vectors = unit_rows(rng.normal(size=(25, 6)))
        own = own_walks(graph, vectors)
        walks = own.goals.sample(10, rng)
        episodes = Episodes.of(walks.starts, walks.goals)
        journeys = CompassWalker("p", compass(6), graph, vectors).run(episodes, budget=15)
        decisions, walk = own.label(episodes.goals, journeys, rng)
        assert len(walk) == len(decisions.current) == len(decisions.indptr) - 1
        assert (np.bincount(walk) <= PICKS).all()
        assert (np.diff(walk) >= 0).all()
        left_out += PICKS * 10 - len(walk)
        for s, w in enumerate(walk.tolist()):
            row = slice(decisions.indptr[s], decisions.indptr[s + 1])
            goal, path = int(episodes.goals[w]), journeys.path(w).tolist()
            assert decisions.goal[s] == goal
            assert decisions.current[s] in path[: len(path) - int(journeys.success[w])]
            found = list(zip(decisions.target[row].tolist(), decisions.kind[row].tolist(), strict=True))
            # The step is not told; the page may have been stood on more than once.
            steps = [t for t in range(len(path)) if path[t] == decisions.current[s]]
            options = [right_links(graph, own.kinds, path[: t + 1], goal) for t in steps]
            option = next(o for o in options if [(target, kind) for target, kind, _ in o] == found)
            assert len(option) > 1
            distance = np.array([d for _, _, d in option])
            share = np.exp(-3.0 * (distance - distance.min()))
            assert np.allclose(decisions.share[row], share / share.sum(), atol=1e-6)
            assert decisions.share[row].sum() == pytest.approx(1)
            assert distance[decisions.share[row].argmax()] == distance.min()
            kept += 1
        assert not decisions.visited.any()
        assert len(decisions.taken) == 0
    assert kept > 150
    assert left_out > 50


def test_every_step_but_the_last_can_be_picked() -> None:
    #  0 > 1 > 2 > 3 > 4 > 5, and from each page links to two that lead on.
    graph = csr(8, [(i, i + d) for i in range(7) for d in (1, 2, 2) if i + d < 8])
    own = own_walks(graph, unit_rows(np.random.default_rng(0).normal(size=(8, 4))))
    journeys = Journeys.blank(200, 9)
    journeys.nodes[:, :6], journeys.steps[:] = np.arange(6), 5
    decisions, walk = own.label(np.full(200, 7, np.int32), journeys, np.random.default_rng(1))
    assert np.bincount(walk, minlength=200).tolist() == [PICKS] * 200
    counts = np.bincount(decisions.current)
    assert len(counts) == 5
    assert (abs(counts / counts.sum() - 0.2) < 0.05).all()


def test_a_draw_is_steps_of_walks_between_different_pages(world: World) -> None:
    graph, reverse, kinds, vectors = world
    own = OwnWalks(graph, reverse, kinds, unit_rows(vectors), steps=12, multistep=True)
    decisions = own.draw(64, np.random.default_rng(0), compass(WIDTH))
    assert (decisions.current != decisions.goal).all()
    assert decisions.share is not None
    assert np.allclose(np.add.reduceat(decisions.share, decisions.indptr[:-1]), 1, atol=1e-6)
    targets = [graph.row(int(node)).tolist() for node in decisions.current]
    for s, links in enumerate(targets):
        assert set(decisions.target[decisions.indptr[s] : decisions.indptr[s + 1]].tolist()) <= set(links)


def test_workers_do_not_matter(world: World) -> None:
    def draw(workers: int, seed: int) -> Decisions:
        graph, reverse, kinds, vectors = world
        own = OwnWalks(graph, reverse, kinds, unit_rows(vectors), steps=9, multistep=True, workers=workers)
        rng = np.random.default_rng(seed)
        own.draw(7, rng, compass(WIDTH))
        return own.draw(33, rng, compass(WIDTH))

    one = draw(1, 4)
    for workers in (2, 5, 40, OwnWalks.workers):
        for mine, other in zip(one, draw(workers, 4), strict=True):
            np.testing.assert_array_equal(mine, other)
    assert not np.array_equal(one.goal, draw(1, 5).goal)


def test_nothing_to_decide() -> None:
    ring = csr(5, [(i, (i + 1) % 5) for i in range(5)])
    own = own_walks(ring, unit_rows(np.eye(5)))
    with pytest.raises(NothingToDecide, match="no page has two links towards a goal"):
        own.draw(30, np.random.default_rng(0), compass(5))
    # A one-way street with one crossing, and batches of three walks: many have nothing to decide, and it goes on.
    street = csr(11, [*((i, (i + 1) % 10) for i in range(10)), (3, 10), (10, 5)])
    own = own_walks(street, unit_rows(np.random.default_rng(0).normal(size=(11, 5))), steps=4)
    rng = np.random.default_rng(0)
    for _ in range(20):
        decisions = own.draw(3, rng, compass(5))
        assert set(decisions.current.tolist()) == {3}


def test_the_loss_is_the_mean_over_all_that_is_right(world: World) -> None:
    graph, reverse, kinds, vectors = world
    own = OwnWalks(graph, reverse, kinds, unit_rows(vectors), steps=9, multistep=True)
    head, table = compass(WIDTH), NodeTable(torch.as_tensor(vectors))
    found = own.draw(20, np.random.default_rng(0), head)
    loss, agreed = cloning_loss(head, table, found)
    rows = padded(table.logits(head, found)[0].detach(), found.indptr, fill=-1e9)
    share = padded(torch.as_tensor(found.share), found.indptr, fill=0)
    assert loss.item() == pytest.approx(cross_entropy(rows, share).item(), rel=1e-6)
    chosen = (share * (rows >= rows.max(1, keepdim=True).values)).sum(1)
    assert agreed.item() == pytest.approx(chosen.mean().item(), rel=1e-6)
    bounds = list(zip(found.indptr, found.indptr[1:], strict=False))
    # With all of it on one link it is the loss of having taken that one.
    best = np.array([a + found.share[a:b].argmax() for a, b in bounds])
    alone = np.zeros_like(found.share)
    alone[best] = 1
    one, same = cloning_loss(head, table, found._replace(share=alone))
    taken, accuracy = cloning_loss(head, table, found._replace(share=None, taken=best))
    assert one.item() == pytest.approx(taken.item())
    assert same.item() == pytest.approx(accuracy.item())


def test_it_learns_what_tells_the_way(world: World, tmp_path: Path) -> None:
    """Half of the features are noise."""
    graph, reverse, kinds, vectors = world
    rng = np.random.default_rng(3)
    noisy = np.concatenate((vectors, rng.normal(size=vectors.shape, scale=0.5).astype(np.float32)), 1)
    units = unit_rows(noisy)
    settings = ["updates=120", "batch=48", "steps=30", "trust=1", "learning_rate=0.03", "head.dropout=0.2"]
    config = with_settings(RECIPES["ours"](2 * WIDTH), settings)
    own = OwnWalks(graph, reverse, kinds, units, steps=30, multistep=True)
    table, fixed = (
        NodeTable(torch.as_tensor(noisy)),
        own.draw(200, np.random.default_rng(9), compass(2 * WIDTH)),
    )
    head = clone(graph, reverse, kinds, noisy, config)
    assert isinstance(head, CompassHead)
    with torch.no_grad():
        before = cloning_loss(compass(2 * WIDTH).eval(), table, fixed)[0].item()
        after = cloning_loss(head, table, fixed)[0].item()
    assert after < 0.8 * before
    episodes = Episodes.of(rng.integers(0, 60, 400), rng.integers(0, 60, 400))
    learned = CompassWalker("p", head, graph, units).run(episodes, budget=12).success.mean()
    cosine = open_baseline("greedy-map", graph, units).run(episodes, budget=12).success.mean()
    assert learned > cosine + 0.15


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["head.head=residual"], "walks=own is for a head that walks with a map, not for residual"),
        (["head.head=feedforward"], "not for feedforward: choose head.head=compass, or walks=shortcut"),
        (["edge_dropout=0.5"], "edge_dropout=0.5 is for walks that are imitated; with walks=own choose"),
        (["head.visited=false"], "head.visited=false: what walks with a map never looks at that"),
    ],
)
def test_what_goes_together(settings: list[str], message: str) -> None:
    with pytest.raises(InputError) as refused:
        with_settings(RECIPES["ours"](8), settings)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    # In any order, what makes sense in the end is taken.
    others = with_settings(RECIPES["ours"](8), [*settings, "walks=shortcut"])
    assert (others.walks, others.updates) == ("shortcut", RECIPES["ours"](8).updates)
    back = ["edge_dropout=0", "walks=own", "head.head=compass"]
    assert with_settings(RECIPES["residual"](8), back).walks == "own"
    assert with_settings(RECIPES["residual"](8), back[::-1]).head.head == "compass"


def test_only_a_compass_walks_by_itself(world: World) -> None:
    graph, reverse, kinds, _ = world
    config = CloneConfig(head=HeadConfig(head="compass", width=WIDTH), walks="own", edge_dropout=0)
    with pytest.raises(InputError, match="only a compass walks by itself"):
        Batches(config, graph, reverse, kinds)


@pytest.mark.parametrize("trust", [0.0, 0.25, 1.0])
def test_how_far_the_weights_are_kept(world: World, trust: float) -> None:
    settings = ["updates=5", "batch=8", "steps=5", "learning_rate=0.01", "warmup=0", "schedule=constant"]
    config = with_settings(RECIPES["residual"](WIDTH), settings)
    whole = clone(*world, config).state_dict()
    kept = clone(*world, with_settings(config, [f"trust={trust}"])).state_dict()
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        first = build_head(config.head).state_dict()
    assert any(not torch.allclose(whole[name], first[name], atol=1e-4) for name in whole)
    for name, value in kept.items():
        assert torch.allclose(value, first[name] + trust * (whole[name] - first[name]), atol=1e-6)
