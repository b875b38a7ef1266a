"""Opens a dump and cuts it into chunks of whole pages, without parsing them: that is the workers' part.

A ``</page>`` cannot stand inside a page's text (there it is ``&lt;/page&gt;``), so chunks are cut by searching bytes, far
faster than decompression delivers them. A multistream bzip2 file, as Wikimedia publishes, is cut into ranges of
streams instead, which the workers decompress themselves.
"""

import bz2
import gzip
import io
import lzma
import mmap
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from xml.parsers import expat

from linkwalk.errors import InputError
from linkwalk.sources.site import Site

CHUNK_BYTES = 2 << 20
#: A page beyond this is counted and left out: MediaWiki itself stops at 2 MiB of text.
MAX_PAGE_BYTES = 16 << 20
_READ_BYTES = 1 << 20
_HEADER_BYTES = 4 << 20
_RANGE_BYTES = 512 << 10
_BEGIN, _END = b"<page>", b"</page>"
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_MAGIC = ((b"BZh", "bzip2"), (b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\x00", "xz"))
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole pages (or whole JSON lines), as bytes."""

    data: bytes
    damage: tuple[str, ...] = ()
    """What was wrong on the way here, e.g. ``too large``, ``truncated``; one entry per damaged page."""

    def read(self) -> Iterator["Chunk"]:
        """The chunk itself: it has been decompressed already."""
        yield self


@dataclass(frozen=True, slots=True)
class StreamRange:
    """Some streams of a multistream file: pages that begin in the bytes ``start`` to ``stop`` of it."""

    path: Path
    start: int
    stop: int

    def read(self) -> Iterator[Chunk]:
        """Unpack the range; its last page may reach into the streams that follow."""
        data, damage = bytearray(), []
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                for block in _unpack(io.BytesIO(file.read(self.stop - self.start)), "bzip2"):
                    data += block
                last = _open_page(data)
                if last >= 0:
                    file.seek(self.stop)
                    for block in _unpack(file, "bzip2"):
                        data += block
                        end = data.find(_END, last)
                        if end >= 0:
                            del data[end + len(_END) :]
                            break
                        if len(data) - last > MAX_PAGE_BYTES:
                            damage.append("too large")
                            break
        except _DAMAGED:
            damage.append("damaged stream")
        begin, end = data.find(_BEGIN), data.rfind(_END)
        whole = bytes(data[begin : end + len(_END)]) if 0 <= begin < end else b""
        yield Chunk(whole, tuple(damage))


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
        if self.packing == "bzip2" and self.format == "xml" and (ranges := _stream_ranges(self.path, self.size)):
            for start, stop in ranges:
                yield StreamRange(self.path, start, stop), stop
            return
        cut = _cut_pages if self.format == "xml" else _cut_lines
        with self.path.open("rb") as file:
            for chunk in cut(_unpack(file, self.packing)):
                yield chunk, file.tell()


def open_dump(path: Path) -> Dump:
    """Look at a file's first bytes; what cannot be a dump is refused here, in one line."""
    if not path.exists():
        raise InputError(f"no such file: {path}")
    if not path.is_file():
        raise InputError(f"{path} is a folder: name a dump file, such as pages-articles.xml.bz2")
    size = path.stat().st_size
    if size == 0:
        raise InputError(f"{path} is empty: download it again")
    with path.open("rb") as file:
        magic = file.read(8)
    packing = next((name for prefix, name in _MAGIC if magic.startswith(prefix)), "plain")
    for prefix, name in ((b"7z\xbc\xaf", "7z"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip")):
        if magic.startswith(prefix):
            raise InputError(f"{path} is packed with {name}: unpack it, or take the .bz2 or .gz file of the same dump")
    head = b""
    try:
        with path.open("rb") as file:
            for block in _unpack(file, packing):
                head += block
                if b"<page>" in head or len(head) > _HEADER_BYTES or head.lstrip()[:1] == b"{":
                    break
    except _DAMAGED as error:
        if not head:
            raise InputError(f"{path} cannot be unpacked ({error}): download it again") from None
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"{":
        return Dump(path, size, packing, "jsonl", Site(name=path.name.split(".")[0]))
    if start[:1] != b"<" or b"<mediawiki" not in start[:_HEADER_BYTES]:
        raise InputError(
            f"{path} is not a MediaWiki export (no <mediawiki> element) nor JSON lines with `title` and `text`"
        )
    if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
        raise InputError(f"{path} declares a document type or entities, which no MediaWiki export does: refused")
    return Dump(path, size, packing, "xml", _read_site(path, start.partition(b"<page>")[0]))


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


def _unpack(file: BinaryIO, packing: str) -> Iterator[bytes]:
    """Yield a file's unpacked bytes block by block."""
    reader: Any = {"bzip2": bz2.BZ2File, "gzip": _gzip, "xz": lzma.LZMAFile}.get(packing, lambda raw: raw)(file)
    while block := reader.read(_READ_BYTES):
        yield block


def _gzip(file: BinaryIO) -> gzip.GzipFile:
    return gzip.GzipFile(fileobj=file)


def _stream_ranges(path: Path, size: int) -> list[tuple[int, int]]:
    """Where the streams of a multistream file begin, grouped; empty where reading in one go is as good."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        starts = [match.start() for match in _STREAM.finditer(view)]
    if len(starts) < 4 or starts[0] != 0 or size / len(starts) > 4 * CHUNK_BYTES:
        return []
    bounds = [0]
    for start in starts:
        if start - bounds[-1] >= _RANGE_BYTES:
            bounds.append(start)
    return list(zip(bounds, [*bounds[1:], size], strict=True))


def _open_page(data: bytearray) -> int:
    """Where a page begins that does not end in ``data``, or -1; a tag cut in two counts, as far as one can tell."""
    begin = data.rfind(_BEGIN)
    if begin >= 0 and data.find(_END, begin) < 0:
        return begin
    for length in range(len(_BEGIN) - 1, 0, -1):
        if data.endswith(_BEGIN[:length]):
            return len(data) - length
    return -1


def _cut_pages(blocks: Iterator[bytes]) -> Iterator[Chunk]:
    """Cut a stream of bytes into chunks that end with ``</page>``; memory stays bounded whatever the stream holds."""
    buffer = bytearray()
    damage: list[str] = []
    searched = 0  # bytes of the buffer known to hold no page's end
    skipping = False
    try:
        for block in blocks:
            buffer += block
            if skipping:
                end = buffer.find(_END)
                if end < 0:
                    del buffer[: -len(_END)]
                    continue
                del buffer[: end + len(_END)]
                skipping, searched = False, 0
            if len(buffer) < CHUNK_BYTES:
                continue
            end = buffer.rfind(_END, max(0, searched - len(_END)))
            if end >= 0:
                yield Chunk(bytes(buffer[: end + len(_END)]), tuple(damage))
                damage.clear()
                del buffer[: end + len(_END)]
                searched = 0
            else:
                searched = len(buffer)
                if searched > MAX_PAGE_BYTES + CHUNK_BYTES:
                    damage.append("too large")
                    buffer.clear()
                    skipping = True
    except _DAMAGED:
        damage.append("damaged or truncated file")
    end = buffer.rfind(_END) + len(_END)
    if end < len(_END):
        end = 0
    if buffer.find(_BEGIN, end) >= 0 and "damaged or truncated file" not in damage:
        damage.append("cut off in mid-page")
    if end or damage:
        yield Chunk(bytes(buffer[:end]), tuple(damage))


def _cut_lines(blocks: Iterator[bytes]) -> Iterator[Chunk]:
    """Cut a stream of bytes into chunks of whole lines."""
    buffer = bytearray()
    damage: list[str] = []
    skipping = False
    try:
        for block in blocks:
            buffer += block
            end = buffer.rfind(b"\n") + 1
            if skipping:
                first = buffer.find(b"\n") + 1
                if not first:
                    buffer.clear()
                    continue
                del buffer[:first]
                end -= first
                skipping = False
            if end and len(buffer) >= CHUNK_BYTES:
                yield Chunk(bytes(buffer[:end]), tuple(damage))
                damage.clear()
                del buffer[:end]
            elif len(buffer) > MAX_PAGE_BYTES + CHUNK_BYTES:
                damage.append("too large")
                buffer.clear()
                skipping = True
    except _DAMAGED:
        damage.append("damaged or truncated file")
        del buffer[buffer.rfind(b"\n") + 1 :]
    if buffer or damage:
        yield Chunk(bytes(buffer), tuple(damage))
