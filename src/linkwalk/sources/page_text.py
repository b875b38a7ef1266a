"""A page's text as it is put together: words go into lines, links and headings get their places.

Whatever the markup, a reader of it says words, ends lines, opens and closes links; what a link means is asked of
``resolve``, which knows a page's neighbours.
"""

import re
from collections.abc import Callable

from linkwalk.sources.documents import Counts, Heading, LinkSpan, Scan

LinkTarget = tuple[str, str] | str
"""An address (or, where there is no such page, what it would be) and a fragment; or why it is no link to a page."""
Resolve = Callable[[str], LinkTarget]
"""What a link as written leads to."""

PICTURE, IN_TABLE, IN_LINK, NOT_SHOWN = "image", "in table", "in a link", "not shown"
_NOT_IN_SLUGS = re.compile(r"[^\w\s-]")
_GAPS = re.compile(r"[\s_-]+")
_OWN_ANCHOR = re.compile(r"\s?\{:?\s*+#([^\s{}]++)[^{}]*+\}$")
#: Deeper than any heading: a place that has a name, and begins no section.
_PLACE = 7


def slug(name: str) -> str:
    """What sites make of a heading for links to it, less their differences: case, marks, one hyphen for a gap."""
    return _GAPS.sub("-", _NOT_IN_SLUGS.sub("", name.casefold())).strip("-")


class PageText:
    """The text of one page so far."""

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self.counts = Counts()
        self.links: list[LinkSpan] = []
        self.headings: list[Heading] = []
        self.hidden = ""
        """Why what is said is left out for now; empty where it is not."""
        self.row = False
        """In a row of a table, which is one line whatever stands in it."""
        self._parts: list[str] = []
        self._size = self._line = 0  # of the text, and where its line begins
        self._first = 0  # the line's first part
        self._before = ""  # the line before
        self._link: tuple[int, str] | None = None
        self._shown, self._alt = False, ""  # whether the link has words; what its picture is called
        self._heading: tuple[int, int, int, int, str] | None = None
        self._slugs = Counts()
        self._in_sections = False  # whether a section has begun

    def scan(self) -> Scan:
        """The page as it is now."""
        self.end_line()
        return Scan("".join(self._parts).rstrip("\n"), self.links, self.headings, dict(self.counts))

    def say(self, words: str) -> None:
        """Go on in the line."""
        if self.hidden or not words:
            return
        if "\n" in words:
            words = words.replace("\n", " ")
        if self._size == self._line:
            words = words.lstrip()
        self._shown = self._shown or bool(words.strip())
        self._parts.append(words)
        self._size += len(words)

    def say_lines(self, text: str) -> None:
        """Each line in a line of its own: a block of code."""
        for line in text.split("\n"):
            self.say(line)
            self.end_line()

    def end_line(self) -> None:
        """What comes next stands in a line of its own, or else, in a row, apart from what was said."""
        self.close_link()
        if self._size > self._line and self._heading is None and not self.row:
            self._before = "".join(self._parts[self._first :])
            self._parts.append("\n")
            self._size += 1
            self._line, self._first = self._size, len(self._parts)
        else:
            self.say(" ")

    def begin_row(self) -> None:
        """What is said until the row ends is one line."""
        self.end_row()
        self.row = True

    def begin_cell(self) -> None:
        """Keep the cells of a row apart."""
        self.close_link()
        if self._size > self._line:
            self.say(" | ")

    def end_row(self) -> None:
        """A row is over, if there was one."""
        self.row = False
        self.end_line()

    def open_link(self, href: str) -> None:
        """What is said from here on is a link's."""
        if self._link and not self._shown:  # an address in pointed brackets, shown for a link to the same
            self.counts[IN_LINK] += 1
        else:
            self.close_link()
        self._link, self._shown, self._alt = (self._size, href), False, ""

    def close_link(self) -> None:
        """The link that is open, if one is, ends here; one without a word is shown by its picture's or its own name."""
        if self._link is None:
            return
        start, href = self._link
        self._link = None
        found = self.resolve(href)
        if not self._shown and not isinstance(found, str):
            self.say(self._alt or name_in(href))
        self.enter_link(start, found)

    def link(self, shown: str, found: LinkTarget) -> None:
        """A link that is known: what it is shown by, and what it leads to."""
        self.close_link()
        start = self._size
        self.say(shown)
        self.enter_link(start, found)

    def enter_link(self, start: int, found: LinkTarget) -> None:
        """What was said since ``start`` is a link to what was found, unless there is a reason why not."""
        if self.hidden or isinstance(found, str):
            self.counts[self.hidden or str(found)] += 1
        else:
            self.links.append(LinkSpan(start, self._size, *found))

    def picture(self, alt: str) -> None:
        """A picture: counted, and what a link is shown by that has no words."""
        self.counts[PICTURE] += 1
        self._alt = alt

    def place(self, anchor: str) -> None:
        """What a link's fragment calls the place that is reached."""
        self._name_place(self._size, slug(anchor))

    def _name_place(self, offset: int, anchor: str) -> None:
        if anchor:
            title = self.headings[-1].title if self.headings else ""
            self.headings.append(Heading(offset, _PLACE, title, anchor))

    def define(self) -> None:
        """What comes next explains the line before, a term that links may ask for by its words or its first word."""
        self.end_line()
        if not self.row:
            for name in dict.fromkeys((slug(self._before), slug(self._before.partition(" ")[0]))):
                self._name_place(self._size - len(self._before) - 1, name)

    def begin_heading(self, level: int, anchor: str = "") -> None:
        """What is said until the heading ends is its title."""
        self.row = False
        self.end_heading()
        self.end_line()
        self._heading = (level, len(self._parts), self._size, len(self.links), anchor)

    def end_heading(self) -> None:
        """A heading is over, if there was one; where it holds links it is a line of the text as well."""
        if self._heading is None:
            return
        self.close_link()
        level, parts, size, links, anchor = self._heading
        self._heading = None
        title = " ".join("".join(self._parts[parts:]).split())
        if own := _OWN_ANCHOR.search(title):
            title, anchor = title[: own.start()], own[1]
        if len(self.links) == links:
            del self._parts[parts:]
            self._size = size
        name = anchor = slug(anchor) or slug(title)
        if name and self._slugs[name]:
            anchor = f"{name}-{self._slugs[name]}"
        self._slugs[name] += 1
        if level == 1 and size == 0 and not self._in_sections:
            level, title = _PLACE, ""  # the page's own: what follows it is no section but the page
        self._in_sections = self._in_sections or level < _PLACE
        self.headings.append(Heading(size, level, title, anchor))
        self.end_line()


def name_in(href: str) -> str:
    """The name that a link as written ends in: ``Milk`` of ``../food/Milk.md#uses``."""
    path = href.partition("#")[0].rstrip("/")
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name
