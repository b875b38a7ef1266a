"""Markdown as plain text with links and headings: the tokens of ``markdown-it-py``, and wikilinks as Obsidian has them.

CommonMark, and tables as GitHub has them. A paragraph, a list item, a row of a table is a line. Markdown links in a
block of HTML are links, too: people write them there, and many sites show them so.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from linkwalk.errors import InputError
from linkwalk.sources.markdown.html import HtmlInText
from linkwalk.sources.page_text import PICTURE, PageText, Resolve
from linkwalk.sources.source import ReadConfig
from linkwalk.sources.wikitext.lines import Scan

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

#: Blocks nested deeper than this are left out: each list in a list is two. A page of brackets takes as many times as
#: long as one of words.
MAX_NESTING = 40
TOO_DEEP = "nested too deep (left out)"
WIKILINK = "wikilink"
_DOUBLE_BRACKETS = re.compile(r"(!?)\[\[([^\[\]|\n]*+)(?:\|([^\[\]\n]*+))?\]\](?!\()")
_MARKDOWN_LINK = re.compile(r"\]\(|\[\[")
_UNSEEN_BLOCK = re.compile(r"\s*<(?:pre|script|style|!--)", re.IGNORECASE)
#: How a block may begin that is no word of it: a callout's kind, a task's box.
_OPENING = re.compile(r"\A(?:\[![\w-]+\][+-]?|\[[ xX]\]\s)")
_DEFINITION = re.compile(r":\s")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]++\]:?")
_BLOCK_NAME = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)$")


def wikilink(state: "StateInline", silent: bool) -> bool:
    """``[[Note|shown]]`` and ``![[Note]]``, a rule for the parser."""
    if not (match := _DOUBLE_BRACKETS.match(state.src, state.pos, state.posMax)):
        return False
    if not match[2].strip():
        return False
    if not silent:
        token = state.push(WIKILINK, "", 0)
        token.content, token.markup, token.info = match[2].strip(), match[1], (match[3] or "").strip()
    state.pos = match.end()
    return True


@cache
def parser() -> "MarkdownIt":
    """The parser, made once for every process."""
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise InputError("markdown-it-py is not installed: pip install markdown-it-py") from None
    markdown = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    markdown.inline.ruler.before("link", WIKILINK, wikilink)
    # Links are taken as they are written: what they mean is for ``resolve`` to say.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return markdown


def read_markdown(
    text: str, resolve: Resolve, resolve_wikilink: Resolve, config: ReadConfig
) -> tuple[Scan, bool]:
    """A page of Markdown as plain text, and whether some of it was nested too deep to be read."""
    reader = _TokenReader(resolve, resolve_wikilink, config)
    deep = reader.blocks(parser().parse(text))
    return reader.page.scan(), deep


def plain(text: str) -> str:
    """A line of Markdown without its markup: a title."""
    reader = _TokenReader(lambda href: "", lambda name: "", ReadConfig())
    reader.inline(parser().parseInline(text)[0].children or [])
    return " ".join(reader.page.scan().text.split())


class _TokenReader:
    """Turns tokens into a page's text."""

    def __init__(self, resolve: Resolve, resolve_wikilink: Resolve, config: ReadConfig) -> None:
        self.page = PageText(resolve)
        self.resolve_wikilink = resolve_wikilink
        self.tables, self.code = config.tables is not False, config.code
        self.html = HtmlInText(self.page, tables=self.tables, code=config.code)

    def blocks(self, tokens: "Iterable[Token]") -> bool:
        """Read block after block; say whether one was as deep as they go."""
        deepest = 0
        for token in tokens:
            deepest = max(deepest, token.level)
            if token.type == "inline":
                self.inline(token.children or [], self.block_name(token))
            elif act := _ACTS.get(token.type):
                act(self, token)
        return deepest >= MAX_NESTING - 1

    def block_name(self, token: "Token") -> str:
        """The name that a paragraph has for links to it, ``^name`` behind its last word, taken away from it."""
        found = _BLOCK_NAME.search(token.content)
        if not found or not token.children or token.children[-1].type != "text":
            return ""
        self.page.place(found[1])
        last = token.children[-1]
        last.content = last.content[: -len(found[0])]
        return found[1]

    def inline(self, tokens: "Iterable[Token]", name: str = "") -> None:
        """Read what stands in a line."""
        page, kind = self.page, ""
        for number, token in enumerate(tokens):
            begins = kind in ("", "softbreak")
            kind = token.type
            if kind == "text":
                words = token.content
                if begins and _DEFINITION.match(words):
                    page.define()
                    words = words[1:]
                elif not number:
                    words = _OPENING.sub("", words)
                if "[^" in words:
                    words = _FOOTNOTE.sub("", words)
                page.say(words)
            elif kind in ("softbreak", "hardbreak"):
                page.say(" ")
            elif kind == "code_inline":
                page.say(token.content)
            elif kind == "link_open":
                page.open_link(str(token.attrs["href"]))
            elif kind == "link_close":
                page.close_link()
            elif kind == "image":
                page.picture(token.content)
            elif kind == "html_inline":
                self.html.feed(token.content)
            elif kind == WIKILINK:
                self.wikilink(token)
        self.html.end_block()

    def wikilink(self, token: "Token") -> None:
        """A link in double brackets; an embedded note is a link shown by its name, an embedded picture is none."""
        found = self.resolve_wikilink(token.content)
        if token.markup and found == PICTURE:
            self.page.picture(token.info)
            return
        name, _, part = token.content.partition("#")
        part = part.rpartition("#")[2].strip()
        own = name if part.startswith("^") or not part else f"{name} > {part}" if name else part
        self.page.link(own if token.markup else token.info or own, found)

    def html_block(self, token: "Token") -> None:
        """A block of HTML; where Markdown's links stand in it, it is read as a line of Markdown is."""
        if _MARKDOWN_LINK.search(token.content) and not _UNSEEN_BLOCK.match(token.content):
            self.inline(parser().parseInline(token.content)[0].children or [])
        else:
            self.html.feed(token.content)
            self.html.end_block()

    def heading(self, token: "Token") -> None:
        self.html.reset()
        self.page.begin_heading(int(token.tag[1]))

    def end_heading(self, token: "Token") -> None:
        self.page.end_heading()

    def end_line(self, token: "Token") -> None:
        self.page.end_line()

    def table(self, token: "Token") -> None:
        self.html.open("table", {})

    def end_table(self, token: "Token") -> None:
        self.html.close("table")

    def row(self, token: "Token") -> None:
        self.page.begin_row()

    def cell(self, token: "Token") -> None:
        self.page.begin_cell()

    def code_block(self, token: "Token") -> None:
        if self.code:
            for line in token.content.splitlines():
                self.page.say(line)
                self.page.end_line()


_ACTS: "dict[str, Callable[[_TokenReader, Token], None]]" = {
    "heading_open": _TokenReader.heading,
    "heading_close": _TokenReader.end_heading,
    "paragraph_close": _TokenReader.end_line,
    "html_block": _TokenReader.html_block,
    "fence": _TokenReader.code_block,
    "code_block": _TokenReader.code_block,
    "table_open": _TokenReader.table,
    "table_close": _TokenReader.end_table,
    "tr_open": _TokenReader.row,
    "td_open": _TokenReader.cell,
    "th_open": _TokenReader.cell,
}
