"""Runs, checked click by click against the links of their wiki, and scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from linkwalk.arrays import Array, Bools, Int64s
from linkwalk.errors import InputError
from linkwalk.evaluate.metrics import spl, wilson
from linkwalk.games.archive import BACK_CLICK
from linkwalk.games.runs import GameWiki, Header, PlayerRuns, Run
from linkwalk.games.tasks import LEVELS, GameTask
from linkwalk.graph.paths import ShortestPaths


class CheckedRun(NamedTuple):
    """A run that its wiki allows."""

    start: int
    goal: int
    clicks: int
    success: bool
    """Whether it ends at its goal, within the budget."""
    looped: bool
    """Whether a click led to a page seen before."""
    seconds: float | None
    line: int = 0
    pages: tuple[int, ...] = ()
    """Those stood on after each click."""

    def address(self, wiki: GameWiki) -> str:
        """Where the page of ``linkwalk serve`` replays it, behind the server's own address."""
        ends = {"view": "play", "from": wiki.name(self.start), "to": wiki.name(self.goal)}
        steps = {"steps": ".".join(map(str, self.pages)), "end": "won" if self.success else "lost"}
        return f"/?{urlencode(ends | steps)}"


@dataclass(frozen=True, kw_only=True)
class RunGroup:
    """Runs of one player that have something in common."""

    runs: int
    success: float
    mean_clicks: float | None
    """Of those that arrived; None if none did."""


@dataclass(frozen=True, kw_only=True)
class RunsAtDistance(RunGroup):
    """Those whose shortest path has so many clicks."""

    distance: int


@dataclass(frozen=True, kw_only=True)
class RunsOfDifficulty(RunGroup):
    """Those on tasks of one difficulty."""

    difficulty: str


@dataclass(frozen=True, kw_only=True)
class RunScores:
    """What one player did."""

    agent: str
    level: str
    budget: int
    runs: int
    success: float
    success_ci95: tuple[float, float]
    mean_clicks: float | None
    """Of the runs that arrived; None if none did."""
    mean_distance: float | None
    """Of the shortest paths, over all runs; None if there are none."""
    spl: float
    """Success weighted by shortest path / clicks."""
    loops: float
    seconds: float | None
    """Of a run, on average; None where nobody took the time."""
    by_distance: tuple[RunsAtDistance, ...]
    by_difficulty: tuple[RunsOfDifficulty, ...] = ()
    """Where the runs are on tasks."""


def check_run(wiki: GameWiki, run: Run, header: Header) -> CheckedRun:
    """Follow a run; its first click that is no link is an error, and so is a success that is none."""

    def wrong(what: str) -> InputError:
        return InputError(f"line {run.line}: {what}")

    def node_of(name: str | int, what: str) -> int:
        if isinstance(name, int):
            if not 0 <= name < wiki.forward.nodes:
                raise wrong(f"{what}: no node {name}, there are {wiki.forward.nodes:,}")
            return name
        try:
            return wiki.find(name)
        except InputError as error:
            raise wrong(f"{what}: {error}") from None

    start, goal = node_of(run.start, "start"), node_of(run.goal, "goal")
    history, pages, looped = [start], [start], False
    for number, click in enumerate(run.clicks, 1):
        if click == BACK_CLICK:
            if len(history) == 1:
                raise wrong(f"click {number} goes back from the start")
            history.pop()
        else:
            node = node_of(click, f"click {number}")
            if node not in wiki.forward.row(history[-1]):
                here = wiki.name(history[-1])
                raise wrong(f"click {number}: no link leads from {here} to {wiki.name(node)}")
            looped |= node in pages
            history.append(node)
        pages.append(history[-1])
    arrived = history[-1] == goal
    if run.success and not arrived:
        raise wrong(f"it says success, and its clicks end at {wiki.name(history[-1])}")
    success = arrived and (not header.budget or len(run.clicks) <= header.budget)
    clicks = len(run.clicks)
    return CheckedRun(start, goal, clicks, success, looped, run.seconds, run.line, tuple(pages[1:]))


def check_runs(wiki: GameWiki, section: PlayerRuns) -> list[CheckedRun]:
    """All runs of one player, of which each must be on this very wiki."""
    if section.header.wiki != wiki.fingerprint:
        raise InputError(
            f"the runs of {section.header.agent} are on another wiki, or another state of it, than {wiki.snapshot}"
        )
    return [check_run(wiki, run, section.header) for run in section.runs]


def on_tasks(wiki: GameWiki, runs: Sequence[CheckedRun], tasks: Sequence[GameTask]) -> list[CheckedRun]:
    """A run for each task: the first that there is, or else a failure; a run that is on none is an error."""
    missing = {task[:2]: CheckedRun(*task[:2], 0, False, False, None) for task in tasks}
    found: dict[tuple[int, int], CheckedRun] = {}
    for run in runs:
        if run[:2] not in missing:
            raise InputError(f"line {run.line}: {wiki.name(run.start)} to {wiki.name(run.goal)} is no task")
        found.setdefault(run[:2], run)
    return [found.get(task[:2], missing[task[:2]]) for task in tasks]


def score_player(
    wiki: GameWiki, section: PlayerRuns, tasks: Sequence[GameTask] | None = None
) -> tuple[RunScores, list[CheckedRun]]:
    """Check the runs of one player and score them; with ``tasks``, one for each of these."""
    checked = check_runs(wiki, section)
    if tasks is not None:
        checked = on_tasks(wiki, checked, tasks)
    return score_runs(wiki, section.header, checked, tasks or ()), checked


def score_runs(
    wiki: GameWiki, header: Header, runs: Sequence[CheckedRun], tasks: Sequence[GameTask] = ()
) -> RunScores:
    """Score the runs of one player; those ``on_tasks`` by their difficulty, too."""
    starts, goals = np.array([(run.start, run.goal) for run in runs], np.int64).reshape(-1, 2).T
    distances = ShortestPaths(wiki.forward, wiki.reverse).distances(starts, goals)
    success = np.array([run.success for run in runs], np.bool_)
    clicks = np.array([run.clicks for run in runs], np.int64)
    times = [run.seconds for run in runs if run.seconds is not None]
    return RunScores(
        agent=header.agent,
        level=header.level,
        budget=header.budget,
        runs=len(runs),
        success=_mean(success) or 0.0,
        success_ci95=wilson(int(success.sum()), len(runs)),
        mean_clicks=_mean(clicks[success]),
        mean_distance=_mean(distances),
        spl=spl(success, clicks, distances),
        loops=_mean([run.looped for run in runs]) or 0.0,
        seconds=_mean(times),
        by_distance=tuple(
            RunsAtDistance(distance=distance, **_group(success, clicks, distances == distance))
            for distance in np.unique(distances).tolist()
        ),
        by_difficulty=tuple(
            RunsOfDifficulty(difficulty=level, **_group(success, clicks, own))
            for level in LEVELS
            if (own := np.array([task.difficulty == level for task in tasks], np.bool_)).any()
        ),
    )


def _mean(values: Sequence[float] | Array) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _group(success: Bools, clicks: Int64s, own: Bools) -> dict[str, Any]:
    return {
        "runs": int(own.sum()),
        "success": float(success[own].mean()),
        "mean_clicks": _mean(clicks[own & success]),
    }
