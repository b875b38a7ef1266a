"""Columns on disk: ``.npy`` arrays and string tables, appended in pieces and read through the memory map."""

import builtins
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from linkwalk.arrays import Array, Bytes, Int64s, Integers
from linkwalk.artifact import parsing
from linkwalk.errors import DamagedError
from linkwalk.graph.csr import gather_rows

_HEADER_BYTES = 128
AGAIN = "run the command that made it again"
"""What to do about a damaged file, where nothing better is known."""


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """A version 1.0 ``.npy`` header of fixed length, so that it can be rewritten once the length is known."""
    text = repr({"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
    return (
        b"\x93NUMPY\x01\x00"
        + (_HEADER_BYTES - 10).to_bytes(2, "little")
        + text.ljust(_HEADER_BYTES - 11).encode()
        + b"\n"
    )


class ArrayWriter:
    """Appends to one ``.npy`` file; the array is whole once closed."""

    def __init__(self, path: Path, dtype: DTypeLike, width: int = 0) -> None:
        self.dtype, self.width, self.rows = np.dtype(dtype), width, 0
        self._file = path.open("wb")
        self._file.write(bytes(_HEADER_BYTES))

    def append(self, values: Any) -> None:
        """Add rows at the end."""
        array = np.ascontiguousarray(values, self.dtype)
        self.rows += len(array)
        self._file.write(array.data)

    def close(self) -> None:
        """Write the header with the final shape and make the file durable."""
        shape = (self.rows, self.width) if self.width else (self.rows,)
        self._file.seek(0)
        self._file.write(_header(self.dtype, shape))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is; it stays unreadable."""
        self._file.close()


def map_array(
    path: Path, remedy: str = AGAIN, dtype: DTypeLike | None = None, width: int | None = None
) -> Array:
    """Open a ``.npy`` file through the memory map, read-only; an empty array has nothing to map.

    With ``dtype`` and ``width`` (0: a plain row of numbers) another kind of array is an error, as is any other damage.
    """
    with parsing(path, remedy):
        try:
            # A plain view of the map: numpy and numba handle an ndarray far quicker than its subclass memmap.
            array: Array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        except ValueError:  # mmap refuses an empty file body
            array = np.load(path, allow_pickle=False)
        if dtype is not None and array.dtype != dtype:
            raise ValueError(f"numbers of type {array.dtype}, not {np.dtype(dtype)}")
        if width is not None and array.shape[1:] != ((width,) if width else ()):
            raise ValueError(f"shape {array.shape}")
        if array.ndim == 0:
            raise ValueError("no list of numbers")
    return array


class StringWriter:
    """Appends strings: one blob of UTF-8 and the offsets into it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._blob = (folder / f"{name}.bin").open("wb")
        self._offsets = ArrayWriter(folder / f"{name}_offsets.npy", np.int64)
        self._offsets.append([0])
        self.bytes = 0

    def append(self, strings: Iterable[str]) -> None:
        """Add strings at the end."""
        encoded = [s.encode() for s in strings]
        self.append_blob(b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def append_blob(self, blob: bytes | memoryview, lengths: Integers) -> None:
        """Add strings that are encoded already, given one after the other with their lengths in bytes."""
        self._blob.write(blob)
        self._offsets.append(self.bytes + np.cumsum(lengths, dtype=np.int64))
        self.bytes += len(blob)

    def close(self) -> None:
        """Make both files whole."""
        self._blob.flush()
        os.fsync(self._blob.fileno())
        self._blob.close()
        self._offsets.close()

    def abandon(self) -> None:
        """Close the files as they are."""
        self._blob.close()
        self._offsets.abandon()


class Strings:
    """A mapped table of strings: ``strings[i]`` decodes one, nothing else is read."""

    def __init__(self, blob: Bytes, offsets: Int64s) -> None:
        self.blob, self.offsets = blob, offsets

    @classmethod
    def open(cls, folder: Path, name: str, remedy: str = AGAIN) -> "Strings":
        """Map the table that ``StringWriter(folder, name)`` wrote."""
        path = folder / f"{name}.bin"
        with parsing(path, remedy):
            empty = path.stat().st_size == 0
            blob = np.zeros(0, np.uint8) if empty else np.asarray(np.memmap(path, np.uint8, mode="r"))
        offsets = map_array(folder / f"{name}_offsets.npy", remedy, np.int64, 0)
        if not len(offsets):
            raise DamagedError(folder / f"{name}_offsets.npy", "it is empty", remedy)
        return cls(blob, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def bytes(self, i: int) -> bytes:
        """One string as UTF-8."""
        return self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def __getitem__(self, i: int) -> str:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.bytes(i).decode()

    def slice(self, start: int, stop: int) -> list[str]:
        """Strings ``start`` to ``stop``, read in one piece."""
        bounds = self.offsets[start : stop + 1]
        return _decoded(self.blob[bounds[0] : bounds[-1]], bounds - bounds[0])

    def gather(self, rows: Integers) -> tuple[builtins.bytes, Int64s]:
        """Many strings as one blob with their lengths, in the order asked for."""
        bounds, blob = gather_rows(self.offsets, self.blob, rows)
        return blob.tobytes(), np.diff(bounds)

    def take(self, rows: Integers) -> list[str]:
        """Many strings, decoded, in the order asked for."""
        bounds, blob = gather_rows(self.offsets, self.blob, rows)
        return _decoded(blob, bounds)


def _decoded(blob: Bytes, bounds: Int64s) -> list[str]:
    raw = blob.tobytes()
    return [raw[a:b].decode() for a, b in itertools.pairwise(bounds.tolist())]


class Columns:
    """A folder of columns being written; leaving the block closes them all, or abandons them on an error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, ArrayWriter | StringWriter] = {}

    def array(self, name: str, dtype: DTypeLike, width: int = 0) -> ArrayWriter:
        """Begin an array column."""
        writer = ArrayWriter(self.folder / f"{name}.npy", dtype, width)
        self._open[name] = writer
        return writer

    def strings(self, name: str) -> StringWriter:
        """Begin a string column."""
        writer = StringWriter(self.folder, name)
        self._open[name] = writer
        return writer

    def __enter__(self) -> "Columns":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._open.values():
            if error is None:
                writer.close()
            else:
                writer.abandon()
