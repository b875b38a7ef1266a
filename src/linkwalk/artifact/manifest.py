"""A folder's manifest: what the artefact is, what it was made from, and the size and checksum of each of its files.

The manifest holds a checksum of itself, too. Nothing in it depends on the clock, the machine or the number of workers:
the same input and options give the same bytes. Manifests of format 1 have no checksums, and open as they are.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from linkwalk.artifact.failures import read_json
from linkwalk.artifact.files import Json, checksum, digest, sync, write_json
from linkwalk.artifact.notes import NOTE
from linkwalk.errors import ArtifactError, DamagedError

FORMAT = 2
FORMATS = (1, FORMAT)
MANIFEST = "manifest.json"
_THREADS = 2
Opened = TypeVar("Opened")
#: Locks of a search engine come and go; a model's card is prose, which its owner may change.
_UNSEALED = (".lock", ".md", ".partial")
_UNFINISHED = (".partial", ".old")


def read_manifest(
    folder: Path,
    kind: str,
    command: str,
    fields: Mapping[str, type] | None = None,
    *,
    name: str = MANIFEST,
) -> Json:
    """Read an artefact's manifest, or say which command makes the artefact.

    ``fields`` are what it must have. A manifest that is not as it was written is an error.
    """
    path = folder / name
    if not path.exists():
        raise ArtifactError(f"no {kind} in {folder.parent}: run `{command}` first")
    again = f"run `{command}` again"
    manifest = read_json(path, again)
    if manifest.get("artifact") != kind:
        raise DamagedError(path, f"it is not a {kind}'s manifest", again)
    if manifest.get("format") not in FORMATS:
        raise DamagedError(
            path, f"it has format {manifest.get('format')}, this version reads {FORMAT}", again
        )
    if "checksum" in manifest or manifest["format"] != 1:
        if manifest.get("checksum") != _own_checksum(manifest):
            raise DamagedError(path, "it is not as it was written", again)
        return manifest
    return manifest | read_json(path, again, fields)


def seal(folder: Path, manifest: Json, *, name: str = MANIFEST) -> Json:
    """Write the manifest of a finished folder, with every file's size and checksum; all of it is on the disk then."""
    names = sorted(contents(folder, name))
    with ThreadPoolExecutor(_THREADS) as pool:
        facts = list(pool.map(lambda one: _facts(folder / one), names))
    whole = manifest | {"format": FORMAT, "files": dict(zip(names, facts, strict=True))}
    whole.pop("checksum", None)
    whole["checksum"] = _own_checksum(whole)
    write_json(folder / name, whole)
    for inner in {(folder / one).parent for one in names} | {folder}:
        sync(inner)
    return whole


def contents(folder: Path, name: str = MANIFEST) -> Iterator[str]:
    """The files that belong to an artefact, by their paths in it; folders that are artefacts themselves do not."""
    for place, folders, files in os.walk(folder):
        inner = Path(place).relative_to(folder)
        folders[:] = [
            one
            for one in folders
            if not one.endswith(_UNFINISHED) and not (Path(place, one) / MANIFEST).exists()
        ]
        for file in files:
            if file != NOTE and not file.endswith(_UNSEALED) and (inner / file).as_posix() != name:
                yield (inner / file).as_posix()


def steady(folder: Path, opening: Callable[[], Opened], *, name: str = MANIFEST) -> Opened:
    """What ``opening`` opens of an artefact, from one version of it: again if another took its place meanwhile.

    An artefact's place is taken in one step, but its files are opened one by one: the first may be of the old one, the
    next of the new one.
    """
    while True:
        version = _version(folder / name)
        try:
            opened = opening()
        except ArtifactError:
            if _version(folder / name) == version:
                raise
        else:
            if _version(folder / name) == version:
                return opened


def _facts(path: Path) -> Json:
    sync(path)
    return {"bytes": path.stat().st_size, "sha256": checksum(path)}


def _own_checksum(manifest: Json) -> str:
    return digest({key: value for key, value in manifest.items() if key != "checksum"})


def _version(manifest: Path) -> tuple[int, int, int] | None:
    """Which manifest stands there; None where there is none."""
    try:
        state = manifest.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size
