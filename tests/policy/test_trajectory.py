"""A transformer over the walk: page by page or at once it comes to the same, and it is trained, kept and walks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from linkwalk.errors import InputError
from linkwalk.graph.csr import transpose
from linkwalk.learn.clone import clone
from linkwalk.learn.metrics import read_rows
from linkwalk.navigate import Episodes
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.checkpoint import load_policy, save_policy
from linkwalk.policy.decisions import from_walks
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head, trajectory_of
from linkwalk.policy.trajectory import Trajectory, TrajectoryConfig
from linkwalk.recipes import RECIPES
from linkwalk.settings import with_settings
from linkwalk.walks import ForwardWalks
from tests.graph.conftest import csr
from tests.learn.stopping import same_when_stopped

SMALL = TrajectoryConfig(layers=2, heads=3, size=4, inner=20)
TINY = tuple(f"head.trajectory.{size}" for size in ("layers=1", "heads=2", "size=4", "inner=16"))
COUNT, WIDTH = 30, 8
GRAPH = csr(COUNT, sorted({(i, (i + d) % COUNT) for i in range(COUNT) for d in (1, -1, 7)}))
KINDS = np.full(len(GRAPH.indices), 2, np.uint8)
VECTORS = np.random.default_rng(0).standard_normal((COUNT, WIDTH)).astype(np.float32)
HEAD = HeadConfig(head="transformer", width=WIDTH, trajectory=SMALL)


@pytest.fixture
def model() -> Trajectory:
    torch.manual_seed(0)
    return Trajectory(WIDTH, 5, SMALL).eval()


@torch.no_grad()
def test_page_by_page_is_the_same_as_at_once(model: Trajectory) -> None:
    pages, goals = torch.randn(4, 6, WIDTH), torch.randn(4, WIDTH)
    whole = model.along(pages, goals)
    remembered = model.begin(goals, 6)
    for step in range(3):
        assert torch.allclose(remembered.see(pages[:, step]), whole[:, step], atol=1e-5)
    some = torch.tensor([3, 1])
    remembered.keep(some)
    for step in range(3, 6):
        assert torch.allclose(remembered.see(pages[some, step]), whole[some, step], atol=1e-5)


@torch.no_grad()
def test_a_state_knows_the_goal_and_the_past_but_not_the_future(model: Trajectory) -> None:
    pages, goals = torch.randn(1, 5, WIDTH), torch.randn(1, WIDTH)
    whole = model.along(pages, goals)
    other = pages.clone()
    other[0, 2] = torch.randn(WIDTH)
    changed = model.along(other, goals)
    assert torch.allclose(changed[0, :2], whole[0, :2], atol=1e-6)
    assert (changed[0, 2:] - whole[0, 2:]).abs().amax(-1).min() > 1e-4
    assert not torch.allclose(model.along(pages, goals + torch.randn(WIDTH))[0, 0], whole[0, 0], atol=1e-4)


@torch.no_grad()
def test_a_walk_is_seen_as_it_was_learned() -> None:
    torch.manual_seed(1)
    head = build_head(HEAD).eval()
    agent = PolicyWalker("policy", head, GRAPH, KINDS, VECTORS, MoveConfig(revisit=True))
    episodes = Episodes.of(np.arange(12), (np.arange(12) * 5 + 3) % COUNT)
    journeys = agent.run(episodes, budget=9)
    table = NodeTable.of(VECTORS, "cpu")
    for episode in range(12):  # at each page, the likeliest link of the pass over the whole walk
        path = journeys.path(episode)
        walk = ForwardWalks(GRAPH, steps=1).sample(1, np.random.default_rng(0))
        walk = walk._replace(nodes=path[None], lengths=np.array([len(path) - 1]))
        decisions = from_walks(walk, GRAPH, KINDS)
        decisions = decisions._replace(goal=np.full(len(path) - 1, episodes.goals[episode], np.int32))
        logits, _ = table.logits(head, decisions)
        best = [
            int(logits[a:b].argmax()) for a, b in zip(decisions.indptr, decisions.indptr[1:], strict=False)
        ]
        assert best == journeys.choices[episode, : len(path) - 1].tolist()


def test_it_is_trained_kept_and_walks(tmp_path: Path) -> None:
    config = with_settings(
        RECIPES["paper-transformer"](WIDTH),
        ["updates=40", "batch=32", "steps=5", "multistep=true", "learning_rate=0.003", *TINY],
    )
    head = clone(GRAPH, transpose(GRAPH), KINDS, VECTORS, config, folder=tmp_path / "run")
    rows = read_rows(tmp_path / "run")
    assert rows[-1]["loss"] < rows[0]["loss"]
    save_policy(tmp_path / "policy", head, config.head, {"encoder": "e"})
    again, manifest = load_policy(tmp_path / "policy", "e")
    assert manifest["head"]["trajectory"]["inner"] == 16
    episodes = Episodes.of(np.arange(20), (np.arange(20) + 9) % COUNT)
    first = PolicyWalker("a", head, GRAPH, KINDS, VECTORS, MoveConfig(back=True)).run(episodes, budget=20)
    second = PolicyWalker("a", again, GRAPH, KINDS, VECTORS, MoveConfig(back=True)).run(episodes, budget=20)
    assert (first.nodes == second.nodes).all()
    assert first.success.any()


def test_stopped_and_gone_on_it_ends_the_same(tmp_path: Path) -> None:
    config = with_settings(RECIPES["paper-transformer"](WIDTH), ["updates=6", "batch=8", "steps=3", *TINY])

    def train(**kept: Any) -> dict[str, Tensor]:
        return clone(GRAPH, transpose(GRAPH), KINDS, VECTORS, config, **kept).state_dict()

    same_when_stopped(train, tmp_path, 2, 2)


def test_it_hides_the_visited_bit_too() -> None:
    head = build_head(replace(HEAD, visited=False))
    assert trajectory_of(head) is not None
    PolicyWalker("policy", head, GRAPH, KINDS, VECTORS).run(Episodes.of([1, 2], [9, 8]), budget=3)


def test_bad_sizes() -> None:
    with pytest.raises(InputError, match=r"head.trajectory.layers=0: choose 1 or more"):
        TrajectoryConfig(layers=0)
    with pytest.raises(InputError, match="walks=own is for a head that walks with a map"):
        with_settings(RECIPES["ours"](WIDTH), ["head.head=transformer"])
