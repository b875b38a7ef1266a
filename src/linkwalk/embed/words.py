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
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import kernel
from linkwalk.embed.bert import cores
from linkwalk.embed.svd import Sparse, leading, times
from linkwalk.embed.terms import BITS, count_terms
from linkwalk.embed.word_projection import WordProjection
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
_PIECE = 4096
_RUN = 16  # blocks in a row of those that are fitted to

Texts = Callable[[int, int], list[str]]
"""Texts of the blocks from, to."""
Item = TypeVar("Item")
Made = TypeVar("Made")


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
        return _unit(times(rows._replace(columns=columns.astype(np.int32)), projection, pool))


def fit(texts: Texts, blocks: int, *, width: int, seed: int, progress: Progress) -> WordProjection:
    """Learn from the texts of a wiki's blocks what its words say of each other."""
    with ThreadPoolExecutor(cores()) as pool:
        terms, idf = _vocabulary(texts, blocks, pool, progress)
        sample = _sample(blocks)
        total = PASSES * sum(stop - start for start, stop in sample)

        def rows() -> Iterator[Sparse]:
            for piece in _ahead(pool, lambda some: weighed(_read(texts, some), terms, idf), _pieces(sample)):
                yield piece
                stage.advance(len(piece.bounds) - 1)

        with progress.stage("fit", total, "blocks") as stage:
            found = leading(rows, len(terms), width, passes=PASSES, extra=EXTRA, seed=seed, pool=pool)
    projection = found.vectors
    # Or else half precision has no room for such small numbers.
    projection *= np.float32(np.sqrt(max(len(terms), 1)))
    return WordProjection(terms, idf, projection.astype(np.float16))


def _vocabulary(texts: Texts, blocks: int, pool: Executor, progress: Progress) -> tuple[Int32s, Float32s]:
    """The terms that count and how rare each is."""
    having = np.zeros(1 << BITS, np.uint32)
    pieces = [(start, min(start + _PIECE, blocks)) for start in range(0, blocks, _PIECE)]
    with progress.stage("count", blocks, "blocks") as stage:
        for start, found in _ahead(pool, lambda own: (own[0], count_terms(texts(*own)).terms), pieces):
            _tally(having, found)
            stage.update(min(start + _PIECE, blocks))
    least = max(LEAST, _least(having))
    terms = np.flatnonzero(having >= least).astype(np.int32)
    if not len(terms):  # a wiki of a block or two
        terms = np.flatnonzero(having).astype(np.int32)[:TERMS]
    idf = 1 + np.log((1 + blocks) / (1 + having[terms]))
    return terms, idf.astype(np.float32)


def _least(having: NDArray[np.uint32]) -> int:
    """Blocks that a term has to be in, so that no more than ``TERMS`` are left."""
    frequent = having[having > 0]
    if len(frequent) <= TERMS:
        return 1
    return int(np.partition(frequent, len(frequent) - TERMS - 1)[len(frequent) - TERMS - 1]) + 1


def _sample(blocks: int) -> list[tuple[int, int]]:
    """Runs of blocks, evenly spread, that the projection is fitted to: all of them where they are few."""
    if blocks <= FITTED:
        return [(start, min(start + _PIECE, blocks)) for start in range(0, blocks, _PIECE)]
    runs = FITTED // _RUN
    return [(start, start + _RUN) for start in _spread(blocks - _RUN, runs)]


def _spread(last: int, count: int) -> list[int]:
    """So many numbers from 0 to ``last``, evenly spread."""
    return [last * i // max(count - 1, 1) for i in range(count)]


def _pieces(runs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Runs in groups of some thousand blocks."""
    each = max(1, _PIECE // max(1, runs[0][1] - runs[0][0])) if runs else 1
    return (runs[at : at + each] for at in range(0, len(runs), each))


def _read(texts: Texts, runs: list[tuple[int, int]]) -> list[str]:
    return [text for run in runs for text in texts(*run)]


def weighed(texts: list[str], terms: Int32s, idf: Float32s) -> Sparse:
    """TF-IDF of texts, rows of unit length [T, V]."""
    return Sparse(*_weigh(*count_terms(texts), terms, idf))


@kernel
def _weigh(
    bounds: Int64s, found: Int32s, often: Int32s, terms: Int32s, idf: Float32s
) -> tuple[Int64s, Int32s, Float32s]:
    kept, columns, values = np.zeros_like(bounds), np.empty_like(found), np.empty(len(found), np.float32)
    count = 0
    for row in range(len(bounds) - 1):
        first, length = count, 0.0
        for at in range(bounds[row], bounds[row + 1]):
            low, high = 0, len(terms)
            while low < high:
                middle = (low + high) // 2
                if terms[middle] < found[at]:
                    low = middle + 1
                else:
                    high = middle
            if low < len(terms) and terms[low] == found[at]:
                weight = (1 + np.log(often[at])) * idf[low]
                columns[count], values[count] = low, weight
                length += weight * weight
                count += 1
        for at in range(first, count):
            values[at] /= np.sqrt(length)
        kept[row + 1] = count
    return kept, columns[:count].copy(), values[:count].copy()


@kernel
def _tally(having: NDArray[np.uint32], terms: Int32s) -> None:
    for term in terms:
        having[term] += 1


def _unit(rows: Float32s) -> Float32s:
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    rows /= np.where(lengths > 0, lengths, 1)[:, None]
    return rows


def _ahead(pool: Executor, work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What comes of each item, in order; a few are made ahead, so that memory is bounded whoever is slower."""
    waiting: deque[Future[Made]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) > cores():
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
