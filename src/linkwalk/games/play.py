"""Agents on the pairs that people played, and on tasks."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.games.archive import Archive, PlayedGame
from linkwalk.games.board import Board
from linkwalk.games.runs import Header, Run, Section, runs_of, write_runs
from linkwalk.games.tasks import TaskFile
from linkwalk.graph.paths import ShortestPaths
from linkwalk.navigate import BACK, ENDED, Agent, Episodes, Journeys
from linkwalk.navigate.moves import MoveConfig
from linkwalk.wiki.workspace import Workspace

_PARTS = 10
TUNED = 0
"""The part, by a hash of the pair, that choices were made on."""


class PlayedPairs(NamedTuple):
    """Every pair that was played, once, and which of them each game is."""

    starts: Int64s
    goals: Int64s
    distances: Int32s
    """Links of the shortest path; -1 where there is none."""
    finished: Int64s
    """The pair of every finished game."""
    unfinished: Int64s

    @classmethod
    def of(
        cls, board: Board, finished: Sequence[PlayedGame], unfinished: Sequence[PlayedGame]
    ) -> "PlayedPairs":
        """The pairs of some games."""
        both = np.array([(game.start, game.goal) for game in (*finished, *unfinished)], np.int64)
        pairs, which = np.unique(both.reshape(-1, 2), axis=0, return_inverse=True)
        starts, goals = np.ascontiguousarray(pairs.T)
        distances = ShortestPaths(board.forward, board.reverse).distances(starts, goals)
        cut = len(finished)
        return cls(starts, goals, distances, which[:cut].reshape(-1), which[cut:].reshape(-1))

    def episodes(self) -> Episodes:
        """As agents take them; each pair's number is its place."""
        return Episodes.of(self.starts, self.goals)


class Performance(NamedTuple):
    """What an agent did on all pairs."""

    agent: str
    journeys: Journeys
    seconds: float


def perform(
    agent: Agent, episodes: Episodes, *, budget: int, seed: int = 0, board: Board | None = None
) -> Performance:
    """Let an agent play; the clock starts when its kernels are compiled.

    On a board, the goal's name is known to it, and it clicks on that where it sees it.
    """
    agent.run(episodes.part(0, 1), budget=1, seed=seed)
    begin = time.perf_counter()
    journeys = agent.run(episodes, budget=budget, seed=seed)
    if board is not None:
        end_at_the_link(board, episodes, journeys)
    return Performance(agent.name, journeys, time.perf_counter() - begin)


def play_tasks(
    wiki: Workspace, file: TaskFile, names: Sequence[str], ways: MoveConfig, seed: int
) -> list[Section]:
    """Agents on a task file, from block to block: what players from outside are compared with."""
    table = wiki.table_for(names)
    episodes = Episodes.of([task.start for task in file.tasks], [task.goal for task in file.tasks])
    sections = []
    for name in names:
        done = perform(wiki.agent(name, ways, table), episodes, budget=file.budget, seed=seed)
        header = Header.on(wiki.graph, wiki.folder, name, file.budget)
        runs = runs_of(wiki.graph, episodes, done.journeys, done.seconds / len(file.tasks))
        sections.append(Section(header, list(runs)))
    return sections


def write_games(
    path: Path,
    board: Board,
    at: Path,
    budget: int,
    games: Iterable[PlayedGame],
    pairs: PlayedPairs,
    done: Sequence[Performance],
) -> None:
    """People's games and agents' as runs, a header for each."""

    def of_person(game: PlayedGame) -> Run:
        clicks: list[str | int] = [board.name(node) for node in game.path[1:]]
        return Run(board.name(game.start), board.name(game.goal), clicks, game.finished, game.seconds)

    agents = (
        (
            Header.on(board, at, one.agent, budget, "article"),
            runs_of(board, pairs.episodes(), one.journeys, one.seconds / max(1, len(pairs.starts))),
        )
        for one in done
    )
    people = Header.on(board, at, "people", 0, "article")
    write_runs(path, [(people, map(of_person, games)), *agents])


def end_at_the_link(board: Board, episodes: Episodes, journeys: Journeys) -> None:
    """End every journey by a click on the goal's link on the first page that has one, as every player would.

    Agents go by what links are worth, and may think more of another one.
    """
    keys = np.repeat(np.arange(board.nodes), board.forward.degrees()) * board.nodes + board.forward.indices
    wanted = journeys.nodes[:, :-1].astype(np.int64) * board.nodes + episodes.goals[:, None]
    at = np.searchsorted(keys, wanted)  # sorted, as the rows and the links within a row are
    first = board.forward.indptr
    linked = (keys[np.minimum(at, len(keys) - 1)] == wanted) & (journeys.nodes[:, :-1] >= 0)
    for episode in np.flatnonzero(linked.any(1)).tolist():
        last = int(linked[episode].argmax())
        if last >= journeys.steps[episode] or journeys.nodes[episode, last + 1] == episodes.goals[episode]:
            continue
        journeys.nodes[episode, last + 1] = episodes.goals[episode]
        journeys.nodes[episode, last + 2 :] = -1
        journeys.choices[episode, last] = at[episode, last] - first[journeys.nodes[episode, last]]
        journeys.choices[episode, last + 1 :] = ENDED
        journeys.steps[episode], journeys.success[episode] = last + 1, True
        links = journeys.choices[episode, : last + 1] != BACK
        journeys.looped[episode] &= len(np.unique(journeys.path(episode)[1:][links])) < links.sum()


def part_of(archive: Archive, part: str) -> tuple[list[PlayedGame], list[PlayedGame]]:
    """Finished and unfinished games: all, or those of the pairs that choices were made on, or all others."""
    if part == "all":
        return archive.finished, archive.unfinished
    names = archive.board.names

    def mine(game: PlayedGame) -> bool:
        pair = f"{names[game.start]}\t{names[game.goal]}".replace(" ", "_")  # as the archive spells them
        return (crc32(pair.encode()) % _PARTS == TUNED) == (part == "tuned")

    return list(filter(mine, archive.finished)), list(filter(mine, archive.unfinished))


def sample(games: Sequence[PlayedGame], count: int | None, seed: int) -> list[PlayedGame]:
    """Some of the games, drawn without putting back, in their order; all where they are not more."""
    if count is None or count >= len(games):
        return list(games)
    drawn: Int64s = np.random.default_rng(seed).choice(len(games), count, replace=False)
    return [games[at] for at in np.sort(drawn).tolist()]
