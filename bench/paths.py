"""How fast are path lengths from many sources? 64 searches per word, beside scipy and igraph.

python bench/paths.py --json bench/results/paths_HARDWARE_DATE.json
"""

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra

import synthetic
from linkwalk.graph.components import strong_components, weak_components
from linkwalk.graph.csr import transpose
from linkwalk.graph.paths import ShortestPaths, distances_from
from linkwalk.graph.sweeps import path_lengths
from report import report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=2_000_000)
    parser.add_argument("--sources", type=int, default=1024)
    parser.add_argument("--peer-sources", type=int, default=16, help="fewer for the peers: they are slow")
    parser.add_argument("--json", type=Path, help="write the results here")
    args = parser.parse_args()
    graph = synthetic.in_memory(args.nodes, args.edges)
    reverse = transpose(graph)
    for array in reverse:
        array.flags.writeable = False
    rng = np.random.default_rng(1)
    sources = rng.choice(graph.nodes, args.sources, replace=False)
    few = sources[: args.peer_sources]
    results: dict[str, Any] = {}

    def clock(name: str, count: int, work: Any) -> Any:
        begun = time.perf_counter()
        value = work()
        results[name] = count / (time.perf_counter() - begun)
        return value

    path_lengths(graph, sources[:1])  # compile
    distances_from(graph, 0)
    ours = clock("many_sources_per_s", len(sources), lambda: path_lengths(graph, sources))
    clock("one_source_per_s", len(few), lambda: [distances_from(graph, int(s)) for s in few])

    ones = np.ones(len(graph.indices), np.int8)
    matrix = csr_array((ones, graph.indices.copy(), graph.indptr.astype(np.int32)), shape=(graph.nodes,) * 2)
    theirs = clock(
        "scipy_dijkstra_sources_per_s", len(few), lambda: dijkstra(matrix, indices=few, unweighted=True)
    )
    clock(
        "scipy_breadth_first_sources_per_s",
        len(few),
        lambda: [breadth_first_order(matrix, int(s), return_predecessors=False) for s in few],
    )
    peers = ["scipy_dijkstra", "scipy_breadth_first"]
    if find_spec("igraph") is not None:
        import igraph

        rows = np.repeat(np.arange(graph.nodes), graph.degrees())
        web = igraph.Graph(n=graph.nodes, edges=np.stack([rows, graph.indices], 1), directed=True)
        clock("igraph_sources_per_s", len(few), lambda: web.distances(source=few.tolist(), mode="out"))
        peers.append("igraph")
    for peer in peers:
        results[f"ratio_to_{peer}"] = results["many_sources_per_s"] / results[f"{peer}_sources_per_s"]
    finite = theirs[np.isfinite(theirs)].astype(np.int64)
    counts = np.bincount(finite)
    counts[0] -= len(few)
    assert np.array_equal(path_lengths(graph, few).counts, counts), "scipy finds other lengths"
    results["median_length"] = ours.median

    pairs = rng.integers(graph.nodes, size=(2, 2000))
    search = ShortestPaths(graph, reverse)
    search.path(0, 1)
    clock("shortest_paths_pairs_per_s", pairs.shape[1], lambda: search.distances(*pairs))
    weak_components(graph), strong_components(graph)
    clock("weak_components_edges_per_s", len(graph.indices), lambda: weak_components(graph))
    clock("strong_components_edges_per_s", len(graph.indices), lambda: strong_components(graph))
    sizes = {
        "nodes": graph.nodes,
        "edges": len(graph.indices),
        "sources": len(sources),
        "peer_sources": len(few),
    }
    print(f"paths: {sizes['nodes']:,} nodes, {sizes['edges']:,} edges")
    report("paths", sizes, results, args.json)


if __name__ == "__main__":
    main()
