"""Reading with tabs beside a plain best-first search over dictionaries, and on the edges of its table."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwalk.arrays import Float32s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import LINK
from linkwalk.navigate.tabs import HIT, Hits, Tabs, TabsConfig, read_tabs
from tests.graph.conftest import csr

WIDTH = 3


class World(NamedTuple):
    """Whole numbers over powers of two throughout: sums are exact in any order, and ties are many."""

    graph: Csr
    kinds: NDArray[np.uint8]
    vectors: Float32s
    directions: Float32s
    hits: list[list[tuple[int, float]]]

    def results(self, queries: slice = slice(None)) -> Hits:
        some = [list(zip(*own, strict=True)) or [(), ()] for own in self.hits[queries]]
        return Hits.of([(np.array(n, np.int32), np.array(s, np.float32)) for n, s in some])

    def read(self, count: int, config: TabsConfig, *, workers: int = 1) -> Tabs:
        return read_tabs(
            self.graph,
            self.kinds,
            self.vectors,
            self.directions,
            self.results(),
            count,
            config,
            workers=workers,
        )


class Page(NamedTuple):
    """A page that was heard of."""

    worth: float
    parent: int
    link: int
    named: bool = False


def plainly(world: World, query: int, count: int, config: TabsConfig) -> list[tuple[int, int, int, float]]:
    """Node, parent, link and worth of each page read; pages stay in the order they were heard of."""

    def near(node: int) -> float:
        return float(world.vectors[node].astype(float) @ world.directions[query].astype(float))

    heard: dict[int, Page] = {}
    read: dict[int, int] = {}
    for node, score in world.hits[query]:
        heard.setdefault(node, Page(near(node) + config.trust * score, HIT, 0))
    found = []
    while len(found) < count and len(read) < len(heard):
        node = max((n for n in heard if n not in read), key=lambda n: heard[n].worth)  # the first of the best
        found.append((node, heard[node].parent, heard[node].link, heard[node].worth))
        place = read[node] = len(read)
        first = int(world.graph.indptr[node])
        for link, target in enumerate(world.graph.row(node).tolist()):
            text = bool(world.kinds[first + link] >= LINK)
            gain = config.linked if text else 0.0
            if target not in heard:
                heard[target] = Page(near(target) + gain, place, link, text)
            elif target not in read and text and not heard[target].named and gain > 0:
                heard[target] = Page(heard[target].worth + gain, place, link, True)
    return found


def rows(tabs: Tabs, query: int) -> list[tuple[int, int, int, float]]:
    """What the kernel has read, as the plain search says it."""
    read = int((tabs.nodes[query] >= 0).sum())
    assert (tabs.nodes[query, read:] == -1).all(), "nothing is read once there is nothing more to open"
    columns = (column[query, :read].tolist() for column in tabs)
    return list(zip(*columns, strict=True))


def check_paths(world: World, tabs: Tabs, query: int) -> None:
    """Every path begins at a hit and goes along links that are where it says."""
    for place in range(int((tabs.nodes[query] >= 0).sum())):
        pages, links = tabs.path(query, place)
        assert pages[-1] == tabs.nodes[query, place]
        assert pages[0] in {node for node, _ in world.hits[query]}
        assert len(links) == len(pages) - 1
        for at, link, to in zip(pages, links, pages[1:], strict=False):
            assert world.graph.row(at)[link] == to


@st.composite
def worlds(draw: st.DrawFn) -> World:
    nodes = draw(st.integers(1, 12))
    queries = draw(st.integers(0, 4))
    node = st.integers(0, nodes - 1)
    number = st.integers(-2, 2).map(lambda n: n / 4)
    vector = st.lists(number, min_size=WIDTH, max_size=WIDTH)
    hit = st.tuples(node, st.integers(0, 4).map(lambda n: n / 4))
    graph = csr(nodes, draw(st.lists(st.tuples(node, node), max_size=40)))
    kinds = draw(st.lists(st.integers(0, 3), min_size=len(graph.indices), max_size=len(graph.indices)))
    return World(
        graph,
        np.array(kinds, np.uint8),
        np.array(draw(st.lists(vector, min_size=nodes, max_size=nodes)), np.float32),
        np.array(draw(st.lists(vector, min_size=queries, max_size=queries)), np.float32).reshape(-1, WIDTH),
        draw(st.lists(st.lists(hit, max_size=6), min_size=queries, max_size=queries)),
    )


quarters = st.integers(-2, 4).map(lambda n: n / 4)


@settings(deadline=None)  # the first example compiles
@given(worlds(), st.integers(0, 15), st.builds(TabsConfig, trust=quarters, linked=quarters))
def test_what_a_plain_best_first_search_reads(world: World, count: int, config: TabsConfig) -> None:
    tabs = world.read(count, config)
    for query in range(len(world.hits)):
        assert rows(tabs, query) == plainly(world, query, count, config)
        check_paths(world, tabs, query)


@settings(deadline=None)  # the first example compiles
@given(worlds(), st.integers(0, 15))
def test_batches_and_workers_do_not_matter(world: World, count: int) -> None:
    config = TabsConfig(trust=0.5, linked=0.25)
    whole = world.read(count, config)
    for workers in (2, 3):
        for one, other in zip(whole, world.read(count, config, workers=workers), strict=True):
            assert np.array_equal(one, other)
    for query in range(len(world.hits)):
        alone = world._replace(directions=world.directions[query : query + 1], hits=[world.hits[query]])
        assert rows(alone.read(count, config), 0) == rows(whole, query)


def chain(vectors: list[float], edges: list[tuple[int, int]], hits: list[tuple[int, float]]) -> World:
    """A world in one dimension, with one query that looks ahead."""
    rows = np.array(vectors, np.float32)[:, None]
    graph = csr(len(vectors), edges)
    return World(graph, np.full(len(edges), LINK, np.uint8), rows, np.ones((1, 1), np.float32), [hits])


def test_a_hit_that_pages_link_to_gains_once() -> None:
    # 0 is the best hit and links to the hit 1 twice; the page 2, read next, links to it as well.
    world = chain([1, 0, 0.5], [(0, 1), (0, 1), (0, 2), (2, 1)], [(0, 1), (1, 0.5)])
    tabs = world.read(9, TabsConfig(trust=0.25, linked=0.125))
    assert rows(tabs, 0) == [(0, HIT, 0, 1.25), (2, 0, 2, 0.625), (1, 0, 0, 0.125 + 0.125)]
    assert tabs.path(0, 2) == ([0, 1], [0])
    # Where a link counts nothing, or against a page, a hit stays what it was.
    for linked in (0.0, -0.25):
        tabs = world.read(9, TabsConfig(trust=0.25, linked=linked))
        assert (1, HIT, 0, 0.125) in rows(tabs, 0)
        assert (2, 0, 2, 0.5 + linked) in rows(tabs, 0)


def test_ties_go_to_who_was_heard_of_first() -> None:
    world = chain([0, 0, 0, 0, 0], [(2, 4), (2, 0), (1, 3)], [(2, 0), (1, 0)])
    tabs = world.read(9, TabsConfig(trust=0.25, linked=0))
    assert tabs.nodes[0].tolist()[:5] == [2, 1, 0, 4, 3], "hits in their order, then links in theirs"


def test_hits_come_once_and_need_no_links() -> None:
    world = chain([0.25, 0.5, 0], [], [(2, 1), (1, 0.5), (2, 0.25), (0, 0)])
    found = rows(world.read(9, TabsConfig(trust=1)), 0)
    assert found == [(2, HIT, 0, 1.0), (1, HIT, 0, 1.0), (0, HIT, 0, 0.25)]
    assert world.read(2, TabsConfig(trust=1)).nodes.tolist() == [[2, 1]]


def test_nothing_to_read() -> None:
    world = chain([0, 0], [(0, 1)], [])
    tabs = world.read(3, TabsConfig())
    assert (rows(tabs, 0), tabs.parents.tolist()) == ([], [[HIT] * 3])
    assert world.read(0, TabsConfig()).nodes.shape == (1, 0)
    none = world._replace(directions=np.zeros((0, 1), np.float32), hits=[])
    assert none.read(3, TabsConfig()).nodes.shape == (0, 3)


@pytest.mark.parametrize(("hits", "degree"), [(700, 3), (300, 0), (5, 900), (1, 2500), (600, 40)])
def test_more_pages_than_the_first_table_holds(hits: int, degree: int) -> None:
    rng = np.random.default_rng(hits + degree)
    nodes = 3000
    edges = [(hub, int(to)) for hub in range(0, nodes, 100) for to in rng.integers(nodes, size=degree)]
    some = [[0, *rng.permutation(np.arange(4, nodes, 4)).tolist()] for _ in range(3)]
    world = World(
        csr(nodes, edges),
        rng.integers(4, size=len(edges)).astype(np.uint8),
        rng.integers(-8, 9, (nodes, WIDTH)).astype(np.float32) / 8,
        rng.integers(-8, 9, (3, WIDTH)).astype(np.float32) / 8,
        [[(node, float(rng.integers(9)) / 8) for node in own[:hits]] for own in some],
    )
    config = TabsConfig(trust=0.5, linked=0.25)
    tabs = world.read(60, config, workers=2)
    for query in range(3):
        assert rows(tabs, query) == plainly(world, query, 60, config)
        check_paths(world, tabs, query)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_counts_is_a_number(bad: float) -> None:
    with pytest.raises(InputError, match="choose a number"):
        TabsConfig(trust=bad)
    with pytest.raises(InputError, match=r"linked=.*: choose a number"):
        TabsConfig(linked=bad)


def test_without_links_it_is_the_list_in_another_order() -> None:
    rng = np.random.default_rng(5)
    graph = Csr(np.array([0, 2, 4, 6, 6]), np.array([1, 2, 2, 3, 3, 0], np.int32))
    vectors = rng.standard_normal((4, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    direction = vectors[3:4]
    hits = Hits.of([(np.array([2, 0, 1], np.int32), np.array([1, 0.5, 0.2], np.float32))])
    kinds = np.full(6, LINK, np.uint8)
    found = read_tabs(graph, kinds, vectors, direction, hits, 4, TabsConfig(trust=0.3, links=False))
    worth = vectors[[2, 0, 1]] @ direction[0] + 0.3 * np.array([1, 0.5, 0.2])
    assert found.nodes[0].tolist() == [*np.array([2, 0, 1])[np.argsort(-worth)].tolist(), -1]
    assert (found.parents == HIT).all()
    assert 3 in read_tabs(graph, kinds, vectors, direction, hits, 4, TabsConfig(trust=0.3)).nodes[0]
