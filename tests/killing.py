"""A process that is killed at a chosen step: when it touches the files of a folder for so many times."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TOUCHES = ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.scandir", "os.truncate")


def kill_at(step: int, folder: Path) -> None:
    """Kill this process at its ``step``-th touch of anything below ``folder``."""
    left = step

    def count() -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    at_touches(folder, count)


def at_touches(folder: Path, action: Callable[[], object]) -> None:
    """From now on do something just before this process touches anything below ``folder``."""
    below = os.fspath(folder)

    def is_below(arg: Any) -> bool:
        return isinstance(arg, str | Path) and str(arg).startswith(below)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _TOUCHES and (_within_open_folder(event, args) or any(map(is_below, args))):
            action()

    sys.addaudithook(hook)


def _within_open_folder(event: str, args: tuple[Any, ...]) -> bool:
    """Whether something is removed by its name alone, as in a folder that is being emptied."""
    return event in ("os.remove", "os.rmdir") and args[-1] != -1


def is_killed(step: int, folder: Path, action: Callable[[], object]) -> bool:
    """Let a child do something until that step; False if it came to its end before."""
    child = os.fork()
    if not child:
        try:
            kill_at(step, folder)
            action()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    from linkwalk.cli import main

    kill_at(int(sys.argv[1]), Path(sys.argv[2]))
    main(sys.argv[3:])
