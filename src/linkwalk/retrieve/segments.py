"""Checksums that the search engine ends its files in: they tell of damage in an index that has none of ours."""

import json
import mmap
import struct
import zlib
from pathlib import Path

from linkwalk.artifact import parsing

_ENDING = struct.Struct("<II")  # bytes of the note before, and a number that is the same in all files
_SAME = 1337
_PIECE = 1 << 20


def check_segments(folder: Path, remedy: str) -> None:
    """A file of the engine's that is not as it was written is an error; all of them are read."""
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".lock"):
            with parsing(path, remedy):
                _compare(path)


def _compare(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        size, same = _ENDING.unpack(data[-_ENDING.size :])
        end = len(data) - _ENDING.size - size
        if same != _SAME or end < 0:
            raise ValueError("it does not end as the engine's files do")
        found = 0
        for at in range(0, end, _PIECE):
            found = zlib.crc32(data[at : min(at + _PIECE, end)], found)
        if found != json.loads(data[end : -_ENDING.size])["crc"]:
            raise ValueError("its checksum is not the one it was written with")
