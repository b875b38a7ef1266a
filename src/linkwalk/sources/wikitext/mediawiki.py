"""MediaWiki exports, as Wikimedia publishes them: cut into chunks of whole pages here, and parsed by the workers.

Chunks are cut by searching bytes for page tags (``export.py``), far faster than decompression delivers them. All
that stands in the file is in one chunk or another, but for what is counted here. A multistream bzip2 file
is cut into ranges of streams instead, which the workers decompress themselves. Where a stream is damaged, reading goes
on with the next one.
"""

import mmap
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import Counts, Wikitext
from linkwalk.sources.packed import Blocks, Chunk, Cutter, Unpacker
from linkwalk.sources.site import Site
from linkwalk.sources.source import USUAL, ReadConfig
from linkwalk.sources.wikitext.export import (
    BEFORE_FILE,
    BEGIN,
    BEHIND_FILE,
    END,
    TAG,
    border,
    elements,
    last_border,
    parse_pages,
)

RANGE_BYTES = 512 << 10
_HEADER_END = re.compile(rb"</siteinfo>|</?page>")
_SITE_TEXTS = ("sitename", "dbname", "case", "namespace")
_CUT_IN_PAGE, _CUT_BETWEEN_PAGES = "cut off in mid-page", "cut off between pages"


class StreamRange(NamedTuple):
    """Some streams of a multistream file: what follows a tag that begins in these bytes of it."""

    start: int
    stop: int


class MediaWiki:
    """One export, packed or not."""

    def __init__(self, path: Path, config: ReadConfig = USUAL) -> None:
        self.path, self.files = path, [path]
        self.packing = packed.packing_of(path)
        self.site = config.in_language(_read_site(path, _read_header(path, self.packing)))
        self.version = config.language and f"language {config.language}"

    @staticmethod
    def recognises(head: bytes) -> bool | None:
        """Whether a file that begins so is an export: it has a ``<mediawiki>`` before its first page."""
        if head[:1] != b"<":
            return False
        return True if b"<mediawiki" in _header(head) else False if _HEADER_END.search(head) else None

    def pieces(self) -> Iterator[tuple[StreamRange | Chunk, int]]:
        """Ranges of streams that workers unpack, or chunks that are unpacked here."""
        ranges = _stream_ranges(self.path) if self.packing == "bzip2" else []
        for piece in ranges:
            yield piece, piece.stop - piece.start
        if not ranges:
            yield from packed.chunks(self.path, self.packing, _PAGES)

    def documents(self, piece: StreamRange | Chunk, damage: Counts) -> Iterator[Wikitext]:
        """The pages of a piece, in any namespace."""
        for chunk in self._chunks(piece):
            damage.update(chunk.damage)
            yield from parse_pages(chunk.data, damage)

    def _chunks(self, piece: StreamRange | Chunk) -> Iterable[Chunk]:
        """A piece in chunks; the last page of a range may reach into the streams that follow."""
        if isinstance(piece, Chunk):
            return [piece]
        reader = Unpacker(self.path, "bzip2", piece.start)
        return packed.cut(_range_blocks(reader, piece.stop), packed.CHUNK_BYTES, _PAGES)


def _read_header(path: Path, packing: str) -> bytes:
    """What an export says of itself before its first page."""
    head = b""
    for head in packed.heads(path, packing):
        if _HEADER_END.search(head):
            break
    header = _header(head)
    if header[:1] != b"<" or b"<mediawiki" not in header:
        raise InputError(f"{path} is not a MediaWiki export: it has no <mediawiki> element")
    if b"<!DOCTYPE" in header or b"<!ENTITY" in header:
        raise InputError(
            f"{path} declares a document type or entities, which no MediaWiki export does: refused"
        )
    return header


def _header(start: bytes) -> bytes:
    """What a dump begins with, up to the end of ``<siteinfo>`` or the first page tag, be it a page's end."""
    end = _HEADER_END.search(start)
    if end is None:
        return start
    return start[: end.end() if end[0] == b"</siteinfo>" else end.start()]


def _read_site(path: Path, header: bytes) -> Site:
    """Parse ``<siteinfo>``; a dump without one is read with MediaWiki's defaults."""
    fields, namespaces, language = dict[str, str](), dict[str, int](), ""
    try:
        for name, attributes, text in elements(header, _SITE_TEXTS, ("mediawiki",), whole=False):
            if name == "mediawiki":
                language = attributes.get("xml:lang", "")
            elif name == "namespace":
                namespaces[text] = int(attributes.get("key", "0"))
            else:
                fields[name] = text
    except (expat.ExpatError, ValueError) as error:
        raise InputError(f"{path} is broken XML before its first page ({error}): download it again") from None
    return Site(
        name=fields.get("sitename", ""),
        dbname=fields.get("dbname", ""),
        language=language,
        first_letter=fields.get("case") != "case-sensitive",
        namespaces=namespaces,
    )


def _stream_ranges(path: Path) -> list[StreamRange]:
    """Where the streams of a multistream file begin, grouped; empty where reading in one go is as good."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        starts = [match.start() for match in packed.STREAM["bzip2"].finditer(view)]
    if len(starts) < 4 or starts[0] != 0 or size / len(starts) > 4 * packed.CHUNK_BYTES:
        return []
    bounds = [0]
    for start in starts:
        if start - bounds[-1] >= packed.scale(size) * RANGE_BYTES:
            bounds.append(start)
    return [StreamRange(*bounds) for bounds in pairwise((*bounds, size))]


def _range_blocks(reader: Unpacker, stop: int) -> Blocks:
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
        if size > packed.MAX_PAGE_BYTES + len(END):
            break
    else:
        return  # the file's last bytes: no other range has to do with them
    yield None


def _first_page(buffer: bytearray) -> int | None:
    """Where the first item behind a tag begins."""
    tag = TAG.search(buffer)
    return None if tag is None else border(tag)


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


_PAGES = Cutter(END, _first_page, last_border, _close, BEFORE_FILE)
