"""Agents beside people, game by game: what both did on the same pairs, who won, and a picture of it.

A person's clicks are the links of the path that led from the start to the goal; pages that were left again by the back
button do not count against anybody. An agent wins a game if it arrives within its budget by fewer clicks than the
person, ties by as many, and loses otherwise. Where a person gave up, an agent that arrives wins, and nobody wins where
it does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from linkwalk.arrays import Bools, Int32s, Int64s
from linkwalk.games.archive import Archive, Board, PlayedGame
from linkwalk.games.play import AgentGames
from linkwalk.games.runs import Header, Run, runs_of, write_runs
from linkwalk.graph.paths import ShortestPaths
from linkwalk.navigate import Episodes

_PARTS = 10
_TUNED = 0
"""The part, by a hash of the pair, that choices were made on."""
_Z95 = 1.96
_FEW = 10
"""Games below which a point of the picture says nothing."""


class PlayedPairs(NamedTuple):
    """Every pair that was played, once, and which of them each game is."""

    starts: Int64s
    goals: Int64s
    distances: Int32s
    """Links of the shortest path; -1 where there is none."""
    finished: Int64s
    """The pair of every finished game."""
    unfinished: Int64s
    links: Int64s
    """Of every finished game's path."""
    clicks: Int64s
    """The same, with those on the back button, and those they undid."""

    @classmethod
    def of(
        cls, board: Board, finished: Sequence[PlayedGame], unfinished: Sequence[PlayedGame]
    ) -> "PlayedPairs":
        """The pairs of some games."""
        both = np.array([(game.start, game.goal) for game in (*finished, *unfinished)], np.int64)
        pairs, which = np.unique(both.reshape(-1, 2), axis=0, return_inverse=True)
        starts, goals = np.ascontiguousarray(pairs.T)
        distances = ShortestPaths(board.forward, board.reverse).distances(starts, goals)
        known, given_up = np.split(which.reshape(-1), [len(finished)])
        counts = np.array([(game.links, game.clicks) for game in finished], np.int64).reshape(-1, 2)
        return cls(starts, goals, distances, known, given_up, *counts.T)

    def episodes(self) -> Episodes:
        """As agents take them; each pair's number is its place."""
        return Episodes.of(self.starts, self.goals)

    @property
    def back_clicks(self) -> bool:
        """Whether the archive has clicks on the back button."""
        return bool((self.clicks > self.links).any())


def part_of(archive: Archive, part: str) -> tuple[list[PlayedGame], list[PlayedGame]]:
    """Finished and unfinished games: all, or those of the pairs that choices were made on, or all others."""
    if part == "all":
        return archive.finished, archive.unfinished
    names = archive.board.names

    def mine(game: PlayedGame) -> bool:
        pair = f"{names[game.start]}\t{names[game.goal]}".replace(" ", "_")  # as the archive spells them
        return (crc32(pair.encode()) % _PARTS == _TUNED) == (part == "tuned")

    return list(filter(mine, archive.finished)), list(filter(mine, archive.unfinished))


def sample(games: Sequence[PlayedGame], count: int | None, seed: int) -> list[PlayedGame]:
    """Some of the games, drawn without putting back, in their order; all where they are not more."""
    if count is None or count >= len(games):
        return list(games)
    drawn: Int64s = np.random.default_rng(seed).choice(len(games), count, replace=False)
    return [games[at] for at in np.sort(drawn).tolist()]


@dataclass(frozen=True, kw_only=True)
class GameOutcome:
    """Some games of one agent."""

    games: int
    success_30: float
    """Share of the games in which the agent arrived within its budget."""
    mean_clicks: float | None
    """Of those; None if there are none."""
    wins: float
    ties: float
    losses: float
    wins_or_ties: float


@dataclass(frozen=True, kw_only=True)
class GamesAtDistance(GameOutcome):
    """Those whose shortest path has so many links."""

    distance: int


@dataclass(frozen=True, kw_only=True)
class GameScores(GameOutcome):
    """All finished games of one agent."""

    agent: str
    success_ci95: tuple[float, float]
    wins_or_ties_ci95: tuple[float, float]
    beats: float
    """The same as wins."""
    pairs_success_30: float
    """Share of the pairs, each counted once, however often it was played: four were played some thousand times."""
    pairs_wins_or_ties: float
    """Wins or ties, likewise: the mean over the pairs of the share of their games."""
    loops: float
    """Share of the games in which a click led to an article seen before."""
    ms_a_game: float
    with_unfinished: float | None
    """Wins or ties of all games, those that people gave up among them; None if there are none."""
    with_back_clicks: float | None
    """Wins or ties where people's clicks on the back button and what they led back from count; None if unknown."""
    by_distance: tuple[GamesAtDistance, ...]


@dataclass(frozen=True, kw_only=True)
class PeopleAtDistance:
    """People on games whose shortest path has so many links."""

    distance: int
    games: int
    """Finished ones."""
    mean_clicks: float
    success: float | None
    """Share of the games that were finished; None where the archive has finished ones alone."""


@dataclass(frozen=True, kw_only=True)
class PeopleScores:
    """What people did."""

    games: int
    pairs: int
    optimal_mean: float
    human_mean: float
    human_mean_with_back: float | None
    """With clicks on the back button, and those they undid; None where the archive does not have them."""
    human_success: float | None
    human_success_30: float | None
    """The same, where what took more than 30 clicks counts as not finished."""
    unfinished: int
    by_distance: tuple[PeopleAtDistance, ...]


def score_people(pairs: PlayedPairs, budget: int) -> PeopleScores:
    """Count what people did."""
    links, total = pairs.links, len(pairs.finished) + len(pairs.unfinished)
    distances, given_up = pairs.distances[pairs.finished], pairs.distances[pairs.unfinished]

    def share(count: int, other: int) -> float | None:
        return count / other if len(pairs.unfinished) else None

    return PeopleScores(
        games=len(links),
        pairs=len(np.unique(pairs.finished)),
        optimal_mean=float(distances.mean()),
        human_mean=float(links.mean()),
        human_mean_with_back=float(pairs.clicks.mean()) if pairs.back_clicks else None,
        human_success=share(len(links), total),
        human_success_30=share(int((links <= budget).sum()), total),
        unfinished=len(pairs.unfinished),
        by_distance=tuple(
            PeopleAtDistance(
                distance=distance,
                games=count,
                mean_clicks=float(links[distances == distance].mean()),
                success=share(count, count + int((given_up == distance).sum())),
            )
            for distance, count in _counted(distances)
        ),
    )


def score_games(done: AgentGames, pairs: PlayedPairs) -> GameScores:
    """Score one agent."""
    which, journeys, links = pairs.finished, done.journeys, pairs.links
    success, steps = journeys.success[which], journeys.steps[which].astype(np.int64)
    good, distances = success & (steps <= links), pairs.distances[which]
    outcome = _outcome(success, steps, links)
    won, total = int(journeys.success[pairs.unfinished].sum()), len(which) + len(pairs.unfinished)
    of_pair = np.bincount(which)
    played = of_pair > 0
    return GameScores(
        **outcome,
        agent=done.agent,
        success_ci95=_interval(success, which),
        wins_or_ties_ci95=_interval(good, which),
        beats=outcome["wins"],
        pairs_success_30=float(journeys.success[np.unique(which)].mean()),
        pairs_wins_or_ties=float((np.bincount(which, good)[played] / of_pair[played]).mean()),
        loops=float(journeys.looped[which].mean()),
        ms_a_game=1000 * done.seconds / max(1, len(pairs.starts)),
        with_unfinished=(int(good.sum()) + won) / total if len(pairs.unfinished) else None,
        with_back_clicks=float((success & (steps <= pairs.clicks)).mean()) if pairs.back_clicks else None,
        by_distance=tuple(
            GamesAtDistance(distance=distance, **_outcome(success[own], steps[own], links[own]))
            for distance, _ in _counted(distances)
            for own in [distances == distance]
        ),
    )


def _counted(values: Int32s) -> list[tuple[int, int]]:
    """Every value, ascending, and how often it is there."""
    each, counts = np.unique(values, return_counts=True)
    return list(zip(each.tolist(), counts.tolist(), strict=True))


def _interval(good: Bools, which: Int64s) -> tuple[float, float]:
    """The share of good games at 95 %, where games of one pair count together: an agent plays them all alike."""
    share = good.mean()
    apart = np.bincount(which, good - share)
    width = _Z95 * float(np.sqrt((apart**2).sum())) / len(good)
    return max(0.0, float(share) - width), min(1.0, float(share) + width)


def _outcome(success: Bools, steps: Int64s, links: Int64s) -> dict[str, Any]:
    wins, ties = success & (steps < links), success & (steps == links)
    return {
        "games": len(success),
        "success_30": float(success.mean()),
        "mean_clicks": float(steps[success].mean()) if success.any() else None,
        "wins": float(wins.mean()),
        "ties": float(ties.mean()),
        "losses": float(1 - wins.mean() - ties.mean()),
        "wins_or_ties": float((wins | ties).mean()),
    }


def write_games(
    path: Path,
    board: Board,
    at: Path,
    budget: int,
    games: Iterable[PlayedGame],
    pairs: PlayedPairs,
    done: Sequence[AgentGames],
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


def plot_games(found: PeopleScores, results: Sequence[GameScores], snapshot: str, path: Path) -> Path:
    """Draw clicks by distance on the left, wins, ties and losses on the right."""
    from linkwalk.graph.plots import FILL, INK, MARK, blank_figure, save_figure

    colours = (FILL, MARK, "#6b9a5b", "#8d6cab", "#b08b3e", "#5d6b78")
    figure, (clicks, outcomes) = blank_figure(f"{snapshot}: {found.games:,} games of people", 2)
    shown = [at for at in found.by_distance if at.games >= _FEW]
    distances = [at.distance for at in shown]
    clicks.plot(distances, distances, ":", color=INK, linewidth=1.2, label="shortest path")
    clicks.plot(distances, [at.mean_clicks for at in shown], "o--", color=INK, linewidth=1.6, label="people")
    for result, colour in zip(results, colours, strict=False):
        own = {at.distance: at.mean_clicks for at in result.by_distance if at.mean_clicks is not None}
        at = [distance for distance in distances if distance in own]
        clicks.plot(at, [own[d] for d in at], "o-", color=colour, linewidth=1.6, label=result.agent)
    clicks.set(xlabel="Links of the shortest path", ylabel="Mean clicks of games that arrived")
    clicks.set_title("Clicks by distance", loc="left")
    clicks.set_xticks(distances)
    clicks.legend(frameon=False, fontsize=9)
    rows = range(len(results))
    left = [0.0] * len(results)
    for name, colour in (("wins", FILL), ("ties", "#b9cfe2"), ("losses", MARK)):
        shares = [100 * getattr(result, name) for result in results]
        bars = outcomes.barh(rows, shares, left=left, color=colour, label=name, height=0.6)
        labels = [f"{share:.0f}" if share >= 4 else "" for share in shares]
        outcomes.bar_label(bars, labels, label_type="center", fontsize=9)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    outcomes.set_yticks(rows, [result.agent for result in results])
    outcomes.invert_yaxis()
    outcomes.set(xlabel="% of the games", xlim=(0, 100))
    outcomes.set_title("Against the person who played", loc="left")
    outcomes.legend(frameon=False, fontsize=9, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return save_figure(figure, path)
