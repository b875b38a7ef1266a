"""JSON lines, packed or not: an object a line, with ``title`` and ``text``, links as spans or in the text's own markup.

A line of plain text is a paragraph. ``links`` are objects of ``start`` and ``end``, characters of the text, ``target``
and perhaps ``fragment``; a target is the title or the address of a page. ``markup`` says that the text is ``wikitext``
or ``markdown``; nothing is guessed: text without it, and without an option that says so for the whole file, is plain.
``address`` (or ``url``) is what links may call the page, ``redirect`` makes it only another name, ``parent`` is the
page above it; ``tags`` are what it is filed under, ``date`` (or ``timestamp``) the day it was last changed.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import Counts, Document, LinkSpan, Scan, Wikitext, date_in
from linkwalk.sources.markdown.text import read_markdown
from linkwalk.sources.packed import Chunk, Cutter
from linkwalk.sources.page_text import PICTURE, LinkTarget, slug
from linkwalk.sources.select import redirect_target
from linkwalk.sources.site import Site
from linkwalk.sources.source import PLAIN, USUAL, ReadConfig, commonest
from linkwalk.sources.vault import EXTERNAL, elsewhere, kind_of
from linkwalk.sources.wikitext.scanner import scan

#: Goes up with every change of what the documents are.
_VERSION = 4
#: How many lines are asked for the language they are in.
_ASKED = 1000
_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*\{[ \t]*\"", re.MULTILINE)
_SITE = Site()
_LINES = Cutter(b"\n", lambda data: data.find(b"\n") + 1 or None, lambda data: data.rfind(b"\n") + 1)
_SPACE = " \t\r\n"
_BROKEN_LINE = "broken JSON line"
OUT_OF_TEXT, BROKEN, BESIDE_MARKUP = "span out of the text", "broken entry of `links`", "beside markup"
NOT_READ = "double brackets in plain text"
UNKNOWN_MARKUP = "unknown markup (read as plain text)"
_BRACKETS = re.compile(r"\[\[[^\[\]\n]++\]\]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://|//|(?:mailto|tel|javascript|data):")


class JsonLines:
    """One file of pages. Keys that we know nothing of are ignored."""

    def __init__(self, path: Path, config: ReadConfig = USUAL) -> None:
        self.path, self.files, self.config = path, [path], config
        self.packing = packed.packing_of(path)
        found = next((head for head in packed.heads(path, self.packing) if self.recognises(head)), None)
        if found is None:
            raise InputError(f"{path} has no JSON lines of `title` and `text`")
        language = config.language or commonest(_languages(found))
        self.site = Site(name=path.name.split(".")[0], language=language)
        self.version = f"jsonlines {_VERSION}{config.differences()}"

    @staticmethod
    def recognises(head: bytes) -> bool | None:
        """Whether a file that begins so holds objects, one a line: wikitext may begin with a brace, too."""
        if head[:1] != b"{":
            return False
        return True if _LINE.search(head) else None

    def pieces(self) -> Iterator[tuple[Chunk, int]]:
        """Chunks of whole lines."""
        return packed.chunks(self.path, self.packing, _LINES)

    def documents(self, piece: Chunk, damage: Counts) -> Iterator[Document]:
        """The pages of a chunk."""
        damage.update(piece.damage)
        return parse_lines(piece.data, damage, self.site, self.config)


def _languages(head: bytes) -> Iterator[str]:
    """The languages that the first lines state."""
    for line in head.split(b"\n")[:_ASKED]:
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(stated := record.get("language"), str):
                yield stated.lower()


def parse_lines(
    data: bytes, damage: Counts, site: Site = _SITE, config: ReadConfig = USUAL
) -> Iterator[Document]:
    """The pages of a chunk; a line that is none is counted."""
    for line in data.split(b"\n"):
        if len(line) > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
        elif line and not line.isspace():
            yield from _pages_on_line(line, damage, site, config)


def _pages_on_line(line: bytes, damage: Counts, site: Site, config: ReadConfig) -> Iterator[Document]:
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


def document_of(record: Any, site: Site, config: ReadConfig, damage: Counts) -> Document:
    """The page of a JSON object; what is wrong with it beyond title and text is counted, and the page kept."""
    title, text = record["title"], record.get("text", "") if record.get("redirect") else record["text"]
    if not isinstance(title, str) or not isinstance(text, str):
        raise TypeError
    redirect = _optional(record, "redirect", damage)
    markup = _optional(record, "markup", damage) or config.markup
    if markup == "wikitext" and not redirect:
        redirect = redirect_target(Wikitext(title, text=text)) or ""
    target, _, fragment = redirect.partition("#")
    if not fragment:  # ``C#`` is a title
        target = redirect
    if redirect:
        found = Scan("", [], [])
    else:
        found = _read(text, markup, site, config, damage)
        _add_spans(record.get("links"), found, markup, damage)
    return Document.of(
        found,
        title=title,
        address=_optional(record, "address", damage) or _optional(record, "url", damage),
        redirect=target or None,
        redirect_fragment=fragment,
        parent=_optional(record, "parent", damage),
        timestamp=date_in(str(record.get("timestamp", ""))),
        date=str(record.get("date", "")),
        tags=_tags(record.get("tags")),
    )


def _read(text: str, markup: str, site: Site, config: ReadConfig, damage: Counts) -> Scan:
    """A text without its markup."""
    if markup == "wikitext":
        return scan(text, site, keep_tables=bool(config.tables))
    if markup == "markdown":
        return read_markdown(text, _resolve, _resolve_name, config, damage)
    if markup != PLAIN:
        damage[UNKNOWN_MARKUP] += 1
    brackets = sum(1 for _ in _BRACKETS.finditer(text))
    return Scan(text, [], [], {NOT_READ: brackets} if brackets else {})


def _add_spans(given: Any, page: Scan, markup: str, damage: Counts) -> None:
    """Add the links that are given as spans, which are of plain text; count those that are none, by reason."""
    if given is None:
        return
    if not isinstance(given, list):
        damage["`links` that are no list (ignored)"] += 1
        return
    counts = Counter(page.counts)
    if markup != PLAIN:
        damage["`links` beside markup (ignored)"] += 1
        counts[BESIDE_MARKUP] += len(given)
        given = []
    for link in map(_link, given):
        if link is None:
            counts[BROKEN] += 1
        elif not 0 <= link.start < link.end <= len(page.text):
            counts[OUT_OF_TEXT] += 1
        else:
            page.links.append(link)
    page.counts = dict(+counts)


def _link(entry: Any) -> LinkSpan | None:
    """A link of the right types, or none."""
    if not isinstance(entry, dict):
        return None
    start, end, target = entry.get("start"), entry.get("end"), entry.get("target")
    fragment = entry.get("fragment") or ""
    # A truth value is an integer to Python; to no one else.
    right = type(start) is int and type(end) is int and isinstance(target, str) and isinstance(fragment, str)
    return LinkSpan(start, end, target, fragment) if right else None  # type: ignore[arg-type]


def _optional(record: dict[str, Any], key: str, damage: Counts) -> str:
    """A text that need not be there; of another type it counts as not there."""
    value = record.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    damage[f"`{key}` that is no text (ignored)"] += 1
    return ""


def _tags(given: Any) -> list[str]:
    """Tags in a list, or in a line with commas; what is no text is none."""
    tags = given if isinstance(given, list) else given.split(",") if isinstance(given, str) else []
    return [tag for tag in tags if isinstance(tag, str)]


def _resolve(href: str) -> LinkTarget:
    """What a link of Markdown leads to: the title or address of a page, as it is written."""
    if _SCHEME.match(href):
        return EXTERNAL
    name, _, fragment = href.partition("#")
    if kind_of(name) == PICTURE:
        return PICTURE  # other endings say nothing: pages may be called Node.js
    return _resolve_name(f"{unquote(name)}#{unquote(fragment)}")


def _resolve_name(written: str) -> LinkTarget:
    """What a name in double brackets leads to."""
    name, _, fragment = written.partition("#")
    return elsewhere(name.strip(), slug(fragment), "")
