"""Pages above and below one another: links up and down, and from every link one back where that is wanted."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.build.build import BuildConfig, BuildResult, build
from linkwalk.build.contents import in_a_ring
from linkwalk.build.read import ExtractConfig
from linkwalk.graph.store import KINDS, Graph
from linkwalk.sources.documents import Document, LinkSpan, Wikitext
from tests.conftest import assert_same_files, graph_files, prose
from tests.sources.test_documents import Shelf


def made(folder: Path, *documents: Document, **options: Any) -> tuple[Graph, BuildResult]:
    """A graph of some documents, without entity links unless asked for."""
    config = BuildConfig(extract=ExtractConfig(min_chars=1), **{"entity_links": False, **options})
    result = build([Shelf(*documents)], folder / "wiki", config)
    return Graph.open(folder / "wiki"), result


def ways(graph: Graph, title: str, kind: str = "contents") -> list[tuple[str, str]]:
    """Where edges of one kind lead from an article's first block, with the words one would click."""
    return [(e.anchor, graph.name(e.target)) for e in graph.links(graph.find(title)) if e.kind == kind]


def page(name: str, parent: str = "", text: str = "Some words.", **more: Any) -> Document:
    return Document(title=name.upper(), address=f"{name}.md", text=text, parent=parent, **more)


def test_links_lead_up_and_down(tmp_path: Path) -> None:
    graph, result = made(
        tmp_path,
        page("a", "top.md", prose(300)),
        page("top"),
        page("b", "TOP"),
        page("c", "old.md"),
        page("d", "nowhere.md"),
        page("e"),
        Document(title="Old", redirect="top.md", address="old.md"),
    )
    assert ways(graph, "TOP") == [("", "A (0)"), ("", "B (0)"), ("", "C (0)")]
    assert [ways(graph, name) for name in "ABC"] == [[("", "TOP (0)")]] * 3
    assert [ways(graph, name) for name in ("A (1)", "D", "E")] == [[], [], []]
    assert result.ledger["contents"] == {"edges": 6, "pages below another": 3, "page above: missing page": 1}
    assert result.manifest["counts"]["edges_by_kind"]["contents"] == 6


def test_what_is_above_comes_before_what_is_below(tmp_path: Path) -> None:
    graph, _ = made(tmp_path, page("child", "middle.md"), page("middle", "top.md"), page("top"))
    assert ways(graph, "MIDDLE") == [("", "TOP (0)"), ("", "CHILD (0)")]


def test_a_page_left_out_is_climbed_over(tmp_path: Path) -> None:
    graph, result = made(
        tmp_path,
        page("a", "empty.md"),
        page("empty", "hollow.md", text=""),
        page("hollow", "top.md", text=" "),
        page("top"),
        page("b", "ring1.md"),
        page("ring1", "ring2.md", text=""),
        page("ring2", "ring1.md", text=""),
    )
    assert ways(graph, "A") == [("", "TOP (0)")]
    assert ways(graph, "B") == []
    assert result.ledger["contents"] == {"edges": 2, "page above: short": 1, "pages below another": 1}


def test_pages_in_a_ring_are_below_none(tmp_path: Path) -> None:
    graph, result = made(
        tmp_path, page("a", "b.md"), page("b", "a.md"), page("own", "own.md"), page("c", "a.md")
    )
    assert [ways(graph, name) for name in ("A", "B", "OWN", "C")] == [
        [("", "C (0)")],
        [],
        [],
        [("", "A (0)")],
    ]
    assert result.ledger["contents"] == {"page above: in a ring": 3, "edges": 2, "pages below another": 1}


@given(above=st.lists(st.integers(-1, 11), min_size=12, max_size=12))
def test_a_ring_is_what_one_comes_back_to(above: list[int]) -> None:
    expected = []
    for start in range(len(above)):
        at = above[start]
        for _ in above:
            if at in (start, -1):
                break
            at = above[at]
        expected.append(at == start)
    assert in_a_ring(np.array(above, np.int32)).tolist() == expected


def test_links_of_a_table_of_contents_are_contents(tmp_path: Path) -> None:
    text = "Moon and Venus and Nothing and more"
    links = [LinkSpan(0, 4, "Moon"), LinkSpan(9, 14, "Venus"), LinkSpan(19, 26, "Nothing")]
    documents = [
        Document(title="Summary", text=text, links=links, contents=True, counts={"external": 2}),
        Document(title="Moon", text="It goes round. Moon, see Venus.", links=[LinkSpan(25, 30, "Venus")]),
        Document(title="Venus", text="A planet."),
    ]
    graph, result = made(tmp_path, *documents)
    assert ways(graph, "Summary") == [("Moon", "Moon (0)"), ("Venus", "Venus (0)")]
    assert ways(graph, "Moon", "link") == [("Venus", "Venus (0)")]
    assert result.ledger["contents"] == {"edges": 2, "link: external": 2, "link: missing page": 1}
    assert result.ledger["links"]["seen"] == result.ledger["links"]["resolved"]["total"] == 1
    without, result = made(tmp_path / "without", *documents, contents=False)
    assert ways(without, "Summary") == []
    assert result.ledger["contents"]["left out"] == 2


def test_a_table_of_the_pages_below_is_clicked_in_its_text(tmp_path: Path) -> None:
    links = [LinkSpan(0, 1, "a.md"), LinkSpan(2, 3, "b.md")]
    graph, _ = made(
        tmp_path,
        page("folder/", text="A B", links=links, contents=True),
        *(page(name, "folder/.md") for name in "abc"),
    )
    assert ways(graph, "FOLDER/") == [("A", "A (0)"), ("B", "B (0)"), ("", "C (0)")]


def test_contents_teach_the_entity_linker_nothing(tmp_path: Path) -> None:
    """Words of a table of contents would be linked wherever they stand: "Introduction", say."""
    mention = "The introduction of gas light changed cities. " + prose(30)
    documents = [
        Document(
            title=f"Summary {i}",
            text="introduction here",
            links=[LinkSpan(0, 12, "Start")],
            contents=True,
        )
        for i in range(4)
    ]
    rest = [Document(title="Start", text=prose(30)), Document(title="Gas", text=mention)]
    graph, _ = made(tmp_path, *documents, *rest, entity_links=True)
    assert ways(graph, "Gas", "entity") == []


_NAMES = [*"abcdef", ""]


@settings(max_examples=40, deadline=None)
@given(
    parents=st.lists(st.sampled_from(_NAMES), min_size=6, max_size=6),
    links=st.lists(st.tuples(st.sampled_from(_NAMES[:-1]), st.sampled_from(_NAMES[:-1])), max_size=8),
    tables=st.sets(st.sampled_from(_NAMES[:-1])),
    backlinks=st.booleans(),
)
def test_the_first_kind_stays(
    parents: list[str], links: list[tuple[str, str]], tables: set[str], backlinks: bool
) -> None:
    """One edge for a pair of pages: a link, else contents, else a backlink; the books say how many."""
    documents, written, contents = [], set(), set()
    for name, parent in zip("abcdef", parents, strict=True):
        own = [to for start, to in links if start == name]
        text = " ".join(["Words", *own])
        spans = [LinkSpan(6 + 2 * i, 7 + 2 * i, f"{to}.md") for i, to in enumerate(own)]
        documents.append(
            page(name, f"{parent}.md" if parent else "", text, links=spans, contents=name in tables)
        )
        (contents if name in tables else written).update((name, to) for to in own)
    above = dict(zip("abcdef", parents, strict=True))
    for name in "abcdef":
        line = [name]
        while (up := above.get(line[-1])) and up not in line:
            line.append(up)
        if above[name] and up != name:
            contents |= {(name, above[name]), (above[name], name)}
    expected = dict.fromkeys(((b, a) for a, b in written), "backlink") if backlinks else {}
    expected |= dict.fromkeys(contents, "contents") | dict.fromkeys(written, "link")
    with tempfile.TemporaryDirectory() as folder:
        graph, result = made(Path(folder), *documents, backlinks=backlinks)
        found = {
            (graph.title(node).lower(), graph.title(edge.target).lower()): edge.kind
            for node in range(graph.nodes)
            for edge in graph.links(node)
        }
    assert found == {pair: kind for pair, kind in expected.items() if pair[0] != pair[1]}
    counts = Counter(found.values())
    assert {kind: counts[kind] for kind in KINDS} == result.manifest["counts"]["edges_by_kind"]
    assert result.ledger["contents"].get("edges", 0) == counts["contents"]
    assert result.ledger["backlinks"].get("edges", 0) == counts["backlink"]


class Volumes(Shelf):
    """The same in two pieces; the second cannot be read while a file is in the way."""

    obstacle = Path("nowhere")

    def pieces(self) -> Iterator[tuple[Any, int]]:
        return (((first, first + 3), 1) for first in range(0, len(self.given), 3))

    def documents(self, piece: Any, damage: Counter[str]) -> Iterator[Document | Wikitext]:
        if piece[0] and self.obstacle.exists():
            raise OSError("disk full")
        yield from self.given[slice(*piece)]


@pytest.mark.parametrize(("workers", "backlinks"), [(1, False), (1, True), (2, True)])
def test_how_it_is_made_makes_no_difference(tmp_path: Path, workers: int, backlinks: bool) -> None:
    """Cut elsewhere, by several workers, stopped between: parents, tables and addresses go with their pages.

    One page is there twice, and two share a title.
    """
    documents = [
        page("a", "e.md", links=[LinkSpan(0, 4, "c.md")]),
        page("a", "c.md"),
        Document(title="A", address="x/a.md", text="Another.", parent="a.md"),
        page("b", "a.md"),
        page("c", "x/a.md", "a b c", links=[LinkSpan(0, 1, "a.md")], contents=True),
        page("e"),
    ]
    whole = made(tmp_path / "one", *documents, backlinks=backlinks)[0]
    config = BuildConfig(extract=ExtractConfig(min_chars=1), entity_links=False, backlinks=backlinks)
    volumes = Volumes(*documents)
    volumes.obstacle = tmp_path / "obstacle"
    volumes.obstacle.touch()
    with pytest.raises(OSError, match="disk full"):
        build([volumes], tmp_path / "two" / "wiki", config, workers=workers)
    assert list((tmp_path / "two" / "wiki" / "graph.partial").glob("shard-*.npz"))
    volumes.obstacle.unlink()
    build([volumes], tmp_path / "two" / "wiki", config, workers=workers)
    assert_same_files(graph_files(tmp_path / "one" / "wiki"), graph_files(tmp_path / "two" / "wiki"))
    assert ways(whole, "A") == [("", "E (0)"), ("", "A (x/a.md) (0)"), ("", "B (0)")]
    assert ways(whole, "A (x/a.md)") == [("", "A (0)"), ("", "C (0)")]


def test_addresses_are_kept_and_names(tmp_path: Path) -> None:
    graph, _ = made(
        tmp_path,
        page("docs/my_pods", text=prose(300)),
        Document(title="Plain", text="No address."),
        Document(title="https://e.org/a b", address="https://e.org/?q=1", text="Here.", parent="plain"),
    )
    addresses = graph.addresses
    assert addresses is not None
    assert [addresses[i] for i in range(len(addresses))] == ["docs/my_pods.md", "", "https://e.org/?q=1"]
    assert graph.title(graph.find("docs/my_pods.md")) == "DOCS/MY PODS"
    assert graph.title(graph.find("https://e.org/?q=1 (0)")) == "Https://e.org/a b"
    assert graph.parents is not None
    assert graph.parents.tolist() == [-1, -1, 1]


def test_what_nobody_has_is_no_column(tmp_path: Path) -> None:
    graph, _ = made(tmp_path, Document(title="Plain", text="No address."))
    assert (graph.addresses, graph.parents) == (None, None)
    assert not [file for file in graph.folder.iterdir() if file.name.startswith(("addresses", "article_p"))]
