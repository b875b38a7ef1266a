"""JSON lines with ``title`` and ``text``, packed or not; each line of plain text is a paragraph."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import Document
from linkwalk.sources.json_page import document_of
from linkwalk.sources.packed import Blocks, Chunk, Unpacker
from linkwalk.sources.source import ReadConfig
from linkwalk.sources.wikitext.site import Site

#: Goes up with every change of what the documents are.
_VERSION = 3
#: How many lines are asked for the language they are in.
_ASKED = 1000
_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*\{[ \t]*\"", re.MULTILINE)
_SITE, _USUAL = Site(), ReadConfig()
_SPACE = " \t\r\n"
_BROKEN_LINE = "broken JSON line"


class JsonLines:
    """One file of pages, an object a line: see ``json_page`` for its keys. Others are ignored."""

    def __init__(self, path: Path, config: ReadConfig = _USUAL) -> None:
        self.path, self.files, self.config = path, [path], config
        self.packing, self.size = packed.packing_of(path), path.stat().st_size
        found = next((head for head in packed.heads(path, self.packing) if self.recognises(path, head)), None)
        if found is None:
            raise InputError(f"{path} has no JSON lines of `title` and `text`")
        language = config.language or _language(found)
        self.site = Site(name=path.name.split(".")[0], language=language)
        self.version = f"jsonlines {_VERSION}{config.told()}"

    @staticmethod
    def recognises(path: Path, head: bytes | None) -> bool | None:
        """Whether a file that begins so holds objects, one a line: wikitext may begin with a brace, too."""
        if head is None or head[:1] != b"{":
            return False
        return True if _LINE.search(head) else None

    def pieces(self) -> Iterator[tuple[Chunk, int]]:
        """Chunks of whole lines."""
        reader, before = Unpacker(self.path, self.packing), 0
        for chunk in _cut_lines(reader.blocks(), packed.scale(self.size) * packed.CHUNK_BYTES):
            yield chunk, reader.position - before
            before = reader.position

    def documents(self, piece: Chunk, damage: Counter[str]) -> Iterator[Document]:
        """The pages of a chunk."""
        damage.update(piece.damage)
        return parse_lines(piece.data, damage, self.site, self.config)


def _cut_lines(blocks: Blocks, chunk_bytes: int) -> Iterator[Chunk]:
    """Cut a stream of bytes into chunks of whole lines."""
    buffer = bytearray()
    damage: list[str] = []
    skipping = False  # after damage or in a line that is too large: skip to the next one
    for block in blocks:
        if not block:
            damage.append(packed.UNREADABLE)
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
        if len(buffer) > packed.MAX_PAGE_BYTES:
            damage.append(packed.TOO_LARGE)
            buffer.clear()
            skipping = True
    if buffer or damage:
        yield Chunk(bytes(buffer), tuple(damage))


def _language(head: bytes) -> str:
    """The language that most of the first lines state; empty where none does."""
    languages: Counter[str] = Counter()
    for line in head.split(b"\n")[:_ASKED]:
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(stated := record.get("language"), str) and stated:
                languages[stated.lower()] += 1
    return min(languages, key=lambda code: (-languages[code], code), default="")


def parse_lines(
    data: bytes, damage: Counter[str], site: Site = _SITE, config: ReadConfig = _USUAL
) -> Iterator[Document]:
    """The pages of a chunk; a line that is none is counted."""
    for line in data.split(b"\n"):
        if len(line) > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
        elif line and not line.isspace():
            yield from _pages_on_line(line, damage, site, config)


def _pages_on_line(line: bytes, damage: Counter[str], site: Site, config: ReadConfig) -> Iterator[Document]:
    """The one page of a line. Of a broken line, those it begins with: line breaks between them may be lost."""
    at, joined = 0, False
    try:
        text = line.decode("utf-8-sig", "surrogatepass").strip(_SPACE)
        while True:
            record, at = _DECODER.raw_decode(text, at)
            yield document_of(record, site, config, damage)
            if at == len(text):
                break
            joined = True
            while text[at] in _SPACE:
                at += 1
    except (ValueError, KeyError, TypeError, RecursionError):
        joined = True
    if joined:
        damage[_BROKEN_LINE] += 1


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, unless a key is there twice: then it is what is left of two."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key is there twice")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repetition)
