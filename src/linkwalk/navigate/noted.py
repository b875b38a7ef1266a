"""What a walker with a map saw at some steps of a walk, written down for the training of its map."""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import kernel, within
from linkwalk.graph.paths import UNREACHABLE
from linkwalk.navigate.values import SIGHTS


class Noted(NamedTuple):
    """P steps of one walk, K of the unseen links known at each: the one worth most first."""

    steps: Int64s
    """[P]: the steps to be noted, ascending, each once."""
    distances: Int32s
    """[N]: clicks from every page to the goal, UNREACHABLE where none lead there; empty where nobody asks."""
    sights: Float32s
    """[P, K, SIGHTS]: what is seen of them."""
    worth: Float32s
    """[P, K]: what the constants say."""
    clicks: Int32s
    """[P, K]: from here to the link's page on the map, and from there to the goal; UNREACHABLE, too."""
    counts: Int64s
    """[P]: how many were noted."""

    @classmethod
    def blank(cls, steps: int, links: int) -> "Noted":
        """Room for some links of some steps, all else empty."""
        return cls(
            np.zeros(steps, np.int64),
            np.zeros(0, np.int32),
            np.zeros((steps, links, len(SIGHTS)), np.float32),
            np.zeros((steps, links), np.float32),
            np.full((steps, links), UNREACHABLE, np.int32),
            np.zeros(steps, np.int64),
        )

    def part(self, start: int, stop: int) -> "Noted":
        """Room for some of the steps, as views."""
        rows = slice(start, stop)
        return self._replace(
            steps=self.steps[rows],
            sights=self.sights[rows],
            worth=self.worth[rows],
            clicks=self.clicks[rows],
            counts=self.counts[rows],
        )


NOTHING_NOTED = Noted.blank(0, 0)


@kernel
def note(
    noted: Noted, line: int, sights: Float32s, plain: Float32s, worth: Float32s, clicks: Int32s, pages: Int32s
) -> None:
    """Write down the links worth most, some of those nearest to the goal, and of the rest one in so many."""
    count, room = worth.shape[0], noted.worth.shape[1]
    totals = np.empty(count, np.int64)
    far = np.iinfo(np.int32).max
    for i in range(count):
        distance = UNREACHABLE
        if noted.distances.shape[0] > 0:
            distance = noted.distances[within(pages[i], noted.distances.shape[0])]
        totals[i] = far if distance == UNREACHABLE else clicks[i] + 1 + distance
    taken = np.zeros(count, np.bool_)
    by_worth, by_distance = np.argsort(-worth), np.argsort(totals)
    to = 0
    for chosen, limit in ((by_worth, (room + 1) // 2), (by_distance, room * 2 // 3)):
        for i in chosen:
            if to < limit and not taken[i]:
                taken[i] = True
                _write(noted, line, to, sights[i], plain[i], totals[i], far)
                to += 1
    left = count - to
    if left > 0 and to < room:
        stride = max(1.0, left / (room - to))
        at, due = 0.0, (line * 0.37) % 1.0 * stride
        for i in by_worth:
            if not taken[i]:
                if at >= due and to < room:
                    _write(noted, line, to, sights[i], plain[i], totals[i], far)
                    to += 1
                    due += stride
                at += 1
    noted.counts[line] = to


@kernel
def _write(noted: Noted, line: int, to: int, sights: Float32s, plain: float, total: int, far: int) -> None:
    noted.sights[line, to] = sights
    noted.worth[line, to] = plain
    noted.clicks[line, to] = UNREACHABLE if total == far else total
