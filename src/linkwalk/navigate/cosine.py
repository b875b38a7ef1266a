"""Cosines between embeddings: rows of unit length, so that an inner product is one (sec. 5.2, "greedy").

A table comes in one of three forms. One that fits into memory is copied to float32 and scaled once (``unit_rows``). One
that does not stays where it is, mapped, in half precision, and a row is widened and scaled when it is looked at
(``HalfUnits``): 38 million blocks then cost no memory of their own, and processes share what they have read. And where
a node is a page of many blocks, it has a row for each (``PageUnits``). Agents take any; their kernels are compiled for
each.
"""

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from linkwalk.arrays import Array, Float16s, Float32s
from linkwalk.compiled import OUTSIDE
from linkwalk.errors import SuspectError

MAPPED = 1 << 30
"""Bytes in float32 from which on a table stays mapped."""
_ROWS = 1 << 15


def unit_rows(vectors: Array) -> Float32s:
    """The rows in float32, scaled to unit length; a row of zeros stays, and has cosine 0 to everything."""
    units = np.empty(vectors.shape, np.float32)
    for at in range(0, len(vectors), _ROWS):  # in pieces, as the table is mapped and may be wider than memory
        rows = vectors[at : at + _ROWS].astype(np.float32)
        lengths = _lengths(rows, at)
        lengths[lengths == 0] = 1
        np.divide(rows, lengths[:, None], out=units[at : at + _ROWS])
    return units


def _lengths(rows: Float32s, first: int) -> Float32s:
    """How long rows are, which are those of the nodes from ``first`` on; no length for what is not a number."""
    lengths: Float32s = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    if not np.isfinite(lengths).all():
        node = first + int(np.argmin(np.isfinite(lengths)))
        raise SuspectError(f"the embedding of node {node} is not a number: run `linkwalk embed WIKI` again")
    return lengths


class HalfUnits:
    """A table in half precision, mapped, whose rows are of unit length when one asks for them."""

    def __init__(self, table: Float16s) -> None:
        self.table = table
        self.bits: NDArray[np.uint16] = np.asarray(table).view(np.uint16)
        """The same as kernels take it: numba knows no half precision."""
        self.shape, self.dtype = table.shape, table.dtype

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, nodes: Any) -> Float32s:
        """Rows in float32, of unit length."""
        rows = self.table[nodes]
        return unit_rows(rows) if rows.ndim == 2 else unit_rows(rows[None])[0]

    def let_go(self) -> None:
        """Who has looked at all rows does not keep them: the system has them at hand as long as it has room."""
        mapped: Any = self.table
        while isinstance(mapped, np.ndarray):
            mapped = mapped.base
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


class PageUnits:
    """Pages of several rows: one is as near to a direction as the nearest of its rows is.

    ``rows`` [N, K, D + 1] are of unit length in their first D places. The first says what the page is as a whole: it is
    looked at where the page is the goal, and where pages are compared with each other. Behind it stands what is added
    to the cosine of the nearest row. A page with fewer rows has some of NaN behind its last.
    """

    def __init__(self, rows: Float32s) -> None:
        self.rows = rows
        self.shape, self.dtype = (len(rows), rows.shape[2] - 1), rows.dtype

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, nodes: Any) -> Float32s:
        """What pages are as a whole."""
        return np.ascontiguousarray(self.rows[nodes, 0, :-1])


Units = Float32s | HalfUnits | PageUnits
"""Embeddings [N, D] of unit length, in memory or mapped; or several for each page."""


def units_of(table: Array, *, mapped: bool = False) -> Units:
    """Embeddings as agents take them: in memory, or mapped where that would be too much of it, or where wanted.

    What is copied, and what could be, is looked at once: all of it must be numbers.
    """
    large = 2 * table.nbytes > MAPPED
    if table.dtype != np.float16 or not (mapped or large):
        return unit_rows(table)
    if not large:
        for at in range(0, len(table), _ROWS):
            _lengths(table[at : at + _ROWS].astype(np.float32), at)
    units = HalfUnits(table)
    units.let_go()
    return units


def in_kernel(vectors: Units) -> Array:
    """The table that kernels index: float32 of unit length, or the bits of halves, which ``cosine`` scales."""
    if isinstance(vectors, HalfUnits):
        return vectors.bits
    return vectors.rows if isinstance(vectors, PageUnits) else vectors


def _widening(context: Any, bits: Any) -> Any:
    """A half's bits as float32: one instruction for eight of them, on processors of the last ten years."""

    def build(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), build


widen: Any = intrinsic(_widening)


def cosine(a: Array, b: Array) -> np.float32:
    """Inner product of two rows, in kernels: float32 as they are, halves scaled to unit length, a page's best one."""
    raise NotImplementedError("for kernels alone")


# Sums may be taken in any order, which lets the loop run on vector registers: four times as fast.
@overload(cosine, jit_options={"fastmath": {"reassoc", "contract"}})
def _cosine(a: Any, b: Any) -> Callable[..., Any]:
    if a.dtype == types.uint16:
        return _halves if b.dtype == types.uint16 else _half
    if a.ndim == 2:
        return _pages if b.ndim == 2 else _page
    return _single


def _single(a: Any, b: Any) -> Any:
    if a.shape[0] != b.shape[0]:
        raise IndexError(OUTSIDE)
    total = np.float32(0)
    for d in range(a.shape[0]):
        total += a[d] * b[d]
    return total


def _half(a: Any, b: Any) -> Any:
    if a.shape[0] != b.shape[0]:
        raise IndexError(OUTSIDE)
    total, length = np.float32(0), np.float32(0)
    for d in range(a.shape[0]):
        wide = widen(a[d])
        total += wide * b[d]
        length += wide * wide
    return total / np.sqrt(length) if length > 0 else total


def _halves(a: Any, b: Any) -> Any:
    if a.shape[0] != b.shape[0]:
        raise IndexError(OUTSIDE)
    total, of_a, of_b = np.float32(0), np.float32(0), np.float32(0)
    for d in range(a.shape[0]):
        x, y = widen(a[d]), widen(b[d])
        total += x * y
        of_a += x * x
        of_b += y * y
    lengths = np.sqrt(of_a) * np.sqrt(of_b)
    return total / lengths if lengths > 0 else total


def _page(a: Any, b: Any) -> Any:
    width = b.shape[0]
    if a.shape[1] != width + 1:
        raise IndexError(OUTSIDE)
    best = np.float32(-np.inf)
    for row in range(a.shape[0]):
        if np.isnan(a[row, 0]):
            break
        total = np.float32(0)
        for d in range(width):
            total += a[row, d] * b[d]
        best = max(best, total)
    return best + a[0, width]


def _pages(a: Any, b: Any) -> Any:
    if a.shape[1] != b.shape[1]:
        raise IndexError(OUTSIDE)
    total = np.float32(0)
    for d in range(a.shape[1] - 1):
        total += a[0, d] * b[0, d]
    return total
