"""The contents of a source: which article stands above which, as one number an article, and its children in order.

A page names the one above it, by title or address. Where that one is left out, for being empty, say, the page stands
below the next one above. Pages in a ring, each above the other, are below none.
"""

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwalk.build.names import OUTCOMES, Names, find_keys
from linkwalk.graph.columns import map_array

NONE = -1


class Contents:
    """Every article's parent and children."""

    def __init__(self, folder: Path) -> None:
        self.above: NDArray[np.int32] = map_array(folder / "above.npy")
        self.indptr: NDArray[np.int64] = map_array(folder / "children-indptr.npy")
        self.children: NDArray[np.int32] = map_array(folder / "children.npy")

    def up(self, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Those of some articles that stand below another, counted from the first of them, and the ones above."""
        above = self.above[first:stop]
        below = np.flatnonzero(above >= 0)
        return below, above[below]

    def down(self, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Some articles, counted from the first of them, once for each of their children, and the children."""
        bounds = self.indptr[first : stop + 1]
        return np.repeat(np.arange(stop - first), np.diff(bounds)), self.children[bounds[0] : bounds[-1]]


def write_contents(
    folder: Path,
    parents: NDArray[np.uint64],
    skipped: NDArray[np.uint64],
    skipped_parents: NDArray[np.uint64],
) -> Counter[str]:
    """Write the tables of ``Contents`` by the keys of articles' parents (0 is none); count what came of them."""
    wanted = parents != 0
    above = np.full(len(parents), NONE, np.int32)
    outcomes: Counter[str] = Counter()
    if wanted.any():
        above[wanted] = _find(Names(folder), parents[wanted], skipped, skipped_parents)
        codes, counts = np.unique(above[wanted & (above < 0)], return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            outcomes[f"page above: {OUTCOMES[-1 - code]}"] = count
        above[above < 0] = NONE
        ring = in_a_ring(above)
        above[ring] = NONE
        outcomes["page above: in a ring"] = int(ring.sum())
        outcomes["pages below another"] = int((above >= 0).sum())
    below = np.flatnonzero(above >= 0)
    below = below[np.argsort(above[below], kind="stable")]
    np.save(folder / "above.npy", above)
    np.save(folder / "children.npy", below.astype(np.int32))
    np.save(folder / "children-indptr.npy", np.searchsorted(above[below], np.arange(len(above) + 1)))
    return outcomes


def _find(
    names: Names, parents: NDArray[np.uint64], skipped: NDArray[np.uint64], above: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """Articles of parents' keys, or codes that say why there is none; through pages left out one climbs on."""
    found = names.look_up(parents)[0]
    climbs = np.flatnonzero(above)
    climbs = climbs[np.argsort(skipped[climbs], kind="stable")]
    source, target = skipped[climbs], above[climbs]
    article = names.look_up(target)[0]
    at, again = find_keys(source, target)
    again &= article < 0
    own = np.arange(len(source))
    jump = np.where(again, at, own)
    for _ in range(len(source).bit_length()):
        jump = jump[jump]
    at, left_out = find_keys(source, parents)
    left_out &= found < 0
    found[left_out] = article[jump[at[left_out]]]
    return found


def in_a_ring(above: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Marks articles that stand above themselves: they are what is left after as many steps up as there are of them."""
    root = above < 0
    jump = np.where(root, np.arange(len(above)), above)
    for _ in range(len(above).bit_length()):
        jump = jump[jump]
    ring = np.zeros(len(above), np.bool_)
    ring[jump] = True
    return ring & ~root
