"""What came of a query, at every stage: search results, what was read so far, and the end (sec. 4.3)."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.retrieve.desk import Desk
from linkwalk.retrieve.judge import Judge
from linkwalk.retrieve.starts import SearchHits, Starts

SEARCH, READING, FINAL = "search", "reading", "final"
"""Stages: BM25's list, which no model has read; what was read so far; all that is read."""
_WORD = re.compile(r"\w+")


class Trail(NamedTuple):
    """How a block was reached."""

    pages: tuple[int, ...]
    """From the start to the block itself."""
    links: tuple[int, ...]
    """What was clicked between them: numbers in each page's row, or BACK; none if the block is the start."""


@dataclass(frozen=True, kw_only=True)
class EvidenceList:
    """What came of a query."""

    sentences: tuple[str, ...]
    """The best first."""
    scores: tuple[float, ...]
    """Where a judge ranks, the chance that the sentence settles the query; else whatever the reranker gives."""
    trails: tuple[Trail, ...]
    """How the block that each stands in was reached."""
    start: str
    """How the starts were found in the end: ``dense`` if BM25 was asked and knows none of the words."""
    read: tuple[int, ...]
    """The blocks read, in that order."""
    ranked: tuple[int, ...]
    """The same blocks, the best first."""
    sure: float | None = None
    """The chance that anything that was read settles the query; None without a judge."""
    answered: bool = True
    """Whether that is enough to say so; True without a judge."""
    stage: str = FINAL
    milliseconds: dict[str, float] = field(default_factory=dict, compare=False)
    """What each part of the work took, this query's share of it."""


class Reading(NamedTuple):
    """Which blocks are read for a query, and how each was reached."""

    nodes: list[int]
    """In the order they were seen."""
    trail: Callable[[int], Trail]
    """To the block at a place in that order."""

    @classmethod
    def of(cls, trails: Mapping[int, Trail], most: int) -> "Reading":
        """The first of some blocks, or all (0), each with its trail."""
        nodes = list(trails)[: most or None]
        return cls(nodes, lambda place: trails[nodes[place]])


class Clock:
    """What each part of the work takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Count what happens inside."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began

    def milliseconds(self, queries: int) -> dict[str, float]:
        """The share of one of some queries that were asked at once."""
        return {part: round(1000 * spent / max(1, queries), 3) for part, spent in self.seconds.items()}


def at_desk(desk: Desk) -> Reading:
    """What was read at a desk."""
    return Reading(
        [desk.nodes[row] for row in desk.opened], lambda place: Trail(*desk.path(desk.opened[place]))
    )


def judged(
    judge: Judge, desk: Desk, reading: Reading, start: str, count: int, stage: str = FINAL
) -> EvidenceList:
    """What a judge thinks of what was read at a desk.

    A sentence's chance is its block's times e^-d, with d how far its score is behind the best sentence's of the block.
    """
    verdict = judge.verdict(desk)
    seen: list[tuple[int, str]] = []
    chances: list[Float32s] = [np.zeros(0, np.float32)]
    for place in verdict.order:
        scores = desk.read[place].scores
        seen += [(place, text) for text in judge.sentences(reading.nodes[place]).texts]
        chances.append(verdict.chances[place] * np.exp(scores - scores.max(initial=-np.inf)))
    all_chances = np.concatenate(chances)
    best = np.argsort(-all_chances, kind="stable")[:count].tolist()
    return EvidenceList(
        sentences=tuple(seen[i][1] for i in best),
        scores=tuple(all_chances[best].tolist()),
        trails=tuple(reading.trail(seen[i][0]) for i in best),
        start=start,
        read=tuple(reading.nodes),
        ranked=tuple(reading.nodes[place] for place in verdict.order),
        sure=verdict.sure,
        answered=bool(verdict.order) and verdict.sure >= judge.weights.nothing,
        stage=stage,
    )


def searched(
    query: str, hits: SearchHits, start: str, count: int, sentences: Callable[[int], Sequence[str]]
) -> EvidenceList:
    """Of BM25's first blocks the sentence that has most of the query's words, with the block's share of the best."""
    asked = set(_WORD.findall(query.lower()))

    def common(sentence: str) -> int:
        return len(asked.intersection(_WORD.findall(sentence.lower())))

    nodes = hits.words[:count].tolist()
    best = float(hits.scores.max(initial=0)) or 1.0
    return EvidenceList(
        sentences=tuple(max(sentences(node), key=common) for node in nodes),
        scores=tuple(float(score) / best for score in hits.scores[:count]),
        trails=tuple(Trail((node,), ()) for node in nodes),
        start=start,
        read=(),
        ranked=tuple(nodes),
        stage=SEARCH,
    )


def ranked(
    starts: Starts,
    reading: Reading,
    nodes: list[int],
    sentences: list[str],
    scores: Float32s,
    count: int,
) -> EvidenceList:
    """What was read, its sentences by a reranker's scores."""
    order = np.argsort(-scores, kind="stable").tolist()
    places = {node: place for place, node in enumerate(reading.nodes)}
    best = order[:count]
    return EvidenceList(
        sentences=tuple(sentences[i] for i in best),
        scores=tuple(scores[best].tolist()),
        trails=tuple(reading.trail(places[nodes[i]]) for i in best),
        start=starts.how,
        read=tuple(reading.nodes),
        ranked=tuple(dict.fromkeys(nodes[i] for i in order)),
    )
