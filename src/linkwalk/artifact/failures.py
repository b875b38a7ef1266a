"""Files are taken apart, and libraries write them, here alone: what goes wrong ends in one line that names the file."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from linkwalk.artifact.files import Json
from linkwalk.errors import DamagedError, LinkwalkError

_LONGEST = 200


@contextmanager
def parsing(path: Path, remedy: str) -> Iterator[None]:
    """Turn any failure to read ``path`` into one line: the file, the fault, and what to do about it."""
    try:
        yield
    except LinkwalkError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise DamagedError(path, in_words(error), remedy) from None


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


def is_failure(error: BaseException) -> bool:
    """Whether an exception says that something failed; Ctrl-C and an exit do not, a panic of a Rust library does."""
    return isinstance(error, Exception) or type(error).__module__ == "pyo3_runtime"


def in_words(error: BaseException) -> str:
    """The first line of an exception, with its name where the line says little by itself."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    said = lines[0][:_LONGEST]
    return said if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {said}"


def read_json(path: Path, remedy: str, fields: Mapping[str, type] | None = None) -> Json:
    """A JSON object from a file, with ``fields`` of the given types in it."""
    with parsing(path, remedy):
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise ValueError(f"a JSON {type(found).__name__}, not an object")
        for name, kind in (fields or {}).items():
            if name not in found:
                raise ValueError(f"no `{name}`")
            if not isinstance(found[name], kind) or (kind is int and isinstance(found[name], bool)):
                raise ValueError(f"`{name}` is no {kind.__name__}")
    return found
