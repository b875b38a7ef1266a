"""The encoder ``words`` in training: a text's vector is its TF-IDF row times a matrix, and the matrix learns.

The rows of a wiki's blocks are made once, since terms and their weights stay. What follows the gradient is the
projection [V, D], in the rows of the terms that a batch has and no others, so that an update takes as long for any
number of terms. What comes of it is a ``WordProjection`` like the one it began as: sentences, and the next edition of
the wiki, are read with it too. It is trained on a CPU.

Shapes: N blocks, V terms, D numbers in a vector.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from linkwalk.arrays import Array, Float32s, Int32s, Int64s, Integers
from linkwalk.compiled import guarded, in_pieces, row_of, within
from linkwalk.embed.bert import cores
from linkwalk.embed.svd import Sparse
from linkwalk.embed.text import node_texts
from linkwalk.embed.words import TITLES, WordProjection, weighed
from linkwalk.graph.csr import bounds_of
from linkwalk.graph.store import Graph

_PIECE = 4096
_TINY = 1e-12
EVENNESS = 0.5
"""To which power the lengths of words are taken at the start: 1 leaves them, 0 makes all of them the same."""


class WordPhi:
    """phi of ``words`` on some wikis that share their terms."""

    def __init__(self, rows: Sequence[Sparse], projection: Array, *, workers: int | None = None) -> None:
        start = np.array(projection, np.float32)
        # Of a length of 1 on average, whatever the matrix was scaled by: what a step means follows from it.
        start /= max(float(np.sqrt(np.square(start).sum(-1).mean())), _TINY)
        self.projection = nn.Parameter(torch.from_numpy(start))
        self.rows, self.workers, self.width = list(rows), workers or cores(), start.shape[1]

    def vectors(self, blocks: Sequence[tuple[int, Integers]], sentences: list[list[int]]) -> Tensor:
        """Of blocks, given as wiki and nodes [n, D], with their gradient; sentences are not learned from."""
        assert not sentences, "a word table learns from blocks alone"
        times: Any = _Times.apply
        found = [
            times(self.projection, self.rows[ground], nodes.astype(np.int64), self.workers)
            for ground, nodes in blocks
        ]
        return torch.cat(found)

    @torch.no_grad()
    def table(self, ground: int) -> Float32s:
        """Of all blocks of a wiki [N, D], of unit length; zeros where no word is known."""
        blocks = len(self.rows[ground].bounds) - 1
        found = np.empty((blocks, self.width), np.float32)
        for at in range(0, blocks, _PIECE):
            nodes = np.arange(at, min(at + _PIECE, blocks))
            found[nodes] = normalize(self.vectors([(ground, nodes)], []), dim=-1).numpy()
        return found

    def parameters(self) -> list[nn.Parameter]:
        """The projection."""
        return [self.projection]

    def weights(self) -> dict[str, Tensor]:
        """The projection."""
        return {"projection": self.projection.detach()}

    def fitted(self, before: WordProjection) -> WordProjection:
        """The encoder as it is now, with the terms that it had before."""
        largest = max(float(self.projection.detach().abs().max()), _TINY)
        # Half precision has most room around 1; what a row is scaled by is of no matter.
        scale = np.float32(min(1.0, 1000 / largest))
        return before._replace(projection=(self.projection.detach().numpy() * scale).astype(np.float16))


def evened(projection: Array) -> Float32s:
    """A projection to begin with: as it is, with rows of more even length.

    The singular vectors of rare words are short, a hundredth of the longest, and these words are what tells one article
    from another. A walker that looks by the evened table misses fewer goals even before it is trained.
    """
    rows: Float32s = np.array(projection, np.float32)
    lengths = np.maximum(np.sqrt(np.square(rows).sum(-1, keepdims=True)), _TINY)
    rows *= lengths ** np.float32(EVENNESS - 1)
    return rows


def tfidf_rows(graph: Graph, fitted: WordProjection) -> Sparse:
    """The TF-IDF rows of all blocks of a wiki [N, V]."""
    terms, idf = np.array(fitted.terms), np.array(fitted.idf)
    read = partial(node_texts, graph, titles=TITLES)

    def piece(at: int) -> Sparse:
        return weighed(read(at, min(at + _PIECE, graph.nodes)), terms, idf)

    with ThreadPoolExecutor(cores()) as pool:
        pieces = list(pool.map(piece, range(0, graph.nodes, _PIECE)))
    lengths = np.concatenate([np.diff(some.bounds) for some in pieces])
    return Sparse(
        bounds_of(lengths),
        np.concatenate([some.columns for some in pieces]),
        np.concatenate([some.values for some in pieces]),
    )


class _Times(torch.autograd.Function):
    """Some rows of a sparse matrix times a dense one, whose gradient is sparse: rows of the terms that are there."""

    @staticmethod
    def forward(ctx: Any, projection: Tensor, rows: Sparse, nodes: Int64s, workers: int) -> Tensor:
        found = np.zeros((len(nodes), projection.shape[1]), np.float32)
        dense = projection.detach().numpy()
        in_pieces(len(nodes), workers, lambda a, b: _times(*rows, nodes, dense, found, a, b))
        ctx.rows, ctx.nodes, ctx.workers, ctx.shape = rows, nodes, workers, projection.shape
        return torch.from_numpy(found)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None, None]:
        rows: Sparse = ctx.rows
        nodes: Int64s = ctx.nodes
        terms, width = ctx.shape
        used, places = _terms_of(rows.bounds, rows.columns, nodes, terms)
        found, above = np.zeros((len(used), width), np.float32), outer[0].contiguous().numpy()
        # Threads share columns among them, so that no two add to the same number.
        in_pieces(width, ctx.workers, lambda a, b: _add_rows(*rows, nodes, above, places, found, a, b))
        index, values = torch.from_numpy(used)[None], torch.from_numpy(found)
        grad = torch.sparse_coo_tensor(index, values, ctx.shape, is_coalesced=True, check_invariants=False)
        return grad, None, None, None


@guarded
def _times(
    bounds: Int64s,
    columns: Int32s,
    values: Float32s,
    nodes: Int64s,
    dense: Float32s,
    found: Float32s,
    start: int,
    stop: int,
) -> None:
    width = dense.shape[1]
    for i in range(start, stop):
        first, last = row_of(bounds, nodes[i], columns.shape[0])
        own = found[i]
        for at in range(first, last):
            value, other = values[at], dense[within(columns[at], dense.shape[0])]
            for j in range(width):
                own[j] += value * other[j]


@guarded
def _terms_of(bounds: Int64s, columns: Int32s, nodes: Int64s, terms: int) -> tuple[Int64s, Int32s]:
    """The terms of some blocks, in order, and where each of all terms is among them; -1 where it is not."""
    places = np.full(terms, -1, np.int32)
    for node in nodes:
        first, last = row_of(bounds, node, columns.shape[0])
        for at in range(first, last):
            places[within(columns[at], terms)] = 0
    used = np.empty(terms, np.int64)
    count = 0
    for term in range(terms):
        if places[term] == 0:
            places[term], used[count] = count, term
            count += 1
    return used[:count].copy(), places


@guarded
def _add_rows(
    bounds: Int64s,
    columns: Int32s,
    values: Float32s,
    nodes: Int64s,
    above: Float32s,
    places: Int32s,
    found: Float32s,
    start: int,
    stop: int,
) -> None:
    for i in range(nodes.shape[0]):
        first, last = row_of(bounds, nodes[i], columns.shape[0])
        own = above[i]
        for at in range(first, last):
            value, other = values[at], found[places[columns[at]]]
            for j in range(start, stop):
                other[j] += value * own[j]
