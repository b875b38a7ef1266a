"""A benchmark is asked, piece by piece; the ways of retrieval are given texts alone, and never see what is gold."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from linkwalk.downstream.shared import Find
from linkwalk.progress import Progress
from linkwalk.retrieve import Found

PIECE = 64
"""Questions at a time: enough to share work among, few enough to show that it goes on."""


class Sentence(NamedTuple):
    """A sentence that was found."""

    score: float
    title: str
    text: str


@dataclass
class Answers:
    """What one way found, question by question; without the click paths, of which there are many."""

    found: list[Found] = field(default_factory=list)
    sentences: list[tuple[Sentence, ...]] = field(default_factory=list)
    """The best first, as many as were asked for."""


class Outcome(NamedTuple):
    """All answers, and how long they took."""

    answers: dict[str, Answers]
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
    answers: dict[str, Answers] = {}
    began = time.monotonic()
    with progress.stage("ask", len(texts), "questions") as stage:
        for at in range(0, len(texts), piece):
            some = texts[at : at + piece]
            for name, found in find(some, sentences).items():
                own = answers.setdefault(name, Answers())
                own.sentences += [
                    tuple(Sentence(e.score, e.title, e.sentence) for e in one.evidence) for one in found
                ]
                own.found += [replace(one, evidence=()) for one in found]
            stage.advance(len(some))
    return Outcome(answers, time.monotonic() - began)
