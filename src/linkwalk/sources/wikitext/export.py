"""What a MediaWiki export is made of: pages, and what may stand between them. Everything else there is damage.

The bytes are cut at the tags ``<page>`` and ``</page>``, which cannot stand inside a page's text (there it is
``&lt;page&gt;``). What lies between two tags is one item, whatever was read before it; so the same items
come out wherever a dump is cut, and none of them is lost or counted twice. A damaged page is counted, its neighbours
are kept.
"""

import re
from collections.abc import Iterable, Iterator
from xml.parsers import expat

from linkwalk.sources import packed
from linkwalk.sources.documents import FORBIDDEN, MENDED, MENDED_UTF8, Counts, Wikitext, date_in

BEGIN, END = b"<page>", b"</page>"
TAG = re.compile(rb"</?page>")

# Every part is taken once and for all (possessive, atomic): a stretch of megabytes is judged in one pass.
_SPACE = rb"[ \t\r\n]*+"
_SITE = rb"(?:<siteinfo\b(?>.*?</siteinfo>))?+"
_HEAD = rb"(?:\xef\xbb\xbf)?+_(?:<\?xml[^>]*+>)?+_<mediawiki\b[^<>]*+>_".replace(b"_", _SPACE) + _SITE
_LOG = rb"_(?:<logitem>(?>.*?</logitem>)_)*+".replace(b"_", _SPACE)
_BETWEEN = re.compile(_LOG + rb"(?:</mediawiki>" + _SPACE + _HEAD + _LOG + rb")*+", re.DOTALL)

#: A file begins as if another export had just ended, and ends as if one were to begin: then its first and
#: last lines are what may stand between pages.
BEFORE_FILE, BEHIND_FILE = b"</mediawiki>", b"<mediawiki>"

_REFERENCE = re.compile("&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
_NUMBER = re.compile(r"\s*-?[0-9]{1,9}\s*")
_UP_TO_LAST_REVISION = re.compile(rb".*</revision>", re.DOTALL)
_OUTSIDE, _WITHOUT_TAGS = "text outside of pages", "page without its tags"
_WITHOUT_TITLE, _WITHOUT_TEXT = "page without a title", "page without text"
_BROKEN_XML = "broken XML"
_TEXTS, _OTHERS = "title ns text timestamp model".split(), ("redirect", "revision")
#: What a page has but once, however many revisions it has.
_ONCE = frozenset(("title", "ns"))
#: A page's elements as the dump has them; those that it lacks are not there.
Fields = dict[str, str]


def border(tag: re.Match[bytes]) -> int:
    """Where the item behind a tag begins: a page with its tag, what follows a page without."""
    return tag.start() if tag[0] == BEGIN else tag.end()


def last_border(data: bytes | bytearray) -> int:
    """Where the last item begins, which may go on behind the data: 0 where there is but one."""
    end = data.rfind(END)
    return max(data.rfind(BEGIN), end + len(END) if end >= 0 else 0, 0)


def items(data: bytes) -> Iterator[bytes]:
    """Cut bytes at page tags: pages, with or without their end, and what stands between them."""
    at = 0
    for tag in TAG.finditer(data):
        if border(tag) > at:
            yield data[at : border(tag)]
        at = border(tag)
    if at < len(data):
        yield data[at:]


def may_stand_between(item: bytes) -> bool:
    """Whether an item is white space, log entries, the end of one export and the head of another."""
    return _BETWEEN.fullmatch(item) is not None


def parse_pages(data: bytes, damage: Counts) -> Iterator[Wikitext]:
    """The pages of a chunk. What is not well-formed is mended, or counted as damage."""
    for item in items(data):
        if len(item) > packed.MAX_PAGE_BYTES:
            damage[packed.TOO_LARGE] += 1
        elif item.startswith(BEGIN):
            fields = _parse_or_mend(item, damage)
            if fields is None:
                yield from _pages_without_tags(item, damage)
            else:
                yield _page(fields, damage)
        elif not may_stand_between(item):
            damage[_OUTSIDE] += 1


def _pages_without_tags(item: bytes, damage: Counts) -> Iterator[Wikitext]:
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


def _page(fields: Fields, damage: Counts) -> Wikitext:
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


def _parse_or_mend(raw: bytes, damage: Counts) -> Fields | None:
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
    try:
        for name, attributes, text in elements(raw, _TEXTS, _OTHERS):
            if name == "redirect":
                if "title" in attributes:
                    fields["redirect"] = attributes["title"]
            elif name == "revision":
                fields.pop("text", None)
            elif name in _ONCE and name in fields:
                return None  # parts of several pages
            else:
                fields[name] = text
    except (expat.ExpatError, ValueError):
        return None
    return fields


def elements(
    data: bytes, texts: Iterable[str], others: Iterable[str], whole: bool = True
) -> list[tuple[str, dict[str, str], str]]:
    """The elements of these names, in order: name, attributes, text. One with text in another such is an error."""
    found: list[tuple[str, dict[str, str], str]] = []
    text: list[str] = []
    given: dict[str, str] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal given
        if name in texts:
            if parser.CharacterDataHandler is not None:
                raise ValueError("an element of text in another")
            text.clear()
            parser.CharacterDataHandler, given = text.append, attributes
        elif name in others:
            found.append((name, attributes, ""))

    def end(name: str) -> None:
        if name in texts:
            parser.CharacterDataHandler = None
            found.append((name, given, "".join(text)))

    parser = expat.ParserCreate("utf-8" if whole else None)
    parser.buffer_text = True
    parser.buffer_size = 1 << 20
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, whole)
    return found
