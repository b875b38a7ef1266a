"""What does a larger graph cost? A walk step, a cloning update and an evaluation step from 200,000 to 38M nodes.

PYTHONPATH=src python bench/scale.py --json bench/results/scale_HARDWARE_DATE.json

The same work on made-up webs of one mean degree with a frozen table, all of it resident on the device (``gpu.py``): the
paper reports 1.5 times the cost from 200,000 to 38 million nodes (app. E). About a minute and a half on an H200. A CPU
will do for a try: --sizes 2000,20000 --walkers 5000 --updates 10 --episodes 100 --batch 32 --repeat 2
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch

from gpu import episodes_on, median, new_clone, seconds, table, web
from linkwalk.gpu.journeys import DeviceAgent
from linkwalk.gpu.walks import WalksOnDevice
from report import report

PAPER = 1.5
DEGREE = 387 / 38


def measure(nodes: int, args: argparse.Namespace, device: torch.device) -> dict[str, float]:
    """The three costs on one size of graph."""
    graph, vectors = web(nodes, round(nodes * DEGREE), device), table(nodes, args.width, device)
    walks, seed = WalksOnDevice(graph, steps=args.steps), torch.tensor([1], device=device)
    taken = int(walks.ends(args.walkers, seed)[1].sum(dtype=torch.int64))
    walk = median(device, args.repeat, lambda: walks.ends(args.walkers, seed.add_(1))) / taken

    cloned = new_clone(walks, vectors, 10 + args.updates * args.repeat, args.batch)
    cloned.run(10)  # compiles
    update = min(seconds(device, lambda: cloned.run(args.updates)) for _ in range(args.repeat)) / args.updates

    episodes = episodes_on(graph, args.episodes, args.steps)
    found = {"walk: ns a step": 1e9 * walk, "cloning: ms an update": 1e3 * update}
    for name, head in (("greedy-unvisited", None), ("feed-forward", cloned.head)):
        agent = DeviceAgent(name, graph, vectors, head)
        steps = int(agent.run(episodes, budget=args.budget).steps.sum())
        took = median(device, args.repeat, lambda agent=agent: agent.run(episodes, budget=args.budget))
        found[f"evaluation: ns a step, {name}"] = 1e9 * took / steps
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="200000,2000000,10000000,38000000", help="nodes of each graph")
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--walkers", type=int, default=8 << 20)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=65_536)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = [int(size) for size in args.sizes.split(",")]
    started = time.perf_counter()
    results: dict[str, Any] = {}
    first: dict[str, float] = {}
    for nodes in sizes:
        found = measure(nodes, args, device)
        first = first or found
        for name, value in found.items():
            results[f"{nodes:,} nodes: {name}"] = value
            results[f"{nodes:,} nodes: {name}, times the smallest"] = value / first[name]
        shown = ", ".join(f"{name} {value:.3g} ({value / first[name]:.2f}x)" for name, value in found.items())
        print(f"{time.perf_counter() - started:7.1f} s  {nodes:,} nodes: {shown}", flush=True)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    results["the paper's: times the smallest"] = PAPER
    facts = {
        "gpu": torch.cuda.get_device_name() if device.type == "cuda" else None,
        "torch": torch.__version__,
        "nodes": sizes,
        "degree": DEGREE,
        **{
            name: getattr(args, name) for name in ("width", "walkers", "steps", "batch", "episodes", "budget")
        },
        "seconds_in_all": time.perf_counter() - started,
    }
    report("scale", facts, results, args.json)


if __name__ == "__main__":
    main()
