"""What has been looked at once need not be looked at again: results kept for these very files, beside them.

A file is taken for the same while its size, its times and its inode are. The note is a hint, never needed: where it
cannot be written (a read-only disk) or read, the work is done again.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NOTE = ".linkwalk-seen.json"
_PACKAGE = Path(__file__).parents[1]
"""Nothing is written into an installed package; what ships is small, and looked at every time."""
_TICK_S = 0.1
"""A file that has changed so little ago may change again without its times showing it."""


def recall(place: Path, key: str, files: Iterable[Path]) -> Any | None:
    """What was noted in the folder ``place`` under ``key`` for these files as they are; None if nothing was."""
    entry = _read(place).get(key)
    if not isinstance(entry, dict) or entry.get("files") != _states(files):
        return None
    return entry.get("value")


def note(place: Path, key: str, files: Iterable[Path], value: Any) -> None:
    """Note something about these files as they are."""
    states = _states(files)
    if _PACKAGE in place.resolve().parents or states is None:
        return
    if max((state[2] for state in states), default=0) > time.time_ns() - int(1e9 * _TICK_S):
        return
    partial = place / f"{NOTE}.{os.getpid()}.partial"
    with contextlib.suppress(OSError):
        partial.write_text(json.dumps(_read(place) | {key: {"files": states, "value": value}}))
        os.replace(partial, place / NOTE)


def _read(place: Path) -> dict[str, Any]:
    try:
        found = json.loads((place / NOTE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _states(files: Iterable[Path]) -> list[list[int]] | None:
    """Size, both times and inode of each file; None where one is not there."""
    try:
        found = [path.stat() for path in files]
    except OSError:
        return None
    return [[state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino] for state in found]
