"""Agents beside people, game by game.

A person's clicks are the links of the path that led from the start to the goal; pages that were left again by the back
button do not count against anybody. An agent wins a game if it arrives within its budget by fewer clicks than the
person, ties by as many, and loses otherwise. Where a person gave up, an agent that arrives wins, and nobody wins where
it does not.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, Int64s
from linkwalk.games.archive import PlayedGame
from linkwalk.games.play import Performance, PlayedPairs

_Z95 = 1.96


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
class AtDistance(GameOutcome):
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
    by_distance: tuple[AtDistance, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk games --json`` prints it."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class PeopleAt:
    """People on games whose shortest path has so many links."""

    distance: int
    games: int
    """Finished ones."""
    mean_clicks: float
    success: float | None
    """Share of the games that were finished; None where the archive has finished ones alone."""


@dataclass(frozen=True, kw_only=True)
class People:
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
    by_distance: tuple[PeopleAt, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk games --json`` prints it."""
        return asdict(self)


def people(
    finished: Sequence[PlayedGame], unfinished: Sequence[PlayedGame], pairs: PlayedPairs, budget: int
) -> People:
    """Count what people did."""
    links, clicks = _links(finished), _clicks(finished)
    distances, given_up = pairs.distances[pairs.finished], pairs.distances[pairs.unfinished]
    groups = []
    for distance in np.unique(distances).tolist():  # a handful
        own, others = distances == distance, int((given_up == distance).sum())
        groups.append(
            PeopleAt(
                distance=distance,
                games=int(own.sum()),
                mean_clicks=float(links[own].mean()),
                success=int(own.sum()) / (int(own.sum()) + others) if unfinished else None,
            )
        )
    total = len(finished) + len(unfinished)
    return People(
        games=len(finished),
        pairs=len(np.unique(pairs.finished)),
        optimal_mean=float(distances.mean()),
        human_mean=float(links.mean()),
        human_mean_with_back=float(clicks.mean()) if (clicks > links).any() else None,
        human_success=len(finished) / total if unfinished else None,
        human_success_30=int((links <= budget).sum()) / total if unfinished else None,
        unfinished=len(unfinished),
        by_distance=tuple(groups),
    )


def score_games(
    done: Performance, finished: Sequence[PlayedGame], unfinished: Sequence[PlayedGame], pairs: PlayedPairs
) -> GameScores:
    """Score one agent."""
    which = pairs.finished
    success, steps = done.journeys.success[which], done.journeys.steps[which].astype(np.int64)
    links, clicks, distances = _links(finished), _clicks(finished), pairs.distances[which]
    all_of_them = _outcome(success, steps, links)
    good = int((success & (steps <= links)).sum())
    played, won = np.unique(which), int(done.journeys.success[pairs.unfinished].sum())
    return GameScores(
        **all_of_them,
        agent=done.agent,
        success_ci95=_interval(success, which),
        wins_or_ties_ci95=_interval(success & (steps <= links), which),
        beats=all_of_them["wins"],
        pairs_success_30=float(done.journeys.success[played].mean()),
        pairs_wins_or_ties=_by_pair(success & (steps <= links), which),
        loops=float(done.journeys.looped[which].mean()),
        ms_a_game=1000 * done.seconds / max(1, len(pairs.starts)),
        with_unfinished=(good + won) / (len(finished) + len(unfinished)) if unfinished else None,
        with_back_clicks=(float((success & (steps <= clicks)).mean()) if (clicks > links).any() else None),
        by_distance=tuple(
            AtDistance(distance=distance, **_outcome(success[own], steps[own], links[own]))
            for distance in np.unique(distances).tolist()
            for own in [distances == distance]
        ),
    )


def _interval(good: Bools, which: Int64s) -> tuple[float, float]:
    """The share of good games at 95 %, where games of one pair count together: an agent plays them all alike."""
    share = good.mean()
    apart = np.bincount(which, good - share)
    width = _Z95 * float(np.sqrt((apart**2).sum())) / len(good)
    return max(0.0, float(share) - width), min(1.0, float(share) + width)


def _by_pair(good: Bools, which: Int64s) -> float:
    """The share of good games, the mean over the pairs."""
    counts = np.bincount(which)
    return float((np.bincount(which, good)[counts > 0] / counts[counts > 0]).mean())


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


def _links(games: Sequence[PlayedGame]) -> Int64s:
    return np.array([game.links for game in games], np.int64)


def _clicks(games: Sequence[PlayedGame]) -> Int64s:
    return np.array([game.clicks for game in games], np.int64)
