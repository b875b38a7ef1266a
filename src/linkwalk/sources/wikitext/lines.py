"""What a scan puts out, pieces of plain text, and how these become lines, its last step.

A scan puts out a list of *pieces*, strings that joined are the page without its inline markup. A link's
anchor is a piece of its own, so a span is a piece's number until the end. A construct is dropped by cutting the list.
A bracket that may nest leaves a *frame* on a stack, and its closer goes back to that frame; a bracket that is never
closed has already been put out as text. So nothing is scanned over and over. What is left to do at the end is what
depends on lines: paragraphs, list items, headings, and captions and tables, which follow the paragraph they stand in.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from linkwalk.sources.documents import Heading, LinkSpan, Scan, TidyText
from linkwalk.sources.site import Site

Line = tuple[str, list[LinkSpan]]
"""Some words, with the links among them."""


class Aside(NamedTuple):
    """Lines that stand beside the text at a piece: a caption, or a table's rows."""

    piece: int
    lines: list[Line]


Anchor = tuple[int, str, str]
"""A link until its span is known: the number of the piece that is its anchor, target and fragment."""

# Marks inside pieces. All are white space to str.split, so that a stray one vanishes with the blanks.
ROW, CELL, CAPTION = "\x1c", "\x1d", "\x1e"
GUARD = "\x1f"
"""Stands before text that looks like the markup of a list or heading and is none."""

LINE_MARKUP = frozenset("*#:;=-")
_cells = re.compile(f"[{ROW}{CELL}{CAPTION}][^{ROW}{CELL}{CAPTION}]*").findall


def flatten(pieces: list[str], anchors: Sequence[Anchor], first: int) -> Line:
    """Join the pieces from one number on, with the spans of the anchors among them."""
    pieces = pieces[first:]
    starts = list(accumulate(map(len, pieces), initial=0))
    return "".join(pieces), [LinkSpan(starts[n - first], starts[n - first + 1], t, f) for n, t, f in anchors]


def shift(links: Sequence[LinkSpan], by: int) -> list[LinkSpan]:
    """The same links further on in the text."""
    return [LinkSpan(start + by, end + by, target, fragment) for start, end, target, fragment in links]


def squeeze(raw: str, links: Sequence[LinkSpan]) -> Line:
    """Collapse the white space of one line, moving the spans along."""
    tidied = TidyText(raw.replace("\n", " "), in_lines=False)
    return tidied.text, [
        link._replace(start=tidied.start(link.start), end=tidied.end(link.end)) for link in links
    ]


def table_lines(raw: str, links: Sequence[LinkSpan]) -> list[Line]:
    """A line for each caption and row of a table, from text with a mark before each caption, row and cell."""
    lines: list[Line] = []
    cells: list[str] = []
    here: list[LinkSpan] = []
    stop, size, n = -1, 0, 0
    for cell in (*_cells(ROW + raw), ROW):
        begin, stop = stop, stop + len(cell)
        first = n
        while n < len(links) and links[n].start < stop:
            n += 1
        words, inside = squeeze(cell[1:], shift(links[first:n], -begin - 1))
        if cell[0] != CELL and cells:
            lines.append((" | ".join(cells), here))
            cells, here, size = [], [], 0
        if words and cell[0] == CAPTION:
            lines.append((words, inside))
        elif words:
            cells.append(words)
            here += shift(inside, size)
            size += len(words) + 3
    return lines


class Frame(NamedTuple):
    """An open bracket, and how much had been put out before it."""

    kind: str
    pieces: int
    anchors: int
    asides: int
    target: str
    """Of a link."""
    width: int
    """Of braces."""


class Output:
    """Pieces of text, the links among them, what stands beside them, and the open brackets."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.anchors: list[Anchor] = []
        self.asides: list[Aside] = []
        self.counts: dict[str, int] = {}
        self.categories: list[str] = []
        self.frames: list[Frame] = []
        self.open = {"[[": 0, "{{": 0, "{|": 0}

    def push(self, kind: str, target: str = "", width: int = 0) -> None:
        """Remember an open bracket."""
        self.frames.append(Frame(kind, len(self.pieces), len(self.anchors), len(self.asides), target, width))
        self.open[kind] += 1

    def pop(self, kind: str) -> Frame:
        """Go back to the last open bracket of a kind; those opened since are never closed."""
        while True:
            frame = self.frames.pop()
            self.open[frame.kind] -= 1
            if frame.kind == kind:
                return frame

    def take(self, frame: Frame, skip: int = 0) -> Line:
        """Take back the text put out since a bracket was opened, less some pieces, with its links."""
        pieces, anchors = self.pieces, self.anchors
        taken = flatten(pieces, anchors[frame.anchors :], frame.pieces + skip)
        del pieces[frame.pieces :], anchors[frame.anchors :]
        if len(self.asides) > frame.asides:  # what was set aside in between now stands here
            self.asides.append(Aside(frame.pieces, []))
        return taken

    def drop(self, frame: Frame, reason: str) -> None:
        """Take back all that was put out since a bracket was opened."""
        lost = len(self.anchors) - frame.anchors
        for aside in self.asides[frame.asides :]:
            lost += sum(len(links) for _, links in aside.lines)
        self.count(reason, lost)
        del self.pieces[frame.pieces :], self.anchors[frame.anchors :], self.asides[frame.asides :]

    def count(self, reason: str, n: int = 1) -> None:
        """Count links that are not among the links."""
        self.counts[reason] = self.counts.get(reason, 0) + n

    def file_under(self, category: str, site: Site) -> None:
        """Note a category, whose name comes behind its namespace's."""
        self.count("category")
        self.categories.append(site.normalise(category.partition(":")[2]))


def assemble(output: Output, prose_only: bool) -> Scan:
    """Find the lines in the pieces, as MediaWiki does: when all other markup is gone."""
    pieces, anchors, counts = output.pieces, output.anchors, output.counts
    new = tuple.__new__  # builds a named tuple from a tuple at half the price
    starts = list(accumulate(map(len, pieces), initial=0))
    flat = "".join(pieces)
    marked = any(mark in flat for mark in (GUARD, ROW, CELL, CAPTION))
    pending = _placed(output.asides, starts)
    parts: list[str] = []
    links: list[LinkSpan] = []
    headings: list[Heading] = []
    size = 0  # of the parts, where every line has a separator before it: the offset of the next line
    fresh = True  # the next line begins a unit of its own
    stop = n = 0
    anchored = [*(starts[piece] for piece, _, _ in anchors), len(flat) + 3]  # the last is beyond every line
    for line in (*flat.split("\n"), " "):  # a last blank line, to put out what is pending
        begin, stop = stop, stop + len(line) + 1
        if not line:
            fresh = True
            continue
        body = line.strip()
        level = 0
        item = False
        if not body:
            fresh = True
        elif line[0] in LINE_MARKUP and begin < anchored[n]:
            if line[0] == "=":
                level = _heading_level(body)
                body = body[level : len(body) - level].strip()
            elif line[0] != "-" or line.startswith("----"):
                item = line[0] != "-"
                markup = line[: anchored[n] - begin]  # an anchor is no markup, whatever it looks like
                rest = markup.lstrip("*#:; " if item else "-").lstrip()
                body = (rest + line[len(markup) :]).rstrip()
                fresh = True
            fresh = fresh or level > 0
        while fresh and pending and pending[-1][0] < begin:
            for words, inside in pending.pop()[1].lines:
                parts += ("\n", words)
                links += shift(inside, size)
                size += len(words) + 1
        here: list[LinkSpan] = []
        if anchored[n] < stop:
            first, n = n, bisect_left(anchored, stop, n)
            offset = (0 if marked or "  " in body else size) - begin - (len(line.rstrip()) - len(body))
            here = [
                new(LinkSpan, (starts[i] + offset, starts[i + 1] + offset, t, f))
                for i, t, f in anchors[first:n]
            ]
        if marked or "  " in body:
            body, here = squeeze(body, here)
            here = shift(here, size)
        if level:
            headings.append(Heading(size, level, body))
            output.count("in heading", len(here))
        elif item and prose_only:
            output.count("in list", len(here))
        elif body:
            parts += ("\n" if fresh else " ", body)
            links += here
            size += len(body) + 1
            fresh = item
    text = "".join(parts)[1:]
    headings = [Heading(min(offset, len(text)), level, title) for offset, level, title, _ in headings]
    left_out = {reason: count for reason, count in counts.items() if count}
    return Scan(text, links, headings, left_out, output.categories)


def _placed(asides: list[Aside], starts: list[int]) -> list[tuple[int, Aside]]:
    """The asides with their offsets, last first; one inside another goes where the outer one does."""
    placed: list[tuple[int, Aside]] = []
    last = len(starts) - 1
    for aside in reversed(asides):
        last = min(last, aside.piece)
        placed.append((starts[last], aside))
    return placed


def _heading_level(line: str) -> int:
    """The number of equals signs on either side of a heading, 0 for a line that is none."""
    if line[-1] != "=" or len(line) < 3:
        return 0
    left = len(line) - len(line.lstrip("="))
    right = len(line) - len(line.rstrip("="))
    return min(left, right, 6, (len(line) - 1) // 2)
