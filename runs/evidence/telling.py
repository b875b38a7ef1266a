"""Tables of what was measured, in %, with intervals by drawing questions anew."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from fitting import auc, calibration
from world import World

DRAWS = 2000
MANY = 300
"""Sets of so many questions are compared one by one."""


def table(folder: Path, world: World) -> None:
    """Recall of every way on every set, what the default gains, when it stops, and how sure it was."""
    found = {path.stem: dict(np.load(path)) for path in sorted(folder.glob("*.npz"))}
    sets = [n for n in found if not n.endswith("-deleted") and not n.startswith("foreign")]
    ways = [key for key in found[sets[0]] if key != "group"]
    for place, at in enumerate((1, 5)):
        print(f"recall@{at}")
        for way in (*ways, "SEEN"):
            name, column = ("default", 2) if way == "SEEN" else (way, place)
            cells = [f"{100 * found[n][name][:, column].mean():7.1f}" for n in sets]
            print(way.ljust(24), *cells)
    print("sets:", *(f"{n} ({len(found[n]['group'])})" for n in sets))
    others = [way for way in ways if way not in ("default", "default, reader", "stops", "stops, reader")]
    for place, at in enumerate((1, 5)):
        print(f"the default beside others, recall@{at}")
        for way in others:
            gains = [found[n]["default"][:, place] - found[n][way][:, place] for n in sets]
            own = [f"{n} {interval(g)}" for n, g in zip(sets, gains, strict=True) if len(g) >= MANY]
            print(f"{way}: all {interval(np.concatenate(gains))}, by set {evenly(gains)};", ", ".join(own))
    for n in sets:
        for group in np.unique(found[n]["group"]).tolist():
            own = found[n]["group"] == group
            row = {w: round(100 * float(found[n][w][own, 1].mean()), 1) for w in ways if "reader" not in w}
            print(f"{n} {group} ({own.sum()}), recall@5:", json.dumps(row))
    for n in sets:
        stops, whole = found[n]["stops"], found[n]["default"]
        change = interval(stops[:, 1] - whole[:, 1])
        print(f"{n} stops after {stops[:, 3].mean():.1f} blocks, recall@5 {change}")
    print("blocks until it stops, all:", np.concatenate([found[n]["stops"][:, 3] for n in sets]).mean())
    sure(found, world)


def interval(gains: np.ndarray) -> str:
    """A mean with 95 %."""
    rng = np.random.default_rng(0)
    means = [gains[rng.integers(len(gains), size=len(gains))].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{100 * gains.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def evenly(gains: list[np.ndarray]) -> str:
    """The mean over sets, each counting as much."""
    rng = np.random.default_rng(0)
    means = [np.mean([g[rng.integers(len(g), size=len(g))].mean() for g in gains]) for _ in range(DRAWS)]
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{100 * np.mean([g.mean() for g in gains]):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def sure(found: dict[str, Any], world: World) -> None:
    """How well it knows when there is nothing."""
    path = world.out / f"weights{world.seed}.json"
    nothing = json.loads(path.read_text())["nothing"]
    for name, own in found.items():
        if not name.endswith("-deleted"):
            said = (own["default"][:, 4] < nothing).mean()
            right = own["default"][:, 1] > 0
            held = (own["default"][right, 4] < nothing).mean() if right.any() else np.nan
            print(f"{name}: nothing here {100 * said:.1f} %, of those found {100 * held:.1f} %", end="; ")
            if right.any():
                there = own["default"][:, 4]
                print(f"AUC {auc(there, right):.3f}, calibration {calibration(there, right):.3f}")
            else:
                print()
    for name, gone in found.items():
        if name.endswith("-deleted"):
            there = found[name.removesuffix("-deleted")]
            chance = np.concatenate((there["default"][:, 4], gone["default"][:, 4]))
            with_it = np.arange(len(chance)) < len(there["default"])
            right = np.concatenate((there["default"][:, 1] > 0, np.zeros(len(gone["default"]), np.bool_)))
            print(f"{name}: AUC {auc(chance, with_it):.3f}, calibration {calibration(chance, right):.3f}")
            print(f"  AUC of found or not {auc(chance, right):.3f}")
