"""One page of HTML: its title, its own text with links and anchors, and what it says about itself.

**Its own text** is the first of these that has a word in it: what MediaWiki calls its content (``.mw-parser-output``,
``#mw-content-text``, ``#bodyContent``), ``<main>``, ``role=main``, ``#content``, the only ``<article>``, else the whole
body. Left out of it are ``nav``, ``header``, ``footer``, ``aside`` and the roles of the same meaning; scripts, styles,
controls of forms, what is hidden; of MediaWiki's pages the edit links, marks of footnotes, boxes of navigation and the
lines above and below the text. Tables are kept, each row a line, but on MediaWiki's pages, where they are left out as
from a dump; one that holds another table or a heading is no table but a layout. ``pre`` is code.

**A title** is the page's ``<title>``. If a main heading or ``og:title`` stands whole at its beginning or end, beside a
mark such as ``-`` or ``|``, the rest is the site's name and is cut.
"""

import codecs
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from linkwalk.parts import import_library
from linkwalk.sources.documents import Counts, Scan
from linkwalk.sources.html.nesting import flatten
from linkwalk.sources.page_text import IN_TABLE, PICTURE, PageText, Resolve
from linkwalk.sources.source import RULE, ReadConfig

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

OUTSIDE_TEXT, IN_CODE, WITHOUT_WORDS, ITSELF = "outside the text", "in code", "without words", "page itself"
BROKEN_BYTES = "bytes that are no characters (marked)"
OTHER_ENCODING = "neither UTF-8 nor what it says it is (read as Windows-1252)"

_MAIN = (
    ".mw-parser-output, #mw-content-text, #bodyContent",
    "main",
    "[role=main]",
    "#content",
)
_MEDIAWIKI = ".mw-parser-output, body.mediawiki"
_LEFT_OUT = """nav, header, footer, aside, script, style, noscript, template, iframe, object, svg, math, canvas, audio,
    video, select, button, textarea, datalist, dialog, [role=navigation], [role=banner], [role=contentinfo],
    [role=complementary], [role=search], [role=menu], [hidden], [aria-hidden=true], [style*="display:none"],
    [style*="display: none"], .mw-editsection, .editsection, sup.reference, #toc, .toc, div.navbox, .catlinks,
    .printfooter, #siteSub, #contentSub, #jump-to-nav, .mw-jump-link"""
_LINKS = "a[href], area[href]"
_LAYOUT = "table, h1, h2, h3, h4, h5, h6"
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_LINES = frozenset(
    """address article blockquote body caption center dd details div dl dt fieldset figcaption figure form hr
    legend li main ol optgroup p pre section summary table tbody tfoot thead ul""".split()
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: What browsers read under a name: the larger set that is really written.
_READ_AS = {
    **dict.fromkeys("iso-8859-1 latin1 latin-1 us-ascii ascii".split(), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys("shift_jis shift-jis sjis x-sjis".split(), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    # What gets so far has no byte order mark, and is no UTF-16.
    **dict.fromkeys("utf-16 utf-16le utf-16be utf-16-le utf-16-be".split(), "utf-8"),
}
#: Of the characters of a page, the share below which broken ones are damage and not another encoding.
_BROKEN_SHARE = 0.01
_CHARSET = re.compile(
    rb"""<meta[^>]+?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]+?encoding=["']([\w.:-]+)""", re.I
)
_REFRESH = re.compile(r"""\s*(\d+)[\d.]*\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)""", re.IGNORECASE)
_MAX_REFRESH_SECONDS = 10
_TAGS = "meta[name=keywords i][content], meta[property='article:tag' i][content]"
_DATES = (
    "meta[property='article:modified_time' i][content]",
    "meta[property='og:updated_time' i][content]",
    "meta[name='dcterms.modified' i][content]",
    "meta[itemprop=dateModified i][content]",
    "meta[property='article:published_time' i][content]",
    "meta[name=date i][content]",
)
"""Where a page says what it is about and when it was changed, else published; of the dates the first counts."""
_MARKS = "-–—|·•:»«/"


def decode(data: bytes, damage: Counts, stated: str = "") -> str:
    """A page's characters: by its byte order mark, by what is stated for it or in it, else UTF-8, else Windows-1252."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    named = _CHARSET.search(data, 0, 4096)
    inside = (named[1] or named[2]).decode("ascii") if named else ""
    names = [name.lower() for name in (stated, inside, "utf-8") if name]
    encodings = [_READ_AS.get(name, name) for name in names]
    for encoding in encodings:
        with suppress(UnicodeError, LookupError):
            return data.decode(encoding)
    for encoding in encodings:
        with suppress(UnicodeError, LookupError):
            if _is_nearly_whole(text := data.decode(encoding, "replace")):
                damage[BROKEN_BYTES] += 1
                return text
    damage[OTHER_ENCODING] += 1
    return data.decode("cp1252", "replace")


def _is_nearly_whole(text: str) -> bool:
    """Whether few characters are broken, and more of those that are not ASCII are good than broken."""
    broken = text.count("\ufffd")
    return broken < _BROKEN_SHARE * len(text) and 2 * broken < sum(not sign.isascii() for sign in text)


class HtmlPage:
    """A page that is parsed, and read when its links can be resolved."""

    def __init__(self, html: str, config: ReadConfig, damage: Counts) -> None:
        self.html, self.config = flatten(html, damage), config
        lexbor = import_library("selectolax.lexbor", "selectolax", "selectolax")
        self.tree: LexborHTMLParser = lexbor.LexborHTMLParser(self.html)

    def _of(self, selector: str, attribute: str) -> str:
        """An attribute of the first such element, empty where there is none."""
        found = self.tree.css_first(selector)
        return ((found.attributes.get(attribute) or "") if found is not None else "").strip()

    @cached_property
    def base(self) -> str:
        """What its links are relative to, where that is not the page."""
        return self._of("base[href]", "href")

    @cached_property
    def language(self) -> str:
        """The code of its language, without a country."""
        return (self._of("html", "lang") or self._of("html", "xml:lang")).partition("-")[0].lower()

    @cached_property
    def canonical(self) -> str:
        """Where the page says that it really is."""
        return self._of("link[rel=canonical][href]", "href")

    @cached_property
    def refresh(self) -> str:
        """Where it sends its readers within seconds."""
        found = _REFRESH.match(self._of("meta[http-equiv=refresh i][content]", "content"))
        return found[2].strip() if found and int(found[1][:9]) <= _MAX_REFRESH_SECONDS else ""

    @cached_property
    def title(self) -> str:
        """What it is called; empty where nothing says so."""
        written = self.tree.css_first("title")
        title = _words(written) if written is not None else ""
        names = [name for h1 in self.tree.css("h1")[:3] if (name := _words(h1).rstrip("¶# "))]
        names += filter(None, [" ".join(self._of('meta[property="og:title"]', "content").split())])
        if not title:
            return names[0] if names else ""
        return next((name for name in names if _is_beside_site_name(name, title)), title)

    @cached_property
    def tags(self) -> list[str]:
        """What it is filed under: its keywords and the tags of its article."""
        found = (node.attributes.get("content") or "" for node in self.tree.css(_TAGS))
        return [tag for written in found for tag in written.split(",")]

    @cached_property
    def date(self) -> str:
        """When it was last changed, as it says itself; empty where it does not."""
        return next(filter(None, (self._of(selector, "content") for selector in _DATES)), "")

    @cached_property
    def main(self) -> "LexborNode | None":
        """The element that holds its own text."""
        for selector in _MAIN:
            found = self.tree.css_first(selector)
            if found is not None and _words(found):
                return found
        articles = self.tree.css("article")
        if len(articles) == 1 and _words(articles[0]):
            return articles[0]
        return self.tree.body

    def read(self, resolve: Resolve) -> Scan:
        """Its own text; every link on the page is in it, or counted."""
        body = self.tree.body
        if body is None or self.main is None:
            return Scan("", [], [])
        text = _HtmlText(resolve)
        if self.config.main == RULE:
            reader = _TreeReader(self, text, self.main)
            reader.walk(self.main)
            met = reader.links
        else:
            from linkwalk.sources.html.trafilatura import extract

            met = extract(self.html, self.config, text)
        if (outside := len(body.css(_LINKS)) - met) > 0:
            text.counts[OUTSIDE_TEXT] += outside
        return text.scan()


class _HtmlText(PageText):
    """A text in which a link that shows no word is none, and a picture alone is nothing."""

    def picture(self, alt: str) -> None:
        self._alt = alt or PICTURE

    def close_link(self) -> None:
        if self._link is not None and not self._shown:
            self.counts[PICTURE if self._alt else WITHOUT_WORDS] += 1
            self._link = None
        super().close_link()

    def end_line(self) -> None:
        """A link that has no word yet goes on in the next line: whole blocks may be links."""
        waiting = self._link[1] if self._link is not None and not self._shown else None
        if waiting is not None:
            picture, self._link = self._alt, None
        super().end_line()
        if waiting is not None:
            self.open_link(waiting)
            self._alt = picture


class _TreeReader:
    """Goes through a page's elements one after the other, however deep they lie."""

    def __init__(self, page: HtmlPage, text: PageText, main: "LexborNode") -> None:
        self.text = text
        self.links = 0  # met so far, counted or kept
        tables = page.config.tables
        self.tables = page.tree.css_first(_MEDIAWIKI) is None if tables is None else tables
        self.code = page.config.code
        self.left_out = {node.mem_id for node in main.css(_LEFT_OUT)} - {main.mem_id}
        self.anchors = {
            node.mem_id: node.attributes.get("id") or node.attributes.get("name") or ""
            for node in main.css("[id], a[name]")
        }
        self.rows: list[bool] = []  # of the tables around: whether their rows are lines
        self.broken = False  # the last thing was a line break
        self.heading = False

    def walk(self, main: "LexborNode") -> None:
        """Depth first, without recursion."""
        node = main
        above: list[tuple[LexborNode, str]] = []
        while True:
            tag = node.tag or ""
            if tag == "-text":
                self.say(node.text_content or "")
            elif tag[0] != "-" and self.enter(node, tag):
                if (child := node.first_child) is not None:
                    above.append((node, tag))
                    node = child
                    continue
                self.leave(tag)
            while above:
                if (beside := node.next) is not None:
                    node = beside
                    break
                node, tag = above.pop()
                self.leave(tag)
            else:
                return

    def say(self, words: str) -> None:
        """Go on in the line."""
        if words.isspace():
            self.text.say(" ")
            return
        self.broken = False
        if "\xad" in words:
            words = words.replace("\xad", "")
        self.text.say(words)

    def enter(self, node: "LexborNode", tag: str) -> bool:
        """Begin an element; say whether to go into it."""
        text, key = self.text, node.mem_id
        if key in self.left_out and node.parent is not None:
            return self.pass_by(node, OUTSIDE_TEXT)
        anchor = self.anchors.get(key, "")
        if tag in _HEADINGS:
            text.begin_heading(int(tag[1]), anchor)
            self.heading = True
            return True
        if tag in _LINES:
            text.end_line()
        if anchor:
            text.place(anchor)
        match tag:
            case "a":
                return self.link(node)
            case "table" if not self.tables:
                return self.pass_by(node, IN_TABLE)
            case "table":
                self.rows.append(all(part.css_first(_LAYOUT) is None for part in node.iter()))
            case "tr" | "td" | "th":
                if not (self.rows and self.rows[-1]):
                    text.end_line()
                elif tag == "tr":
                    text.begin_row()
                else:
                    text.begin_cell()
            case "br":
                text.end_line() if self.broken else text.say(" ")
                self.broken = True
            case "img":
                text.picture(node.attributes.get("alt") or "")
            case "pre":
                self.pass_by(node, IN_CODE)
                if self.code:
                    text.say_lines(node.text())
                return False
            case "area" if "href" in node.attributes:
                self.links += 1
                text.counts[PICTURE] += 1
        return True

    def leave(self, tag: str) -> None:
        """End an element that was gone into."""
        text = self.text
        if tag in _HEADINGS:
            text.end_heading()
            self.heading = False
        elif tag == "a":
            text.close_link()
        elif tag == "table":
            text.end_row()
            self.rows.pop()
        elif tag in ("tr", "td", "th"):
            if not (self.rows and self.rows[-1]):
                text.end_line()
            elif tag == "tr":
                text.end_row()
        elif tag in _LINES:
            text.end_line()

    def link(self, node: "LexborNode") -> bool:
        """A link, unless it only gives a heading's own address."""
        href = node.attributes.get("href")
        if href is None:
            return True
        self.links += 1
        if self.heading and href.startswith("#"):
            self.text.counts[ITSELF] += 1
            return any(sign.isalnum() for sign in _words(node))
        self.text.open_link(href)
        return True

    def pass_by(self, node: "LexborNode", reason: str) -> bool:
        """Leave an element out, and count its links."""
        if inside := len(node.css(_LINKS)):
            self.links += inside
            self.text.counts[reason] += inside
        return False


def _is_beside_site_name(name: str, title: str) -> bool:
    """Whether a page's title is this name with a mark, and something else, before or behind it."""
    if title.startswith(name + " "):
        rest, mark, blank = title[len(name) + 1 :], 0, 1
    elif title.endswith(" " + name):
        rest, mark, blank = title[: -len(name) - 1], -1, -2
    else:
        return False
    return len(rest) > 2 and rest[mark] in _MARKS and rest[blank].isspace()


def _words(node: "LexborNode") -> str:
    """An element's words, with single blanks."""
    return " ".join(node.text().split())
