"""The finished part of a table: one half-precision ``.npy`` file per shard, beside the job they belong to.

Each is a piece: it ends in its checksum, so that a damaged one is made again.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linkwalk.arrays import Array, Float16s, Float32s
from linkwalk.artifact import Json, is_whole, read_json, write_json, write_piece
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.columns import map_array

_WORDS = {
    "graph": "another graph",
    "encoder": "another encoder or other options",
    "shard_blocks": "another size",
}


class Shards:
    """A folder of shards; ``job`` says what they are of, and shards of two jobs never meet."""

    def __init__(self, folder: Path, job: Json, nodes: int) -> None:
        self.folder, self.job, self.nodes = folder, job, nodes
        self.size: int = job["shard_blocks"]
        self.count = -(-nodes // self.size)

    def begin(self, *, force: bool = False) -> None:
        """Make the folder, or go on with the one that is there.

        Shards of an older graph are of no use and go. Shards of other options may have cost hours: ``force`` says so.
        """
        old = _read_job(self.folder)
        if force or old is None or old.get("graph") != self.job["graph"]:
            self.remove()
        elif old != self.job and any(self.folder.glob("shard-*.npy")):
            raise InputError(
                f"{self.folder} holds shards of {_difference(old, self.job)}: "
                "give another name, or drop them by force"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / "job.json", self.job)

    def remove(self) -> None:
        """Drop the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def bounds(self, number: int) -> tuple[int, int]:
        """The first block of a shard and the one behind its last."""
        return number * self.size, min((number + 1) * self.size, self.nodes)

    def path(self, number: int) -> Path:
        """A shard's file."""
        return self.folder / f"shard-{number:06}.npy"

    def has(self, number: int) -> bool:
        """Whether a shard is finished; one that is damaged is not."""
        return self._read(self.path(number), number) is not None

    def missing(self, first: int, last: int) -> list[int]:
        """Those of some shards that are still to be made."""
        return [number for number in range(first, last) if not self.has(number)]

    def write(self, number: int, vectors: Float32s) -> None:
        """Keep a shard's vectors: all of it or nothing is there to be seen."""
        with np.errstate(over="ignore"):
            half = vectors.astype(np.float16)
        if not np.isfinite(half).all():
            raise InputError(
                "the encoder's values are too large for half precision: add tanh, or take another encoder"
            )
        write_piece(self.path(number), lambda file: np.save(file, half, allow_pickle=False))

    def take(self, folder: Path) -> int:
        """Copy the shards that another machine made for the same job; returns how many were news."""
        job = _read_job(folder)
        if job is None:
            raise InputError(
                f"{folder} holds no shards: give the folder NAME.partial that `linkwalk embed --only-shards` filled"
            )
        if job != self.job:
            raise InputError(f"the shards in {folder} are of {_difference(job, self.job)}: they do not fit")
        taken = 0
        for number in self.missing(0, self.count):
            source = folder / self.path(number).name
            if not source.exists():
                continue
            vectors = self._read(source, number)
            if vectors is None:
                raise InputError(f"{source} is damaged: copy it again, or remove it to have it made here")
            self.write(number, np.asarray(vectors, np.float32))
            taken += 1
        return taken

    def width(self, empty: int) -> int:
        """How wide all of them are; ``empty`` where there are none."""
        widths = {rows.shape[1] for rows in self.rows()} or {empty}
        if len(widths) > 1:
            raise InputError(f"the shards in {self.folder} differ in width: remove the folder and run again")
        return int(widths.pop())

    def rows(self) -> Iterator[Array]:
        """The vectors of all shards, in order."""
        return (map_array(self.path(number)) for number in range(self.count))

    def _read(self, path: Path, number: int) -> Float16s | None:
        try:
            vectors = map_array(path, dtype=np.float16) if is_whole(path) else None
        except ArtifactError:
            return None
        start, stop = self.bounds(number)
        return vectors if vectors is not None and vectors.ndim == 2 and len(vectors) == stop - start else None


def _read_job(folder: Path) -> Json | None:
    try:
        return read_json(folder / "job.json", "")
    except ArtifactError:
        return None


def _difference(old: Json, new: Json) -> str:
    return next((words for key, words in _WORDS.items() if old.get(key) != new.get(key)), "another format")
