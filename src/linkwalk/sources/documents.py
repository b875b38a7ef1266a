"""What comes out of a source: documents of plain text with their links and headings, or pages of wikitext.

A line of a document's text is a paragraph. White space need not be tidy and links need not be in order: ``tidy`` sees
to it. A link names a document by its title or, where it has one, by its *address*: a path or a URL, say.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwalk.sources.wikitext.lines import Heading, LinkSpan, Scan

__all__ = ["Document", "Heading", "LinkSpan", "Wikitext", "date_in", "mend", "tidy"]

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MENDED, MENDED_UTF8 = "forbidden characters (mended)", "invalid UTF-8 (mended)"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
#: White space that is not as it should be: anything but single blanks and line breaks between words.
_UNTIDY = re.compile(r"[^\S\n ]|[ \n](?=[ \n])|^\s|\s\Z")
_WORD = re.compile(r"\S+")


@dataclass(slots=True, kw_only=True)
class Document:
    """One page of plain text."""

    title: str
    text: str = ""
    links: Sequence[LinkSpan] = ()
    headings: Sequence[Heading] = ()
    """What a heading says stands here, not in the text."""
    address: str = ""
    """What links call it where that is not its title. Documents with addresses may share a title."""
    redirect: str | None = None
    """The title or address that this is only another name for."""
    redirect_fragment: str = ""
    """The section there that it is a name for, if it is one's."""
    parent: str = ""
    """The title or address of the document above it, in a folder or a table of contents: links lead up and down."""
    contents: bool = False
    """Its links are a table of contents: they lead down, and are none that an author set in running text."""
    timestamp: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """Links that are not in ``links``, say to pictures or other sites, by the reason why: for the ledger."""

    @classmethod
    def of(cls, scan: Scan, **fields: Any) -> "Document":
        """What was read of a page, with what else is known of it."""
        return cls(text=scan.text, links=scan.links, headings=scan.headings, counts=scan.counts, **fields)


@dataclass(slots=True)
class Wikitext:
    """One page as MediaWiki has it; the scanner makes a text with links of it."""

    title: str = ""
    namespace: int = 0
    text: str = ""
    redirect: str | None = None
    """The redirect's target where the dump says so in an element of its own."""
    timestamp: str = ""
    model: str = "wikitext"


def date_in(timestamp: str) -> str:
    """A timestamp as it is if it begins with a date, else nothing."""
    return timestamp if _DATE.match(timestamp) else ""


def mend(document: Document, damage: Counter[str]) -> None:
    """Replace characters that are none, such as half of a surrogate pair; offsets stay as they are."""
    written = document.title, document.text, document.address
    for name in ("title", "text", "address", "redirect", "redirect_fragment", "parent"):
        if text := getattr(document, name):
            setattr(document, name, _mended(text))
    if (document.title, document.text, document.address) != written:
        damage[MENDED] += 1
    document.headings = [heading._replace(title=_mended(heading.title)) for heading in document.headings]
    document.links = [
        link._replace(target=_mended(link.target), fragment=_mended(link.fragment)) for link in document.links
    ]


def _mended(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)


def tidy(document: Document) -> Scan:
    """A document's text with single blanks and no blank lines; links and headings move along with it."""
    text = document.text
    if not document.links and not document.headings:
        lines = (" ".join(line.split()) for line in text.splitlines())
        return Scan("\n".join(line for line in lines if line), [], [], dict(document.counts))
    places = _Places(text)
    links: list[LinkSpan] = []
    invalid = 0
    for link in sorted(document.links, key=lambda link: (link.start, link.end)):
        start, end = places.start(link.start), places.end(link.end)
        shown = 0 <= link.start < link.end <= len(text) and "\n" not in places.text[start:end]
        named = bool(link.target.strip() or link.fragment.strip())
        if shown and named and start < end and (not links or links[-1].end <= start):
            links.append(link._replace(start=start, end=end))
        else:  # out of the text, across paragraphs, without a word or a target, or over another link
            invalid += 1
    headings = [heading._replace(offset=places.start(heading.offset)) for heading in document.headings]
    headings.sort(key=lambda heading: heading.offset)
    counts = Counter(document.counts)
    counts["invalid"] += invalid
    return Scan(places.text, links, headings, {reason: n for reason, n in counts.items() if n})


class _Places:
    """A text made tidy, and where its offsets have gone."""

    def __init__(self, text: str) -> None:
        self.text, self.untidy = text, _UNTIDY.search(text) is not None
        if not self.untidy:
            return
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.moved: list[int] = []
        parts: list[str] = []
        at = size = 0
        for word in _WORD.finditer(text):
            gap = text[at : word.start()]
            if parts:
                parts.append("\n" if len((gap + "x").splitlines()) > 1 else " ")
                size += 1
            self.starts.append(word.start())
            self.ends.append(at := word.end())
            self.moved.append(size)
            parts.append(word[0])
            size += len(word[0])
        self.text = "".join(parts)

    def start(self, offset: int) -> int:
        """Where what begins here begins now: white space belongs to what comes before."""
        if not self.untidy:
            offset = min(max(offset, 0), len(self.text))
            return offset + self.text[offset : offset + 1].isspace()
        at = bisect_right(self.ends, offset)
        return self.moved[at] + max(0, offset - self.starts[at]) if at < len(self.ends) else len(self.text)

    def end(self, offset: int) -> int:
        """Where what ends here ends now: white space belongs to what comes after."""
        if not self.untidy:
            offset = min(max(offset, 0), len(self.text))
            return offset - self.text[max(offset - 1, 0) : offset].isspace()
        at = bisect_left(self.starts, offset) - 1
        return self.moved[at] + min(offset, self.ends[at]) - self.starts[at] if at >= 0 else 0
