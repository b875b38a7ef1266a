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

from linkwalk.artifact.files import Json
from linkwalk.artifact.folders import locked
from linkwalk.errors import LinkwalkError

NOTE = ".linkwalk-seen.json"
_PACKAGE = Path(__file__).parents[1]
"""Nothing is written into an installed package; what ships is small, and looked at every time."""
_TICK_S = 0.1
"""A file that has changed so little ago may change again without its times showing it."""


States = list[list[int]]
"""Size, both times and inode of each of some files."""


def states(files: Iterable[Path]) -> States | None:
    """The files as they are; None where one is not there. Taken before they are read, so that no change is missed."""
    try:
        found = [path.stat() for path in files]
    except OSError:
        return None
    return [[state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino] for state in found]


def recall(place: Path, key: str, files: States | None) -> Any | None:
    """What was noted in the folder ``place`` under ``key`` for files in these states; None if nothing was."""
    entry = _read(place).get(key)
    if files is None or not isinstance(entry, dict) or entry.get("files") != files:
        return None
    return entry.get("value")


def note(place: Path, key: str, files: States | None, value: Any) -> None:
    """Note something about files in these states; whoever finds another one noting does without."""
    if files is None or _PACKAGE in place.resolve().parents:
        return
    if max((state[2] for state in files), default=0) > time.time_ns() - int(1e9 * _TICK_S):
        return
    partial = place / f"{NOTE}.partial"  # one name, so that what a kill leaves is gone with the next note
    with contextlib.suppress(OSError, LinkwalkError), locked(place / NOTE):
        partial.write_text(json.dumps(_read(place) | {key: {"files": files, "value": value}}))
        os.replace(partial, place / NOTE)


def _read(place: Path) -> Json:
    try:
        found = json.loads((place / NOTE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
