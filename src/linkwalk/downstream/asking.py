"""A benchmark is asked, piece by piece; the ways of retrieval are given texts alone, and never see what is gold."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Float32s, Int32s
from linkwalk.downstream.shared import Find
from linkwalk.progress import Progress
from linkwalk.retrieve import Found

PIECE = 64
"""Questions at a time: enough to share work among, few enough to show that it goes on."""


class FoundSentences(NamedTuple):
    """What was found for one question, the best first; numbers, since many ways find the same sentences."""

    numbers: Int32s
    """Which ones of ``Outcome.sentences``."""
    scores: Float32s


@dataclass
class WayAnswers:
    """What one way found, question by question; without the click paths, of which there are many."""

    found: list[Found] = field(default_factory=list)
    sentences: list[FoundSentences] = field(default_factory=list)


class Outcome(NamedTuple):
    """All answers, and how long they took."""

    answers: dict[str, WayAnswers]
    sentences: list[tuple[int, str]]
    """Every sentence among the answers, once: the block that it stands in, and its text."""
    seconds: float


def ask(
    find: Find,
    texts: Sequence[str],
    *,
    sentences: int = 0,
    piece: int = PIECE,
    progress: Progress | None = None,
) -> Outcome:
    """Ask everything, and keep so many sentences for each question."""
    progress = progress or Progress(quiet=True)
    answers: dict[str, WayAnswers] = {}
    numbers: dict[tuple[int, str], int] = {}
    began = time.monotonic()
    with progress.stage("ask", len(texts), "questions") as stage:
        for at in range(0, len(texts), piece):
            some = texts[at : at + piece]
            for name, found in find(some, sentences).items():
                own = answers.setdefault(name, WayAnswers())
                for one in found:
                    blocks = (trail.pages[-1] for trail in one.trails)
                    keys = zip(blocks, one.sentences, strict=True)
                    named = [numbers.setdefault(key, len(numbers)) for key in keys]
                    scores = np.array(one.scores, np.float32)
                    own.sentences.append(FoundSentences(np.array(named, np.int32), scores))
                own.found += [replace(one, sentences=(), scores=(), trails=()) for one in found]
            stage.advance(len(some))
    return Outcome(answers, list(numbers), time.monotonic() - began)
