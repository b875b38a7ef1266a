"""A learned map from start to end: walks are drawn, its weights are found from them, and walk anew.

Worlds are opened one after the other and let go again, so that memory is for one table and the lessons alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.random import default_rng

from linkwalk.arrays import Bools, Float32s
from linkwalk.learn.maps.fit import MapTrainingConfig, fit_forecast, fit_weights, ranges_of
from linkwalk.learn.maps.walks import Lessons, MapWalks
from linkwalk.navigate.map_sights import OF_LINKS
from linkwalk.navigate.trained_map import CLICKS, Forecast, TrainedMap, quantile, within_clicks
from linkwalk.progress import Progress

EARLY = 100
"""Steps after which nobody walks on."""
BETTER = 0.9
"""A map is better where it fails so many times as often as the constants, or less."""
World = Callable[[], MapWalks]
"""Opens a graph with a table."""


def train_map(
    worlds: Sequence[World],
    shares: Sequence[float],
    config: MapTrainingConfig,
    trained: dict[str, Any],
    progress: Progress,
) -> TrainedMap:
    """Train a map on worlds, each with its share of the weight; ``trained`` is kept with it."""
    weights = np.zeros(len(OF_LINKS), np.float32)
    lessons: list[list[Lessons]] = [[] for _ in worlds]
    held, rows = [False for _ in worlds], []

    def draw(number: int) -> list[Lessons]:
        found = []
        with progress.stage(f"walks, round {number + 1}", len(worlds), "tables") as stage:
            for at, world in enumerate(worlds):
                rng, opened = default_rng((config.seed, number, at)), world()
                found.append(opened.draw(config.walks, rng, weights, picks=config.picks, links=config.links))
                if 0 < number < config.rounds and not held[at]:
                    own, constants = opened.failures(config.trials, rng, weights)
                    held[at] = own > constants
                stage.advance()
        return found

    for number in range(config.rounds):
        for known, new in zip(lessons, draw(number), strict=True):
            known.append(new)
        joined = [Lessons.joined(known) for known in lessons]
        weights, loss = fit_weights(joined, list(shares), held, config)
        steps = sum(len(part.counts) for known in lessons for part in known)
        rows.append({"round": number + 1, "steps": steps, "loss": loss})
    lengths, better = [], []
    for at, world in enumerate(worlds):
        opened, rng = world(), default_rng((config.seed, config.rounds, at))
        own, constants = opened.failures(config.trials, rng, weights)
        if constants:  # where nothing fails, nothing tells
            lengths.append(opened.article_length)
            better.append(own < BETTER * constants)
    seen, kept = (_early(Lessons.joined(draw(config.rounds + more))) for more in range(2))
    forecast = fit_forecast(seen, config)
    truth = how_true(forecast, seen, kept)
    rounds = {"config": asdict(config), "rounds": rows, "held": held, "better": better, "forecast": truth}
    return TrainedMap(weights, forecast, trained | rounds, longest_articles(lengths, better))


def longest_articles(lengths: Sequence[float], better: Sequence[bool]) -> float:
    """Up to which length of articles the map is better: the bound that most worlds agree with, half-way to the next."""
    order = np.argsort(lengths, kind="stable")
    sorted_, wins = np.array(lengths, np.float64)[order], np.array(better, np.bool_)[order]
    # So many of the shortest are walked by the map, and the others by the constants.
    agree = [int(wins[:some].sum() + (~wins[some:]).sum()) for some in range(len(wins) + 1)]
    # No bound lies between two tables of one wiki.
    ties = [0 < some < len(wins) and sorted_[some - 1] == sorted_[some] for some in range(len(agree))]
    some = int(np.argmax(np.where(ties, -1, agree)))
    if some == len(wins) and some:
        return float("inf")
    return float(np.sqrt(sorted_[some - 1] * sorted_[some])) if some else 0.0


def _early(lessons: Lessons) -> Lessons:
    """The steps that anybody asks a forecast for, and from which there was something to go for."""
    return lessons.some((lessons.steps < EARLY) & (lessons.counts > 0))


def how_true(forecast: Forecast, seen: Lessons, kept: Lessons) -> dict[str, Any]:
    """How a forecast fares on walks kept from its training, beside one that always says how often each range was.

    ``off`` is how far, on average, what is said to be likely within so many clicks is from what happens.
    """
    shares = np.bincount(ranges_of(seen.to_go), minlength=len(CLICKS) + 1) + 1.0
    chances, true = forecast.chances(kept.sights[:, 0]), ranges_of(kept.to_go)
    clicks = np.where(kept.to_go < 0, np.inf, kept.to_go)
    own = chances[np.arange(len(true)), true]
    return {
        "steps": len(true),
        "loss": float(-np.log(np.maximum(own, 1e-9)).mean()),
        "loss_of_shares": float(-np.log(shares / shares.sum())[true].mean()),
        "off": {str(k): _off(within_clicks(chances, k), clicks <= k) for k in CLICKS},
        "found_by": {
            str(q): float((clicks <= np.ceil(quantile(chances, q))).mean()) for q in (0.1, 0.25, 0.5)
        },
    }


def _off(said: Float32s, came: Bools) -> float:
    """Mean distance of what was said and what came, over tenths of the steps by what was said."""
    tenths = np.array_split(np.argsort(said, kind="stable"), 10)
    return float(
        sum(abs(said[own].mean() - came[own].mean()) * len(own) for own in tenths if len(own))
        / max(1, len(said))
    )
