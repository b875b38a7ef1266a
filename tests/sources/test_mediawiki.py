import bz2
import gzip
import json
import lzma
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.formats import open_source
from linkwalk.sources.wikitext import mediawiki
from linkwalk.sources.wikitext.mediawiki import StreamRange
from tests.conftest import HEADER, P, cut_anywhere, multistream, pack, prose, to_xml, write_dump


def read(path: Path) -> tuple[list[str], Counter[str]]:
    """Titles of a dump's pages in order, and its damage."""
    dump, titles, damage = open_source(path), [], Counter[str]()
    position = 0
    for piece, size in dump.pieces():
        assert size >= 0
        position += size
        titles += [page.title for page in dump.documents(piece, damage)]
    assert position <= path.stat().st_size
    return titles, damage


def pages(count: int, words: int = 40) -> list[P]:
    return [P(f"Page {i} é", prose(words, seed=i)) for i in range(count)]


TITLES = [page.title for page in pages(50)]


@pytest.mark.parametrize(
    "suffix", [".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".jsonl", ".jsonl.gz", ".jsonl.xz"]
)
@pytest.mark.parametrize("chunk_bytes", [1, 1000, 2 << 20])
def test_every_packing_in_chunks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, chunk_bytes: int
) -> None:
    monkeypatch.setattr(packed, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(packed, "READ_BYTES", 777)
    path = write_dump(tmp_path / f"x{suffix}", pages(50))
    assert read(path) == (TITLES, {})
    assert (len(list(open_source(path).pieces())) > 1) == (chunk_bytes < 2000)


def test_the_name_of_the_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "dump.dat"
    path.write_bytes(bz2.compress(b"\xef\xbb\xbf\n" + to_xml(pages(3))))
    assert read(path) == (TITLES[:3], {})
    assert packed.packing_of(path) == "bzip2"


@pytest.mark.parametrize("range_bytes", [1, 500, 3000])
def test_multistream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, range_bytes: int) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", range_bytes)
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(b"".join(multistream(pages(50))))
    pieces = [piece for piece, _ in open_source(path).pieces()]
    assert len(pieces) > 1
    assert all(isinstance(piece, StreamRange) for piece in pieces)
    assert read(path) == (TITLES, {})


@pytest.mark.parametrize("seed", range(20))
def test_streams_cut_at_any_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", rng.choice([1, 200, 1000]))
    monkeypatch.setattr(packed, "READ_BYTES", rng.choice([3, 100, 1 << 20]))
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(b"".join(cut_anywhere(to_xml(pages(50)), rng.choice([5, 30, 200]), seed)))
    assert read(path) == (TITLES, {})


def test_a_tag_cut_anywhere_between_two_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 1)
    data = to_xml(pages(4))
    path = tmp_path / "x.xml.bz2"
    second = [match.start() for match in re.finditer(rb"<page>|</page>|</mediawiki>", data)][2:]
    for tag in second:
        for cut in range(tag, tag + 8):
            parts = [data[:50], data[50:100], data[100:cut], data[cut:]]
            path.write_bytes(b"".join(map(bz2.compress, parts)))
            assert read(path) == (TITLES[:4], {}), data[cut - 10 : cut + 10]


def test_empty_streams_and_zeros_behind_streams_are_no_damage(tmp_path: Path) -> None:
    data = to_xml(pages(4))
    for suffix, packer in ((".bz2", bz2.compress), (".xz", lzma.compress), (".gz", gzip.compress)):
        path = tmp_path / f"x.xml{suffix}"
        path.write_bytes(packer(b"") + packer(data[:999]) + packer(b"") + packer(data[999:]) + bytes(64))
        assert read(path) == (TITLES[:4], {})


def test_a_damaged_stream_costs_its_own_pages_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 2000)
    streams = multistream(pages(30), per_stream=3)
    path = tmp_path / "x.xml.bz2"
    for at in (
        0,
        4,
        len(streams[5]) // 2,
        len(streams[5]) - 3,
    ):  # in the magic number, the body, the checksum
        broken = bytearray(streams[5])
        broken[at] ^= 0xFF
        path.write_bytes(b"".join([*streams[:5], bytes(broken), *streams[6:]]))
        titles, damage = read(path)
        assert set(TITLES[:12] + TITLES[15:30]) <= set(titles)
        assert sum(damage.values()) >= 1


def test_a_damaged_stream_among_streams_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 1500)
    streams = cut_anywhere(to_xml(pages(50)), 40)
    path = tmp_path / "x.xml.bz2"
    for number in range(2, len(streams) - 1, 3):
        broken = bytearray(streams[number])
        broken[len(broken) // 2] ^= 0xFF
        path.write_bytes(b"".join([*streams[:number], bytes(broken), *streams[number + 1 :]]))
        titles, damage = read(path)
        lost = set(TITLES) - set(titles)
        inside = bz2.decompress(streams[number]).count(b"<title>") + 2
        assert len(lost) <= inside
        assert titles == [title for title in TITLES if title not in lost]
        assert sum(damage.values()) >= 1


@pytest.mark.parametrize("suffix", [".xml", ".xml.bz2", ".xml.gz", ".xml.xz"])
def test_a_file_cut_off_keeps_its_whole_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = write_dump(tmp_path / f"x{suffix}", pages(700, words=250))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    titles, damage = read(path)
    assert titles == [f"Page {i} é" for i in range(len(titles))]
    assert len(titles) > 200
    assert sum(damage.values()) == 1


def test_a_multistream_file_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 2000)
    streams = cut_anywhere(to_xml(pages(50)), 20)
    path = tmp_path / "x.xml.bz2"
    stops = 0
    for stop in range(4, len(streams) - 1):  # between two streams: nothing but the open page itself shows it
        before = b"".join(map(bz2.decompress, streams[:stop]))
        if before.rfind(b"<page>") < before.rfind(b"</page>"):
            continue
        path.write_bytes(b"".join(streams[:stop]))
        titles, damage = read(path)
        assert titles == TITLES[: len(titles)]
        assert damage == {"cut off in mid-page": 1}
        stops += 1
    assert stops > 5
    path.write_bytes(b"".join(streams[:12])[:-5])
    assert sum(read(path)[1].values()) == 1


@pytest.mark.parametrize("streams", [False, True])
def test_a_page_too_large_costs_itself_and_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streams: bool
) -> None:
    monkeypatch.setattr(packed, "MAX_PAGE_BYTES", 50_000)
    monkeypatch.setattr(packed, "CHUNK_BYTES", 10_000)
    monkeypatch.setattr(packed, "READ_BYTES", 1000)
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 300)
    for size in (51_000, 300_000):
        some = [*pages(5), P("Giant", "x" * size), *pages(10)[5:]]
        path = tmp_path / "x.xml.bz2"
        path.write_bytes(b"".join(multistream(some, 2)) if streams else bz2.compress(to_xml(some)))
        assert read(path) == (TITLES[:10], {"too large": 1})


def test_a_line_too_large_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_PAGE_BYTES", 50_000)
    monkeypatch.setattr(packed, "CHUNK_BYTES", 10_000)
    monkeypatch.setattr(packed, "READ_BYTES", 1000)
    for size in (51_000, 300_000):
        some = [*pages(5), P("Giant", "x" * size), *pages(10)[5:]]
        assert read(write_dump(tmp_path / "x.jsonl", some)) == (TITLES[:10], {"too large": 1})


def test_damaged_json_lines_keep_the_lines_around_the_damage(tmp_path: Path) -> None:
    lines = [json.dumps({"title": f"T{i}", "text": "x"}) + "\n" for i in range(9)]
    streams = [bytearray(bz2.compress("".join(lines[i : i + 3]).encode())) for i in (0, 3, 6)]
    streams[1][20] ^= 0xFF
    path = tmp_path / "x.jsonl.bz2"
    path.write_bytes(b"".join(streams))
    titles, damage = read(path)
    assert titles[:3] == ["T0", "T1", "T2"]
    assert titles[-2:] == ["T7", "T8"]
    assert damage == {"damaged or truncated data": 1}


def test_what_looks_like_ten_thousand_streams_is_given_up_quickly(tmp_path: Path) -> None:
    path = tmp_path / "x.bz2"
    path.write_bytes(b"BZh91AY&SY" * 50_000)
    with pytest.raises(InputError, match="cannot be unpacked"):
        open_source(path)
    path.write_bytes(bz2.compress(to_xml(pages(3))) + b"BZh91AY&SY" * 20_000)
    assert read(path)[0] == TITLES[:3]


def test_the_site_is_read(tmp_path: Path) -> None:
    header = HEADER.replace(b'xml:lang="en"', b'xml:lang="ltg"').replace(b">Category<", b">Kategoreja<")
    path = tmp_path / "x.xml"
    path.write_bytes(header + P("A", "a").xml() + b"</mediawiki>")
    site = open_source(path).site
    assert (site.name, site.dbname, site.language, site.first_letter) == ("Testwiki", "testwiki", "ltg", True)
    assert site.namespaces["Kategoreja"] == 14
    path.write_bytes(header.replace(b"<case>first-letter", b"<case>case-sensitive") + P("a", "a").xml())
    assert not open_source(path).site.first_letter


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"Just some text.\n", "is not a MediaWiki export"),
        (b"<html><body>404</body></html>", "is not a MediaWiki export"),
        (bytes(range(256)) * 9, "is not a MediaWiki export"),
        (b"BZh9" + bytes(range(200)), "cannot be unpacked"),
        (b"\x1f\x8b" + bytes(200), "cannot be unpacked"),
        (b"\xfd7zXZ\x00" + bytes(200), "cannot be unpacked"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(99), "packed with 7z"),
        (b"PK\x03\x04" + bytes(99), "packed with zip"),
        (b"<mediawiki><siteinfo><sitename>x</siteinfo><page>", "broken XML before its first page"),
        (b"<mediawiki>&nothing;<page></page></mediawiki>", "broken XML before its first page"),
        (
            b'<!DOCTYPE m [<!ENTITY a "b">]><mediawiki>&a;<page></page></mediawiki>',
            "declares a document type",
        ),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match=expected):
        open_source(path)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_source(tmp_path / "missing.xml")
    with pytest.raises(InputError, match="is a folder"):
        open_source(tmp_path)
    with pytest.raises(InputError, match="no plain file"):
        open_source(Path("/dev/null"))


def test_two_exports_one_behind_the_other(tmp_path: Path) -> None:
    data = to_xml(pages(3)) + to_xml(pages(5)[3:])
    assert read(pack(data, tmp_path / "x.xml.gz")) == (TITLES[:5], {})
