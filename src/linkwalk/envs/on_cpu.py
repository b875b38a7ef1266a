"""The environment on a CPU: one compiled loop takes a step in every episode and writes down what is seen (sec. 4.1).

Embeddings of what is seen are rows of the table copied to where they are asked for, the rest zeros. A page has few
links and the page with most has many: only rows that are there, and those that were there at the last step, are
written. The table stays mapped, in half precision.

Shapes: B episodes, A links padded, T the budget of steps, D the width of the embeddings.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from sys import getrefcount
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Bools, Bytes, Float32s, Int32s, Int64s, Integers, UInt64s
from linkwalk.compiled import guarded, row_of, within
from linkwalk.envs.world import (
    EpisodeBatch,
    EpisodeSource,
    Observation,
    Rules,
    StepResult,
    World,
    draw_episode,
    none_found,
)
from linkwalk.errors import InputError
from linkwalk.navigate.cosine import widen

_Links = tuple[Int64s, Int32s, Bytes]
_PIECE = 64
"""Episodes that are worth a thread of their own."""


class EpisodeState(NamedTuple):
    """Where every episode stands."""

    seed: UInt64s
    """[B]"""
    number: Int64s
    """Which episode of its seed comes next [B]."""
    current: Int32s
    goal: Int32s
    steps: Int64s
    """Steps taken [B]."""
    path: Int32s
    """Pages stood on [B, T + 1], the start first."""
    depth: Int64s
    """How often the back button can be pressed [B]."""
    trail: Int32s
    """Pages that it leads back to [B, T + 1]; [B, 0] where there is none."""
    over: Bools
    """Whether the episode has ended [B]."""
    shown: Int64s
    """How many links are written down in what is seen [B]."""

    @classmethod
    def blank(cls, count: int, rules: Rules) -> "EpisodeState":
        """Episodes yet to begin."""
        pages = rules.budget + 1
        return cls(
            seed=np.zeros(count, np.uint64),
            number=np.zeros(count, np.int64),
            current=np.full(count, -1, np.int32),
            goal=np.full(count, -1, np.int32),
            steps=np.zeros(count, np.int64),
            path=np.full((count, pages), -1, np.int32),
            depth=np.zeros(count, np.int64),
            trail=np.full((count, pages if rules.back else 0), -1, np.int32),
            over=np.ones(count, np.bool_),
            shown=np.zeros(count, np.int64),
        )


class Navigation(EpisodeBatch):
    """On a CPU; what is returned is written over by the next call, so copy what is to be kept."""

    def __init__(
        self, world: World, rules: Rules, count: int, *, autoreset: bool = True, workers: int | None = None
    ) -> None:
        super().__init__(world, rules, count, autoreset=autoreset)
        self.state = EpisodeState.blank(count, rules)
        self.seen = Observation(
            self.state.current,
            self.state.goal,
            np.full((count, self.links), -1, np.int32),
            np.zeros((count, self.links), np.uint8),
            np.zeros((count, self.links), np.int8),
            np.zeros((count, self.actions), np.int8),
        )
        self._source = EpisodeSource.of(world, rules.task)
        self._graph = world.forward.indptr, world.forward.indices, world.kinds
        self._result = StepResult(
            self.seen, np.zeros(count, np.float32), *(np.zeros(count, np.bool_) for _ in range(3))
        )
        if workers is None:
            workers = min(_cores(), count // _PIECE)
        cuts = np.linspace(0, count, max(1, workers) + 1).astype(int).tolist()
        self.pieces = [(a, b) for a, b in pairwise(cuts) if a < b]
        self._pool = ThreadPoolExecutor(len(self.pieces)) if len(self.pieces) > 1 else None

    @property
    def illegal(self) -> Bools:
        """Whether the last action was none of its page's [B]."""
        found: Bools = self._result.illegal
        return found

    def seeded(self, seed: int) -> None:
        """Give every environment a seed, ``seed + b`` to the one of number ``b``, and let it count from 0."""
        self.state.seed[:] = np.uint64(seed % (1 << 64)) + np.arange(self.count, dtype=np.uint64)
        self.state.number[:] = 0

    def reset(
        self,
        *,
        which: Bools | None = None,
        starts: Int32s | None = None,
        goals: Int32s | None = None,
    ) -> Observation:
        """Begin the next episodes of ``which`` [B] environments, or episodes with given starts and goals [B]."""
        which = np.ones(self.count, np.bool_) if which is None else which
        ends = np.full((2, self.count), -1, np.int32)
        if starts is not None and goals is not None:
            self.world.check_ends(starts[which], goals[which])
            ends[0], ends[1] = starts, goals
        self.in_pieces(
            lambda a, b: _reset(
                self._source, self._graph, self.state, self.seen, self.illegal, which, ends[0], ends[1], a, b
            )
        )
        return self.seen

    def step(self, actions: Integers) -> StepResult:
        """Click, in every episode; B legal actions, or what is illegal takes a step and leads nowhere."""
        chosen = np.ascontiguousarray(actions, np.int64)
        if chosen.shape != (self.count,):
            raise InputError(
                f"actions of shape {chosen.shape} for {self.count} environments: give one for each"
            )
        flags, cost = (self.autoreset, self.rules.back), np.float32(self.rules.step_cost)
        self.in_pieces(
            lambda a, b: _step(
                self._source, self._graph, self.state, self._result, chosen, *flags, cost, a, b
            )
        )
        return self._result

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool, self.pieces = None, [(0, self.count)]

    def in_pieces(self, work: Callable[[int, int], bool]) -> None:
        """Let every thread work on its episodes, which says whether one of them cannot be drawn."""
        run = map if self._pool is None else self._pool.map
        if any(list(run(lambda piece: work(*piece), self.pieces))):
            raise none_found(self._source.steps)


class SeenVectors(NamedTuple):
    """Embeddings of what is seen, float32."""

    current: Float32s
    """[B, D]"""
    goal: Float32s
    """[B, D]"""
    links: Float32s
    """[B, A, D], zeros behind the last link."""


def _holders(looks: SeenVectors) -> int:
    """By how many the most wanted of the arrays is held; views of it count."""
    return max(getrefcount(array) for array in looks)


_LENT = 4
_UNHELD = _holders(SeenVectors(*(np.zeros(1, np.float32) for _ in range(3))))
"""What is counted where nobody holds them but the tuple, which is for the interpreter to say."""


class Vectors:
    """SeenVectors up what an environment sees; written over at each look, as what is seen is."""

    def __init__(self, of: Navigation) -> None:
        if of.world.table is None:
            raise InputError("the world was opened without embeddings: open it with some")
        self._of, self._bits = of, np.asarray(of.world.table).view(np.uint16)
        self._own, self._lent = self._blank(), list[tuple[SeenVectors, Int64s]]()

    def look(self, *, fresh: bool = False) -> SeenVectors:
        """Embeddings of what is seen now; ``fresh`` ones are not written over as long as anybody holds them."""
        seen, shown = self._of.seen, self._of.state.shown
        looks, written = self._returned() if fresh else self._own
        self._of.in_pieces(
            lambda a, b: _fill(self._bits, seen.current, seen.goal, seen.links, shown, looks, written, a, b)
        )
        return SeenVectors(*looks)

    def _returned(self) -> tuple[SeenVectors, Int64s]:
        """Arrays that were lent and that nobody holds any longer, or else new ones: most of them is zeros already."""
        for looks, written in self._lent:
            if _holders(looks) <= _UNHELD:
                return looks, written
        made = self._blank()
        if len(self._lent) < _LENT:
            self._lent.append(made)
        return made

    def _blank(self) -> tuple[SeenVectors, Int64s]:
        count, width = self._of.count, self._bits.shape[1]
        looks = SeenVectors(
            np.zeros((count, width), np.float32),
            np.zeros((count, width), np.float32),
            np.zeros((count, self._of.links, width), np.float32),
        )
        return looks, np.zeros(count, np.int64)


def _cores() -> int:
    """How many cores this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@guarded
def _reset(
    source: EpisodeSource,
    graph: _Links,
    state: EpisodeState,
    seen: Observation,
    illegal: Bools,
    which: Bools,
    starts: Int32s,
    goals: Int32s,
    first: int,
    last: int,
) -> bool:
    """Begin episodes, those without a start by drawing them; true where one cannot be drawn."""
    for b in range(first, last):
        if which[b]:
            if starts[b] >= 0:
                _begin(state, b, starts[b], goals[b])
            elif not _begin_next(source, state, b):
                return True
            illegal[b] = False
            _look(graph, state, seen, b)
    return False


@guarded
def _begin(state: EpisodeState, b: int, start: int, goal: int) -> None:
    state.current[b], state.goal[b], state.path[b, 0] = start, goal, start
    state.steps[b], state.depth[b], state.over[b] = 0, 0, False


@guarded
def _begin_next(source: EpisodeSource, state: EpisodeState, b: int) -> bool:
    """Begin the next episode of an environment's seed; false where none can be drawn."""
    start, goal = draw_episode(source, state.seed[b], state.number[b])
    if start < 0:
        return False
    state.number[b] += 1
    _begin(state, b, start, goal)
    return True


@guarded
def _step(
    source: EpisodeSource,
    graph: _Links,
    state: EpisodeState,
    result: StepResult,
    actions: Int64s,
    autoreset: bool,
    back: bool,
    cost: np.float32,
    first: int,
    last: int,
) -> bool:
    """Take a step in each of some episodes; true where a new one cannot be drawn."""
    indptr, indices, _ = graph
    size, budget, button = indptr.shape[0] - 1, state.path.shape[1] - 1, result.seen.links.shape[1]
    for b in range(first, last):
        result.reward[b], result.illegal[b] = 0, False
        if state.over[b]:
            if not autoreset:
                continue  # it has ended as it had before
            result.terminated[b], result.truncated[b] = False, False
            if not _begin_next(source, state, b):
                return True
            _look(graph, state, result.seen, b)
            continue
        here, action = state.current[b], actions[b]
        begin, end = row_of(indptr, here, indices.shape[0])
        target = int(here)
        if 0 <= action < end - begin:
            target = within(indices[begin + action], size)
            if back:
                state.trail[b, state.depth[b]] = here
                state.depth[b] += 1
        elif back and action == button and state.depth[b] > 0:
            state.depth[b] -= 1
            target = int(state.trail[b, state.depth[b]])
        else:
            result.illegal[b] = True
        state.steps[b] += 1
        state.current[b], state.path[b, state.steps[b]] = target, target
        _look(graph, state, result.seen, b)
        reached = target == state.goal[b]
        stuck = state.shown[b] == 0 and state.depth[b] == 0
        result.reward[b] = np.float32(reached) - cost
        result.terminated[b] = reached or stuck
        result.truncated[b] = not (reached or stuck) and state.steps[b] >= budget
        state.over[b] = result.terminated[b] or result.truncated[b]
    return False


@guarded
def _look(graph: _Links, state: EpisodeState, seen: Observation, b: int) -> None:
    """Write down what is seen from the current page, and blank what was seen before."""
    indptr, indices, kinds = graph
    begin, end = row_of(indptr, state.current[b], indices.shape[0])
    degree, most = end - begin, seen.links.shape[1]
    within(degree, most + 1)
    been = state.path[b, : state.steps[b] + 1]
    for k in range(degree):
        target = indices[begin + k]
        visited = np.int8(0)
        for node in been:
            if node == target:
                visited = np.int8(1)
                break
        seen.links[b, k], seen.kinds[b, k] = target, kinds[begin + k]
        seen.visited[b, k], seen.action_mask[b, k] = visited, 1
    for k in range(degree, state.shown[b]):
        seen.links[b, k], seen.kinds[b, k] = -1, 0
        seen.visited[b, k], seen.action_mask[b, k] = 0, 0
    if seen.action_mask.shape[1] > most:
        seen.action_mask[b, most] = state.depth[b] > 0
    state.shown[b] = degree


@guarded
def _fill(
    bits: NDArray[np.uint16],
    current: Int32s,
    goal: Int32s,
    links: Int32s,
    shown: Int64s,
    looks: SeenVectors,
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
