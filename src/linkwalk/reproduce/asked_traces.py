"""A gallery of what navigation read for claims and questions: evidence that took clicks, and near misses (fig. 4).

Shown is what search alone would not have: evidence that is reached through links. A near miss is a query of whose
evidence no block was read, though one was read that lies close to it.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import KINDS, Graph
from linkwalk.navigate.journeys import BACK
from linkwalk.retrieve.finder import Finder
from linkwalk.retrieve.found import Reading
from linkwalk.retrieve.starts import Starts

_EXCERPT = 240
_CLICKS = 5  # what can be read at a glance; longer ways are taken if there are no others


@dataclass(frozen=True, kw_only=True)
class AskedTrace:
    """What was asked, where the reading began, and how it came to the evidence or near it."""

    text: str
    gold: int
    """The evidence that was reached, or that lies nearest to what was read; not visible to the agent."""
    pages: tuple[int, ...]
    """From the start to the page shown: the evidence, or the page that came nearest."""
    clicks: tuple[str, ...]
    """The words clicked on the way; the kind of link where there are none."""
    place: int
    """As which of the blocks read, from 1 on, the page shown was read."""
    searched: int | None
    """As which of the search results, from 1 on, the evidence would have come; None: not among them."""
    left: int
    """Links from the page shown to the evidence."""

    def to_json(self, graph: Graph) -> dict[str, Any]:
        """As ``linkwalk reproduce traces --file --json`` prints it."""
        return {
            "text": self.text,
            "start": graph.name(self.pages[0]),
            "evidence": graph.name(self.gold),
            "path": [graph.name(node) for node in self.pages],
            "clicks": list(self.clicks),
            "read_as": self.place,
            "search_result": self.searched,
            "links_left": self.left,
        }


@dataclass(frozen=True, kw_only=True)
class AskedGallery:
    """Some queries, and out of how many."""

    asked: int
    read: int
    """Of so many, evidence was among the blocks read."""
    clicked: int
    """Of so many of these, some of it only by a click: it is not among as many search results."""
    found: tuple[AskedTrace, ...]
    missed: tuple[AskedTrace, ...]


def asked_gallery(
    graph: Graph,
    finder: Finder,
    asked: Sequence[AlignedQuestion],
    meanings: Float32s | None,
    sought: Float32s | None = None,
    *,
    count: int = 4,
) -> AskedGallery:
    """Read for each query as ``find`` does, and keep what shows most."""
    starts, readings = finder.readings([one.text for one in asked], meanings, sought)
    search = ShortestPaths(graph.forward, graph.reverse)
    found: list[AskedTrace] = []
    missed: list[AskedTrace] = []
    read = clicked = 0
    for one, own, reading in zip(asked, starts, readings, strict=True):
        gold = frozenset().union(*one.gold)
        if not gold:
            continue
        places = [place for place, node in enumerate(reading.nodes) if node in gold]
        if not places:
            if (miss := _nearest(graph, search, one, own, reading, gold)) is not None:
                missed.append(miss)
            continue
        read += 1
        alone = set(own.nodes[: len(reading.nodes)].tolist())
        linked = [p for p in places if reading.nodes[p] not in alone and reading.trail(p).links]
        if linked:
            clicked += 1
            found.append(_trace(graph, one, own, reading, linked[0], reading.nodes[linked[0]], 0))
    found.sort(key=lambda one: (len(one.clicks) > _CLICKS, -len(one.clicks), one.place))
    missed.sort(key=lambda one: (one.left, -len(one.clicks), one.place))
    return AskedGallery(
        asked=len(asked),
        read=read,
        clicked=clicked,
        found=tuple(_differing(graph, found, count)),
        missed=tuple(_differing(graph, missed, count)),
    )


def _words(graph: Graph, page: int, link: int) -> str:
    """What one clicks on a page."""
    if link == BACK:
        return "back"
    edge = int(graph.out_indptr[page]) + link
    start, end = graph.out_spans[edge].tolist()
    return graph.texts.bytes(page)[start:end].decode() or KINDS[graph.out_kinds[edge]]


def _trace(
    graph: Graph, one: AlignedQuestion, starts: Starts, reading: Reading, place: int, gold: int, left: int
) -> AskedTrace:
    trail = reading.trail(place)
    hits = starts.nodes.tolist()
    return AskedTrace(
        text=one.text,
        gold=gold,
        pages=trail.pages,
        clicks=tuple(_words(graph, *click) for click in zip(trail.pages, trail.links, strict=False)),
        place=place + 1,
        searched=hits.index(gold) + 1 if gold in hits else None,
        left=left,
    )


def _nearest(
    graph: Graph,
    search: ShortestPaths,
    one: AlignedQuestion,
    starts: Starts,
    reading: Reading,
    gold: frozenset[int],
) -> AskedTrace | None:
    """The page read that is fewest links away from any evidence; None if no way leads there from any."""
    pairs = [(place, goal) for place in range(len(reading.nodes)) for goal in sorted(gold)]
    if not pairs:
        return None
    begin = np.array([reading.nodes[place] for place, _ in pairs], np.int32)
    left = search.distances(begin, np.array([goal for _, goal in pairs], np.int32)).astype(np.int64)
    left[left < 0] = np.iinfo(np.int64).max
    best = int(left.argmin())
    if left[best] == np.iinfo(np.int64).max:
        return None
    place, goal = pairs[best]
    return _trace(graph, one, starts, reading, place, goal, int(left[best]))


def _differing(graph: Graph, traces: list[AskedTrace], count: int) -> list[AskedTrace]:
    """The first whose evidence is in an article of its own."""
    first: dict[int, AskedTrace] = {}
    for one in traces:
        first.setdefault(int(graph.node_article[one.gold]), one)
    return list(first.values())[:count]


def asked_lines(graph: Graph, shown: AskedGallery, agent: str, candidates: int) -> Iterator[str]:
    """The gallery in Markdown, which reads well as it is."""
    yield f"# Evidence that {agent} clicked its way to\n"
    yield (
        f"{graph.snapshot}: for {shown.read:,} of {shown.asked:,} claims or questions, evidence is among the "
        f"{candidates} blocks read; for {shown.clicked:,} of these some of it only thanks to links, since as many "
        "search results do not have it. Pages are written as title and block, from 0 on; the words clicked stand in "
        "brackets. The evidence is not visible to the agent."
    )
    for title, traces in (("Found", shown.found), ("Near misses", shown.missed)):
        yield f"\n## {title}"
        if not traces:
            yield "\nNone."
        for one in traces:
            yield from _asked_lines(graph, one)


def _asked_lines(graph: Graph, one: AskedTrace) -> Iterator[str]:
    yield f"\n### {' '.join(one.text.split())}\n"
    clicks = (
        f" > [{words}] {graph.name(node)}" for words, node in zip(one.clicks, one.pages[1:], strict=True)
    )
    yield f"- read as number {one.place}: {graph.name(one.pages[0])}{''.join(clicks)}"
    result = "not among the search results" if one.searched is None else f"search result {one.searched}"
    away = "" if not one.left else f", {one.left} link{'s' * (one.left != 1)} away from there"
    yield f"- evidence: {graph.name(one.gold)}, {result}{away}"
    yield f"- its text: {textwrap.shorten(graph.texts[one.gold], _EXCERPT, placeholder=' …')}"
