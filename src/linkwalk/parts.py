"""Parts of one's own, named as ``package.module:Name``, and libraries that are imported where they are needed.

Importing a module runs it. So such a name is taken from whoever runs the program, on the command line and in Python,
and from nobody else: never from a manifest, over HTTP or MCP (``tests/test_parts.py``).
"""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from linkwalk.errors import InputError


def is_part(name: object) -> bool:
    """Whether a name says where in Python the thing is: ``package.module:Name``."""
    if not isinstance(name, str):
        return False
    module, colon, rest = name.partition(":")
    return bool(colon) and all(word.isidentifier() for word in (*module.split("."), *rest.split(".")))


def import_part(name: str, what: str) -> Any:
    """The thing of that name; modules in the current folder are found as well, as with ``python -m``."""
    if not is_part(name):
        raise InputError(f"{name!r} names no {what}: write package.module:Name")
    module, _, rest = name.partition(":")
    here = str(Path.cwd())
    beside = here not in sys.path and "" not in sys.path
    if beside:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise InputError(f"{module} needs {error.name}, which is not installed") from None
        raise InputError(
            f"no module named {error.name!r}, so no {what} {name!r}: install it, or go to its folder"
        ) from None
    finally:
        if beside:
            sys.path.remove(here)
    for word in rest.split("."):
        if not hasattr(found, word):
            raise InputError(f"{module} has no {rest}, so there is no {what} {name!r}")
        found = getattr(found, word)
    return found


def import_library(module: str, name: str, package: str) -> Any:
    """A module of a library that not everybody needs; where it is missing, a line says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{name} is not installed: pip install {package}") from None


def make_part(name: str, what: str, *arguments: Any) -> Any:
    """The thing of that name; a class is made with the arguments, and one that takes others is something else."""
    found = import_part(name, what)
    if not isinstance(found, type):
        return found
    if not takes(found, *arguments):
        raise InputError(
            f"{name} is no {what}: a class of these is made with {len(arguments) or 'no'} arguments"
        )
    return found(*arguments)


def takes(function: Any, *arguments: Any) -> bool:
    """Whether something can be called with these arguments; so it is said of what does not say what it takes."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # some built-in ones have no signature
        return True
    return True
