"""What comes out of a source: documents of plain text with their links and headings, or pages of wikitext.

A line of a document's text is a paragraph. White space need not be tidy and links need not be in order: ``tidy`` sees
to it. A link names a document by its title or, where it has one, by its *address*: a path or a URL, say.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Counts = Counter[str]
"""How many there are of each kind, such as damage."""
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MENDED, MENDED_UTF8 = "forbidden characters (mended)", "invalid UTF-8 (mended)"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
#: White space that is not as it should be: anything but single blanks and line breaks between words.
_UNTIDY = re.compile(r"\s(?:\s+|(?<![ \n])|\Z|(?<=\A\s))")


class LinkSpan(NamedTuple):
    """A visible link to an article; ``text[start:end]`` is its anchor as shown."""

    start: int
    end: int
    target: str
    """As written, without leading colon and fragment; empty for a link into the same page."""
    fragment: str = ""
    """The section asked for."""


class Heading(NamedTuple):
    """A section: where its text begins in the plain text, how deep it lies, and what it is called."""

    offset: int
    level: int
    title: str
    anchor: str = ""
    """What a fragment calls it where that is not its title."""


@dataclass(slots=True)
class Scan:
    """A page as plain text, one line per paragraph, list item, caption or table row."""

    text: str
    links: list[LinkSpan]
    headings: list[Heading]
    counts: dict[str, int] = field(default_factory=dict)
    """Every well-formed link that is not in ``links``, by the reason why."""
    tags: list[str] = field(default_factory=list)
    """What the page's own text files it under: its categories."""


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
    """When this state of it was saved or captured; the newest of all is the snapshot's date."""
    date: str = ""
    """When it was last changed, as it says itself; else its timestamp counts."""
    tags: Sequence[str] = ()
    """What it is filed under: tags, categories, keywords."""
    counts: dict[str, int] = field(default_factory=dict)
    """Links that are not in ``links``, say to pictures or other sites, by the reason why: for the ledger."""

    @classmethod
    def of(cls, scan: Scan, **fields: Any) -> "Document":
        """What was read of a page, with what else is known of it."""
        fields["tags"] = [*fields.get("tags", ()), *scan.tags]
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


def mend(document: Document, damage: Counts) -> None:
    """Replace characters that are none, such as half of a surrogate pair; offsets stay as they are."""
    written = document.title, document.text, document.address
    for name in "title text address redirect redirect_fragment parent".split():
        if text := getattr(document, name):
            setattr(document, name, _mended(text))
    if (document.title, document.text, document.address) != written:
        damage[MENDED] += 1
    document.tags = [_mended(tag) for tag in document.tags]
    document.headings = [heading._replace(title=_mended(heading.title)) for heading in document.headings]
    document.links = [
        link._replace(target=_mended(link.target), fragment=_mended(link.fragment)) for link in document.links
    ]


def _mended(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)


def tidy(document: Document) -> Scan:
    """A document's text with single blanks and no blank lines; links and headings move along with it."""
    tidied, size = TidyText(document.text), len(document.text)
    links: list[LinkSpan] = []
    counts = Counter(document.counts)
    for link in sorted(document.links, key=lambda link: (link.start, link.end)):
        start, end = tidied.start(link.start), tidied.end(link.end)
        shown = 0 <= link.start < link.end <= size and "\n" not in tidied.text[start:end]
        named = bool(link.target.strip() or link.fragment.strip())
        if shown and named and start < end and (not links or links[-1].end <= start):
            links.append(link._replace(start=start, end=end))
        else:  # out of the text, across paragraphs, without a word or a target, or over another link
            counts["invalid"] += 1
    headings = [heading._replace(offset=tidied.start(heading.offset)) for heading in document.headings]
    headings.sort(key=lambda heading: heading.offset)
    left_out = {reason: n for reason, n in counts.items() if n}
    return Scan(tidied.text, links, headings, left_out, list(document.tags))


class TidyText:
    """A text made tidy, in lines or in one, and where its offsets have gone."""

    def __init__(self, text: str, in_lines: bool = True) -> None:
        self.size, self.gaps = len(text), [gap.span() for gap in _UNTIDY.finditer(text)]
        self.lost = [0]
        """How many characters are gone with the first gap, with the first two, and so on."""
        parts, at = list[str](), 0
        for start, end in self.gaps:
            breaks = in_lines and len((text[start:end] + "x").splitlines()) > 1
            blank = "" if start == 0 or end == len(text) else "\n" if breaks else " "
            parts += text[at:start], blank
            at = end
            self.lost.append(self.lost[-1] + end - start - len(blank))
        self.text = "".join(parts) + text[at:]

    def start(self, offset: int) -> int:
        """Where what begins here begins now: white space belongs to what comes before."""
        at = self._at(offset)
        return at + self.text[at : at + 1].isspace()

    def end(self, offset: int) -> int:
        """Where what ends here ends now: white space belongs to what comes after."""
        at = self._at(offset)
        return at - self.text[max(at - 1, 0) : at].isspace()

    def _at(self, offset: int) -> int:
        """Where an offset is now; one within a gap is where that begins."""
        offset = min(max(offset, 0), self.size)
        gap = bisect_left(self.gaps, offset, key=lambda gap: gap[1] - 1)
        before = self.gaps[gap][0] if gap < len(self.gaps) else self.size
        return min(offset, before) - self.lost[gap]
