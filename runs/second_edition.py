"""The policy that ships, second edition, and how it does where it has never been.

    python runs/second_edition.py train WIKIS --out DIR        on a GPU: policies, maps and what they walked
    python runs/second_edition.py score WIKIS DIR ROWS.json    the baselines on the same episodes, and the rows

WIKIS is a folder of workspaces: ``train`` and ``eval`` (the halves of schools2007), ``computing``, ``simplepart``
(``runs/simple_part.py``) and the collections of Markdown by name. Two encoders are trained without half of the
collections each, so that every collection is walked by one that has not seen it, and their tables of those make the
lessons of the maps: the map of one walks the collections of the other, and the first one the wikis that are no
collections. Then the policy itself, on all, from three seeds. Steps and successes are written down for each episode,
and baselines are compared with them episode by episode.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from encoders import CORES, MODEL, World, read, shrink

from linkwalk.embed import Embeddings
from linkwalk.evaluate import TaskConfig, draw_episodes, draw_sentences, failure_ratio_interval
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.navigate import BASELINES, unit_rows
from linkwalk.navigate.guided import Guided
from linkwalk.navigate.network import MapNetwork
from linkwalk.navigate.ways import Ways
from linkwalk.policy.direction import Direction

ALWAYS = ["train", "simplepart"]
FIRST, SECOND = ["mdn", "webplatform", "freecad", "modwiki", "jargon"], ["dotnet", "kubernetes", "handbook"]
UNSEEN = {"eval": [("navigation", False), ("sentence", False), ("navigation", True), ("sentence", True)]}
UNSEEN["computing"] = [("navigation", False)]
STEPS, GROUP_EPISODES, EPISODES, SEED = (5, 10, 20), 2000, 10_000, 20261116


def key_of(name: str, task: str, steps: int, back: bool, agent: str) -> str:
    """By which a batch of journeys is found."""
    return f"{name}|{task}|{steps}|{'back' if back else ''}|{agent}"


class Walked:
    """What agents did, episode by episode."""

    def __init__(self, world: World, out: Path) -> None:
        self.world, self.out, self.found = world, out, {}

    def walk(
        self,
        name: str,
        agents: dict[str, Any],
        table: Any,
        direction: Any,
        queries: Any,
        count: int,
        tasks: Any,
    ) -> None:
        """Agents on one wiki: by name their map, or None for the constants."""
        graph = self.world.graphs[self.world.number[name]]
        for task, back in tasks:
            for steps in STEPS:
                drawn = draw_episodes(
                    graph.forward,
                    graph.reverse,
                    TaskConfig(task=task, steps=steps, episodes=count, seed=SEED),
                )
                shown = drawn._replace(queries=queries[name, steps]) if task == "sentence" else drawn
                for agent, network in agents.items():
                    walker = Guided(
                        agent,
                        direction,
                        graph.forward,
                        table,
                        Ways(back=back),
                        workers=CORES,
                        network=network,
                    )
                    journeys = walker.run(shown)
                    key = key_of(name, task, steps, back, agent)
                    self.found[key] = np.stack(
                        (journeys.success.astype(np.uint8), journeys.steps.astype(np.uint8))
                    )
                    print(f"{key}: {100 * journeys.success.mean():.2f} %", flush=True)
        np.savez_compressed(self.out / "walked.npz", **self.found)


def trained(
    world: World, name: str, on: list[str], tests: list[str], seed: int, updates: int, out: Path
) -> Any:
    """One training: its tables of some wikis, where its compass looks, and how it reads the sentences of tasks."""
    from linkwalk.learn.joint import Joint, JointConfig
    from linkwalk.learn.lessons import Ground
    from linkwalk.learn.loop import seeded, train
    from linkwalk.learn.wikis import save_joint

    config, start = JointConfig(seed=seed, updates=updates), time.time()
    order = [*on, *(test for test in tests if test not in on)]
    with seeded(seed, world.device):
        phi = world.phi(order, config.rank)
        grounds = []
        for own in on:
            graph, table = world.graphs[world.number[own]], world.plain[world.number[own]].copy()
            grounds.append(
                Ground(
                    graph.forward,
                    graph.reverse,
                    graph.out_kinds,
                    table,
                    config.lesson,
                    sentences=world.sentences(graph),
                )
            )
        joint = Joint(config, phi, grounds, world.device)
        train(joint, folder=out / f"{name}.training", job={})
        joint.teacher.close()
    taken = time.time() - start
    print(
        f"{name}: {updates} updates in {taken:.0f} s, {phi.tokens / taken:,.0f} tokens/s, waited {joint.waited:.0f} s, "
        f"{joint.teacher.again} lessons again of {joint.teacher.drawn}",
        flush=True,
    )
    if name.startswith("seed"):
        save_joint(out / name, joint, MODEL, {"trained_on": {"wikis": on}})
    shrink(joint, world.base, config.trust, config.kept_rank)
    tables = {test: phi.table(order.index(test)) for test in tests}
    queries = {}
    for test in tests:
        graph = world.graphs[world.number[test]]
        for steps in STEPS if "sentence" in dict(UNSEEN.get(test, [])) else ():
            task = TaskConfig(task="sentence", steps=steps, episodes=EPISODES, seed=SEED)
            texts = draw_sentences(graph, draw_episodes(graph.forward, graph.reverse, task), task)
            queries[test, steps] = read(world, joint, texts)
    return tables, joint.look(), queries


def map_of(world: World, made: Any, out: Path) -> MapNetwork:
    """A map trained on tables of wikis that their encoder has not seen."""
    from linkwalk.learn.map_training import MapTraining, train_map
    from linkwalk.learn.map_walks import MapWalks
    from linkwalk.progress import Progress

    tables, direction, _ = made

    def opening(name: str) -> Any:
        graph = world.graphs[world.number[name]]
        return lambda: MapWalks(graph.forward, graph.reverse, tables[name], direction, workers=CORES)

    start = time.time()
    told = {"on": [{"wiki": name} for name in tables]}
    worlds = [opening(name) for name in tables]
    found = train_map(worlds, [1.0] * len(worlds), MapTraining(), told, Progress(quiet=True))
    out.write_bytes(found.to_bytes())
    print(f"{out.name}: {time.time() - start:.0f} s", flush=True)
    return found.network


def make(args: argparse.Namespace) -> None:
    """Train and walk."""
    start = time.time()
    args.out.mkdir(parents=True, exist_ok=True)
    world = World(args.wikis, [*ALWAYS, *FIRST, *SECOND, *UNSEEN])
    print(f"read in {time.time() - start:.0f} s", flush=True)
    walked, pool, waiting = Walked(world, args.out), ThreadPoolExecutor(1), []
    maps: dict[str, MapNetwork] = {}

    def learn(name: str, made: Any) -> None:
        maps[name] = map_of(world, made, args.out / f"{name}.json")

    def groups(made: Any, network: str) -> None:
        tables, direction, queries = made
        for name, table in tables.items():
            agents = {"constants": None, "map": maps[network]}
            tasks = [("navigation", False)]
            walked.walk(name, agents, table, direction, queries, args.group_episodes, tasks)

    def unseen(name: str, made: Any) -> None:
        tables, direction, queries = made
        for wiki, tasks in UNSEEN.items():
            for task, back in tasks:
                if back and name != "seed0":
                    continue
                agents = {f"{name}, map": maps["first"]}
                if name == "seed0" and (task, back) == ("navigation", False):
                    agents[f"{name}, constants"] = None
                walked.walk(wiki, agents, tables[wiki], direction, queries, args.episodes, [(task, back)])

    first = trained(world, "first", [*ALWAYS, *SECOND], FIRST, 0, args.group_updates, args.out)
    waiting.append(pool.submit(learn, "first", first))
    second = trained(world, "second", [*ALWAYS, *FIRST], SECOND, 0, args.group_updates, args.out)
    waiting.append(pool.submit(learn, "second", second))
    waiting.append(pool.submit(groups, first, "second"))
    for seed in range(args.seeds):
        everything = [*ALWAYS, *FIRST, *SECOND]
        made = trained(world, f"seed{seed}", everything, list(UNSEEN), seed, args.updates, args.out)
        waiting.append(pool.submit(unseen, f"seed{seed}", made))
        print(f"at {time.time() - start:.0f} s", flush=True)
    waiting.append(pool.submit(groups, second, "first"))
    for task in waiting:
        task.result()
    print(f"all in {time.time() - start:.0f} s")


def compare(args: argparse.Namespace) -> None:
    """The baselines on the same episodes, and one row for each agent, wiki, task and T."""
    from linkwalk.demo import policy_path

    walked = dict(np.load(args.walked / "walked.npz"))
    rows, once = [], {}
    first = Direction.load(args.first or policy_path() / "weights.safetensors")
    # Sentences last: they have to be read.
    for key, found in sorted(
        walked.items(), key=lambda item: ("sentence" in item[0], item[0].split("|")[0] not in UNSEEN)
    ):
        name, task, steps, back, agent = key.split("|")
        graph = Graph.open(args.wikis / name)
        config = TaskConfig(task=task, steps=int(steps), episodes=found.shape[1], seed=SEED)
        if (name, task, steps, back) not in once:
            once[name, task, steps, back] = _baselines(args.wikis / name, graph, config, bool(back), first)
        others, distances = once[name, task, steps, back]
        success, taken = found[0].astype(bool), found[1].astype(float)
        row = {
            "wiki": name,
            "task": task,
            "steps": int(steps),
            "back": bool(back),
            "agent": agent,
            "episodes": len(success),
        }
        row |= {
            "success": float(success.mean()),
            "spl": float((success * distances / np.maximum(taken, distances)).mean()),
        }
        for other, ends in others.items():
            rng = np.random.default_rng(0)
            row[f"beside {other}"] = {
                "success": float(ends.mean()),
                "ratio": float((~success).sum() / max(1, (~ends).sum())),
                "ratio_ci95": failure_ratio_interval(success, ends, rng),
            }
        rows.append(row)
        print(json.dumps(row), flush=True)
        args.rows.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def _baselines(wiki: Path, graph: Graph, config: TaskConfig, back: bool, first: Direction) -> Any:
    table = Embeddings.open(wiki, "minilm", graph)
    vectors = unit_rows(table.vectors)
    drawn = draw_episodes(graph.forward, graph.reverse, config)
    distances = ShortestPaths(graph.forward, graph.reverse).distances(drawn.starts, drawn.goals)
    if config.task == "sentence":
        sentences = draw_sentences(graph, drawn, config)
        drawn = drawn._replace(queries=unit_rows(table.encoder().encode(sentences)))
    ways, found = Ways(back=back), {}
    for name in ("greedy-unvisited", "greedy-map"):
        if name == "greedy-map" and config.task == "sentence":
            continue
        found[name] = BASELINES[name](name, graph.forward, vectors, ways, workers=CORES).run(drawn).success
    if config.task != "sentence":
        found["first edition"] = (
            Guided("compass", first, graph.forward, vectors, ways, workers=CORES).run(drawn).success
        )
    return found, distances


def main() -> None:
    """Train or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    train = verbs.add_parser("train")
    train.set_defaults(run=make)
    train.add_argument("wikis", type=Path)
    train.add_argument("--out", type=Path, default=Path("out"))
    train.add_argument("--updates", type=int, default=450)
    train.add_argument("--group-updates", type=int, default=450)
    train.add_argument("--seeds", type=int, default=3)
    train.add_argument("--episodes", type=int, default=EPISODES)
    train.add_argument("--group-episodes", type=int, default=GROUP_EPISODES)
    score = verbs.add_parser("score")
    score.set_defaults(run=compare)
    score.add_argument("wikis", type=Path)
    score.add_argument("walked", type=Path)
    score.add_argument("rows", type=Path)
    score.add_argument("--first", type=Path, help="Weights of the first edition's compass.")
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
