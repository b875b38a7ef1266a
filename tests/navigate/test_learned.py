"""A learned policy that is shown something else than the goal."""

import numpy as np
import pytest
import torch

from linkwalk.navigate import Episodes, unit_rows
from linkwalk.navigate.learned import Learned
from linkwalk.policy.heads import HEADS, HeadConfig, build_head
from tests.graph.conftest import csr


@pytest.mark.parametrize("name", HEADS)
def test_it_looks_for_what_it_is_shown(name: str) -> None:
    rng = np.random.default_rng(2)
    graph = csr(60, sorted({(int(a), int(b)) for a, b in rng.integers(0, 60, (300, 2)) if a != b}))
    vectors = 3 * unit_rows(rng.normal(size=(60, 16)).astype(np.float32))  # all of one length
    torch.manual_seed(1)
    head = build_head(HeadConfig(head=name, width=16, hidden=8))
    agent = Learned(name, head, graph, np.full(len(graph.indices), 2, np.uint8), vectors)
    episodes = Episodes.of(rng.integers(0, 60, 80), rng.integers(0, 60, 80))
    plain = agent.run(episodes, budget=20)
    shown = agent.run(episodes._replace(queries=unit_rows(vectors)[episodes.goals]), budget=20)
    assert np.array_equal(plain.nodes, shown.nodes)
    assert np.allclose(plain.probabilities, shown.probabilities, atol=1e-4)
    # Led to another goal's description it walks towards that one, and the episode's own goal still ends it.
    others = rng.permutation(episodes.goals)
    misled = agent.run(episodes._replace(queries=unit_rows(vectors)[others]), budget=20)
    towards = agent.run(Episodes.of(episodes.starts, others), budget=20)
    first = (episodes.starts != episodes.goals) & (episodes.starts != others)
    assert np.array_equal(misled.nodes[first, 1], towards.nodes[first, 1])
    assert not np.array_equal(misled.nodes, plain.nodes)
