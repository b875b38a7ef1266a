"""What each idea bought: policies that differ in one setting, trained on one half and walked on the other.

python runs/ablations.py HALVES [--updates N] [--episodes N] [--steps 5,10,20] [--only LABEL ...] [--json OUT]

HALVES is a folder from ``linkwalk split`` with both halves embedded, or a workspace, which is split. A row is a recipe
with some settings, as ``linkwalk train --set`` takes them; to add one, add a line to ROWS. Policies and results are
kept in HALVES, so a run that was stopped goes on where it was, and a new row costs its own training alone. What the
graph's density bought is seen by running the same rows on the halves of a wiki built with ``--no-entity-links``.
"""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.evaluate import TaskConfig
from linkwalk.navigate import REFERENCE
from linkwalk.progress import Progress
from linkwalk.reproduce.halves import open_halves
from linkwalk.reproduce.runner import Contender, Runner


class Row(NamedTuple):
    """One policy, or one baseline."""

    idea: str
    """What it varies."""
    label: str
    recipe: str
    """Of the policy; empty: the label is a baseline's name."""
    settings: tuple[str, ...] = ()
    revisit: bool = False
    map: bool = True

    def contender(self, more: tuple[str, ...]) -> Contender:
        """Who walks."""
        if not self.recipe:
            return Contender(baseline=self.label)
        settings = (*self.settings, *more)
        return Contender(recipe=self.recipe, settings=settings, revisit=self.revisit, map=self.map)


#: The head of ours, cloned from others' walks.
OTHERS = ("edge_dropout=0.5", "steps=20")
ROWS = (
    Row("", REFERENCE, ""),
    Row("", "greedy", ""),
    Row("ours", "compass and map, on its own walks", "ours"),
    Row("map", "greedy-map", ""),
    Row("map", "compass without the map", "ours", map=False),
    Row("walks", "compass and map, forward walks", "ours", ("walks=forward", *OTHERS)),
    Row("walks", "compass and map, shortcut walks", "ours", ("walks=shortcut", *OTHERS)),
    Row("walks", "compass and map, shortest paths", "ours", ("walks=shortest", *OTHERS)),
    Row("half-way back", "compass and map, all of what was learned", "ours", ("trust=1",)),
    Row("dropout", "compass and map, no feature dropout", "ours", ("head.dropout=0",)),
    Row("walks", "residual, shortcut walks", "residual"),
    Row("walks", "residual, forward walks", "residual", ("walks=forward",)),
    Row("walks", "residual, reverse walks", "residual", ("walks=reverse",)),
    Row("walks", "residual, shortest paths", "residual", ("walks=shortest",)),
    Row("head", "feed-forward, shortcut walks", "residual", ("head.head=feedforward",)),
    Row("head", "MLP of appendix B.1, shortcut walks", "residual", ("head.head=mlp",)),
    Row("residual start", "residual, begun without the cosine", "residual", ("head.temperature=0",)),
    Row("visited bit", "residual, visited bit hidden", "residual", ("head.visited=false",)),
    Row("dropout", "residual, no edge dropout", "residual", ("edge_dropout=0",)),
    Row("never revisit", "residual, may revisit", "residual", (), True),
)


def main() -> None:
    """Train, walk, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("halves", type=Path)
    parser.add_argument("--embeddings", default="minilm")
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--updates", type=int, help="of every policy; default: the recipe's")
    parser.add_argument("--batch", type=int, help="walks an update; default: the recipe's")
    parser.add_argument("--steps", default="5,10,20")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", nargs="*", metavar="LABEL", help="rows by label or idea; default: all")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    progress = Progress()
    rows = [row for row in ROWS if not arguments.only or {row.label, row.idea} & {REFERENCE, *arguments.only}]
    runner = Runner(
        open_halves(arguments.halves, arguments.embeddings, progress),
        embeddings=arguments.embeddings,
        device=arguments.device,
        progress=progress,
    )
    chosen = {"updates": arguments.updates, "batch": arguments.batch, "seed": arguments.seed}
    more = tuple(f"{key}={value}" for key, value in chosen.items() if value is not None)
    contenders = [row.contender(more) for row in rows]
    cells: list[list[dict[str, Any]]] = [[] for _ in rows]
    for steps in map(int, arguments.steps.split(",")):
        task = TaskConfig(steps=steps, episodes=arguments.episodes, seed=arguments.seed)
        for line, cell in zip(cells, runner.measure(task, contenders), strict=True):
            line.append(cell)
    print(f"success % and failures / those of {REFERENCE} [95 %], T = {arguments.steps.replace(',', ' / ')}")
    for row, line in zip(rows, cells, strict=True):
        success = " / ".join(f"{100 * cell['success']:.1f}" for cell in line)
        ratios = " / ".join(_ratio(cell) for cell in line)
        print(f"| {row.idea} | {row.label} | {success} | {ratios} |", flush=True)
    if arguments.json:
        found = [{**row._asdict(), "cells": line} for row, line in zip(rows, cells, strict=True)]
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _ratio(cell: dict[str, Any]) -> str:
    ratio, interval = cell["failure_ratio"], cell["failure_ratio_ci95"]
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" + (f" [{interval[0]:.2f}-{interval[1]:.2f}]" if interval else "")


if __name__ == "__main__":
    main()
