"""Small damaged dumps, each drawn from a seed alone: a few pages of a real dump, packed, with some of it destroyed.

The pages come from the bundled encyclopedia and, where they are, from the genuine samples in ../shared/data.
"""

import bz2
import gzip
import html
import json
import lzma
import random
import re
import tarfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "src" / "linkwalk" / "shipped" / "encyclopedia.xml.bz2"
SAMPLES = ROOT.parent / "shared" / "data" / "genuine-dump-samples.tar.xz"

PACKINGS = ("plain", "plain", "bz2", "multistream", "pbzip2", "gz", "gz members", "xz", "xz streams")
#: Texts are shortened to these first lines, so that a case is quick.
LONG_TEXT = re.compile(rb"(<text[^>]*>.{3000}[^\n]*)\n[^<]*", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """A real dump in parts."""

    name: str
    header: bytes
    pages: list[bytes]


def read_sources() -> list[Source]:
    """Every dump that there is to cut small ones from."""
    found = [_source("encyclopedia", bz2.decompress(BUNDLED.read_bytes()))]
    if SAMPLES.exists():
        with tarfile.open(SAMPLES) as archive:
            for member in archive:
                if (file := archive.extractfile(member)) is not None:
                    name, data = Path(member.name).name, file.read()
                    found.append(_source(name, bz2.decompress(data) if name.endswith(".bz2") else data))
    return found


def _source(name: str, data: bytes) -> Source:
    pages = re.findall(rb"<page>.*?</page>", data, re.DOTALL)
    return Source(name, data[: data.index(b"<page>")], [LONG_TEXT.sub(rb"\1\n", page) for page in pages])


@dataclass
class Case:
    """One damaged dump, and what is known of it."""

    source: str
    format: str
    packing: str
    header: bytes = b""
    units: list[bytes] = field(default_factory=list)
    """The pages (or lines of JSON) that went in."""
    streams: list[tuple[bytes, list[bytes]]] = field(default_factory=list)
    """The packed streams, where there are several, each with the pages that are wholly inside."""
    mutations: list[str] = field(default_factory=list)
    damaged_packing: bool = False
    """Whether the damage was done to the packed file."""
    file: bytes = b""

    def __str__(self) -> str:
        packing = self.packing + " damaged" * self.damaged_packing
        return (
            f"{self.source}, {self.format}, {packing}, {len(self.units)} pages, {', '.join(self.mutations)}"
        )


def draw_case(seed: str, sources: Sequence[Source]) -> Case:
    """A small dump, packed and damaged."""
    rng = random.Random(seed)
    source = rng.choice(sources)
    case = Case(source.name, rng.choice(("xml", "xml", "xml", "jsonl")), rng.choice(PACKINGS))
    data = _small(case, source, rng)
    other = _small(Case("", case.format, ""), rng.choice(sources), rng)
    case.damaged_packing = case.packing != "plain" and rng.random() < 0.4
    if case.damaged_packing:
        other = _pack(Case("", case.format, case.packing), other, rng)
        case.file = _mutate(case, _pack(case, data, rng), other, MUTATIONS_OF_BYTES, rng)
    else:
        spared = len(case.header) if rng.random() < 0.8 else 0  # without its header most dumps are refused
        changed = _mutate(case, data[spared:], other, MUTATIONS, rng)
        case.file = _pack(case, data[:spared] + changed, rng)
    return case


def _small(case: Case, source: Source, rng: random.Random) -> bytes:
    """A few neighbouring pages of a dump."""
    size = min(rng.choice((2, 4, 8, 20)), len(source.pages))
    first = rng.randrange(len(source.pages) - size + 1)
    case.units = source.pages[first : first + size]
    if case.format == "xml":
        case.header = source.header
        return source.header + b"\n  ".join(case.units) + b"\n</mediawiki>\n"
    case.units = [_as_json(page) for page in case.units]
    return b"\n".join(case.units) + b"\n"


def _as_json(page: bytes) -> bytes:
    title = re.search(rb"<title>(.*?)</title>", page)
    text = re.search(rb"<text[^>]*>(.*?)</text>", page, re.DOTALL)
    words = [html.unescape(match[1].decode()) if match else "" for match in (title, text)]
    return json.dumps(dict(zip(("title", "text"), words, strict=True)), ensure_ascii=False).encode()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "g": lambda part: gzip.compress(part, 1, mtime=0),
    "x": lambda part: lzma.compress(part, preset=0),
    **dict.fromkeys("bmp", lambda part: bz2.compress(part, 1)),
}


def _pack(case: Case, data: bytes, rng: random.Random) -> bytes:
    if case.packing == "plain":
        return data
    pack = PACKERS[case.packing[0]]
    if case.packing in ("bz2", "gz", "xz") or not data:
        return pack(data)
    places: Sequence[int] = range(1, len(data))
    if case.packing == "multistream":  # as Wikimedia does: cut between pages
        places = [match.end() for match in re.finditer(rb"</page>\n?|\n(?=\{)", data)]
    cuts = sorted(rng.sample(places, min(len(places), rng.choice((3, 6, 20)))))
    parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    case.streams = [(pack(part), [unit for unit in case.units if unit in part]) for part in parts]
    return b"".join(stream for stream, _ in case.streams)


# What can happen to a file. Each changes the bytes in place; LookupError says that there is nothing of the kind.

Mutation = Callable[[bytearray, bytes, random.Random], None]

TAGS = re.compile(rb"</?[a-z]+[^<>]*>|[{}\":,]")
PAGE_TAGS = re.compile(rb"</?page>|\n(?=\{\")")
PAGE_BORDERS = re.compile(rb"</page>\s*<page>|\}\n\{\"")
ENTITIES = re.compile(rb"&[a-z]+;|\\.")
STREAMS = re.compile(rb"BZh[1-9]1AY&SY|\xfd7zXZ\x00|\x1f\x8b\x08")


def _mutate(
    case: Case, data: bytes, other: bytes, mutations: dict[str, Mutation], rng: random.Random
) -> bytes:
    """Damage bytes once or a few times; ``other`` is another file of the kind."""
    changed, count = bytearray(data), rng.choice((1, 1, 1, 1, 2, 3, 5))
    while changed and len(case.mutations) < count:
        name = rng.choice(list(mutations))
        with suppress(LookupError):
            mutations[name](changed, other, rng)
            case.mutations.append(name)
    return bytes(changed)


def _stretch(data: bytearray, rng: random.Random, most: int) -> slice:
    """A stretch of any length up to ``most``, short ones more often."""
    size = min(len(data), int(most ** rng.random()))
    start = rng.randrange(len(data) - size + 1)
    return slice(start, start + size)


def _match(pattern: re.Pattern[bytes], data: bytes | bytearray, rng: random.Random) -> slice:
    """Any match."""
    return slice(*_one_of([match.span() for match in pattern.finditer(data)], rng))


def _one_of(found: list[tuple[int, int]], rng: random.Random) -> tuple[int, int]:
    if not found:
        raise LookupError
    return rng.choice(found)


def _flip(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] ^= 1 << rng.randrange(8)


def _put_in(data: bytearray, rng: random.Random, *choice: bytes) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(choice)


def one_bit(data: bytearray, other: bytes, rng: random.Random) -> None:
    _flip(data, rng.randrange(len(data)), rng)


def many_bits(data: bytearray, other: bytes, rng: random.Random) -> None:
    for _ in range(rng.choice((2, 10, 100))):
        _flip(data, rng.randrange(len(data)), rng)


def overwritten(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _stretch(data, rng, 5000)
    data[where] = rng.randbytes(where.stop - where.start)


def overwritten_with_text(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _stretch(data, rng, 5000)
    data[where] = (b"all of it " * 501)[: where.stop - where.start]


def taken_out(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[_stretch(data, rng, 5000)]


def put_in(data: bytearray, other: bytes, rng: random.Random) -> None:
    _put_in(data, rng, rng.randbytes(1), rng.randbytes(5), rng.randbytes(500))


def zeroed(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _stretch(data, rng, 50_000)
    data[where] = bytes(where.stop - where.start)


def doubled(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _stretch(data, rng, 50_000)
    data[where.stop : where.stop] = data[where]


def swapped(data: bytearray, other: bytes, rng: random.Random) -> None:
    a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    data[a:c] = data[b:c] + data[a:b]


def half_taken_out(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[_stretch(data, rng, 1 + len(data) // 2)]


def cut_off(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[rng.randrange(1, len(data) + 1) :]


def beginning_lost(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[: rng.randrange(len(data))]


def cut_off_at_page_tag(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[_match(PAGE_TAGS, data, rng).stop :]


def tag_hit(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _match(TAGS, data, rng)
    _flip(data, rng.randrange(where.start, where.stop), rng)


def tag_lost(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[_match(TAGS, data, rng)]


def element_renamed(data: bytearray, other: bytes, rng: random.Random) -> None:
    name = bytes(data[_match(re.compile(rb"(?<=<)[a-z]+"), data, rng)])
    data[:] = re.sub(rb"(?<=[</])%b\b" % re.escape(name), b"x" + name[1:], data, count=rng.choice((2, 2, 0)))


def page_tag_hit(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _match(PAGE_TAGS, data, rng)
    _flip(data, rng.randrange(where.start, where.stop), rng)


def page_tag_lost(data: bytearray, other: bytes, rng: random.Random) -> None:
    del data[_match(PAGE_TAGS, data, rng)]


def page_tags_hit(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _match(PAGE_BORDERS, data, rng)
    _flip(data, where.start + 1, rng)
    _flip(data, where.stop - 2, rng)


def page_tags_lost(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _match(PAGE_BORDERS, data, rng)
    del data[where.start + rng.randrange(3) : where.stop - rng.randrange(2)]


def page_tag_put_in(data: bytearray, other: bytes, rng: random.Random) -> None:
    _put_in(data, rng, b"<page>", b"</page>", b"<title>", b"</page><page>", b"</mediawiki>", b"\n", b"{")


def page_tag_doubled(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _match(PAGE_TAGS, data, rng)
    data[where.start : where.start] = data[where]


def entity_broken(data: bytearray, other: bytes, rng: random.Random) -> None:
    where = _match(ENTITIES, data, rng)
    del data[rng.randrange(where.start, where.stop)]


def reference_put_in(data: bytearray, other: bytes, rng: random.Random) -> None:
    xml = (b"&#0;", b"&#xD800;", b"&#x110000;", b"&#9;", b"&nothing;", b"&")
    _put_in(data, rng, *xml, b"\\u0000", b"\\ud800")


def invalid_utf8(data: bytearray, other: bytes, rng: random.Random) -> None:
    _put_in(data, rng, b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80" * 9)


def control_characters(data: bytearray, other: bytes, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 5))):
        _put_in(data, rng, b"\x00", b"\x01", b"\x0b", b"\x0c", b"\x1f", b"\x7f", b"\r", b"\xef\xbf\xbe")


def line_break_lost(data: bytearray, other: bytes, rng: random.Random) -> None:
    data[_match(re.compile(rb"\n"), data, rng)] = rng.choice((b"", b" ", b"\r", b"\x0b", b"\x00"))


def line_breaks_lost(data: bytearray, other: bytes, rng: random.Random) -> None:
    data[:] = data.replace(b"\n", rng.choice((b"", b" ", b"\r", b"\x00")), rng.choice((1, 10, -1)))


def spliced(data: bytearray, other: bytes, rng: random.Random) -> None:
    data[rng.randrange(len(data) + 1) :] = other[rng.randrange(len(other)) :]


def spliced_at_page_tags(data: bytearray, other: bytes, rng: random.Random) -> None:
    data[_match(PAGE_TAGS, data, rng).start :] = other[_match(PAGE_TAGS, other, rng).start :]


def joined(data: bytearray, other: bytes, rng: random.Random) -> None:
    """One file behind the other, the first of them whole or not."""
    if rng.random() < 0.5:
        with suppress(LookupError):
            cut_off_at_page_tag(data, other, rng)
    data += other


def garbage_behind(data: bytearray, other: bytes, rng: random.Random) -> None:
    data += rng.choice((bytes(512), rng.randbytes(100), b"\n\n", b"</mediawiki>", b"<html>404</html>"))


def stream_hit(data: bytearray, other: bytes, rng: random.Random) -> None:
    """A stream goes, is zeroed or comes twice, from its first byte to its last."""
    starts = [match.start() for match in STREAMS.finditer(data)]
    start, stop = _one_of(list(pairwise([*starts, len(data)])), rng)
    data[start:stop] = rng.choice((b"", bytes(stop - start), data[start:stop] * 2))


ANYWHERE: dict[str, Mutation] = {
    "one bit flipped": one_bit,
    "many bits flipped": many_bits,
    "bytes overwritten": overwritten,
    "bytes overwritten with text": overwritten_with_text,
    "bytes taken out": taken_out,
    "bytes put in": put_in,
    "a stretch zeroed": zeroed,
    "a stretch doubled": doubled,
    "two stretches swapped": swapped,
    "a large stretch taken out": half_taken_out,
    "cut off": cut_off,
    "the beginning lost": beginning_lost,
    "two files spliced": spliced,
    "two files joined": joined,
    "garbage behind": garbage_behind,
}
MUTATIONS_OF_BYTES = ANYWHERE | {"a stream lost, zeroed or doubled": stream_hit}
MUTATIONS = ANYWHERE | {
    "cut off at a page tag": cut_off_at_page_tag,
    "a tag hit": tag_hit,
    "a tag lost": tag_lost,
    "an element renamed": element_renamed,
    "a page tag hit": page_tag_hit,
    "a page tag lost": page_tag_lost,
    "page tags hit on both sides": page_tags_hit,
    "page tags lost on both sides": page_tags_lost,
    "a page tag put in": page_tag_put_in,
    "a page tag doubled": page_tag_doubled,
    "an entity broken": entity_broken,
    "a reference put in": reference_put_in,
    "invalid UTF-8": invalid_utf8,
    "control characters": control_characters,
    "a line break lost": line_break_lost,
    "line breaks lost": line_breaks_lost,
    "two files spliced at page tags": spliced_at_page_tags,
}
