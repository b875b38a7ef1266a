"""Random trajectories, forward from a uniform start and in reverse from a uniform goal, by uniform steps (sec. 3.1)."""

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.compiled import guarded, prefetch, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.walks.draws import FIRST_STEP_DRAW, LENGTH_DRAW, START_DRAW, below, draw, key_of, seed_from
from linkwalk.walks.sampler import Walks, check_steps, empty_walks, linked_nodes

#: Walkers that take a step together: enough to overlap all waits for memory, few enough to stay in the cache. With
#: what is asked for ahead of its use, steps are twice as fast at 10M nodes as without.
_LANES = 256
_ATTEMPTS = 1000
_ONE = np.uint64(1)


class ForwardWalks:
    """Uniform random walks: start uniform over nodes with an out-link, each link equally likely (sec. 3.1).

    A walk that reaches a node without out-links ends there. With ``multistep`` its number of steps is drawn from
    Uniform{1 .. steps} (sec. 4.1); with ``apart`` a walk that ends where it began is drawn again, whole.
    """

    def __init__(self, forward: Csr, *, steps: int, multistep: bool = False, apart: bool = False) -> None:
        check_steps(steps)
        self.forward, self.steps, self.multistep, self.apart = forward, steps, multistep, apart
        self._starts = linked_nodes(forward)

    def sample(self, count: int, rng: np.random.Generator) -> Walks:
        """Draw walks."""
        walks = empty_walks(count, self.steps)
        seed, which = seed_from(rng), np.arange(count)
        for attempt in range(_ATTEMPTS):
            _walk(self.forward, self._starts, seed, attempt, which, self.multistep, walks)
            if not self.apart:
                return walks
            which = which[walks.starts[which] == walks.nodes[which, walks.lengths[which]]]
            if not len(which):
                return walks
        raise InputError(
            f"walks of {self.steps} steps keep ending where they began: choose another number of steps"
        )


class ReverseWalks:
    """Walks whose goal is uniform over nodes with an in-link, uniform on the transposed graph (sec. 3.1).

    The paper's formula and text differ; this is the text. A walk that reaches a node without in-links starts there.
    """

    def __init__(
        self, forward: Csr, reverse: Csr, *, steps: int, multistep: bool = False, apart: bool = False
    ) -> None:
        self.forward = forward
        self._back = ForwardWalks(reverse, steps=steps, multistep=multistep, apart=apart)

    def sample(self, count: int, rng: np.random.Generator) -> Walks:
        """Draw walks, start first."""
        walks = self._back.sample(count, rng)
        _turn(walks)
        return walks


@guarded
def _walk(
    graph: Csr, starts: Int32s, seed: np.uint64, attempt: int, which: Int64s, multistep: bool, walks: Walks
) -> None:
    """Fill the rows ``which``. Walkers step together, so that their waits for memory overlap.

    One loop finds every walker's link and asks for the memory that names its target, the next reads the targets
    and asks for their rows. Walkers that have ended leave the arrays at the front.
    """
    indptr, indices = graph
    nodes, lengths = walks
    steps, size = nodes.shape[1] - 1, indptr.shape[0] - 1
    # Unsigned, so that nobody has to look whether they count from an array's end: that pays for comparing them.
    rows, keys = np.empty(_LANES, np.uint64), np.empty(_LANES, np.uint64)
    here, links = np.empty(_LANES, np.uint64), np.empty(_LANES, np.uint64)
    for begin in range(0, which.shape[0], _LANES):
        lanes = min(_LANES, which.shape[0] - begin)
        for k in range(lanes):
            rows[k] = within(which[begin + k], lengths.shape[0])
            keys[k] = key_of(seed, attempt, rows[k])
            links[k] = below(draw(keys[k], START_DRAW), starts.shape[0])
            prefetch(starts, links[k])
            lengths[rows[k]] = 1 + below(draw(keys[k], LENGTH_DRAW), steps) if multistep else steps
        for k in range(lanes):
            here[k] = within(starts[links[k]], size)
            nodes[rows[k], 0] = here[k]
            prefetch(indptr, here[k])
        walking = lanes
        for step in range(1, steps + 1):
            found = 0
            for k in range(walking):
                first = indptr[here[k]]
                degree = indptr[here[k] + _ONE] - first
                if degree <= 0:
                    lengths[rows[k]] = step - 1 + within(degree, 1)  # no row ends before it begins
                    continue
                link = first + below(draw(keys[k], FIRST_STEP_DRAW + step), degree)
                links[found] = within(link, indices.shape[0])
                prefetch(indices, links[found])
                rows[found], keys[found] = rows[k], keys[k]
                found += 1
            walking = 0
            for k in range(found):
                node = within(indices[links[k]], size)
                nodes[rows[k], step] = node
                if step < lengths[rows[k]]:
                    prefetch(indptr, node)
                    here[walking], rows[walking], keys[walking] = node, rows[k], keys[k]
                    walking += 1
            if walking == 0:
                break
        for k in range(begin, begin + lanes):
            nodes[which[k], lengths[which[k]] + 1 :] = -1


@guarded
def _turn(walks: Walks) -> None:
    """Put every walk the other way round, in place."""
    nodes, lengths = walks
    for walk in range(nodes.shape[0]):
        last = within(lengths[walk], nodes.shape[1])
        for at in range((last + 1) // 2):
            nodes[walk, at], nodes[walk, last - at] = nodes[walk, last - at], nodes[walk, at]
