"""How fast is the index? A real wiki beside bm25s, a million made-up blocks, a hundredth changed, embeddings.

    python bench/index.py WIKI --embedded A B --json bench/results/index_HARDWARE_DATE.json

WIKI is a workspace. The made-up blocks have its words as often as it has them and blocks as long as its own, in random
order; no new words turn up in them as they would in a larger wiki. Each index is made in a process of its own, whose
memory is sampled ten times a second. Workspaces with embeddings (their rows together) are for the approximate index.
"""

import argparse
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.artifact import digest, seal
from linkwalk.artifact.notes import NOTE
from linkwalk.embed.store import Embeddings
from linkwalk.embed.text import goal_sentences
from linkwalk.graph.store import Graph
from linkwalk.graph.writer import GraphWriter
from linkwalk.navigate.cosine import unit_rows
from linkwalk.retrieve.bm25 import Bm25, index
from linkwalk.retrieve.dense import Dense, index_dense
from linkwalk.retrieve.starts import nearest_many
from report import report

BLOCKS, SLICE, TOP, QUERY_WORDS = 8, 8192, 10, 8
CHANGED = 0.01


def in_child(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """What the work says, its seconds, and the most memory its process held (MB); a process of its own."""
    pool = multiprocessing.get_context("spawn").Pool(1)
    try:
        return pool.apply(_watched, (work, arguments))
    finally:
        pool.close()
        pool.join()


def _watched(work: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> dict[str, Any]:
    most, over = {"RssAnon": 0.0, "VmRSS": 0.0}, threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in most:
                    most[name] = max(most[name], int(value.split()[0]) / 1e3)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    begun = time.perf_counter()
    found = work(*arguments)
    seconds = time.perf_counter() - begun
    over.set()
    watcher.join()
    return found | {"s": seconds, "anonymous_mb": most["RssAnon"], "resident_mb": most["VmRSS"]}


def make(workspace: Path, threads: int, force: bool) -> dict[str, Any]:
    """Index a workspace."""
    made = index(workspace, Graph.open(workspace), threads=threads, force=force)
    size = sum(file.stat().st_size for file in made.folder.rglob("*") if file.is_file())
    return {"added": made.added, "removed": made.removed, "whole": made.whole, "bytes": size}


def vocabulary(graph: Graph) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The words of a wiki, how often each is written, and the lengths of its blocks."""
    counts: Counter[str] = Counter()
    lengths = []
    for start in range(0, graph.nodes, SLICE):
        for text in graph.texts.slice(start, min(start + SLICE, graph.nodes)):
            words = text.split()
            counts.update(words)
            lengths.append(len(words))
    words, numbers = zip(*counts.items(), strict=True)
    return list(words), np.cumsum(numbers, dtype=np.float64) / sum(numbers), np.array(lengths)


def write_blocks(workspace: Path, blocks: int, source: tuple[Any, ...], *, changed: float = 0.0) -> None:
    """A graph of made-up blocks without links; ``changed`` of its articles have other words than without."""
    words, cumulated, lengths = source
    table = np.array(words, dtype=object)
    other = np.random.default_rng(9).random(-(-blocks // BLOCKS)) < changed
    shutil.rmtree(workspace / "graph", ignore_errors=True)
    with GraphWriter(workspace / "graph") as writer:
        writer.add_sections([""])
        for start in range(0, blocks, SLICE):
            node = np.arange(start, min(start + SLICE, blocks))
            rng = np.random.default_rng([1, start])
            sizes = rng.choice(lengths, len(node))
            ends = np.cumsum(sizes).tolist()
            drawn = table[
                np.minimum(np.searchsorted(cumulated, rng.random(ends[-1])), len(words) - 1)
            ].tolist()
            texts = [" ".join(drawn[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
            texts = [
                f"{words[n % 999]} {text}" if other[n // BLOCKS] else text
                for n, text in zip(node.tolist(), texts, strict=True)
            ]
            raw = [text.encode()[:60_000] for text in texts]
            firsts = node[node % BLOCKS == 0]
            writer.add_articles([f"{words[n % len(words)]} {n // BLOCKS}" for n in firsts.tolist()], firsts)
            bytes_of = np.array([len(text) for text in raw])
            writer.add_blocks(
                text=b"".join(raw),
                text_lengths=bytes_of,
                article=node // BLOCKS,
                block=node % BLOCKS,
                section=np.zeros(len(node), np.int32),
                sentence_counts=np.ones(len(node), np.int64),
                sentence_ends=bytes_of,
            )
            none = np.zeros(0, np.int64)
            writer.add_edges(
                degrees=np.zeros(len(node), np.int64), targets=none, kinds=none, spans=none.reshape(0, 2)
            )
        snapshot = {"name": "synthetic", "date": str(changed)}
        writer.finish({"config": {}, "inputs": [], "snapshot": snapshot})


def edit(wiki: Path, into: Path) -> None:
    """A copy of a wiki's graph in which one article in a hundred begins each block with another word."""
    shutil.rmtree(into / "graph", ignore_errors=True)
    shutil.copytree(wiki / "graph", into / "graph")
    graph = Graph.open(wiki)
    chosen = np.random.default_rng(9).random(graph.articles) < CHANGED
    with (into / "graph" / "text.bin").open("r+b") as file:
        for node in np.flatnonzero(chosen[graph.node_article]).tolist():
            file.seek(int(graph.texts.offsets[node]))
            file.write(b"zq"[: int(graph.texts.offsets[node + 1] - graph.texts.offsets[node])])
    manifest = graph.manifest | {"fingerprint": digest([graph.fingerprint, "edited"])}
    seal(into / "graph", manifest)


def questions(graph: Graph, count: int) -> list[str]:
    """Eight words that stand next to each other, from random blocks."""
    rng, found = np.random.default_rng(3), []
    while len(found) < count:
        words = re.findall(r"\w+", graph.texts[int(rng.integers(graph.nodes))])
        if len(words) > QUERY_WORDS:
            at = int(rng.integers(len(words) - QUERY_WORDS))
            found.append(" ".join(words[at : at + QUERY_WORDS]))
    return found


def latency(name: str, ask: Callable[[Any], object], queries: Any) -> dict[str, float]:
    """Milliseconds of one query at a time."""
    for query in queries[:20]:
        ask(query)
    times = []
    for query in queries:
        begun = time.perf_counter()
        ask(query)
        times.append(1e3 * (time.perf_counter() - begun))
    return {f"{name}_p50_ms": float(np.median(times)), f"{name}_p95_ms": float(np.quantile(times, 0.95))}


def opening(name: str, workspace: Path) -> dict[str, float]:
    """How long it takes to open an index: at first every byte of it is read."""
    graph, times = Graph.open(workspace), []
    (workspace / NOTE).unlink(missing_ok=True)
    for _ in range(20):
        begun = time.perf_counter()
        Bm25.open(workspace, graph)
        times.append(1e3 * (time.perf_counter() - begun))
    return {f"{name}_open_first_ms": times[0], f"{name}_open_ms": float(np.median(times[1:]))}


def ask(name: str, workspace: Path, queries: list[str]) -> dict[str, float]:
    """How long queries take, one at a time and on several threads."""
    bm25 = Bm25.open(workspace, Graph.open(workspace))
    found = latency(f"{name}_query", lambda query: bm25.search(query, TOP), queries)
    for threads in (1, 2):
        begun = time.perf_counter()
        bm25.search_many(queries, TOP, threads=threads)
        found[f"{name}_queries_per_s_{threads}_threads"] = len(queries) / (time.perf_counter() - begun)
    return found


def peer(workspace: Path, queries: list[str]) -> dict[str, Any]:
    """The peer: bm25s on the same texts, titles before them; its own words, no stems; it holds all in memory."""
    import bm25s

    graph = Graph.open(workspace)
    texts = [f"{graph.title(node)} {graph.texts[node]}" for node in range(graph.nodes)]
    begun = time.perf_counter()
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    found: dict[str, Any] = {"build_s": time.perf_counter() - begun}

    def search(query: str) -> object:
        tokens = bm25s.tokenize(query, stopwords=None, show_progress=False)
        return retriever.retrieve(tokens, k=TOP, show_progress=False)

    found |= latency("query", search, queries)
    begun = time.perf_counter()
    tokens = bm25s.tokenize(queries, stopwords=None, show_progress=False)
    retriever.retrieve(tokens, k=TOP, show_progress=False, n_threads=2)
    found["queries_per_s_2_threads"] = len(queries) / (time.perf_counter() - begun)
    return found


def real(wiki: Path, folder: Path, count: int) -> dict[str, Any]:
    """The real wiki: whole, changed, asked; the peer."""
    results: dict[str, Any] = {}
    shutil.copytree(wiki / "graph", folder / "graph")
    graph = Graph.open(folder)
    queries = questions(graph, count)
    for threads in (1, 2):
        made = in_child(make, folder, threads, True)
        results[f"wiki_build_{threads}_threads_s"] = made["s"]
    results["wiki_mb"] = made["bytes"] / 1e6
    results |= opening("wiki", folder)
    results |= ask("wiki", folder, queries)
    edit(wiki, folder)
    changed = in_child(make, folder, 2, False)
    results["wiki_update_added"], results["wiki_update_removed"] = changed["added"], changed["removed"]
    results["wiki_update_s"] = changed["s"]
    results["wiki_update_ratio"] = changed["s"] / made["s"]
    graph = Graph.open(folder)
    after, _ = zip(*Bm25.open(folder, graph).search_many(queries, TOP), strict=True)
    whole = in_child(make, folder, 2, True)
    results["wiki_rebuild_s"] = whole["s"]
    before, _ = zip(*Bm25.open(folder, graph).search_many(queries, TOP), strict=True)
    same = [
        len(set(a.tolist()) & set(b.tolist())) / max(len(b), 1) for a, b in zip(after, before, strict=True)
    ]
    results["wiki_update_top10_as_rebuilt"] = float(np.mean(same))
    results["wiki_update_first_as_rebuilt"] = float(
        np.mean([a[:1].tolist() == b[:1].tolist() for a, b in zip(after, before, strict=True)])
    )
    if find_spec("bm25s") is None:
        print("no bm25s: the peer is passed over")
        return results
    other = in_child(peer, folder, queries)
    for key in ("build_s", "query_p50_ms", "query_p95_ms", "queries_per_s_2_threads", "anonymous_mb"):
        results[f"bm25s_{key}"] = other[key]
    results["wiki_anonymous_mb"] = whole["anonymous_mb"]
    results["build_ratio_to_bm25s"] = other["build_s"] / results["wiki_build_2_threads_s"]
    results["query_p50_ratio_to_bm25s"] = other["query_p50_ms"] / results["wiki_query_p50_ms"]
    return results


def made_up(wiki: Path, folder: Path, blocks: int, count: int) -> dict[str, Any]:
    """A million blocks: whole, asked, changed."""
    source = vocabulary(Graph.open(wiki))
    write_blocks(folder, blocks, source)
    results: dict[str, Any] = {}
    for threads in (1, 2):
        made = in_child(make, folder, threads, True)
        results[f"build_{threads}_threads_blocks_per_s"] = blocks / made["s"]
        results[f"build_{threads}_threads_anonymous_mb"] = made["anonymous_mb"]
        results[f"build_{threads}_threads_resident_mb"] = made["resident_mb"]
    results["bytes_per_block"] = made["bytes"] / blocks
    results |= opening("made_up", folder)
    results |= ask("made_up", folder, questions(Graph.open(folder), count))
    write_blocks(folder, blocks, source, changed=CHANGED)
    changed = in_child(make, folder, 2, False)
    results["update_added"], results["update_s"] = changed["added"], changed["s"]
    results["update_ratio"] = changed["s"] / made["s"]
    return results


def embedded(workspaces: list[Path], folder: Path, count: int) -> dict[str, Any]:
    """The approximate index of embeddings beside looking at all of them; sentences are asked for."""
    tables = [Embeddings.open(workspace) for workspace in workspaces]
    vectors = np.concatenate([table.vectors for table in tables])
    table = Embeddings("all", tables[0].manifest, vectors)
    rng, graph = np.random.default_rng(4), Graph.open(workspaces[-1])
    sentences = [goal_sentences(graph, node)[0] for node in rng.integers(graph.nodes, size=count).tolist()]
    meanings = unit_rows(tables[-1].encoder("cpu").encode(sentences))
    begun = time.perf_counter()
    index_dense(folder, table, threads=2)
    results: dict[str, Any] = {"dense_rows_per_s": len(vectors) / (time.perf_counter() - begun)}
    results["dense_rows"] = len(vectors)
    results["dense_bytes_per_block"] = (folder / "index/dense/vectors.usearch").stat().st_size / len(vectors)
    dense, units = Dense.open(folder, table), unit_rows(vectors)
    results |= latency("exact", lambda meaning: nearest_many(units, meaning[None], TOP), meanings[:100])
    results |= latency("dense", lambda meaning: dense.nearest_many(meaning[None], TOP, threads=1), meanings)
    begun = time.perf_counter()
    exact = nearest_many(units, meanings, 100)
    results["exact_queries_per_s_together"] = count / (time.perf_counter() - begun)
    begun = time.perf_counter()
    dense.nearest_many(meanings, TOP, threads=2)
    results["dense_queries_per_s_2_threads"] = count / (time.perf_counter() - begun)
    for depth in (TOP, 100):
        found = dense.nearest_many(meanings, depth)
        shares = [
            len(set(a[:depth]) & set(b.tolist())) / depth for a, b in zip(exact.tolist(), found, strict=True)
        ]
        results[f"dense_recall_at_{depth}"] = float(np.mean(shares))
    results["exact_ms_per_100k_blocks"] = results["exact_p50_ms"] / len(vectors) * 1e5
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wiki", type=Path, help="workspace of a real wiki")
    parser.add_argument("--embedded", type=Path, nargs="+", default=[], help="workspaces with embeddings")
    parser.add_argument("--blocks", type=int, default=1_000_000, help="made-up blocks; 0: none")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--peers", type=Path, help="folder with further libraries, for bm25s")
    parser.add_argument("--json", type=Path, help="write the results here")
    args = parser.parse_args()
    if args.peers:
        os.environ["PYTHONPATH"] = f"{args.peers}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        sys.path.append(str(args.peers))
    results: dict[str, Any] = {}
    load = round(os.getloadavg()[0], 1)  # what else the machine was doing
    with tempfile.TemporaryDirectory(prefix="linkwalk-bench-") as folder:
        results |= real(args.wiki, Path(folder) / "real", args.queries)
        if args.blocks:
            results |= made_up(args.wiki, Path(folder) / "made", args.blocks, args.queries)
        if args.embedded:
            results |= embedded(args.embedded, Path(folder) / "dense", args.queries)
    wiki = Graph.open(args.wiki)
    sizes = {"wiki": wiki.snapshot, "wiki_blocks": wiki.nodes, "made_up_blocks": args.blocks}
    sizes |= {
        "queries": args.queries,
        "query_words": QUERY_WORDS,
        "top": TOP,
        "changed": CHANGED,
        "load_before": load,
    }
    print(f"index: {wiki.nodes:,} blocks of {wiki.snapshot}, {args.blocks:,} made up")
    report("index", sizes, results, args.json)


if __name__ == "__main__":
    main()
