"""The wikitext scanner: one pass over a page's markup gives plain text, link spans and headings.

The page is cut at a few special tokens; what lies between them is copied as it is. Output is a list of *pieces*, and a
link's anchor is always one piece of its own, so that a construct is dropped by truncating the list and spans are only
worked out at the end. Brackets that may nest leave a *frame* on a stack. Their closer pops back to that frame, and a
bracket that is never closed has already been put out as literal text, so nothing is ever scanned twice. Lines (lists,
headings, paragraphs) are found last, on the text without markup, as MediaWiki does it.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from linkwalk.sources.site import ARTICLE, CATEGORY, FILE, INTERLANGUAGE, INTERWIKI, Site


class Link(NamedTuple):
    """A visible link to an article; ``text[start:end]`` is its anchor as shown."""

    start: int
    end: int
    target: str
    """As written, without leading colon and fragment; empty for a link into the same page."""
    fragment: str


class Heading(NamedTuple):
    """A section: where its text begins in the plain text, how deep it lies, and what it is called."""

    offset: int
    level: int
    title: str


@dataclass(slots=True)
class Scan:
    """A page as plain text, one line per paragraph, list item, caption or table row."""

    text: str
    links: list[Link]
    headings: list[Heading]
    counts: dict[str, int] = field(default_factory=dict)
    """Every well-formed link that is not in ``links``, by the reason why."""


@dataclass(frozen=True, kw_only=True)
class ScanOptions:
    """Which parts of a page are text."""

    keep_tables: bool = False
    prose_only: bool = False
    """Running paragraphs alone: no lists, captions or tables."""


_DEFAULTS = ScanOptions()

# Letters after "]]" that belong to the anchor: scripts written with spaces between words, not capital A-Z.
_TRAIL = r"[^\W\d_A-Z\u0900-\U0010ffff]*+"
_NAME = r"[^\[\]{}|<>\n]"
# Templates that nest at most three deep, as one token. Possessive, so that a failure is found in one pass.
_TEMPLATE = r"\{\{[^{}]*+\}\}"
for _ in range(2):
    _TEMPLATE = rf"\{{\{{[^{{}}]*+(?:{_TEMPLATE}[^{{}}]*+)*+\}}\}}"

# Every alternative begins with a literal: only then does the engine skip plain text by a table of first characters. The
# empty groups at the end number the alternatives.
(
    _LINK, _ODD_LINK, _TEMPLATE_TOKEN, _QUOTES, _TAG, _ENTITY, _OPEN_LINK, _CLOSE, _OPEN_BRACES, _CLOSE_BRACES, _EXTERNAL,
    _WORD, _OPEN_TABLE, _CLOSE_TABLE, _CAPTION, _ROW, _CELL, _INLINE_CELL,
) = (3, 6, *range(7, 23))  # fmt: skip
_TOKENS = "|".join(
    (
        rf"\[\[([^\[\]{{}}|<>\n:#& ][^\[\]{{}}|<>\n:#&]*+)(?:\|([^\[\]{{}}|<>\n& ][^\[\]{{}}|<>\n&]*+))?\]\]({_TRAIL})",
        rf"\[\[({_NAME}++)(?:\|([^\[\]{{}}<>]*+))?\]\]({_TRAIL})",
        rf"{_TEMPLATE}()",
        r"''++()",
        r"<(?=[!/a-zA-Z])()",
        r"&(#?[0-9a-zA-Z]{1,31};)",
        r"\[\[()",
        r"\]()",
        r"\{\{++()",
        r"\}\}++()",
        r"\[(?=(?:https?:|ftps?:|git:|irc:|gopher:|telnet:|nntp:|svn:)?//|mailto:|news:)()",
        r"__[A-Z]{3,}__()",
        r"\n[: ]*+\{\|[^\n]*+()",
        r"\n *+\|\}(?!\})()",
    )
)
_TABLE_TOKENS = "|".join((_TOKENS, r"\n *+\|\+()", r"\n *+\|-[^\n]*+()", r"\n *+[|!]()", r"\|\|()", r"!!()"))
_search = re.compile(_TOKENS).search
_search_tables = re.compile(_TABLE_TOKENS).search

_target = re.compile(rf"\[\[({_NAME}*+(?:{_TEMPLATE}{_NAME}*+)*+)\|").match
_external = re.compile(
    r"\[[^\s\[\]<>\"]*+(?:\]| ?(?=([^\[\]\n]*+(?:\[\[[^\[\]\n]*+\]\][^\[\]\n]*+)*+)\]))"
).match
_attributes = re.compile(rf"[^|\[\]{{}}<>\n]*+(?:{_TEMPLATE}[^|\[\]{{}}<>\n]*+)*+\|(?!\|)").match
_tag = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)(?![^\s/>])([^<>]*+)>").match
_brackets = re.compile(r"\[\[|\]\]").findall
_odd_space = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
).sub
_spaces = re.compile(r"  +").sub
_option = re.compile(
    r"(?:thumb(?:nail)?|frame(?:d|less)?|enframed|border|left|right|cent(?:er|re)|none|baseline|middle|top|text-top"
    r"|bottom|text-bottom|sub|super|sup|upright(?: [\d.]+)?|\d*x?\d+ ?(?:px)?|(?:alt|link|page|lang|class|upright"
    r"|thumb(?:nail)?|start|end|thumbtime|loop|muted) ?=.*|page \d+)",
    re.IGNORECASE | re.DOTALL,
).fullmatch
_quotes = re.compile(r"''+").sub
_trail = re.compile(_TRAIL).match
_table_marks = re.compile(r"[\x01-\x03][^\x01-\x03]*").findall

# Tags whose content is not text, with the reason under which its links are counted.
_DROPPED = {
    "ref": "in reference", "references": "in reference", "gallery": "in gallery", "math": "in math", "chem": "in math",
    "ce": "in math", "source": "in code", "syntaxhighlight": "in code", "pre": "in code", "includeonly": "in template",
    **dict.fromkeys(
        "timeline score hiero imagemap graph mapframe maplink templatestyles inputbox categorytree indicator"
        " templatedata charinsert".split(), "in extension"
    ),
}  # fmt: skip
_closers = {
    name: re.compile("</" + "".join(f"[{c}{c.upper()}]" for c in name) + " ?>").search
    for name in (*_DROPPED, "nowiki")
}
_ROW_MARK, _CELL_MARK, _CAPTION_MARK = "\x01", "\x02", "\x03"
_TABLE_PARTS = {"tr": _ROW_MARK, "td": _CELL_MARK, "th": _CELL_MARK, "caption": _CAPTION_MARK}
# What a tag leaves behind in the text.
_MARKS = {
    **dict.fromkeys(
        """abbr b bdi bdo big cite code data del dfn em font i ins kbd mark nobr noinclude nowiki onlyinclude poem q rb rp
        rt rtc ruby s samp section small span strike strong sub sup time translate tt tvar u var wbr""".split(), ""
    ),
    "br": " ",
    **dict.fromkeys(
        """p div blockquote center ul ol dl hr h1 h2 h3 h4 h5 h6 article aside figure figcaption footer header table tbody
        thead tfoot tr td th caption colgroup col""".split(), "\n\n",
    ),
    **dict.fromkeys(("li", "dd", "dt"), "\n*"),
}  # fmt: skip
_LINE_MARKUP = frozenset("*#:;=-")
_GUARD = "\x1f"  # before text that begins a line but is no list or heading; white space to str.split


class _Frame(NamedTuple):
    """An open bracket: what it is, and how much had been put out before it."""

    kind: str
    pieces: int
    links: int
    asides: int
    target: str = ""
    width: int = 0


class _Aside(NamedTuple):
    """Lines that stand beside the text (a caption, a table's rows), put out after the paragraph they are in."""

    piece: int
    lines: list[tuple[str, list[Link]]]


class _Anchor(NamedTuple):
    """A link whose anchor is the piece of this number."""

    piece: int
    target: str
    fragment: str


def scan(wikitext: str, site: Site, options: ScanOptions = _DEFAULTS) -> Scan:
    """Turn a page's wikitext into plain text with link spans; never fails, in time linear in the page's length."""
    scanner = _Scanner(_tidy(wikitext), site, options)
    scanner.run()
    return scanner.finish()


def _tidy(wikitext: str) -> str:
    """Make all white space but newlines single blanks, which no markup minds and which spares the spans later."""
    text = wikitext.replace("&nbsp;", " ") if "&nbsp;" in wikitext else wikitext
    text = _odd_space(" ", text)
    if "  " in text:
        text = _spaces(" ", text)
    return "\n" + text


def _count_links(markup: str) -> int:
    """How many links are opened and closed in markup that is dropped unseen."""
    if "[[" not in markup:
        return 0
    pairs = depth = 0
    for bracket in _brackets(markup):
        if bracket == "[[":
            depth += 1
        elif depth:
            depth -= 1
            pairs += 1
    return pairs


def _flatten(pieces: list[str], anchors: Sequence[_Anchor], first: int) -> tuple[str, list[Link]]:
    """Join the pieces from one number on, with the spans of the anchors among them."""
    starts = list(accumulate(map(len, pieces[first:]), initial=0))
    links = [
        Link(starts[p - first], starts[p - first + 1], target, fragment) for p, target, fragment in anchors
    ]
    return "".join(pieces[first:]), links


def _squeeze(raw: str, links: Sequence[Link]) -> tuple[str, list[Link]]:
    """Collapse the white space of one line, moving the spans along; anchors are tidy already."""
    parts: list[str] = []
    moved: list[Link] = []
    size = done = 0
    gap = False
    for start, end, target, fragment in (*links, (len(raw), len(raw), "", "")):
        between = raw[done:start]
        if words := between.split():
            chunk = " ".join(words)
            if size and (gap or between[0].isspace()):
                chunk = " " + chunk
            parts.append(chunk)
            size += len(chunk)
            gap = between[-1].isspace()
        elif between:
            gap = True
        if end > start:
            if gap and size:
                parts.append(" ")
                size += 1
            parts.append(raw[start:end])
            moved.append(Link(size, size + end - start, target, fragment))
            size += end - start
            gap = False
        done = end
    return "".join(parts), moved


def _rows(raw: str, links: Sequence[Link]) -> list[tuple[str, list[Link]]]:
    """A table's lines from text in which marks stand before its captions, rows and cells."""
    lines: list[tuple[str, list[Link]]] = []
    line, here = "", list[Link]()
    stop, n = -1, 0
    for cell in _table_marks(_ROW_MARK + raw):
        begin, stop = stop, stop + len(cell)
        inside = []
        while n < len(links) and links[n].start < stop:
            start, end, target, fragment = links[n]
            inside.append(Link(start - begin - 1, end - begin - 1, target, fragment))
            n += 1
        words, inside = _squeeze(cell[1:], inside)
        if cell[0] != _CELL_MARK or not line:
            if line:
                lines.append((line, here))
            line, here = words, inside
        elif words:
            line += " | "
            here += [Link(s + len(line), e + len(line), t, f) for s, e, t, f in inside]
            line += words
        if cell[0] == _CAPTION_MARK and line:
            lines.append((line, here))
            line, here = "", []
    if line:
        lines.append((line, here))
    return lines


def _decode(text: str) -> str:
    """Replace entities; control characters and odd spaces become blanks, as everywhere else."""
    return _odd_space(" ", html.unescape(text)).replace("\n", " ") if "&" in text else text


def _strip_quotes(text: str) -> str:
    """Take out the apostrophes that make text bold or italic."""
    return _quotes(lambda m: "'" * _surplus(len(m[0])), text) if "''" in text else text


def _surplus(width: int) -> int:
    """How many of a run of apostrophes are text: four are one and a bold mark, more than five leave the rest."""
    return 1 if width == 4 else max(width - 5, 0)


def _pipe_trick(target: str) -> str:
    """What ``[[target|]]`` shows: no namespace, and nothing in final brackets or after a comma."""
    _, colon, rest = target.partition(":")
    name = (rest if colon else target).strip()
    if name.endswith(")") and "(" in name:
        return name[: name.rindex("(")].strip()
    return name.partition(", ")[0].strip()


def _heading_level(line: str) -> int:
    """The number of equals signs on either side of a heading, 0 for a line that is none."""
    if line[-1] != "=" or len(line) < 3:
        return 0
    left = len(line) - len(line.lstrip("="))
    right = len(line) - len(line.rstrip("="))
    return min(left, right, 6, (len(line) - 1) // 2)


class _Scanner:
    """The state of one scan."""

    __slots__ = (
        "anchors", "asides", "counts", "dead", "external_end", "frames", "header_row", "keep_tables", "open", "pieces",
        "prose_only", "site", "text",
    )  # fmt: skip

    def __init__(self, text: str, site: Site, options: ScanOptions) -> None:
        self.text = text
        self.site = site
        self.prose_only = options.prose_only
        self.keep_tables = options.keep_tables and not options.prose_only
        self.pieces: list[str] = []
        self.anchors: list[_Anchor] = []
        self.asides: list[_Aside] = []
        self.frames: list[_Frame] = []
        self.open = {"[[": 0, "{{": 0, "{|": 0, "<table": 0}
        self.counts: dict[str, int] = {}
        self.dead: set[str] = set()  # closers that do not come again
        self.external_end = -1
        self.header_row = False

    def run(self) -> None:
        """Read the tokens in order; the commonest are dealt with here, the others in a method that says where to go on."""
        text = self.text
        pieces = self.pieces
        add = pieces.append
        add_anchor = self.anchors.append
        search = _search_tables if self.keep_tables else _search
        pos = 0
        while (m := search(text, pos)) is not None:
            start, end = m.span()
            if start > pos:
                add(text[pos:start])
            kind = m.lastindex
            if kind == _LINK:
                target, label, trail = m.group(1, 2, 3)
                shown = (label or target) + trail
                if shown[-1] == " " or "''" in shown:
                    self.link(target, label, trail)
                else:
                    add_anchor(_Anchor(len(pieces), target, ""))
                    add(shown)
                pos = end
            elif kind == _TEMPLATE_TOKEN:
                pos = self.template(start, end)
            elif kind == _QUOTES:
                if end - start > 3:
                    add("'" * _surplus(end - start))
                pos = end
            elif kind == _TAG:
                pos = self.tag(start)
            elif kind == _ODD_LINK:
                self.link(*m.group(4, 5, 6))
                pos = end
            elif kind == _ENTITY:
                self.entity(m.group())
                pos = end
            elif kind == _CLOSE:
                pos = self.close_bracket(start)
            elif kind == _OPEN_LINK:
                pos = self.open_link(start)
            elif kind == _EXTERNAL:
                pos = self.external(start)
            elif kind == _OPEN_BRACES:
                self.open_braces(end - start)
                pos = end
            elif kind == _CLOSE_BRACES:
                self.close_braces(end - start)
                pos = end
            elif kind == _OPEN_TABLE:
                pos = self.open_table(start, end)
            elif kind == _CLOSE_TABLE:
                self.close_table("{|", m.group())
                pos = end
            elif kind == _WORD:
                pos = end
            else:
                pos = self.table_part(kind, start, end)
        add(text[pos:])

    # Links

    def link(self, target: str, label: str | None, trail: str) -> None:
        """Put out a link whose label may hold quotes and entities but no other markup."""
        if label is not None and self.site.classify(target)[0] == FILE:
            # Split before entities are decoded: a bar may be one.
            label = "|".join(part for part in label.split("|") if not _option(part.strip()))
        if label:
            label = _decode(_strip_quotes(label))
        self.decoded_link(target, label, trail)

    def decoded_link(self, target: str, label: str | None, trail: str) -> None:
        """Put out a link of any kind, or set its caption aside."""
        kind, name = self.site.classify(target) if ":" in target else (ARTICLE, target.strip())
        if kind == FILE:
            self.count("file")
            self.caption(label or "", [])
            self.pieces.append(trail)
            return
        if kind in (CATEGORY, INTERLANGUAGE):
            self.count("category" if kind == CATEGORY else "interlanguage")
            self.pieces.append(trail)
            return
        if not name:
            self.count("invalid")
            self.pieces.append(f"[[{target}{'' if label is None else '|' + label}]]{trail}")
            return
        if label is None:
            label = _decode(name)
        elif not label:
            label = _decode(_pipe_trick(name))
        shown = label + trail
        words = " ".join(shown.split())
        if shown[:1].isspace():
            self.pieces.append(" ")
        if kind != ARTICLE:
            self.count("interwiki" if kind == INTERWIKI else "namespace")
        elif not words:
            self.count("empty")
        else:
            if "&#" in name:
                name = html.unescape(name)
            name, _, fragment = name.partition("#")
            self.anchors.append(_Anchor(len(self.pieces), name.rstrip(), fragment.strip()))
        self.pieces.append(words)
        if shown[-1:].isspace():
            self.pieces.append(" ")

    def open_link(self, start: int) -> int:
        """Open a link whose label holds other markup, if what follows can be a target at all."""
        m = _target(self.text, start)
        if m is None:
            self.pieces.append("[[")
            return start + 2
        self.push("[[", target=m.group(1))
        self.pieces.append(m.group())
        return m.end()

    def close_bracket(self, start: int) -> int:
        """Close an external link or a link; a bracket that closes nothing is text."""
        if start == self.external_end:
            return start + 1
        if not self.text.startswith("]]", start):
            self.pieces.append("]")
            return start + 1
        if not self.open["[["]:
            self.pieces.append("]]")
            return start + 2
        frame = self.pop("[[")
        pieces, anchors = self.pieces, self.anchors
        if self.site.classify(frame.target)[0] == FILE:
            raw, links = _flatten(pieces, anchors[frame.links :], frame.pieces + 1)
            del pieces[frame.pieces :], anchors[frame.links :]
            self.count("file")
            self.caption(raw, links)
        elif len(anchors) > frame.links:
            # A link inside a link: the inner one wins and the outer one is text.
            self.count("invalid")
            pieces.append("]]")
        elif "{{" in frame.target:
            self.count("invalid")
            pieces[frame.pieces] = ""
        else:
            label = "".join(pieces[frame.pieces + 1 :])
            del pieces[frame.pieces :]
            trail = _trail(self.text, start + 2).group()  # type: ignore[union-attr]  # matches anything
            self.decoded_link(frame.target, label or " ", trail)
            return start + 2 + len(trail)
        return start + 2

    def caption(self, label: str, links: list[Link]) -> None:
        """Set a picture's caption aside: the last part of its label that is no option."""
        end = len(label)
        while True:
            begin = label.rfind("|", 0, end) + 1
            part = label[begin:end].strip()
            if not begin or (part and not _option(part)):
                break
            end = begin - 1
        inside = [Link(s - begin, e - begin, t, f) for s, e, t, f in links if begin <= s and e <= end]
        if self.prose_only or not part or _option(part):
            inside = []
        else:
            self.asides.append(_Aside(len(self.pieces), [_squeeze(label[begin:end], inside)]))
        self.count("in caption", len(links) - len(inside))

    def external(self, start: int) -> int:
        """Skip the address of an external link; its label is scanned as text up to the bracket noted here."""
        m = _external(self.text, start)
        if m is None:
            self.pieces.append("[")
            return start + 1
        if m.group(1) is not None:
            self.external_end = m.end(1)
        return m.end()

    # Templates

    def template(self, start: int, end: int) -> int:
        """Skip a complete template, unless braces in its comments may have misled the pattern."""
        markup = self.text[start:end]
        if "<!--" in markup or "<nowiki" in markup:
            self.open_braces(2)
            return start + 2
        if "[[" in markup:
            self.count("in template", _count_links(markup))
        return end

    def open_braces(self, width: int) -> None:
        """Open one template for each two braces; an odd one makes the innermost a parameter."""
        while width >= 2:
            size = 3 if width == 3 else 2
            self.push("{{", width=size)
            self.pieces.append("{" * size)
            width -= size

    def close_braces(self, width: int) -> None:
        """Drop the templates that a run of braces closes."""
        while width >= 2 and self.open["{{"]:
            frame = self.pop("{{")
            self.drop(frame, "in template")
            size = min(frame.width, width)
            if size < frame.width:
                self.pieces.append("{")
            width -= size
        if width:
            self.pieces.append("}" * width)

    # Tags

    def tag(self, start: int) -> int:
        """Strip a tag, with its content where that is no text; what is no known tag is text."""
        text = self.text
        if text.startswith("<!--", start):
            return self.comment(start)
        m = _tag(text, start)
        name = m.group(2).lower() if m else ""
        mark = _MARKS.get(name)
        if m is None or (mark is None and name not in _DROPPED):
            self.pieces.append("<")
            return start + 1
        end = m.end()
        closing = bool(m.group(1))
        if name in _closers and not closing and not m.group(3).endswith("/") and name not in self.dead:
            closer = _closers[name](text, end)
            if closer is None:
                self.dead.add(name)
            elif name == "nowiki":
                self.literal(text[end : closer.start()])
                return closer.end()
            else:
                if text.find("[[", end, closer.start()) >= 0:
                    self.count(_DROPPED[name], _count_links(text[end : closer.start()]))
                return closer.end()
        if name == "table":
            if closing:
                self.close_table("<table", "")
            else:
                self.pieces.append("\n\n")
                self.push("<table")
        elif name in _TABLE_PARTS and self.keep_tables and self.open["<table"]:
            self.pieces.append("" if closing else _TABLE_PARTS[name])
        elif mark:
            self.pieces.append("\n\n" if closing and mark == "\n*" else mark)
        return end

    def comment(self, start: int) -> int:
        """Skip comments, and the whole line where there is nothing else on it; one never closed runs to the end."""
        text = self.text
        end = start
        while text.startswith("<!--", end):
            close = text.find("-->", end + 4)
            stop = len(text) if close < 0 else close + 3
            self.count("in comment", _count_links(text[end:stop]))
            end = stop
        before = start - (text[start - 1] == " ")
        after = end + text.startswith(" ", end)
        last = self.pieces[-1].rstrip(" ") if self.pieces else ""
        if text[before - 1] == "\n" and text.startswith("\n", after) and last.endswith("\n"):
            self.pieces[-1] = last[:-1]
            return after
        return end

    def literal(self, content: str) -> None:
        """Put out text in which only entities are markup."""
        self.guarded(_decode(content.replace("\n", " ")))

    def entity(self, entity: str) -> None:
        """Put out the character an entity stands for; an unknown entity is text."""
        self.guarded(_decode(entity))

    def guarded(self, content: str) -> None:
        """Put out text that must not be taken for a list or a heading where it begins a line."""
        if content[:1] in _LINE_MARKUP and self.pieces and self.pieces[-1].endswith("\n"):
            self.pieces.append(_GUARD)
        self.pieces.append(content)

    # Tables

    def open_table(self, start: int, end: int) -> int:
        """Open a table, or skip it whole where it is dropped and holds no other."""
        self.pieces.append("\n\n")
        self.push("{|")
        self.pieces.append(self.text[start:end])
        return end

    def close_table(self, kind: str, literal: str) -> None:
        """Drop a table, or set its rows aside."""
        if not self.open[kind]:
            self.pieces.append(literal)
            return
        frame = self.pop(kind)
        if self.keep_tables:
            pieces, anchors = self.pieces, self.anchors
            first = frame.pieces + (kind == "{|")
            raw, links = _flatten(pieces, anchors[frame.links :], first)
            del pieces[frame.pieces :], anchors[frame.links :]
            self.asides.append(_Aside(len(pieces), _rows(raw, links)))
        else:
            self.drop(frame, "in table")
        self.pieces.append("\n\n")

    def table_part(self, kind: int | None, start: int, end: int) -> int:
        """Mark where a caption, row or cell begins, skipping its attributes; outside a table it is text."""
        text = self.text
        if not self.open["{|"] or (kind == _INLINE_CELL and text[start] == "!" and not self.header_row):
            self.pieces.append(text[start:end])
            return end
        if kind == _ROW:
            self.pieces.append("\x01")
            return end
        if kind == _CAPTION:
            self.pieces.append("\x03")
        else:
            self.pieces.append("\x02")
            if kind == _CELL:
                self.header_row = text[end - 1] == "!"
        m = _attributes(text, end)
        return m.end() if m else end

    # Frames

    def push(self, kind: str, target: str = "", width: int = 0) -> None:
        """Remember an open bracket."""
        self.frames.append(_Frame(kind, len(self.pieces), len(self.anchors), len(self.asides), target, width))
        self.open[kind] += 1

    def pop(self, kind: str) -> _Frame:
        """Go back to the last open bracket of a kind; those opened since are never closed."""
        while True:
            frame = self.frames.pop()
            self.open[frame.kind] -= 1
            if frame.kind == kind:
                return frame

    def drop(self, frame: _Frame, reason: str) -> None:
        """Take back all that was put out since a bracket was opened."""
        lost = len(self.anchors) - frame.links
        for aside in self.asides[frame.asides :]:
            lost += sum(len(links) for _, links in aside.lines)
        self.count(reason, lost)
        del self.pieces[frame.pieces :], self.anchors[frame.links :], self.asides[frame.asides :]

    def count(self, reason: str, n: int = 1) -> None:
        """Count links that are not among the links."""
        if n:
            self.counts[reason] = self.counts.get(reason, 0) + n

    # Lines

    def finish(self) -> Scan:
        """Find the lines in what was put out: paragraphs, list items, headings, and what stands beside them."""
        pieces, anchors, counts = self.pieces, self.anchors, self.counts
        starts = list(accumulate(map(len, pieces), initial=0))
        parts: list[str] = []
        links: list[Link] = []
        headings: list[Heading] = []
        size = -1  # of the text so far; the first line has no separator before it
        fresh = True  # the next line begins a unit of its own
        stop = n = 0
        asides = self.placed_asides(starts)
        for line in (*"".join(pieces).split("\n"), ""):
            begin, stop = stop, stop + len(line) + 1
            body = line.strip()
            level = 0
            item = False
            if not body:
                fresh = True
            elif line[0] in _LINE_MARKUP:
                if line[0] == "=":
                    level = _heading_level(body)
                    body = body[level : len(body) - level].strip()
                elif line[0] != "-":
                    body = body.lstrip("*#:; ")
                    item = True
                elif body.startswith("----"):
                    body = body.lstrip("- ")
                    fresh = True
                fresh = fresh or item or level > 0
            while fresh and asides and asides[-1][0] < begin:
                for words, inside in asides.pop()[1].lines:
                    parts += ("\n", words)
                    links += [Link(s + size + 1, e + size + 1, t, f) for s, e, t, f in inside]
                    size += len(words) + 1
            here: list[Link] = []
            shift = begin + line.find(body)
            while n < len(anchors) and (start := starts[anchors[n].piece]) < stop:
                piece, target, fragment = anchors[n]
                here.append(Link(start - shift, starts[piece + 1] - shift, target, fragment))
                n += 1
            if "  " in body or _GUARD in body:
                body, here = _squeeze(body, here)
            if level:
                headings.append(Heading(size + 1, level, body))
                self.count("in heading", len(here))
            elif item and self.prose_only:
                self.count("in list", len(here))
            elif body:
                parts += ("\n" if fresh else " ", body)
                links += [Link(s + size + 1, e + size + 1, t, f) for s, e, t, f in here]
                size += len(body) + 1
                fresh = item
        text = "".join(parts)[1:]
        headings = [Heading(min(h.offset, len(text)), h.level, h.title) for h in headings]
        return Scan(text, links, headings, counts)

    def placed_asides(self, starts: list[int]) -> list[tuple[int, _Aside]]:
        """The asides with their offsets, last first; one set aside inside another goes where the outer one does."""
        placed: list[tuple[int, _Aside]] = []
        last = len(starts) - 1
        for aside in reversed(self.asides):
            last = min(last, aside.piece)
            placed.append((starts[last], aside))
        return placed
