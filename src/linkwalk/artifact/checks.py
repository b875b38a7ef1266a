"""Is an artefact as it was written? Cheap looks whenever one is opened, all of it when asked or when something failed.

At every open: the manifest's own checksum, and every file's size. At the first open of these very files: checksums of
the small ones (of all, where a library that trusts its files reads them), and what the owner can tell of the rest. All
of it: ``faults``, for ``linkwalk check``, and for ``explain``, which turns an error that nobody expected into one that
names the damaged file.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from linkwalk.artifact import notes
from linkwalk.artifact.failures import in_words, is_failure
from linkwalk.artifact.files import Json, checksum, to_json
from linkwalk.artifact.manifest import MANIFEST, read_manifest
from linkwalk.errors import ArtifactError, DamagedError, LinkwalkError, SuspectError

SMALL = 1 << 20
"""Bytes up to which a file is read whole when it is first opened."""
_SOUND = "sound"
_THREADS = 2

Files = dict[str, Json]
Structure = Callable[[], None]
"""Looks at what the files hold, and raises an ``ArtifactError`` that names the first one that cannot be right."""


class Fault(NamedTuple):
    """What is wrong with a file."""

    path: Path
    what: str


_OPENED: dict[Path, Callable[[], DamagedError | None]] = {}
"""Artefacts that this process has opened, and what looks at all of each again."""


def look_at(
    folder: Path,
    manifest: Json,
    remedy: str,
    *,
    name: str = MANIFEST,
    whole: bool = False,
    structure: Structure | None = None,
) -> None:
    """The looks that every open takes; ``whole`` reads all files at their first open, not the small ones alone."""
    files: Files = manifest.get("files", {})
    states = notes.states(folder / file for file in files)
    sound = files and notes.recall(folder.parent, folder.name, states) == _SOUND
    read = [file for file, facts in files.items() if not sound and (whole or facts["bytes"] <= SMALL)]
    for fault in _changed(folder, files, read):
        raise DamagedError(*fault, remedy)
    if not sound and structure is not None:
        structure()
    if not sound and files:
        notes.note(folder.parent, folder.name, states, _SOUND)
    kind = str(manifest["artifact"])

    def damage() -> DamagedError | None:
        found = next(faults(folder, kind, name=name, structure=structure), None)
        return None if found is None else DamagedError(*found, remedy)

    _OPENED[folder] = damage


def faults(
    folder: Path,
    kind: str,
    *,
    name: str = MANIFEST,
    structure: Structure | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> Iterator[Fault]:
    """All that is wrong with an artefact: every byte is read. ``advance`` hears how many."""
    path = folder / name
    try:
        manifest = read_manifest(folder, kind, "", name=name)
    except ArtifactError as error:
        yield _as_fault(path, error)
        return
    if "checksum" in manifest and path.read_bytes() != to_json(manifest):
        yield Fault(path, "it is not as it was written")
    files: Files = manifest.get("files", {})
    found = _changed(folder, files, list(files), advance)
    yield from found
    if structure is not None and not found:
        try:
            structure()
        except ArtifactError as error:
            yield _as_fault(folder, error)


def explain(error: BaseException) -> LinkwalkError | None:
    """The damage behind an error that nobody expected, if an artefact that is open has any; all of it is read."""
    known = error if isinstance(error, LinkwalkError) else None
    if known is not None and not isinstance(known, SuspectError):
        return known
    if not is_failure(error) or isinstance(error, ImportError):
        return None
    damages = [damage for folder, damage in list(_OPENED.items()) if folder.exists()]
    return next((found for damage in damages if (found := damage()) is not None), known)


def _wrong_size(path: Path, facts: Json) -> str | None:
    try:
        size = path.stat().st_size
    except OSError as error:
        return in_words(error)
    if not path.is_file():
        return "it is no plain file"
    return None if size == facts["bytes"] else f"{size:,} bytes instead of {facts['bytes']:,}"


def _changed(
    folder: Path, files: Files, read: list[str], advance: Callable[[float], None] = lambda _: None
) -> list[Fault]:
    """Files of another size than was written and, of those that are to be ``read``, those with other bytes."""
    found = {file: what for file, facts in files.items() if (what := _wrong_size(folder / file, facts))}
    rest = [file for file in read if file not in found]

    def wrong(file: str) -> str | None:
        try:
            same = checksum(folder / file, advance) == files[file]["sha256"]
        except OSError as error:
            return in_words(error)
        return None if same else "its checksum is not the one it was written with"

    if sum(files[file]["bytes"] for file in rest) <= SMALL:  # sooner done than threads are begun
        whats = list(map(wrong, rest))
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            whats = list(pool.map(wrong, rest))
    found |= {file: what for file, what in zip(rest, whats, strict=True) if what}
    return [Fault(folder / file, what) for file, what in found.items()]


def _as_fault(path: Path, error: ArtifactError) -> Fault:
    return Fault(error.path, error.what) if isinstance(error, DamagedError) else Fault(path, str(error))
