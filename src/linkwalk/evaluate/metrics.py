"""How well an agent did: success, SPL, steps, loops, failures beside the reference's, with intervals (sec. 5.2).

All rates lie between 0 and 1, all intervals are at 95 %. SPL is success weighted by the shortest path's length over the
path's taken.
"""

from dataclasses import dataclass

import numpy as np

from linkwalk.arrays import Bools, Int32s, Int64s, Integers
from linkwalk.navigate import Journeys

_QUANTILES = 4
_Z = 1.959963984540054
_RESAMPLES = 10_000


@dataclass(frozen=True, kw_only=True)
class EpisodeGroup:
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
    by_distance: tuple[EpisodeGroup, ...]
    by_in_degree: tuple[EpisodeGroup, ...]
    """By quarters of the goals' in-degrees; goals of one in-degree stay together."""


def score(
    journeys: Journeys,
    distances: Int32s,
    in_degrees: Int64s,
    reference: Journeys | None,
    rng: np.random.Generator,
) -> Scores:
    """Score a batch, given its true distances, its goals' in-degrees and the reference's journeys, if any."""
    success, count = journeys.success, len(journeys.success)
    wins, ratio, interval = int(success.sum()), None, None
    if reference is not None:
        ratio = failure_ratio(success, reference.success)
        interval = failure_ratio_interval(success, reference.success, rng)
    return Scores(
        episodes=count,
        success=wins / max(count, 1),
        success_ci95=wilson(wins, count),
        spl=spl(success, journeys.steps, distances),
        mean_steps=float(journeys.steps[success].mean()) if wins else None,
        mean_distance=float(distances.mean()) if count else 0.0,
        loop_rate=float(journeys.looped.mean()) if count else 0.0,
        failure_ratio=ratio,
        failure_ratio_ci95=interval,
        by_distance=_shares(success, distances, distances),
        by_in_degree=_shares(success, in_degrees, quarters(in_degrees)),
    )


def spl(success: Bools, steps: Integers, distances: Int32s) -> float:
    """Success weighted by path length; 0 of nothing."""
    # A goal that no path leads to (distance -1) is never reached; then the weight does not matter.
    weights = distances / np.maximum(np.maximum(steps, distances), 1)
    return float(np.where(distances == 0, success, success * weights).mean()) if len(success) else 0.0


def quarters(values: Integers) -> Int64s:
    """Which quarter of the sorted values each belongs to; equal values share the lowest of theirs."""
    if not len(values):
        return np.zeros(0, np.int64)
    ranks = np.searchsorted(np.sort(values), values, side="left")
    return ranks * _QUANTILES // len(values)


def _shares(success: Bools, values: Integers, groups: Integers) -> tuple[EpisodeGroup, ...]:
    """Success in each group, in ascending order."""
    shares = []
    for group in np.unique(groups).tolist():  # a handful
        own = groups == group
        wins, count = int(success[own].sum()), int(own.sum())
        shares.append(
            EpisodeGroup(
                low=int(values[own].min()),
                high=int(values[own].max()),
                episodes=count,
                success=wins / count,
                success_ci95=wilson(wins, count),
            )
        )
    return tuple(shares)


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Wilson's score interval of a success rate; of nothing at all it is everything."""
    if count == 0:
        return 0.0, 1.0
    rate, z2 = successes / count, _Z * _Z
    middle = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z * (rate * (1 - rate) / count + z2 / (4 * count * count)) ** 0.5 / (1 + z2 / count)
    # Where all or none succeed, the bound is exact, and rounding must not put it beside.
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == count else middle + half
    return low, high


def failure_ratio(success: Bools, reference: Bools) -> float | None:
    """Failures of an agent divided by the reference's on the same episodes; None if that one never failed."""
    failed = int((~reference).sum())
    return int((~success).sum()) / failed if failed else None


def failure_ratio_interval(
    success: Bools, reference: Bools, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Paired bootstrap interval of the failure ratio; None where it has no upper end.

    An episode matters only by which of the two agents failed in it, so resampling episodes is drawing the counts of the
    four outcomes from a multinomial: exact, and no episode is touched.
    """
    count = len(success)
    if count == 0 or reference.all():
        return None
    outcomes = np.bincount(2 * ~success + 1 * ~reference, minlength=4)
    _, theirs, ours, both = rng.multinomial(count, outcomes / count, size=_RESAMPLES).T
    above, below = ours + both, theirs + both
    ratios = np.full(_RESAMPLES, np.inf)
    ratios[above == 0] = 0.0
    ratios[(above == 0) & (below == 0)] = 1.0  # no failure on either side: equals
    np.divide(above, below, out=ratios, where=below > 0)
    low, high = np.quantile(ratios, [0.025, 0.975], method="inverted_cdf").tolist()
    return (low, high) if np.isfinite(high) else None
