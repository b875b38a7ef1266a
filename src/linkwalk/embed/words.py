"""``words``: an encoder that is made from the wiki's own text, and needs no pretrained model.

A text is a row of TF-IDF: (1 + ln tf) (1 + ln((1 + n) / (1 + df))) for each of its terms, scaled to unit length. The
row is projected on the leading right singular vectors of all rows (latent semantic analysis), and scaled again. All of
it is made in passes over pieces of the text: one counts in how many blocks a term is, some find the projection, from a
quarter of a million blocks at most, and one projects. Memory follows from the number of terms, which has a limit.

Shapes: V terms, D numbers in a vector.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float16s, Float32s, Int32s
from linkwalk.artifact import is_whole, write_piece
from linkwalk.embed.bert import cores, unit
from linkwalk.embed.svd import Sparse, leading, times
from linkwalk.embed.terms import BITS, count_terms
from linkwalk.errors import ArtifactError, DamagedError
from linkwalk.graph.columns import AGAIN, map_array
from linkwalk.progress import Advance, Progress, unheard

VERSION = 1
"""Of the method: another one makes other vectors."""
TERMS = 1 << 18
"""Most terms that count: those in the most blocks."""
TITLES = 3
"""How often the title counts that is read with each block: what an article is about, its blocks often do not say."""
LEAST = 2
"""Blocks that a term is in, at least."""
FITTED = 1 << 18
"""Most blocks that the projection is fitted to, evenly spread."""
PASSES, EXTRA = 4, 64
_FILES = ("words_terms.npy", "words_idf.npy", "words_projection.npy")
_PIECE = 4096
_RUN = 16  # blocks in a row of those that are fitted to

ReadTexts = Callable[[int, int], list[str]]
"""Texts of the blocks from, to."""
Item = TypeVar("Item")
Made = TypeVar("Made")


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


class WordsEncoder:
    """Reads texts by their words."""

    def __init__(self, learned: WordProjection) -> None:
        self.learned, self.width = learned, learned.projection.shape[1]

    def encode(self, texts: list[str], advance: Advance = unheard) -> Float32s:
        """One row of unit length per text, in order; zeros where no word is known."""
        found = np.zeros((len(texts), self.width), np.float32)
        with ThreadPoolExecutor(cores()) as pool:
            for at in range(0, len(texts), _PIECE):
                some = found[at : at + _PIECE]
                some[:] = self._project(texts[at : at + _PIECE], pool)
                advance(len(some))
        return found

    def _project(self, texts: list[str], pool: Executor) -> Float32s:
        rows = weighed(texts, self.learned.terms, self.learned.idf)
        # The rows of the projection that are needed, and no others: it may be mapped.
        used, columns = np.unique(rows.columns, return_inverse=True)
        projection = self.learned.projection[used].astype(np.float32)
        return unit(times(rows._replace(columns=columns.astype(np.int32)), projection, pool))


def fit(texts: ReadTexts, blocks: int, *, width: int, seed: int, progress: Progress) -> WordProjection:
    """Learn from the texts of a wiki's blocks what its words say of each other."""
    with ThreadPoolExecutor(cores()) as pool:
        terms, idf = _vocabulary(texts, blocks, pool, progress)
        sample = _sample(blocks)
        total = PASSES * sum(stop - start for start, stop in sample)

        def weigh(runs: list[tuple[int, int]]) -> Sparse:
            return weighed([text for run in runs for text in texts(*run)], terms, idf)

        def rows() -> Iterator[Sparse]:
            for piece in _ahead(pool, weigh, _pieces(sample)):
                yield piece
                stage.advance(len(piece.bounds) - 1)

        with progress.stage("fit", total, "blocks") as stage:
            found = leading(rows, len(terms), width, passes=PASSES, extra=EXTRA, seed=seed, pool=pool)
    projection = found.vectors
    # Or else half precision has no room for such small numbers.
    projection *= np.float32(np.sqrt(max(len(terms), 1)))
    return WordProjection(terms, idf, projection.astype(np.float16))


def _vocabulary(texts: ReadTexts, blocks: int, pool: Executor, progress: Progress) -> tuple[Int32s, Float32s]:
    """The terms that count and how rare each is."""
    having = np.zeros(1 << BITS, np.uint32)
    with progress.stage("count", blocks, "blocks") as stage:
        for stop, found in _ahead(pool, lambda run: (run[1], count_terms(texts(*run)).terms), _runs(blocks)):
            np.add.at(having, found, 1)
            stage.update(stop)
    least = max(LEAST, _least(having))
    terms = np.flatnonzero(having >= least).astype(np.int32)
    if not len(terms):  # a wiki of a block or two
        terms = np.flatnonzero(having).astype(np.int32)[:TERMS]
    idf = 1 + np.log((1 + blocks) / (1 + having[terms]))
    return terms, idf.astype(np.float32)


def _least(having: NDArray[np.uint32]) -> int:
    """Blocks that a term has to be in, so that no more than ``TERMS`` are left."""
    frequent = having[having > 0]
    first = len(frequent) - TERMS - 1
    return 1 if first < 0 else int(np.partition(frequent, first)[first]) + 1


def _sample(blocks: int) -> list[tuple[int, int]]:
    """Runs of blocks, evenly spread, that the projection is fitted to: all of them where they are few."""
    if blocks <= FITTED:
        return _runs(blocks)
    last, runs = blocks - _RUN, FITTED // _RUN
    starts = (last * i // max(runs - 1, 1) for i in range(runs))
    return [(start, start + _RUN) for start in starts]


def _runs(blocks: int) -> list[tuple[int, int]]:
    return [(start, min(start + _PIECE, blocks)) for start in range(0, blocks, _PIECE)]


def _pieces(runs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Runs in groups of some thousand blocks."""
    each = max(1, _PIECE // max(1, runs[0][1] - runs[0][0])) if runs else 1
    return (runs[at : at + each] for at in range(0, len(runs), each))


def weighed(texts: list[str], terms: Int32s, idf: Float32s) -> Sparse:
    """TF-IDF of texts, rows of unit length [T, V]."""
    bounds, found, times = count_terms(texts)
    columns = np.searchsorted(terms, found)
    known = np.flatnonzero(np.append(terms, -1)[columns] == found)
    columns, bounds = columns[known], np.searchsorted(known, bounds)
    weights = (1 + np.log(times[known])) * idf[columns]
    row = np.repeat(np.arange(len(texts)), np.diff(bounds))
    lengths = np.sqrt(np.bincount(row, weights**2, len(texts)))
    return Sparse(
        bounds, columns.astype(np.int32), (weights.astype(np.float32) / lengths[row]).astype(np.float32)
    )


def _ahead(pool: Executor, work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What comes of each item, in order; a few are made ahead, so that memory is bounded whoever is slower."""
    waiting: deque[Future[Made]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) > cores():
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
