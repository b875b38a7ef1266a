"""The shards of a build: for every stage and piece of a source one ``.npz`` file, there whole or not at all.

Shards are cut wherever the source was; what they hold is put together in order, so the graph does not depend on where
the cuts were, nor on which worker made which shard. The files are called by what they hold: ``shard`` (a piece as
blocks, see ``read``), ``links`` (where its links lead), ``counts`` (how often surface forms stand in it), ``edges``
(every block's row of the graph).
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Array, Bytes, Int32s, Int64s
from linkwalk.artifact import is_whole, parsing, to_json, write_piece
from linkwalk.build.tables import Arrays, Keys, Tables
from linkwalk.graph.csr import bounds_of
from linkwalk.graph.store import name_key

AGAIN = "run the same command again, which makes it anew"
"""What to do about a shard that was damaged while it was worked on."""


def _path(folder: Path, kind: str, number: int) -> Path:
    return folder / f"{kind}-{number:06}.npz"


def save(folder: Path, kind: str, number: int, arrays: Arrays) -> None:
    """Write a shard so that it is there whole or not at all."""
    write_piece(_path(folder, kind, number), lambda file: np.savez(file, allow_pickle=False, **arrays))


def load(folder: Path, kind: str, number: int, *names: str) -> Arrays:
    """Read a shard, or only some of its columns."""
    path = _path(folder, kind, number)
    with parsing(path, AGAIN), np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in names or file.files}


def load_column(folder: Path, kind: str, number: int, name: str) -> Array:
    """Read one column of a shard."""
    return load(folder, kind, number, name)[name]


def finished(folder: Path, kind: str) -> set[int]:
    """Numbers of the shards that are whole; one that is damaged is as good as missing."""
    pattern = re.compile(rf"{kind}-(\d+)\.npz")
    found = ((path, pattern.fullmatch(path.name)) for path in folder.iterdir())
    return {int(match[1]) for path, match in found if match and is_whole(path)}


class ShardFiles:
    """All shards of one build."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def column(self, kind: str, name: str) -> Iterator[Array]:
        """One column of every shard, in order."""
        return (read(name) for read in self.readers(kind))

    def whole(self, kind: str, name: str) -> Array:
        """One column of all shards together."""
        return np.concatenate(list(self.column(kind, name)))

    def readers(self, kind: str) -> list[Callable[[str], Array]]:
        """For every shard a function that reads a column of it."""
        return [partial(load_column, self.folder, kind, number) for number in range(self.count)]

    def reports(self, kind: str) -> Iterator[dict[str, Any]]:
        """What the shards say of themselves, for the ledger."""
        for report in self.column(kind, "report"):
            yield json.loads(report.tobytes())


@dataclass(frozen=True)
class Layout(Tables):
    """Where each shard's articles and blocks stand in the whole."""

    article_base: Int64s
    """The first article of every shard, and the number of all articles."""
    article_node: Int32s
    """The first block of every article, and the number of all blocks."""


def report_column(report: object) -> Bytes:
    """What a shard says of itself, as a column."""
    return np.frombuffer(to_json(report), np.uint8)


def keys_of(names: list[str]) -> Keys:
    """The 64-bit keys of names."""
    return np.fromiter(map(name_key, names), np.uint64, len(names))


def string_column(name: str, strings: list[str]) -> Arrays:
    """Strings as two columns of a shard: one blob and the lengths in bytes."""
    encoded = [string.encode() for string in strings]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return {name: np.frombuffer(b"".join(encoded), np.uint8), f"{name}_lengths": lengths}


def strings_in(shard: Arrays, name: str) -> list[str]:
    """The strings of such columns."""
    blob, bounds = shard[name].tobytes(), bounds_of(shard[f"{name}_lengths"]).tolist()
    return [blob[start:end].decode() for start, end in pairwise(bounds)]


def block_bounds(shard: Arrays) -> Int64s:
    """Byte offsets of a shard's blocks in its text."""
    return bounds_of(shard["block_text_lengths"])


def link_bounds(shard: Arrays, chosen: Array | slice) -> tuple[Int64s, Int64s]:
    """Byte offsets in a shard's text at which the anchors of some links begin and end."""
    at = block_bounds(shard)[shard["link_block"][chosen]]
    return at + shard["link_start"][chosen], at + shard["link_end"][chosen]


def block_articles(shard: Arrays, base: int) -> Int32s:
    """Article of every block of a shard, numbered in the whole."""
    counts = shard["article_blocks"]
    return (base + np.repeat(np.arange(len(counts)), counts)).astype(np.int32)
