"""How much memory does a build take, and what grows with the dump? The same wiki once, and ten times under new titles.

python bench/memory.py SCHOOLS_DUMP.xml.bz2 --json bench/results/memory_HARDWARE_DATE.json

Memory is the anonymous memory (what cannot be paged back from a file) of the build and its workers, sampled ten times a
second. The tables that grow are measured as files in the build's folder, before it is cleaned up.
"""

import argparse
import bz2
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import report

LINK = re.compile(r"\[\[([^\[\]|{}]+)")
TITLE = re.compile(r"<title>(.*?)</title>")
#: English Wikipedia as the paper's graph has it, with its redirects and headings.
ENGLISH = {"names": 17e6, "articles": 5.3e6, "blocks": 38e6, "edges": 387e6, "headings": 30e6, "links": 170e6}
#: Groups of tables in the build's folder, and what they grow with.
TABLES = {
    "names": ("names-", "titles-keys"),
    "headings": ("sections-",),
    "surfaces": ("surface-", "candidate-", "link-probability", "admitted", "ambiguous"),
    "contexts": ("context-",),
    "articles": ("article-node", "outgoing", "neighbour"),
}


def write_copies(dump: Path, copies: int, path: Path) -> None:
    """The dump's pages several times, each copy with titles and links of its own."""
    text = bz2.open(dump, "rt").read()
    head, pages = text.split("<page>", 1)
    pages = "<page>" + pages.rsplit("</mediawiki>", 1)[0]
    with path.open("w") as file:
        file.write(head)
        for copy in range(copies):
            mark = f" {copy}" if copy else ""
            renamed = TITLE.sub(lambda m, mark=mark: f"<title>{m[1]}{mark}</title>", pages)
            file.write(LINK.sub(lambda m, mark=mark: m[0] if ":" in m[1] else f"[[{m[1]}{mark}|{m[1]}" if mark else m[0], renamed)
                       if mark else renamed)
        file.write("</mediawiki>\n")


def anonymous_bytes(root: int) -> int:
    """Anonymous memory of a process and its descendants."""
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
    total = 0
    for pid in family:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(r"Pss_Anon:\s+(\d+)", rollup)[1]) * 1024  # type: ignore[index]
        except (OSError, TypeError):
            continue
    return total


def watch(dump: Path, wiki: Path, workers: int) -> tuple[float, float, dict[str, float]]:
    """Build; return seconds, peak bytes, and the largest size of each group of tables."""
    command = [sys.executable, "-m", "linkwalk", "build", str(dump), "-o", str(wiki), "--workers", str(workers), "-q"]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, tables, tick = 0, dict.fromkeys(TABLES, 0.0), 0
    while process.poll() is None:
        peak = max(peak, anonymous_bytes(process.pid))
        tick += 1
        if tick % 5 == 0:
            for name, prefixes in TABLES.items():
                files = [f for f in (wiki / "graph.partial").glob("*.npy") if f.name.startswith(prefixes)]
                try:
                    tables[name] = max(tables[name], float(sum(f.stat().st_size for f in files)))
                except OSError:
                    continue
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the build failed: {' '.join(command)}")
    return time.perf_counter() - started, peak, tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    from linkwalk.graph.store import Graph

    results: dict[str, float] = {}
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for copies in (1, arguments.copies):
            dump, wiki = Path(folder) / f"{copies}.xml", Path(folder) / f"wiki{copies}"
            write_copies(arguments.dump, copies, dump)
            took, peak, tables = watch(dump, wiki, arguments.workers)
            graph = Graph.open(wiki)
            measured.append((peak, tables, graph.articles, graph.nodes, graph.edges))
            results |= {f"{copies}x: build, s": took, f"{copies}x: peak, MB": peak / 1e6}
            results |= {f"{copies}x: {name} tables, MB": size / 1e6 for name, size in tables.items()}
            results |= {f"{copies}x: blocks": graph.nodes, f"{copies}x: edges": graph.edges}
    (peak_1, _, articles_1, *_), (peak_n, tables_n, articles_n, *_) = measured
    per_article = (peak_n - peak_1) / (articles_n - articles_1)
    results["peak grows by, bytes an article"] = per_article
    results["tables, bytes an article"] = sum(tables_n.values()) / articles_n
    report("memory", {"dump": arguments.dump.name, "workers": arguments.workers}, results, arguments.json)


if __name__ == "__main__":
    main()
