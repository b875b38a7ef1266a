"""A source becomes a graph: resumable, the same bytes whatever the number of workers. ``stages`` does the work.

Everything is written below ``WIKI/graph.partial``; the finished graph is renamed into place at the end. A build that
was killed finds its finished shards there and goes on; what is merged from them is quickly made again.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from linkwalk import __version__
from linkwalk.artifact import (
    FORMAT,
    checksum,
    locked,
    notes,
    publish,
    read_json,
    read_manifest,
    tidy_up,
    write_json,
)
from linkwalk.artifact.folders import lock_of
from linkwalk.build.costs import Costs
from linkwalk.build.ledger import JsonObject
from linkwalk.build.read import ExtractConfig
from linkwalk.build.shards import finished
from linkwalk.build.stages import Build, BuildConfig, size_of
from linkwalk.build.workers import WorkerPool
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.sources.formats import open_source
from linkwalk.sources.source import Source

__all__ = ["BuildConfig", "BuildResult", "ExtractConfig", "build"]

_LARGE = 256 << 20
"""Bytes of input from which on reading them for their checksum takes long enough to be shown."""
#: Goes up with every change of what shards hold.
_SHARDS = 3
_OWN = (lock_of(Path("graph")).name, notes.NOTE)
"""What may be in an empty workspace: our own notes."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished build."""

    workspace: Path
    manifest: JsonObject
    ledger: JsonObject
    fresh: bool
    """False where the graph was there already, made from the same input with the same options."""
    costs: Costs = field(default_factory=Costs)
    """What each part of it took, as far as this process did it."""


def build(
    inputs: Sequence[Path | Source],
    workspace: Path,
    config: BuildConfig = BuildConfig(),  # noqa: B008 (frozen)
    *,
    anchors: Path | None = None,
    workers: int = 1,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> BuildResult:
    """Build the graph of one or more sources, or of paths that they are found at, into ``workspace / "graph"``."""
    progress = progress or Progress(quiet=True)
    sources = [open_source(given) if isinstance(given, Path) else given for given in inputs]
    homes = _homes(sources) if workers > 1 else []
    other = _open_anchors(anchors) if anchors is not None else None
    states = [notes.states(source.files) for source in sources]
    plan = _plan(sources, config, other, workspace, progress)
    final, partial = workspace / "graph", workspace / "graph.partial"
    find_present = functools.partial(_present, workspace, plan, force=force, strict=strict)
    if present := find_present():
        tidy_up(final, partial, workspace / "graph.old")
        return present
    with locked(final):
        # Once more: somebody else may have made it meanwhile.
        if present := find_present():
            return present
        partial.mkdir(parents=True, exist_ok=True)
        try:
            with WorkerPool(workers, homes) as pool:
                _begin(partial, plan)
                job = Build(partial, sources, config, other, pool, progress)
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
        for source, state, facts in zip(sources, states, plan["inputs"], strict=False):
            notes.note(workspace, _key(source), state, facts["fingerprint"])
    return BuildResult(workspace, manifest, ledger, True, job.costs)


def _open_anchors(workspace: Path) -> Graph:
    """The graph to learn anchors from, if it can teach any."""
    graph = Graph.open(workspace)
    if not (graph.folder / "anchors_surfaces.npy").exists():
        raise InputError(f"{workspace} has no anchor statistics: build it with entity links")
    return graph


def _homes(sources: Sequence[Source]) -> list[str]:
    """The folders that the sources' modules were found in, which a worker may not know: the one we were in, say."""
    homes = []
    for source in sources:
        kind = type(source)
        package = sys.modules[kind.__module__.partition(".")[0]]
        file = getattr(package, "__file__", None)
        if file is None or "<locals>" in kind.__qualname__:
            raise InputError(
                f"workers cannot import {kind.__qualname__}: put it at the top of a module, or build with one worker"
            )
        place = Path(file).resolve().parent
        homes.append(str(place.parent if hasattr(package, "__path__") else place))
    return homes


def _plan(
    sources: Sequence[Source], config: BuildConfig, other: Graph | None, workspace: Path, progress: Progress
) -> JsonObject:
    """What the graph follows from: version, options, inputs."""
    inputs: list[JsonObject] = []
    for source, fingerprint in zip(sources, _fingerprints(sources, workspace, progress), strict=True):
        inputs.append({"name": source.path.name, "bytes": size_of([source]), "fingerprint": fingerprint})
        if source.version:
            inputs[-1]["version"] = source.version
    if other is not None:
        inputs.append({"name": f"anchors of {other.snapshot}", "fingerprint": other.fingerprint})
    return {"linkwalk": __version__, "format": FORMAT, "config": asdict(config), "inputs": inputs}


def _fingerprints(sources: Sequence[Source], workspace: Path, progress: Progress) -> list[str]:
    """What tells every source from another: all of it is read, but only once while its files stay the same."""
    known = [notes.recall(workspace, _key(source), notes.states(source.files)) for source in sources]
    size = size_of([source for source, found in zip(sources, known, strict=True) if found is None])
    shown = progress if size > _LARGE else Progress(quiet=True)
    with shown.stage("hash", size / 1e6, "MB") as stage:
        tell = lambda n: stage.advance(n / 1e6)  # noqa: E731
        return [str(found or _fingerprint(s, tell)) for s, found in zip(sources, known, strict=True)]


def _fingerprint(source: Source, tell: Callable[[float], None]) -> str:
    """SHA-256 of a file, or of the names and sums of several."""
    if source.files == [source.path]:
        return checksum(source.path, tell)
    lines = [f"{checksum(file, tell)} {os.path.relpath(file, source.path)}\n" for file in source.files]
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _key(source: Source) -> str:
    """What the note on a source's fingerprint goes by."""
    return f"dump {source.path.resolve()}"


def _present(workspace: Path, plan: JsonObject, *, force: bool, strict: bool) -> BuildResult | None:
    """The graph that is there already, if it is this one and whole; anything else that is in the way is an error."""
    if workspace.exists() and not workspace.is_dir():
        raise InputError(f"{workspace} is a file: name a folder for the workspace")
    if not workspace.exists() or all(entry.name in _OWN for entry in workspace.iterdir()):
        return None
    unfinished = (workspace / "graph.partial").exists()  # first: it goes when the graph has come
    if not (workspace / "graph").exists():
        if unfinished:
            return None
        raise InputError(f"{workspace} holds something else: name an empty or a new folder")
    if force:
        return None
    again, holds = f"`linkwalk build DUMP -o {workspace} --force`", f"{workspace} holds a graph"
    try:
        manifest = read_manifest(workspace / "graph", "graph", "linkwalk build")
    except ArtifactError:
        raise InputError(f"{holds} this version cannot read: {again} replaces it") from None
    if (manifest["format"], manifest.get("linkwalk")) != (plan["format"], plan["linkwalk"]):
        raise InputError(f"{holds} made by another version: {again} builds it anew, or leave it as it is")
    if {key: manifest.get(key) for key in plan} != plan:
        raise InputError(f"{holds} of other input or options: {again} replaces it, or name another folder")
    try:
        Graph.open(workspace)
        ledger = read_json(workspace / "graph" / "ledger.json", "", {"damage": dict})
    except ArtifactError:
        return None  # damaged: it is made again, of the same input
    if strict and ledger["damage"]:
        raise InputError(
            f"{workspace} was made from damaged input (graph/ledger.json), and the build is strict"
        )
    return BuildResult(workspace, manifest, ledger, False)


def _begin(partial: Path, plan: JsonObject) -> None:
    """Keep the shards of an interrupted build of the same plan; throw away those of another."""
    path, plan = partial / "plan.json", {**plan, "shards": _SHARDS}
    with contextlib.suppress(ArtifactError):
        if read_json(path, "") == plan:
            return
    for entry in partial.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    write_json(path, plan)
