"""The place of an artefact: cleared before it is written, and opened while another may take it."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from linkwalk.artifact.locks import locked
from linkwalk.artifact.manifest import MANIFEST
from linkwalk.artifact.parsing import in_words, is_failure
from linkwalk.errors import ArtifactError, LinkwalkError

Opened = TypeVar("Opened")


def clear(path: Path) -> None:
    """Remove what has that name, be it a folder, a file or a link."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def tidy_up(final: Path, *left: Path) -> None:
    """Remove what a run left that was killed when ``final`` was in its place; not from under one that is at work."""
    if any(path.exists() for path in left):
        with contextlib.suppress(LinkwalkError, OSError), locked(final):
            for path in left:
                clear(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the failure of a library to write ``path`` into one line; libraries rarely say that a disk is full."""
    try:
        yield
    except (LinkwalkError, OSError, MemoryError):
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise LinkwalkError(
            f"{path} cannot be written ({in_words(error)}): see whether the disk is full, and run the same again"
        ) from None


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


def _version(manifest: Path) -> tuple[int, int, int] | None:
    """Which manifest stands there; None where there is none."""
    try:
        state = manifest.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size
