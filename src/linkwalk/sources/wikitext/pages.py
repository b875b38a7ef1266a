"""Chunks of an export become pages of wikitext. A damaged one is counted, its neighbours are kept."""

import re
from collections import Counter
from collections.abc import Iterator
from xml.parsers import expat

from linkwalk.sources import packed
from linkwalk.sources.documents import FORBIDDEN, MENDED, MENDED_UTF8, Wikitext, date_in
from linkwalk.sources.wikitext.export import BEGIN, END, items, may_stand_between

_REFERENCE = re.compile("&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
_NUMBER = re.compile(r"\s*-?[0-9]{1,9}\s*")
_UP_TO_LAST_REVISION = re.compile(rb".*</revision>", re.DOTALL)

_OUTSIDE, _WITHOUT_TAGS = "text outside of pages", "page without its tags"
_WITHOUT_TITLE, _WITHOUT_TEXT = "page without a title", "page without text"
_BROKEN_XML = "broken XML"

_WANTED = frozenset(("title", "ns", "text", "timestamp", "model"))
#: What a page has but once, however many revisions it has.
_ONCE = frozenset(("title", "ns"))
#: A page's elements as the dump has them; those that it lacks are not there.
Fields = dict[str, str]


def parse_pages(data: bytes, damage: Counter[str]) -> Iterator[Wikitext]:
    """The pages of a chunk. What is not well-formed is mended, or counted as damage."""
    for item in items(data):
        if len(item) > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
        elif item.startswith(BEGIN):
            yield from _pages_of_item(item, damage)
        elif not may_stand_between(item):
            damage[_OUTSIDE] += 1


def _pages_of_item(item: bytes, damage: Counter[str]) -> Iterator[Wikitext]:
    """The page between two tags, or several if the tags between them are lost."""
    fields = _parse_or_mend(item, damage)
    if fields is None:
        yield from _pages_without_tags(item, damage)
    else:
        yield _page(fields, damage)


def _pages_without_tags(item: bytes, damage: Counter[str]) -> Iterator[Wikitext]:
    """The pages of an item that is not well-formed: a title begins each, the end of a revision ends it."""
    head, *others = re.split(b"(?=<title>)", item.removeprefix(BEGIN).removesuffix(END))
    bodies = [head + b"".join(others[:1]), *others[1:]]
    for number, body in enumerate(bodies):
        whole = _UP_TO_LAST_REVISION.match(body)
        fields = _parse_or_mend(BEGIN + (whole[0] if whole else body) + END, damage)
        if fields is None or not fields.keys() >= {"title", "text"}:
            damage[_BROKEN_XML] += 1
            continue
        if number or len(bodies) == 1:
            damage[_WITHOUT_TAGS] += 1
        yield _page(fields, damage)


def _page(fields: Fields, damage: Counter[str]) -> Wikitext:
    """A page of its elements; one that lacks its title or its text has lost it."""
    if not fields.get("title", "").strip():
        damage[_WITHOUT_TITLE] += 1
    if "text" not in fields:
        damage[_WITHOUT_TEXT] += 1
    number = fields.get("ns", "")
    return Wikitext(
        title=fields.get("title", ""),
        namespace=int(number) if _NUMBER.fullmatch(number) else 0,
        text=fields.get("text", ""),
        redirect=fields.get("redirect"),
        timestamp=date_in(fields.get("timestamp", "")),
        model=fields.get("model", "wikitext"),
    )


def _parse_or_mend(raw: bytes, damage: Counter[str]) -> Fields | None:
    """A page's elements, if need be with the bytes replaced that XML forbids; None if that does not help."""
    fields = _parse(raw)
    if fields is not None:
        return fields
    try:
        text, reason = raw.decode(), MENDED
    except UnicodeDecodeError:
        text, reason = raw.decode(errors="replace"), MENDED_UTF8
    mended = _REFERENCE.sub(_checked, FORBIDDEN.sub("\ufffd", text)).encode()
    fields = _parse(mended) if mended != raw else None
    if fields is not None:
        damage[reason] += 1
    return fields


def _checked(reference: re.Match[str]) -> str:
    """A character reference as it is, unless XML forbids the character."""
    digits = (reference[1] or reference[2]).lstrip("0")
    code = int(digits, 16 if reference[1] else 10) if 0 < len(digits) < 8 else 0
    return reference[0] if code < 0x110000 and not FORBIDDEN.match(chr(code)) else "\ufffd"


def _parse(raw: bytes) -> Fields | None:
    """The elements of one page, or None if this is no such thing. Of several revisions the last one counts."""
    fields: Fields = {}
    text: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name in _WANTED:
            if parser.CharacterDataHandler is not None or (name in _ONCE and name in fields):
                raise ValueError("parts of several pages")
            text.clear()
            parser.CharacterDataHandler = text.append
        elif name == "redirect" and "title" in attributes:
            fields["redirect"] = attributes["title"]
        elif name == "revision":
            fields.pop("text", None)

    def end(name: str) -> None:
        if name in _WANTED:
            parser.CharacterDataHandler = None
            fields[name] = "".join(text)

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 20
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(raw, True)
    except (expat.ExpatError, ValueError):
        return None
    return fields
