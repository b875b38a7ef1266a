"""The nearest blocks by embedding without looking at all of them: a graph of neighbours on disk, by usearch.

Worth it from ``WORTH_IT`` blocks on; below, looking at all (``starts.nearest``) is quick and exact. Vectors are stored
as bytes, a query's candidates are ranked by the embeddings themselves. Approximate: a few of the nearest may be
missing, and two indexes made by several threads may miss others; one and the same index always answers alike.
"""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.artifact import FORMAT, digest, finish, read_manifest, write_json
from linkwalk.embed.store import Embeddings
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.csr import Int32s
from linkwalk.navigate.cosine import unit_rows
from linkwalk.navigate.journeys import Float32s
from linkwalk.progress import Progress
from linkwalk.retrieve.starts import rank

KIND = "dense"
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


def _command(workspace: Path) -> str:
    return f"linkwalk index {workspace} --dense"


def _job(embeddings: Embeddings) -> dict[str, Any]:
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
    library, progress = usearch(), progress or Progress(quiet=True)
    final = workspace / "index" / KIND
    partial = final.with_name(KIND + ".partial")
    job = _job(embeddings)
    if not force and _made(final) == digest(job):
        return final, 0
    vectors = embeddings.vectors
    made, done = _begun(library, partial, job, embeddings.width) if not force else (None, 0)
    if made is None:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        made, done = library.Index(ndim=embeddings.width, metric="cos", **OPTIONS), 0
    began, saved = done, time.monotonic()
    with progress.stage("dense", len(vectors), "blocks") as stage:
        stage.update(done)
        for at in range(done, len(vectors), _ROWS):
            rows = unit_rows(vectors[at : at + _ROWS])
            made.add(np.arange(at, at + len(rows), dtype=np.uint64), rows, threads=max(1, threads))
            stage.advance(len(rows))
            if time.monotonic() - saved >= save_every_s:
                _save(made, partial, job, at + len(rows))
                saved = time.monotonic()
    _save(made, partial, job, len(vectors))
    (partial / "begun.json").unlink()
    manifest = {"artifact": KIND, "format": FORMAT, **job, "job": digest(job)}
    write_json(partial / "manifest.json", manifest)
    finish(partial, final)
    return final, len(vectors) - began


def _made(folder: Path) -> str | None:
    """The job of a finished index."""
    try:
        found = read_manifest(folder, KIND, "").get("job")
    except ArtifactError:
        return None
    return str(found) if (folder / "vectors.usearch").exists() else None


def _begun(library: Any, partial: Path, job: dict[str, Any], width: int) -> tuple[Any, int]:
    """An index that was interrupted, and how many rows it has."""
    try:
        begun = json.loads((partial / "begun.json").read_bytes())
        if begun["job"] != digest(job):
            return None, 0
        made = library.Index(ndim=width, metric="cos", **OPTIONS)
        made.load(str(partial / begun["file"]))
    except (OSError, ValueError, KeyError, RuntimeError):
        return None, 0
    return (made, len(made)) if len(made) == begun["rows"] else (None, 0)


def _save(made: Any, partial: Path, job: dict[str, Any], rows: int) -> None:
    """Put what is done on disk: a file of its own, then the note that names it, so that one of both notes is true."""
    name = "vectors.usearch" if rows == job["rows"] else f"rows-{rows}.usearch"
    made.save(str(partial / name))
    write_json(partial / "begun.json", {"job": digest(job), "rows": rows, "file": name})
    for other in partial.glob("*.usearch"):
        if other.name != name:
            os.unlink(other)


class Dense:
    """The index of a workspace's embeddings, mapped."""

    def __init__(self, index: Any, embeddings: Embeddings) -> None:
        self._index, self._vectors = index, embeddings.vectors

    @classmethod
    def open(cls, workspace: Path, embeddings: Embeddings) -> "Dense":
        """The index, if it is of these embeddings."""
        library, command = usearch(), _command(workspace)
        folder = workspace / "index" / KIND
        if not (folder / "manifest.json").exists():
            raise ArtifactError(f"no index of embeddings in {workspace}: run `{command}` first")
        manifest = read_manifest(folder, KIND, command)
        if manifest.get("job") != digest(_job(embeddings)):
            raise ArtifactError(
                f"the index of embeddings is of others than {embeddings.name!r}: run `{command}` again"
            )
        try:
            index = library.Index(ndim=embeddings.width, metric="cos", **OPTIONS, expansion_search=SEARCH)
            index.view(str(folder / "vectors.usearch"))
            if len(index) != len(embeddings.vectors):
                raise ValueError(f"{len(index)} rows of {len(embeddings.vectors)}")
        except (OSError, ValueError, RuntimeError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise ArtifactError(f"{folder} is damaged ({first}): run `{command} --force`") from None
        return cls(index, embeddings)

    def nearest(self, meaning: Float32s, count: int) -> Int32s:
        """The blocks [count] closest to a vector, as far as they are found, the closest first."""
        found: Int32s = self.nearest_many(meaning[None], count, threads=1)[0]
        return found

    def nearest_many(self, meanings: Float32s, count: int, *, threads: int = 2) -> list[Int32s]:
        """The blocks closest to each of many vectors [Q, D]."""
        wanted = min(2 * count + 16, len(self._index))
        if count < 1 or not wanted:
            return [np.zeros(0, np.int32) for _ in meanings]
        self._index.expansion_search = max(SEARCH, wanted)
        batch = np.ascontiguousarray(meanings, np.float32)
        matches = self._index.search(batch, wanted, threads=max(1, threads))
        keys, counts = np.atleast_2d(matches.keys), np.atleast_1d(getattr(matches, "counts", wanted))
        found = []
        for meaning, row, number in zip(batch, keys, counts, strict=True):
            nodes = np.sort(row[: int(number)].astype(np.int64))
            units = unit_rows(self._vectors[nodes])
            ranked, _ = rank(units, meaning, np.arange(len(nodes)))
            found.append(nodes[ranked[:count]].astype(np.int32))
        return found
