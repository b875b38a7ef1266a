"""Pairs of a query and a passage in sections, read at once: the mean over the query's tokens and over each section's.

A passage is read once, however many of its sentences are to be told apart. What cannot win is not read to the end: all
pairs go through the first layers, the caller looks at what came of them, and only those that it chooses go on.

Shapes: P pairs, S sections of all of them, D width.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from linkwalk.arrays import Bools, Float32s, Int64s
from linkwalk.embed.bert import Bert, cores, several_threads, unit
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

    @classmethod
    def of(cls, pairs: Sequence[Sections], sums: Sequence[Float32s]) -> "Means":
        """Of each pair's sums [1 + sections, D] over the query's tokens and over each section's."""
        queries, sections, owner = layout(pairs)
        means = unit(np.concatenate(sums))
        return cls(means[queries], means[sections], owner)


def layout(pairs: Sequence[Sections]) -> tuple[Int64s, Int64s, Int64s]:
    """Of all parts of all pairs, each query before its sections: which are queries, and sections; whose these are."""
    counts = np.array([len(pair.bounds) for pair in pairs])
    queries = np.cumsum(counts) - counts
    sections = np.delete(np.arange(counts.sum()), queries)
    return queries, sections, np.repeat(np.arange(len(pairs)), counts - 1)


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

        def go_on(batch: Int64s, layers: range) -> None:
            own = [lengths[i] for i in batch]
            if layers.start:
                x = np.concatenate([states[i] for i in batch])
            else:
                types = [[0] * pairs[i].second + [1] * (lengths[i] - pairs[i].second) for i in batch]
                x = self.bert.begin([pairs[i].tokens for i in batch], types)
            x = self.bert.go_on(x, own, layers)
            for i, part in zip(batch.tolist(), np.split(x, np.cumsum(own)[:-1]), strict=True):
                states[i] = part

        def read(some: Int64s, layers: range) -> Means:
            batches = shared_out([lengths[i] for i in some], self.batch_tokens, cores())
            list(pool.map(lambda batch: go_on(some[batch], layers), batches))
            return Means.of(pairs, list(map(_sums, pairs, states)))

        with several_threads() as pool:
            early = read(np.arange(len(pairs)), range(exit))
            deep = choose(early)
            late = read(np.flatnonzero(deep), range(exit, self.bert.layers))
        return early, late, deep


def _sums(pair: Sections, states: Float32s) -> Float32s:
    """Over the query's tokens and over each section's; what is between them is left out."""
    end = np.zeros((1, states.shape[1]), np.float32)
    return np.add.reduceat(np.concatenate((states, end)), np.ravel(pair.bounds), axis=0)[::2]
