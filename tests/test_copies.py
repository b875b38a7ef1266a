"""Copies of a dump in other alphabets (``bench/copies.py``): as many pages and links again, and nothing shared."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwalk.build.build import build
from linkwalk.graph.store import LINK, Graph
from tests.conftest import P, prose, write_dump

BENCH = Path(__file__).parents[1] / "bench"
TEXT = (
    '[[Category:Animals]] {{Infobox animal|name=Ox}} {| class="wikitable"\n|-\n| cell\n|}\n&lt;b&gt;bold&lt;/b&gt; '
    "&amp;nbsp; [[Elephants of Africa#Habits|habits]] http://example.org/cat "
)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    import copies

    yield copies
    sys.modules.pop("copies")


def test_copies_are_as_large_as_the_first_and_share_nothing(copies: Any, tmp_path: Path) -> None:
    titles = ["Cat", "Ox", "Elephants of Africa", "List of animals"]
    pages = [P(title, TEXT + prose(40) + "\n== Habits ==\n" + prose(120)) for title in titles]
    dump, many = write_dump(tmp_path / "one.xml.bz2", pages), tmp_path / "many.xml.bz2"
    assert list(copies.write_copies(dump, 3, many, 2)) == [1, 2, 3]
    one, three = build([dump], tmp_path / "one"), build([many], tmp_path / "three")
    assert three.ledger["damage"] == {}
    for account in ("pages", "links", "section_links"):
        _assert_times(three.ledger[account], one.ledger[account], 3)
    graph = Graph.open(tmp_path / "three")
    names = graph.titles.slice(0, graph.articles)
    assert names[:3] == titles[:3]
    assert len(set(names)) == 9
    source = np.repeat(graph.node_article, np.diff(graph.out_indptr))[graph.out_kinds == LINK]
    target = graph.node_article[graph.out_targets[graph.out_kinds == LINK]]
    assert len(source) > 0
    assert (source // 3).tolist() == (target // 3).tolist()  # links stay in their copy
    again = tmp_path / "again.xml.bz2"
    list(copies.write_copies(dump, 3, again, 1))
    assert again.read_bytes() == many.read_bytes()


def _assert_times(many: Any, one: Any, times: int) -> None:
    """Every number is as many times as large."""
    if isinstance(one, dict):
        assert many.keys() == one.keys()
        for key in one:
            _assert_times(many[key], one[key], times)
    else:
        assert many == times * one
