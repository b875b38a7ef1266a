"""Decisions from walks, against the plain way."""

import numpy as np
import pytest

from linkwalk.graph.store import KINDS, TYPES
from linkwalk.policy import from_walks, without
from linkwalk.walks import ForwardWalks
from linkwalk.walks.dropout import drop_edges
from tests.graph.conftest import csr


@pytest.fixture
def world() -> tuple[object, np.ndarray, object]:
    rng = np.random.default_rng(3)
    graph = csr(30, sorted({(int(a), int(b)) for a, b in rng.integers(0, 30, (120, 2)) if a != b}))
    kinds = rng.integers(0, len(KINDS), len(graph.indices)).astype(np.uint8)
    return graph, kinds, ForwardWalks(graph, steps=6, multistep=True).sample(40, rng)


def test_every_step_is_a_decision(world) -> None:
    graph, kinds, walks = world
    found = from_walks(walks, graph, kinds)
    at = 0
    for path, length in zip(walks.nodes.tolist(), walks.lengths.tolist(), strict=True):
        for step in range(length):
            a, b = found.indptr[at], found.indptr[at + 1]
            row = graph.row(path[step])
            assert found.current[at] == path[step]
            assert found.goal[at] == path[length]
            assert found.target[a:b].tolist() == row.tolist()
            bounds = graph.indptr[path[step]], graph.indptr[path[step] + 1]
            own = [KINDS[kind] for kind in kinds[slice(*bounds)].tolist()]
            seen = ["link" if kind in ("contents", "backlink") else kind for kind in own]
            assert [TYPES[kind] for kind in found.kind[a:b].tolist()] == seen
            assert found.visited[a:b].tolist() == [n in path[: step + 1] for n in row.tolist()]
            assert a <= found.taken[at] < b
            assert found.target[found.taken[at]] == path[step + 1]
            at += 1
    assert at == len(found.current)


def test_hidden_actions_are_gone_and_the_one_taken_stays(world) -> None:
    graph, kinds, walks = world
    whole = from_walks(walks, graph, kinds)
    hidden = drop_edges(graph, walks, probability=0.7, rng=np.random.default_rng(0)).hidden
    rest = without(whole, hidden)
    assert 0 < len(rest.target) == (~hidden).sum() < len(whole.target)
    assert (rest.target[rest.taken] == whole.target[whole.taken]).all()
    for s in range(len(whole.current)):
        kept = whole.target[whole.indptr[s] : whole.indptr[s + 1]][
            ~hidden[whole.indptr[s] : whole.indptr[s + 1]]
        ]
        assert rest.target[rest.indptr[s] : rest.indptr[s + 1]].tolist() == kept.tolist()
