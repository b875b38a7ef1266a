"""Finished games: checked click by click, the optimum added, kept as lines of JSON."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from linkwalk.games.archive import BACK_CLICK
from linkwalk.games.runs import Header, Run
from linkwalk.graph.store import Graph
from linkwalk.serve.errors import ApiError, not_found
from linkwalk.serve.schema import RunRequest, StoredRun
from linkwalk.wiki import Wiki


def check_steps(graph: Graph, start: int, steps: Sequence[int]) -> list[str | int]:
    """Every step is a link of the page before, or a step back in the browser's history; an error says which is not.

    Returns them as the clicks of a run.

    Where a step may be either it is taken as one back. Nothing is lost by it: the page gone back from was reached by a
    link of the page arrived at, so wherever a browser could go, this can.
    """
    history, clicks = [start], list[str | int]()
    for number, node in enumerate(steps, 1):
        here = history[-1]
        if node >= graph.nodes:
            raise not_found(f"step {number}: no block {node}, there are {graph.nodes:,}")
        if len(history) > 1 and node == history[-2]:
            history.pop()
            clicks.append(BACK_CLICK)
        elif (graph.forward.row(here) == node).any():
            history.append(node)
            clicks.append(graph.name(node))
        else:
            raise not_found(f"step {number}: no link leads from {graph.name(here)} to {graph.name(node)}")
    return clicks


def check_run(wiki: Wiki, run: RunRequest, start: int, goal: int) -> StoredRun:
    """The game as it is kept."""
    graph = wiki.graph
    clicks = check_steps(graph, start, run.steps)
    path = wiki.shortest(start, goal)
    reachable = path.distance >= 0
    won, when = [start, *run.steps][-1] == goal, datetime.now(UTC).isoformat(timespec="seconds")
    header = Header(wiki=graph.fingerprint, snapshot=graph.snapshot, agent=run.who, budget=0)
    line = Run(graph.name(start), graph.name(goal), clicks, won, run.seconds)
    return StoredRun(
        who=run.who,
        wiki=graph.snapshot,
        start=graph.name(start),
        goal=graph.name(goal),
        start_node=start,
        goal_node=goal,
        steps=run.steps,
        clicks=len(run.steps),
        seconds=run.seconds,
        won=won,
        distance=path.distance if reachable else None,
        optimum=path.nodes.tolist()[1:] if reachable else None,
        when=when,
        run=header.to_json() | line.to_json() | {"when": when},
        stored=False,
    )


def append(path: Path, line: dict[str, Any], most: int) -> None:
    """Add a line to a file that other processes add to, too: one write, at the end, wherever that is by then."""
    data = to_json(line) + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        if os.fstat(file).st_size + len(data) > most:
            raise ApiError("too_large", "the file of games is full: the game was not stored")
        if os.write(file, data) != len(data):
            raise OSError("a game was written in part only: the disk is full")
    finally:
        os.close(file)
