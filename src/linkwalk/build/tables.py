"""Tables of a build that every worker maps, and how one looks things up in them: sorted 64-bit keys, runs, chains."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np

from linkwalk.arrays import Array, Bools, Int64s, UInt64s
from linkwalk.graph.columns import map_array

Arrays = dict[str, Array]
Keys = UInt64s
"""Names, sections, surface forms, as 64-bit hashes."""


@dataclass(frozen=True)
class Tables:
    """Arrays in a build's folder, each in the file of its field's name."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map what ``write_tables`` wrote."""
        return cls(**{field.name: map_array(folder / f"{field.name}.npy") for field in fields(cls)})


def write_tables(folder: Path, **arrays: Array) -> None:
    """Write arrays to the files of their names."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def find_keys(table: Keys, keys: Keys) -> Int64s:
    """Where keys stand in a sorted table; -1 for those that do not."""
    if not len(table):
        return np.full(len(keys), -1)
    at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[at] == keys, at, -1)


def starts_run(*columns: Array) -> Bools:
    """Marks the rows of sorted columns that differ from the row before them."""
    starts = np.ones(len(columns[0]), np.bool_)
    starts[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return starts


def ends_of_chains(following: Int64s) -> Int64s:
    """Where every chain of numbers ends, by pointer doubling: log2(n) rounds, so a loop cannot hang it.

    What ends a chain is followed by itself.
    """
    for _ in range(max(1, len(following).bit_length())):
        following = following[following]
    return following
