"""A made-up web with a wiki's shape: chains of eight blocks, and links that favour a few hubs."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.csr import Csr
from linkwalk.graph.store import LINK, NEXT, PREV
from linkwalk.graph.writer import GraphWriter

BLOCKS = 8
#: Spreads hubs over all node numbers, so that no cache line holds two; it shares no factor with round sizes.
_SPREAD = 999_999_937


class Rows(NamedTuple):
    """Out-links of nodes ``start`` to ``stop``."""

    start: int
    stop: int
    degrees: NDArray[np.int64]
    targets: NDArray[np.int32]
    kinds: NDArray[np.uint8]


def web(nodes: int, edges: int, *, seed: int = 0, chunk: int = 1 << 20) -> Iterator[Rows]:
    """Rows in pieces: previous, next, then links whose targets' in-degrees fall off as a power law."""
    rng = np.random.default_rng(seed)
    links = edges / nodes - 2 * (BLOCKS - 1) / BLOCKS
    for start in range(0, nodes, chunk):
        stop = min(start + chunk, nodes)
        node = np.arange(start, stop, dtype=np.int64)
        prev = node % BLOCKS != 0
        following = (node % BLOCKS != BLOCKS - 1) & (node + 1 < nodes)
        degrees = rng.poisson(links, len(node)) + prev + following
        first = np.concatenate(([0], np.cumsum(degrees)))
        hub = (nodes * rng.random(first[-1]) ** 3).astype(np.int64)
        targets = (hub * _SPREAD % nodes).astype(np.int32)
        kinds = np.full(first[-1], LINK, np.uint8)
        at = first[:-1][prev]
        targets[at], kinds[at] = node[prev] - 1, PREV
        at = (first[:-1] + prev)[following]
        targets[at], kinds[at] = node[following] + 1, NEXT
        yield Rows(start, stop, degrees, targets, kinds)


def in_memory(nodes: int, edges: int, *, seed: int = 0) -> Csr:
    """The web as two arrays."""
    pieces = list(web(nodes, edges, seed=seed))
    indptr = np.concatenate(([0], np.cumsum(np.concatenate([p.degrees for p in pieces]))))
    indices = np.concatenate([p.targets for p in pieces])
    indptr.flags.writeable = indices.flags.writeable = False
    return Csr(indptr, indices)


def write(workspace: Path, nodes: int, edges: int, *, seed: int = 0) -> None:
    """The web as a graph on disk; a block's text is one letter."""
    with GraphWriter(workspace / "graph") as writer:
        writer.add_sections([""])
        for rows in web(nodes, edges, seed=seed):
            node = np.arange(rows.start, rows.stop)
            firsts = node[node % BLOCKS == 0]
            writer.add_articles([f"Article {n // BLOCKS}" for n in firsts.tolist()], firsts)
            ones = np.ones(len(node), np.int64)
            writer.add_blocks(
                text=b"x" * len(node),
                text_lengths=ones,
                article=node // BLOCKS,
                block=node % BLOCKS,
                section=np.zeros(len(node), np.int32),
                sentence_counts=ones,
                sentence_ends=ones,
            )
            spans = np.zeros((len(rows.targets), 2), np.uint16)
            writer.add_edges(degrees=rows.degrees, targets=rows.targets, kinds=rows.kinds, spans=spans)
        writer.finish({"config": {}, "inputs": [], "snapshot": {"name": "synthetic", "date": "2018-12-20"}})
