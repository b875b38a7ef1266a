from itertools import pairwise

import numpy as np
import pytest

from linkwalk.compiled import OUTSIDE
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.walks import ForwardWalks, HiddenLinks, Walks, drop_edges
from tests.graph.conftest import csr
from tests.walks.conftest import as_lists, unsorted_graph


@pytest.fixture(scope="module")
def graph() -> Csr:
    return unsorted_graph(np.random.default_rng(5), nodes=60, links=6.0)


@pytest.fixture(scope="module")
def walks(graph: Csr) -> Walks:
    return ForwardWalks(graph, steps=7, multistep=True).sample(2000, np.random.default_rng(1))


def taken_links(graph: Csr, walks: Walks, dropped: HiddenLinks) -> np.ndarray:
    """Which of the mask's links lead where the walk goes next, by a plain loop."""
    taken, row = [], 0
    for walk in as_lists(walks):
        for here, there in pairwise(walk):
            links = graph.row(here)
            assert dropped.indptr[row + 1] - dropped.indptr[row] == len(links)
            taken += (links == there).tolist()
            row += 1
    assert len(dropped.indptr) == row + 1
    assert len(dropped.hidden) == len(taken)
    return np.array(taken)


def test_each_link_is_hidden_with_the_probability_but_never_the_one_taken(graph: Csr, walks: Walks) -> None:
    for probability in (0.0, 0.2, 0.5, 1.0):
        dropped = drop_edges(graph, walks, probability=probability, rng=np.random.default_rng(1))
        taken = taken_links(graph, walks, dropped)
        assert dropped.hidden.dtype == np.bool_
        assert not dropped.hidden[taken].any()
        others = dropped.hidden[~taken]
        error = 5 * np.sqrt(probability * (1 - probability) / len(others))
        assert abs(others.mean() - probability) <= error


def test_rows_are_those_of_the_nodes_stepped_from(graph: Csr, walks: Walks) -> None:
    dropped = drop_edges(graph, walks, rng=np.random.default_rng(1))
    stepped_from = np.arange(walks.nodes.shape[1]) < walks.lengths[:, None]
    assert np.array_equal(dropped.indptr, graph.gather(walks.nodes[stepped_from]).indptr)


def test_steps_walks_and_links_are_hidden_independently() -> None:
    graph = csr(5, [(i, j) for i in range(5) for j in range(5)])
    walks = ForwardWalks(graph, steps=4).sample(4000, np.random.default_rng(1))
    hidden = drop_edges(graph, walks, rng=np.random.default_rng(2)).hidden.reshape(4000, 4, 5)
    seen = walks.nodes[:, 1:, None] != np.arange(5)
    signs = np.where(seen, np.where(hidden, 1, -1), 0)
    for a, b in ((signs[1:], signs[:-1]), (signs[:, 1:], signs[:, :-1]), (signs[..., 1:], signs[..., :-1])):
        products = (a * b)[(a * b) != 0]
        assert abs(products.mean()) < 5 / np.sqrt(len(products))


def test_a_seed_gives_the_same_mask_and_fewer_walks_a_prefix(graph: Csr, walks: Walks) -> None:
    few = Walks(walks.nodes[:500], walks.lengths[:500])
    whole, again, part = (drop_edges(graph, w, rng=np.random.default_rng(3)) for w in (walks, walks, few))
    assert np.array_equal(whole.hidden, again.hidden)
    assert np.array_equal(part.hidden, whole.hidden[: len(part.hidden)])
    assert not np.array_equal(whole.hidden, drop_edges(graph, walks, rng=np.random.default_rng(4)).hidden)


def test_no_walks_hide_nothing(graph: Csr, walks: Walks) -> None:
    dropped = drop_edges(graph, Walks(walks.nodes[:0], walks.lengths[:0]), rng=np.random.default_rng(1))
    assert dropped.indptr.tolist() == [0]
    assert len(dropped.hidden) == 0


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(graph: Csr, walks: Walks, probability: float) -> None:
    with pytest.raises(InputError, match="choose 0 to 1"):
        drop_edges(graph, walks, probability=probability, rng=np.random.default_rng(1))


@pytest.mark.parametrize("lengths", [[3, 0], [-1, 2], [2, -2]])
def test_walks_longer_than_they_are_are_refused(graph: Csr, lengths: list[int]) -> None:
    walks = Walks(np.zeros((2, 3), np.int32), np.array(lengths, np.int32))
    with pytest.raises(IndexError, match=OUTSIDE):
        drop_edges(graph, walks, rng=np.random.default_rng(0))
