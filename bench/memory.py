"""How much memory does a build take, and what grows with the dump? The same wiki once, and ten times (``copies.py``).

python bench/memory.py SCHOOLS_DUMP.xml.bz2 --json bench/results/memory_HARDWARE_DATE.json

Memory is the anonymous memory (what cannot be paged back from a file) of the build and its workers, sampled ten times a
second. The tables that grow are measured as files in the build's folder, before it is cleaned up.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from copies import write_copies
from linkwalk.graph.columns import map_array
from linkwalk.graph.store import LINK, Graph
from report import report

#: Groups of tables in the build's folder, and what they grow with.
TABLES = {
    "names": ("names-", "titles-keys"),
    "headings": ("sections-",),
    "surfaces": ("surface-", "candidate-", "link-probability", "admitted", "ambiguous"),
    "contexts": ("context-",),
    "articles": ("article-node", "outgoing", "neighbour"),
}

#: Which file says that a stage has begun, the last stage first.
STAGES = {
    "write": "graph",
    "link": "edges-*.npz",
    "count, weigh": "counts-*.npz",
    "pair, relate": "surface-keys.npy",
    "resolve": "links-*.npz",
    "name": "read.json",
}


def anonymous_bytes(root: int) -> tuple[int, int]:
    """Anonymous memory of a process, and of its descendants together."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
                parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
            except OSError:
                continue
    family, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family |= more
        grown = bool(more)
    sizes = {}
    for pid in family:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            sizes[pid] = int(re.search(r"Pss_Anon:\s+(\d+)", rollup)[1]) * 1024  # type: ignore[index]
        except (OSError, TypeError):
            continue
    own = sizes.pop(root, 0)
    return own, sum(sizes.values())


def stage_of(folder: Path) -> str:
    """What the build is at, as its files tell."""
    for name, sign in STAGES.items():
        if next(folder.glob(sign), None) is not None:
            return name
    return "read"


def watch(dump: Path, wiki: Path, workers: int) -> dict[str, float]:
    """Build; return seconds, peaks, and the largest size of each group of tables."""
    command = [
        sys.executable,
        "-m",
        "linkwalk",
        "build",
        str(dump),
        "-o",
        str(wiki),
        "--workers",
        str(workers),
        "-q",
    ]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peaks = {"peak": 0, "peak of the main process": 0, "peak of all workers": 0}
    tables, tick = dict.fromkeys(TABLES, 0), 0
    stages: dict[str, int] = {}
    while process.poll() is None:
        own, others = anonymous_bytes(process.pid)
        stage = stage_of(wiki / "graph.partial")
        stages[stage] = max(stages.get(stage, 0), own)
        for name, now in zip(peaks, (own + others, own, others), strict=True):
            peaks[name] = max(peaks[name], now)
        tick += 1
        if tick % 5 == 0:
            for name, prefixes in TABLES.items():
                files = [f for f in (wiki / "graph.partial").glob("*.npy") if f.name.startswith(prefixes)]
                with contextlib.suppress(OSError):
                    tables[name] = max(tables[name], sum(f.stat().st_size for f in files))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the build failed: {' '.join(command)}")
    megabytes = {f"{name}, MB": size / 1e6 for name, size in peaks.items()}
    megabytes |= {f"main process while in '{name}', MB": size / 1e6 for name, size in stages.items()}
    megabytes |= {f"{name} tables, MB": size / 1e6 for name, size in tables.items()}
    return {"build, s": time.perf_counter() - started, **megabytes}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", type=Path)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for copies in (1, arguments.copies):
            dump, wiki = Path(folder) / f"{copies}.xml.bz2", Path(folder) / f"wiki{copies}"
            list(write_copies(arguments.dump, copies, dump, arguments.workers))
            found = watch(dump, wiki, arguments.workers)
            graph = Graph.open(wiki)
            found |= {"articles": graph.articles, "blocks": graph.nodes, "edges": graph.edges}
            found["links"] = int((graph.out_kinds == LINK).sum())
            found["surfaces"] = len(map_array(graph.folder / "anchors_surfaces.npy"))
            results |= {f"{copies}x: {name}": value for name, value in found.items()}
            dump.unlink()
    many, one = f"{arguments.copies}x: ", "1x: "
    grown = (results[many + "peak, MB"] - results[one + "peak, MB"]) * 1e6
    for unit in ("articles", "blocks", "edges"):
        results[f"peak grows by, bytes per {unit[:-1]}"] = grown / (
            results[many + unit] - results[one + unit]
        )
    report("memory", {"dump": arguments.dump.name, "workers": arguments.workers}, results, arguments.json)


if __name__ == "__main__":
    main()
