"""How much of the bundled claims' and questions' evidence is found, with walks and without.

python runs/find.py DEMO [--json OUT]

DEMO is the bundled encyclopedia, embedded and indexed. Recall@5: the share of the evidence sentences among the five
best, for claims (one sentence each), questions whose evidence stands in one article, and questions that need two.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk import demo
from linkwalk.embed import Embeddings
from linkwalk.graph.store import Graph
from linkwalk.navigate import unit_rows
from linkwalk.navigate.guided import Guided
from linkwalk.policy.checkpoint import load_direction
from linkwalk.policy.target import load_target
from linkwalk.retrieve import Bm25, FindConfig, Finder

#: At equal cost: 20 blocks read each, and 5 starts with all that walks or links add.
CONFIGS = [
    FindConfig(start=start, starts=starts, steps=steps, expand=expand, candidates=candidates)
    for start in ("bm25", "dense", "hybrid")
    for starts, steps, expand, candidates in (
        (20, 0, False, 20),
        (5, 0, True, 20),
        (5, 10, False, 20),
        (5, 0, False, 0),
        (5, 10, False, 0),
    )
]


def tasks() -> list[tuple[str, str, set[tuple[str, str]]]]:
    """Kind, query, and the evidence as article and sentence."""
    found = [("claims", claim["claim"], {(claim["article"], claim["sentence"])}) for claim in demo.claims()]
    for question in demo.questions():
        evidence = {(e["article"], e["sentence"]) for e in question["evidence"]}
        two = len({article for article, _ in evidence}) > 1
        found.append(
            (f"questions, {'two articles' if two else 'one article'}", question["question"], evidence)
        )
    return found


def main() -> None:
    """Find, count, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    graph = Graph.open(arguments.wiki)
    table = Embeddings.open(arguments.wiki, "minilm", graph)
    bm25, wanted = Bm25.open(arguments.wiki, graph), tasks()
    direction = load_direction(demo.policy_path(), table.fingerprint)
    units = unit_rows(table.vectors)
    agent = Guided("compass", direction, graph.forward, units, workers=2)
    encoder = load_target(demo.policy_path(), table, device="cpu") or table.encoder()
    meanings = unit_rows(encoder.encode([query for _, query, _ in wanted]))
    rows: list[dict[str, Any]] = []
    for config in CONFIGS:
        finder = Finder(graph, bm25, agent, config, vectors=units)
        hits: dict[str, list[float]] = {}
        began = time.monotonic()
        for (kind, query, evidence), meaning in zip(wanted, meanings, strict=True):
            best = [(e.title, e.sentence) for e in finder.find(query, 5, meaning=meaning).evidence]
            got = sum(any(t == a and (s in x or x in s) for a, x in best) for t, s in evidence)
            hits.setdefault(kind, []).append(got / len(evidence))
        recall = {kind: round(100 * float(np.mean(values)), 1) for kind, values in hits.items()}
        milliseconds = round(1000 * (time.monotonic() - began) / len(wanted), 1)
        rows.append({**asdict(config), "recall_at_5": recall, "ms": milliseconds})
        print(f"{config}: {recall}, {milliseconds} ms a query", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
