"""What agents cost on a large wiki: embeddings copied to float32, and mapped in half precision as they lie on disk.

python bench/units.py [--nodes 4000000] [--episodes 2000] [--json OUT]

A made-up web with random embeddings in a file. Each form opens them in a process of its own, walks, and says how long
it took and what memory it has of its own; the copy is the peer. Walks end at their budget: random vectors lead nowhere.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.graph.csr import Csr
from linkwalk.navigate import Episodes, HalfUnits, Units, open_baseline, unit_rows
from report import hardware
from synthetic import in_memory

WIDTH, BUDGET = 384, 100
AGENTS = ("greedy-unvisited", "greedy-map")


def write(path: Path, nodes: int) -> None:
    """Random vectors, a piece at a time."""
    rng = np.random.default_rng(0)
    table = np.lib.format.open_memmap(path, "w+", np.float16, (nodes, WIDTH))
    for at in range(0, nodes, 1 << 16):
        table[at : at + (1 << 16)] = rng.standard_normal((min(1 << 16, nodes - at), WIDTH), dtype=np.float32)
    table.flush()


def own_memory() -> int:
    """Bytes of this process that are not pages of files."""
    with open("/proc/self/status", encoding="ascii") as file:
        found = dict(line.split(":", 1) for line in file)
    return int(found["RssAnon"].split()[0]) * 1024


def measure(form: str, path: Path, graph: Csr, episodes: int, results: Any) -> None:
    """Open, warm up, walk."""
    before = own_memory()
    began = time.perf_counter()
    table = np.load(path, mmap_mode="r")
    vectors: Units = HalfUnits(table) if form == "mapped" else unit_rows(table)
    found: dict[str, Any] = {"open_s": round(time.perf_counter() - began, 2)}
    rng = np.random.default_rng(1)
    asked = Episodes.of(*(rng.integers(0, graph.nodes, episodes).tolist() for _ in range(2)))
    for name in AGENTS:
        agent = open_baseline(name, graph, vectors, workers=2)
        agent.run(Episodes.of([0], [1]), budget=2)
        began = time.perf_counter()
        steps = int(agent.run(asked, budget=BUDGET).steps.sum())
        found[f"{name}_steps_per_s"] = round(steps / (time.perf_counter() - began))
    found["own_memory_gb"] = round((own_memory() - before) / 1e9, 2)
    found["peak_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
    results.put(found)


def main() -> None:
    """Make, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=4_000_000)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {"hardware": hardware(), "nodes": arguments.nodes, "width": WIDTH}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        write(path, arguments.nodes)
        report["table_gb"] = round(path.stat().st_size / 1e9, 2)
        graph = in_memory(arguments.nodes, 10 * arguments.nodes)
        context = multiprocessing.get_context("fork")
        for form in ("copied", "mapped", "copied", "mapped"):  # the second time the file is in memory
            results = context.Queue()
            process = context.Process(target=measure, args=(form, path, graph, arguments.episodes, results))
            process.start()
            report[form] = results.get()
            process.join()
            print(form, report[form], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
