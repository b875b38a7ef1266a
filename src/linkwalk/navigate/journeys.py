"""What an agent is given and what it does: episodes in, journeys out, in whole batches (sec. 4.1).

Shapes: B episodes, T the budget of steps, D the width of the embeddings.
"""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Float32s, Int32s, Int64s, Integers
from linkwalk.graph.csr import Csr

BACK, ENDED = -1, -2
"""A step's choice where it is no link: the back button, or nothing since the journey is over."""


class Episodes(NamedTuple):
    """Where to start and what to find."""

    starts: Int32s
    goals: Int32s
    """-1 where nobody knows it: the agent walks all its steps."""
    numbers: Int64s
    """Each episode's own number: with the seed it is the key of the agent's chance, so batches do not matter."""
    queries: Float32s | None = None
    """What the agent is shown of the goals [B, D], of unit length; None: the goals' own embeddings."""

    @classmethod
    def of(cls, starts: Integers | list[int], goals: Integers | list[int]) -> "Episodes":
        """Episodes numbered from 0."""
        return cls(np.array(starts, np.int32), np.array(goals, np.int32), np.arange(len(starts)))

    @property
    def size(self) -> int:
        """B."""
        return len(self.starts)

    def part(self, start: int, stop: int) -> "Episodes":
        """Some of the episodes, which keep their numbers."""
        return Episodes._make(column if column is None else column[start:stop] for column in self)


class Journeys(NamedTuple):
    """What came of a batch of episodes."""

    nodes: Int32s
    """[B, T + 1]: the pages stood on, the start first, -1 after the end."""
    choices: Int32s
    """[B, T]: which link of the page's row was clicked; BACK for the back button, ENDED after the end."""
    probabilities: Float32s
    """[B, T]: how probable that choice would have been, had the agent drawn it; 1 where it weighs nothing."""
    steps: Int32s
    """[B]: moves made; clicks and presses of the back button cost one each."""
    success: Bools
    """[B]: whether the agent stood on the goal within the budget."""
    looped: Bools
    """[B]: whether a click led to a page seen before; going back is no loop."""

    @classmethod
    def blank(cls, count: int, budget: int) -> "Journeys":
        """Journeys yet to be made."""
        return cls(
            np.full((count, budget + 1), -1, np.int32),
            np.full((count, budget), ENDED, np.int32),
            np.zeros((count, budget), np.float32),
            np.zeros(count, np.int32),
            np.zeros(count, np.bool_),
            np.zeros(count, np.bool_),
        )

    def part(self, start: int, stop: int) -> "Journeys":
        """Some of the journeys, as views."""
        return Journeys._make(column[start:stop] for column in self)

    def path(self, episode: int) -> Int32s:
        """The pages of one journey, from its start to where it ended."""
        return self.nodes[episode, : self.steps[episode] + 1]


def trapped_at(graph: Csr, path: list[int], *, back: bool) -> int | None:
    """The first step of a walk at which nothing unseen could be reached any more; None if there is none.

    A page is looked at only where the walk goes on to one it has seen, or ends: from a trap there is no other way.
    """
    seen: set[int] = set()
    pages: list[int] = []  # the same, in order
    leads_on: set[int] = set()  # pages that lead to something unseen, as long as nothing more has been seen
    done = 0  # with a back button: so many of the pages seen lead to nothing new, and never will again
    for step, node in enumerate(path):
        if node not in seen:
            seen.add(node)
            pages.append(node)
            leads_on.clear()
        on = path[step + 1] if step + 1 < len(path) else node
        if on not in seen or node in leads_on:
            continue
        if back:  # every page seen can be reached again
            while done < len(pages) and seen.issuperset(graph.row(pages[done]).tolist()):
                done += 1
            trapped = done == len(pages)
        else:
            trapped = not _leads_on(graph, node, seen)
        if trapped:
            return step
        leads_on.add(node)
    return None


def _leads_on(graph: Csr, start: int, seen: set[int]) -> bool:
    """Whether links lead from a page, by way of pages seen, to one that is not."""
    to_do, found = [start], {start}
    while to_do:
        for target in graph.row(to_do.pop()).tolist():
            if target not in seen:
                return True
            if target not in found:
                found.add(target)
                to_do.append(target)
    return False
