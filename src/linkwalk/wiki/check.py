"""Everything in a workspace, read once: which files are not as they were written, and what mends them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from linkwalk.artifact import MANIFEST, Fault, contents, faults, locked, read_manifest, seal
from linkwalk.embed.store import command as embed_command
from linkwalk.errors import ArtifactError, DamagedError, InputError
from linkwalk.graph.columns import map_array
from linkwalk.graph.split import HALVES
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress

_PIECE = 1 << 22


class Artefact(NamedTuple):
    """An artefact of a workspace, as it should be."""

    folder: Path
    kind: str
    remedy: str
    manifest: str = MANIFEST


@dataclass(frozen=True, kw_only=True)
class ArtefactReport:
    """What came of reading an artefact."""

    name: str
    """Its folder in the workspace."""
    kind: str
    files: int
    bytes: int
    faults: tuple[Fault, ...]
    sealed: bool
    """Whether it has checksums; those that version 0.1 made have none until they are sealed."""
    stale: bool
    """Whether it was made from another graph than the workspace's."""
    remedy: str
    """What mends it, or brings it up to date."""

    @property
    def state(self) -> str:
        """Whether it can be relied on, in a word or two."""
        if self.faults:
            return "damaged"
        return "of another graph" if self.stale else "whole" if self.sealed else "no checksums"

    def to_json(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "state": self.state,
            "files": self.files,
            "bytes": self.bytes,
            "faults": [{"file": str(fault.path), "fault": fault.what} for fault in self.faults],
            "remedy": self.remedy if self.faults or self.stale else None,
        }


def check(
    workspace: Path, *, add_checksums: bool = False, progress: Progress | None = None
) -> list[ArtefactReport]:
    """Read every artefact of a workspace; ``add_checksums`` seals those that have none and could be right."""
    if not workspace.is_dir():
        raise InputError(f"no such workspace: {workspace}")
    places = list(_places(workspace))
    if not places:
        raise InputError(f"{workspace} holds nothing that linkwalk made: name a workspace")
    progress = progress or Progress(quiet=True)
    total = sum(_size(place.folder)[1] for place in places)
    lock = Lock()
    with progress.stage("check", total / 1e6, "MB") as stage:

        def advance(bytes: float) -> None:
            with lock:
                stage.advance(bytes / 1e6)

        return [_check(workspace, place, add_checksums, advance) for place in places]


def _places(workspace: Path) -> Iterator[Artefact]:
    """The artefacts of a workspace in the order they are made in, and those of its halves."""
    index, titles = workspace / "index", workspace / "titles"
    if any((workspace / name).exists() for name in ("graph", "embeddings", "index", "policies")):
        half = workspace.name in HALVES
        build = f"split WIKI -o {workspace.parent}` again" if half else f"build DUMP -o {workspace} --force`"
        yield Artefact(workspace / "graph", "graph", f"run `linkwalk {build}")
    for folder in _folders(workspace / "embeddings"):
        yield Artefact(folder, "embeddings", f"run `{embed_command(workspace, folder.name)} --force`")
    for folder, kind, option in ((index, "index", ""), (index / "dense", "dense", "--dense ")):
        if folder.is_dir():
            yield Artefact(folder, kind, f"run `linkwalk index {workspace} {option}--force`")
    for folder in _folders(workspace / "policies"):
        again = f"run `linkwalk train {workspace} --name {folder.name} --force`, with the options it was made with"
        yield Artefact(folder, "policy", again)
    for folder in _folders(workspace / "rerankers"):
        again = f"run `linkwalk train-reranker {workspace} FILE --name {folder.name} --force`"
        yield Artefact(folder, "cross", again, "cross.json")
    if titles.is_dir():
        yield Artefact(titles, "titles", f"remove {titles}: it is made again by itself")
    for name in (*HALVES, "halves"):
        if (workspace / name).is_dir():
            yield from _places(workspace / name)


def _folders(parent: Path) -> list[Path]:
    unfinished = (".partial", ".old")
    return sorted(one for one in parent.glob("*") if one.is_dir() and not one.name.endswith(unfinished))


def _check(
    workspace: Path, place: Artefact, add_checksums: bool, advance: Callable[[float], None]
) -> ArtefactReport:
    structure = _STRUCTURE.get(place.kind)
    own = None if structure is None else partial(structure, place)
    found = tuple(faults(place.folder, place.kind, name=place.manifest, structure=own, advance=advance))
    manifest = {} if found else read_manifest(place.folder, place.kind, "", name=place.manifest)
    sealed = "files" in manifest
    if add_checksums and manifest and not sealed:
        with locked(place.folder.parent if place.kind == "dense" else place.folder):
            manifest = seal(place.folder, manifest, name=place.manifest)
        sealed = True
    files, size = _size(place.folder)
    return ArtefactReport(
        name=str(place.folder.relative_to(workspace)),
        kind=place.kind,
        files=files,
        bytes=size,
        faults=found,
        sealed=sealed or bool(found),
        stale=_is_stale(place, manifest),
        remedy=place.remedy,
    )


def _is_stale(place: Artefact, manifest: dict[str, Any]) -> bool:
    """Whether something that follows from a graph follows from another one; policies walk on any."""
    if place.kind not in ("embeddings", "index", "dense", "titles"):
        return False
    up = 0 if place.kind in ("index", "titles") else 1
    try:
        graph = read_manifest(place.folder.parents[up] / "graph", "graph", "")
    except ArtifactError:
        return False
    return "graph" in manifest and manifest["graph"] != graph.get("fingerprint")


def _size(folder: Path) -> tuple[int, int]:
    """How many files there are and how many bytes, those of artefacts inside left out."""
    files = [folder / name for name in contents(folder)] if folder.is_dir() else []
    return len(files), sum(path.stat().st_size for path in files)


def _graph_is_sound(place: Artefact) -> None:
    Graph.map(place.folder.parent).check(texts=True)


def _vectors_are_numbers(place: Artefact) -> None:
    path = place.folder / "vectors.npy"
    flat = map_array(path, place.remedy, np.float16).reshape(-1)
    for start in range(0, len(flat), _PIECE):
        if not np.isfinite(flat[start : start + _PIECE]).all():
            raise DamagedError(path, "values that are not numbers", place.remedy)


_STRUCTURE = {"graph": _graph_is_sound, "embeddings": _vectors_are_numbers}
