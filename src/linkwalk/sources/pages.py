"""Chunks become pages: title, namespace, wikitext, redirect. A damaged page is counted and its neighbours are kept."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from linkwalk.sources.dump import MAX_PAGE_BYTES

_PAGE = re.compile(rb"<page>.*?(?:</page>|(?=<page>)|\Z)", re.DOTALL)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile("&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
_MENDED = "forbidden characters (mended)"
_NUMBER = re.compile(r"\s*-?[0-9]{1,9}\s*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_WANTED = frozenset(("title", "ns", "text", "timestamp", "model"))


@dataclass(slots=True)
class Page:
    """One page as the dump has it."""

    title: str = ""
    namespace: int = 0
    text: str = ""
    redirect: str | None = None
    """The redirect's target where the dump says so in an element of its own."""
    timestamp: str = ""
    model: str = "wikitext"


def parse_xml(data: bytes, damage: Counter[str]) -> Iterator[Page]:
    """The pages of a chunk. Where the chunk as a whole is not well-formed, each page is tried alone and mended."""
    if not data:
        return
    pages = None
    if len(data) <= MAX_PAGE_BYTES or all(
        m.end() - m.start() <= MAX_PAGE_BYTES for m in _PAGE.finditer(data)
    ):
        pages = _parse(b"<mediawiki>" + data[data.find(b"<page>") :] + b"</mediawiki>")
    if pages is not None:
        yield from pages
        return
    for match in _PAGE.finditer(data):
        raw = match[0]
        if len(raw) > MAX_PAGE_BYTES:
            damage["too large"] += 1
            continue
        pages = _parse(raw)
        if pages is None:
            try:
                text, reason = raw.decode(), _MENDED
            except UnicodeDecodeError:
                text, reason = raw.decode(errors="replace"), "invalid UTF-8 (mended)"
            pages = _parse(_REFERENCE.sub(_checked, _FORBIDDEN.sub("\ufffd", text)).encode())
            if pages is None:
                damage["broken XML"] += 1
                continue
            damage[reason] += 1
        yield from pages


def _checked(reference: re.Match[str]) -> str:
    """A character reference as it is, unless XML forbids the character."""
    digits = (reference[1] or reference[2]).lstrip("0")
    code = int(digits, 16 if reference[1] else 10) if 0 < len(digits) < 8 else 0
    return reference[0] if code < 0x110000 and not _FORBIDDEN.match(chr(code)) else "\ufffd"


def _parse(data: bytes) -> list[Page] | None:
    """Parse well-formed XML into pages, or say None. Of several revisions of a page the last one counts."""
    pages: list[Page] = []
    page = Page()
    text: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal page
        if name in _WANTED:
            text.clear()
            parser.CharacterDataHandler = text.append
        elif name == "page":
            page = Page()
        elif name == "redirect":
            page.redirect = attributes.get("title")

    def end(name: str) -> None:
        if name == "page":
            pages.append(page)
        elif name in _WANTED:
            parser.CharacterDataHandler = None
            value = "".join(text)
            if name == "ns":
                page.namespace = int(value) if _NUMBER.fullmatch(value) else 0
            elif name == "timestamp":
                page.timestamp = value if _DATE.match(value) else ""
            else:
                setattr(page, name, value)

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 20
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError):
        return None
    return pages


def parse_jsonl(data: bytes, damage: Counter[str]) -> Iterator[Page]:
    """The pages of a chunk of JSON lines; other keys than ``title`` and ``text`` are ignored."""
    for line in data.splitlines():
        if not line.strip():
            continue
        if len(line) > MAX_PAGE_BYTES:
            damage["too large"] += 1
            continue
        try:
            record = json.loads(line)
            title, text = record["title"], record["text"]
            timestamp = str(record.get("timestamp", ""))
            if not isinstance(title, str) or not isinstance(text, str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            damage["broken JSON line"] += 1
            continue
        mended = [_FORBIDDEN.sub("\ufffd", value) for value in (title, text)]
        if mended != [title, text]:
            damage[_MENDED] += 1
        yield Page(title=mended[0], text=mended[1], timestamp=timestamp if _DATE.match(timestamp) else "")
