"""Benchmark files: an object a line, or one array, packed or not; damaged lines are set aside with their number."""

import bz2
import codecs
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from linkwalk.errors import InputError

_OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
_BOM = b"\xef\xbb\xbf"
_HEAD, _CHUNK = 1 << 12, 1 << 20
_TAIL = 32
"""No unfinished JSON but a string is noticed more than this many characters before its end."""
NAMES = {
    "fever": "FEVER",
    "nq": "Natural Questions",
    "multihop": "multi-hop questions",
    "links": "questions from links",
}
_MARKS = {
    "claim": "fever",
    "supporting_facts": "multihop",
    "paragraphs": "multihop",
    "annotations": "nq",
    "positive_ctxs": "nq",
    "question": "nq",
}
"""The field that gives a data set away; the first that is there counts."""


class BadLine(NamedTuple):
    """A line that could not be used, and why."""

    line: int
    reason: str


class Records(NamedTuple):
    """What a file holds."""

    records: list[tuple[int, dict[str, Any]]]
    """Each with the number of its line, from 1."""
    damage: list[BadLine]


def open_packed(path: Path) -> BinaryIO:
    """A file's bytes, unpacked by the ending of its name."""
    file: BinaryIO = _OPENERS.get(path.suffix, open)(path, "rb")
    return file


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The same; what cannot be read, or not to its end, is an error in one line."""
    try:
        with open_packed(path) as file:
            yield file
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def read_records(path: Path) -> Records:
    """All objects of a JSON Lines file, or of a file that is one JSON array; what is damaged is listed, not lost."""
    damage: list[BadLine] = []
    return Records(list(stream_records(path, damage)), damage)


def stream_records(path: Path, damage: list[BadLine]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file one by one, with their numbers: files of gigabytes need not be in memory at once.

    In an array the numbers are the objects'. A line that is no object goes to ``damage``; a broken array is an error,
    since nothing behind the place can be told apart.
    """
    usable = False
    with _opened(path) as file:
        for number, value in _array(path, file) if _is_array(file) else _json_lines(file):
            if isinstance(value, dict):
                usable = True
                yield number, value
            elif isinstance(value, BadLine):
                damage.append(value)
            else:
                damage.append(BadLine(number, f"no object but {type(value).__name__}"))
    if not usable and damage:
        raise InputError(f"{path} has no usable line: line {damage[0].line} is {damage[0].reason}")
    if not usable:
        raise InputError(f"{path} is empty: give a file with one JSON object a line")


def whole_records(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """All objects of a file of which no line may be damaged: the first that is, is an error."""
    records, damage = read_records(path)
    if damage:
        raise InputError(f"{path}, line {damage[0].line}: {damage[0].reason}")
    return records


def own_records(path: Path, damage: list[BadLine], kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, of one data set: a file that begins as another one's is refused."""
    for at, (number, record) in enumerate(stream_records(path, damage)):
        other = kind_of(record)
        if not at and other not in (None, kind):
            raise InputError(
                f"{path} holds {NAMES[other]}, not {NAMES[kind]}: `linkwalk score {other}` reads it"
            )
        yield number, record


def write_records(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write objects as they come, one a line, and say how many; should anything break, what was there stays."""
    partial, count = path.with_name(path.name + ".partial"), 0
    try:
        with partial.open("w", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += 1
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return count


def is_table(path: Path) -> bool:
    """Whether a file holds rows of cells instead of objects, by the ending of its name."""
    return any(suffix in (".csv", ".tsv") for suffix in path.suffixes[-2:])


def kind_of(record: dict[str, Any]) -> str | None:
    """Which data set an object looks to be of; None if of none that is known."""
    return next((kind for mark, kind in _MARKS.items() if mark in record), None)


def text_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1."""
    with _opened(path) as file:
        yield from _lines(file)


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, 1):
        line = line.removeprefix(_BOM) if number == 1 else line
        if line.strip():
            yield number, line


def _json_lines(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """What each line holds, or what is wrong with it."""
    for number, line in _lines(file):
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, BadLine(number, f"no JSON ({str(error).partition(':')[0]})")


def _is_array(file: BinaryIO) -> bool:
    """Whether a file is one array of objects, and not a line each that may be an array; the head tells."""
    head = b""
    while len(head) < 2 and (data := file.read(_HEAD)):
        head = (head + data).removeprefix(_BOM).lstrip()
    file.seek(0)
    return head.startswith(b"[") and head[1:].lstrip()[:1] in (b"", b"{", b"]")


def _array(path: Path, file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """The values of an array as they come; in memory is one of them, and what was read on beyond it."""
    decode, utf8 = json.JSONDecoder().raw_decode, codecs.getincrementaldecoder("utf-8-sig")()
    text, at, whole, number = "", 0, False, 0

    def more() -> None:
        """Read on; as much again as is there, so that even one huge object is tried a few times only."""
        nonlocal text, at, whole
        data = file.read(max(_CHUNK, len(text) - at))
        whole = not data
        try:
            text, at = text[at:] + utf8.decode(data, final=whole), 0
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 behind object {number}: {error.reason}") from None

    def sign() -> str:
        """The next character that is no blank."""
        nonlocal at
        while True:
            while at < len(text) and text[at] in " \t\r\n":
                at += 1
            if at < len(text) or whole:
                return text[at : at + 1]
            more()

    sign()
    at += 1  # the opening bracket
    mark = "]" if sign() == "]" else ","
    while mark != "]":
        sign()
        number += 1
        while True:
            try:
                value, end = decode(text, at)
                if end < len(text) or whole:  # a number at the end may go on
                    break
            except json.JSONDecodeError as error:
                open_string = error.msg.startswith("Unterminated string")
                if whole or (not open_string and error.pos + _TAIL < len(text)):
                    raise InputError(f"{path} is no JSON from object {number} on: {error.msg}") from None
            except RecursionError:
                raise InputError(f"{path} is nested too deeply in object {number}") from None
            more()
        at = end
        yield number, value
        mark = sign()
        if mark not in (",", "]"):
            what = "a comma is missing" if mark else "it breaks off"
            raise InputError(f"{path} is no JSON behind object {number}: {what}")
        at += mark == ","
    at += 1  # the closing bracket
    if sign():
        raise InputError(
            f"{path} goes on behind the end of its array of {number} objects: give one or the other"
        )
