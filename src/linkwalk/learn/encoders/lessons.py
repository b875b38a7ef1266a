"""What an encoder learns from on many wikis: walks of the policy's own, and how far each page is from each goal.

``own_walks`` asks at each step of a walk which of the page's links is right. An encoder has more to learn: which pages
of the whole wiki are near a goal, since a walker with a map weighs links of different pages against each other. So some
goals of one wiki make a *lesson*: the policy walks to each, steps of its walks become decisions, and the search back
from each goal gives its distance from *every* page of the lesson, not from its own alone.

Shapes: G goals of a lesson, C pages, S decisions, A actions.
"""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from threadpoolctl import threadpool_limits

from linkwalk.arrays import Array, Bools, Bytes, Float32s, Int32s, Int64s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, bounds_of, owners
from linkwalk.learn.own_walks import ATTEMPTS, BUDGET, FAR, NothingToDecide, distances_to, pick_steps
from linkwalk.learn.ranks import ranks
from linkwalk.navigate import Episodes
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.policy.compass import Compass
from linkwalk.policy.decisions import actions_at, visited_targets
from linkwalk.settings import CheckedSettings, Count, at_least
from linkwalk.walks import ForwardWalks, Sampler

_KEPT = 32
Several = Annotated[int, at_least(2)]


@dataclass(frozen=True, kw_only=True)
class LessonConfig(CheckedSettings):
    """What a lesson is made of."""

    goals: Several = 64
    """Goals of a lesson, each the end of a random walk."""
    steps: Count = 40
    """Such walks have Uniform(1, steps) steps."""
    picks: Count = 2
    """Steps of the policy's walk to a goal that become decisions."""
    links: Several = 8
    """Links of a page that are looked at, at most: the two nearest to the goal, and others."""
    budget: Count = BUDGET


class Lesson(NamedTuple):
    """Goals and pages of one wiki, and what would be right."""

    ground: int
    """Number of the wiki."""
    goals: Int32s
    """[G]."""
    pages: Int32s
    """Nodes that are looked at [C], each once."""
    distance: Array
    """Links from each page to each goal [G, C], ``FAR`` at most."""
    goal: Int64s
    """Which of the goals each decision is towards [S]."""
    bounds: Int64s
    """Of each decision's actions [S + 1]."""
    page: Int64s
    """Which of the pages each action leads to [A]."""
    kind: Bytes
    """Type of each action's link [A]."""
    sentences: list[list[int]]
    """One sentence of each goal [G], as tokens; none where nobody reads sentences."""


DrawSentences = Callable[[Int32s, Generator], list[list[int]]]
"""One sentence of each of some blocks, as tokens."""


@dataclass(eq=False)
class Ground:
    """One wiki to learn on."""

    forward: Csr
    reverse: Csr
    kinds: Bytes
    table: Float32s
    """What its walkers see [N, D]; it is written to while they walk."""
    config: LessonConfig
    withheld: Bools | None = None
    """Blocks that no lesson has, neither as goals nor as links [N]; walks pass through them."""
    sentences: DrawSentences | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        """Goals are the ends of random walks."""
        self.open = np.ones(self.forward.nodes, np.bool_) if self.withheld is None else ~self.withheld
        self._ends = ForwardWalks(self.forward, steps=self.config.steps, multistep=True, apart=True)

    def draw(self, number: int, compass: Compass, ways: MoveConfig, rng: Generator) -> Lesson:
        """A lesson of walks that go by the compass; ``number`` is the wiki's."""
        for _ in range(ATTEMPTS):
            episodes = self.episodes(rng)
            walker = CompassWalker("policy", compass, self.forward, self.table, ways, workers=self.workers)
            journeys = walker.run(episodes, budget=self.config.budget)
            lesson = self._lesson(number, episodes.goals, journeys.nodes, journeys.steps, rng)
            if len(lesson.goal):
                return lesson
        raise NothingToDecide

    def episodes(self, rng: Generator) -> Episodes:
        """Starts and goals of a lesson; never a goal that is withheld."""
        found = episodes_towards(self.open, self._ends, self.config.goals, ATTEMPTS, rng)
        if found.size < self.config.goals:
            raise InputError("too few goals are left to learn from: withhold fewer articles")
        return found

    def _lesson(self, number: int, goals: Int32s, paths: Int32s, steps: Int32s, rng: Generator) -> Lesson:
        walk, step = pick_steps(steps, self.config.picks, rng)
        bounds, target, kind = actions_at(self.forward, self.kinds, paths[walk, step])
        visited = visited_targets(paths, walk, step, bounds, target)
        pages, place = np.unique(np.concatenate((target, goals)), return_inverse=True)
        distance = distances_to(self.reverse, goals, pages, self.workers)
        owner = owners(bounds)
        far = distance[walk[owner], place[: len(target)]]
        # A page that is never a goal would be learned as one to pass by: it is no answer either, right or wrong.
        kept = _some(owner, far, ~visited & self.open[target] & (far < FAR), self.config.links, rng)
        several = np.bincount(owner[kept], minlength=len(walk)) > 1
        kept = kept[several[owner[kept]]]
        counts = np.bincount(owner[kept], minlength=len(walk))[several]
        # Pages that nothing asks for any more are left out: each costs a text to read.
        used = np.unique(np.concatenate((place[kept], place[len(target) :])))
        return Lesson(
            number,
            goals,
            pages[used].astype(np.int32),
            np.ascontiguousarray(distance[:, used]),
            walk[several],
            bounds_of(counts),
            np.searchsorted(used, place[kept]),
            kind[kept],
            self.sentences(goals, rng) if self.sentences else [],
        )


def episodes_towards(goals: Bools, walks: Sampler, count: int, attempts: int, rng: Generator) -> Episodes:
    """Ends of random walks whose goals are among some blocks [N]; where few walks lead there, fewer than asked for."""
    starts, ends = np.zeros((2, 0), np.int32)
    for _ in range(attempts):
        drawn = walks.sample(2 * count, rng)
        fine = goals[drawn.goals]
        starts, ends = np.append(starts, drawn.starts[fine]), np.append(ends, drawn.goals[fine])
        if len(ends) >= count:
            break
    return Episodes.of(starts[:count], ends[:count])


def _some(owner: Int64s, far: Array, open_: Bools, most: int, rng: Generator) -> Int64s:
    """Of each owner's open actions at most so many: the two nearest to the goal, and some of the others."""
    open_at = np.flatnonzero(open_)
    chance = rng.random(len(open_at))
    by_distance = np.lexsort((chance, far[open_at], owner[open_at]))
    chance[by_distance[_places(owner[open_at][by_distance]) < 2]] = -1
    order = np.lexsort((chance, owner[open_at]))
    return open_at[order[_places(owner[open_at][order]) < most]]


def _places(owner: Int64s) -> Int64s:
    """The place of each entry among its owner's, which stand together."""
    fresh = np.flatnonzero(np.diff(owner, prepend=-1))
    begins = np.zeros(len(owner), np.int64)
    begins[fresh] = fresh
    places: Int64s = np.arange(len(owner)) - np.maximum.accumulate(begins)
    return places


@dataclass(eq=False)
class Teacher:
    """Lessons from several grounds, drawn ahead in other threads while those before are learned from.

    Kernels let go of the interpreter, so that walking and searching go on beside the training. Where learning is
    quicker than drawing, a lesson is learned from more than once. With ``ahead`` 0 each is drawn when it is asked for,
    by as many threads as its ground has, and all is the same every time.
    """

    grounds: Sequence[Ground]
    shares: Float32s
    compass: Callable[[], Compass]
    ways: MoveConfig
    rng: Generator
    ahead: int = 0
    workers: int = max(1, (os.cpu_count() or 2) - 1)
    repeat: int = 1
    """How often a lesson is learned from where none is drawn ahead."""
    drawn: int = 0
    """Fresh lessons given."""
    again: int = 0
    """Lessons given once more."""

    def __post_init__(self) -> None:
        """Begin to draw ahead."""
        self._asked = 0
        self._ready: queue.Queue[Lesson | BaseException] = queue.Queue(max(1, self.ahead))
        self._over = threading.Event()
        self._old: deque[Lesson] = deque(maxlen=self.ahead or _KEPT)
        self._threads: list[threading.Thread] = []
        if self.ahead:
            # A product of small matrices in each of many threads, on as many threads each, is slower than on one.
            self._limits = threadpool_limits(1, "blas")
            for _ in range(self.workers):
                own = default_rng(self.rng.integers(1 << 63))
                self._threads.append(threading.Thread(target=self._work, args=(own,), daemon=True))
            for thread in self._threads:
                thread.start()

    def lesson(self) -> Lesson:
        """The next one, or one of the last once more.

        Several processes that draw none ahead draw the same lessons, and each learns from its own among them.
        """
        team = ranks()
        if self.ahead:
            return self._next()
        return [self._next() for _ in range(team.count)][team.number]

    def _next(self) -> Lesson:
        self._asked += 1
        if (not self.ahead and self._old and self._asked % self.repeat) or (
            self.ahead and self._ready.empty() and len(self._old) == self._old.maxlen
        ):
            self.again += 1
            return self._old[int(self.rng.integers(len(self._old)))]
        found = self._ready.get() if self.ahead else self._draw(self.rng)
        if isinstance(found, BaseException):
            raise found
        self._old.append(found)
        self.drawn += 1
        return found

    def close(self) -> None:
        """No more lessons."""
        self._over.set()
        while any(thread.is_alive() for thread in self._threads):
            while not self._ready.empty():
                self._ready.get_nowait()
            for thread in self._threads:
                thread.join(0.05)
        if self.ahead:
            self._limits.restore_original_limits()

    def _draw(self, rng: Generator) -> Lesson:
        number = int(rng.choice(len(self.grounds), p=self.shares))
        return self.grounds[number].draw(number, self.compass(), self.ways, rng)

    def _work(self, rng: Generator) -> None:
        while not self._over.is_set():
            found: Lesson | BaseException
            try:
                found = self._draw(rng)
            except BaseException as error:
                found = error
            while not self._over.is_set():
                try:
                    self._ready.put(found, timeout=0.2)
                    break
                except queue.Full:
                    continue
            if isinstance(found, BaseException):
                return
