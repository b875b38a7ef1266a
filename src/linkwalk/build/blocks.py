"""An article is cut into blocks of about a hundred words: the nodes of the graph (sec. 4.1, app. A.1).

A block never crosses a main (second-level) heading, with two exceptions: a few words before the first heading join
what follows, since links lead to an article's first block, and an article no longer than a block stays whole. Cuts go,
in this order of preference, where a paragraph ends, where a sentence ends, between two words of an over-long sentence;
never inside a link.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from linkwalk.build.sentences import sentence_ends
from linkwalk.graph.store import MAX_BLOCK_BYTES
from linkwalk.scripts import SIGN, SIGNS_OF_A_WORD
from linkwalk.sources.documents import Heading, LinkSpan, Scan

#: How much shorter or longer than asked for a block may be, so as to end with a paragraph or a sentence.
_SLACK = 0.4
#: Longest stretch without a cut, in characters, so that a block of a few such stretches fits its bytes.
_MAX_UNIT_CHARS = MAX_BLOCK_BYTES // 16
#: Longest block in characters (of up to four bytes each).
_MAX_CHARS = MAX_BLOCK_BYTES // 4
#: Share of a block below which what stands before the first main heading is a caption or a few words.
_FEW = 0.1
#: Letters of a word beyond which it is none, but a formula or a picture of letters.
_LONG_WORD = 40


class _Unit(NamedTuple):
    """A sentence, or a piece of an over-long one: the smallest thing that is not cut."""

    start: int
    end: int
    words: int
    ends_line: bool


@dataclass(slots=True)
class BlockSpan:
    """One block: a range of the article's text, with what lies in it."""

    start: int
    end: int
    section: str
    sentence_ends: list[int]
    """Relative to ``start``; the last one is the block's length."""
    links: list[LinkSpan] = field(default_factory=list)
    """Spans relative to ``start``."""


def cut_blocks(scan: Scan, block_words: int) -> list[BlockSpan]:
    """Cut one article's text into blocks, in order."""
    starts = [h.offset for h in scan.headings]
    blocks = [
        block
        for section in _sections(scan, block_words)
        for block in _group(section, block_words, scan.headings, starts)
    ]
    _share_links(blocks, scan.links)
    return blocks


def _sections(scan: Scan, block_words: int) -> Iterator[list[_Unit]]:
    """The sentences under each main heading; a few words before the first stay with what comes after them."""
    units = list(_units(scan.text, scan.links, block_words))
    if sum(unit.words for unit in units) <= block_words and len(scan.text) <= block_words * _LONG_WORD:
        yield units
        return
    mains = sorted({h.offset for h in scan.headings if h.level <= 2} | {len(scan.text)})
    few, section, words, main = _FEW * block_words, list[_Unit](), 0, 0
    for unit in units:
        while unit.start >= mains[main]:
            main += 1
            if section and (words >= few or unit.start - section[0].start > few * _LONG_WORD):
                yield section
                section, few = [], 0
        section.append(unit)
        words += unit.words
    yield section


def _units(text: str, links: list[LinkSpan], block_words: int) -> Iterator[_Unit]:
    """The sentences of a text, line by line; a full stop inside a link ends nothing."""
    line_start = 0
    while line_start < len(text):
        line_end = text.find("\n", line_start)
        if line_end < 0:
            line_end = len(text)
        start = line_start
        for offset in sentence_ends(text[line_start:line_end]):
            end = line_start + offset
            if end < line_end and _link_across(links, end):
                continue
            words = _count_words(text, start, end)
            if words > 2 * block_words or end - start > _MAX_UNIT_CHARS:
                yield from _pieces(text, start, end, links, block_words, end == line_end)
            else:
                yield _Unit(start, end, words, end == line_end)
            start = end
            while start < line_end and text[start] == " ":
                start += 1
        line_start = line_end + 1


def _link_across(links: list[LinkSpan], offset: int) -> LinkSpan | None:
    """The link that a cut at an offset would fall into."""
    at = bisect_right(links, offset, key=lambda link: link.end)
    return links[at] if at < len(links) and links[at].start < offset else None


def _count_words(text: str, start: int, end: int) -> int:
    """Words of a stretch of text: those between blanks, and more in scripts that know no blanks."""
    blanks = text.count(" ", start, end)
    if text.isascii() or end - start < 8 * (blanks + 1):
        return blanks + 1
    return blanks + 1 + len(SIGN.findall(text, start, end)) // SIGNS_OF_A_WORD


def _pieces(
    text: str, start: int, end: int, links: list[LinkSpan], block_words: int, ends_line: bool
) -> Iterator[_Unit]:
    """Cut an over-long sentence between words, or through one that is too long itself, but no link."""
    unspaced = _count_words(text, start, end) > 2 * (text.count(" ", start, end) + 1)
    longest = min(_MAX_UNIT_CHARS, SIGNS_OF_A_WORD * block_words) if unspaced else _MAX_UNIT_CHARS
    while start < end:
        stop, words, limit = start, 0, min(end, start + longest)
        while stop < limit and words < block_words:
            blank = text.find(" ", stop + 1, limit)
            stop = blank if blank >= 0 else limit
            words += 1
        while text[stop - 1] == " ":
            stop -= 1
        if stop < end and (link := _link_across(links, stop)):
            stop = min(link.end, end)
        yield _Unit(start, stop, _count_words(text, start, stop), ends_line and stop == end)
        start = stop
        while start < end and text[start] == " ":
            start += 1


def _group(
    units: list[_Unit], block_words: int, headings: list[Heading], starts: list[int]
) -> Iterator[BlockSpan]:
    """Put the sentences of one section together into blocks of about ``block_words`` words."""
    low, high = (1 - _SLACK) * block_words, (1 + _SLACK) * block_words
    left = sum(unit.words for unit in units)
    first = 0
    while first < len(units):
        stop = len(units)
        if left > high or units[-1].end - units[first].start > _MAX_CHARS:
            stop, best, words = first + 1, float("inf"), 0
            for at in range(first, len(units)):
                words += units[at].words
                if at > first and (words > high or units[at].end - units[first].start > _MAX_CHARS):
                    break
                # Distance from the size asked for; to cut within a paragraph or leave a stub costs extra.
                rest = left - words
                cost = abs(words - block_words) + (0 if units[at].ends_line else 0.5 * block_words)
                cost += block_words if words < low or 0 < rest < low / 2 else 0
                if cost <= best:
                    stop, best = at + 1, cost
        begin, end = units[first].start, units[stop - 1].end
        heading = bisect_right(starts, begin) - 1
        title = headings[heading].title if heading >= 0 else ""
        yield BlockSpan(begin, end, title, [unit.end - begin for unit in units[first:stop]])
        left -= sum(unit.words for unit in units[first:stop])
        first = stop


def _share_links(blocks: list[BlockSpan], links: list[LinkSpan]) -> None:
    """Give every block the links that stand in it."""
    at = 0
    for link in links:
        while link.start >= blocks[at].end:
            at += 1
        start = blocks[at].start
        blocks[at].links.append(link._replace(start=link.start - start, end=link.end - start))
