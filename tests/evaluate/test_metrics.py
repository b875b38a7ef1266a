"""Metrics against cases worked out by hand, and intervals against brute force."""

import numpy as np
import pytest
from scipy import stats

from linkwalk.evaluate import failure_ratio, failure_ratio_interval, score, wilson
from linkwalk.evaluate.metrics import quarters
from linkwalk.navigate import Journeys


def journeys(
    success: list[bool], steps: list[int] | None = None, looped: list[bool] | None = None
) -> Journeys:
    blank = Journeys.blank(len(success), 100)
    blank.success[:] = success
    blank.steps[:] = steps if steps is not None else 1
    blank.looped[:] = looped if looped is not None else False
    return blank


@pytest.mark.parametrize(("wins", "count"), [(0, 10), (10, 10), (3, 10), (901, 1000), (1, 1)])
def test_wilson_is_scipys(wins: int, count: int) -> None:
    low, high = stats.binomtest(wins, count).proportion_ci(method="wilson")
    assert wilson(wins, count) == pytest.approx((low, high))


def test_wilson_of_nothing_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_scores_by_hand() -> None:
    done = journeys([True, True, False, True], [2, 10, 100, 4], [False, True, True, False])
    reference = journeys([True, False, False, True])
    distances = np.array([2, 5, 3, 1], np.int32)
    found = score(done, distances, np.array([1, 9, 4, 2]), reference, np.random.default_rng(0))
    assert found.success == 0.75
    assert found.spl == pytest.approx((2 / 2 + 5 / 10 + 0 + 1 / 4) / 4)
    assert found.mean_steps == pytest.approx(16 / 3)
    assert found.mean_distance == 2.75
    assert found.loop_rate == 0.5
    assert found.failure_ratio == 0.5
    assert [(s.low, s.high, s.episodes, s.success) for s in found.by_distance] == [
        (1, 1, 1, 1),
        (2, 2, 1, 1),
        (3, 3, 1, 0),
        (5, 5, 1, 1),
    ]
    assert [(s.low, s.success) for s in found.by_in_degree] == [(1, 1), (2, 1), (4, 0), (9, 1)]


def test_nothing_reached_has_no_mean_steps() -> None:
    found = score(
        journeys([False, False]),
        np.array([1, 2], np.int32),
        np.array([1, 1]),
        None,
        np.random.default_rng(0),
    )
    assert (found.success, found.spl, found.mean_steps) == (0, 0, None)
    assert (found.failure_ratio, found.failure_ratio_ci95) == (None, None)
    assert [(s.low, s.high, s.episodes) for s in found.by_in_degree] == [(1, 1, 2)]


def test_quarters_hold_a_quarter_each_and_never_part_equals() -> None:
    assert np.bincount(quarters(np.random.default_rng(0).permutation(400))).tolist() == [100] * 4
    assert quarters(np.array([1, 1, 1, 5])).tolist() == [0, 0, 0, 3]
    assert quarters(np.zeros(0, np.int64)).tolist() == []


def test_failure_ratio_of_the_reference_to_itself_is_one() -> None:
    success = np.random.default_rng(1).random(500) < 0.8
    assert failure_ratio(success, success) == 1
    assert failure_ratio_interval(success, success, np.random.default_rng(0)) == (1, 1)


def test_a_reference_that_never_fails_gives_no_ratio() -> None:
    all_won, one_lost = np.ones(5, np.bool_), np.array([True] * 4 + [False])
    assert failure_ratio(one_lost, all_won) is None
    assert failure_ratio_interval(one_lost, all_won, np.random.default_rng(0)) is None
    # One failure of the reference in five is missing from every third resample: no upper end.
    assert failure_ratio(one_lost, np.roll(one_lost, 1)) == 1
    assert failure_ratio_interval(one_lost, np.roll(one_lost, 1), np.random.default_rng(0)) is None


def test_the_interval_is_that_of_resampled_episodes() -> None:
    rng = np.random.default_rng(4)
    reference = rng.random(400) < 0.7
    ours = reference ^ (rng.random(400) < 0.15)
    ratios = []
    for _ in range(4000):
        at = rng.integers(400, size=400)
        ratios.append((~ours[at]).sum() / (~reference[at]).sum())
    expected = np.quantile(ratios, [0.025, 0.975])
    found = failure_ratio_interval(ours, reference, np.random.default_rng(0))
    assert found == pytest.approx(expected, abs=0.02)
    unpaired = failure_ratio_interval(ours, rng.permutation(reference), np.random.default_rng(0))
    assert found is not None
    assert unpaired is not None
    assert found[1] - found[0] < 0.8 * (unpaired[1] - unpaired[0]), "pairs must narrow the interval"
