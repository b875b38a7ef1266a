"""No page of a damaged dump is lost uncounted, and the count does not depend on where the dump was cut."""

import bz2
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from linkwalk.build.build import build
from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.formats import open_source
from linkwalk.sources.jsonlines import parse_lines
from linkwalk.sources.wikitext import mediawiki
from linkwalk.sources.wikitext.export import items, last_border, may_stand_between
from tests.conftest import (
    FOOTER,
    HEADER,
    P,
    assert_same_files,
    cut_anywhere,
    graph_files,
    pack,
    prose,
    to_xml,
)

OUTSIDE, WITHOUT_TAGS = "text outside of pages", "page without its tags"
PAGES = [P(f"Page {i}", prose(40, seed=i)) for i in range(6)]
TITLES = [page.title for page in PAGES]
WHOLE = to_xml(PAGES)


def read(path: Path) -> tuple[list[str], Counter[str]]:
    """Titles of a dump's pages in order, and its damage."""
    dump, titles, damage = open_source(path), [], Counter[str]()
    for piece, _ in dump.pieces():
        titles += [page.title for page in dump.documents(piece, damage)]
    return titles, damage


def hit(data: bytes, tag: bytes, number: int) -> bytes:
    """The bytes with a bit of a tag flipped."""
    at = [match.start() for match in re.finditer(tag, data)][number] + tag.index(b"a")
    return data[:at] + bytes([data[at] ^ 3]) + data[at + 1 :]


def lose(data: bytes, pattern: bytes, number: int = 0) -> bytes:
    """The bytes without a stretch of them."""
    match = list(re.finditer(pattern, data, re.DOTALL))[number]
    return data[: match.start()] + data[match.end() :]


def without(*numbers: int) -> list[str]:
    return [title for i, title in enumerate(TITLES) if i not in numbers]


def retitled(title: str) -> list[str]:
    """The titles, with another one for page 2."""
    return [*TITLES[:2], title, *TITLES[3:]]


DAMAGED: dict[str, tuple[bytes, list[str], dict[str, int]]] = {
    "a page's beginning is hit": (hit(WHOLE, b"<page>", 2), without(2), {OUTSIDE: 1}),
    "the first page's beginning is hit": (hit(WHOLE, b"<page>", 0), without(0), {OUTSIDE: 1}),
    "two pages' beginnings are hit": (
        hit(hit(WHOLE, b"<page>", 2), b"<page>", 2),
        without(2, 3),
        {OUTSIDE: 2},
    ),
    "a page's beginning is lost": (lose(WHOLE, b"<page>", 2), without(2), {OUTSIDE: 1}),
    "a page's end is hit": (hit(WHOLE, b"</page>", 2), TITLES, {WITHOUT_TAGS: 1}),
    "a page's end is lost": (lose(WHOLE, b"</page>", 2), TITLES, {WITHOUT_TAGS: 1}),
    "the last page's end is hit": (hit(WHOLE, b"</page>", 5), without(5), {"cut off in mid-page": 1}),
    "a page's beginning and end are hit": (
        hit(hit(WHOLE, b"</page>", 2), b"<page>", 2),
        without(2),
        {OUTSIDE: 1},
    ),
    "an end and the next beginning are hit": (
        hit(hit(WHOLE, b"</page>", 2), b"<page>", 3),
        TITLES,
        {WITHOUT_TAGS: 1},
    ),
    "an end and the next beginning are lost": (
        lose(WHOLE, rb"</page>\s*<page>", 2),
        TITLES,
        {WITHOUT_TAGS: 1},
    ),
    "ends and beginnings of three pages are lost": (
        lose(lose(WHOLE, rb"</page>\s*<page>", 2), rb"</page>\s*<page>", 2),
        TITLES,
        {WITHOUT_TAGS: 2},
    ),
    "an end comes twice": (WHOLE.replace(b"</page>", b"</page></page>", 1), TITLES, {OUTSIDE: 1}),
    "a beginning comes twice": (WHOLE.replace(b"<page>", b"<page><page>", 1), TITLES, {"broken XML": 1}),
    "a page in a page": (
        WHOLE.replace(b"</page>", PAGES[0].xml().strip() + b"</page>", 1),
        ["Page 0", *TITLES],
        {WITHOUT_TAGS: 1, OUTSIDE: 1},
    ),
    "a beginning in a text": (WHOLE.replace(b".</text>", b"<page></text>", 1), without(0), {"broken XML": 2}),
    "an end in a text": (
        WHOLE.replace(b".</text>", b"</page></text>", 1),
        without(0),
        {"broken XML": 1, OUTSIDE: 1},
    ),
    "words between pages": (WHOLE.replace(b"</page>", b"</page> and", 2), TITLES, {OUTSIDE: 2}),
    "zeros between pages": (WHOLE.replace(b"</page>", b"</page>" + bytes(99), 1), TITLES, {OUTSIDE: 1}),
    "zeros behind the end": (WHOLE + bytes(512), TITLES, {OUTSIDE: 1}),
    "something behind the end": (WHOLE + b"<html>404</html>", TITLES, {OUTSIDE: 1}),
    "an element that is not known between pages": (
        WHOLE.replace(b"</page>", b"</page><thing>x</thing>", 1),
        TITLES,
        {OUTSIDE: 1},
    ),
    "cut off between pages": (WHOLE[: -len(FOOTER)], TITLES, {"cut off between pages": 1}),
    "cut off in a tag": (WHOLE[: WHOLE.rindex(b"<page>") + 3], without(5), {OUTSIDE: 1}),
    "cut off in the last tag": (WHOLE[:-6], TITLES, {OUTSIDE: 1}),
    "the end hit": (hit(WHOLE, b"</mediawiki>", 0), TITLES, {OUTSIDE: 1}),
    "one export cut off, another behind it": (
        to_xml(PAGES[:3])[: -len(FOOTER)] + to_xml(PAGES[3:]),
        TITLES,
        {OUTSIDE: 1},
    ),
    "a title is lost": (lose(WHOLE, b"<title>Page 2</title>"), retitled(""), {"page without a title": 1}),
    "a title is empty": (WHOLE.replace(b"Page 2", b" "), retitled(" "), {"page without a title": 1}),
    "a title's tags are hit": (
        WHOLE.replace(b"<title>Page 2</title>", b"<tytle>Page 2</tytle>"),
        retitled(""),
        {"page without a title": 1},
    ),
    "a text is lost": (lose(WHOLE, b"<text.*?</text>", 2), TITLES, {"page without text": 1}),
    "a revision is lost": (lose(WHOLE, b"<revision>.*?</revision>", 2), TITLES, {"page without text": 1}),
    "what follows a text, up to another title, is lost": (
        lose(WHOLE, rb"</revision>\s*</page>\s*<page>\s*", 2),
        without(2),
        {"broken XML": 1, WITHOUT_TAGS: 1},
    ),
    "what follows a page, up to another's number, is lost": (
        lose(WHOLE, rb"</page>\s*<page>\s*<title>Page 3</title>"),
        without(2, 3),
        {"broken XML": 1},
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_lost_is_counted(tmp_path: Path, name: str) -> None:
    data, titles, damage = DAMAGED[name]
    assert read(pack(data, tmp_path / "x.xml")) == (titles, damage)


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_counted_once_wherever_the_dump_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    data, titles, damage = DAMAGED[name]
    for seed in range(5):
        monkeypatch.setattr(packed, "CHUNK_BYTES", (1, 300, 3000)[seed % 3])
        monkeypatch.setattr(packed, "READ_BYTES", (7, 77, 1 << 20)[seed % 3])
        assert read(pack(data, tmp_path / "x.xml")) == (titles, damage)
        monkeypatch.setattr(mediawiki, "RANGE_BYTES", 1 + 200 * (seed % 2))
        path = tmp_path / "x.xml.bz2"
        path.write_bytes(b"".join(cut_anywhere(data, 30, seed)))
        assert len(list(open_source(path).pieces())) > 5
        assert read(path) == (titles, damage)


def test_a_damaged_tag_between_two_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 1)
    path = tmp_path / "x.xml.bz2"
    for tag in (b"<page>", b"</page>"):
        data = hit(WHOLE, tag, 2)
        expected = read(pack(data, tmp_path / "x.xml"))
        border = [match.start() for match in re.finditer(tag, WHOLE)][2]
        for cut in range(border - 9, border + 9):
            parts = [data[:50], data[50:100], data[100:cut], data[cut : cut + 2], data[cut + 2 :]]
            path.write_bytes(b"".join(map(bz2.compress, parts)))
            assert read(path) == expected, cut - border


@pytest.mark.slow
def test_a_damaged_build_does_not_depend_on_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 1)
    data = hit(lose(WHOLE, rb"</page>\s*<page>", 3), b"<page>", 2)
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(b"".join(cut_anywhere(data, 20)))
    for workers in (1, 2):
        build([path], tmp_path / f"wiki{workers}", workers=workers)
    assert_same_files(*(graph_files(tmp_path / f"wiki{workers}") for workers in (1, 2)))
    ledger = json.loads((tmp_path / "wiki1" / "graph" / "ledger.json").read_bytes())
    assert ledger["damage"] == {WITHOUT_TAGS: 1, OUTSIDE: 1}
    assert ledger["pages"] == {"read": 5, "kept": 5, "skipped": {}}
    with pytest.raises(InputError, match=f"1 × {WITHOUT_TAGS}, 1 × {OUTSIDE}.*strict"):
        build([path], tmp_path / "strict", strict=True)


@pytest.mark.parametrize(
    "data",
    [
        WHOLE.replace(b"</page>", b"</page>\n<logitem>\n<id>1</id>\n</logitem>\n", 2),
        WHOLE.replace(FOOTER, b"<logitem><id>1</id></logitem>\n" * 9 + FOOTER),
        b'\xef\xbb\xbf<?xml version="1.0"?>\n' + WHOLE,
        WHOLE.replace(b"</siteinfo>", b"</siteinfo>\r\n\t"),
        re.sub(rb"<siteinfo>.*</siteinfo>", b"", WHOLE, flags=re.DOTALL),
        WHOLE.strip(),
        to_xml(PAGES[:3]) + b'<?xml version="1.0"?>\n' + to_xml(PAGES[3:]) + to_xml([]),
        re.sub(rb"\s+<", b"<", WHOLE),
        WHOLE.replace(b"<revision>", b"<thing>x</thing><revision>"),
    ],
)
def test_what_may_stand_in_an_export_is_no_damage(tmp_path: Path, data: bytes) -> None:
    assert read(pack(data, tmp_path / "x.xml")) == (TITLES, {})


def test_a_log_entry_that_is_not_whole() -> None:
    assert may_stand_between(b"<logitem>a</logitem>\n<logitem>b</logitem>")
    assert not may_stand_between(b"<logitem>a</logitem>\n<logitem>b")
    assert not may_stand_between(b"<logitem>" * 100_000)
    assert not may_stand_between(b"<logitem></logitem>" * 100_000 + b".")


def test_items_are_the_same_wherever_bytes_are_cut_between_them() -> None:
    data = b"a<page>b</page>c</page></page><page>d<page><page></page> <page>e"
    expected = [
        b"a",
        b"<page>b</page>",
        b"c</page>",
        b"</page>",
        b"<page>d",
        b"<page>",
        b"<page></page>",
        b" ",
        b"<page>e",
    ]
    assert list(items(data)) == expected
    for cut in range(len(data) + 1):
        border = last_border(data[:cut])
        assert [*items(data[:border]), *items(data[border:])] == expected


def test_a_page_that_is_too_large_between_tags_that_are_hit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MAX_PAGE_BYTES", 5000)
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 1)
    giant = P("Giant", "x" * 9000).xml()
    for page, expected in (
        (giant, ["too large"]),
        (giant.replace(b"</page>", b"</pbge>"), ["too large"]),
        (giant.replace(b"<page>", b"<pbge>"), ["too large"]),
        (giant.replace(b"xxx</text>", b"<page></text>"), ["too large", "broken XML"]),
    ):
        data = HEADER + PAGES[0].xml() + page + PAGES[1].xml() + FOOTER
        for chunk in (1, 1000, 5000):
            monkeypatch.setattr(packed, "CHUNK_BYTES", chunk)
            for block in (7, 100, 4999, 1 << 20):
                monkeypatch.setattr(packed, "READ_BYTES", block)
                assert read(pack(data, tmp_path / "x.xml")) == (TITLES[:2], Counter(expected))
        path = tmp_path / "x.xml.bz2"
        path.write_bytes(b"".join(cut_anywhere(data, 40)))
        assert read(path) == (TITLES[:2], Counter(expected))


def test_a_stream_of_zeros_is_damage_unless_it_is_the_last(tmp_path: Path) -> None:
    parts = [bz2.compress(part) for part in (HEADER, *(page.xml() for page in PAGES), FOOTER)]
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(b"".join(parts) + bytes(99))
    assert read(path) == (TITLES, {})
    path.write_bytes(b"".join([*parts[:3], bytes(len(parts[3])), *parts[4:]]))
    assert read(path) == (without(2), {"damaged or truncated data": 1})
    path.write_bytes(b"".join(parts) + b"behind the last stream")
    assert read(path) == (TITLES, {"damaged or truncated data": 1})


def test_the_header_may_be_followed_by_damage(tmp_path: Path) -> None:
    for damaged in (HEADER + b"&nothing; <!DOCTYPE x>", HEADER + b"</page>"):
        assert read(pack(damaged + WHOLE[len(HEADER) :], tmp_path / "x.xml")) == (TITLES, {OUTSIDE: 1})


def test_wikitext_that_has_lost_its_head_is_not_taken_for_json(tmp_path: Path) -> None:
    for text in (b"{{Infobox}}\n", b"{| class=x\n", b"{1}"):
        with pytest.raises(InputError, match="is not a MediaWiki export"):
            open_source(pack(text + WHOLE[len(HEADER) :], tmp_path / "x.xml"))


# JSON lines: every line that is not blank is a page or damage.

LINES = [json.dumps({"title": title, "text": "x"}).encode() for title in TITLES]
DAMAGED_LINES: dict[str, tuple[bytes, list[str], int]] = {
    "blank lines": (b"\n\n  \n\r\n".join(LINES), TITLES, 0),
    "line breaks of Windows": (b"\r\n".join(LINES), TITLES, 0),
    "a byte order mark": (b"\xef\xbb\xbf" + b"\n".join(LINES), TITLES, 0),
    "a line break is lost": (b"\n".join(LINES).replace(b"}\n{", b"}{", 1), TITLES, 1),
    "every line break is lost": (b"".join(LINES), TITLES, 1),
    "line breaks are hit": (b"\r".join(LINES), TITLES, 1),
    "a line break and what stands around it are lost": (
        b"\n".join(LINES).replace(b"}\n{", b", ", 1),
        without(0, 1),
        1,
    ),
    "something behind a page": (b"\n".join([LINES[0] + b"}", LINES[1] + b"\x00", *LINES[2:]]), TITLES, 2),
    "a stretch of zeros": (b"\n".join([*LINES[:2], bytes(99), *LINES[2:]]), TITLES, 1),
    "zeros over a line break": (b"\n".join(LINES).replace(b"}\n{", b"}\x00\x00", 1), without(1), 1),
    "cut off": (b"\n".join(LINES)[:-3], without(5), 1),
    "a line break in a line": (b"\n".join(LINES).replace(b", ", b",\n", 1), without(0), 2),
    "a carriage return in a line": (b"\n".join(LINES).replace(b", ", b",\r", 1), TITLES, 0),
    "what are no objects": (b"\n".join([LINES[0], b"7", b"[]", b'"x"', b"null", *LINES[1:]]), TITLES, 4),
    "the first line is hit": (b"{" + b"\n".join(LINES)[2:], without(0), 1),
    "invalid UTF-8": (b"\n".join(LINES).replace(b"Page 2", b"Page \xff"), without(2), 1),
}


@pytest.mark.parametrize("name", DAMAGED_LINES)
def test_json_lines_that_are_no_pages_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    data, titles, broken = DAMAGED_LINES[name]
    damage = {"broken JSON line": broken} if broken else {}
    for chunk in (1, 100, 2 << 20):
        monkeypatch.setattr(packed, "CHUNK_BYTES", chunk)
        monkeypatch.setattr(packed, "READ_BYTES", chunk)
        assert read(pack(data, tmp_path / "x.jsonl")) == (titles, damage)


def test_many_pages_on_a_line_are_read_in_one_pass() -> None:
    damage = Counter[str]()
    assert len(list(parse_lines(LINES[0] * 50_000, damage))) == 50_000
    assert damage == {"broken JSON line": 1}


@pytest.mark.parametrize("size", [4990, 5000, 5001, 5010, 20_000])
def test_a_line_that_is_too_large_wherever_the_dump_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(packed, "MAX_PAGE_BYTES", 5000)
    giant = json.dumps({"title": "Giant", "text": ""}).encode()
    giant = giant.replace(b'""', b'"' + b"x" * (size - len(giant)) + b'"')
    expected = (["Giant", *TITLES], {}) if size <= 5000 else (TITLES, {"too large": 1})
    for chunk in (1, 1000, 5000):
        monkeypatch.setattr(packed, "CHUNK_BYTES", chunk)
        monkeypatch.setattr(packed, "READ_BYTES", chunk)
        assert read(pack(b"\n".join([giant, *LINES]), tmp_path / "x.jsonl")) == expected
