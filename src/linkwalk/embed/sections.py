"""Pairs of a query and a passage in sections, read at once: the mean over the query's tokens and over each section's.

A passage is read once, however many of its sentences are to be told apart. What cannot win is not read to the end: all
pairs go through the first layers, the caller looks at what came of them, and only those that it chooses go on.

Shapes: P pairs, S sections of all of them, D width.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from linkwalk.arrays import Bools, Float32s, Int64s
from linkwalk.embed.bert import Bert, cores, several_threads
from linkwalk.embed.tokens import shared_out

BATCH_TOKENS = 1024

Choose = Callable[["Means"], Bools]
"""Which pairs [P] go on, given what came of the first layers."""


class Sections(NamedTuple):
    """A pair as tokens, and where its sections lie."""

    tokens: list[int]
    second: int
    """Where the passage begins: what comes before is the query, and of the other type."""
    bounds: list[tuple[int, int]]
    """The query's place among the tokens, then every section's."""


class Means(NamedTuple):
    """What came of some layers; of a pair that they did not read, whatever was there."""

    query: Float32s
    """[P, D], of unit length."""
    sections: Float32s
    """[S, D], of unit length."""
    owner: Int64s
    """[S]: the pair that each section is of."""


class SectionReader(Protocol):
    """A transformer that reads pairs so."""

    def read(self, pairs: Sequence[Sections], exit: int, choose: Choose) -> tuple[Means, Means, Bools]:
        """The means after ``exit`` layers and after the last, and which pairs [P] were read to the end."""
        ...


class NumpySections:
    """In numpy, on a CPU."""

    def __init__(self, bert: Bert, *, batch_tokens: int = BATCH_TOKENS) -> None:
        self.bert, self.batch_tokens = bert, batch_tokens

    def read(self, pairs: Sequence[Sections], exit: int, choose: Choose) -> tuple[Means, Means, Bools]:
        """The means after ``exit`` layers and after the last, and which pairs [P] were read to the end."""
        lengths = [len(pair.tokens) for pair in pairs]
        states: list[Float32s] = [np.zeros((0, self.bert.width), np.float32)] * len(pairs)

        def begin(batch: Int64s) -> Float32s:
            types = [[0] * pairs[i].second + [1] * (lengths[i] - pairs[i].second) for i in batch]
            return self.bert.begin([pairs[i].tokens for i in batch], types)

        def through(batch: Int64s, x: Float32s, layers: range) -> None:
            own = [lengths[i] for i in batch]
            done = self.bert.go_on(x, own, layers)
            for i, part in zip(batch.tolist(), np.split(done, np.cumsum(own)[:-1]), strict=True):
                states[i] = part

        with several_threads() as pool:
            batches = shared_out(lengths, self.batch_tokens, cores())
            list(pool.map(lambda batch: through(batch, begin(batch), range(exit)), batches))
            early = _means(pairs, states, self.bert.width)
            deep = choose(early)
            kept = np.flatnonzero(deep)
            some = [kept[b] for b in shared_out([lengths[i] for i in kept], self.batch_tokens, cores())]
            rest = range(exit, self.bert.layers)
            list(pool.map(lambda b: through(b, np.concatenate([states[i] for i in b]), rest), some))
        return early, _means(pairs, states, self.bert.width), deep


def _means(pairs: Sequence[Sections], states: Sequence[Float32s], width: int) -> Means:
    counts = [len(pair.bounds) - 1 for pair in pairs]
    query, sections = np.empty((len(pairs), width), np.float32), np.empty((sum(counts), width), np.float32)
    at = 0
    for i, (pair, own) in enumerate(zip(pairs, states, strict=True)):
        starts = np.array([bound for both in pair.bounds for bound in both], np.int64)
        # Sums over the sections and, in between, over what is none of them.
        sums = np.add.reduceat(np.concatenate((own, np.zeros((1, width), np.float32))), starts, axis=0)[::2]
        query[i], sections[at : at + counts[i]] = sums[0], sums[1:]
        at += counts[i]
    return Means(unit(query), unit(sections), np.repeat(np.arange(len(pairs)), counts))


def unit(rows: Float32s) -> Float32s:
    """Rows of unit length; zeros stay."""
    length = np.sqrt(np.einsum("sd,sd->s", rows, rows))[:, None]
    found: Float32s = rows / np.maximum(length, np.float32(1e-12))
    return found
