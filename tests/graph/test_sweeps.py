"""Many searches at once find what one after the other finds."""

import numpy as np
import pytest

from linkwalk.compiled import OUTSIDE
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import UNREACHABLE, flood
from linkwalk.graph.sweeps import flood_many
from tests.graph.conftest import csr


def test_distances_are_those_of_single_searches() -> None:
    rng = np.random.default_rng(4)
    size, far = 90, 20
    edges = {
        (int(a), int(b)) for a, b in rng.integers(0, 60, (110, 2))
    }  # from 60 on a chain, and nodes apart
    graph = csr(size, sorted(edges | {(i, i + 1) for i in range(60, 85)} | {(3, 60)}))
    sources = rng.integers(0, size, 150).astype(np.int32)  # more than one word holds, some of them twice
    nodes = rng.permutation(size)[:70].astype(np.int32)
    found = np.zeros((len(sources), len(nodes)), np.int8)
    flood_many(graph, sources, nodes, found, far)
    for source, row in zip(sources, found, strict=True):
        plain, queue = np.full(size, UNREACHABLE, np.int32), np.empty(size, np.int32)
        flood(graph, int(source), plain, queue)
        wanted = np.where(plain == UNREACHABLE, far, np.minimum(plain, far))[nodes]
        assert row.tolist() == wanted.tolist()
    assert far in found
    assert found.min() == 0


def test_a_link_that_leads_outside_is_an_error() -> None:
    graph, damaged = csr(3, [(0, 1), (1, 2)]), np.array([1, 7], np.int32)
    found, none = np.zeros((1, 1), np.int8), np.zeros(1, np.int32)
    with pytest.raises(IndexError, match=OUTSIDE):
        flood_many(Csr(graph.indptr, damaged), none, none, found, 9)
