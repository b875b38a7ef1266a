"""How well an agent did: success, SPL, steps, loops, failures beside the reference's (sec. 5.2).

All rates lie between 0 and 1. SPL is success weighted by the shortest path's length over the path's taken.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, Int32s, Int64s, Integers
from linkwalk.evaluate.intervals import failure_ratio, failure_ratio_interval, wilson
from linkwalk.navigate import Journeys

_QUANTILES = 4


@dataclass(frozen=True, kw_only=True)
class Share:
    """Success in some of the episodes: those whose distance, or in-degree, is from ``low`` to ``high``."""

    low: int
    high: int
    episodes: int
    success: float
    success_ci95: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """One agent on one task."""

    episodes: int
    success: float
    success_ci95: tuple[float, float]
    spl: float
    mean_steps: float | None
    """Mean length of the successful journeys; None if there are none."""
    mean_distance: float
    """Mean length of the shortest paths, over all episodes."""
    loop_rate: float
    """Share of journeys in which a click led to a page seen before."""
    failure_ratio: float | None
    failure_ratio_ci95: tuple[float, float] | None
    by_distance: tuple[Share, ...]
    by_in_degree: tuple[Share, ...]
    """By quarters of the goals' in-degrees; goals of one in-degree stay together."""

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk eval --json`` prints it."""
        return asdict(self)


def score(
    journeys: Journeys,
    distances: Int32s,
    in_degrees: Int64s,
    reference: Journeys | None,
    rng: np.random.Generator,
) -> Scores:
    """Score a batch, given its true distances, its goals' in-degrees and the reference's journeys, if any."""
    success, steps = journeys.success, journeys.steps
    count = len(success)
    wins = int(success.sum())
    # A goal that no path leads to (distance -1) is never reached; then the weight does not matter.
    weights = distances / np.maximum(np.maximum(steps, distances), 1)
    return Scores(
        episodes=count,
        success=wins / max(count, 1),
        success_ci95=wilson(wins, count),
        spl=float(np.where(distances == 0, success, success * weights).mean()) if count else 0.0,
        mean_steps=float(steps[success].mean()) if wins else None,
        mean_distance=float(distances.mean()) if count else 0.0,
        loop_rate=float(journeys.looped.mean()) if count else 0.0,
        failure_ratio=None if reference is None else failure_ratio(success, reference.success),
        failure_ratio_ci95=(
            None if reference is None else failure_ratio_interval(success, reference.success, rng)
        ),
        by_distance=_shares(success, distances, distances),
        by_in_degree=_shares(success, in_degrees, quarters(in_degrees)),
    )


def quarters(values: Integers) -> Int64s:
    """Which quarter of the sorted values each belongs to; equal values share the lowest of theirs."""
    if not len(values):
        return np.zeros(0, np.int64)
    ranks = np.searchsorted(np.sort(values), values, side="left")
    return ranks * _QUANTILES // len(values)


def _shares(success: Bools, values: Integers, groups: Integers) -> tuple[Share, ...]:
    """Success in each group, in ascending order."""
    shares = []
    for group in np.unique(groups).tolist():  # a handful
        own = groups == group
        wins, count = int(success[own].sum()), int(own.sum())
        shares.append(
            Share(
                low=int(values[own].min()),
                high=int(values[own].max()),
                episodes=count,
                success=wins / count,
                success_ci95=wilson(wins, count),
            )
        )
    return tuple(shares)
