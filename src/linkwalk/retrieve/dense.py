"""The nearest blocks by embedding without looking at all of them: a graph of neighbours on disk, by usearch.

Worth it from ``WORTH_IT`` blocks on; below, looking at all (``starts.nearest_many``) is quick and exact. Vectors are
stored as bytes, a query's candidates are ranked by the embeddings themselves. Approximate: a few of the nearest may be
missing, and two indexes made by several threads may miss others; one and the same index always answers alike.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s, Int32s
from linkwalk.artifact import (
    Json,
    checksum,
    clear,
    digest,
    locked,
    look_at,
    parsing,
    publish,
    read_json,
    read_manifest,
    seal,
    steady,
    sync,
    write_json,
    writing,
)
from linkwalk.embed.store import Embeddings
from linkwalk.errors import ArtifactError, DamagedError, InputError
from linkwalk.navigate.cosine import unit_rows
from linkwalk.progress import Progress
from linkwalk.retrieve.starts import rank

KIND = "dense"
_FILE = "vectors.usearch"
_BEGUN = "begun.json"
WORTH_IT = 500_000
"""Blocks from which on the index pays."""
OPTIONS = {"dtype": "i8", "connectivity": 16, "expansion_add": 128}
"""Bytes for vectors, links of a row, and how many candidates a row's links are chosen from."""
SEARCH = 256
"""How many candidates a search keeps; more finds more and takes longer."""
_ROWS = 8192
_SAVE_EVERY_S = 300.0


def usearch() -> Any:
    """The library, or what to install."""
    try:
        import usearch.index
    except ImportError:
        raise InputError("usearch is not installed: pip install 'linkwalk[find]'") from None
    return usearch.index


def _job(embeddings: Embeddings) -> Json:
    """What an index follows from."""
    return {
        "graph": embeddings.manifest["graph"],
        "embeddings": embeddings.name,
        "encoder": embeddings.fingerprint,
        "rows": len(embeddings.vectors),
        "options": OPTIONS,
    }


def index_dense(
    workspace: Path,
    embeddings: Embeddings,
    *,
    threads: int = 2,
    progress: Progress | None = None,
    force: bool = False,
    save_every_s: float = _SAVE_EVERY_S,
) -> tuple[Path, int]:
    """Make ``WORKSPACE/index/dense``; its folder, and how many rows were put in now (0: it was there).

    All of it is in memory while it is made, 0.7 KB a block. What is done is saved every few minutes, so that the same
    command goes on after a kill.
    """
    usearch()
    final, job = workspace / "index" / KIND, _job(embeddings)
    # Beside the index, not in it: a new index may take the place of the old one before an interrupted run goes on.
    partial = workspace / f"{KIND}.partial"
    if not force and not partial.exists() and _is_made(workspace, embeddings):
        return final, 0
    with locked(final.parent):
        done = not force and _is_made(workspace, embeddings)
        if force or done:
            clear(partial)
        if done:
            return final, 0
        made, begun = _fill(partial, embeddings, threads, progress or Progress(quiet=True), save_every_s)
        whole = partial / KIND
        clear(whole)
        whole.mkdir()
        with writing(whole):
            made.save(str(whole / _FILE))
        seal(whole, {"artifact": KIND, **job, "job": digest(job)})
        final.parent.mkdir(exist_ok=True)
        publish(whole, final)
        clear(partial)
        clear(final.with_name(partial.name))  # where earlier versions had it
    return final, len(embeddings.vectors) - begun


def _fill(
    partial: Path, embeddings: Embeddings, threads: int, progress: Progress, save_every_s: float
) -> tuple[Any, int]:
    """An index of all rows in memory, and how many of them were saved in ``partial`` before."""
    job, vectors = _job(embeddings), embeddings.vectors
    made = _begun(partial, job, embeddings.width)
    if made is None:
        clear(partial)
        partial.mkdir()
        made = _empty(embeddings.width)
    begun, saved = len(made), time.monotonic()
    with progress.stage("dense", len(vectors), "blocks") as stage:
        stage.update(begun)
        for at in range(begun, len(vectors), _ROWS):
            rows = unit_rows(vectors[at : at + _ROWS])
            with writing(partial):
                made.add(np.arange(at, at + len(rows), dtype=np.uint64), rows, threads=max(1, threads))
            stage.advance(len(rows))
            if time.monotonic() - saved >= save_every_s:
                _save(made, partial, job)
                saved = time.monotonic()
    return made, begun


def _empty(width: int, **options: int) -> Any:
    return usearch().Index(ndim=width, metric="cos", **OPTIONS, **options)


def _is_made(workspace: Path, embeddings: Embeddings) -> bool:
    """Whether there is a finished index of these embeddings that is whole."""
    with contextlib.suppress(ArtifactError):
        Dense(workspace, embeddings)
        return True
    return False


def _begun(partial: Path, job: Json, width: int) -> Any | None:
    """What an interrupted run has saved of this index, unless it cannot be read: then it is made again."""
    with contextlib.suppress(ArtifactError):
        begun = read_json(partial / _BEGUN, "", {"job": str, "rows": int, "sha256": str})
        file = _saved(partial, begun["rows"])
        with parsing(file, ""):
            # The library trusts its files, so this comes first.
            if begun["job"] != digest(job) or begun["sha256"] != checksum(file):
                return None
            made = _empty(width)
            made.load(str(file))
        return made if len(made) == begun["rows"] else None
    return None


def _saved(partial: Path, rows: int) -> Path:
    return partial / f"rows-{rows}.usearch"


def _save(made: Any, partial: Path, job: Json) -> None:
    """Put what is done on disk: a file of its own, then the note that names it, so that one of both notes is true."""
    file = _saved(partial, len(made))
    with writing(file):
        made.save(str(file))
    sync(file)
    write_json(partial / _BEGUN, {"job": digest(job), "rows": len(made), "sha256": checksum(file)})
    for other in partial.glob("*.usearch"):
        if other != file:
            os.unlink(other)


class Dense:
    """The index of a workspace's embeddings, mapped."""

    def __init__(self, workspace: Path, embeddings: Embeddings) -> None:
        """Open an index that nobody replaces meanwhile."""
        folder, command = workspace / "index" / KIND, f"linkwalk index {workspace} --dense"
        self._file, self._remedy, self._vectors = (
            folder / _FILE,
            f"run `{command} --force`",
            embeddings.vectors,
        )
        if not (folder / "manifest.json").exists():
            raise ArtifactError(f"no index of embeddings in {workspace}: run `{command}` first")
        manifest = read_manifest(folder, KIND, command)
        if manifest.get("job") != digest(_job(embeddings)):
            raise ArtifactError(
                f"the index of embeddings is of others than {embeddings.name!r}: run `{command}` again"
            )
        # The library maps the file and trusts it, so this comes first.
        look_at(folder, manifest, self._remedy, whole=True)
        with parsing(self._file, self._remedy):
            self._index = _empty(embeddings.width, expansion_search=SEARCH)
            self._index.view(str(self._file))
            if len(self._index) != len(self._vectors):
                raise ValueError(f"{len(self._index):,} rows of {len(self._vectors):,}")

    @classmethod
    def open(cls, workspace: Path, embeddings: Embeddings) -> "Dense":
        """The index, if it is of these embeddings."""
        usearch()
        return steady(workspace / "index" / KIND, lambda: cls(workspace, embeddings))

    def nearest_many(self, meanings: Float32s, count: int, *, threads: int = 2) -> list[Int32s]:
        """The blocks closest to each of many vectors [Q, D]."""
        wanted = min(2 * count + 16, len(self._index))
        if count < 1 or not wanted:
            return [np.zeros(0, np.int32) for _ in meanings]
        batch = np.ascontiguousarray(meanings, np.float32)
        with parsing(self._file, self._remedy):
            self._index.expansion_search = max(SEARCH, wanted)
            matches = self._index.search(batch, wanted, threads=max(1, threads))
            keys, counts = np.atleast_2d(matches.keys), np.atleast_1d(getattr(matches, "counts", wanted))
        found = []
        for meaning, row, number in zip(batch, keys, counts, strict=True):
            nodes = np.sort(row[: int(number)].astype(np.int64))
            if len(nodes) and not 0 <= nodes[0] <= nodes[-1] < len(self._vectors):
                raise DamagedError(self._file, "it leads to blocks that there are not", self._remedy)
            units = unit_rows(self._vectors[nodes])
            ranked, _ = rank(units, meaning, np.arange(len(nodes)))
            found.append(nodes[ranked[:count]].astype(np.int32))
        return found
