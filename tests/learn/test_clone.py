"""Cloning: the loss is the likelihood of the walks, and training makes them likelier."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from linkwalk.errors import InputError
from linkwalk.graph.csr import transpose
from linkwalk.learn.clone import CloneConfig, clone, cloning_loss, sampler
from linkwalk.learn.metrics import read_rows
from linkwalk.navigate import Episodes, open_baseline, unit_rows
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy import from_walks
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head
from linkwalk.recipes import RECIPES
from linkwalk.settings import with_settings
from tests.graph.conftest import csr
from tests.learn.conftest import WIDTH, World, padded


def test_the_loss_is_torchs_cross_entropy_of_what_was_done() -> None:
    rng = np.random.default_rng(0)
    graph = csr(40, sorted({(int(a), int(b)) for a, b in rng.integers(0, 40, (200, 2))}))
    kinds = rng.integers(0, 4, len(graph.indices)).astype(np.uint8)
    vectors = rng.normal(size=(40, WIDTH)).astype(np.float32)
    head, table = build_head(HeadConfig(width=WIDTH)), NodeTable(torch.as_tensor(vectors))
    config = CloneConfig(walks="forward", steps=4, multistep=False)
    found = from_walks(sampler(config, graph, transpose(graph)).sample(20, rng), graph, kinds)
    loss, accuracy = cloning_loss(head, table, found)
    assert len(set(np.diff(found.indptr).tolist())) > 1, "rows of one length would hide where they end"
    rows = padded(table.logits(head, found)[0].detach(), found.indptr, fill=-np.inf)
    taken = torch.as_tensor(found.taken - found.indptr[:-1])
    assert loss.item() == pytest.approx(cross_entropy(rows, taken).item(), rel=1e-6)
    best = rows[torch.arange(len(rows)), taken] >= rows.max(1).values
    assert accuracy.item() == pytest.approx(best.double().mean().item())


@pytest.mark.parametrize("recipe", RECIPES)
def test_training_makes_the_walks_likelier_and_repeats(recipe: str, world: World, tmp_path: Path) -> None:
    changed = ["updates=100", "batch=32", "steps=8"]
    if recipe == "paper-transformer":
        changed += ["head.trajectory.layers=1", "head.trajectory.heads=2", "head.trajectory.inner=32"]
    config = with_settings(RECIPES[recipe](WIDTH), changed)
    losses = []
    for run in ("a", "b"):
        clone(*world, config, folder=tmp_path / run)
        losses.append([row["loss"] for row in read_rows(tmp_path / run)])
    assert losses[0] == losses[1]
    untrained = with_settings(config, ["updates=1", "learning_rate=0"])
    clone(*world, untrained, folder=tmp_path / "c")
    assert losses[0][-1] < read_rows(tmp_path / "c")[0]["loss"]


def test_an_untrained_residual_walks_as_greedy_unvisited_does(world: World) -> None:
    graph, _, kinds, vectors = world
    rng = np.random.default_rng(5)
    episodes = Episodes.of(rng.integers(0, 60, 200), rng.integers(0, 60, 200))
    learned = PolicyWalker("p", build_head(HeadConfig(width=WIDTH)), graph, kinds, vectors).run(
        episodes, budget=30
    )
    greedy = open_baseline("greedy-unvisited", graph, unit_rows(vectors)).run(episodes, budget=30)
    assert (learned.success == greedy.success).mean() > 0.95
    first = episodes.starts != episodes.goals
    assert (learned.choices[first, 0] == greedy.choices[first, 0]).mean() > 0.95
    for e in range(200):
        path = learned.path(e).tolist()
        assert all(b in graph.row(a) for a, b in pairwise(path))
        assert learned.success[e] == (path[-1] == episodes.goals[e])


def test_a_dead_end_ends_the_journey() -> None:
    graph = csr(3, [(0, 1)])
    head = build_head(HeadConfig(width=2))
    found = PolicyWalker("p", head, graph, np.zeros(1, np.uint8), np.eye(3, 2, dtype=np.float32)).run(
        Episodes.of([0, 1, 2], [2, 2, 2]), budget=5
    )
    assert found.steps.tolist() == [1, 0, 0]
    assert found.success.tolist() == [False, False, True]


@pytest.mark.slow
def test_training_needs_no_more_than_torch_and_numba() -> None:
    """So that it runs on a machine with a GPU and little else."""
    code = "import linkwalk.learn.clone, linkwalk.recipes, linkwalk.embed, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {
        "gymnasium",
        "tantivy",
        "rapidfuzz",
        "zstandard",
        "igraph",
        "networkx",
        "tensorboard",
    }


def test_settings() -> None:
    config = with_settings(RECIPES["ours"](8), ["head.hidden=5", "multistep=false", "learning_rate=0.5"])
    assert (config.head.hidden, config.multistep, config.learning_rate) == (5, False, 0.5)
    for wrong in ("updates", "nothing=1", "head=1", "updates=many", "head.nothing=2", "multistep=perhaps"):
        with pytest.raises(InputError, match=r"^\S+: "):
            with_settings(config, [wrong])
    with pytest.raises(InputError, match="no walks named"):
        sampler(CloneConfig(walks="sideways"), csr(2, [(0, 1)]), csr(2, [(1, 0)]))
