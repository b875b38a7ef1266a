"""Documents of any source: tidied, linked by title or address, each in the graph or in the ledger."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.build.build import BuildConfig, BuildResult, build
from linkwalk.build.read import ExtractConfig
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.sources import packed
from linkwalk.sources.documents import Document, Heading, LinkSpan, Wikitext, mend, tidy
from linkwalk.sources.formats import open_source
from linkwalk.sources.site import Site
from linkwalk.sources.source import in_groups
from tests.conftest import P, assert_same_files, graph_files, prose, write_dump


class Shelf:
    """A source of documents at hand, one to a piece."""

    files: tuple[Path, ...] = ()

    def __init__(self, *documents: Document | Wikitext, version: str = "shelf") -> None:
        self.path, self.site, self.version, self.given = Path("shelf"), Site(name="Shelf"), version, documents

    def pieces(self) -> Iterator[tuple[int, int]]:
        return ((number, 1) for number in range(len(self.given)))

    def documents(self, piece: int, damage: Counter[str]) -> Iterator[Document | Wikitext]:
        yield self.given[piece]


def made(folder: Path, *documents: Document | Wikitext) -> tuple[Graph, BuildResult]:
    config = BuildConfig(extract=ExtractConfig(min_chars=1), entity_links=False)
    result = build([Shelf(*documents)], folder / "wiki", config)
    return Graph.open(folder / "wiki"), result


def edges(graph: Graph, title: str) -> list[tuple[str, str]]:
    return [(e.anchor, graph.name(e.target)) for e in graph.links(graph.find(title)) if e.kind == "link"]


# White space.

_TEXTS = st.text(alphabet="ab \t\n\x0b\u2028\xa0é", max_size=30)


@given(text=_TEXTS, spans=st.lists(st.tuples(st.integers(-2, 32), st.integers(-2, 32)), max_size=5))
def test_tidying_moves_links_with_their_words(text: str, spans: list[tuple[int, int]]) -> None:
    document = Document(title="T", text=text, links=[LinkSpan(a, b, "X") for a, b in spans])
    found = tidy(document)
    assert found.text == "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
    assert len(found.links) + found.counts.get("invalid", 0) == len(spans)
    at = 0
    for link in found.links:
        assert at <= link.start < link.end <= len(found.text)
        at = link.end
    anchors = Counter(found.text[link.start : link.end] for link in found.links)
    written = Counter(" ".join(text[a:b].split()) for a, b in spans if 0 <= a < b)
    assert anchors <= written


@pytest.mark.parametrize("gap", ["", "\n", "  \n \n\t"])
def test_links_and_headings_keep_their_place(gap: str) -> None:
    text = f"{gap}One two.\n{gap}Three four."
    three = text.index("Three")
    found = tidy(
        Document(
            title="T",
            text=text,
            links=[LinkSpan(three, three + 5, "B"), LinkSpan(text.index("two"), three, "A")],
            headings=[Heading(three - len(gap), 2, "Later"), Heading(0, 2, "Soon", "s")],
            counts={"picture": 2},
        )
    )
    assert found.text == "One two.\nThree four."
    assert found.links == [LinkSpan(4, 8, "A"), LinkSpan(9, 14, "B")]
    assert found.headings == [Heading(0, 2, "Soon", "s"), Heading(9, 2, "Later")]
    assert found.counts["picture"] == 2


@pytest.mark.parametrize(
    "links",
    [
        [LinkSpan(0, 99, "A")],
        [LinkSpan(-1, 3, "A")],
        [LinkSpan(3, 3, "A")],
        [LinkSpan(3, 4, "A")],
        [LinkSpan(4, 12, "A")],
        [LinkSpan(0, 3, " ")],
    ],
)
def test_links_that_cannot_be_are_counted(links: list[LinkSpan]) -> None:
    found = tidy(Document(title="T", text="One two.\nThree.", links=links))
    assert (found.links, found.counts) == ([], {"invalid": 1})


def test_characters_that_are_none_are_mended() -> None:
    document, damage = Document(title="A\x00", text="half \ud83d of it"), Counter[str]()
    mend(document, damage)
    assert (document.title, document.text) == ("A\ufffd", "half \ufffd of it")
    mend(document, damage)
    assert damage == {"forbidden characters (mended)": 1}


# Names.


def test_links_go_by_title_or_address(tmp_path: Path) -> None:
    text = "to a, to b, to c, to d, to e."
    at = {letter: (text.index(f"{letter},") if letter != "e" else len(text) - 2) for letter in "abcde"}
    targets = {"a": "x/one.md", "b": "One", "c": "old.md", "d": "x/gone.md", "e": "Alias"}
    links = [LinkSpan(at[letter], at[letter] + 1, target) for letter, target in targets.items()]
    graph, result = made(
        tmp_path,
        Document(title="Start", text=text, links=links),
        Document(title="One", text="The first.", address="x/one.md"),
        Document(title="", address="old.md", redirect="x/one.md"),
        Document(title="Alias", redirect="Two"),
        Wikitext(title="Two", text="See [[start]] and [[one]]."),
    )
    assert edges(graph, "Start") == [("a", "One (0)"), ("e", "Two (0)")]
    assert edges(graph, "Two") == [("start", "Start (0)"), ("one", "One (0)")]
    assert result.ledger["links"]["resolved"]["merged with another edge of the block"] == 2
    assert result.ledger["links"]["unresolved"] == {"total": 1, "missing page": 1}
    assert result.ledger["redirects"] == {"links that go through one": 2, "to an article": 2}
    assert graph.find("old.md") == graph.find("One")


def test_documents_with_addresses_may_share_a_title(tmp_path: Path) -> None:
    pages = [
        Document(
            title="Overview",
            text=f"Number {name}. next",
            address=f"{name}.md",
            links=[LinkSpan(10, 14, f"{target}.md")],
        )
        for name, target in ("ab", "bc", "ca", "bb")
    ]
    graph, result = made(tmp_path, *pages, Document(title="Overview", text="No address."))
    assert graph.titles.slice(0, 3) == ["Overview", "Overview (b.md)", "Overview (c.md)"]
    assert [edges(graph, title) for title in graph.titles.slice(0, 3)] == [
        [("next", "Overview (b.md) (0)")],
        [("next", "Overview (c.md) (0)")],
        [("next", "Overview (0)")],
    ]
    assert result.ledger["damage"] == {
        "duplicate title": 2
    }  # the address that comes twice, and the one without
    assert result.ledger["pages"]["kept"] == graph.articles == 3


def test_a_fragment_is_a_headings_title_or_its_anchor(tmp_path: Path) -> None:
    text = f"{prose(60)}\n{prose(60, 1)}\n{prose(60, 2)}"
    second, third = text.index("\n") + 1, text.rindex("\n") + 1
    graph, _ = made(
        tmp_path,
        Document(
            title="Long",
            text=text,
            headings=[Heading(second, 2, "Early life"), Heading(third, 2, "What is it?", "what-is-it")],
        ),
        Document(
            title="Start",
            text="one two",
            links=[LinkSpan(0, 3, "Long", "early_life"), LinkSpan(4, 7, "Long", "what-is-it")],
        ),
    )
    assert [graph.block(e.target).section for e in graph.links(graph.find("Start"))] == [
        "Early life",
        "What is it?",
    ]


def test_pages_left_out_are_known_by_their_address(tmp_path: Path) -> None:
    pages = [
        Document(title="List of x", text="x", address="l.md"),
        Document(title="", text="x", address="n.md"),
    ]
    links = [LinkSpan(0, 3, "l.md"), LinkSpan(4, 7, "n.md")]
    _, result = made(tmp_path, Document(title="Start", text="one two", links=links), *pages)
    assert result.ledger["pages"]["skipped"] == {"no title": 1, "list": 1}
    assert result.ledger["links"]["unresolved"] == {"total": 2, "list": 1, "no title": 1}


# Sources.


def test_the_same_graph_from_two_workers(tmp_path: Path) -> None:
    pages = [Document(title=f"Page {i // 2}", text=prose(60, i), address=f"{i}.md") for i in range(9)]
    build([Shelf(*pages)], tmp_path / "one")
    build([Shelf(*pages)], tmp_path / "two", workers=2)
    assert_same_files(graph_files(tmp_path / "one"), graph_files(tmp_path / "two"))


def test_a_source_that_workers_cannot_import(tmp_path: Path) -> None:
    class Local(Shelf):
        pass

    page = Document(title="A", text=prose(60))
    with pytest.raises(InputError, match="Local: put it at the top of a module"):
        build([Local(page)], tmp_path / "wiki", workers=2)
    assert build([Local(page)], tmp_path / "wiki").fresh


def test_another_version_of_a_source_is_other_input(tmp_path: Path) -> None:
    page = Document(title="A", text=prose(60))
    assert build([Shelf(page)], tmp_path / "wiki").fresh
    assert not build([Shelf(page)], tmp_path / "wiki").fresh
    with pytest.raises(InputError, match="of other input or options"):
        build([Shelf(page, version="shelf 2")], tmp_path / "wiki")


def test_files_of_a_folder_are_known_by_name_and_content(tmp_path: Path) -> None:
    class Folder(Shelf):
        @property
        def files(self) -> tuple[Path, ...]:  # type: ignore[override]
            return tuple(sorted((tmp_path / "in").iterdir()))

    def fresh() -> bool:
        source = Folder(Document(title="A", text=prose(60)))
        source.path = tmp_path / "in"
        return build([source], tmp_path / "wiki").fresh

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("1")
    (tmp_path / "in" / "b").write_text("2")
    assert fresh()
    assert not fresh()
    (tmp_path / "in" / "a").rename(tmp_path / "in" / "c")
    with pytest.raises(InputError, match="of other input"):
        fresh()
    (tmp_path / "in" / "c").rename(tmp_path / "in" / "a")
    assert not fresh()
    (tmp_path / "in" / "b").write_text("3")
    with pytest.raises(InputError, match="of other input"):
        fresh()


def test_small_files_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "CHUNK_BYTES", 10)
    files = [tmp_path / name for name in "abcde"]
    for file, size in zip(files, (4, 4, 4, 30, 1), strict=True):
        file.write_bytes(b"x" * size)
    assert list(in_groups(files)) == [(files[:3], 12), (files[3:4], 30), (files[4:], 1)]


def test_a_format_is_told_or_named(tmp_path: Path) -> None:
    xml = write_dump(tmp_path / "a", [P("A", "a")])
    lines = write_dump(tmp_path / "b.jsonl", [P("A", "a")])
    for path, name in ((xml, "mediawiki"), (lines, "jsonlines")):
        assert type(open_source(path)) is type(open_source(path, name))
    with pytest.raises(InputError, match="is not a MediaWiki export"):
        open_source(lines, "mediawiki")
    with pytest.raises(InputError, match="has no JSON lines"):
        open_source(xml, "jsonlines")
    with pytest.raises(InputError, match="no format 'csv': there are mediawiki, jsonlines"):
        open_source(xml, "csv")
    with pytest.raises(InputError, match="no such file"):
        open_source(tmp_path / "missing", "collections:Counter")
    with pytest.raises(InputError, match="builtins:str makes no source: it lacks path, files"):
        open_source(xml, "builtins:str")
    with pytest.raises(InputError, match="neither a class of sources nor a function"):
        open_source(xml, "math:pi")


def test_what_a_wiki_leaves_out_is_a_page_elsewhere(tmp_path: Path) -> None:
    shelf = Shelf(
        Document(title="Index of commands", text="may refer to:\nOne and\nanother"),
        Document(title="my_note (disambiguation)", text="List of many words."),
        Document(title="", text="Nameless."),
    )
    config = BuildConfig(extract=ExtractConfig(min_chars=1), entity_links=False)
    shelf.site = Site(name="Docs", literal=True)
    build([shelf], tmp_path / "wiki", config)
    graph = Graph.open(tmp_path / "wiki")
    assert graph.titles.slice(0, graph.articles) == ["Index of commands", "my_note (disambiguation)"]
    assert graph.find("my_note (disambiguation)") == 1
    assert graph.language == ""


def test_pages_that_are_all_too_short_say_so(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no page is an article \(2 short\): a page of less than 20 characters"
    ):
        build([Shelf(Document(title="A", text="a"), Document(title="B"))], tmp_path / "wiki")
