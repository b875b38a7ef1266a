"""A dump becomes a graph: the stages in order, resumable, the same bytes whatever the number of workers.

Everything is written below ``WIKI/graph.partial``; the finished graph is renamed into place at the end. A build that
was killed finds its finished shards there and goes on; what a stage merges from shards is quickly made again.
"""

import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from linkwalk import __version__
from linkwalk.artifact import (
    FORMAT,
    checksum,
    locked,
    publish,
    read_json,
    read_manifest,
    seen,
    tidy_up,
    write_json,
)
from linkwalk.artifact.locks import lock_of
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.sources.dump import Dump, open_dump
from linkwalk.sources.pipeline import Build, BuildConfig
from linkwalk.sources.shard import ExtractConfig, finished
from linkwalk.sources.workers import Workers

__all__ = ["BuildConfig", "BuildResult", "ExtractConfig", "build"]

_LARGE = 256 << 20
"""Bytes of input from which on reading them for their checksum takes long enough to be shown."""
_OWN = (lock_of(Path("graph")).name, seen.NOTE)
"""What may be in an empty workspace: our own notes."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished build."""

    workspace: Path
    manifest: dict[str, Any]
    ledger: dict[str, Any]
    fresh: bool
    """False where the graph was there already, made from the same input with the same options."""


def build(
    dumps: Sequence[Path],
    workspace: Path,
    config: BuildConfig = BuildConfig(),  # noqa: B008 (frozen)
    *,
    anchors: Path | None = None,
    workers: int = 1,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> BuildResult:
    """Build the graph of one or more dump files into ``workspace / "graph"``."""
    progress = progress or Progress(quiet=True)
    opened = [open_dump(path) for path in dumps]
    other = _open_anchors(anchors) if anchors is not None else None
    states = [seen.states([dump.path]) for dump in opened]
    plan = _plan(opened, config, other, workspace, progress)
    final, partial = workspace / "graph", workspace / "graph.partial"
    if present := _present(workspace, plan, force=force, strict=strict):
        tidy_up(final, partial, workspace / "graph.old")
        return present
    with locked(final):
        # Once more: somebody else may have made it meanwhile.
        if present := _present(workspace, plan, force=force, strict=strict):
            return present
        partial.mkdir(parents=True, exist_ok=True)
        try:
            with Workers(workers) as pool:
                _begin(partial, plan)
                job = Build(partial, opened, config, other, pool, progress)
                manifest, ledger = job.run(plan, strict=strict)
                publish(partial / "graph", final)
        except InputError:  # bad input leaves nothing behind
            shutil.rmtree(partial, ignore_errors=True)
            raise
        except OSError:  # a full disk, say: what is finished stays, to go on from, as it does after a kill
            shutil.rmtree(partial / "graph", ignore_errors=True)
            for file in partial.glob("*.partial"):
                file.unlink(missing_ok=True)
            if not finished(partial, "shard"):
                shutil.rmtree(partial, ignore_errors=True)
            raise
        shutil.rmtree(partial, ignore_errors=True)
        for dump, state, facts in zip(opened, states, plan["inputs"], strict=False):
            seen.note(workspace, _key(dump.path), state, facts["fingerprint"])
    return BuildResult(workspace, manifest, ledger, True)


def _open_anchors(workspace: Path) -> Graph:
    """The graph to learn anchors from, if it can teach any."""
    graph = Graph.open(workspace)
    if not (graph.folder / "anchors_surfaces.npy").exists():
        raise InputError(f"{workspace} has no anchor statistics: build it without --no-entity-links")
    return graph


def _plan(
    dumps: Sequence[Dump], config: BuildConfig, other: Graph | None, workspace: Path, progress: Progress
) -> dict[str, Any]:
    """What the graph follows from: version, options, inputs."""
    sums = _fingerprints(dumps, workspace, progress)
    inputs: list[dict[str, Any]] = [
        {"name": dump.path.name, "bytes": dump.size, "fingerprint": fingerprint}
        for dump, fingerprint in zip(dumps, sums, strict=True)
    ]
    if other is not None:
        inputs.append({"name": f"anchors of {other.snapshot}", "fingerprint": other.fingerprint})
    return {"linkwalk": __version__, "format": FORMAT, "config": asdict(config), "inputs": inputs}


def _fingerprints(dumps: Sequence[Dump], workspace: Path, progress: Progress) -> list[str]:
    """SHA-256 of every dump: all of it is read, but only once while the file stays the same."""
    known = [seen.recall(workspace, _key(dump.path), seen.states([dump.path])) for dump in dumps]
    todo = [dump for dump, found in zip(dumps, known, strict=True) if found is None]
    size = sum(dump.size for dump in todo)
    shown = progress if size > _LARGE else Progress(quiet=True)
    with shown.stage("hash", size / 1e6, "MB") as stage:
        sums = {dump.path: checksum(dump.path, lambda n: stage.advance(n / 1e6)) for dump in todo}
    return [str(found or sums[dump.path]) for dump, found in zip(dumps, known, strict=True)]


def _key(dump: Path) -> str:
    """What the note on a dump's checksum goes by."""
    return f"dump {dump.resolve()}"


def _present(workspace: Path, plan: dict[str, Any], *, force: bool, strict: bool) -> BuildResult | None:
    """The graph that is there already, if it is this one and whole; anything else that is in the way is an error."""
    if workspace.exists() and not workspace.is_dir():
        raise InputError(f"{workspace} is a file: name a folder for the workspace")
    if not workspace.exists() or all(entry.name in _OWN for entry in workspace.iterdir()):
        return None
    unfinished = (workspace / "graph.partial").exists()  # first: it goes when the graph has come
    if not (workspace / "graph").exists():
        if unfinished:
            return None
        raise InputError(f"{workspace} holds something else: name an empty or a new folder with -o")
    if force:
        return None
    unreadable = InputError(f"{workspace} holds a graph this version cannot read: add --force to replace it")
    try:
        manifest = read_manifest(workspace / "graph", "graph", "linkwalk build")
    except ArtifactError:
        raise unreadable from None
    if (manifest["format"], manifest.get("linkwalk")) != (plan["format"], plan["linkwalk"]):
        raise InputError(
            f"{workspace} holds a graph made by another version: add --force to build it anew, or leave it as it is"
        )
    if {key: manifest.get(key) for key in plan} != plan:
        raise InputError(
            f"{workspace} holds a graph of other input or options: add --force to replace it, or name another folder"
        )
    try:
        Graph.open(workspace)
        ledger = read_json(workspace / "graph" / "ledger.json", "", {"damage": dict})
    except ArtifactError:
        return None  # damaged: it is made again, of the same input
    if strict and ledger["damage"]:
        raise InputError(
            f"{workspace} was made from damaged input (graph/ledger.json), and --strict was asked for"
        )
    return BuildResult(workspace, manifest, ledger, False)


def _begin(partial: Path, plan: dict[str, Any]) -> None:
    """Keep the shards of an interrupted build of the same plan; throw away those of another."""
    path = partial / "plan.json"
    with contextlib.suppress(ArtifactError):
        if read_json(path, "") == plan:
            return
    for entry in partial.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    write_json(path, plan)
