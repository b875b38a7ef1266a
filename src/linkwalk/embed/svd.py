"""The leading right singular vectors of a tall sparse matrix that is only ever seen in pieces (Halko et al., 2011).

Powers of X'X are applied to random directions, which turn towards the leading ones: with Q [V, L] orthonormal, a pass
over the rows sums X'(XQ) up piece by piece, so memory follows from V and L alone, however many rows there are. Sums are
in the order of the rows and threads share columns among them, so the outcome depends on neither pieces nor threads.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Float32s, Float64s, Int32s, Int64s
from linkwalk.compiled import guarded

_ROWS = 1 << 14
_COLUMNS = 128
_SHARE = 1024
_TINY = 1e-9


class Sparse(NamedTuple):
    """Rows of a sparse matrix: row ``i`` has ``values[bounds[i]:bounds[i + 1]]`` in those ``columns``."""

    bounds: Int64s
    columns: Int32s
    values: Float32s


Pass = Callable[[], Iterable[Sparse]]
"""All rows of a matrix, in pieces, once more."""


class Svd(NamedTuple):
    """Singular values, largest first [K], and right singular vectors [V, K]."""

    values: Float64s
    vectors: Float32s


def leading(
    rows: Pass, columns: int, width: int, *, passes: int, extra: int, seed: int, pool: Executor
) -> Svd:
    """The ``width`` leading singular vectors, from ``passes`` looks at the matrix with ``extra`` directions more.

    A matrix of less rank has fewer: the rest are zeros.
    """
    random = np.random.Generator(np.random.Philox(key=seed))
    base = orthonormal(random.standard_normal((columns, width + extra), np.float32))
    for number in range(passes):
        image = np.zeros_like(base)
        for piece in rows():
            add_product(image, piece, times(piece, base, pool), pool)
        if number < passes - 1:
            base = orthonormal(image)
    small = _inner(base, image)  # of X'X in that space
    del image
    values, turn = np.linalg.eigh((small + small.T) / 2)
    values, turn = values[::-1][:width], turn[:, ::-1][:, :width]
    turn = np.where(values > _TINY * values[0], turn, 0)
    return Svd(np.sqrt(np.maximum(values, 0)), _turned(base, turn))


def orthonormal(vectors: Float32s) -> Float32s:
    """An orthonormal base [V, L] of the space that columns span, in their place; zeros where they span less."""
    values, turn = np.linalg.eigh(_inner(vectors, vectors))
    kept = values > _TINY * values[-1]
    return _turned(vectors, turn * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0))


def times(piece: Sparse, dense: Float32s, pool: Executor) -> Float32s:
    """The product of a piece [R, V] and a dense matrix [V, L]."""
    rows = len(piece.bounds) - 1
    found = np.zeros((rows, dense.shape[1]), np.float32)

    def some(start: int) -> None:
        _times(piece, dense, found, start, min(start + _SHARE, rows))

    list(pool.map(some, range(0, rows, _SHARE)))
    return found


def add_product(total: Float32s, piece: Sparse, dense: Float32s, pool: Executor) -> None:
    """Add the product of a piece's transpose [V, R] and a dense matrix [R, L] to ``total``."""
    width = total.shape[1]

    def some(start: int) -> None:
        _add_columns(piece, dense, total, start, min(start + _COLUMNS, width))

    list(pool.map(some, range(0, width, _COLUMNS)))


def _inner(left: Float32s, right: Float32s) -> Float64s:
    """Inner products of columns; float32 within pieces, whose sums are added in float64."""
    found = np.zeros((left.shape[1], right.shape[1]))
    for at in range(0, len(left), _ROWS):
        found += left[at : at + _ROWS].T @ right[at : at + _ROWS]
    return found


def _turned(base: Float32s, turn: Float64s) -> Float32s:
    """Columns combined, in the place of the first of them: there may be no room for as many again."""
    matrix = turn.astype(np.float32)
    found = base[:, : matrix.shape[1]]
    for at in range(0, len(base), _ROWS):
        found[at : at + _ROWS] = base[at : at + _ROWS] @ matrix
    return found


@guarded
def _times(piece: Sparse, dense: Float32s, found: Float32s, start: int, stop: int) -> None:
    bounds, columns, values = piece
    width = dense.shape[1]
    for row in range(start, stop):
        own = found[row]
        for at in range(bounds[row], bounds[row + 1]):
            value, other = values[at], dense[columns[at]]
            for i in range(width):
                own[i] += value * other[i]


@guarded
def _add_columns(piece: Sparse, dense: Float32s, total: Float32s, start: int, stop: int) -> None:
    bounds, columns, values = piece
    for row in range(len(bounds) - 1):
        own = dense[row, start:stop]
        for at in range(bounds[row], bounds[row + 1]):
            value, other = values[at], total[columns[at], start:stop]
            for i in range(stop - start):
                other[i] += value * own[i]
