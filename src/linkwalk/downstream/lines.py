"""Benchmark files: one JSON object a line, packed or not; damaged lines are set aside with their number."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from linkwalk.errors import InputError

_OPENERS: dict[str, Callable[[Path], BinaryIO]] = {
    ".xz": lzma.open,  # type: ignore[dict-item]
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,  # type: ignore[dict-item]
}


class Damage(NamedTuple):
    """A line that could not be used, and why."""

    line: int
    reason: str


class Records(NamedTuple):
    """What a file holds."""

    records: list[tuple[int, dict[str, Any]]]
    """Each with the number of its line, from 1."""
    damage: list[Damage]


def read_records(path: Path) -> Records:
    """All objects of a JSON Lines file, or of a file that is one JSON array; what is damaged is listed, not lost."""
    records, damage = [], []
    for number, value in _values(path):
        if isinstance(value, Damage):
            damage.append(value)
        elif isinstance(value, dict):
            records.append((number, value))
        else:
            damage.append(Damage(number, f"no object but {type(value).__name__}"))
    if not records and damage:
        first = damage[0]
        raise InputError(f"{path} has no usable line: line {first.line} is {first.reason}")
    if not records:
        raise InputError(f"{path} is empty: give a file with one JSON object a line")
    return Records(records, damage)


def _values(path: Path) -> Iterator[tuple[int, Any]]:
    opener: Callable[[Path], BinaryIO] = _OPENERS.get(path.suffix, lambda p: p.open("rb"))
    try:
        with opener(path) as file:
            head = file.peek(64) if hasattr(file, "peek") else b""
            if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and not head.lstrip().startswith(b"[["):
                yield from _array(path, file.read())
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _parsed(number, line)
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {path}: {reason}") from None


def _array(path: Path, text: bytes) -> Iterator[tuple[int, Any]]:
    """Objects of one array count as lines, from 1."""
    try:
        yield from enumerate(json.loads(text), 1)
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}") from None


def _parsed(number: int, line: bytes) -> Any:
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        return Damage(number, f"no JSON ({str(error).partition(':')[0]})")
