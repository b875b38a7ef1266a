"""A block as one reads it: its text cut where links begin and end, and where the links lead.

A graph counts bytes of UTF-8, a reader characters; and links may lie within each other where a name is a part of
another's. Where several links claim the same words the shortest has them, of equals the first, so that a link within
another can be clicked and the outer one still has the words around it.
"""

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwalk.wiki.places import Place

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph


class Segment(NamedTuple):
    """A piece of a block's text, all of one link or of none."""

    text: str
    link: int | None
    """Which of the page's links it is."""

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return {"text": self.text, "link": self.link}


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link in the text."""

    node: int
    title: str
    block: int
    kind: str
    """``link``, as it was written; ``entity``, a name that a mention was matched to (sec. 4.1)."""
    text: str
    """The words one would click."""

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Page:
    """A block: joined, the segments' texts are its text."""

    place: Place
    segments: tuple[Segment, ...]
    links: tuple[Link, ...]
    """Those in the text, in its order; the blocks before and after are beside them."""
    previous: Place | None
    next: Place | None

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(segment.text for segment in self.segments)

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return {
            "place": self.place.to_json(),
            "segments": [segment.to_json() for segment in self.segments],
            "links": [link.to_json() for link in self.links],
            "previous": self.previous and self.previous.to_json(),
            "next": self.next and self.next.to_json(),
        }


class Cut(NamedTuple):
    """A text cut at its links."""

    segments: tuple[Segment, ...]
    starts: tuple[int, ...]
    """The byte that each segment begins at."""

    def at(self, byte: int) -> int | None:
        """The segment that a byte is in; None behind the end."""
        found = bisect_right(self.starts, byte) - 1
        inside = found >= 0 and byte < self.starts[found] + len(self.segments[found].text.encode())
        return found if inside else None


def cut(raw: bytes, spans: Sequence[tuple[int, int]]) -> Cut:
    """Cut a text, in UTF-8, at the links' spans, in bytes; a span that ends within a character leaves it out."""
    edges = [(_whole(raw, start), _whole(raw, end)) for start, end in spans]
    begins = sorted((start, end - start, link) for link, (start, end) in enumerate(edges) if start < end)
    points = sorted({0, len(raw), *(start for start, _, _ in begins), *(end for _, end in edges)})
    pieces: list[tuple[int, int | None]] = []
    claims: list[tuple[int, int, int]] = []  # (length, link, end) of the links over the current piece
    ahead = 0
    for point in points[:-1]:
        while ahead < len(begins) and begins[ahead][0] == point:
            start, length, link = begins[ahead]
            heapq.heappush(claims, (length, link, start + length))
            ahead += 1
        while claims and claims[0][2] <= point:
            heapq.heappop(claims)
        owner = claims[0][1] if claims else None
        if not pieces or pieces[-1][1] != owner:
            pieces.append((point, owner))
    stops = [*(start for start, _ in pieces[1:]), len(raw)]
    segments = (
        Segment(raw[start:stop].decode(), link) for (start, link), stop in zip(pieces, stops, strict=True)
    )
    return Cut(tuple(segments), tuple(start for start, _ in pieces)) if raw else Cut((), ())


def _whole(raw: bytes, at: int) -> int:
    """The beginning of the character that a byte belongs to."""
    at = min(at, len(raw))
    while 0 < at < len(raw) and raw[at] & 0xC0 == 0x80:
        at -= 1
    return at


def read_page(graph: "Graph", node: int) -> Page:
    """A block of a graph."""
    from linkwalk.graph.store import ENTITY, KINDS, LINK, NEXT, PREV

    row = slice(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1]))
    targets, kinds, spans = (
        column[row].tolist() for column in (graph.out_targets, graph.out_kinds, graph.out_spans)
    )
    beside = dict(zip(kinds, targets, strict=True))
    raw = graph.texts.bytes(node)
    in_text = [i for i, kind in enumerate(kinds) if kind in (LINK, ENTITY)]
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
    before, after = (None if kind not in beside else Place.of(graph, beside[kind]) for kind in (PREV, NEXT))
    return Page(
        place=Place.of(graph, node),
        segments=cut(raw, [tuple(spans[i]) for i in in_text]).segments,
        links=tuple(links),
        previous=before,
        next=after,
    )


def cut_block(graph: "Graph", node: int) -> Cut:
    """The segments of a block's page, with where they begin."""
    from linkwalk.graph.store import LINK

    row = slice(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1]))
    spans = graph.out_spans[row][graph.out_kinds[row] >= LINK]
    return cut(graph.texts.bytes(node), [tuple(span) for span in spans.tolist()])
