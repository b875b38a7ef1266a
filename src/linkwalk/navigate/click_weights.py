"""Why an agent clicked: what the ways out of each page were worth to it, then.

Shapes: T clicks of one journey; L ways out of their pages: each page's links in their order, then the back button.
"""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from linkwalk.compiled import kernel
from linkwalk.graph.csr import Csr, bounds_of, owners
from linkwalk.navigate.cosine import Units, cosine, in_kernel
from linkwalk.navigate.journeys import BACK, Journeys

NOWHERE = -1
"""Where a way leads that is not there: the back button of who has none."""
COSINE, WORTH, LIKELY, CHANCE = "cosine", "worth", "log-probability", "chance"
"""What worth is measured in."""


class ClickWeights(NamedTuple):
    """What decided each click of a journey."""

    indptr: Int64s
    """[T + 1]: the ways out of a click's page are those from one bound to the next."""
    targets: Int32s
    """[L]: where each leads; NOWHERE for a back button that is not there."""
    worth: Float32s
    """[L]: what the agent went by; not a number where it did not weigh the way."""
    probability: Float32s
    """[L]: at which it would take the way if it drew its clicks by worth; one that does not takes the best."""
    towards: Int32s
    """[L]: the page further on for which the way is worth it; NOWHERE where that is its own target."""
    measure: str


class WayWorth(NamedTuple):
    """What ways out were worth to a kernel that walks a single episode, and the pages for which they were."""

    worth: Float32s
    towards: Int32s

    @classmethod
    def blank(cls, ways: int) -> "WayWorth":
        """Nothing is known of so many ways yet."""
        return cls(np.full(ways, np.nan, np.float32), np.full(ways, NOWHERE, np.int32))


NO_WORTH = WayWorth.blank(0)
"""For kernels that are not asked."""


class WaysOut:
    """The ways out of a journey's pages: what agents put their worth on."""

    def __init__(self, graph: Csr, journeys: Journeys, *, back: bool) -> None:
        path = journeys.path(0)
        self.path, self.pages = path, path[:-1]
        self.choices = journeys.choices[0, : len(self.pages)]
        degrees = graph.indptr[self.pages + 1] - graph.indptr[self.pages]
        self.indptr = bounds_of(degrees + 1)
        self.owner = owners(self.indptr)
        self.buttons = self.indptr[1:] - 1
        self.targets = np.full(int(self.indptr[-1]), NOWHERE, np.int32)
        links = np.ones(len(self.targets), np.bool_)
        links[self.buttons] = False
        self.links: Bools = links
        self.targets[links] = graph.gather(self.pages)[1]
        if back:
            self.targets[self.buttons] = _behind(path.tolist(), self.choices.tolist())
        self.taken = self.indptr[:-1] + np.where(self.choices == BACK, degrees, self.choices)

    def seen(self) -> Bools:
        """[L]: whether the journey had been at the target by then."""
        nodes, firsts = np.unique(self.pages, return_index=True)
        if not len(nodes):
            return np.zeros(0, np.bool_)
        at = np.minimum(np.searchsorted(nodes, self.targets), len(nodes) - 1)
        found: Bools = (nodes[at] == self.targets) & (firsts[at] <= self.owner)
        return found

    def again(self) -> Bools:
        """[L]: whether an earlier link of the page leads to the same target."""
        keys = self.owner * (int(self.targets.max(initial=0)) + 2) + self.targets
        keys[~self.links] = -1 - np.arange(len(self.buttons))  # the back button is a way of its own
        again = np.ones(len(keys), np.bool_)
        again[np.unique(keys, return_index=True)[1]] = False
        return again

    def cosines(self, vectors: Units, query: Float32s) -> Float32s:
        """[L]: of the targets to what is looked for, as agents compute it; of repeated links the first counts."""
        found: Float32s = _cosines(in_kernel(vectors), self.targets, query)
        found[self.again()] = np.nan
        return found

    def by_worth(
        self, worth: Float32s, measure: str, *, scale: float, towards: Int32s | None = None
    ) -> ClickWeights:
        """Probabilities are a softmax of what was weighed; where nothing was, the click was the only way left."""
        worth = np.where(np.isfinite(worth), worth, np.nan).astype(np.float32)
        towards = np.full(len(worth), NOWHERE, np.int32) if towards is None else towards
        towards = np.where(towards == self.targets, NOWHERE, towards).astype(np.int32)
        if not len(worth):
            return ClickWeights(self.indptr, self.targets, worth, worth, towards, measure)
        top = np.fmax.reduceat(worth, self.indptr[:-1])
        chances = np.nan_to_num(np.exp(scale * (worth - top[self.owner]).astype(np.float64)))
        return self._divided(chances, worth, towards, measure)

    def by_chance(self, may: Bools) -> ClickWeights:
        """Every way that may be taken is as likely as any other."""
        none = np.full(len(may), NOWHERE, np.int32)
        return self._divided(may.astype(np.float64), np.full(len(may), np.nan, np.float32), none, CHANCE)

    def _divided(self, chances: Float64s, worth: Float32s, towards: Int32s, measure: str) -> ClickWeights:
        if len(chances):
            total = np.add.reduceat(chances, self.indptr[:-1])
            chances[self.taken[total == 0]] = 1
            chances = chances / np.where(total == 0, 1, total)[self.owner]
        return ClickWeights(self.indptr, self.targets, worth, chances.astype(np.float32), towards, measure)


def _behind(path: list[int], choices: list[int]) -> list[int]:
    """The page behind the back button at each click."""
    opened, behind = path[:1], []
    for choice, node in zip(choices, path[1:], strict=True):
        behind.append(opened[-2] if len(opened) > 1 else NOWHERE)
        if choice == BACK:
            opened.pop()
        else:
            opened.append(node)
    return behind


@kernel
def _cosines(vectors: Float32s, targets: Int32s, query: Float32s) -> Float32s:
    found = np.full(targets.shape[0], np.nan, np.float32)
    for i in range(targets.shape[0]):
        if targets[i] >= 0:
            found[i] = cosine(vectors[targets[i]], query)
    return found
