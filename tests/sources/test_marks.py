"""Links come out of a page that is read with marks as they do without, and their lines are those of the file."""

import tarfile
from collections import Counter
from pathlib import Path

import pytest

from linkwalk.shipped import dump_path
from linkwalk.sources.documents import Document, tidy
from linkwalk.sources.folder import Folder
from linkwalk.sources.html.folder import Html
from linkwalk.sources.markdown.folder import Markdown
from linkwalk.sources.marks import WIKITEXT, Marks, WrittenLink
from linkwalk.sources.site import Site
from linkwalk.sources.wikitext.mediawiki import MediaWiki
from linkwalk.sources.wikitext.scanner import scan
from tests.sources.as_vault import write_vault

DATA = Path(__file__).parents[3] / "shared" / "data" / "markdown"

PAGE = """---
title: A page
aliases: ["[[Not a link]]"]
---
# [Head](head.md)

One [link](a.md), and one
over [two
lines](b.md "title") and <b.md> and [a name][ref] and [ref].

`[code](code.md)` [[Note#Part|words]] ![[Other]] [[1]](c.md)

    [indented](code.md)

<!-- [hidden](code.md) -->

And <a class="x" href="d.md">tag</a> [again](a.md) [odd]( <e f.md> )

| table | [cell](a.md#part) |
|---|---|
| x | [[Note\\|y]] |

[ref]: g.md
[unused]: h.md
"""


def links_of(folder: Folder, page: str) -> list[WrittenLink]:
    return list(folder.written_links(page))


def test_every_kind_of_link_of_markdown_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    found = [(link.line, link.written, link.shown) for link in links_of(Markdown(tmp_path), "page.md")]
    assert found == [
        (5, "head.md", "Head"),
        (7, "a.md", "link"),
        (9, "b.md", "two lines"),
        (23, "g.md", "a name"),
        (23, "g.md", "ref"),
        (11, "Note#Part", "words"),
        (11, "Other", "Other"),
        (11, "c.md", "[1]"),
        (17, "d.md", "tag"),
        (17, "a.md", "again"),
        (17, "e f.md", "odd"),
        (19, "a.md#part", "cell"),
        (21, "Note", "y"),
    ]


def as_read(folder: Folder, page: str) -> list[tuple[str, str, str]]:
    """The links of a page as a build reads them."""
    (document,) = [one for one in folder.page(page, Counter()) if one.redirect is None]
    read = tidy(document)
    return [(read.text[link.start : link.end], link.target, link.fragment) for link in read.links]


def assert_same_links(folder: Folder) -> int:
    seen = 0
    for page in folder.vault.pages:
        lines = folder.vault.file(page).read_text(encoding="utf-8-sig", errors="replace").splitlines()
        found = links_of(folder, page)
        assert [(link.shown, link.target, link.fragment) for link in found] == as_read(folder, page), page
        for link in found:
            assert link.line is not None, (page, link)
            assert link.written in lines[link.line - 1], (page, link)
        seen += len(found)
    return seen


def test_a_whole_vault_reads_with_marks_as_without(tmp_path: Path) -> None:
    write_vault(tmp_path)
    assert assert_same_links(Markdown(tmp_path)) > 2000


@pytest.mark.skipif(not DATA.exists(), reason=f"no real Markdown at {DATA}")
def test_a_real_folder_reads_with_marks_as_without(tmp_path: Path) -> None:
    with tarfile.open(DATA / "handbook.tar.xz") as packed:
        packed.extractall(
            tmp_path, filter="data", members=[m for m in packed if "/departments/cloud/" in m.name]
        )
    assert assert_same_links(Markdown(tmp_path)) > 100


def test_links_of_html_have_their_lines(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        """<html><head><link rel="canonical" href="https://example.org/page.html">
<title>x</title></head><body><main>
<h2 id="part"><a href="#part">Part</a></h2>
<p>Words <a class="a > b"
href='gone.html#x'>gone</a>, <a href=bare.html>bare</a>
<a href="gone.html">again</a> <a href="mailto:x@y">mail</a></p></main></body></html>"""
    )
    found = [(link.line, link.written, link.target) for link in links_of(Html(tmp_path), "page.html")]
    assert found == [
        (5, "gone.html#x", "gone.html"),
        (5, "bare.html", "bare.html"),
        (6, "gone.html", "gone.html"),
    ]


def test_links_of_wikitext_have_their_lines() -> None:
    text = """Intro [[Alpha]] and [[beta|b]]s.
<!-- [[Hidden]] --> {{box|[[Boxed]]}} [[Category:X]]
[[File:a.jpg|thumb|A caption with [[Gamma#Part|links]]]]

* item [[Alpha]]<ref>[[Noted]]</ref> [[Delta (thing)|]] [[: Epsilon ]] [[#Here]]
"""
    marks = Marks()
    found = marks.links(scan(marks.put(text, WIKITEXT), Site()))
    assert sorted((link.line, link.target, link.fragment, link.written) for link in found) == [
        (1, "Alpha", "", "Alpha"),
        (1, "beta", "", "beta"),
        (3, "Gamma", "Part", "Gamma#Part"),
        (5, "", "Here", "#Here"),
        (5, "Alpha", "", "Alpha"),
        (5, "Delta (thing)", "", "Delta (thing)"),
        (5, "Epsilon", "", ": Epsilon"),
    ]


def test_a_whole_dump_reads_with_marks_as_without() -> None:
    dump = dump_path("demo")
    assert dump is not None
    source, seen = MediaWiki(dump), 0
    for piece, _ in source.pieces():
        for page in source.documents(piece, Counter()):
            marks = Marks()
            found = list(marks.links(scan(marks.put(page.text, WIKITEXT), source.site)))
            plain = scan(page.text, source.site)
            assert [(one.target, one.fragment) for one in found] == [
                (one.target, one.fragment) for one in tidy(Document.of(plain, title="")).links
            ]
            lines = page.text.split("\n")
            assert all(f"[[{one.written}" in lines[(one.line or 0) - 1] for one in found)
            seen += len(found)
    assert seen > 2000


def test_a_text_that_has_such_characters_is_left_as_it_is() -> None:
    marks, text = Marks(), "[[Alpha]] \U00100000 [[Beta]]"
    assert marks.put(text, WIKITEXT) == text
    assert [link.line for link in marks.links(scan(text, Site()))] == [None, None]
