"""Pairs for a game: never without a way, and as far apart as was asked for."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from linkwalk import Wiki
from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.graph.store import LINK
from tests.graph.conftest import Page, random_graph, write_graph


def test_pairs_can_be_solved(known: Wiki) -> None:
    lengths: Counter[int] = Counter()
    pairs = set()
    for seed in range(60):
        start, goal, distance = known.pair(seed)
        assert (start.block, goal.block) == (0, 0)
        assert 2 <= distance <= 6
        assert distance == distances_from(known.graph.forward, start.node)[goal.node]
        assert known.pair(seed) == (start, goal, distance)
        lengths[distance] += 1
        pairs.add((start.node, goal.node))
    assert set(lengths) == {2, 3, 4, 5, 6}
    assert len(pairs) > 50
    for least, most in ((1, 1), (3, 3), (7, 9)):
        assert least <= known.pair(5, least, most)[2] <= most


@pytest.mark.parametrize("seed", range(12))
def test_on_any_graph_a_pair_or_a_reason(tmp_path: Path, seed: int) -> None:
    random_graph(tmp_path / "wiki", np.random.default_rng(seed), articles=6, links=0.4)
    wiki = Wiki.open(tmp_path / "wiki")
    leads = wiki.graph.article_node
    away = [distances_from(wiki.graph.forward, int(lead))[leads] for lead in leads]
    for least, most in ((1, 1), (2, 6), (4, 4), (12, 40)):
        there = any(((own >= least) & (own <= most)).any() for own in away)
        if there:
            start, goal, distance = wiki.pair(seed, least, most)
            assert least <= distance <= most
            assert distance == distances_from(wiki.graph.forward, start.node)[goal.node]
        else:
            with pytest.raises(InputError, match="clicks apart"):
                wiki.pair(seed, least, most)


def test_a_pair_that_walks_seldom_find(tmp_path: Path) -> None:
    """A hub of dead ends with one long way out."""
    pages = {"Hub": [Page("x" * 200, [*((f"E{i}", 0, LINK) for i in range(150)), ("A", 0, LINK)])]}
    pages |= {f"E{i}": [Page("end")] for i in range(150)}
    pages |= {"A": [Page("on", [("B", 0, LINK)])], "B": [Page("on", [("C", 0, LINK)])], "C": [Page("end")]}
    write_graph(tmp_path / "wiki", pages)
    start, goal, distance = Wiki.open(tmp_path / "wiki").pair(0, 3, 3)
    assert (start.title, goal.title, distance) == ("Hub", "C", 3)


@pytest.mark.parametrize(("least", "most", "seed"), [(0, 3, 0), (4, 3, 0), (2, 10**6, 0), (2, 3, -1)])
def test_what_makes_no_sense(known: Wiki, least: int, most: int, seed: int) -> None:
    with pytest.raises(InputError, match="choose"):
        known.pair(seed, least, most)
