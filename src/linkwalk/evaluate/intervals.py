"""Intervals around rates and ratios, at 95 %."""

import numpy as np

from linkwalk.arrays import Bools

_Z = 1.959963984540054
_RESAMPLES = 10_000


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
