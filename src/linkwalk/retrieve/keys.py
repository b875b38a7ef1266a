"""Blocks known by what they say: a 64-bit key of title and text, and which blocks have it.

Numbers of blocks move when a wiki is built from a newer dump; keys stay, so an index made of keys needs to hear of
changed blocks only. Blocks of the same title and text share a key. That two different ones of 38M do has a
chance of 1 in 25,000; then one of the two would be found by the other's words.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linkwalk.arrays import Int32s, Int64s, UInt64s
from linkwalk.errors import DamagedError
from linkwalk.graph.columns import AGAIN, ArrayWriter, map_array
from linkwalk.graph.hashes import hash_strings, mix
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress

_KEYS, _NODES = "keys.npy", "nodes.npy"
_CHUNK = 1 << 18
_PARTS = 16  # keys are sorted in so many pieces, for the memory's sake


def block_keys(graph: Graph, progress: Progress) -> UInt64s:
    """The key [N] of every block: 8 bytes each are all that is held."""
    titles = np.empty(graph.articles, np.uint64)
    for start in range(0, graph.articles, _CHUNK):
        stop = min(start + _CHUNK, graph.articles)
        titles[start:stop] = mix(hash_strings(graph.titles, start, stop))
    keys = np.empty(graph.nodes, np.uint64)
    with progress.stage("keys", graph.nodes, "blocks") as stage:
        for start in range(0, graph.nodes, _CHUNK):
            stop = min(start + _CHUNK, graph.nodes)
            texts = hash_strings(graph.texts, start, stop)
            keys[start:stop] = mix(texts + titles[graph.node_article[start:stop]])
            stage.advance(stop - start)
    return keys


class Keys:
    """Keys in ascending order [N] and the blocks [N] they belong to, those of one key in ascending order."""

    def __init__(self, keys: UInt64s, nodes: Int32s) -> None:
        self.keys, self.nodes = keys, nodes

    @classmethod
    def write(cls, folder: Path, keys: UInt64s) -> "Keys":
        """Sort ``keys[node]`` into two files, in pieces of the key's range."""
        key_file = ArrayWriter(folder / _KEYS, np.uint64)
        node_file = ArrayWriter(folder / _NODES, np.int32)
        shift = np.uint64(64 - (_PARTS - 1).bit_length())
        for part in range(_PARTS):
            nodes = np.flatnonzero((keys >> shift) == part)
            found = keys[nodes]
            order = np.argsort(found, kind="stable")
            key_file.append(found[order])
            node_file.append(nodes[order])
        key_file.close()
        node_file.close()
        return cls.open(folder, len(keys))

    @classmethod
    def open(cls, folder: Path, blocks: int, remedy: str = AGAIN) -> "Keys":
        """Map what ``write`` wrote, of so many blocks."""
        columns = []
        for name, dtype in ((_KEYS, np.uint64), (_NODES, np.int32)):
            column = map_array(folder / name, remedy, dtype, 0)
            if len(column) != blocks:
                raise DamagedError(folder / name, f"{len(column):,} entries instead of {blocks:,}", remedy)
            columns.append(column)
        return cls(*columns)

    def check(self, folder: Path, remedy: str) -> None:
        """Keys that do not ascend, or blocks that there are not, are an error: one pass over the columns."""
        for start in range(0, len(self.keys), _CHUNK):
            # A piece overlaps the one before by one, for the order between them.
            keys, nodes = self.keys[max(start - 1, 0) : start + _CHUNK], self.nodes[start : start + _CHUNK]
            if (keys[1:] < keys[:-1]).any():
                raise DamagedError(folder / _KEYS, "its keys do not ascend", remedy)
            if nodes.min() < 0 or nodes.max() >= len(self.nodes):
                raise DamagedError(
                    folder / _NODES, f"a block beyond the {len(self.nodes):,} there are", remedy
                )

    def blocks(self, keys: UInt64s) -> tuple[Int32s, Int64s]:
        """The blocks of some keys, and for each block which of the keys it is of; an unknown key has none."""
        begin = np.searchsorted(self.keys, keys, "left")
        counts = np.searchsorted(self.keys, keys, "right") - begin
        which = np.repeat(np.arange(len(keys)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.nodes[begin[which] + within], which

    def missing_from(self, other: "Keys") -> Iterator[tuple[UInt64s, Int32s]]:
        """Every key that ``other`` does not have, once, with its first block; in pieces."""
        for start in range(0, len(self.keys), _CHUNK):
            found = self.keys[start : start + _CHUNK]
            before = np.append(self.keys[start - 1] if start else ~found[:1], found[:-1])
            first, last = (np.searchsorted(other.keys, found, side) for side in ("left", "right"))
            new = (found != before) & (first == last)
            yield found[new], self.nodes[start : start + _CHUNK][new]


NO_KEYS = Keys(np.zeros(0, np.uint64), np.zeros(0, np.int32))
