"""Files as this program writes them: one spelling of JSON, checksums, and pieces that tell whether they are whole."""

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedRandom, FileIO
from pathlib import Path
from typing import Any, BinaryIO

Json = dict[str, Any]
"""A JSON object, such as a manifest."""
_READ = 1 << 20
_SEAL_BYTES = hashlib.sha256().digest_size


def to_json(value: object) -> bytes:
    """The one JSON spelling used on disk: sorted keys, two blanks, a final newline."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return text.encode(errors="backslashreplace")  # half a surrogate, from a file name that is not UTF-8


def write_json(path: Path, value: object) -> None:
    """Write a JSON file so that a reader sees the old one or the new one, never half of either."""
    with replacing(path) as file:
        file.write(to_json(value))


@contextmanager
def replacing(path: Path, *, synced: bool = True) -> Iterator[BufferedRandom]:
    """A file to write to beside ``path``; it is synced and takes the place of ``path`` once it is whole."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w+b") as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def digest(value: object) -> str:
    """A short fingerprint of any JSON value."""
    return hashlib.blake2b(to_json(value), digest_size=16).hexdigest()


def checksum(path: Path, advance: Callable[[float], None] = lambda _: None) -> str:
    """SHA-256 of all of a file, as ``sha256sum`` prints it; ``advance`` hears how many bytes were read."""
    with path.open("rb", buffering=0) as file:
        return _sha256(file, math.inf, advance).hexdigest()


def _sha256(file: FileIO, left: float, advance: Callable[[float], None] = lambda _: None) -> "hashlib._Hash":
    """Of the next bytes of a file, ``left`` at most."""
    state, buffer = hashlib.sha256(), memoryview(bytearray(_READ))
    while left and (size := file.readinto(buffer[: int(min(left, _READ))])):
        state.update(buffer[:size])
        left -= size
        advance(size)
    return state


# Pieces: what a long job has finished so far. Each file ends in the SHA-256 of what stands before, so that one which
# a power failure or a bad disk has spoilt is known when the job goes on, and made again. They need no sync for that.


def write_piece(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a piece with what ``write`` puts into the file; it is there whole or not at all."""
    with replacing(path, synced=False) as file:
        write(file)
        file.seek(0)
        seal = hashlib.file_digest(file, "sha256").digest()
        file.seek(0, os.SEEK_END)
        file.write(seal)


def is_whole(path: Path) -> bool:
    """Whether a piece is there with every bit as it was written."""
    try:
        with path.open("rb", buffering=0) as file:
            left = os.fstat(file.fileno()).st_size - _SEAL_BYTES
            return left >= 0 and _sha256(file, left).digest() == file.read(_SEAL_BYTES)
    except OSError:
        return False


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk; systems that cannot do so are let off."""
    with contextlib.suppress(OSError):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
