"""In which line a link stands: every link of a page is marked before the page is read, and the marks come out with it.

Readers of markup do not keep lines, and a search for the target would find it in comments and code as well. So a
character that no text has is put into the target of whatever looks like a link, one for each; the page is then read as
it always is, and what is a link in the end has its mark. A link by reference stands where its target is written.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from linkwalk.sources.documents import Document, Scan, tidy
from linkwalk.sources.page_text import LinkTarget, Resolve

_FIRST, _COUNT = 0x100000, 0xFFFE
"""The marks: the last plane of Unicode, left to private use, and hardly used."""
_MARK = re.compile("[\U00100000-\U0010fffd]")

WIKITEXT = re.compile(r"\[\[([^\[\]{}|<>\n]+)()")
_BEFORE = r"""<a\b(?:[^<>"']|"[^"]{0,1000}"|'[^']{0,1000}')*?"""
_HREF = _BEFORE + r"""\shref\s*=\s*(?:"[^"]*|'[^']*|[^\s"'<>=`]+)()"""
HTML = re.compile(_HREF, re.IGNORECASE)
MARKDOWN = re.compile(
    r"""\]\([ \t]*\n?[ \t]*<?(?=[^\s"')])()"""
    r"|\[\[(?=[^\[\]|\n]*\S[^\[\]|\n]*(?:\|[^\[\]\n]*)?\]\](?!\())()"
    r"|^[ \t>*+-]*\[[^\[\]\n]+\]:[ \t]*\n?[ \t]*<?(?=\S)()|" + _HREF,
    re.IGNORECASE | re.MULTILINE,
)
"""What looks like a link; the last group is empty and stands where the mark goes."""


class WrittenLink(NamedTuple):
    """A link as its author set it."""

    shown: str
    target: str
    """What the reader made of it, as in ``LinkSpan``."""
    fragment: str
    written: str
    """The target as it is written; empty where that is not known."""
    line: int | None
    """Of the page's file or text, from 1."""


class Marks:
    """The marks of one page."""

    def __init__(self, first_line: int = 1) -> None:
        self.first_line = first_line
        self.lines: list[int] = []
        self.written: dict[int, str] = {}

    def put(self, text: str, links: re.Pattern[str]) -> str:
        """A text with its links marked; as it is where it has such characters of its own."""
        return text if _MARK.search(text) else "".join(self._parts(text, links))

    def _parts(self, text: str, links: re.Pattern[str]) -> Iterator[str]:
        at, line = 0, self.first_line
        for found in links.finditer(text):
            if len(self.lines) == _COUNT:
                break
            place = found.end(found.lastindex or 0)
            line += text.count("\n", at, place)
            if links is WIKITEXT:
                self.written[len(self.lines)] = found[1].strip()
            yield text[at:place]
            yield chr(_FIRST + len(self.lines))
            self.lines.append(line)
            at = place
        yield text[at:]

    def over(self, resolve: Resolve) -> Resolve:
        """The same answers for links with marks, which these keep; how each was written is noted."""

        def ask(href: str) -> LinkTarget:
            mark, plain = _MARK.search(href), _MARK.sub("", href)
            found = resolve(plain)
            if mark is None or isinstance(found, str):
                return found
            self.written[ord(mark[0]) - _FIRST] = plain.strip()
            return found[0] + mark[0], found[1]

        return ask

    def links(self, scan: Scan) -> Iterator[WrittenLink]:
        """The links of a page that was read with marks, in order."""
        page = tidy(Document.of(scan, title=""))
        for link in page.links:
            shown = _MARK.sub("", page.text[link.start : link.end])
            mark = _MARK.search(link.target) or _MARK.search(link.fragment)
            number = ord(mark[0]) - _FIRST if mark else -1
            line = self.lines[number] if 0 <= number < len(self.lines) else None
            target, fragment = (_MARK.sub("", part).strip() for part in (link.target, link.fragment))
            yield WrittenLink(shown, target, fragment, self.written.get(number, ""), line)
