"""The sentence that a link stands in (fig. 3)."""

from bisect import bisect_right
from dataclasses import dataclass

from linkwalk.graph.store import Graph


@dataclass(frozen=True)
class Sentence:
    """The sentence a link stands in, cut where the link begins and ends."""

    before: str
    link: str
    after: str


def find_sentence(graph: Graph, node: int, edge: int) -> Sentence:
    """The sentence of a block in which one of its links begins."""
    raw = graph.texts.bytes(node)
    start, end = graph.out_spans[edge].tolist()
    ends = graph.sentence_ends[graph.sentence_indptr[node] : graph.sentence_indptr[node + 1]].tolist()
    which = bisect_right(ends, start)
    begin = ends[which - 1] if which else 0
    stop = max(end, ends[which]) if which < len(ends) else len(raw)
    return Sentence(
        raw[begin:start].decode().lstrip(), raw[start:end].decode(), raw[end:stop].decode().rstrip()
    )
