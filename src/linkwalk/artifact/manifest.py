"""A folder's manifest: what the artefact is, what it was made from, and the size and checksum of each of its files.

The manifest holds a checksum of itself, too. Nothing in it depends on the clock, the machine or the number of workers:
the same input and options give the same bytes. Manifests of format 1 have no checksums, and open as they are.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from linkwalk.artifact.files import checksum, digest, exchange, sync, to_json, write_json
from linkwalk.artifact.parsing import read_json
from linkwalk.artifact.seen import NOTE
from linkwalk.errors import ArtifactError, DamagedError

FORMAT = 2
FORMATS = (1, FORMAT)
MANIFEST = "manifest.json"
_THREADS = 2
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
) -> dict[str, Any]:
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


def seal(folder: Path, manifest: dict[str, Any], *, name: str = MANIFEST) -> dict[str, Any]:
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


def publish(partial: Path, final: Path) -> None:
    """Put a sealed folder in its place in one step: a killed run leaves the old artefact or the new one."""
    exchange(partial, final)
    sync(final.parent)


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


def is_spelt_right(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether a manifest's file holds nothing but the manifest."""
    return path.read_bytes() == to_json(manifest)


def _facts(path: Path) -> dict[str, Any]:
    sync(path)
    return {"bytes": path.stat().st_size, "sha256": checksum(path)}


def _own_checksum(manifest: dict[str, Any]) -> str:
    return digest({key: value for key, value in manifest.items() if key != "checksum"})
