"""The policy that ships, second edition, and how it does where it has never been.

    python runs/second_edition.py train WIKIS --out DIR      on a GPU: policies and maps; those there already are kept
    python runs/second_edition.py walk WIKIS DIR PART        who reached what, baselines too: DIR/walked-PART.npz
    python runs/second_edition.py score DIR ROWS.json        one row for each agent, wiki, task and T

WIKIS is a folder of workspaces: ``train`` and ``eval`` (the halves of schools2007), ``qtrain`` and ``qeval`` (those of
``train``), ``computing``, ``simple`` (``runs/simple_part.py --articles 45000``) and the collections of Markdown.
Two encoders are trained without half of the collections and half of ``train`` each, so that every wiki is walked by one
that has not seen it. Their tables of those are what maps learn from: the map of one walks with the other, and the map
of both with the policy itself, which is trained on all from three seeds; ``foreign`` is trained on all but
schools2007. ``own`` walks with policies that were trained
on one wiki, DIR/ownSEED/policy (``runs/encoders.py``), to goals that they were never trained towards, there and in
its later edition.
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
from encoders import CORES, MODEL, World, goals_of

from linkwalk.embed.encoder_change import read_change
from linkwalk.evaluate import TaskConfig, draw_episodes, draw_sentences, failure_ratio_interval
from linkwalk.graph.paths import ShortestPaths
from linkwalk.navigate import open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.navigate.trained_map import TrainedMap, article_length, read_map
from linkwalk.policy.compass import LinearCompass

FIRST, SECOND = ["mdn", "webplatform", "freecad", "modwiki", "jargon"], ["dotnet", "kubernetes", "handbook"]
FOLDS = {
    "first": (["qtrain", "simple", *SECOND], [*FIRST, "qeval"]),
    "second": (["qeval", "simple", *FIRST], [*SECOND, "qtrain", "win32"]),
}
"""What each fold is trained on, and what it walks."""
EVERYTHING = ["train", "simple", *FIRST, *SECOND]
UNSEEN = {
    "eval": [("navigation", False), ("sentence", False), ("navigation", True), ("sentence", True)],
    "computing": [("navigation", False)],
}
STEPS, SEED = (5, 10, 20), 20261118


class Policy:
    """A policy as it was saved: how it reads wikis, and where its compass looks."""

    def __init__(self, world: World, folder: Path, wikis: list[str]) -> None:
        import torch
        from safetensors.numpy import load_file

        from linkwalk.embed.transformer import linear_layers
        from linkwalk.learn.encoders.joint import JointConfig

        self.world, self.wikis, self.phi = world, wikis, world.phi(wikis, 0, trained=False)
        changes, layers = read_change(folder).weights, linear_layers(self.phi.bert.model)
        with torch.no_grad():
            for name, layer in layers.items():
                change = torch.from_numpy(changes[f"{name}.up"] @ changes[f"{name}.down"])
                layer.weight += change.to(layer.weight.device)
        manifest = json.loads((folder / "manifest.json").read_text())
        self.map = MapConfig(**manifest["map"]) if "map" in manifest else JointConfig().map
        self.direction = LinearCompass.load(folder / "weights.safetensors")
        self.turn = load_file(folder / "target.safetensors")["turn"].astype(np.float32)

    def table(self, wiki: str) -> np.ndarray:
        """Its vectors of a wiki's blocks, of unit length."""
        found: np.ndarray = self.phi.table(self.wikis.index(wiki))
        return found

    def read(self, texts: list[str]) -> np.ndarray:
        """Its vectors of sentences, of unit length."""
        found = self.world.read(self.phi, texts)
        return unit_rows(found + found @ self.turn.T)


def train_policy(world: World, folder: Path, on: list[str], seed: int, updates: int) -> None:
    """Train an encoder and a compass on some wikis."""
    import torch

    from linkwalk.learn.encoders.joint import Joint, JointConfig
    from linkwalk.learn.encoders.lessons import Ground
    from linkwalk.learn.encoders.wikis import save_joint
    from linkwalk.learn.loop import seeded, train

    config, start = JointConfig(seed=seed, updates=updates), time.time()
    with seeded(seed, world.device):
        phi = world.phi(on, config.rank)
        grounds = []
        for name in on:
            graph, table = world.graphs[world.number[name]], world.plain[world.number[name]].copy()
            sentences = world.sentences(graph)
            grounds.append(
                Ground(
                    graph.forward, graph.reverse, graph.out_kinds, table, config.lesson, sentences=sentences
                )
            )
        joint = Joint(config, phi, grounds, torch.device(world.device))
        train(joint, folder=folder.with_suffix(".training"), job={})
        joint.teacher.close()
    taken = time.time() - start
    print(
        f"{folder.name}: {updates} updates in {taken:.0f} s, {phi.tokens / taken:,.0f} tokens/s, "
        f"waited {joint.waited:.0f} s, {joint.teacher.again} lessons again of {joint.teacher.drawn}",
        flush=True,
    )
    save_joint(folder, joint, MODEL, {"trained_on": {"wikis": on}})


def train_map_of(world: World, policies: dict[str, Policy], path: Path) -> None:
    """Train a map on tables of wikis that their encoders have not seen."""
    from linkwalk.learn.maps.fit import MapTrainingConfig
    from linkwalk.learn.maps.training import train_map
    from linkwalk.learn.maps.walks import MapWalks
    from linkwalk.progress import Progress

    def opening(policy: Policy, name: str) -> Any:
        graph, table, ways = world.graphs[world.number[name]], policy.table(name), MoveConfig(map=policy.map)
        return lambda: MapWalks(graph.forward, graph.reverse, table, policy.compass, ways=ways, workers=CORES)

    start = time.time()
    worlds = {name: opening(policy, name) for fold, policy in policies.items() for name in FOLDS[fold][1]}
    told = {"on": [{"wiki": name} for name in worlds]}
    found = train_map(
        list(worlds.values()), [1.0] * len(worlds), MapTrainingConfig(), told, Progress(quiet=True)
    )
    path.write_bytes(found.to_bytes())
    print(f"{path.name}: {time.time() - start:.0f} s, {found.trained}", flush=True)


def make(args: argparse.Namespace) -> None:
    """Train what is not there yet."""
    start = time.time()
    args.out.mkdir(parents=True, exist_ok=True)
    folds = [name for on, tests in FOLDS.values() for name in (*on, *tests)]
    world = World(args.wikis, sorted({*EVERYTHING, *folds}))
    print(f"read in {time.time() - start:.0f} s", flush=True)
    trainings = {name: (on, 0) for name, (on, _) in FOLDS.items()}
    trainings |= {f"seed{seed}": (EVERYTHING, seed) for seed in range(args.seeds)}
    trainings["foreign"] = (EVERYTHING[1:], 0)
    with ThreadPoolExecutor(1) as pool:
        waiting = []
        for name, (on, seed) in trainings.items():
            if not (args.out / name / "manifest.json").exists():
                train_policy(world, args.out / name, on, seed, args.updates)
                print(f"at {time.time() - start:.0f} s", flush=True)
            if name == "second" and not args.no_maps:
                folds = {fold: Policy(world, args.out / fold, FOLDS[fold][1]) for fold in FOLDS}
                for own in (["first"], ["second"], ["first", "second"]):
                    path = args.out / f"map-{'-'.join(own)}.json"
                    if path.exists():
                        continue
                    some = {fold: folds[fold] for fold in own}
                    waiting.append(pool.submit(train_map_of, world, some, path))
        for task in waiting:
            task.result()
    print(f"all in {time.time() - start:.0f} s")


class Walked:
    """Who reached what, episode by episode; each task is drawn once."""

    def __init__(self, world: World, path: Path, first: Path | None, goals: str = "all") -> None:
        self.world, self.path, self.goals, self.found = world, path, goals, {}
        self.drawn: dict[Any, Any] = {}
        self.first = LinearCompass.load(first) if first else None

    def task(self, wiki: str, task: str, steps: int, count: int) -> Any:
        """The episodes of a task, and their sentences."""
        key = (wiki, task, steps)
        if key not in self.drawn:
            graph = self.world.graphs[self.world.number[wiki]]
            config = TaskConfig(task=task, steps=steps, episodes=count, seed=SEED)
            drawn = draw_episodes(graph.forward, graph.reverse, config, goals_of(graph, self.goals))
            distances = ShortestPaths(graph.forward, graph.reverse).distances(drawn.starts, drawn.goals)
            self.found["|".join((wiki, task, str(steps), "", "distance"))] = distances.astype(np.uint8)
            texts = draw_sentences(graph, drawn, config) if task == "sentence" else []
            self.drawn[key] = drawn, texts
        return self.drawn[key]

    def note(
        self, wiki: str, task: str, steps: int, back: bool, agent: str, walker: Any, episodes: Any
    ) -> None:
        """Let somebody walk."""
        journeys = walker.run(episodes)
        key = "|".join((wiki, task, str(steps), "back" if back else "", agent))
        self.found[key] = np.stack((journeys.success.astype(np.uint8), journeys.steps.astype(np.uint8)))
        print(f"{key}: {100 * journeys.success.mean():.2f} %", flush=True)

    def baselines(self, wiki: str, tasks: list[tuple[str, bool]], count: int) -> None:
        """Those that have learned nothing, over plain MiniLM, and the first edition."""
        number = self.world.number[wiki]
        graph, table = self.world.graphs[number].forward, self.world.plain[number]
        for task, back in tasks:
            for steps in STEPS:
                episodes, texts = self.task(wiki, task, steps, count)
                if texts:
                    episodes = episodes._replace(queries=self.world.read(self.world.reader, texts))
                ways = MoveConfig(back=back)
                for name in ("greedy-unvisited", "greedy-map")[: 1 if back or texts else 2]:
                    walker = open_baseline(name, graph, table, ways, workers=CORES)
                    self.note(wiki, task, steps, back, name, walker, episodes)
                if self.first and not texts:
                    walker = CompassWalker("compass", self.first, graph, table, ways, workers=CORES)
                    self.note(wiki, task, steps, back, "first edition", walker, episodes)

    def policy(
        self,
        policy: Policy,
        wiki: str,
        tasks: list[tuple[str, bool]],
        count: int,
        agents: dict[str, TrainedMap | None],
    ) -> None:
        """A policy, with the maps of some names; None is the constants alone."""
        graph, table = self.world.graphs[self.world.number[wiki]].forward, policy.table(wiki)
        for task, back in tasks:
            for steps in STEPS:
                episodes, texts = self.task(wiki, task, steps, count)
                if texts:
                    episodes = episodes._replace(queries=policy.read(texts))
                for name, learned in agents.items():
                    weights = learned.on(article_length(graph)) if learned else None
                    ways = MoveConfig(back=back, map=policy.map)
                    walker = CompassWalker(
                        name, policy.compass, graph, table, ways, workers=CORES, weights=weights
                    )
                    self.note(wiki, task, steps, back, name, walker, episodes)
        np.savez_compressed(self.path, **self.found)


def walk(args: argparse.Namespace) -> None:
    """Let policies and baselines walk."""
    {"unseen": walk_unseen, "groups": walk_groups, "own": walk_own}[args.part](args)


def walk_unseen(args: argparse.Namespace) -> None:
    """The policy, where nothing was trained or chosen; with the back button by the constants alone."""
    wikis = list(UNSEEN)
    world = World(args.wikis, wikis)
    walked, learned = Walked(world, args.out / "walked-unseen.npz", args.first), _map(args.out, *FOLDS)
    for wiki, tasks in UNSEEN.items():
        walked.baselines(wiki, tasks, args.episodes)
    for seed in range(args.seeds):
        policy = Policy(world, args.out / f"seed{seed}", wikis)
        for wiki, tasks in UNSEEN.items():
            forward, back = [[task for task in tasks if task[1] == has] for has in (False, True)]
            walked.policy(policy, wiki, forward, args.episodes, {f"seed{seed}": learned})
            walked.policy(policy, wiki, back, args.episodes, {f"seed{seed}": None})


def walk_groups(args: argparse.Namespace) -> None:
    """Each fold, on the collections that it was not trained on, with the other's map."""
    tests = {fold: [name for name in wikis if name[0] != "q"] for fold, (_, wikis) in FOLDS.items()}
    world = World(args.wikis, [name for wikis in tests.values() for name in wikis])
    walked, tasks = Walked(world, args.out / "walked-groups.npz", args.first), [("navigation", False)]
    for fold, other in zip(FOLDS, reversed(FOLDS), strict=True):
        policy, learned = Policy(world, args.out / fold, tests[fold]), _map(args.out, other)
        for wiki in tests[fold]:
            walked.baselines(wiki, tasks, args.episodes)
            walked.policy(
                policy,
                wiki,
                tasks,
                args.episodes,
                {"constants": None} | ({"map": learned} if learned else {}),
            )


def walk_own(args: argparse.Namespace) -> None:
    """Policies of one wiki, there and in its later edition, to goals that were withheld."""
    wikis, tasks = ["schools", "later"], [("navigation", False)]
    world = World(args.wikis, wikis)
    walked = Walked(world, args.out / "walked-own.npz", None, "withheld")
    for wiki in wikis:
        walked.baselines(wiki, tasks, args.episodes)
    for seed in range(args.seeds):
        policy = Policy(world, args.out / f"own{seed}" / "policy", wikis)
        policy.map = MapConfig(**json.loads(args.map)) if args.map else policy.map
        for wiki in wikis:
            walked.policy(policy, wiki, tasks, args.episodes, {f"seed{seed}, constants": None})


def _map(out: Path, *folds: str) -> TrainedMap | None:
    path = out / f"map-{'-'.join(folds)}.json"
    return read_map(path) if path.exists() else None


def compare(args: argparse.Namespace) -> None:
    """One row for each agent, wiki, task and T, beside those who have not learned from many wikis."""
    rows = []
    for path in sorted(args.out.glob("walked-*.npz")):
        walked = dict(np.load(path))
        for key, found in walked.items():
            wiki, task, steps, back, agent = key.split("|")
            if agent == "distance":
                continue
            success, taken = found[0].astype(bool), found[1].astype(float)
            distances = walked["|".join((wiki, task, steps, "", "distance"))].astype(float)
            row: dict[str, Any] = {"wiki": wiki, "task": task, "steps": int(steps), "back": bool(back)}
            row |= {"agent": agent, "episodes": len(success), "success": float(success.mean())}
            row["spl"] = float((success * distances / np.maximum(taken, distances)).mean())
            for other in ("greedy-unvisited", "greedy-map", "first edition"):
                beside = walked.get("|".join((wiki, task, steps, back, other)))
                if beside is not None and other != agent:
                    ends = beside[0].astype(bool)
                    row[f"beside {other}"] = {
                        "ratio": float((~success).sum() / max(1, (~ends).sum())),
                        "ratio_ci95": failure_ratio_interval(success, ends, np.random.default_rng(0)),
                    }
            rows.append(row)
    args.rows.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def main() -> None:
    """Train, walk or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    train = verbs.add_parser("train")
    train.set_defaults(run=make)
    train.add_argument("wikis", type=Path)
    train.add_argument("--out", type=Path, default=Path("out"))
    train.add_argument("--updates", type=int, default=450)
    train.add_argument("--seeds", type=int, default=3)
    train.add_argument("--no-maps", action="store_true")
    walking = verbs.add_parser("walk")
    walking.set_defaults(run=walk)
    walking.add_argument("wikis", type=Path)
    walking.add_argument("out", type=Path)
    walking.add_argument("part", choices=("groups", "unseen", "own"))
    walking.add_argument("--first", type=Path, help="Weights of the first edition's compass.")
    walking.add_argument("--map", help="Constants to walk with on one's own wiki, as JSON.")
    walking.add_argument("--episodes", type=int, default=10_000)
    walking.add_argument("--seeds", type=int, default=3)
    score = verbs.add_parser("score")
    score.set_defaults(run=compare)
    score.add_argument("out", type=Path)
    score.add_argument("rows", type=Path)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
