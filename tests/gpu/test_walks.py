"""Walks over tensors: the very walks that numba draws."""

import numpy as np
import pytest
import torch

from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice, below, draw, key_of
from linkwalk.graph.csr import Csr
from linkwalk.walks import ForwardWalks, ReverseWalks
from linkwalk.walks.draws import below as below_here
from linkwalk.walks.draws import draw as draw_here
from linkwalk.walks.draws import key_of as key_of_here
from tests.graph.conftest import csr
from tests.on_device import DEVICE, way
from tests.walks.conftest import assert_fits, assert_valid, transitions, turned, unsorted_graph

__all__ = ["way"]


def on_device(graph: Csr) -> DeviceGraph:
    return DeviceGraph.of(graph, device=DEVICE)


def test_draws_are_those_of_the_cpu() -> None:
    seed, numbers = np.uint64(0xFEDCBA9876543210), np.arange(500)
    there = key_of(torch.tensor([int(seed.view(np.int64))]), torch.from_numpy(numbers))
    here = np.array([key_of_here(seed, 0, n) for n in numbers.tolist()], np.uint64)
    assert np.array_equal(there.numpy().view(np.uint64), here)
    for number, count in ((0, 7), (21, 2**31 - 1), (3, 1)):
        words = draw(there, number)
        exact = np.array([draw_here(k, number) for k in here], np.uint64)
        assert np.array_equal(words.numpy().view(np.uint64), exact)
        assert below(words, count).tolist() == [below_here(w, count) for w in exact]
    assert torch.equal(draw(there, 5), draw(there, torch.full((500,), 5)))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("multistep", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_seed_gives_the_walks_it_gives_on_a_cpu(multistep: bool, reverse: bool) -> None:
    graph, steps, count = unsorted_graph(np.random.default_rng(3), nodes=300), 7, 5000
    if reverse:
        here = ReverseWalks(graph, turned(graph), steps=steps, multistep=multistep)
    else:
        here = ForwardWalks(graph, steps=steps, multistep=multistep)
    there = WalksOnDevice(
        on_device(turned(graph) if reverse else graph), steps=steps, multistep=multistep, reverse=reverse
    )
    for seed in range(3):
        exact = here.sample(count, np.random.default_rng(seed))
        found = there.sample(count, np.random.default_rng(seed))
        assert_valid(found, graph, count, steps)
        assert np.array_equal(exact.nodes, found.nodes)
        assert np.array_equal(exact.lengths, found.lengths)


@pytest.mark.usefixtures("way")
def test_steps_and_goals_have_the_exact_distribution() -> None:
    graph, steps, count = unsorted_graph(np.random.default_rng(5), nodes=12), 4, 100_000
    walks = WalksOnDevice(on_device(graph), steps=steps).sample(count, np.random.default_rng(1))
    linked, exact = graph.degrees() > 0, transitions(graph)
    assert_fits(np.bincount(walks.starts, minlength=12), linked / linked.sum())
    goals = linked / linked.sum() @ np.linalg.matrix_power(exact, steps)
    assert_fits(np.bincount(walks.goals, minlength=12), goals)
    here, there = walks.nodes[walks.lengths > 1, 1], walks.nodes[walks.lengths > 1, 2]
    for node in np.unique(here).tolist():
        assert_fits(np.bincount(there[here == node], minlength=12), exact[node])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("multistep", [False, True])
def test_ends_are_those_of_the_walks(multistep: bool) -> None:
    graph = unsorted_graph(np.random.default_rng(3), nodes=300)
    walks = WalksOnDevice(on_device(graph), steps=9, multistep=multistep)
    seed = torch.tensor([-12345], device=DEVICE)
    nodes, lengths = walks.draw(2000, seed)
    ends, same = walks.ends(2000, seed)
    assert torch.equal(lengths, same)
    assert torch.equal(nodes.gather(1, lengths[:, None].long())[:, 0], ends)


@pytest.mark.usefixtures("way")
def test_row_bounds_may_have_64_bits() -> None:
    graph = on_device(unsorted_graph(np.random.default_rng(3)))
    assert graph.indptr.dtype == torch.int32
    wide = graph._replace(indptr=graph.indptr.long())
    few, many = (WalksOnDevice(g, steps=5).sample(500, np.random.default_rng(2)).nodes for g in (graph, wide))
    assert np.array_equal(few, many)


def test_what_cannot_be_walked_is_refused() -> None:
    with pytest.raises(InputError, match="the graph has no links"):
        WalksOnDevice(on_device(csr(3, [])), steps=2)
    walks = WalksOnDevice(on_device(csr(3, [(2, 0)])), steps=1)
    assert walks.sample(0, np.random.default_rng(1)).nodes.shape == (0, 2)
    with pytest.raises(InputError, match="cannot draw -1 walks"):
        walks.sample(-1, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("array", "at", "value"),
    [("indices", 2, 900), ("indices", 0, -1), ("indptr", 1, 10**6), ("indptr", 2, -3)],
)
def test_a_damaged_graph_does_not_reach_the_device(array: str, at: int, value: int) -> None:
    graph = Csr(np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0], np.int32))
    assert DeviceGraph.of(graph, device="cpu").is_sound()
    getattr(graph, array)[at] = value
    with pytest.raises(IndexError, match="outside of its array"):
        DeviceGraph.of(graph, device="cpu")
