"""Train on one half of a wiki, walk the other: baselines and policies on the same episodes.

python runs/navigate.py TRAIN EVAL --embeddings NAME --episodes 2000 --json OUT

TRAIN and EVAL are workspaces from ``linkwalk split``, both embedded. Prints success and failure ratio at T = 5, 10, 20.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from linkwalk.device import choose_device
from linkwalk.embed import Embeddings
from linkwalk.evaluate import TaskConfig, compare
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import clone
from linkwalk.navigate import REFERENCE, Baseline, BaselineConfig, unit_rows
from linkwalk.navigate.learned import Learned, LearnedConfig
from linkwalk.progress import Progress
from linkwalk.recipes import RECIPES, with_settings

#: Policies to train: name, recipe, settings, and whether it may revisit.
POLICIES = (
    ("paper, 6k updates", "paper", ("updates=6000",), True),
    ("the same, never revisit", "paper", ("updates=6000",), False),
    ("paper's head, shortcut walks", "paper", ("updates=6000", "walks=shortcut", "multistep=true"), False),
    ("residual, forward walks", "ours", ("walks=forward", "updates=4000"), False),
    ("residual, shortcut walks", "ours", ("updates=4000",), False),
    ("residual, no dropout", "ours", ("updates=4000", "edge_dropout=0"), False),
)


def main() -> None:
    """Train, evaluate, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path)
    parser.add_argument("eval", type=Path)
    parser.add_argument("--embeddings", default="minilm")
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=480, help="begin no further policy after this long")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    device, started = str(choose_device("auto")), time.monotonic()
    here, there = Graph.open(arguments.train), Graph.open(arguments.eval)
    table = Embeddings.open(arguments.train, arguments.embeddings, here)
    unseen = Embeddings.open(arguments.eval, arguments.embeddings, there)
    units = unit_rows(unseen.vectors)

    agents: dict[str, object] = {
        name: Baseline(BaselineConfig(name=name, depth=20), there.forward, units, workers=4)
        for name in ("random", "greedy", REFERENCE)
    }
    trained: dict[tuple[str, tuple[str, ...]], object] = {}
    for label, recipe, settings, revisit in POLICIES:
        if time.monotonic() - started > arguments.seconds:
            print(f"{label}: left out, no time", flush=True)
            continue
        if (recipe, settings) not in trained:
            config = with_settings(RECIPES[recipe](table.width), settings)
            before = time.monotonic()
            trained[recipe, settings] = clone(
                here.forward,
                here.reverse,
                np.array(here.out_kinds),
                table.vectors,
                config,
                device=device,
                progress=Progress(quiet=True),
            )
            print(f"{label}: {config.updates} updates in {time.monotonic() - before:.0f} s", flush=True)
        head = trained[recipe, settings]
        agents[label] = Learned(
            label,
            head,  # type: ignore[arg-type]
            there.forward,
            np.array(there.out_kinds),
            unseen.vectors,
            LearnedConfig(revisit=revisit),
        )
    rows = []
    for steps in (5, 10, 20):
        task = TaskConfig(
            task="navigation", steps=steps, sampling="forward", episodes=arguments.episodes, seed=0
        )
        for result in compare(there.forward, there.reverse, task, list(agents.values()), agents[REFERENCE]):  # type: ignore[arg-type]
            rows.append(
                result.to_json() | {"agent": next(n for n, a in agents.items() if a.name == result.agent)}
            )  # type: ignore[attr-defined]
    for name in agents:
        mine = [row for row in rows if row["agent"] == name]
        success = " / ".join(f"{100 * row['success']:.1f}" for row in mine)
        spl = " / ".join(f"{100 * row['spl']:.0f}" for row in mine)
        ratio = " / ".join(
            "-" if row["failure_ratio"] is None else f"{row['failure_ratio']:.2f}" for row in mine
        )
        print(f"{name:<32} success {success:<22} SPL {spl:<14} failure ratio {ratio}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
