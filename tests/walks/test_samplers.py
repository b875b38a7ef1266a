"""What every sampler must keep to, and what every sampler must refuse."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, WalksOnDevice
from linkwalk.graph.csr import Csr
from linkwalk.walks import ForwardWalks, ReverseWalks, Sampler, ShortcutWalks, ShortestWalks
from tests.graph.conftest import csr
from tests.walks.conftest import assert_valid, ring, turned, unsorted_graph

Make = Callable[[Csr, int, bool], Sampler]


def make_forward(graph: Csr, steps: int, multistep: bool, *, apart: bool = False) -> Sampler:
    return ForwardWalks(graph, steps=steps, multistep=multistep, apart=apart)


def make_reverse(graph: Csr, steps: int, multistep: bool, *, apart: bool = False) -> Sampler:
    return ReverseWalks(graph, turned(graph), steps=steps, multistep=multistep, apart=apart)


def make_shortcut(graph: Csr, steps: int, multistep: bool) -> Sampler:
    return ShortcutWalks(graph, steps=steps, multistep=multistep)


def make_walk(graph: Csr, steps: int, multistep: bool) -> Sampler:
    return ShortestWalks(graph, turned(graph), steps=steps, multistep=multistep, reading="walk")


def make_exact(graph: Csr, steps: int, multistep: bool) -> Sampler:
    return ShortestWalks(graph, turned(graph), steps=steps, multistep=multistep, reading="exact")


def make_on_device(graph: Csr, steps: int, multistep: bool, *, reverse: bool = False) -> Sampler:
    tensors = DeviceGraph.of(turned(graph) if reverse else graph, device="cpu")
    return WalksOnDevice(tensors, steps=steps, multistep=multistep, reverse=reverse)


MAKERS: dict[str, Make] = {
    "forward": make_forward,
    "forward-apart": partial(make_forward, apart=True),
    "reverse": make_reverse,
    "reverse-apart": partial(make_reverse, apart=True),
    "shortcut": make_shortcut,
    "shortest-walk": make_walk,
    "shortest-exact": make_exact,
    "forward-on-device": make_on_device,
    "reverse-on-device": partial(make_on_device, reverse=True),
}
APART = sorted(set(MAKERS) - {"forward", "reverse", "forward-on-device", "reverse-on-device"})


@pytest.mark.parametrize("multistep", [False, True])
@pytest.mark.parametrize("name", MAKERS)
class TestSamplerConformance:
    """The contract of ``Sampler``, for every sampler that there is."""

    steps = 4

    @pytest.fixture
    def graph(self) -> Csr:
        return unsorted_graph(np.random.default_rng(3))

    @pytest.fixture
    def sampler(self, graph: Csr, name: str, multistep: bool) -> Sampler:
        return MAKERS[name](graph, self.steps, multistep)

    @pytest.mark.parametrize("count", [0, 1, 2500])
    def test_walks_follow_links(self, graph: Csr, sampler: Sampler, count: int) -> None:
        assert_valid(sampler.sample(count, np.random.default_rng(1)), graph, count, self.steps)

    def test_a_seed_gives_the_same_walks_and_another_gives_others(self, sampler: Sampler) -> None:
        first, again, other = (sampler.sample(300, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert np.array_equal(first.nodes, again.nodes)
        assert np.array_equal(first.lengths, again.lengths)
        assert not np.array_equal(first.nodes, other.nodes)

    def test_one_generator_gives_new_walks_every_time(self, sampler: Sampler) -> None:
        rng = np.random.default_rng(1)
        assert not np.array_equal(sampler.sample(300, rng).nodes, sampler.sample(300, rng).nodes)

    def test_fewer_walks_are_a_prefix_of_more(self, sampler: Sampler) -> None:
        few, many = (sampler.sample(count, np.random.default_rng(1)) for count in (1100, 2200))
        assert np.array_equal(few.nodes, many.nodes[:1100])
        assert np.array_equal(few.lengths, many.lengths[:1100])

    def test_the_generator_moves_on_by_one_number(self, sampler: Sampler) -> None:
        after = []
        for count in (0, 7, 700):
            rng = np.random.default_rng(1)
            sampler.sample(count, rng)
            after.append(rng.random())
        assert len(set(after)) == 1

    def test_walks_are_the_caller_s_own(self, sampler: Sampler) -> None:
        first = sampler.sample(20, np.random.default_rng(1))
        kept = first.nodes.copy()
        sampler.sample(20, np.random.default_rng(2)).nodes[:] = -7
        assert np.array_equal(first.nodes, kept)

    def test_lengths(self, sampler: Sampler, name: str, multistep: bool) -> None:
        lengths = sampler.sample(2000, np.random.default_rng(1)).lengths
        assert lengths.max() == self.steps
        if name == "shortest-exact" and not multistep:
            assert lengths.min() == self.steps
        else:
            assert set(lengths.tolist()) == set(range(1, self.steps + 1))

    def test_a_negative_count_is_refused(self, sampler: Sampler) -> None:
        with pytest.raises(InputError, match="cannot draw -1 walks"):
            sampler.sample(-1, np.random.default_rng(1))

    @pytest.mark.parametrize("nodes", [0, 1, 5])
    def test_a_graph_without_links_is_refused(self, name: str, multistep: bool, nodes: int) -> None:
        with pytest.raises(InputError, match="the graph has no links"):
            MAKERS[name](csr(nodes, []), 3, multistep)

    @pytest.mark.parametrize("steps", [0, -3])
    def test_no_steps_are_refused(self, graph: Csr, name: str, multistep: bool, steps: int) -> None:
        with pytest.raises(InputError, match="choose 1 or more"):
            MAKERS[name](graph, steps, multistep)

    def test_one_link_is_enough(self, name: str, multistep: bool) -> None:
        sampler = MAKERS[name](csr(3, [(2, 0)]), 1, multistep)
        assert sampler.sample(5, np.random.default_rng(1)).nodes.tolist() == [[2, 0]] * 5


@pytest.mark.parametrize("name", APART)
def test_ends_differ(name: str) -> None:
    sampler = MAKERS[name](unsorted_graph(np.random.default_rng(3)), 4, False)
    walks = sampler.sample(3000, np.random.default_rng(1))
    assert (walks.starts != walks.goals).all()


@pytest.mark.parametrize("name", ["forward", "reverse"])
def test_a_node_that_links_to_itself_alone(name: str) -> None:
    walks = MAKERS[name](csr(1, [(0, 0)]), 3, False).sample(2, np.random.default_rng(1))
    assert walks.nodes.tolist() == [[0] * 4] * 2
    assert walks.lengths.tolist() == [3, 3]


@pytest.mark.parametrize("name", APART)
def test_a_node_that_links_to_itself_alone_has_no_ends_that_differ(name: str) -> None:
    with pytest.raises(InputError, match=r"choose (another|fewer)"):
        MAKERS[name](csr(1, [(0, 0)]), 3, False).sample(2, np.random.default_rng(1))


@pytest.mark.parametrize("name", sorted(set(APART) - {"shortest-exact"}))
def test_walks_that_always_come_back_are_refused_and_others_are_not(name: str) -> None:
    with pytest.raises(InputError, match="choose another number of steps"):
        MAKERS[name](ring(4), 4, False).sample(3, np.random.default_rng(1))
    assert (MAKERS[name](ring(4), 4, True).sample(500, np.random.default_rng(1)).lengths < 4).all()
