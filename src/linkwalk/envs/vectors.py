"""Embeddings of what is seen, on a CPU: rows of the table copied to where they are asked for, the rest zeros.

A page has few links and the page with most has many: only rows that are there, and those that were there at the last
step, are written. The table stays mapped, in half precision.

Shapes: B episodes, A links padded, D the width of the embeddings.
"""

from sys import getrefcount
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import guarded, within
from linkwalk.envs.on_cpu import Navigation
from linkwalk.errors import InputError
from linkwalk.navigate.cosine import widen


class Looks(NamedTuple):
    """Embeddings of what is seen, float32."""

    current: Float32s
    """[B, D]"""
    goal: Float32s
    """[B, D]"""
    links: Float32s
    """[B, A, D], zeros behind the last link."""


def _holders(looks: Looks) -> int:
    """By how many the most wanted of the arrays is held; views of it count."""
    return max(getrefcount(array) for array in looks)


_LENT = 4
_UNHELD = _holders(Looks(*(np.zeros(1, np.float32) for _ in range(3))))
"""What is counted where nobody holds them but the tuple, which is for the interpreter to say."""


class Vectors:
    """Looks up what an environment sees; written over at each look, as what is seen is."""

    def __init__(self, of: Navigation) -> None:
        if of.world.table is None:
            raise InputError("the world was opened without embeddings: open it with some")
        self._of, self._bits = of, np.asarray(of.world.table).view(np.uint16)
        self._own, self._lent = self._blank(), list[tuple[Looks, Int64s]]()

    def look(self, *, fresh: bool = False) -> Looks:
        """Embeddings of what is seen now; ``fresh`` ones are not written over as long as anybody holds them."""
        seen, shown = self._of.seen, self._of.state.shown
        looks, written = self._returned() if fresh else self._own
        self._of.in_pieces(
            lambda a, b: _fill(self._bits, seen.current, seen.goal, seen.links, shown, looks, written, a, b)
        )
        return Looks(*looks)

    def _returned(self) -> tuple[Looks, Int64s]:
        """Arrays that were lent and that nobody holds any longer, or else new ones: most of them is zeros already."""
        for looks, written in self._lent:
            if _holders(looks) <= _UNHELD:
                return looks, written
        made = self._blank()
        if len(self._lent) < _LENT:
            self._lent.append(made)
        return made

    def _blank(self) -> tuple[Looks, Int64s]:
        count, width = self._of.count, self._bits.shape[1]
        looks = Looks(
            np.zeros((count, width), np.float32),
            np.zeros((count, width), np.float32),
            np.zeros((count, self._of.links, width), np.float32),
        )
        return looks, np.zeros(count, np.int64)


@guarded
def _fill(
    bits: NDArray[np.uint16],
    current: Int32s,
    goal: Int32s,
    links: Int32s,
    shown: Int64s,
    looks: Looks,
    written: Int64s,
    first: int,
    last: int,
) -> bool:
    for b in range(first, last):
        _widened(bits, current[b], looks.current[b])
        _widened(bits, goal[b], looks.goal[b])
        for k in range(shown[b]):
            _widened(bits, links[b, k], looks.links[b, k])
        for k in range(shown[b], written[b]):
            looks.links[b, k] = 0
        written[b] = shown[b]
    return False


@guarded
def _widened(bits: NDArray[np.uint16], node: int, row: Float32s) -> None:
    """Copy a row of halves."""
    halves = bits[within(node, bits.shape[0])]
    for d in range(row.shape[0]):
        row[d] = widen(halves[d])
