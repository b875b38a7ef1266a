"""What does a wiki of ten or a hundred times the size cost? Build, index, walk, find and serve copies of one dump.

PYTHONPATH=src python bench/growth.py DUMP.xml.bz2 FOLDER --copies 1,10 --workers 2,16 --json OUT

The copies are in alphabets of their own (``copies.py``). Every part is a process of its own; what it cost is noted in
FOLDER/growth.json at once, so that a run which was stopped goes on where it was, and a later one adds sizes. Memory is
the most that a process held, pages of mapped files among it; of a build that of the main process and of the largest
worker. The graph of a size is built once for every number of workers, and the last one is asked: walks by the agent
``random``, which looks at no embeddings, and with --embed by ``greedy-unvisited`` on random embeddings of the usual
width (384), which costs what any others do; finding by search alone (BM25), sentences ranked by TF-IDF, queries being
sentences of the wiki. All of it was in the page cache, as far as there was room.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from report import hardware

Facts = dict[str, Any]
ASKED = 200
LINKWALK = [sys.executable, "-m", "linkwalk"]
FIND = {"start": "bm25", "navigation": "none", "rerank": "tfidf"}
#: Of a build only the main process works in these.
SERIAL = ("hash", "name articles", "pair surfaces", "weigh surfaces", "turn links round", "write", "finish")


FIGURES = ("seconds", "cpu", "cpu_of_workers", "peak_mb", "peak_mb_of_worker")


class Notes:
    """What is known so far, on disk."""

    def __init__(self, path: Path, limit: float) -> None:
        self.path, self.limit, self.started = path, limit, time.perf_counter()
        self.facts: dict[str, Facts] = json.loads(path.read_text()) if path.exists() else {}

    def part(self, name: str, measure: Callable[[], Facts]) -> bool:
        """Measure a part, unless it is known already; whether it is known now."""
        if name not in self.facts:
            say(self.started, f"{name} ...")
            try:
                found = measure()
            except subprocess.TimeoutExpired:
                say(self.started, f"{name}: over the limit of {self.limit:,.0f} s, left out")
                return False
            self.facts[name] = found
            self.path.write_text(json.dumps(self.facts, indent=1) + "\n")
        shown = {key: value for key, value in self.facts[name].items() if not isinstance(value, dict)}
        say(self.started, f"{name}: {shown}")
        return True


def say(started: float, line: str) -> None:
    print(f"{time.perf_counter() - started:7.1f} s  {line}", flush=True)


def size_of(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.stat(os.path.join(place, file)).st_size
            except OSError:
                continue
    return total


def run(command: list[str], limit: float, folder: Path) -> tuple[str, Facts]:
    """What a command prints, and its cost: seconds, CPU with its workers', the most bytes in a folder on the way."""
    before, started, disk = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0
    out = folder.with_name(folder.name + ".out")
    with out.open("w") as file, subprocess.Popen(command, stdout=file, start_new_session=True) as process:
        while process.poll() is None:
            if time.perf_counter() - started > limit:
                os.killpg(process.pid, 9)
                process.wait()
                raise subprocess.TimeoutExpired(command, limit)
            try:
                process.wait(0.5)
            except subprocess.TimeoutExpired:
                disk = max(disk, size_of(folder))
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}\n{out.read_text()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    text = out.read_text()
    out.unlink()
    took = time.perf_counter() - started
    return text, {"seconds": round(took, 2), "cpu": round(cpu, 1), "disk_mb": round(disk / 1e6)}


def build(dump: Path, wiki: Path, workers: int, limit: float) -> Facts:
    shutil.rmtree(wiki, ignore_errors=True)
    command = [*LINKWALK, "build", str(dump), "-o", str(wiki), "--workers", str(workers), "--json", "--quiet"]
    text, cost = run(command, limit, wiki)
    told = json.loads(text)
    costs = told["costs"]
    alone = sum(costs[part]["seconds"] for part in SERIAL if part in costs)
    # What stands between the parts (start of workers, looking at finished shards) is the main process's, too.
    alone += cost["seconds"] - sum(part["seconds"] for part in costs.values())
    shutil.rmtree(wiki / "kept", ignore_errors=True)
    return {
        **cost,
        "serial_share": round(alone / cost["seconds"], 3),
        "peak_mb": max(part.get("peak_mb", 0) for part in costs.values()),
        "peak_mb_of_worker": max(part.get("peak_mb_of_worker", 0) for part in costs.values()),
        "graph_mb": round(size_of(wiki / "graph") / 1e6),
        "blocks": told["counts"]["nodes"],
        "edges": told["counts"]["edges"],
        "parts": costs,
    }


def verb(wiki: Path, limit: float, part: str, *arguments: str) -> Facts:
    """Index or embed."""
    _, cost = run([*LINKWALK, *arguments], limit, wiki)
    return {**cost, "mb": round(size_of(wiki / part) / 1e6)}


def memory(pid: int | str = "self") -> Facts:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    names = {"peak_mb": "VmHWM", "own_mb": "RssAnon"}
    return {name: round(int(lines[field].split()[0]) / 1024) for name, field in names.items()}


def quantiles(took: list[float]) -> Facts:
    p50, p95 = np.quantile(took, [0.5, 0.95])
    return {"p50_ms": round(1000 * float(p50), 2), "p95_ms": round(1000 * float(p95), 2), "asked": len(took)}


def sentences(graph: Any, rng: np.random.Generator, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        block = graph.block(int(rng.integers(graph.nodes)))
        found += [one for one in block.sentences if 40 < len(one) < 200][:1]
    return found


def ask(wiki: Path, what: str) -> Facts:
    """Walk or find in this process: how long it takes to open, and then for every question."""
    from linkwalk.wiki import Wiki

    rng, started = np.random.default_rng(0), time.perf_counter()
    opened = Wiki.open(wiki)
    open_s = time.perf_counter() - started
    if what == "find":
        queries = sentences(opened.graph, rng, ASKED)
        steps: list[Callable[[], object]] = [lambda q=query: opened.find(q, **FIND) for query in queries]
    else:
        pairs = [opened.pair(seed) for seed in range(ASKED)]
        steps = [lambda a=a.node, b=b.node: opened.walk(a, b, agent=what) for a, b, _ in pairs]
    took: list[float] = []
    for step in steps:
        began = time.perf_counter()
        step()
        took.append(time.perf_counter() - began)
    return {"open_s": round(open_s, 2), "first_s": round(took[0], 2), **quantiles(took[1:]), **memory()}


def serve(wiki: Path, seconds: float) -> Facts:
    """One server, eight clients: blocks, walks, evidence; then what it holds of memory."""
    from linkwalk.graph.store import Graph
    from linkwalk.wiki import Wiki
    from serve import get, measure, post, started

    graph, rng, began = Graph.open(wiki), np.random.default_rng(1), time.perf_counter()
    nodes = rng.integers(graph.nodes, size=2048).tolist()
    opened = Wiki.open(wiki)
    pairs = [opened.pair(seed)[:2] for seed in range(512)]
    asked = {
        "a block": [get(f"/api/v1/block/{node}") for node in nodes],
        "a walk": [
            post("/api/v1/walk", {"start": a.node, "goal": b.node, "agent": "random", "budget": 100})
            for a, b in pairs
        ],
        "find": [post("/api/v1/find", {"query": query, **FIND}) for query in sentences(graph, rng, 512)],
    }
    found: Facts = {}
    with started([*LINKWALK, "serve", str(wiki), "--port", "0", "--lazy", "--rerank", "tfidf"]) as address:
        found["ready_s"] = round(time.perf_counter() - began, 2)
        for name, requests in asked.items():
            measure(address, requests[-64:], 8, 2.0)
            for clients in (1, 8):
                row = measure(address, requests, clients, seconds)
                kept = {key: row[key] for key in ("per_s", "p50_ms", "p95_ms", "statuses")}
                found[f"{name}, {clients} at once"] = kept
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and os.getpgid(0) != int(entry.name):
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if b"serve" in words and str(wiki).encode() in words:
                        found |= memory(entry.name)
                except OSError:
                    continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", type=Path)
    parser.add_argument("folder", type=Path, help="for copies, graphs and notes")
    parser.add_argument("--copies", default="1,10", help="sizes")
    parser.add_argument("--workers", default=str(os.cpu_count()), help="numbers of workers to build with")
    parser.add_argument("--only-build", action="store_true")
    parser.add_argument("--embed", action="store_true", help="walk by random embeddings, too")
    parser.add_argument("--keep", action="store_true", help="leave copies and graphs where they are")
    parser.add_argument("--seconds", type=float, default=4, help="of every measurement of the server")
    parser.add_argument("--limit", type=float, default=1500, help="seconds that a part may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ask:
        found = serve(args.folder, args.seconds) if args.ask == "serve" else ask(args.folder, args.ask)
        print(json.dumps(found))
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(args.folder / "growth.json", args.limit)
    for copies in map(int, args.copies.split(",")):
        measure_size(notes, args, copies)
    table(notes.facts)
    if args.json:
        record = {"benchmark": "growth", "dump": args.dump.name, "hardware": hardware(), "parts": notes.facts}
        args.json.write_text(json.dumps(record, indent=1) + "\n")


def measure_size(notes: Notes, args: argparse.Namespace, copies: int) -> None:
    """All parts of one size."""
    dump, wiki, limit = args.folder / f"{copies}x.xml.bz2", args.folder / f"wiki{copies}x", args.limit

    def copy() -> Facts:
        script = Path(__file__).with_name("copies.py")
        _, cost = run([sys.executable, str(script), str(args.dump), str(copies), str(dump)], limit, dump)
        return {**cost, "mb": round(dump.stat().st_size / 1e6)}

    def asked(what: str) -> Facts:
        command = [sys.executable, __file__, "-", str(wiki), "--ask", what, "--seconds", str(args.seconds)]
        return dict(json.loads(run(command, limit, wiki)[0]))

    names = [f"{copies}x, build, {workers} workers" for workers in args.workers.split(",")]
    if any(name not in notes.facts for name in names) and not dump.exists():
        notes.facts.pop(f"{copies}x, copies", None)
        if not notes.part(f"{copies}x, copies", copy):
            return
    for name, workers in zip(names, map(int, args.workers.split(",")), strict=True):
        notes.part(name, lambda workers=workers: build(dump, wiki, workers, limit))
    if not args.keep:
        dump.unlink(missing_ok=True)
    if not args.only_build and (wiki / "graph" / "manifest.json").exists():
        if notes.part(f"{copies}x, index", lambda: verb(wiki, limit, "index", "index", str(wiki), "--quiet")):
            for what in ("random", "find", "serve"):
                name = f"{copies}x, {what}".replace("random", "walk, random")
                notes.part(name, lambda what=what: asked(what))
        if args.embed and notes.part(
            f"{copies}x, embed",
            lambda: verb(wiki, limit, "embeddings", "embed", str(wiki), "--encoder", "random", "--quiet"),
        ):
            notes.part(f"{copies}x, walk, greedy-unvisited", lambda: asked("greedy-unvisited"))
    if not args.keep:
        shutil.rmtree(wiki, ignore_errors=True)


def table(facts: dict[str, Facts]) -> None:
    """Builds by part."""
    for name, found in facts.items():
        if ", build," not in name:
            continue
        print(
            f"\n{name}: {found['seconds']:,.1f} s, {found['cpu']:,.0f} s of CPU, "
            f"serial {100 * found['serial_share']:.1f} %, {found['blocks']:,} blocks, "
            f"graph {found['graph_mb']:,} MB, on the way {found['disk_mb']:,} MB"
        )
        print(f"  {'':16} {'s':>8} {'CPU':>8} {'workers':>8} {'MB':>8} {'worker':>8}")
        for part, cost in found["parts"].items():
            figures = (cost.get(key, 0) for key in FIGURES)
            print(f"  {part:16} " + " ".join(f"{figure:8,.1f}" for figure in figures))


if __name__ == "__main__":
    main()
