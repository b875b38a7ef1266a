"""Compressed sparse rows: who links to whom, as two flat arrays that are mapped, never copied.

Row ``i`` of a graph is ``indices[indptr[i]:indptr[i + 1]]``. The kernels are compiled and touch each edge once.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Array, Int32s, Int64s, Integers
from linkwalk.compiled import OUTSIDE, guarded, kernel, row_of, within

_T = TypeVar("_T", bound=np.generic)


class Csr(NamedTuple):
    """Adjacency of N nodes: ``indptr`` int64 [N + 1], ``indices`` int32 [E]."""

    indptr: Int64s
    indices: Int32s

    @property
    def nodes(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    def row(self, node: int) -> Int32s:
        """One node's neighbours, a view."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def degrees(self) -> Int64s:
        """Every node's number of neighbours."""
        return np.diff(self.indptr)

    def gather(self, nodes: Integers) -> "Csr":
        """The neighbour lists of many nodes at once, as a small graph of rows in the order asked for."""
        return Csr(*gather_rows(self.indptr, self.indices, nodes))


@guarded
def links_of(graph: Csr, node: int) -> tuple[int, int]:
    """Where a node's neighbours begin and end in ``indices``, for kernels; a damaged row is an error."""
    return row_of(graph.indptr, node, graph.indices.shape[0])


def bounds_of(counts: Array | Sequence[int]) -> Int64s:
    """Where each of some ragged rows begins, given how long they are [n], and where the last ends [n + 1]."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def owners(bounds: Int64s) -> Int64s:
    """Whose each entry of some ragged rows is: the number of its row."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def gather_rows(indptr: Int64s, values: NDArray[_T], rows: Integers) -> tuple[Int64s, NDArray[_T]]:
    """Rows of any ragged array ``values[indptr[i]:indptr[i + 1]]`` in the order asked for: bounds, values."""
    which = np.ascontiguousarray(rows, np.int64)
    starts, bounds = np.empty(len(which), np.int64), np.zeros(len(which) + 1, np.int64)
    _count_rows(indptr, len(values), which, starts, bounds)
    gathered = np.empty(bounds[-1], values.dtype)
    _copy_rows(values, starts, bounds, gathered)
    return bounds, gathered


@guarded
def _count_rows(indptr: Int64s, size: int, rows: Int64s, starts: Int64s, bounds: Int64s) -> None:
    total = 0
    for i in range(rows.shape[0]):
        first, last = row_of(indptr, rows[i], size)
        starts[i] = first
        total += last - first
        bounds[i + 1] = total


@guarded
def _copy_rows(values: Array, starts: Int64s, bounds: Int64s, gathered: Array) -> None:
    """Copy the rows that ``_count_rows`` has compared with the values there are."""
    for i in range(starts.shape[0]):
        # Unsigned, since an index that cannot be negative lets the copy be vectorised: three times as fast.
        start, to = np.uint64(starts[i]), np.uint64(bounds[i])
        for k in range(np.uint64(bounds[i + 1]) - to):
            gathered[to + k] = values[start + k]


@guarded
def _count_targets(indices: Int32s, counts: Int64s) -> None:
    for edge in range(indices.shape[0]):
        counts[within(indices[edge], counts.shape[0] - 1) + 1] += 1


@guarded
def _scatter_sources(graph: Csr, free: Int64s, sources: Int32s) -> None:
    indptr, indices = graph
    edges = 0
    for node in range(indptr.shape[0] - 1):
        first, last = row_of(indptr, node, indices.shape[0])
        edges += last - first
        for edge in range(first, last):
            target = within(indices[edge], free.shape[0])
            sources[within(free[target], sources.shape[0])] = node
            free[target] += 1
    if edges != sources.shape[0]:  # else what no row names would be left as it was found in memory
        raise IndexError(OUTSIDE)


def transpose_indptr(graph: Csr) -> Int64s:
    """Row bounds of the transposed graph, that is, the running in-degrees."""
    indptr = np.zeros(graph.nodes + 1, np.int64)
    _count_targets(graph.indices, indptr)
    return np.cumsum(indptr, out=indptr)


def transpose_into(graph: Csr, indptr: Int64s, sources: Int32s) -> None:
    """Fill the transposed graph's indices; within a row the sources ascend (counting sort, O(N + E))."""
    _scatter_sources(graph, indptr[:-1].copy(), sources)


def transpose(graph: Csr) -> Csr:
    """The reverse graph, in memory."""
    indptr = transpose_indptr(graph)
    sources = np.empty(len(graph.indices), np.int32)
    transpose_into(graph, indptr, sources)
    return Csr(indptr, sources)


@kernel
def _merge_rows(left: Csr, right: Csr, indptr: Int64s, out: Int32s) -> None:
    a, b, to = left.indices, right.indices, 0
    for node in range(left.indptr.shape[0] - 1):
        i, a_end = links_of(left, node)
        j, b_end = links_of(right, node)
        while i < a_end or j < b_end:
            if j == b_end or (i < a_end and a[i] <= b[j]):
                value = a[i]
                i += 1
            else:
                value = b[j]
                j += 1
            if to == indptr[node] or out[to - 1] != value:
                out[to] = value
                to += 1
        indptr[node + 1] = to


def union(a: Csr, b: Csr) -> Csr:
    """The edges of two graphs on the same nodes, both with sorted rows, in sorted rows without repeats."""
    indptr = np.zeros(a.nodes + 1, np.int64)
    indices = np.empty(len(a.indices) + len(b.indices), np.int32)
    _merge_rows(a, b, indptr, indices)
    return Csr(indptr, indices[: indptr[-1]].copy())
