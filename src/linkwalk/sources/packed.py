"""A file's bytes, whatever it is packed with, in blocks. What is damaged is skipped, up to the next stream."""

import bz2
import gzip
import lzma
import mmap
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from linkwalk.errors import InputError

#: Bytes that one worker reads at a time, about.
CHUNK_BYTES = 2 << 20
#: A page beyond this is counted and left out: MediaWiki itself stops at 2 MiB of text.
MAX_PAGE_BYTES = 16 << 20
READ_BYTES = 1 << 20
#: How far to look for what tells one format from another.
HEAD_BYTES = 4 << 20
_MAGIC = ((b"BZh", "bzip2"), (b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\x00", "xz"))
_UNREAD = ((b"7z\xbc\xaf", "7z"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip"))
#: How a stream begins, with a block or (bzip2) with nothing at all.
STREAM = {
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
}
_DECODER: dict[str, Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]] = {
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}
_find_other_than_zero = re.compile(rb"[^\x00]").search

TOO_LARGE = "too large"
UNREADABLE = "damaged or truncated data"

#: Bytes of a file, one block after the other. An empty block marks a place where bytes are lost; None a place where
#: another range of streams begins or ends, which counts what it cuts through.
Blocks = Iterator[bytes | None]


class Chunk(NamedTuple):
    """Whole pages and what stands between them (or whole JSON lines), as bytes."""

    data: bytes
    damage: tuple[str, ...] = ()
    """What was wrong on the way here, e.g. ``too large``; one entry per damaged page."""


def packing_of(path: Path) -> str:
    """What a file is packed with, going by its first bytes; what is no file to read is refused here, in one line."""
    if not path.exists():
        raise InputError(f"no such file: {path}")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no plain file"
        raise InputError(f"{path} is {what}: name a dump file, such as pages-articles.xml.bz2")
    with path.open("rb") as file:
        magic = file.read(8)
    if not magic:
        raise InputError(f"{path} is empty: download it again")
    for prefix, name in _UNREAD:
        if magic.startswith(prefix):
            raise InputError(
                f"{path} is packed with {name}: unpack it, or take the .bz2 or .gz file of the same dump"
            )
    return next((name for prefix, name in _MAGIC if magic.startswith(prefix)), "plain")


def heads(path: Path, packing: str) -> Iterator[bytes]:
    """What a file begins with, more of it each time, up to the first damage or as far as is worth looking."""
    head = bytearray()
    for block in Unpacker(path, packing).blocks():
        head += block
        if not block:
            break
        if start := bytes(head).lstrip(b"\xef\xbb\xbf \t\r\n"):
            yield start
        if len(head) > HEAD_BYTES:
            break
    if not head:
        raise InputError(f"{path} cannot be unpacked, although it begins like {packing}: download it again")


def scale(size: int) -> int:
    """A large file is cut into larger chunks: thousands of shards, not hundreds of thousands."""
    return max(1, min(8, size >> 28))


class Cutter(NamedTuple):
    """How a stream of bytes is cut into items: pages, or lines."""

    end: bytes
    """What ends an item."""
    first: Callable[[bytearray], int | None]
    """Where the first item begins behind bytes that belong to none; None where it is not here yet."""
    last: Callable[[bytearray], int]
    """Where the last item begins, which may go on behind the data: 0 where there is but one."""
    close: Callable[[bytearray], list[str]] = lambda _: []
    """Takes away what the file's end cuts off, and says so."""
    before: bytes = b""
    """What is thought to stand before the file."""


def chunks(path: Path, packing: str, cutter: Cutter) -> Iterator[tuple[Chunk, int]]:
    """A file in chunks of whole items, each with how much of the file it took; larger ones of a large file."""
    reader, before = Unpacker(path, packing), 0
    for chunk in cut(reader.blocks(), scale(path.stat().st_size) * CHUNK_BYTES, cutter):
        yield chunk, reader.position - before
        before = reader.position


def cut(blocks: Blocks, chunk_bytes: int, cutter: Cutter) -> Iterator[Chunk]:
    """Cut a stream of bytes into chunks of whole items, in bounded memory."""
    buffer = bytearray(cutter.before)
    damage: list[str] = []
    skipping = False  # after damage, inside of something too large, where a range begins: up to the next item
    overlap = len(cutter.end) - 1  # the last bytes may be the beginning of an end

    def chunk(size: int) -> Chunk:
        found = Chunk(bytes(buffer[:size]), tuple(damage))
        damage.clear()
        del buffer[:size]
        return found

    for block in blocks:
        if not block:
            if block is not None:
                damage.append(UNREADABLE)
            if not skipping and (end := cutter.last(buffer)):
                yield chunk(end)
            buffer.clear()
            skipping = True
            continue
        buffer += block
        if skipping:
            first = cutter.first(buffer)
            skipping = first is None
            del buffer[: max(0, len(buffer) - overlap) if first is None else first]
        if skipping or len(buffer) < chunk_bytes:
            continue
        if end := cutter.last(buffer):
            yield chunk(end)
        if len(buffer) > MAX_PAGE_BYTES + overlap:
            damage.append(TOO_LARGE)
            del buffer[: len(buffer) - overlap]
            skipping = True
    if skipping:
        buffer.clear()
    else:
        damage += cutter.close(buffer)
    if buffer or damage:
        yield chunk(len(buffer))


class Unpacker:
    """A file's unpacked bytes, block by block."""

    def __init__(self, path: Path, packing: str, start: int = 0) -> None:
        self.path, self.packing = path, packing
        self.position = start
        """Bytes of the file consumed so far."""
        self.stream = start
        """Where the stream begins that the last block came from (bzip2, xz)."""

    def blocks(self) -> Iterator[bytes]:
        """Unpack the file from its start on; an empty block marks a place where bytes are lost."""
        with self.path.open("rb") as file:
            if self.packing in STREAM:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                    yield from self._streams(view)
            elif self.packing == "gzip":
                yield from self._gzip(file)
            else:
                while block := file.read(READ_BYTES):
                    self.position += len(block)
                    yield block

    def _gzip(self, file: BinaryIO) -> Iterator[bytes]:
        with gzip.GzipFile(fileobj=file) as reader:
            try:
                # Unlike read, read1 hands out what there is before it meets the damage.
                while block := reader.read1(READ_BYTES):
                    self.position = file.tell()
                    yield block
            except (gzip.BadGzipFile, EOFError, zlib.error):
                yield b""

    def _streams(self, view: mmap.mmap) -> Iterator[bytes]:
        """Unpack stream after stream; what cannot be unpacked is skipped, up to the next stream."""
        size, damaged = len(view), False
        while self.position < size:
            found = STREAM[self.packing].search(view, self.position)
            stop = found.start() if found else size
            # Zeros belong behind the last stream, in xz behind any.
            padded = found is None or self.packing == "xz"
            rest = _find_other_than_zero(view, self.position, stop) if padded else stop > self.position
            if rest and not damaged:
                yield b""
            if found is None:
                return
            self.position = self.stream = found.start()
            damaged = False
            try:
                yield from self._stream(view)
            except (OSError, EOFError, lzma.LZMAError):
                yield b""
                self.position, damaged = self.stream + 1, True

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
                step = min(2 * step, READ_BYTES)
            if block := decoder.decompress(raw, READ_BYTES):
                yield block
        self.position -= len(decoder.unused_data)
