"""A block as one reads it: its text cut where links begin and end, and where the links lead.

A graph counts bytes of UTF-8, a reader characters; and links may lie within each other where a name is a part of
another's. Where several links claim the same words the shortest has them, of equals the first, so that a link within
another can be clicked and the outer one still has the words around it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.store import BACKLINK, CONTENTS, KINDS, LINK, NEXT, PREV, Graph
from linkwalk.wiki.answers import Place

_LISTED = 200


@dataclass(frozen=True)
class Segment:
    """A piece of a block's text, all of one link or of none."""

    text: str
    link: int | None
    """Which of the page's links it is."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link in the text."""

    node: int
    title: str
    block: int
    kind: str
    """``link``, as it was written; ``entity``, a name that a mention was matched to (sec. 4.1); ``contents``."""
    text: str
    """The words one would click."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Pages beside a page, which its text does not name."""

    places: tuple[Place, ...]
    """The first of them."""
    total: int
    """How many there are."""

    @classmethod
    def of(cls, graph: Graph, nodes: list[int]) -> "Listed":
        """A list of which no more is shown than one would look through."""
        return cls(places=tuple(Place.many(graph, nodes[:_LISTED])), total=len(nodes))

    def first(self, count: int) -> "Listed":
        """The same list, with fewer of its places."""
        return replace(self, places=self.places[:count])


@dataclass(frozen=True, kw_only=True)
class Page:
    """A block: joined, the segments' texts are its text."""

    place: Place
    segments: tuple[Segment, ...]
    links: tuple[Link, ...]
    """Those in the text, in its order; the blocks before and after are beside them."""
    previous: Place | None
    next: Place | None
    above: Place | None
    """The page above in the contents."""
    below: Listed
    """The pages below; not those that its text links, which are among ``links``."""
    linked_from: Listed
    """Pages that link here, in a graph that was built with backlinks; not those that are in ``links``, ``above`` or
    ``below`` already, for of several edges to one block the graph keeps one."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(segment.text for segment in self.segments)


def cut(raw: bytes, spans: Sequence[tuple[int, int]]) -> tuple[Segment, ...]:
    """Cut a text, in UTF-8, at the links' spans, in bytes; a span that ends within a character leaves it out."""
    ends = [*_pieces(raw, spans), (len(raw), None)]
    return tuple(Segment(raw[start:stop].decode(), link) for (start, link), (stop, _) in pairwise(ends))


def segment_at(raw: bytes, spans: Sequence[tuple[int, int]], byte: int) -> int | None:
    """The segment that a byte is in; None behind the end."""
    if byte >= len(raw):
        return None
    near = [span for span in spans if span[0] <= byte + 3]  # a character has up to four bytes
    return sum(start <= byte for start, _ in _pieces(raw, near)) - 1


def _pieces(raw: bytes, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int | None]]:
    """Where each segment begins, and its link."""
    edges = spans
    if not raw.isascii() or max(map(max, spans), default=0) > len(raw):
        edges = [(_whole(raw, start), _whole(raw, end)) for start, end in spans]
    begins = sorted((start, end - start, link) for link, (start, end) in enumerate(edges) if start < end)
    points = sorted({0, *(start for start, _, _ in begins), *(end for _, end in edges)})
    claims: list[tuple[int, int, int]] = []  # (length, link, end) of the links over the current piece
    ahead = 0
    before: int | None = -1
    for point in points:
        if point >= len(raw):
            return
        while ahead < len(begins) and begins[ahead][0] == point:
            start, length, link = begins[ahead]
            heappush(claims, (length, link, start + length))
            ahead += 1
        while claims and claims[0][2] <= point:
            heappop(claims)
        owner = claims[0][1] if claims else None
        if owner != before:
            yield point, owner
            before = owner


def _whole(raw: bytes, at: int) -> int:
    """The beginning of the character that a byte belongs to."""
    at = min(at, len(raw))
    while 0 < at < len(raw) and raw[at] & 0xC0 == 0x80:
        at -= 1
    return at


def stands_in_text(kinds: NDArray[np.uint8], spans: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Which edges are links in the text: contents are where their page is a table of contents, backlinks never."""
    found: NDArray[np.bool_] = (kinds >= LINK) & ((kinds < CONTENTS) | (spans[:, 1] > 0))
    return found


def read_page(graph: Graph, node: int) -> Page:
    """A block of a graph."""
    row = slice(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1]))
    targets, kinds, spans = (
        column[row].tolist() for column in (graph.out_targets, graph.out_kinds, graph.out_spans)
    )
    beside = {kind: target for kind, target in zip(kinds, targets, strict=True) if kind in (PREV, NEXT)}
    above = _above(graph, node)
    if above in targets:
        beside[CONTENTS] = above
    place, *places = Place.many(graph, [node, *beside.values()])
    around = dict(zip(beside, places, strict=True))
    raw = graph.texts.bytes(node)
    others = [
        (kind, to)
        for kind, to, (_, end) in zip(kinds, targets, spans, strict=True)
        if not end and to != above
    ]
    in_text = np.flatnonzero(stands_in_text(graph.out_kinds[row], graph.out_spans[row])).tolist()
    links = (
        Link(
            node=targets[i],
            title=graph.title(targets[i]),
            block=int(graph.node_block[targets[i]]),
            kind=KINDS[kinds[i]],
            text=raw[_whole(raw, spans[i][0]) : _whole(raw, spans[i][1])].decode(),
        )
        for i in in_text
    )
    return Page(
        place=place,
        segments=cut(raw, [spans[i] for i in in_text]),
        links=tuple(links),
        previous=around.get(PREV),
        next=around.get(NEXT),
        above=around.get(CONTENTS),
        below=Listed.of(graph, [to for kind, to in others if kind == CONTENTS]),
        linked_from=Listed.of(graph, [to for kind, to in others if kind == BACKLINK]),
    )


def _above(graph: Graph, node: int) -> int:
    """The first block of the article above; -1 where there is none."""
    article = -1 if graph.parents is None else int(graph.parents[graph.node_article[node]])
    return int(graph.article_node[article]) if article >= 0 else -1


def find_segment(graph: Graph, node: int, edge: int) -> int | None:
    """Which of a page's segments one of the links in its text begins in."""
    row = slice(graph.out_indptr[node], graph.out_indptr[node + 1])
    spans = graph.out_spans[row]
    spans = spans[stands_in_text(graph.out_kinds[row], spans)]
    return segment_at(graph.texts.bytes(node), spans.tolist(), int(graph.out_spans[edge, 0]))
