"""Compiled loops that cannot leave their arrays, whatever the arrays hold, and a place for their machine code.

What a kernel indexes by comes from files, and files get damaged. In ``@kernel`` the compiler compares every index with
its array's length; one that does not fit is an ``IndexError``, not a crash or a figure made of foreign memory. That
costs a loop up to half of its speed. The few loops that this project is measured by are ``@guarded``: they compare what
they have read from a file with the bound themselves, once, before they index by it, and raise the same error.
``linkwalk.artifact.explain`` turns it into a line that names the damaged file.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

OUTSIDE = "a number read from a file leads outside of its array"
"""What a guarded kernel raises, as an ``IndexError``."""


def kernel(function: Function | None = None, *, inline: str = "never") -> Any:
    """Compile a loop in which every index is compared with its array's length."""
    if function is None:
        return lambda function: kernel(function, inline=inline)
    return _compiled(function, boundscheck=True, inline=inline)


def guarded(function: Function | None = None, *, inline: str = "never") -> Any:
    """Compile a loop that compares by itself what it has read from files, before it indexes by it."""
    if function is None:
        return lambda function: guarded(function, inline=inline)
    return _compiled(function, boundscheck=False, inline=inline)


def _compiled(function: Function, **options: Any) -> Any:
    """Compile when first called; keep the machine code beside the source, in the user's cache, or where else one can.

    numba gives up where neither can be written, as in many containers.
    """
    options |= {"nogil": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        folder = _own_folder()
    if folder is None:  # compiled anew in every process: seconds, but it works
        return numba.njit(**options)(function)
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        settings.CACHE_DIR = before


def _own_folder() -> Path | None:
    """A folder for temporary files that nobody but us can write to: what is in it will be run."""
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir(), f"linkwalk-kernels-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if ours and not found.st_mode & 0o077 and os.access(folder, os.W_OK) else None
