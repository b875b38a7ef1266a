"""Encoders trained by the words of links (app. B.1): what each reading of the paper buys on a wiki that is not seen.

    python runs/spans.py TRAIN EVAL [--only NAME,...] [--set updates=600] [--episodes 10000] [--json rows.jsonl]

TRAIN and EVAL are workspaces, the second with plain embeddings (``--embeddings``). Every variant is trained on the one
and walks through the other: by the cosine of its vectors with a map and without, by its compass where it has one, and
by the words of links, as it was trained. Failures are a ratio to greedy-unvisited's with the plain embeddings on the
same episodes, with its paired interval.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from linkwalk.arrays import Float32s
from linkwalk.device import choose_device
from linkwalk.embed import Embeddings
from linkwalk.embed.block_tokens import BlockTokens
from linkwalk.embed.transformer import open_transformer
from linkwalk.evaluate import TaskConfig, draw_episodes, score
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.spans import SpanConfig, train_spans
from linkwalk.navigate import Agent, open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.compass import Compass
from linkwalk.policy.spans import SpanModel
from linkwalk.progress import Progress
from linkwalk.recipes import ENCODERS
from linkwalk.settings import with_settings

VARIANTS: dict[str, tuple[str, ...]] = {
    "spans": ("spans",),
    "adapter": ("spans", "rank=16", "learning_rate=5e-4", "pace=1"),
    "one phi": ("spans", "own_target=false"),
    "forward walks": ("spans", "walks=forward"),
    "own walks": ("spans", "walks=own"),
    "feed-forward": ("paper-spans-feedforward", "picks=4", "learning_rate=5e-5", "pace=10"),
    "hidden layer": ("paper-spans", "picks=4", "learning_rate=5e-5", "pace=10"),
    "the paper's rate": ("paper-spans-feedforward",),
}
"""A recipe and what is changed; all with as many updates."""


class Test:
    """Episodes on the unseen half, and the baseline's journeys."""

    def __init__(self, graph: Graph, plain: Float32s, episodes: int, seed: int, cores: int) -> None:
        self.graph, self.cores = graph, cores
        reference, paths = (
            self.baseline("greedy-unvisited", plain),
            ShortestPaths(graph.forward, graph.reverse),
        )
        self.tasks = []
        for steps in (5, 10, 20):
            drawn = draw_episodes(
                graph.forward, graph.reverse, TaskConfig(steps=steps, episodes=episodes, seed=seed)
            )
            distances = paths.distances(drawn.starts, drawn.goals)
            self.tasks.append((steps, drawn, distances, reference.run(drawn)))
        self.degrees = graph.reverse.degrees()

    def baseline(self, name: str, vectors: Float32s) -> Agent:
        """An agent that goes by the cosine."""
        return open_baseline(name, self.graph.forward, vectors, workers=self.cores)

    def agents(self, model: SpanModel, blocks: BlockTokens) -> Iterator[tuple[str, Agent, Float32s | None]]:
        """Who walks by what was trained, and the goals as it is shown them."""
        at_once = 1 << (16 if model.kinds.is_cuda else 12)
        table = model.table(self.graph, blocks, at_once, lambda _: None)
        vectors = unit_rows(table.vectors.float().cpu().numpy())
        goals = None if model.target is None else unit_rows(table.goals.float().cpu().numpy())
        yield "cosine", self.baseline("greedy-unvisited", vectors), None
        yield "cosine, map", self.baseline("greedy-map", vectors), None
        if isinstance(model.head, Compass):
            head = model.head
            yield (
                "compass, map",
                CompassWalker("compass", head, self.graph.forward, vectors, workers=self.cores),
                goals,
            )
        kinds = np.array(self.graph.out_kinds)
        yield "words of links", PolicyWalker("spans", model.head, self.graph.forward, kinds, table), None

    def rows(self, model: SpanModel, blocks: BlockTokens) -> Iterator[dict[str, Any]]:
        """Every agent on every task."""
        for name, agent, goals in self.agents(model, blocks):
            for steps, drawn, distances, baseline in self.tasks:
                shown = drawn if goals is None else drawn._replace(queries=goals[drawn.goals])
                journeys, rng = agent.run(shown), np.random.default_rng(0)
                found = score(journeys, distances, self.degrees[drawn.goals], baseline, rng)
                yield {
                    "agent": name,
                    "steps": steps,
                    "episodes": drawn.size,
                    "success": found.success,
                    "baseline": float(baseline.success.mean()),
                    "ratio": found.failure_ratio,
                    "ratio_ci95": found.failure_ratio_ci95,
                    "spl": found.spl,
                }


def trained(config: SpanConfig, graph: Graph, blocks: BlockTokens, args: argparse.Namespace) -> SpanModel:
    """One variant."""
    encoder = open_transformer(args.encoder, device="cpu", max_tokens=config.max_tokens)
    vectors = Embeddings.open(args.train, args.embeddings, graph).vectors if config.walks == "own" else None
    return train_spans(
        graph,
        encoder,
        config,
        vectors=vectors,
        blocks=blocks,
        device=args.device,
        progress=Progress(quiet=args.quiet),
    )


def main() -> None:
    """Train and walk."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path)
    parser.add_argument("eval", type=Path)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--embeddings", default="minilm")
    parser.add_argument("--only", help="variants, of " + ", ".join(VARIANTS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of every variant")
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=901, help="of the episodes")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="append rows here")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    args.device = str(choose_device(args.device))
    started = time.perf_counter()
    train, unseen = (Graph.open(wiki) for wiki in (args.train, args.eval))
    plain = unit_rows(Embeddings.open(args.eval, args.embeddings, unseen).vectors)
    test = Test(unseen, plain, args.episodes, args.seed, args.cores)
    names = [name.strip() for name in args.only.split(",")] if args.only else list(VARIANTS)
    tokenizer = open_transformer(args.encoder, device="cpu")
    read = {}
    for name in names:
        recipe, *changes = VARIANTS[name]
        settings = ("updates=600", "warmup=60", *changes, *args.set)
        config = with_settings(ENCODERS[recipe](tokenizer.width), settings)
        if (most := config.max_tokens) not in read:
            read[most] = [BlockTokens.read(graph, tokenizer.tokenizer, most) for graph in (train, unseen)]
        print(f"{time.perf_counter() - started:7.1f} s  {name}: {' '.join(settings)}", flush=True)
        began = time.perf_counter()
        model = trained(config, train, read[most][0], args)
        taken = time.perf_counter() - began
        rows = list(test.rows(model, read[most][1]))
        for at in range(0, len(rows), 3):
            three = rows[at : at + 3]
            ratios = " / ".join(f"{row['ratio']:.2f}" for row in three)
            success = " / ".join(f"{100 * row['success']:.1f}" for row in three)
            print(f"{three[0]['agent']:>16}  ratio {ratios}  success {success}", flush=True)
        print(f"{'':9}  {config.updates / taken:.1f} updates/s", flush=True)
        if args.json:
            with args.json.open("a") as file:
                for row in rows:
                    file.write(
                        json.dumps({"variant": name, "settings": settings, "seconds": taken, **row}) + "\n"
                    )
        del model
        if args.device.startswith("cuda"):
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
