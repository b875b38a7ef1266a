"""How long does an answer take, and how many a second: `linkwalk find` on one wiki.

python bench/find.py WIKI QUERIES.jsonl [--count 200] [--json OUT]

WIKI is indexed and embedded, QUERIES has a claim or a question a line. One at a time, everything opened: p50 and p95
with TF-IDF and with the cross-encoder, with navigation and, as the peer, without. Then all at once, and all at once
with the starts of each query known beforehand: what is left is the queries' meanings, navigation and the rerankers.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.device import choose_device
from linkwalk.graph.store import Graph
from linkwalk.retrieve import FindConfig
from linkwalk.wiki.retrieval import Retriever, open_finder
from linkwalk.wiki.workspace import Workspace
from report import hardware

WAYS = {
    "TF-IDF, search alone": FindConfig(rerank="tfidf", navigation="none"),
    "TF-IDF": FindConfig(rerank="tfidf"),
    "TF-IDF, 100 blocks": FindConfig(rerank="tfidf", candidates=100),
    "cross-encoder, search alone": FindConfig(rerank="cross", navigation="none"),
    "cross-encoder": FindConfig(rerank="cross"),
    "cross-encoder, 100 blocks": FindConfig(rerank="cross", candidates=100),
}


def one_at_a_time(opened: Retriever, queries: Sequence[str]) -> dict[str, float]:
    """Milliseconds from the words to the evidence."""
    took = []
    for query in queries:
        began = time.perf_counter()
        opened.find([query], 5)
        took.append(1000 * (time.perf_counter() - began))
    return {"p50_ms": round(float(np.median(took)), 1), "p95_ms": round(float(np.quantile(took, 0.95)), 1)}


def all_at_once(opened: Retriever, queries: Sequence[str]) -> dict[str, float]:
    """Queries a second: from the words on, and from the search results on."""
    began = time.perf_counter()
    opened.find(queries, 5)
    whole = time.perf_counter() - began
    goals, sought = opened.reader.meant(queries)
    hits = opened.finder.hits(queries, goals, sought)
    began = time.perf_counter()
    opened.finder.find_many(queries, 5, meanings=goals, sought=sought, hits=hits)
    rest = time.perf_counter() - began
    return {
        "queries_per_s": round(len(queries) / whole, 1),
        "from_starts_per_s": round(len(queries) / rest, 1),
    }


def main() -> None:
    """Open, warm up, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--alone", type=int, default=200, help="queries that are asked one at a time")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    records = [json.loads(line) for line in arguments.queries.read_text(encoding="utf-8").splitlines()]
    queries = [record.get("claim") or record["question"] for record in records]
    chosen = np.random.default_rng(0).permutation(len(queries))[: arguments.count]
    queries = [queries[i] for i in chosen]
    graph = Graph.open(arguments.wiki)
    results: dict[str, Any] = {}
    for name, asked in WAYS.items():
        opened = open_finder(Workspace(arguments.wiki, graph, asked.embeddings), asked)
        opened.find(queries[:8], 5)
        slow = asked.rerank == "cross" and str(choose_device("auto")) == "cpu"
        few = queries[: max(1, len(queries) // 4)] if slow else queries
        results[name] = one_at_a_time(opened, few[: arguments.alone]) | all_at_once(opened, few)
        print(f"{name:32} {results[name]}", flush=True)
    report: dict[str, Any] = {"hardware": hardware(), "wiki": graph.snapshot, "blocks": graph.nodes}
    report |= {"queries": len(queries), "ways": results}
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
