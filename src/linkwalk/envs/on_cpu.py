"""The environment on a CPU: one compiled loop takes a step in every episode and writes down what is seen (sec. 4.1).

Shapes: B episodes, A links padded, T the budget of steps.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Bytes, Int32s, Int64s, Integers, UInt64s
from linkwalk.compiled import guarded, row_of, within
from linkwalk.envs.drawn import Drawing, draw_episode, none_found
from linkwalk.envs.rules import Rules
from linkwalk.envs.seen import Seen, Stepped
from linkwalk.envs.world import World
from linkwalk.errors import InputError

_PIECE = 64
"""Episodes that are worth a thread of their own."""


class Course(NamedTuple):
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
    def blank(cls, count: int, rules: Rules) -> "Course":
        """Episodes yet to begin."""
        numbers = [np.zeros(count, np.int64) for _ in range(4)]
        return cls(
            np.zeros(count, np.uint64),
            numbers[0],
            np.full(count, -1, np.int32),
            np.full(count, -1, np.int32),
            numbers[1],
            np.full((count, rules.budget + 1), -1, np.int32),
            numbers[2],
            np.full((count, rules.budget + 1 if rules.back else 0), -1, np.int32),
            np.ones(count, np.bool_),
            numbers[3],
        )


class Navigation:
    """B episodes that step together; what is returned is written over by the next call, so copy what is to be kept.

    An episode that has ended begins anew at the next step, whose action is ignored (Gymnasium's next-step mode), unless
    ``autoreset`` is off: then it stands still until it is reset.
    """

    def __init__(
        self,
        world: World,
        rules: Rules,
        count: int,
        *,
        autoreset: bool = True,
        workers: int | None = None,
    ) -> None:
        if count < 1:
            raise InputError(f"{count} environments take no step: choose 1 or more")
        self.world, self.rules, self.count, self.autoreset = world, rules, count, autoreset
        self.links, self.actions = world.most_links, world.most_links + rules.back
        self.state = Course.blank(count, rules)
        self.seen = Seen(
            self.state.current,
            self.state.goal,
            np.full((count, self.links), -1, np.int32),
            np.zeros((count, self.links), np.uint8),
            np.zeros((count, self.links), np.int8),
            np.zeros((count, self.actions), np.int8),
        )
        self._drawing = Drawing.of(world, rules.task)
        self._stepped = Stepped(
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
        found: Bools = self._stepped.illegal
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
    ) -> Seen:
        """Begin the next episodes of ``which`` [B] environments, or episodes with given starts and goals [B]."""
        which = np.ones(self.count, np.bool_) if which is None else which
        ends = np.full((2, self.count), -1, np.int32)
        if starts is not None and goals is not None:
            self.world.check_ends(starts[which], goals[which])
            ends[0], ends[1] = starts, goals
        failed = self.in_pieces(
            lambda a, b: _reset(
                self._drawing,
                self._graph(),
                self.state,
                self.seen,
                self.illegal,
                which,
                ends[0],
                ends[1],
                a,
                b,
            )
        )
        if any(failed):
            raise none_found(self._drawing.steps)
        return self.seen

    def step(self, actions: Integers) -> Stepped:
        """Click, in every episode; B legal actions, or what is illegal takes a step and leads nowhere."""
        chosen = np.ascontiguousarray(actions, np.int64)
        if chosen.shape != (self.count,):
            raise InputError(
                f"actions of shape {chosen.shape} for {self.count} environments: give one for each"
            )
        failed = self.in_pieces(
            lambda a, b: _step(
                self._drawing,
                self._graph(),
                self.state,
                self._stepped,
                chosen,
                self.autoreset,
                self.rules.back,
                np.float32(self.rules.step_cost),
                a,
                b,
            )
        )
        if any(failed):
            raise none_found(self._drawing.steps)
        return self._stepped

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool, self.pieces = None, [(0, self.count)]

    def _graph(self) -> tuple[Int64s, Int32s, Bytes]:
        return self.world.forward.indptr, self.world.forward.indices, self.world.kinds

    def in_pieces(self, work: Callable[[int, int], bool]) -> list[bool]:
        """Let every thread work on its episodes; kernels let go of the interpreter."""
        if self._pool is None:
            return [work(*piece) for piece in self.pieces]
        return list(self._pool.map(lambda piece: work(*piece), self.pieces))


def _cores() -> int:
    """How many cores this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@guarded
def _reset(
    drawing: Drawing,
    graph: tuple[Int64s, Int32s, Bytes],
    state: Course,
    seen: Seen,
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
            elif not _begin_next(drawing, state, b):
                return True
            illegal[b] = False
            _look(graph, state, seen, b)
    return False


@guarded
def _begin(state: Course, b: int, start: int, goal: int) -> None:
    state.current[b], state.goal[b], state.path[b, 0] = start, goal, start
    state.steps[b], state.depth[b], state.over[b] = 0, 0, False


@guarded
def _begin_next(drawing: Drawing, state: Course, b: int) -> bool:
    """Begin the next episode of an environment's seed; false where none can be drawn."""
    start, goal = draw_episode(drawing, state.seed[b], state.number[b])
    if start < 0:
        return False
    state.number[b] += 1
    _begin(state, b, start, goal)
    return True


@guarded
def _step(
    drawing: Drawing,
    graph: tuple[Int64s, Int32s, Bytes],
    state: Course,
    stepped: Stepped,
    actions: Int64s,
    autoreset: bool,
    back: bool,
    cost: np.float32,
    first: int,
    last: int,
) -> bool:
    """Take a step in each of some episodes; true where a new one cannot be drawn."""
    indptr, indices, _ = graph
    size, budget, button = indptr.shape[0] - 1, state.path.shape[1] - 1, stepped.seen.links.shape[1]
    for b in range(first, last):
        stepped.reward[b], stepped.illegal[b] = 0, False
        if state.over[b]:
            if not autoreset:
                continue  # it has ended as it had before
            stepped.terminated[b], stepped.truncated[b] = False, False
            if not _begin_next(drawing, state, b):
                return True
            _look(graph, state, stepped.seen, b)
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
            stepped.illegal[b] = True
        state.steps[b] += 1
        state.current[b], state.path[b, state.steps[b]] = target, target
        _look(graph, state, stepped.seen, b)
        reached = target == state.goal[b]
        stuck = state.shown[b] == 0 and state.depth[b] == 0
        stepped.reward[b] = np.float32(reached) - cost
        stepped.terminated[b] = reached or stuck
        stepped.truncated[b] = not (reached or stuck) and state.steps[b] >= budget
        state.over[b] = stepped.terminated[b] or stepped.truncated[b]
    return False


@guarded
def _look(graph: tuple[Int64s, Int32s, Bytes], state: Course, seen: Seen, b: int) -> None:
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
