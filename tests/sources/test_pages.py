import json
from collections import Counter

import pytest

from linkwalk.sources.documents import mend
from linkwalk.sources.jsonlines import parse_lines
from linkwalk.sources.wikitext.export import parse_pages
from tests.conftest import P


def parse(data: bytes) -> tuple[list[tuple[str, str]], Counter[str]]:
    damage = Counter[str]()
    return [(page.title, page.text) for page in parse_pages(data, damage)], damage


def test_every_field() -> None:
    page = P("A & B", "<b>x</b> &amp; y", 4, redirect='C "d"', timestamp="2020-01-02T03:04:05Z", model="css")
    (found,) = parse_pages(page.xml(), Counter())
    assert (found.title, found.text, found.namespace) == ("A & B", "<b>x</b> &amp; y", 4)
    assert (found.redirect, found.timestamp, found.model) == ('C "d"', "2020-01-02T03:04:05Z", "css")


def test_the_last_revision_counts() -> None:
    data = b"<page><title>A</title><revision><text>old</text></revision><revision><text>new</text></revision></page>"
    assert parse(data) == ([("A", "new")], {})


def test_what_is_missing_is_empty() -> None:
    data = "<page><ns>²</ns><timestamp>yesterday</timestamp></page>".encode()
    (page,) = parse_pages(data, Counter())
    assert page.timestamp == ""
    assert (page.title, page.text, page.namespace, page.redirect, page.model) == ("", "", 0, None, "wikitext")
    assert parse(b"") == ([], {})


@pytest.mark.parametrize(
    ("broken", "text", "reason"),
    [
        (b"caf\xe9 \xff", "caf\ufffd \ufffd", "invalid UTF-8 (mended)"),
        (b"a\x00b\x1fc", "a\ufffdb\ufffdc", "forbidden characters (mended)"),
        ("a\uffffb".encode(), "a\ufffdb", "forbidden characters (mended)"),
        (b"a&#1;b&#xFFFF;c&#65;", "a\ufffdb\ufffdcA", "forbidden characters (mended)"),
        (b"a&#99999999999999;&#xD800;", "a\ufffd\ufffd", "forbidden characters (mended)"),
    ],
)
def test_bytes_that_xml_forbids_are_mended(broken: bytes, text: str, reason: str) -> None:
    page = b"<page><title>Bad</title><text>" + broken + b"</text></page>"
    data = P("Before", "x").xml() + page + P("After", "y").xml()
    assert parse(data) == ([("Before", "x"), ("Bad", text), ("After", "y")], {reason: 1})


@pytest.mark.parametrize(
    "broken",
    [
        b"<page><title>Bad</title><text>a < b</text></page>",
        b"<page><title>Bad</title><text>&undefined;</text></page>",
        b"<page><title>Bad</titel></page>",
        b"<page><title>Never closed</title><text>",
        b"<page></revision></page>",
    ],
)
def test_a_broken_page_costs_itself(broken: bytes) -> None:
    data = P("Before", "x").xml() + broken + P("After", "y").xml()
    assert parse(data) == ([("Before", "x"), ("After", "y")], {"broken XML": 1})


def test_json_lines() -> None:
    lines = [
        {"title": "A", "text": "a", "id": 7},
        {"title": "B", "text": "b", "timestamp": "2020-02-02"},
        {"title": "C", "text": "c", "timestamp": ["soon"]},
        ["title"],
        {"title": "no text"},
        {"title": 7, "text": "x"},
        7,
    ]
    data = (
        "\n".join(map(json.dumps, lines)).encode() + b'\n\n  \n{"title": "cut of\n\xff\xfe\n' + b"[" * 100_000
    )
    damage = Counter[str]()
    pages = list(parse_lines(data, damage))
    assert [(page.title, page.text, page.timestamp) for page in pages] == [
        ("A", "a", ""),
        ("B", "b", "2020-02-02"),
        ("C", "c", ""),
    ]
    assert damage == {"broken JSON line": 7}


def test_json_strings_that_are_no_text_are_mended() -> None:
    damage = Counter[str]()
    (page,) = parse_lines(rb'{"title": "A\u0000", "text": "half \ud83d of it, whole \ud83d\ude00"}', damage)
    mend(page, damage)
    assert (page.title, page.text) == ("A\ufffd", "half \ufffd of it, whole \U0001f600")
    assert damage == {"forbidden characters (mended)": 1}
