"""How fast are walks? Forward walks on one core beside lock-step numpy, igraph and networkx; then the other samplers.

python bench/walks.py --json bench/results/walks_HARDWARE_DATE.json

The large graph is for linkwalk and numpy, in memory and mapped from a file; the small one for the peers, too, each in
its best mode. igraph makes an index of all nodes at every call, so one endless walk is its best; networkx's own
generator needs a dense matrix of all pairs of nodes, so its best is a loop over lists of neighbours made beforehand.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np
from numpy.typing import NDArray

import synthetic
from linkwalk.graph.columns import map_array
from linkwalk.graph.csr import Csr, transpose
from linkwalk.walks import ForwardWalks, ReverseWalks, ShortcutWalks, ShortestWalks, Walks, drop_edges
from report import report

Work = Callable[[np.random.Generator], int]


def best_rates(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Units per second: the best of several rounds, taken in turns, so that a busy machine hits all alike."""
    rates = dict.fromkeys(works, 0.0)
    for number in range(rounds):
        for name, work in works.items():
            rng = np.random.default_rng(number)
            begun = time.perf_counter()
            units = work(rng)
            rates[name] = max(rates[name], units / (time.perf_counter() - begun))
    return rates


def steps_of(walks: Walks) -> int:
    return int(walks.lengths.sum())


def read_only(graph: Csr) -> Csr:
    for array in graph:
        array.flags.writeable = False
    return graph


def numpy_walks(
    graph: Csr, starts: NDArray[np.int32], steps: int, count: int, rng: np.random.Generator
) -> int:
    """All walkers take a step at once, written step by step; one at a dead end stands still."""
    nodes = np.empty((steps + 1, count), np.int32)
    nodes[0] = starts.take(rng.integers(len(starts), size=count))
    for step in range(steps):
        here = nodes[step]
        first = graph.indptr.take(here)
        degree = graph.indptr.take(here + 1) - first
        link = first + (rng.random(count) * degree).astype(np.int64)
        if degree.min():
            nodes[step + 1] = graph.indices.take(link)
        else:
            nodes[step + 1] = np.where(degree, graph.indices.take(np.where(degree, link, 0)), here)
    return steps * count


def beside_numpy(graph: Csr, steps: int, count: int, batches: list[int], rounds: int) -> dict[str, float]:
    """Forward steps a second on one core; numpy in batches of several sizes, of which the best counts."""
    sampler = ForwardWalks(graph, steps=steps)
    starts = np.flatnonzero(graph.degrees()).astype(np.int32)
    sampler.sample(1, np.random.default_rng(0))
    works: dict[str, Work] = {"linkwalk": lambda rng: steps_of(sampler.sample(count, rng))}
    for batch in batches:
        works[f"numpy, batches of {batch:,}"] = lambda rng, batch=batch: sum(
            numpy_walks(graph, starts, steps, batch, rng) for _ in range(max(1, count // batch))
        )
    rates = best_rates(works, rounds)
    best = max(rate for name, rate in rates.items() if name != "linkwalk")
    return rates | {"ratio to numpy": rates["linkwalk"] / best}


def mapped(graph: Csr, folder: Path) -> Csr:
    """The same graph as a workspace has it: mapped from files."""
    for name, array in graph._asdict().items():
        np.save(folder / f"{name}.npy", array)
    return Csr(*(map_array(folder / f"{name}.npy") for name in graph._fields))


def peers(graph: Csr, steps: int, rounds: int) -> dict[str, float]:
    """Forward steps a second of igraph and networkx."""
    rows = np.repeat(np.arange(graph.nodes), graph.degrees())
    web = igraph.Graph(n=graph.nodes, edges=np.stack([rows, graph.indices], 1), directed=True)

    def by_igraph(starts: list[int], length: int) -> int:
        return sum(len(web.random_walk(s, length, mode="out", stuck="return")) - 1 for s in starts)

    works: dict[str, Work] = {
        "igraph, a call for each walk": lambda rng: by_igraph(
            rng.integers(graph.nodes, size=50).tolist(), steps
        ),
        "igraph, one endless walk": lambda rng: by_igraph([int(rng.integers(graph.nodes))], 2_000_000),
    }
    rates = best_rates(works, rounds)
    web = igraph.Graph()  # free the memory

    net = networkx.DiGraph()
    net.add_nodes_from(range(graph.nodes))
    net.add_edges_from(zip(rows.tolist(), graph.indices.tolist(), strict=True))
    neighbours = [list(net.adj[node]) for node in range(graph.nodes)]
    del net

    def by_networkx(rng: np.random.Generator) -> int:
        taken = 0
        for here in rng.integers(graph.nodes, size=20_000).tolist():
            walk = [here]
            for _ in range(steps):
                links = neighbours[walk[-1]]
                if not links:
                    break
                walk.append(links[int(random.random() * len(links))])
            taken += len(walk) - 1
        return taken

    return rates | best_rates({"networkx, lists of neighbours": by_networkx}, rounds)


def others(graph: Csr, steps: int, count: int, rounds: int) -> dict[str, float]:
    """The other samplers, in walks a second, and edge dropout, in links a second."""
    reverse = read_only(transpose(graph))
    forward = ForwardWalks(graph, steps=steps)
    samplers = {
        f"forward, {steps} steps": (forward, count),
        f"multistep, up to {steps} steps": (ForwardWalks(graph, steps=steps, multistep=True), count),
        f"reverse, {steps} steps": (ReverseWalks(graph, reverse, steps=steps), count),
        f"shortcut, {steps} steps": (ShortcutWalks(graph, steps=steps), count),
        f"shortest between a walk's ends, {steps} steps": (ShortestWalks(graph, reverse, steps=steps), 500),
        "shortest, exactly 5 steps": (ShortestWalks(graph, reverse, steps=5, reading="exact"), 5),
    }
    works: dict[str, Work] = {}
    for name, (sampler, number) in samplers.items():
        sampler.sample(1, np.random.default_rng(0))
        works[f"walks/s, {name}"] = lambda rng, sampler=sampler, number=number: len(
            sampler.sample(number, rng).lengths
        )
    walks = forward.sample(count // 10, np.random.default_rng(1))
    drop_edges(graph, walks, rng=np.random.default_rng(0))
    works["links/s, edge dropout"] = lambda rng: len(drop_edges(graph, walks, rng=rng).hidden)
    return best_rates(works, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--peer-nodes", type=int, default=1_000_000)
    parser.add_argument("--peer-edges", type=int, default=10_000_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--walks", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=15, help="take the best of this many rounds, in turns")
    parser.add_argument("--json", type=Path, help="write the result here")
    args = parser.parse_args()
    batches = [batch for batch in (10_000, 50_000, 200_000) if batch <= args.walks]
    measured: dict[str, dict[str, float]] = {}
    load = os.getloadavg()[0]  # waits for memory grow with what else the machine does: say what it did

    large = synthetic.in_memory(args.nodes, args.edges)
    measured["large"] = beside_numpy(large, args.steps, args.walks, batches, args.repeat)
    with tempfile.TemporaryDirectory() as folder:
        files = mapped(large, Path(folder))
        measured["large, mapped"] = beside_numpy(files, args.steps, args.walks, batches, args.repeat)
    sizes: dict[str, Any] = {
        "large": {"nodes": large.nodes, "edges": len(large.indices)},
        "steps": args.steps,
        "walks": args.walks,
        "rounds": args.repeat,
        "load_before": load,
    }
    del large, files

    small = synthetic.in_memory(args.peer_nodes, args.peer_edges)
    sizes["small"] = {"nodes": small.nodes, "edges": len(small.indices)}
    ours = beside_numpy(small, args.steps, args.walks, batches, args.repeat)
    theirs = peers(small, args.steps, min(3, args.repeat))
    ratios = {f"ratio to {name}": ours["linkwalk"] / rate for name, rate in theirs.items()}
    measured["small"] = ours | theirs | ratios
    results = {
        f"{graph}: {name}{'' if name.startswith('ratio') else ', steps/s'}": value
        for graph, found in measured.items()
        for name, value in found.items()
    }
    for name, rate in others(small, args.steps, args.walks, min(3, args.repeat)).items():
        results[f"small: {name}"] = rate
    report("walks", sizes, results, args.json)


if __name__ == "__main__":
    main()
