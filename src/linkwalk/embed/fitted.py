"""What the encoder ``words`` has learned of a wiki, and the files it is kept in beside the vectors."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from linkwalk.arrays import Array, Float16s, Float32s, Int32s
from linkwalk.artifact import is_whole, write_piece
from linkwalk.errors import ArtifactError, DamagedError
from linkwalk.graph.columns import AGAIN, map_array

WORDS = "words"
"""The encoder's name."""
_FILES = ("words_terms.npy", "words_idf.npy", "words_projection.npy")


class Fitted(NamedTuple):
    """V terms, and where each of them points."""

    terms: Int32s
    """Numbers of the terms that count, in their order [V]."""
    idf: Float32s
    """How rare each is [V]."""
    projection: Float16s
    """[V, D]; the scale is of no matter."""

    @classmethod
    def open(cls, folder: Path, width: int, remedy: str = AGAIN) -> "Fitted":
        """Map what ``save`` wrote."""
        terms, idf, projection = (
            map_array(folder / name, remedy, dtype, wide)
            for name, dtype, wide in zip(
                _FILES, (np.int32, np.float32, np.float16), (0, 0, width), strict=True
            )
        )
        if not len(terms) == len(idf) == len(projection):
            raise DamagedError(folder / _FILES[0], "its length is not that of the others", remedy)
        if (np.diff(terms) <= 0).any():
            raise DamagedError(folder / _FILES[0], "its numbers are not in order", remedy)
        return cls(terms, idf, projection)

    def save(self, folder: Path) -> None:
        """Write it as part of an artefact."""
        values: Any
        for name, values in zip(_FILES, self, strict=True):
            np.save(folder / name, values, allow_pickle=False)

    def keep(self, folder: Path) -> None:
        """Write it for a job that may be stopped and go on."""
        values: Any
        for name, values in zip(_FILES, self, strict=True):
            write_piece(folder / name, partial(_write, values))

    @classmethod
    def kept(cls, folder: Path, width: int) -> "Fitted | None":
        """What ``keep`` wrote; None where it is not there, or damaged."""
        if not all(is_whole(folder / name) for name in _FILES):
            return None
        try:
            return cls.open(folder, width)
        except ArtifactError:
            return None


def copy_fitted(source: Path, target: Path) -> None:
    """Give a folder what another one's encoder has learned, if it has learned something."""
    for name in _FILES:
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)


def _write(values: Array, file: BinaryIO) -> None:
    np.save(file, values, allow_pickle=False)
