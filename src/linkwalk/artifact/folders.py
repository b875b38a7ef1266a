"""The place of an artefact: locked while it is written, cleared of what was left, and taken in one step.

Whoever writes an artefact holds a lock beside it; the lock goes with the process, however it ends.
"""

import contextlib
import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkwalk.artifact.files import sync
from linkwalk.errors import LinkwalkError

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE, as Linux has them


def lock_of(final: Path) -> Path:
    """The file that is locked while ``final`` is written."""
    return final.with_name(f".{final.name}.lock")


@contextmanager
def locked(final: Path) -> Iterator[None]:
    """Keep others from writing the artefact at ``final``; one that is being written already is an error."""
    path = lock_of(final)
    made = _first_missing(path.parent)
    number = _take(path)
    if number is None:
        raise LinkwalkError(
            f"another process is writing {final} at this moment: wait until it has ended, then run this again"
        )
    try:
        yield
    finally:
        # Removed while it is held: whoever opened it meanwhile sees that it is gone, and opens the next one.
        path.unlink(missing_ok=True)
        os.close(number)
        if made is not None:
            _remove_empty(path.parent, made)


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


def publish(partial: Path, final: Path) -> None:
    """Put a sealed folder in its place in one step: a killed run leaves the old artefact or the new one."""
    old = final.with_name(final.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if final.exists() and _swap(partial, final):
        old = partial
    else:
        if final.exists():  # two steps, where the system has no such one
            os.replace(final, old)
        os.replace(partial, final)
    shutil.rmtree(old, ignore_errors=True)
    sync(final.parent)


@contextmanager
def in_one_step(partial: Path, final: Path, *state: str) -> Iterator[Path]:
    """A folder to put together what long work in ``partial`` made; then it takes its place in one step.

    Until it has, the work to go on with stays as it is: whenever this is killed, nothing is lost. The ``state`` is the
    first to go then, so that there is never one without what belongs to it.
    """
    whole = partial / "whole"
    clear(whole)
    whole.mkdir(parents=True)
    yield whole
    publish(whole, final)
    for path in (*(partial / name for name in state), partial):
        clear(path)


def _swap(a: Path, b: Path) -> bool:
    """Let two folders change names at once, where the system can."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(a), _HERE, os.fsencode(b), _EXCHANGE) == 0)


def _take(path: Path) -> int | None:
    """Open and lock the file of that name; None if somebody else holds it."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            number = os.open(path, _LOCK, 0o666)
        except FileNotFoundError:  # somebody else has made nothing of it, and taken the empty folder away
            continue
        if fcntl is None:
            return number
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(number), os.stat(path)):
                return number
        except FileNotFoundError:  # its last owner has removed it
            pass
        except OSError as error:
            os.close(number)
            if isinstance(error, BlockingIOError | PermissionError):
                return None
            return os.open(path, _LOCK, 0o666)  # without a lock, on file systems that have none
        os.close(number)


def _first_missing(folder: Path) -> Path | None:
    """The outermost folder that has to be made for ``folder`` to be there."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    return missing[-1] if missing else None


def _remove_empty(folder: Path, outermost: Path) -> None:
    """Leave no empty folders behind where nothing came of it."""
    with contextlib.suppress(OSError):
        while True:
            folder.rmdir()
            if folder == outermost:
                return
            folder = folder.parent
