"""The learned map that ships: trained from several seeds, and walked beside the constants where it has never been.

    python runs/learned_map.py WIKIS --out DIR

WIKIS is a folder of workspaces. Tables that are missing are made: ``words`` by every core, MiniLM by a GPU. Maps are
trained as ``linkwalk train-map`` trains them, and written as DIR/map-SEED.json; who walked how goes to DIR/rows.json.
"""

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.store import names
from linkwalk.evaluate import TaskConfig, draw_episodes, failure_ratio_interval
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.navigate import unit_rows
from linkwalk.navigate.map_walkers import MapWalker
from linkwalk.navigate.trained_map import read_map
from linkwalk.progress import Progress
from linkwalk.settings import with_settings

TRAINED = ["train", "mdn", "webplatform", "freecad", "kubernetes", "handbook", "jargon"]
UNSEEN = ["eval", "computing", "latw", "dotnet", "modwiki"]
STEPS = (5, 10, 20)
CORES = os.cpu_count() or 2
AT_ONCE = 4
"""Wikis whose word tables are made at once; each takes several cores."""


def add_words(wiki: Path) -> str:
    """Make a wiki's word table."""
    start = time.time()
    embed(wiki, EmbedConfig(encoder="words"), device="cpu")
    return f"words of {wiki.name}: {time.time() - start:.0f} s"


class Tables:
    """Graphs, and tables of unit length by wiki and name."""

    def __init__(self, folder: Path, wikis: list[str]) -> None:
        self.graphs = {wiki: Graph.open(folder / wiki) for wiki in wikis}
        missing = [folder / wiki for wiki in wikis if "words" not in names(folder / wiki)]
        with ProcessPoolExecutor(AT_ONCE) as pool:
            for line in pool.map(add_words, missing):
                print(line, flush=True)
        self.units = {(wiki, "words"): self._opened(folder, wiki, "words") for wiki in wikis}
        unread = [wiki for wiki in wikis if "minilm" not in names(folder / wiki)]
        self.units |= {
            (wiki, "minilm"): self._opened(folder, wiki, "minilm") for wiki in wikis if wiki not in unread
        }
        if unread:
            from encoders import World

            world = World(folder, unread)
            self.units |= {
                (wiki, "minilm"): unit_rows(table) for wiki, table in zip(unread, world.plain, strict=True)
            }

    def _opened(self, folder: Path, wiki: str, name: str) -> Any:
        return unit_rows(Embeddings.open(folder / wiki, name, self.graphs[wiki]).vectors)


def train(tables: Tables, wikis: list[str], seed: int, settings: list[str]) -> Any:
    """A map of both tables of the wikis, which all count alike."""
    from linkwalk.learn.maps.fit import MapTrainingConfig
    from linkwalk.learn.maps.training import train_map
    from linkwalk.learn.maps.walks import MapWalks

    worlds = [(wiki, name) for wiki in wikis for name in ("minilm", "words")]

    def opened(wiki: str, name: str) -> MapWalks:
        graph = tables.graphs[wiki]
        length = graph.article_length
        return MapWalks(graph.forward, graph.reverse, tables.units[wiki, name], length=length, workers=CORES)

    config = with_settings(MapTrainingConfig(seed=seed), settings)
    told = {"on": [{"wiki": wiki, "embeddings": ["minilm", "words"]} for wiki in wikis]}
    openings = [partial(opened, *world) for world in worlds]
    return train_map(openings, [0.5] * len(worlds), config, told, Progress(quiet=True))


def walk(tables: Tables, wiki: str, name: str, maps: dict[str, Any], config: TaskConfig) -> dict[str, Any]:
    """Who reached the goals of one task, and how directly; ``greedy-map`` has the constants alone."""
    graph = tables.graphs[wiki]
    drawn = draw_episodes(graph.forward, graph.reverse, config)
    distances = ShortestPaths(graph.forward, graph.reverse).distances(drawn.starts, drawn.goals)
    found = {}
    for agent, trained in {"greedy-map": None, **maps}.items():
        walker = MapWalker(agent, graph.forward, tables.units[wiki, name], workers=CORES)
        if trained is not None:
            walker.weights = trained.on(graph.article_length)
        journeys = walker.run(drawn)
        found[agent] = journeys.success, journeys.success * distances / np.maximum(journeys.steps, distances)
    return found


def rows_of(wiki: str, name: str, steps: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each map, beside the constants on the same episodes."""
    base, base_spl = found["greedy-map"]
    rows = []
    for agent, (success, spl) in found.items():
        if agent != "greedy-map":
            ratio = float((~success).sum() / max(1, (~base).sum()))
            interval = failure_ratio_interval(success, base, np.random.default_rng(0))
            row: dict[str, Any] = {"wiki": wiki, "embeddings": name, "steps": steps, "agent": agent}
            row |= {
                "episodes": len(success),
                "success": float(success.mean()),
                "greedy-map": float(base.mean()),
            }
            row |= {"ratio": ratio, "ratio_ci95": interval}
            row |= {"spl": float(spl.mean()), "greedy-map spl": float(base_spl.mean())}
            rows.append(row)
            print(
                f"{wiki:12} {name:7} T={steps:4} {agent}: {100 * row['success']:.2f} % beside "
                f"{100 * row['greedy-map']:.2f} %, ratio {ratio:.3f} {interval}, "
                f"SPL {100 * row['spl']:.1f} beside {100 * row['greedy-map spl']:.1f}",
                flush=True,
            )
    return rows


def main() -> None:
    """Tables, maps, walks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wikis", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--train", nargs="+", default=TRAINED)
    parser.add_argument("--test", nargs="+", default=UNSEEN)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--episode-seed", type=int, default=20261118)
    parser.add_argument("--set", action="append", default=[], help="A setting of MapTraining.")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    start = time.time()
    tables = Tables(args.wikis, list(dict.fromkeys([*args.train, *args.test])))
    print(f"tables: {time.time() - start:.0f} s", flush=True)
    maps = {}
    for seed in args.seeds:
        path = args.out / f"map-{seed}.json"
        if not path.exists():
            path.write_bytes(train(tables, args.train, seed, args.set).to_bytes())
        maps[f"seed {seed}"] = made = read_map(path)
        print(
            f"map {seed}: at {time.time() - start:.0f} s, held: {made.trained['held']}, up to {made.longest:.1f}",
            flush=True,
        )
    rows = []
    for wiki in args.test:
        for name in ("minilm", "words"):
            parts = []
            for steps in STEPS:
                config = TaskConfig(steps=steps, episodes=args.episodes, seed=args.episode_seed)
                parts.append(walk(tables, wiki, name, maps, config))
                rows += rows_of(wiki, name, str(steps), parts[-1])
            together = {
                agent: tuple(np.concatenate([part[agent][i] for part in parts]) for i in range(2))
                for agent in parts[0]
            }
            rows += rows_of(wiki, name, "all", together)
            (args.out / "rows.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
            print(f"at {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
