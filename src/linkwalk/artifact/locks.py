"""One at a time: whoever writes an artefact holds a lock beside it; the lock goes with the process, however it ends."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkwalk.errors import LinkwalkError

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]


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


def _take(path: Path) -> int | None:
    """Open and lock the file of that name; None if somebody else holds it."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
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
            return _unlocked(path)
        os.close(number)


def _unlocked(path: Path) -> int:
    """Go on without a lock, on file systems that have none."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


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
