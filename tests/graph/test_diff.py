import json
from collections import Counter
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from linkwalk.graph.diff import diff
from linkwalk.graph.hashes import hash_strings
from linkwalk.graph.store import LINK, Graph
from tests.graph.conftest import Page, random_pages, write_graph

Pages = dict[str, list[Page]]


def edited(pages: Pages, rng: np.random.Generator) -> Pages:
    """The same world later: articles gone and new, blocks cut, inserted and rewritten, links moved."""
    later = deepcopy(pages)
    for title in rng.choice(list(later), 5, replace=False):
        del later[str(title)]
    later |= {f"New {title}": blocks for title, blocks in random_pages(rng, articles=4).items()}
    for blocks in later.values():
        match int(rng.integers(5)):
            case 0:
                blocks.insert(0, Page("a fresh lead"))
            case 1 if len(blocks) > 1:
                blocks.pop()
            case 2:
                blocks[0].text += " and more"
            case 3 if len(blocks) > 1:
                blocks.reverse()
    titles = list(later)
    for title, blocks in later.items():
        for page in blocks:
            # Links of copied pages may lead to what is gone; a third go somewhere new.
            moved = [
                str(rng.choice(titles)) if t not in later or rng.random() < 0.3 else t
                for t, _, _ in page.links
            ]
            page.links = [(t, int(rng.integers(len(later[t]))), LINK) for t in moved if t != title]
    return later


def identity(graph: Graph) -> list[tuple[str, int]]:
    return [(graph.title(n), int(graph.node_block[n])) for n in range(graph.nodes)]


@pytest.mark.parametrize("seed", range(6))
def test_diff_agrees_with_sets_of_names(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    pages = random_pages(rng, articles=25)
    old = write_graph(tmp_path / "old", pages, name="before")
    new = write_graph(tmp_path / "new", edited(pages, rng), name="after")
    found = diff(old, new)

    old_titles, new_titles = ({g.titles[a] for a in range(g.articles)} for g in (old, new))
    assert found.articles.kept == len(old_titles & new_titles)
    assert found.articles.added == len(new_titles - old_titles)
    assert found.articles.deleted == len(old_titles - new_titles) == 5
    assert found.articles.added_share == pytest.approx(len(new_titles - old_titles) / len(new_titles))
    assert found.articles.deleted_share == pytest.approx(5 / 25)

    was = {name: n for n, name in enumerate(identity(old))}
    now = {name: n for n, name in enumerate(identity(new))}
    common = was.keys() & now.keys()
    assert (found.nodes.kept, found.nodes.added) == (len(common), len(now.keys() - was.keys()))
    assert found.nodes.deleted == len(was.keys() - now.keys())
    same = {name for name in common if old.texts[was[name]] == new.texts[now[name]]}
    assert found.unchanged == len(same)
    moved = 0
    for title in old_titles & new_titles:
        left = Counter(old.texts[n] for name, n in was.items() if name[0] == title and name not in same)
        right = Counter(new.texts[n] for name, n in now.items() if name[0] == title and name not in same)
        moved += (left & right).total()
    assert found.moved == moved

    every, within = [], []
    totals = np.zeros(4, int)
    old_names, new_names = identity(old), identity(new)
    for name in common:
        before = Counter(old_names[t] for t in old.forward.row(was[name]))
        after = Counter(new_names[t] for t in new.forward.row(now[name]))
        added, removed = after - before, before - after
        inner = [sum(c for n, c in part.items() if n in common) for part in (added, removed)]
        every.append(added.total() + removed.total())
        within.append(sum(inner))
        totals += [added.total(), removed.total(), *inner]
    assert [
        found.edges_added,
        found.edges_removed,
        found.edges_added_within,
        found.edges_removed_within,
    ] == totals.tolist()
    for histogram, changes in ((found.edge_changes, every), (found.edge_changes_within, within)):
        values, counts = np.unique(changes, return_counts=True)
        assert (histogram.values.tolist(), histogram.counts.tolist()) == (values.tolist(), counts.tolist())
        assert histogram.mean == pytest.approx(np.mean(changes))
    assert json.loads(json.dumps(found.to_json()))["nodes"]["moved_text"] == moved


def test_nothing_changed(tmp_path: Path) -> None:
    graph = write_graph(tmp_path, random_pages(np.random.default_rng(0)))
    found = diff(graph, graph)
    assert (found.nodes.added, found.nodes.deleted, found.moved) == (0, 0, 0)
    assert found.unchanged == graph.nodes
    assert found.edge_changes.values.tolist() == [0]
    assert found.edge_changes.counts.tolist() == [graph.nodes]


def test_nothing_in_common(tmp_path: Path) -> None:
    old = write_graph(tmp_path / "old", {"A": [Page("x")]})
    new = write_graph(tmp_path / "new", {"B": [Page("x")]})
    found = diff(old, new)
    assert (found.articles.kept, found.nodes.kept, found.edge_changes.total) == (0, 0, 0)
    assert found.articles.added_share == found.nodes.deleted_share == 1.0


def test_a_text_that_moves_is_no_new_text(tmp_path: Path) -> None:
    old = write_graph(tmp_path / "old", {"A": [Page("one"), Page("two")]})
    new = write_graph(tmp_path / "new", {"A": [Page("zero"), Page("one"), Page("two")]})
    found = diff(old, new)
    assert (found.nodes.kept, found.nodes.added, found.unchanged, found.moved) == (2, 1, 0, 2)


def test_hash_is_fnv_1a(tmp_path: Path) -> None:
    graph = write_graph(tmp_path, {"A": [Page("é"), Page(""), Page("foobar")]})
    assert hash_strings(graph.texts, 1, 3).tolist() == [0xCBF29CE484222325, 0x85944171F73967E8]
