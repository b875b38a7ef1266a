"""How fast suggestions come as one types a title, at the size of all of Wikipedia.

python bench/titles.py WIKI [--titles 6000000] [--redirects 1000000] [--json OUT]

Titles are made of the words of WIKI's titles, one to three each, drawn by a rank that falls off as words do; links to
them by a power law. Typed: every beginning of some titles, and the same titles with two slips of the pen. The peer in
the same run looks at every name, folded beforehand, as one would write it first.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwalk.graph.columns import Strings
from linkwalk.graph.store import Graph
from linkwalk.wiki.titles import Titles, fold
from report import hardware

PIECE = 200_000


def make(count: int, words: list[str], rng: np.random.Generator) -> Strings:
    """So many names."""
    share = 1 / np.arange(1, len(words) + 1) ** 0.8
    blobs, lengths = [], []
    for at in range(0, count, PIECE):
        size = min(PIECE, count - at)
        chosen = rng.choice(len(words), (size, 3), p=share / share.sum()).tolist()
        each = zip(chosen, rng.integers(1, 4, size).tolist(), strict=True)
        names = [" ".join(words[i] for i in row[:n]).encode() for row, n in each]
        blobs.append(b"".join(names))
        lengths.append(np.fromiter(map(len, names), np.int64, size))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return Strings(np.frombuffer(b"".join(blobs), np.uint8), offsets)


def milliseconds(find: Callable[[str], Any], queries: Sequence[str]) -> dict[str, float]:
    """How long one query after the other takes."""
    took = []
    for query in queries:
        began = time.perf_counter()
        find(query)
        took.append(1000 * (time.perf_counter() - began))
    figures = {f"p{q}_ms": round(float(np.percentile(took, q)), 3) for q in (50, 95, 99)}
    return figures | {"max_ms": round(max(took), 1), "queries": len(took)}


def main() -> None:
    """Make, index, type, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--titles", type=int, default=6_000_000)
    parser.add_argument("--redirects", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rng, wiki, count = np.random.default_rng(0), Graph.open(arguments.wiki), arguments.titles
    words = sorted({word for i in range(wiki.articles) for word in wiki.titles[i].split()})
    rng.shuffle(words)
    titles, redirects = make(count, words, rng), make(arguments.redirects, words, rng)
    links = np.minimum(rng.zipf(1.7, count), 1_000_000)
    graph: Any = SimpleNamespace(
        titles=titles,
        redirects=redirects,
        articles=count,
        redirect_articles=rng.integers(0, count, arguments.redirects),
        article_node=np.arange(count),
        in_indptr=np.concatenate([[0], np.cumsum(links)]),
        fingerprint="synthetic",
    )
    began = time.perf_counter()
    index = Titles.of(graph)
    seconds = time.perf_counter() - began
    size = sum(x.nbytes for x in (index.text, index.bounds, *index.firsts, *index.others))
    some = [titles[i] for i in rng.integers(0, count, 150).tolist()]
    typed = [name[:end] for name in some for end in range(1, len(name) + 1)]
    slips = [f"{name[:2]}q{name[3:]}x" for name in some[:60]]
    names = [fold(name) for name in titles.slice(0, count)]

    def scan(query: str) -> list[str]:
        wanted = fold(query)
        return [name for name in names if name.startswith(wanted)][:8]

    report = {
        "hardware": hardware(),
        "names": count + arguments.redirects,
        "index": {
            "seconds": round(seconds, 1),
            "bytes_a_name": round(size / (count + arguments.redirects), 1),
        },
        "typed": milliseconds(lambda query: index._find(query, 8), typed),
        "slips": milliseconds(lambda query: index._find(query, 8), slips),
        "peer, every name looked at": milliseconds(scan, typed[:20]),
    }
    print(json.dumps(report, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
