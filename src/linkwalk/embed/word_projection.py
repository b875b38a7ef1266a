"""What the encoder ``words`` has learned of a wiki, and the files it is kept in beside the vectors."""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Float16s, Float32s, Int32s
from linkwalk.artifact import is_whole, write_piece
from linkwalk.errors import ArtifactError, DamagedError
from linkwalk.graph.columns import AGAIN, map_array

_FILES = ("words_terms.npy", "words_idf.npy", "words_projection.npy")


class WordProjection(NamedTuple):
    """V terms, and where each of them points."""

    terms: Int32s
    """Numbers of the terms that count, in their order [V]."""
    idf: Float32s
    """How rare each is [V]."""
    projection: Float16s
    """[V, D]; the scale is of no matter."""

    @classmethod
    def open(cls, folder: Path, width: int, remedy: str = AGAIN) -> "WordProjection":
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

    def save(self, folder: Path, *, piece: bool = False) -> None:
        """Write it as part of an artefact, or as a ``piece`` for a job that may be stopped and go on."""
        values: Any
        for name, values in zip(_FILES, self, strict=True):
            write = partial(np.save, arr=values, allow_pickle=False)
            if piece:
                write_piece(folder / name, write)
            else:
                write(folder / name)

    @classmethod
    def resume(cls, folder: Path, width: int) -> "WordProjection | None":
        """What ``save`` wrote as pieces; None where it is not there, or damaged."""
        if not all(is_whole(folder / name) for name in _FILES):
            return None
        try:
            return cls.open(folder, width)
        except ArtifactError:
            return None
