"""Links between articles, against networkx on a graph of articles."""

from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from linkwalk.graph.articles import AUTHORS, article_links, clicks_from, front_page
from linkwalk.graph.store import CONTENTS, ENTITY, LINK, Graph
from tests.graph.conftest import Page, random_graph, write_graph


def between(graph: Graph, kinds: Sequence[int]) -> "nx.MultiDiGraph[int]":
    """The same, edge by edge."""
    articles: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    articles.add_nodes_from(range(graph.articles))
    for node in range(graph.nodes):
        first, last = graph.out_indptr[node : node + 2]
        for target, kind in zip(graph.out_targets[first:last], graph.out_kinds[first:last], strict=True):
            ends = int(graph.node_article[node]), int(graph.node_article[target])
            if kind in kinds and ends[0] != ends[1]:
                articles.add_edge(*ends)
    return articles


@pytest.mark.parametrize("kinds", [AUTHORS, (LINK, ENTITY), (ENTITY,)])
@pytest.mark.parametrize("seed", range(3))
def test_degrees_and_clicks_are_those_of_a_graph_of_articles(
    tmp_path: Path, kinds: tuple[int, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(tmp_path / "wiki", rng, articles=30)
    articles, links = between(graph, kinds), article_links(graph, kinds)
    assert links.outgoing.tolist() == [articles.out_degree(one) for one in range(graph.articles)]
    assert links.incoming.tolist() == [articles.in_degree(one) for one in range(graph.articles)]
    starts = rng.choice(graph.articles, 2, replace=False).tolist()
    lengths = nx.multi_source_dijkstra_path_length(articles, set(starts), weight=None)
    expected = [lengths.get(one, -1) for one in range(graph.articles)]
    assert clicks_from(graph, starts, kinds).tolist() == expected


@pytest.fixture
def tree(tmp_path: Path) -> Graph:
    """A folder's list, a page in it, and two below that; an entity link hides the way from the first of them up."""
    pages = {
        "list": [Page("all of it here", [("top", 0, CONTENTS)])],
        "top": [Page("on the top", [("list", 0, CONTENTS), ("a", 0, CONTENTS), ("b", 0, CONTENTS)])],
        "a": [Page("speaks of top", [("top", 0, ENTITY)])],
        "b": [Page("and of others", [("top", 0, CONTENTS), ("hub", 0, LINK)])],
        "hub": [Page("much linked here", [("b", 0, LINK)])],
    }
    return write_graph(tmp_path / "wiki", pages, parents=[-1, 0, 1, 1, -1])


def test_contents_count_up_and_down_where_asked_for(tree: Graph) -> None:
    assert clicks_from(tree, [0]).tolist() == [0, -1, -1, -1, -1]
    assert clicks_from(tree, [2], (LINK, CONTENTS)).tolist() == [2, 1, 0, 2, 3]
    assert (article_links(tree).outgoing > 0).tolist() == [False, False, False, True, True]
    links = article_links(tree, (LINK, CONTENTS))
    assert (links.outgoing > 0).all()
    assert (links.incoming > 0).all()


def test_the_front_page_is_above_most_or_else_the_hub(tree: Graph) -> None:
    links, written = article_links(tree), np.array([False, True, True, True, True])
    assert front_page(tree, links, written) == 1
    assert front_page(tree, links, np.array([False, False, True, True, True])) in (3, 4)
    assert front_page(tree, links, np.ones(5, np.bool_)) == 0
