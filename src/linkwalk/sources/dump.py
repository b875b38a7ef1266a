"""Opens a dump and cuts it into chunks of whole pages, without parsing them: that is the workers' part.

Chunks are cut by searching bytes for page tags (``export.py``), far faster than decompression delivers them. All
that stands in the file is in one chunk or another, but for what is counted here. A multistream bzip2 file,
as Wikimedia publishes, is cut into ranges of streams instead, which the workers decompress themselves. Where
a stream is damaged, reading goes on with the next one.
"""

import bz2
import gzip
import lzma
import mmap
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol
from xml.parsers import expat

from linkwalk.errors import InputError
from linkwalk.sources.export import BEFORE_FILE, BEGIN, BEHIND_FILE, END, TAG, border, last_border
from linkwalk.sources.site import Site

CHUNK_BYTES = 2 << 20
#: A page beyond this is counted and left out: MediaWiki itself stops at 2 MiB of text.
MAX_PAGE_BYTES = 16 << 20
_READ_BYTES = 1 << 20
_HEADER_BYTES = 4 << 20
_RANGE_BYTES = 512 << 10
_HEADER_END = re.compile(rb"</siteinfo>|</?page>")
_JSON_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*\{[ \t]*\"", re.MULTILINE)
_MAGIC = ((b"BZh", "bzip2"), (b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\x00", "xz"))
#: How a stream begins, with a block or (bzip2) with nothing at all.
_STREAM = {
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
}
_DECODER: dict[str, Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]] = {
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}
_find_other_than_zero = re.compile(rb"[^\x00]").search

TOO_LARGE = "too large"
_UNREADABLE = "damaged or truncated data"
_CUT_IN_PAGE, _CUT_BETWEEN_PAGES = "cut off in mid-page", "cut off between pages"

#: Bytes of a file, one block after the other. An empty block marks a place where bytes are lost; None a place where
#: another range of streams begins or ends, which counts what it cuts through.
Blocks = Iterator[bytes | None]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole pages and what stands between them (or whole JSON lines), as bytes."""

    data: bytes
    damage: tuple[str, ...] = ()
    """What was wrong on the way here, e.g. ``too large``; one entry per damaged page."""

    def read(self) -> Iterator["Chunk"]:
        """The chunk itself: it has been decompressed already."""
        yield self


@dataclass(frozen=True, slots=True)
class StreamRange:
    """Some streams of a multistream file: what follows a tag that begins in its bytes ``start`` to ``stop``."""

    path: Path
    start: int
    stop: int

    def read(self) -> Iterator[Chunk]:
        """Unpack the range; its last page may reach into the streams that follow."""
        reader = _Reader(self.path, "bzip2", self.start)
        yield from _cut_pages(_range_blocks(reader, self.stop), CHUNK_BYTES)


class Piece(Protocol):
    """What the reader hands to a worker."""

    def read(self) -> Iterator[Chunk]:
        """The chunks it stands for."""
        ...


@dataclass(frozen=True, slots=True)
class Dump:
    """One input file, looked at: what it is, how it is packed, which wiki it comes from."""

    path: Path
    size: int
    packing: str
    format: str
    """``xml`` (a MediaWiki export) or ``jsonl`` (one object per line with ``title`` and ``text``)."""
    site: Site

    def pieces(self) -> Iterator[tuple[Piece, int]]:
        """Pieces of work in order, each with how many bytes of the file have been consumed by then."""
        # A large dump is cut into larger pieces: thousands of shards, not hundreds of thousands.
        scale = max(1, min(8, self.size >> 28))
        if self.packing == "bzip2" and self.format == "xml":
            ranges = _stream_ranges(self.path, self.size, scale * _RANGE_BYTES)
            for start, stop in ranges:
                yield StreamRange(self.path, start, stop), stop
            if ranges:
                return
        reader = _Reader(self.path, self.packing)
        cut = _cut_pages if self.format == "xml" else _cut_lines
        for chunk in cut(reader.blocks(), scale * CHUNK_BYTES):
            yield chunk, reader.position


def open_dump(path: Path) -> Dump:
    """Look at a file's first bytes; what cannot be a dump is refused here, in one line."""
    if not path.exists():
        raise InputError(f"no such file: {path}")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no plain file"
        raise InputError(f"{path} is {what}: name a dump file, such as pages-articles.xml.bz2")
    size = path.stat().st_size
    if size == 0:
        raise InputError(f"{path} is empty: download it again")
    with path.open("rb") as file:
        magic = file.read(8)
    packing = next((name for prefix, name in _MAGIC if magic.startswith(prefix)), "plain")
    for prefix, name in ((b"7z\xbc\xaf", "7z"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip")):
        if magic.startswith(prefix):
            raise InputError(
                f"{path} is packed with {name}: unpack it, or take the .bz2 or .gz file of the same dump"
            )
    head = bytearray()
    for block in _Reader(path, packing).blocks():
        new = max(0, len(head) - len(b"</siteinfo>"))
        head += block
        if not block or len(head) > _HEADER_BYTES:
            break
        if _HEADER_END.search(head, new) or _JSON_LINE.search(head, new):
            break
    if not head:
        raise InputError(f"{path} cannot be unpacked, although it begins like {packing}: download it again")
    start = bytes(head).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"{" and _JSON_LINE.search(start):  # wikitext may begin with a brace, too
        return Dump(path, size, packing, "jsonl", Site(name=path.name.split(".")[0]))
    header = _header(start)
    if start[:1] != b"<" or b"<mediawiki" not in header:
        raise InputError(
            f"{path} is not a MediaWiki export (no <mediawiki> element) nor JSON lines of `title` and `text`"
        )
    if b"<!DOCTYPE" in header or b"<!ENTITY" in header:
        raise InputError(
            f"{path} declares a document type or entities, which no MediaWiki export does: refused"
        )
    return Dump(path, size, packing, "xml", _read_site(path, header))


def _header(start: bytes) -> bytes:
    """What a dump begins with, up to the end of ``<siteinfo>`` or the first page tag, be it a page's end."""
    end = _HEADER_END.search(start)
    if end is None:
        return start
    return start[: end.end() if end[0] == b"</siteinfo>" else end.start()]


def _read_site(path: Path, header: bytes) -> Site:
    """Parse ``<siteinfo>``; a dump without one is read with MediaWiki's defaults."""
    fields = {"sitename": "", "dbname": "", "case": "first-letter"}
    namespaces: dict[str, int] = {}
    language, element, key = "en", "", 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal language, element, key
        element = name
        if name == "mediawiki":
            language = attributes.get("xml:lang", "en")
        elif name == "namespace":
            key = int(attributes.get("key", "0"))

    def end(name: str) -> None:
        nonlocal element
        element = ""

    def characters(text: str) -> None:
        if element in fields:
            fields[element] = text
        elif element == "namespace":
            namespaces[text] = key

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    try:
        parser.Parse(header, False)
    except (expat.ExpatError, ValueError) as error:
        raise InputError(f"{path} is broken XML before its first page ({error}): download it again") from None
    return Site(
        name=fields["sitename"],
        dbname=fields["dbname"],
        language=language,
        first_letter=fields["case"] != "case-sensitive",
        namespaces=namespaces,
    )


class _Reader:
    """A file's unpacked bytes, block by block."""

    def __init__(self, path: Path, packing: str, start: int = 0) -> None:
        self.path, self.packing = path, packing
        self.position = start
        """Bytes of the file consumed so far."""
        self.stream = start
        """Where the stream begins that the last block came from (bzip2, xz)."""

    def blocks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            if self.packing in _STREAM:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                    yield from self._streams(view)
            elif self.packing == "gzip":
                yield from self._gzip(file)
            else:
                while block := file.read(_READ_BYTES):
                    self.position += len(block)
                    yield block

    def _gzip(self, file: BinaryIO) -> Iterator[bytes]:
        with gzip.GzipFile(fileobj=file) as reader:
            try:
                # Unlike read, read1 hands out what there is before it meets the damage.
                while block := reader.read1(_READ_BYTES):
                    self.position = file.tell()
                    yield block
            except (gzip.BadGzipFile, EOFError, zlib.error):
                yield b""

    def _streams(self, view: mmap.mmap) -> Iterator[bytes]:
        """Unpack stream after stream; what cannot be unpacked is skipped, up to the next stream."""
        size = len(view)
        while self.position < size:
            found = _STREAM[self.packing].search(view, self.position)
            if not self._is_padding(view, found.start() if found else size):
                yield b""
            if found is None:
                return
            self.position = self.stream = found.start()
            try:
                yield from self._stream(view)
            except (OSError, EOFError, lzma.LZMAError):
                yield b""
                self.position = self.stream + 1
                next_stream = _STREAM[self.packing].search(view, self.position)
                self.position = next_stream.start() if next_stream else size

    def _is_padding(self, view: mmap.mmap, stop: int) -> bool:
        """Whether what stands here up to ``stop`` belongs there: zeros behind the last stream, in xz behind any."""
        if stop < len(view) and self.packing != "xz":
            return stop == self.position
        return _find_other_than_zero(view, self.position, stop) is None

    def _stream(self, view: mmap.mmap) -> Iterator[bytes]:
        decoder = _DECODER[self.packing]()
        step = 1 << 10  # small at first, so that what only looks like a stream costs little
        while not decoder.eof:
            raw = b""
            if decoder.needs_input:
                raw = view[self.position : self.position + step]
                if not raw:
                    raise EOFError
                self.position += len(raw)
                step = min(2 * step, _READ_BYTES)
            if block := decoder.decompress(raw, _READ_BYTES):
                yield block
        self.position -= len(decoder.unused_data)


def _stream_ranges(path: Path, size: int, range_bytes: int) -> list[tuple[int, int]]:
    """Where the streams of a multistream file begin, grouped; empty where reading in one go is as good."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        starts = [match.start() for match in _STREAM["bzip2"].finditer(view)]
    if len(starts) < 4 or starts[0] != 0 or size / len(starts) > 4 * CHUNK_BYTES:
        return []
    bounds = [0]
    for start in starts:
        if start - bounds[-1] >= range_bytes:
            bounds.append(start)
    return list(zip(bounds, [*bounds[1:], size], strict=True))


def _range_blocks(reader: _Reader, stop: int) -> Blocks:
    """The blocks of the streams before ``stop``, and of those that follow what belongs to the last tag before it."""
    if reader.position > 0:
        yield None
    ahead, size = b"", 0
    for block in reader.blocks():
        if reader.stream < stop:
            yield block
            continue
        if not block:
            break  # the stream's own range tells of the damage
        known = len(ahead)
        ahead += block
        if tag := TAG.search(ahead):
            yield block[: tag.end() - known]
            break
        yield block
        ahead = ahead[1 - len(END) :]
        size += len(block)
        if size > MAX_PAGE_BYTES + len(END):
            break
    else:
        return  # the file's last bytes: no other range has to do with them
    yield None


def _cut_pages(blocks: Blocks, chunk_bytes: int) -> Iterator[Chunk]:
    """Cut a stream of bytes at page tags into chunks, in bounded memory."""
    buffer = bytearray(BEFORE_FILE)
    damage: list[str] = []
    skipping = (
        False  # after damage, inside of something too large, where a range begins: skip to the next tag
    )
    for block in blocks:
        if not block:
            if block is not None:
                damage.append(_UNREADABLE)
            if not skipping and (end := last_border(buffer)):
                yield Chunk(bytes(buffer[:end]), tuple(damage))
                damage.clear()
            buffer.clear()
            skipping = True
            continue
        buffer += block
        if skipping:
            tag = TAG.search(buffer)
            if tag is None:
                del buffer[: 1 - len(END)]  # the rest may be the beginning of a tag
                continue
            del buffer[: border(tag)]
            skipping = False
        if len(buffer) < chunk_bytes:
            continue
        if end := last_border(buffer):
            yield Chunk(bytes(buffer[:end]), tuple(damage))
            damage.clear()
            del buffer[:end]
        if len(buffer) > MAX_PAGE_BYTES + len(END):
            damage.append(TOO_LARGE)
            del buffer[: 1 - len(END)]
            skipping = True
    if skipping:
        buffer.clear()
    else:
        damage += _close(buffer)
    if buffer or damage:
        yield Chunk(bytes(buffer), tuple(damage))


def _close(buffer: bytearray) -> list[str]:
    """Take away what is cut off by the file's end, and say so."""
    end = last_border(buffer)
    if buffer.startswith(BEGIN, end):
        del buffer[end:]
        return [_CUT_IN_PAGE]
    if not buffer[end:].strip():
        return [_CUT_BETWEEN_PAGES]
    buffer += BEHIND_FILE
    return []


def _cut_lines(blocks: Blocks, chunk_bytes: int) -> Iterator[Chunk]:
    """Cut a stream of bytes into chunks of whole lines."""
    buffer = bytearray()
    damage: list[str] = []
    skipping = False  # after damage or in a line that is too large: skip to the next one
    for block in blocks:
        if not block:
            damage.append(_UNREADABLE)
            del buffer[buffer.rfind(b"\n") + 1 :]
            if buffer:
                yield Chunk(bytes(buffer), tuple(damage))
                damage.clear()
            buffer.clear()
            skipping = True
            continue
        buffer += block
        if skipping:
            first = buffer.find(b"\n") + 1
            if not first:
                buffer.clear()
                continue
            del buffer[:first]
            skipping = False
        if len(buffer) < chunk_bytes:
            continue
        if end := buffer.rfind(b"\n") + 1:
            yield Chunk(bytes(buffer[:end]), tuple(damage))
            damage.clear()
            del buffer[:end]
        if len(buffer) > MAX_PAGE_BYTES:
            damage.append(TOO_LARGE)
            buffer.clear()
            skipping = True
    if buffer or damage:
        yield Chunk(bytes(buffer), tuple(damage))
