"""A dump becomes a graph: the stages in order, resumable, the same bytes whatever the number of workers.

Everything is written below ``WIKI/graph.partial``; the finished graph is renamed into place at the end. A build that
was killed finds its finished shards there and goes on; what a stage merges from shards is quickly made again.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from linkwalk import __version__
from linkwalk.artifact import FORMAT, fingerprint_file, finish, read_manifest, write_json
from linkwalk.errors import ArtifactError, InputError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.sources.dump import Dump, open_dump
from linkwalk.sources.pipeline import Build, BuildConfig
from linkwalk.sources.shard import ExtractConfig, finished
from linkwalk.sources.workers import Workers

__all__ = ["BuildConfig", "BuildResult", "ExtractConfig", "build"]


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
    plan = _plan(opened, config, other)
    final, partial = workspace / "graph", workspace / "graph.partial"
    if present := _present(workspace, plan, force=force):
        if strict and present.ledger["damage"]:
            raise InputError(
                f"{workspace} was made from damaged input (graph/ledger.json), and --strict was asked for"
            )
        _tidy_up(workspace)
        return present
    made = _first_missing(workspace)
    partial.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(partial, workspace), Workers(workers) as pool:
            _begin(partial, plan)
            job = Build(partial, opened, config, other, pool, progress)
            manifest, ledger = job.run(plan, strict=strict)
            finish(partial / "graph", final)
    except InputError:  # bad input leaves nothing behind
        shutil.rmtree(made or partial, ignore_errors=True)
        raise
    except OSError:  # a full disk, say: what is finished stays, to go on from, as it does after a kill
        shutil.rmtree(partial / "graph", ignore_errors=True)
        for file in partial.glob("*.partial"):
            file.unlink(missing_ok=True)
        if not finished(partial, "shard"):
            shutil.rmtree(made or partial, ignore_errors=True)
        raise
    shutil.rmtree(partial, ignore_errors=True)
    return BuildResult(workspace, manifest, ledger, True)


def _first_missing(folder: Path) -> Path | None:
    """The outermost folder that has to be made for ``folder`` to be there."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    return missing[-1] if missing else None


def _tidy_up(workspace: Path) -> None:
    """Remove what a build left that was killed just after it had finished; not from under one that is at work."""
    shutil.rmtree(workspace / "graph.old", ignore_errors=True)
    partial = workspace / "graph.partial"
    if partial.exists():
        try:
            with _lock(partial, workspace):
                shutil.rmtree(partial, ignore_errors=True)
        except LinkwalkError:
            pass


def _open_anchors(workspace: Path) -> Graph:
    """The graph to learn anchors from, if it can teach any."""
    graph = Graph.open(workspace)
    if not (graph.folder / "anchors_surfaces.npy").exists():
        raise InputError(f"{workspace} has no anchor statistics: build it without --no-entity-links")
    return graph


def _plan(dumps: Sequence[Dump], config: BuildConfig, other: Graph | None) -> dict[str, Any]:
    """What the graph follows from: version, options, inputs."""
    inputs = [{"name": d.path.name, "bytes": d.size, "fingerprint": fingerprint_file(d.path)} for d in dumps]
    if other is not None:
        inputs.append({"name": f"anchors of {other.snapshot}", "fingerprint": other.fingerprint})
    return {"linkwalk": __version__, "format": FORMAT, "config": asdict(config), "inputs": inputs}


def _present(workspace: Path, plan: dict[str, Any], *, force: bool) -> BuildResult | None:
    """The graph that is there already, if it is this one; anything else that is in the way is an error."""
    if workspace.exists() and not workspace.is_dir():
        raise InputError(f"{workspace} is a file: name a folder for the workspace")
    if not workspace.exists() or not any(workspace.iterdir()):
        return None
    if not (workspace / "graph").exists():
        if (workspace / "graph.partial").exists():
            return None
        raise InputError(f"{workspace} holds something else: name an empty or a new folder with -o")
    try:
        manifest = read_manifest(workspace / "graph", "graph", "linkwalk build")
        ledger = json.loads((workspace / "graph" / "ledger.json").read_bytes())
    except (ArtifactError, OSError, ValueError):
        if force:
            return None
        raise InputError(
            f"{workspace} holds a graph this version cannot read: add --force to replace it"
        ) from None
    if force:
        return None
    if {key: manifest.get(key) for key in plan} == plan:
        return BuildResult(workspace, manifest, ledger, False)
    raise InputError(
        f"{workspace} holds a graph of other input or options: add --force to replace it, or name another folder"
    )


def _lock(partial: Path, workspace: Path) -> TextIO:
    """Keep two builds out of one folder; the lock goes with the process, however it ends."""
    file = (partial / "lock").open("w")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass  # no such locks on this system
    except OSError:
        file.close()
        raise LinkwalkError(
            f"another build is writing to {workspace}: wait for it, or name another folder"
        ) from None
    return file


def _begin(partial: Path, plan: dict[str, Any]) -> None:
    """Keep the shards of an interrupted build of the same plan; throw away those of another."""
    path = partial / "plan.json"
    if path.exists() and json.loads(path.read_bytes()) == plan:
        return
    for entry in partial.iterdir():
        if entry.name == "lock":
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    write_json(path, plan)
