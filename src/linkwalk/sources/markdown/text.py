"""Markdown as plain text with links and headings: the tokens of ``markdown-it-py``, and wikilinks as Obsidian has them.

CommonMark, and tables as GitHub has them. A paragraph, a list item, a row of a table is a line. Markdown links in a
block of HTML are links, too: people write them there, and many sites show them so.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from linkwalk.parts import import_library
from linkwalk.sources.documents import Counts, Scan
from linkwalk.sources.markdown.html import HtmlInText
from linkwalk.sources.page_text import PICTURE, PageText, Resolve
from linkwalk.sources.source import ReadConfig

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

#: Blocks nested deeper than this are left out: each list in a list is two. A page of brackets takes as many times as
#: long as one of words.
MAX_NESTING = 40
TOO_DEEP = "nested too deep (left out)"
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
    match = _DOUBLE_BRACKETS.match(state.src, state.pos, state.posMax)
    if not match or not match[2].strip():
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content, token.markup, token.info = match[2].strip(), match[1], (match[3] or "").strip()
    state.pos = match.end()
    return True


@cache
def parser() -> "MarkdownIt":
    """The parser, made once for every process."""
    library = import_library("markdown_it", "markdown-it-py", "markdown-it-py")
    markdown: MarkdownIt = library.MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    markdown.inline.ruler.before("link", "wikilink", wikilink)
    # Links are taken as they are written: what they mean is for ``resolve`` to say.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return markdown


def read_markdown(
    text: str, resolve: Resolve, resolve_wikilink: Resolve, config: ReadConfig, damage: Counts
) -> Scan:
    """A page of Markdown as plain text; that some of it was nested too deep to be read is damage."""
    reader = _TokenReader(resolve, resolve_wikilink, config)
    if reader.blocks(parser().parse(text)):
        damage[TOO_DEEP] += 1
    return reader.page.scan()


def plain(text: str) -> str:
    """A line of Markdown without its markup: a title."""
    reader = _TokenReader(lambda href: "", lambda name: "", ReadConfig())
    reader.inline(parser().parseInline(text)[0])
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
            match token.type:
                case "inline":
                    self.take_block_name(token)
                    self.inline(token)
                case "html_block":
                    self.html_block(token)
                case "fence" | "code_block" if self.code:
                    self.page.say_lines(token.content)
                # What follows means what its tag means in HTML.
                case "heading_open":
                    self.html.reset()
                    self.html.open(token.tag, {})
                case "table_open" | "tr_open" | "td_open" | "th_open":
                    self.html.open(token.tag, {})
                case "heading_close" | "table_close" | "paragraph_close":
                    self.html.close(token.tag)
        return deepest >= MAX_NESTING - 1

    def take_block_name(self, token: "Token") -> None:
        """The name that a paragraph has for links to it, ``^name`` behind its last word, is taken away from it."""
        found = _BLOCK_NAME.search(token.content)
        if found and token.children and token.children[-1].type == "text":
            self.page.place(found[1])
            last = token.children[-1]
            last.content = last.content[: -len(found[0])]

    def inline(self, line: "Token") -> None:
        """Read what stands in a line."""
        page, kind = self.page, ""
        for number, token in enumerate(line.children or []):
            begins = kind in ("", "softbreak")
            kind = token.type
            match kind:
                case "text":
                    words = token.content
                    if begins and _DEFINITION.match(words):
                        page.define()
                        words = words[1:]
                    elif not number:
                        words = _OPENING.sub("", words)
                    page.say(_FOOTNOTE.sub("", words))
                case "softbreak" | "hardbreak":
                    page.say(" ")
                case "code_inline":
                    page.say(token.content)
                case "link_open":
                    page.open_link(str(token.attrs["href"]))
                case "link_close":
                    page.close_link()
                case "image":
                    page.picture(token.content)
                case "html_inline":
                    self.html.feed(token.content)
                case "wikilink":
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
            self.inline(parser().parseInline(token.content)[0])
        else:
            self.html.feed(token.content)
            self.html.end_block()
