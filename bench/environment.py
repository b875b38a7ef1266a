"""How many steps a second does the environment take? Ours beside Gymnasium's subprocesses; on a GPU with --device cuda.

python bench/environment.py WIKI --json bench/results/environment_HARDWARE_DATE.json
python bench/environment.py WIKI --device cuda

Everybody clicks at random and sees the same: pages by number (indices), or the float32 embeddings of page, goal and all
links, padded (vectors). Ours is the vector environment as Gymnasium gives it, which copies what it returns; the same
without copies; and the core alone. Gymnasium's is AsyncVectorEnv over single environments, one process each, with the
number of processes that is best. Figures are steps a second. On a GPU observations stay there, vectors in half
precision as they are stored; this part needs torch alone.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.envs import ID
from linkwalk.envs.on_cpu import Navigation, Vectors
from linkwalk.envs.world import Rules, World, task_of
from report import report

TASK = "navigation-10"
PROCESSES = (2, 4, 8, 16)
OURS, THEIRS = ("ours", "ours without copies", "the core"), "AsyncVectorEnv"


def rate(step: Callable[[], None], steps_each: int, seconds: float) -> float:
    """Steps a second of a function that takes some at each call; the first calls do not count."""
    for _ in range(3):
        step()
    calls, begun = 0, time.perf_counter()
    while (now := time.perf_counter()) - begun < seconds:
        step()
        calls += 1
    return calls * steps_each / (now - begun)


def by_gymnasium(wiki: Path, count: int, seconds: float, **options: Any) -> float:
    """An environment of ``make_vec``'s, ours or Gymnasium's."""
    import gymnasium

    envs = gymnasium.make_vec(ID, num_envs=count, wiki=str(wiki), task=TASK, **options)
    rng, seen = np.random.default_rng(0), envs.reset(seed=0)[0]

    def step() -> None:
        nonlocal seen
        links = seen["action_mask"].sum(1)
        seen = envs.step((rng.random(count) * links).astype(np.int64))[0]

    try:
        return rate(step, count, seconds)
    finally:
        envs.close()


def core(world: World, count: int, seconds: float, *, vectors: bool) -> float:
    navigation, rng = Navigation(world, Rules(task=task_of(TASK)), count), np.random.default_rng(0)
    looked_up = Vectors(navigation) if vectors else None
    navigation.seeded(0)
    navigation.reset()

    def step() -> None:
        navigation.step((rng.random(count) * navigation.state.shown).astype(np.int64))
        if looked_up is not None:
            looked_up.look()

    try:
        return rate(step, count, seconds)
    finally:
        navigation.close()


def on_device(world: World, device: str, count: int, seconds: float, *, vectors: bool) -> float:
    import torch

    from linkwalk.envs.on_torch import NavigationOnDevice

    navigation = NavigationOnDevice(world, Rules(task=task_of(TASK)), count, device=device)
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    navigation.seeded(0)
    seen = navigation.reset()

    def steps() -> None:
        nonlocal seen
        for _ in range(20):  # between two looks at the clock
            chosen = torch.rand(count, device=device) * seen.action_mask.sum(1)
            seen = navigation.step(chosen.long()).seen
            if vectors:
                for pages in (seen.current, seen.goal, seen.links):
                    navigation.look_up(pages)
        wait()

    return rate(steps, 20 * count, seconds)


def contenders(args: argparse.Namespace, world: World, form: str) -> dict[str, Callable[[], float]]:
    """What gives each figure, for one form of observations."""
    found: dict[str, Callable[[], float]] = {}
    vectors = form == "vectors"
    if args.device:
        for n in args.environments or [4096, 16384, 65536]:
            found[f"{args.device}, {n:,} environments"] = partial(
                on_device, world, args.device, n, args.seconds, vectors=vectors
            )
        return found
    make = partial(by_gymnasium, args.wiki, seconds=args.seconds, observation=form)
    for n in args.environments or [64, 1024]:
        found[f"{OURS[0]}, {n:,} environments"] = partial(make, n)
        found[f"{OURS[1]}, {n:,} environments"] = partial(make, n, copy=False)
        found[f"{OURS[2]}, {n:,} environments"] = partial(core, world, n, args.seconds, vectors=vectors)
    for n in PROCESSES:
        found[f"{THEIRS}, {n} processes"] = partial(
            make, n, vectorization_mode="async", disable_env_checker=True
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--device", help="measure the tensors' environment there, and nothing else")
    parser.add_argument("--environments", type=int, nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure and round")
    parser.add_argument("--repeat", type=int, default=3, help="take the best of this many rounds, in turns")
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    world, works = World.open(args.wiki), dict[str, Callable[[], float]]()
    for form in ("indices", "vectors"):
        for name, work in contenders(args, world, form).items():
            works[f"{form}: {name}"] = work
    results: dict[str, Any] = dict.fromkeys(works, 0.0)
    for _ in range(args.repeat):
        for name, work in works.items():
            results[name] = max(results[name], work())
    for form in ("indices", "vectors") if not args.device else ():
        best = {
            who: max(rate for name, rate in results.items() if name.startswith(f"{form}: {who}, "))
            for who in (*OURS, THEIRS)
        }
        for who in OURS:
            results[f"{form}: {who}, ratio to {THEIRS}"] = best[who] / best[THEIRS]
    sizes = {"nodes": world.graph.nodes, "links at most": world.most_links, "task": TASK, "budget": 100}
    report("environment", sizes, results, args.json)


if __name__ == "__main__":
    main()
