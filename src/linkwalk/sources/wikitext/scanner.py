"""The wikitext scanner: one pass over a page's markup gives plain text, link spans and headings.

The page is cut at a few special tokens; what lies between them is copied as it is. What was put out since a bracket
was opened can be taken back when it closes (see ``lines``): so nothing is scanned over and over, and no markup,
however broken, takes more than linear time.
"""

import html
import re
from collections.abc import Callable

from linkwalk.sources.documents import LinkSpan, Scan
from linkwalk.sources.site import ARTICLE, CATEGORY, FILE, INTERLANGUAGE, INTERWIKI, Site
from linkwalk.sources.wikitext import lines
from linkwalk.sources.wikitext.lines import Aside, Output
from linkwalk.sources.wikitext.markup import (
    CLOSERS,
    DROPPED,
    TRACES,
    count_links,
    decode,
    decode_entities,
    is_option,
    match_tag,
    pipe_trick,
    stray_quote,
    surplus,
    tidy,
)

# Letters after "]]" that belong to the anchor: not A-Z, and only of scripts that put blanks between words.
_TRAIL = r"[^\W\d_A-Z\u0900-\U0010ffff]*+"
_NAME = r"[^\[\]{}|<>\n]"
# A template that nests at most three deep, as one token; possessive, so that a failure shows in one pass.
_TEMPLATE = r"\{\{[^{}]*+\}\}"
for _ in range(2):
    _TEMPLATE = rf"\{{\{{[^{{}}]*+(?:{_TEMPLATE}[^{{}}]*+)*+\}}\}}"
_ADDRESS = r"(?:(?:https?:|ftps?:|gopher:|git:|irc:|nntp:|svn:|telnet:)?//|mailto:|news:)"

# The tokens, numbered by their last group; an empty group is there for its number alone. Each begins with a
# literal, for only then does the engine skip plain text by a table of first characters.
_TOKENS = [
    # A link like most: an article, and nothing in its label to strip or decode.
    r"\[\[((?! )[^\[\]{}|<>\n&:#]++(?<! ))(?:\|((?! )[^\[\]{}|<>\n&]++(?<! )))?\]\](" + _TRAIL + ")",
    rf"\[\[({_NAME}++)(?:\|([^\[\]{{}}<>]*+))?\]\]({_TRAIL})",  # any link without other markup inside
    _TEMPLATE + "()",
    r"''++()",
    r"<(?=[!/a-zA-Z])()",
    r"&#?[0-9a-zA-Z]{1,31};()",
    r"\[\[()",
    r"\]()",
    r"\{\{++()",
    r"\}\}++()",
    rf"\[(?={_ADDRESS})()",
    r"__[A-Z]{3,}+__()",
    r"\n[: ]*+\{\|[^\n<\[{]*+()",
    r"\n *+\|\}(?!\})()",
]
_TABLE_TOKENS = [r"\n *+\|\+()", r"\n *+\|-[^\n]*+()", r"\n *+[|!]()", r"\|\|()", r"!!()"]
_LINK, _ANY_LINK = 3, 6
(
    _WHOLE_TEMPLATE, _QUOTES, _TAG, _ENTITY, _OPEN_LINK, _CLOSE_LINK, _OPEN_BRACES, _CLOSE_BRACES, _EXTERNAL,
    _BEHAVIOUR, _OPEN_TABLE, _CLOSE_TABLE, _CAPTION, _ROW, _CELL, _BARS, _MARKS
) = range(7, 24)  # fmt: skip
_find_tokens = re.compile("|".join(_TOKENS)).finditer
_find_tokens_in_tables = re.compile("|".join(_TOKENS + _TABLE_TOKENS)).finditer

_match_target = re.compile(rf"\[\[({_NAME}*+(?:{_TEMPLATE}{_NAME}*+)*+)\|").match
_match_trail = re.compile(_TRAIL).match
_match_address = re.compile(
    r"\[(?:[^\s\[\]<>\"']++|'(?!'))*+(?:\]| ?(?=([^\[\]\n]*+(?:\[\[[^\[\]\n]*+\]\][^\[\]\n]*+)*+)\]))"
).match
_is_address = re.compile(_ADDRESS).match
_match_attributes = re.compile(rf"(?:[^|!\[\]{{}}<>\n]++|!(?!!)|{_TEMPLATE})*+\|(?!\|)").match
_find_hidden_brace = re.compile(r"<!--(?:[^{}-]|-(?!->))*+[{}]|<nowiki", re.IGNORECASE).search
_TABLE_MARKS = {"tr": lines.ROW, "td": lines.CELL, "th": lines.CELL, "caption": lines.CAPTION}


def scan(wikitext: str, site: Site, *, keep_tables: bool = False, prose_only: bool = False) -> Scan:
    """Turn a page's wikitext into plain text with link spans; never fails, in time linear in its length.

    ``prose_only`` leaves running paragraphs alone: no lists, captions or tables.
    """
    scanner = _Scanner(tidy(wikitext), site, keep_tables and not prose_only, not prose_only)
    scanner.run()
    return lines.assemble(scanner, prose_only=prose_only)


class _Scanner(Output):
    """The state of one scan; a method that deals with a token returns where to go on."""

    def __init__(self, text: str, site: Site, keep_tables: bool, captions: bool) -> None:
        super().__init__()
        self.text, self.site, self.keep_tables, self.captions = text, site, keep_tables, captions
        self.unclosed: set[str] = set()  # tags whose closing tag does not come again
        self.external_end = -1  # where the bracket stands that closes the last external link
        self.in_header = False  # whether the cell of a table is a heading, in which "!!" begins another
        self.line_end = self.stray_quote = -1  # of the line that bold marks were last looked at in

    def run(self) -> None:
        """Read the tokens in order, anew from where a token's method says to go on."""
        text, pieces = self.text, self.pieces
        add, add_anchor = pieces.append, self.anchors.append
        find_tokens = _find_tokens_in_tables if self.keep_tables else _find_tokens
        pos = 0
        while True:
            for m in find_tokens(text, pos):
                start, end = m.span()
                if start > pos:
                    add(text[pos:start])
                pos, token = end, m.lastindex
                if token == _LINK:
                    target, label, trail = m.group(1, 2, 3)
                    shown = (label or target) + trail
                    if "''" in shown:
                        self.link(target, label, trail)
                    else:
                        add_anchor((len(pieces), target, ""))
                        add(shown)
                elif token == _QUOTES:
                    if end - start > 2:
                        self.bold(start, end)
                elif token == _ANY_LINK:
                    self.link(*m.group(4, 5, 6))
                elif token == _ENTITY:
                    self.literal(m[0])
                elif (pos := self.bracket(token, m)) != end:
                    break
            else:
                break
        add(text[pos:])
        while self.keep_tables and self.open["{|"]:
            self.close_table("")

    def bracket(self, token: int | None, m: re.Match[str]) -> int:
        """Deal with a token that opens, closes or skips something."""
        start, end = m.span()
        if token == _WHOLE_TEMPLATE:
            return self.template(start, end)
        if token == _TAG:
            return self.tag(start)
        if token == _CLOSE_LINK:
            return self.close_link(start)
        if token == _OPEN_LINK:
            return self.open_link(start)
        if token == _EXTERNAL:
            return self.external_link(start)
        if token == _OPEN_BRACES:
            self.open_braces(end - start)
        elif token == _CLOSE_BRACES:
            self.close_braces(end - start)
        elif token == _OPEN_TABLE:
            self.open_table()
        elif token == _CLOSE_TABLE:
            self.close_table(m[0])
        elif token != _BEHAVIOUR:
            return self.table_part(token, start, end)
        return end

    def plain(self, start: int, end: int) -> int:
        """Put out what looks like markup and is none."""
        self.pieces.append(self.text[start:end])
        return end

    def bold(self, start: int, end: int) -> None:
        """Strip a bold mark, but for the apostrophes that are text."""
        text = self.text
        if start >= self.line_end:  # the first on its line: do the marks pair?
            self.line_end = text.find("\n", start)
            self.stray_quote = -1
            if text.count("'''", start, self.line_end) & 1:
                begin = text.rfind("\n", 0, start) + 1
                stray = stray_quote(text[begin : self.line_end])
                self.stray_quote = begin + stray if stray >= 0 else -1
        self.pieces.append("'" if start == self.stray_quote else surplus(end - start))

    def link(self, target: str, label: str | None, trail: str) -> None:
        """Put out a link whose label may hold quotes and entities but no other markup."""
        kind, name = self.site.classify(target)
        if kind == FILE:
            # A bar may be an entity, so the label is taken apart before it is decoded.
            self.caption(label or "", [], decode)
            self.pieces.append(trail)
        else:
            self.decoded_link(kind, name, label and decode(label), trail)

    def decoded_link(self, kind: int, name: str, label: str | None, trail: str) -> None:
        """Put out a link to anything but a picture."""
        pieces = self.pieces
        if kind in (CATEGORY, INTERLANGUAGE):
            self.file_under(name, self.site) if kind == CATEGORY else self.count("interlanguage")
        elif not name:
            self.count("invalid")
            pieces.append("[[]]" if label is None else f"[[|{label}]]")
        else:
            if label is None:
                label = decode(name)
            elif not label:
                label = decode(pipe_trick(name))
            shown, trail = label + trail, ""
            words = " ".join(shown.split())
            if shown[:1].isspace():
                pieces.append(" ")
            if not words:
                self.count("empty")
            elif kind != ARTICLE:
                self.count("interwiki" if kind == INTERWIKI else "namespace")
            elif _is_address(name):
                self.count("invalid")
                words = words if label != name else name.partition(" ")[2]
            else:
                if "&#" in name:
                    name = html.unescape(name)
                name, _, fragment = (part.strip() for part in name.partition("#"))
                if name or fragment:
                    self.anchors.append((len(pieces), name, fragment))
                else:  # a lone "#" names nothing
                    self.count("invalid")
            pieces.append(words)
            if shown[-1:].isspace():
                pieces.append(" ")
        pieces.append(trail)

    def open_link(self, start: int) -> int:
        """Open a link whose label holds other markup, if what comes before the bar can be a target."""
        m = _match_target(self.text, start)
        if m is None:
            return self.plain(start, start + 2)
        self.push("[[", target=m[1])
        self.pieces.append(m[0])
        return m.end()

    def close_link(self, start: int) -> int:
        """Close a link or an external link; a bracket that closes nothing is text."""
        if start == self.external_end:
            return start + 1
        if not self.text.startswith("]]", start):
            return self.plain(start, start + 1)
        if not self.open["[["]:
            return self.plain(start, start + 2)
        frame = self.pop("[[")
        pieces, anchors, trail = self.pieces, self.anchors, ""
        kind, name = self.site.classify(frame.target)
        if kind == FILE:
            self.caption(*self.take(frame, 1))
        elif len(anchors) > frame.anchors:  # a link in a link: the inner one wins, the outer one is text
            self.count("invalid")
            pieces.append("]]")
        elif "{{" in frame.target:  # only the label is known
            self.count("invalid")
            pieces[frame.pieces] = ""
        else:
            label, _ = self.take(frame, 1)
            if m := _match_trail(self.text, start + 2):
                trail = m[0]
            self.decoded_link(kind, name, label or " ", trail)
        return start + 2 + len(trail)

    def caption(self, label: str, links: list[LinkSpan], clean: Callable[[str], str] = str) -> None:
        """Set a picture's caption aside: the last part of its label that is no option."""
        self.count("file")
        begin, end = 0, len(label)
        while end >= 0:
            begin = label.rfind("|", 0, end) + 1
            if not is_option(label[begin:end].strip() or "none"):
                break
            end = begin - 1
        inside = [link for link in links if begin <= link.start and link.end <= end]
        self.count("in caption", len(links) - len(inside))
        caption = clean(label[begin : max(end, begin)])
        if self.captions and caption:
            line = lines.squeeze(caption, lines.shift(inside, -begin))
            self.asides.append(Aside(len(self.pieces), [line]))
        else:
            self.count("in caption", len(inside))

    def external_link(self, start: int) -> int:
        """Skip the address of an external link; its label is scanned as text, up to the bracket noted."""
        m = _match_address(self.text, start)
        if m is None:
            return self.plain(start, start + 1)
        if m[1] is not None:
            self.external_end = m.end(1)
        return m.end()

    def template(self, start: int, end: int) -> int:
        """Skip a complete template, unless braces in a comment may have misled the pattern."""
        markup = self.text[start:end]
        if "<" in markup and _find_hidden_brace(markup):
            self.open_braces(2)
            return start + 2
        if "[[" in markup:
            self.count("in template", count_links(markup))
        return end

    def open_braces(self, width: int) -> None:
        """Open a template for every two braces; an odd one makes the innermost a parameter."""
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
        self.pieces.append("}" * width)

    def tag(self, start: int) -> int:
        """Strip a tag, with its content where that is no text; what is no known tag is text."""
        text = self.text
        if text.startswith("<!--", start):
            return self.comment(start)
        m = match_tag(text, start)
        name = m[2].lower() if m else ""
        trace = TRACES.get(name)
        if m is None or trace is None:
            return self.plain(start, start + 1)
        end = m.end()
        if name in CLOSERS and not m[1] and not m[3].endswith("/") and name not in self.unclosed:
            closer = CLOSERS[name](text, end)
            if closer is None:
                self.unclosed.add(name)
            else:
                if name == "nowiki":
                    self.literal(text[end : closer.start()])
                elif text.find("[[", end, closer.start()) >= 0:
                    self.count(DROPPED[name], count_links(text[end : closer.start()]))
                return closer.end()
        if name == "table":
            self.close_table("") if m[1] else self.open_table()
        elif name in _TABLE_MARKS and self.keep_tables and self.open["{|"]:
            self.pieces.append("" if m[1] else _TABLE_MARKS[name])
        elif trace:
            self.pieces.append("\n\n" if m[1] and trace == "\n*" else trace)
        return end

    def comment(self, start: int) -> int:
        """Skip comments, with the line if they are all there is on it; one never closed runs to the end."""
        text, end = self.text, start
        while text.startswith("<!--", end):
            close = text.find("-->", end + 4)
            stop = len(text) if close < 0 else close + 3
            self.count("in comment", count_links(text[end:stop]))
            end = stop
        after = end + text.startswith(" ", end)
        last = self.pieces[-1].rstrip(" ") if self.pieces else ""
        if last.endswith("\n") and text.startswith("\n", after):
            self.pieces[-1] = last[:-1]
            return after
        return end

    def literal(self, content: str) -> None:
        """Put out text in which only entities are markup, and which is no list or heading on any line."""
        content = decode_entities(content.replace("\n", " "))
        if content[:1] in lines.LINE_MARKUP and self.pieces:
            _, newline, before = self.pieces[-1].rpartition("\n")
            if newline and not before.strip("*#:; "):
                self.pieces.append(lines.GUARD)
        self.pieces.append(content)

    def open_table(self) -> None:
        """Open a table, on a line of its own."""
        self.pieces.append("\n\n")
        self.push("{|")

    def close_table(self, literal: str) -> None:
        """Drop a table, or set its rows aside."""
        if not self.open["{|"]:
            self.pieces.append(literal)
            return
        frame = self.pop("{|")
        if self.keep_tables:
            self.asides.append(Aside(frame.pieces, lines.table_lines(*self.take(frame))))
        else:
            self.drop(frame, "in table")
        self.pieces.append("\n\n")

    def table_part(self, token: int | None, start: int, end: int) -> int:
        """Mark where a caption, row or cell begins, skipping its attributes; outside a table it is text."""
        text = self.text
        if token == _ROW and self.open["{|"]:
            while self.frames[-1].kind != "{|":  # no bracket reaches from one row into the next
                self.open[self.frames.pop().kind] -= 1
            self.pieces.append(lines.ROW)
            return end
        if not self.frames or self.frames[-1].kind != "{|" or (token == _MARKS and not self.in_header):
            return self.plain(start, end)
        if token == _CELL:
            self.in_header = text[end - 1] == "!"
        self.pieces.append(lines.CAPTION if token == _CAPTION else lines.CELL)
        m = _match_attributes(text, end)
        return m.end() if m else end
