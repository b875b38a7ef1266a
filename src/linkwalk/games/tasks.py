"""Task files for players from outside: pairs of articles in three difficulties, each with its shortest distance."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Int64s
from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.graph.store import Graph
from linkwalk.records import whole_records

FORMAT, VERSION = "linkwalk-tasks", 1
LEVELS = ("easy", "middle", "hard")
LEAST = 2
"""Clicks; a goal that the start links to is no task."""
_GOALS = 8
"""From each start, at most: so that no start decides alone."""


def draw_tasks(graph: Graph, count: int, seed: int, budget: int) -> Iterator[dict[str, Any]]:
    """A header and ``count`` tasks between articles' first blocks, as many of each difficulty as can be.

    Easy, middle and hard are the lower, middle and upper third of the distances of pairs, of which every one can be
    walked in half the budget.
    """
    pairs = _pairs(graph, 3 * count, budget // 2, np.random.default_rng(seed))
    distances = pairs[:, 2]
    easy, middle = map(int, np.quantile(distances, [1 / 3, 2 / 3], method="nearest"))
    middle = max(middle, easy + 1)
    bounds = {"easy": [LEAST, easy], "middle": [easy + 1, middle], "hard": [middle + 1, int(distances.max())]}
    chosen: list[tuple[str, list[int]]] = []
    for number, (level, (low, high)) in enumerate(bounds.items()):
        own = pairs[(distances >= low) & (distances <= high)]
        share = (count + number) // len(bounds)
        if len(own) < share:
            raise InputError(
                f"{graph.snapshot} is too small for {count} tasks: {len(own)} {level} ones were found, not {share}"
            )
        chosen += [(level, pair) for pair in own[:share].tolist()]
    yield {
        "format": FORMAT,
        "version": VERSION,
        "wiki": graph.fingerprint,
        "snapshot": graph.snapshot,
        "budget": budget,
        "seed": seed,
        "difficulties": bounds,
    }
    for number, (level, (start, goal, distance)) in enumerate(chosen, 1):
        yield {
            "task": number,
            "difficulty": level,
            "start": graph.name(start),
            "goal": graph.name(goal),
            "optimum": distance,
        }


def _pairs(graph: Graph, count: int, most: int, rng: np.random.Generator) -> Int64s:
    """Start, goal and distance [n, 3] of pairs of first blocks at most so far apart, in any order; more than wanted."""
    found, have = list[Int64s](), 0
    for start in graph.article_node[rng.permutation(graph.articles)].tolist():
        away = distances_from(graph.forward, start)[graph.article_node]
        goals = np.flatnonzero((away >= LEAST) & (away <= most))
        goals = rng.choice(goals, min(_GOALS, len(goals)), replace=False)
        found.append(np.stack([np.full(len(goals), start), graph.article_node[goals], away[goals]], axis=1))
        have += len(goals)
        if have >= count:
            break
    if not have:
        raise InputError(f"no two articles of {graph.snapshot} are {LEAST} to {most} clicks apart")
    pairs = np.concatenate(found)
    return pairs[rng.permutation(len(pairs))]


class GameTask(NamedTuple):
    """One task, its blocks by number."""

    start: int
    goal: int
    difficulty: str


class TaskFile(NamedTuple):
    """What a task file holds."""

    budget: int
    tasks: list[GameTask]


def read_tasks(path: Path, graph: Graph) -> TaskFile:
    """The tasks of a file, which must be of this very wiki; a line that is none is an error that names it."""
    (_, header), *records = whole_records(path)
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise InputError(f"{path} is no task file of version {VERSION}: `linkwalk games tasks` writes one")
    if header.get("wiki") != graph.fingerprint:
        raise InputError(f"{path} is of another wiki, or another state of it, than {graph.snapshot}")
    if type(budget := header.get("budget")) is not int or budget < 1:
        raise InputError(f"{path}, line 1: budget is not a number of clicks")
    tasks = []
    for line, record in records:
        start, goal, difficulty = (record.get(name) for name in ("start", "goal", "difficulty"))
        if not isinstance(start, str) or not isinstance(goal, str) or difficulty not in LEVELS:
            raise InputError(f"{path}, line {line}: no task, which has start, goal and difficulty")
        tasks.append(GameTask(graph.find(start), graph.find(goal), difficulty))
    if not tasks:
        raise InputError(f"{path} has no task")
    return TaskFile(budget, tasks)
