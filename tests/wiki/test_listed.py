"""What stands beside a page: its place in the contents, the pages that link to it, its address."""

from pathlib import Path

import pytest

from linkwalk.graph.store import BACKLINK, CONTENTS, LINK, Graph
from linkwalk.wiki import pages
from linkwalk.wiki.clicks import shortest_clicks
from linkwalk.wiki.pages import Page as Card
from linkwalk.wiki.pages import read_page
from tests.graph.conftest import Page, write_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    below = {f"Part {i}": [Page("A part.")] for i in range(20)}
    return write_graph(
        tmp_path,
        {
            "Top": [Page("All of it.")],
            "Middle": [Page("Top it.", [("Top", 0, LINK)]), Page("More.")],
            **below,
        },
        addresses=["index.md", "middle.md", *("" for _ in below)],
        parents=[-1, 0, *(1 for _ in below)],
    )


def beside(graph: Graph, monkeypatch: pytest.MonkeyPatch, **rows: list[tuple[str, int]]) -> list[Card]:
    """Cards of some articles whose rows end in edges that stand in no text."""
    columns: dict[str, list[object]] = {"out_targets": [], "out_kinds": [], "out_spans": []}
    indptr = [0]
    for node in range(graph.nodes):
        more = rows.get(graph.title(node), []) if graph.node_block[node] == 0 else []
        edges = [(e.target, pages.KINDS.index(e.kind), (0, e.end)) for e in graph.links(node)]
        edges += [(graph.find(title), kind, (0, 0)) for title, kind in more]
        for column, values in zip(columns.values(), zip(*edges, strict=True), strict=False):
            column.extend(values)
        indptr.append(indptr[-1] + len(edges))
    import numpy as np

    for name, values in {"out_indptr": indptr, **columns}.items():
        dtype = getattr(graph, name).dtype
        monkeypatch.setitem(graph.arrays, name, np.array(values, dtype))
    return [read_page(graph, graph.find(title)) for title in rows]


def test_above_and_below(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [(f"Part {i}", CONTENTS) for i in range(20)]
    monkeypatch.setattr(pages, "_LISTED", 3)
    middle, top, part = beside(
        graph,
        monkeypatch,
        Middle=parts,
        Top=[("Middle", CONTENTS), ("Part 3", BACKLINK)],
        **{"Part 7": [("Middle", CONTENTS)]},
    )
    assert middle.above is not None
    assert middle.above.title == "Top"  # there is a link to it in the text, too
    assert [place.title for place in middle.below.places] == ["Part 0", "Part 1", "Part 2"]
    assert (middle.below.total, middle.linked_from.total) == (20, 0)
    assert [link.title for link in middle.links] == ["Top"]
    assert middle.place.address == "middle.md"
    assert top.above is None
    assert [place.title for place in top.below.places] == ["Middle"]
    assert [place.title for place in top.linked_from.places] == ["Part 3"]
    assert part.above == middle.place
    assert part.below.total == 0
    assert read_page(graph, graph.find("Middle (1)")).above is None
    clicks = shortest_clicks(graph, [graph.find(name) for name in ("Top", "Middle", "Part 3")])
    assert [(click.kind, click.link, click.sentence, click.segment) for click in clicks] == [
        ("contents", "", None, None)
    ] * 2
