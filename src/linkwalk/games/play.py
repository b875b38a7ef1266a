"""Agents play: from article to article on a board, or from block to block on tasks."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwalk.games.archive import Board
from linkwalk.games.runs import Header, PlayerRuns, runs_of
from linkwalk.games.tasks import TaskFile
from linkwalk.navigate import BACK, ENDED, Agent, Episodes, Journeys
from linkwalk.navigate.moves import MoveConfig
from linkwalk.wiki.workspace import Workspace


class AgentGames(NamedTuple):
    """What an agent did in all games, and how long it took."""

    agent: str
    journeys: Journeys
    seconds: float


def perform(
    agent: Agent, episodes: Episodes, *, budget: int, seed: int = 0, board: Board | None = None
) -> AgentGames:
    """Let an agent play; the clock starts when its kernels are compiled.

    On a board, the goal's name is known to it, and it clicks on that where it sees it.
    """
    agent.run(episodes.part(0, 1), budget=1, seed=seed)
    begin = time.perf_counter()
    journeys = agent.run(episodes, budget=budget, seed=seed)
    if board is not None:
        end_at_the_link(board, episodes, journeys)
    return AgentGames(agent.name, journeys, time.perf_counter() - begin)


def play_tasks(
    wiki: Workspace, file: TaskFile, names: Sequence[str], ways: MoveConfig, seed: int
) -> list[PlayerRuns]:
    """Agents on a task file, from block to block: what players from outside are compared with."""
    table = wiki.table_for(names)
    episodes = Episodes.of([task.start for task in file.tasks], [task.goal for task in file.tasks])
    sections = []
    for name in names:
        done = perform(wiki.agent(name, ways, table), episodes, budget=file.budget, seed=seed)
        header = Header.on(wiki.graph, wiki.folder, name, file.budget)
        runs = runs_of(wiki.graph, episodes, done.journeys, done.seconds / len(file.tasks))
        sections.append(PlayerRuns(header, list(runs)))
    return sections


def end_at_the_link(board: Board, episodes: Episodes, journeys: Journeys) -> None:
    """End every journey by a click on the goal's link on the first page that has one, as every player would.

    Agents go by what links are worth, and may think more of another one.
    """
    keys = np.repeat(np.arange(board.nodes), board.forward.degrees()) * board.nodes + board.forward.indices
    wanted = journeys.nodes[:, :-1].astype(np.int64) * board.nodes + episodes.goals[:, None]
    at = np.searchsorted(keys, wanted)  # sorted, as the rows and the links within a row are
    linked = (keys[np.minimum(at, len(keys) - 1)] == wanted) & (journeys.nodes[:, :-1] >= 0)
    for episode in np.flatnonzero(linked.any(1)).tolist():
        nodes, choices, goal = journeys.nodes[episode], journeys.choices[episode], episodes.goals[episode]
        last = int(linked[episode].argmax())
        if last >= journeys.steps[episode] or nodes[last + 1] == goal:
            continue
        nodes[last + 1], nodes[last + 2 :] = goal, -1
        choices[last] = at[episode, last] - board.forward.indptr[nodes[last]]
        choices[last + 1 :] = ENDED
        journeys.steps[episode], journeys.success[episode] = last + 1, True
        links = choices[: last + 1] != BACK
        journeys.looped[episode] &= len(np.unique(journeys.path(episode)[1:][links])) < links.sum()
