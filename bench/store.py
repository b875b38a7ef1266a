"""How fast is the mapped store? Opening, neighbour lists in random batches, shortest paths, beside scipy.

    python bench/store.py [WIKI] --json bench/results/store_HARDWARE_DATE.json

Opening is mapping the files, which is all it was before anything was checked; then the first look at these files, and
later ones, which find it noted. With a workspace, its opening is measured, too.
Writes a synthetic graph of 10M blocks and 100M edges (1.7 GB) into a temporary folder, and removes it.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import synthetic
from linkwalk.artifact import notes
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from report import report

BATCH = 1 << 14
SECONDS = 3.0


def rate(batches: list[NDArray[np.int64]], fetch: Callable[[NDArray[np.int64]], object]) -> float:
    """Rows per second over random batches, one core; the first batch warms up."""
    fetch(batches[0])
    rows, at, begun = 0, 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < SECONDS:
        batch = batches[at % len(batches)]
        fetch(batch)
        rows += len(batch)
        at += 1
    return rows / elapsed


def scipy_rows(graph: Csr) -> Callable[[NDArray[np.int64]], object]:
    """The peer: row slicing of scipy's sparse matrix over the same arrays."""
    from scipy.sparse import csr_array

    ones = np.ones(len(graph.indices), np.int8)
    matrix = csr_array((ones, graph.indices, graph.indptr), shape=(graph.nodes, graph.nodes))
    return lambda batch: matrix[batch]


def openings(workspace: Path, times: int = 9) -> dict[str, float]:
    """Milliseconds to open a graph whose files are in memory: mapped alone, looked at for the first time, and later."""

    def median(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
        taken = []
        for _ in range(times):
            before()
            begun = time.perf_counter()
            work()
            taken.append(1e3 * (time.perf_counter() - begun))
        return statistics.median(taken)

    Graph.open(workspace)
    note = workspace / notes.NOTE
    return {
        "mapped_ms": median(lambda: Graph.map(workspace)),
        "first_ms": median(lambda: Graph.open(workspace), lambda: note.unlink(missing_ok=True)),
        "later_ms": median(lambda: Graph.open(workspace)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wiki", type=Path, nargs="?", help="a workspace whose opening is measured, too")
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--pairs", type=int, default=500, help="queries for the latency of shortest paths")
    parser.add_argument("--json", type=Path, help="write the results here")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="linkwalk-bench-") as folder:
        workspace = Path(folder)
        begun = time.perf_counter()
        synthetic.write(workspace, args.nodes, args.edges)
        results["write_s"] = time.perf_counter() - begun

        time.sleep(0.2)  # what has just been written is not noted as looked at
        results |= {f"open_{name}": value for name, value in openings(workspace).items()}
        if args.wiki is not None:
            results |= {f"open_{args.wiki.name}_{name}": v for name, v in openings(args.wiki).items()}
        graph = Graph.open(workspace)

        rng = np.random.default_rng(1)
        batches = [rng.integers(graph.nodes, size=BATCH) for _ in range(200)]
        for name, direction in (("out", graph.forward), ("in", graph.reverse)):
            direction.indices.max()  # bring the pages into memory: the question is the kernel's speed
            results[f"{name}_lists_per_s"] = rate(batches, direction.gather)
            results[f"{name}_lists_per_s_scipy"] = rate(batches, scipy_rows(direction))
            results[f"{name}_ratio_to_scipy"] = (
                results[f"{name}_lists_per_s"] / results[f"{name}_lists_per_s_scipy"]
            )

        search = ShortestPaths(graph.forward, graph.reverse)
        search.path(0, 1)
        times, distances = [], []
        for start, goal in rng.integers(graph.nodes, size=(args.pairs, 2)).tolist():
            begun = time.perf_counter()
            distances.append(search.path(start, goal).distance)
            times.append(1e3 * (time.perf_counter() - begun))
        results["shortest_path_median_ms"] = statistics.median(times)
        results["shortest_path_p95_ms"] = float(np.quantile(times, 0.95))
        results["shortest_path_mean_length"] = float(np.mean([d for d in distances if d >= 0]))
        sizes = {"nodes": graph.nodes, "edges": graph.edges, "batch": BATCH, "pairs": args.pairs}
    print(f"store: {sizes['nodes']:,} nodes, {sizes['edges']:,} edges")
    report("store", sizes, results, args.json)


if __name__ == "__main__":
    main()
