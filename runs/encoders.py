"""Trains encoders on some wikis and walks through others: what carries over, and what each idea bought.

    python runs/encoders.py WIKIS PLAN.json --out DIR

WIKIS is a folder of workspaces. A plan is a list of trainings, each with a ``name``, the workspaces to ``train`` on
and to ``test`` on, and settings of ``JointConfig`` (``set``), ``rank`` (0: the whole transformer), ``seed``,
``episodes``, ``maps``, the map's constants to walk with, ``variants``, how far and in how many directions the change is
taken (all of it, if there are none), ``withhold``, whether goals in some articles are not learned from, ``goals``, who
is tested (all, withheld, choosing), and what to keep: ``keep``, the policy, and ``tables``, of which wikis. Agents walk
while the next training is under way.
"""

import argparse
import copy
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.embed.model import find_model
from linkwalk.embed.text import goal_sentences, node_texts
from linkwalk.embed.tokens import Tokens
from linkwalk.evaluate import TaskConfig, draw_episodes, draw_sentences, score
from linkwalk.graph.held_out import WITHHELD, held_out_nodes
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.navigate import Episodes, unit_rows
from linkwalk.navigate.baselines import GreedyUnvisited
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.policy.compass import LinearCompass

CHOOSING = 0.1
"""Share of the articles that tell what is better on a wiki's own training, beside those that are reported."""
MAX_TOKENS = int(os.environ.get("TOKENS", "200"))
MODEL = os.environ.get("MODEL", "minilm")
CORES = os.cpu_count() or 2


def tokenise(workspace: str, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Token ids of some blocks, end to end, and their numbers."""
    tokens = Tokens.open(find_model(MODEL).path)
    rows = tokens.of_texts(node_texts(Graph.open(workspace), start, stop), MAX_TOKENS)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return np.fromiter((i for row in rows for i in row), np.int32, int(lengths.sum())), lengths


class World:
    """The wikis of a plan, read once."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.names, self.number = names, {name: i for i, name in enumerate(names)}
        self.graphs = [Graph.open(folder / name) for name in names]
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        pieces = [
            (str(folder / name), at, min(at + 8192, graph.nodes))
            for name, graph in zip(names, self.graphs, strict=True)
            for at in range(0, graph.nodes, 8192)
        ]
        with ProcessPoolExecutor(CORES) as pool:
            found = list(pool.map(tokenise, *zip(*pieces, strict=True)))
        import torch

        from linkwalk.embed.packed import TokenRows

        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.rows = []
        for name in names:
            own = [row for piece, row in zip(pieces, found, strict=True) if piece[0] == str(folder / name)]
            ids = np.concatenate([ids for ids, _ in own])
            bounds = np.concatenate(([0], np.cumsum(np.concatenate([lengths for _, lengths in own]))))
            self.rows.append(
                TokenRows(torch.from_numpy(ids).to(self.device), torch.from_numpy(bounds).to(self.device))
            )
        self.tokens = Tokens.open(find_model(MODEL).path)
        self.pool = ThreadPoolExecutor(2)
        self.baselines: dict[Any, Any] = {}
        from transformers import AutoModel

        from linkwalk.embed.transformer import FROM_DISK, silence

        with silence():
            model = AutoModel.from_pretrained(find_model(MODEL).path, dtype=torch.float32, **FROM_DISK)
        self.base = model.to(self.device)
        self.phi(names[:1], 0, trained=False).bert(self.rows[0].take(np.arange(64)))  # the GPU wakes up
        start = time.time()
        plain = self.phi(names, 0, trained=False)
        self.plain = [plain.table(i) for i in range(len(names))]
        blocks, taken = sum(map(len, self.rows)), time.time() - start
        tokens = sum(len(row.ids) for row in self.rows)
        print(
            f"plain tables: {blocks:,} blocks in {taken:.1f} s, {blocks / taken:,.0f}/s, {tokens / taken:,.0f} tokens/s"
        )
        self.reader = plain

    def phi(self, names: list[str], rank: int, *, trained: bool = True, batch_tokens: int = 1 << 18) -> Any:
        """MiniLM over some of the wikis."""
        import torch

        from linkwalk.learn.encoders.phi import BertPhi

        model = copy.deepcopy(self.base)
        half = (torch.bfloat16 if trained else torch.float16) if self.device == "cuda" else torch.float32
        rows = [self.rows[self.number[name]] for name in names]
        return BertPhi(model, rows, rank=rank, dtype=half, batch_tokens=batch_tokens)

    def sentences(self, graph: Graph) -> Any:
        """Draws a sentence of each of some blocks."""

        def draw(nodes: np.ndarray, rng: np.random.Generator) -> list[list[int]]:
            there = [goal_sentences(graph, node) for node in nodes.tolist()]
            return self.tokens.of_texts([own[rng.integers(len(own))] for own in there], MAX_TOKENS)

        return draw

    def read(self, phi: Any, texts: list[str]) -> np.ndarray:
        """Sentences as phi reads them, of unit length."""
        import torch

        from linkwalk.embed.packed import TokenRows

        rows = TokenRows.of(self.tokens.of_texts(texts, MAX_TOKENS), self.device)
        with torch.no_grad():
            found = [
                phi.bert(rows.take(np.arange(at, min(at + 2048, len(texts)))))
                for at in range(0, len(texts), 2048)
            ]
        return unit_rows(torch.cat(found).float().cpu().numpy())


def goals_of(graph: Graph, which: str) -> Any:
    """The blocks that may be goals: all, or those of articles that a wiki's own training withholds."""
    if which == "all":
        return None
    if which == "withheld":
        return held_out_nodes(graph, WITHHELD)
    return held_out_nodes(graph, CHOOSING, beyond=WITHHELD)


def task_of(world: World, plan: dict[str, Any], name: str, steps: int, task: str) -> Any:
    """Episodes of a task with their distances, and the baseline's journeys, walked once."""
    episodes, seed = plan.get("episodes", 2000), plan.get("test_seed", 901)
    goals = plan.get("goals", "all")
    key = (name, steps, episodes, seed, task, goals)
    if key not in world.baselines:
        number = world.number[name]
        graph, table = world.graphs[number], world.plain[number]
        config = TaskConfig(task=task, steps=steps, episodes=episodes, seed=seed)
        drawn = draw_episodes(graph.forward, graph.reverse, config, goals_of(graph, goals))
        distances = ShortestPaths(graph.forward, graph.reverse).distances(drawn.starts, drawn.goals)
        texts = draw_sentences(graph, drawn, config) if task == "sentence" else []
        shown = drawn._replace(queries=world.read(world.reader, texts)) if texts else drawn
        baseline = GreedyUnvisited("greedy-unvisited", graph.forward, table, MoveConfig(), workers=CORES).run(
            shown
        )
        world.baselines[key] = drawn, distances, texts, baseline
    return world.baselines[key]


def walked(
    world: World,
    plan: dict[str, Any],
    row: dict[str, Any],
    table: np.ndarray,
    direction: LinearCompass,
    queries: Any,
) -> dict[str, Any]:
    """One row: an agent on one task of one wiki."""
    name = row["wiki"]
    graph = world.graphs[world.number[name]]
    drawn, distances, _, baseline = task_of(world, plan, name, row["steps"], row["task"])
    ways = MoveConfig(map=MapConfig(**row["map"]))
    shown: Episodes = drawn if queries is None else drawn._replace(queries=queries)
    journeys = CompassWalker("trained", direction, graph.forward, table, ways, workers=CORES).run(shown)
    found = score(
        journeys, distances, graph.reverse.degrees()[drawn.goals], baseline, np.random.default_rng(0)
    )
    entered = graph.node_article[journeys.nodes] == graph.node_article[drawn.goals][:, None]
    entered &= journeys.nodes >= 0
    failed = ~journeys.success
    return row | {
        "success": found.success,
        "baseline": float(baseline.success.mean()),
        "ratio": found.failure_ratio,
        "ratio_ci95": found.failure_ratio_ci95,
        "spl": found.spl,
        "never_in_article": float(1 - entered[failed].any(1).mean()) if failed.any() else None,
    }


def evaluate(
    world: World,
    plan: dict[str, Any],
    tables: dict[str, np.ndarray],
    direction: LinearCompass,
    queries: dict[Any, Any],
    out: Path,
) -> list[dict[str, Any]]:
    """All rows of a training."""
    rows = []
    for name in plan["test"]:
        for map_ in plan.get("maps", [{}]):
            for task in plan.get("tasks", ["navigation"]):
                for steps in (5, 10, 20):
                    row = {"name": plan["name"], "wiki": name, "task": task, "steps": steps, "map": map_}
                    row |= {key: plan[key] for key in ("episodes", "test_seed", "goals") if key in plan}
                    asked = queries.get((name, steps, task))
                    rows.append(walked(world, plan, row, tables[name], direction, asked))
            with (out / "rows.jsonl").open("a") as file:
                for row in rows[-3 * len(plan.get("tasks", [1])) :]:
                    file.write(json.dumps(row) + "\n")
    for i in range(0, len(rows), 3):
        three = rows[i : i + 3]
        print(
            f"{plan['name']:>22} {three[0]['wiki']:>12} {three[0]['task'][:4]} {json.dumps(three[0]['map'])} "
            + " / ".join(f"{row['ratio'] or 0:.3f}" for row in three)
            + "  success "
            + " / ".join(f"{100 * row['success']:.1f}" for row in three)
            + " from "
            + " / ".join(f"{100 * row['baseline']:.1f}" for row in three)
            + "  SPL "
            + " / ".join(f"{100 * row['spl']:.0f}" for row in three)
            + "  never "
            + " / ".join(f"{row['never_in_article'] or 0:.2f}" for row in three),
            flush=True,
        )
    return rows


def run(world: World, plan: dict[str, Any], out: Path) -> Any:
    """One training; then its walks, in the background."""
    import torch

    from linkwalk.learn.encoders.joint import Joint, JointConfig
    from linkwalk.learn.encoders.lessons import Ground, LessonConfig
    from linkwalk.learn.encoders.wikis import save_joint
    from linkwalk.learn.loop import seeded, train

    names, seed = plan["train"], plan.get("seed", 0)
    settings = dict(plan.get("set", {}))
    lesson = LessonConfig(**settings.pop("lesson", {}))
    if "map" in settings:
        settings["map"] = MapConfig(**settings["map"])
    config = JointConfig(seed=seed, lesson=lesson, **settings)
    with seeded(seed, world.device):
        phi = world.phi([*names, *(name for name in plan["test"] if name not in names)], plan.get("rank", 0))
        grounds = [
            Ground(
                graph.forward,
                graph.reverse,
                graph.out_kinds,
                world.plain[world.number[name]].copy(),
                lesson,
                withheld=held_out_nodes(graph, WITHHELD + CHOOSING) if plan.get("withhold") else None,
                sentences=world.sentences(graph),
            )
            for name, graph in ((name, world.graphs[world.number[name]]) for name in names)
        ]
        joint = Joint(config, phi, grounds, torch.device(world.device))
        start = time.time()
        folder = out / plan["name"]
        train(joint, folder=folder, job={})
        taken = time.time() - start
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    terms = ", ".join(
        f"{name} {last[name]:.3f}" for name in ("loss", "accuracy", "step", "wiki", "sentence", "search")
    )
    print(
        f"{plan['name']}: {config.updates} updates in {taken:.0f} s, {config.updates / taken:.2f}/s, "
        f"{phi.tokens / taken:,.0f} tokens/s, {terms}, waited {joint.waited:.1f} s, "
        f"{joint.teacher.again} lessons again of {joint.teacher.drawn}",
        flush=True,
    )
    order = [*names, *(name for name in plan["test"] if name not in names)]
    tables = {name: phi.table(order.index(name)) for name in plan["test"]}
    queries = {}
    for name in plan["test"]:
        for task in plan.get("tasks", ["navigation"]):
            for steps in (5, 10, 20):
                _, _, texts, _ = task_of(world, plan, name, steps, task)
                queries[name, steps, task] = read(world, joint, texts) if texts else None
    waiting = []
    if not plan.get("variants"):
        waiting.append(world.pool.submit(evaluate, world, plan, tables, joint.look(), queries, out))
    if plan.get("keep"):
        save_joint(out / plan["name"] / "policy", joint, MODEL, {"trained_on": {"wikis": names}})
    for share, rank in plan.get("variants", []):
        shrink(joint, world.base, share, rank)
        variant = plan | {"name": f"{plan['name']}, {share:g}, rank {rank}"}
        tables = {name: phi.table(order.index(name)) for name in plan["test"]}
        asked = {
            key: None if value is None else read(world, joint, task_texts(world, plan, key))
            for key, value in queries.items()
        }
        waiting.append(world.pool.submit(evaluate, world, variant, tables, joint.look(), asked, out))
    if plan.get("tables"):  # as far as they are trusted
        shrink(joint, world.base, config.trust, config.kept_rank)
        tables = {name: phi.table(order.index(name)) for name in plan["tables"]}
        keep_tables(plan, tables, joint.look(), out)
    joint.teacher.close()
    del phi, joint
    if world.device == "cuda":
        torch.cuda.empty_cache()
    return waiting


def read(world: World, joint: Any, texts: list[str]) -> np.ndarray:
    """Sentences as a trained reader has them, of unit length."""
    found = world.read(joint.phi, texts)
    return unit_rows(found + found @ joint.reader.weight.detach().cpu().numpy().T)


def keep_tables(
    plan: dict[str, Any], tables: dict[str, np.ndarray], direction: LinearCompass, out: Path
) -> None:
    """Tables of some wikis, one byte a number, and where the compass looks."""
    for name in plan["tables"]:
        table = tables[name]
        for at in range(0, len(table), 40_000):
            rows = table[at : at + 40_000]
            rows = np.round(127 * rows / np.abs(rows).max(1, keepdims=True)).astype(np.int8)
            np.save(out / f"{plan['name']}-{name}.{at:07d}.npy", rows)
    np.savez(out / f"{plan['name']}-direction.npz", weight=direction.weight, bias=direction.bias)


def task_texts(world: World, plan: dict[str, Any], key: tuple[str, int, str]) -> list[str]:
    """The sentences of a task."""
    name, steps, task = key
    return task_of(world, plan, name, steps, task)[2]


def shrink(joint: Any, base: Any, share: float, rank: int) -> None:
    """Give a trained model a share of what it learned, in matrices of low rank and one byte a number (0: as it is)."""
    import torch

    from linkwalk.embed.transformer import linear_layers

    model = joint.phi.bert.model
    if not hasattr(joint, "whole"):
        joint.whole = joint.phi.changes()
        joint.turned = [
            weight.detach().clone()
            for weight in (joint.compass.turn.weight, joint.compass.turn.bias, joint.reader.weight)
        ]
    with torch.no_grad():
        for weight, trained in zip(
            (joint.compass.turn.weight, joint.compass.turn.bias, joint.reader.weight),
            joint.turned,
            strict=True,
        ):
            weight.copy_(share * trained)
        if joint.phi.rank:  # what the adapters hold goes into the matrices themselves
            for weight in joint.phi.parameters():
                weight.zero_()
        for name, layer in linear_layers(model).items():
            name = name.removesuffix(".layer")
            first = linear_layers(base)[name].weight
            change = share * torch.from_numpy(joint.whole[name]).to(first.device)
            if rank:
                u, s, v = torch.linalg.svd(change, full_matrices=False)
                up, down = u[:, :rank] * s[:rank].sqrt(), v[:rank] * s[:rank, None].sqrt()
                change = in_bytes(up.T).T @ in_bytes(down)
            layer.weight.copy_(first + change)


def in_bytes(rows: Any) -> Any:
    """Rows rounded to one byte a number."""
    scale = rows.abs().amax(1, keepdim=True).clamp(min=1e-9) / 127
    return (rows / scale).round() * scale


def main() -> None:
    """Run a plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wikis", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--until", type=float, default=1e9, help="Seconds after which no training is begun.")
    args = parser.parse_args()
    start = time.time()
    args.out.mkdir(parents=True, exist_ok=True)
    plans = json.loads(args.plan.read_text())
    names = list(dict.fromkeys(name for plan in plans for name in (*plan["train"], *plan["test"])))
    world = World(args.wikis, names)
    print(f"read in {time.time() - start:.0f} s", flush=True)
    waiting = []
    for plan in plans:
        if time.time() - start + plan.get("seconds", 0) > args.until:
            print(f"no time left for {plan['name']}")
            continue
        waiting += run(world, plan, args.out)
        print(f"at {time.time() - start:.0f} s", flush=True)
    for task in waiting:
        task.result()
    print(f"all in {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
