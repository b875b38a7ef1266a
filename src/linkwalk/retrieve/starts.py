"""Search results, where reading and walks begin: by words, by meaning, or both lists fused (sec. 4.3)."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from linkwalk.arrays import Array, Float32s, Float64s, Int32s, Int64s
from linkwalk.compiled import in_pieces, kernel
from linkwalk.embed.bert import cores
from linkwalk.errors import InputError
from linkwalk.navigate.cosine import HalfUnits, Units, cosine, in_kernel

STARTS = ("bm25", "dense", "hybrid")
DEPTH = 100
"""How far down both lists are read at least before they are fused."""
_RANK = 60  # what softens the lead of first places, as is usual for this fusion
_ROWS = 1 << 14
_QUERIES = 256
_FEW = 4  # queries for which rows in half precision are widened as they are looked at
_EXTRA = 16
_DIGITS = 6
_NOISE = 1e-5  # more than single precision errs by in a product of unit vectors


class Search(Protocol):
    """Anything that finds blocks by words: ``Bm25``."""

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        """For each query the best blocks, the best first, and their scores."""


@runtime_checkable
class Near(Protocol):
    """Anything that finds blocks by meaning without looking at all of them: ``Dense``."""

    def nearest_many(self, meanings: Float32s, count: int) -> Sequence[Int32s]:
        """For each vector of unit length the blocks closest to it, the closest first."""


def nearest_many(vectors: Units, meanings: Float32s, count: int) -> Int32s:
    """The blocks [Q, count] closest to each vector [Q, D] of unit length, the closest first.

    Exact, in pieces: 16 MB of scores at most, whatever the wiki's size; rows in half precision are widened piece by
    piece. The last digits of a matrix product depend on its shape, so the best are scored again in double precision,
    and what is equally close is ranked by number: one by one or many at a time, the answer is the same.
    """
    count = min(max(count, 0), len(vectors))
    found = np.empty((len(meanings), count), np.int32)
    if not count:
        return found
    for at in range(0, len(meanings), _QUERIES):
        some = np.ascontiguousarray(meanings[at : at + _QUERIES], np.float32)
        best = _candidates(vectors, some, min(count + _EXTRA, len(vectors)))
        for number, (meaning, nodes) in enumerate(zip(some, best, strict=True)):
            ranked, scores = rank(vectors, meaning, nodes)
            while (
                len(ranked) < len(vectors) and scores[count - 1] - scores[-1] < _NOISE
            ):  # who else is as close?
                wider = min(4 * len(ranked), len(vectors))
                ranked, scores = rank(vectors, meaning, _candidates(vectors, meaning[None], wider)[0])
            found[at + number] = ranked[:count]
    return found


def _candidates(vectors: Units, meanings: Float32s, count: int) -> Int64s:
    """The blocks [Q, count] of the highest scores, in no order."""
    nodes = np.zeros((len(meanings), 0), np.int64)
    scores = np.zeros((len(meanings), 0), np.float32)
    # As few products as memory allows: on a busy machine each waits for all of its threads. Rows to be widened: few.
    few = isinstance(vectors, HalfUnits) and len(meanings) <= _FEW
    wide = few or vectors.dtype == np.float32
    rows = max(_ROWS, _ROWS * _QUERIES // len(meanings)) if wide else _ROWS
    for at in range(0, len(vectors), rows):
        if few:
            piece = _looked_at(in_kernel(vectors)[at : at + rows], meanings)
        else:
            piece = meanings @ vectors[at : at + rows].astype(np.float32, copy=False).T
        new = np.broadcast_to(np.arange(at, at + piece.shape[1]), piece.shape)
        if piece.shape[1] > count:
            top = np.argpartition(piece, -count, axis=1)[:, piece.shape[1] - count :]
            piece, new = np.take_along_axis(piece, top, 1), top + at
        nodes, scores = np.concatenate((nodes, new), 1), np.concatenate((scores, piece), 1)
        if nodes.shape[1] > 2 * count:
            nodes, scores = _top(nodes, scores, count)
    if isinstance(vectors, HalfUnits):
        vectors.let_go()
    return _top(nodes, scores, count)[0]


def _looked_at(bits: Array, meanings: Float32s) -> Float32s:
    """The scores [Q, N] of rows in half precision, widened as they are read: for few queries quicker than a product."""
    scores = np.empty((len(meanings), len(bits)), np.float32)
    in_pieces(len(bits), cores(), lambda start, stop: _look(bits, meanings, start, stop, scores))
    return scores


@kernel
def _look(bits: Array, meanings: Float32s, start: int, stop: int, scores: Float32s) -> None:
    for row in range(start, stop):
        for query in range(meanings.shape[0]):
            scores[query, row] = cosine(bits[row], meanings[query])


def _top(nodes: Int64s, scores: Float32s, count: int) -> tuple[Int64s, Float32s]:
    """The best of each row, low numbers first where scores are equal at the end."""
    top = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(nodes, top, 1), np.take_along_axis(scores, top, 1)


def rank(vectors: Units | Array, meaning: Float32s, nodes: Array) -> tuple[Int32s, Float64s]:
    """Some blocks by how close their rows are to a vector, the closest first, equal ones by number; and how close."""
    scores = np.round((vectors[nodes].astype(np.float64) * meaning.astype(np.float64)).sum(1), _DIGITS)
    order = np.lexsort((nodes, -scores))
    return nodes[order].astype(np.int32), scores[order]


def fuse(*lists: Int32s, count: int) -> tuple[Int32s, Float32s]:
    """The best of several ranked lists, by the sum of 1 / (60 + rank): ranks compare where scores do not."""
    totals: dict[int, float] = {}
    for found in lists:
        for rank, node in enumerate(found.tolist(), 1):
            totals[node] = totals.get(node, 0.0) + 1 / (_RANK + rank)
    order = sorted(totals, key=lambda node: -totals[node])[:count]
    return np.array(order, np.int32), np.array([totals[node] for node in order], np.float32)


class SearchHits(NamedTuple):
    """What search says of a query: two lists, the best first; either may be empty."""

    words: Int32s
    scores: Float32s
    """BM25's, of ``words``."""
    near: Int32s

    def heard(self, count: int) -> list[int]:
        """The first blocks of both lists, in turns, each once."""
        words, near = self.words[:count].tolist(), self.near[:count].tolist()
        turns = [node for pair in zip(words, near, strict=False) for node in pair]
        return list(dict.fromkeys((*turns, *words, *near)))


class Starts(NamedTuple):
    """Where to begin for one query."""

    nodes: Int32s
    """The best first."""
    scores: Float32s
    """From 0 to 1, of the best."""
    how: str
    """How they were found: ``dense`` where BM25 was asked and knows none of the words."""


def blocks_by_words(how: str, depth: int, search: Search, queries: Sequence[str]) -> list[SearchHits]:
    """Blocks that have words of each query, where these are asked for."""
    none = np.zeros(0, np.int32)
    if how == "dense":
        return [SearchHits(none, np.zeros(0, np.float32), none)] * len(queries)
    found = search.search_many(queries, depth)
    return [SearchHits(nodes, np.asarray(scores, np.float32), none) for nodes, scores in found]


def blocks_by_meaning(
    how: str,
    depth: int,
    hits: list[SearchHits],
    vectors: Units | Near | None,
    meanings: Float32s | None,
) -> list[SearchHits]:
    """The same with the nearest blocks, where these are asked for, or where no block has any of the words."""
    blind = vectors is None or meanings is None
    if blind and how != "bm25":
        raise InputError(f"{how} starts need embeddings: run `linkwalk embed WIKI`, or begin by bm25")
    far = [i for i, own in enumerate(hits) if how != "bm25" or not len(own.words)]
    if blind or not far:
        return hits
    assert vectors is not None
    assert meanings is not None
    near = vectors.nearest_many if isinstance(vectors, Near) else partial(nearest_many, vectors)
    found = list(hits)
    for i, nodes in zip(far, near(meanings[far], depth), strict=True):
        found[i] = hits[i]._replace(near=nodes)
    return found


def begin_at(how: str, count: int, hits: SearchHits) -> Starts:
    """The blocks of one query's lists to begin at."""
    if len(hits.words) and (how == "bm25" or not len(hits.near)):
        nodes, scores, how = hits.words[:count], hits.scores[:count], "bm25"
    else:
        # Ranks: how close the nearest are to one another says little about which is right.
        nodes, scores = fuse(hits.words, hits.near, count=count)
        how = "hybrid" if len(hits.words) else "dense" if len(hits.near) or how != "bm25" else how
    best = scores.max(initial=0)
    return Starts(nodes, np.clip(scores / best, 0, 1) if best > 0 else np.zeros_like(scores), how)
