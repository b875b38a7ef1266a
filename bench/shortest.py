"""How long does one shortest path take? Search from both ends on a graph of the paper's size, in memory.

python bench/shortest.py --json bench/results/shortest_HARDWARE_DATE.json

Uniform pairs of nodes, timed one by one, the path's nodes included, on one core. Asks for 6 GB of memory; most of its
two minutes go into making the graph.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

import synthetic
from linkwalk.graph.csr import transpose
from linkwalk.graph.paths import ShortestPaths
from report import report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=38_000_000)
    parser.add_argument("--edges", type=int, default=370_000_000)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="write the results here")
    args = parser.parse_args()
    graph = synthetic.in_memory(args.nodes, args.edges)
    reverse = transpose(graph)
    for array in reverse:
        array.flags.writeable = False
    search = ShortestPaths(graph, reverse)
    rng = np.random.default_rng(2)
    for start, goal in rng.integers(graph.nodes, size=(2, 200)).T.tolist():
        search.path(start, goal)  # compiles, and touches the pages of the scratch memory
    load = os.getloadavg()[0]  # waits for memory grow with what else the machine does: say what it did
    times, distances = [], []
    for start, goal in rng.integers(graph.nodes, size=(2, args.pairs)).T.tolist():
        begun = time.perf_counter()
        path = search.path(start, goal)
        times.append(1000 * (time.perf_counter() - begun))
        distances.append(path.distance)
    found = [distance for distance in distances if distance >= 0]
    held = (*graph, *reverse, search._marks, search._queues)
    sizes = {
        "nodes": graph.nodes,
        "edges": len(graph.indices),
        "pairs": args.pairs,
        "gb": sum(array.nbytes for array in held) / 1e9,
        "load_before": load,
    }
    results = {
        "shortest_path_median_ms": float(np.median(times)),
        "shortest_path_p95_ms": float(np.quantile(times, 0.95)),
        "shortest_path_slowest_ms": max(times),
        "mean_length": float(np.mean(found)),
        "reachable": len(found) / args.pairs,
    }
    print(f"shortest: {sizes['nodes']:,} nodes, {sizes['edges']:,} edges, {sizes['gb']:.1f} GB")
    report("shortest", sizes, results, args.json)


if __name__ == "__main__":
    main()
