"""Agents on a task file, from block to block: what players from outside are compared with."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from linkwalk.cli.games_shown import print_scores_of_runs
from linkwalk.cli.output import print_json, print_next
from linkwalk.navigate.ways import Ways

if TYPE_CHECKING:
    from linkwalk.wiki.workspace import Workspace


def play_tasks(
    wiki: "Workspace", file: Path, names: Sequence[str], ways: Ways, seed: int, runs: Path | None, json: bool
) -> None:
    """Let agents do the tasks of a file; they are scored by what their runs say."""
    from linkwalk.games.checked import check_section, on_tasks, score_runs
    from linkwalk.games.runs import Header, Section, runs_of, write_runs
    from linkwalk.games.tasks import read_tasks
    from linkwalk.navigate import Episodes

    graph = wiki.graph
    budget, tasks = read_tasks(file, graph)
    table = wiki.table_for(names)
    episodes = Episodes.of([task.start for task in tasks], [task.goal for task in tasks])
    sections = []
    for name in names:
        agent = wiki.agent(name, ways, table)
        agent.run(episodes.part(0, 1), budget=1, seed=seed)  # kernels are compiled before the clock starts
        begin = time.perf_counter()
        journeys = agent.run(episodes, budget=budget, seed=seed)
        seconds = (time.perf_counter() - begin) / len(tasks)
        header = Header.on(graph, wiki.folder, name, budget)
        sections.append(Section(header, list(runs_of(graph, episodes, journeys, seconds))))
    if runs is not None:
        write_runs(runs, sections)
    results = [
        score_runs(graph, section.header, on_tasks(graph, check_section(graph, section), tasks), tasks)
        for section in sections
    ]
    if json:
        print_json({"results": [result.to_json() for result in results]})
        return
    print(f"{graph.snapshot}: {len(tasks):,} tasks, {budget} clicks each{ways.words()}\n")
    print_scores_of_runs(results)
    print_next(f"linkwalk mcp {wiki.folder}")
