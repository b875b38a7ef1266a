"""HTML that stands in Markdown: whole blocks of it, and tags between words."""

import html
import re

from linkwalk.sources.page_text import IN_TABLE, NOT_SHOWN, PageText

_TAG = re.compile(
    r"""<!--.*?(?:-->|\Z)|<[!?][^<>]*+>|<(/?)([a-zA-Z][a-zA-Z0-9-]*+)((?:[^<>"']|"[^"]*+"|'[^']*+')*+)>""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"""(?<![\w:.-])([a-zA-Z_:][\w:.-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'=<>`]++))"""
)
#: What browsers do not show, up to its end tag.
_UNSEEN = frozenset("script style template noscript svg math iframe object".split())
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_LINES = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hr li main nav ol p section summary table tbody tfoot thead ul""".split()
)


def attributes(written: str) -> dict[str, str]:
    """A tag's attributes by their names in small letters."""
    found = _ATTRIBUTE.findall(written)
    return {name.lower(): html.unescape(a or b or c) for name, a, b, c in reversed(found)}


class HtmlInText:
    """Reads tags as they come, a block or a tag at a time, into a page's text."""

    def __init__(self, page: PageText, *, tables: bool, code: bool) -> None:
        self.page, self.tables, self.unseen = page, tables, _UNSEEN if code else _UNSEEN | {"pre"}
        self.tables_open = 0  # of those that are left out
        self.until = ""  # the tag that ends what is not shown

    def feed(self, markup: str) -> None:
        """Read whole tags and the text between them; comments and what is not shown are left out."""
        at = 0
        while tag := _TAG.search(markup, at):
            self.page.say(html.unescape(markup[at : tag.start()]))
            at = tag.end()
            if tag[2] is None:
                continue
            name = tag[2].lower()
            if self.until:
                if tag[1] and name == self.until:
                    self.end_block()
            elif tag[1]:
                self.close(name)
            elif name in self.unseen and not tag[3].endswith("/"):
                end = re.compile(rf"</{name}\s*+>", re.IGNORECASE).search(markup, at)
                if end is None:
                    self.until, at = name, len(markup)
                    self.hide()
                else:
                    at = end.end()
            else:
                self.open(name, attributes(tag[3]) if "=" in tag[3] else {})
        self.page.say(html.unescape(markup[at:]))

    def hide(self) -> None:
        """Leave out what is to be left out from here on."""
        self.page.hidden = NOT_SHOWN if self.until else IN_TABLE if self.tables_open else ""

    def end_block(self) -> None:
        """A block of Markdown ends, and with it what was never closed: a script, say."""
        self.until = ""
        self.hide()

    def reset(self) -> None:
        """A section begins: a table that was never closed does not swallow it."""
        self.until, self.tables_open = "", 0
        self.hide()

    def open(self, name: str, given: dict[str, str]) -> None:
        """A tag that opens something, or stands alone."""
        page = self.page
        anchor = given.get("id") or (given.get("name", "") if name == "a" else "")
        if name in _HEADINGS:
            page.begin_heading(int(name[1]), anchor)
            return
        if name in _LINES:
            page.end_line()
        if anchor:
            page.place(anchor)
        match name:
            case "a" if "href" in given:
                page.open_link(given["href"])
            case "img":
                page.picture(given.get("alt", ""))
            case "br":
                page.say(" ")
            case "table" if not self.tables:
                self.tables_open += 1
                self.hide()
            case "tr":
                page.begin_row()
            case "td" | "th":
                page.begin_cell()

    def close(self, name: str) -> None:
        """A tag that closes something."""
        page = self.page
        if name == "a":
            page.close_link()
        elif name in _HEADINGS:
            page.end_heading()
        elif name in ("tr", "table"):
            page.end_row()
            if name == "table" and self.tables_open:
                self.tables_open -= 1
                self.hide()
        elif name in _LINES:
            page.end_line()
