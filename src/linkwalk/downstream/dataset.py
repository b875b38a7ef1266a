"""A data set is a reader of its format: it says what is asked, and what counts as an answer. All else is shared.

What counts is one of four things: sentences, passages or paragraphs, which are brought to the blocks of the wiki that
hold them (``alignment``), or strings, of which a block must have one.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from linkwalk.graph.store import Graph
from linkwalk.records import BadLine

DEPTH = 5
"""Recall is counted at 1 to this many blocks, as in table 6."""
EXAMPLES = 10
"""How many of those that did not match a report shows."""
_ARTICLES = frozenset(("a", "an", "the"))
_SYMBOL = re.compile(r"[^\w\s]")


class GoldSentence(NamedTuple):
    """A sentence of an article: any of its blocks that says nearly the same will do (app. C.1)."""

    title: str
    text: str | None = None
    """None where it is not known: then only its page can be looked for."""
    number: int | None = None


class GoldPassage(NamedTuple):
    """A passage of an article: of its blocks with an answer the one most like it, any of them without a text."""

    title: str
    text: str = ""


class GoldParagraph(NamedTuple):
    """A paragraph of an article that its blocks were cut from."""

    title: str
    text: str
    marks: tuple[str, ...] = ()
    """What it is needed for: supporting sentences or the answer of a step; empty if only the whole is known."""


Gold = GoldSentence | GoldPassage | GoldParagraph


class Question(NamedTuple):
    """A claim or a question as its file has it."""

    id: str
    text: str
    """All that a method of retrieval is told."""
    evidence: tuple[tuple[Gold, ...], ...] = ()
    """Alternatives; all of one are needed. The same kind of gold in the whole file."""
    answers: tuple[str, ...] = ()
    """Strings: a gold passage has one of them; without evidence, any block with one will do, the weaker measure."""
    group: str = "all"
    """What rates are reported by; for sentences it follows from where they stand."""
    label: str | None = None
    """What is true of a claim; FEVER's own score asks for it."""
    left_out: str = ""
    """Why it is counted but not asked."""
    line: int = 0


@runtime_checkable
class DataSet(Protocol):
    """A reader of one format.

    Four more are looked for, and need not be there: ``tell(report)`` adds to the report what this data set alone knows,
    ``distance`` is the paper's mean of links from search to evidence, ``level`` what is found in any case (``page``),
    and ``hidden(graph)`` gives the blocks [N] of the wiki that must neither be found nor read.
    """

    name: str
    """For people."""

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """The questions of a file, in its order; lines that cannot be used go to ``damage``."""
        ...


class AlignedQuestion(NamedTuple):
    """A claim or a question, and which blocks of a wiki must be found for it."""

    id: str
    text: str
    gold: tuple[frozenset[int], ...] = ()
    """Alternatives: sets of blocks, each of which is enough when all of it is found."""
    answers: tuple[str, ...] = ()
    """Where no gold block is known: a block with one of these strings will do, the weaker measure (NQ-open)."""
    group: str = "all"
    """What rates are reported by: ``lead``, ``two articles``."""

    @property
    def blocks(self) -> frozenset[int]:
        """All gold blocks, of any alternative."""
        return frozenset[int]().union(*self.gold)

    def recall(self, graph: Graph, ranked: Sequence[int], depth: int = DEPTH) -> list[float]:
        """The share of what is needed among the first 1, 2 .. ``depth`` blocks, by the alternative found best."""
        heads = [ranked[:k] for k in range(1, depth + 1)]
        if self.answers and not self.gold:
            phrases = answer_phrases(self.answers)
            hits = {node for node in ranked[:depth] if holds(graph.texts[node], phrases)}
            return [float(any(node in hits for node in head)) for head in heads]
        alternatives = [nodes for nodes in self.gold if nodes]
        return [
            max((len(nodes.intersection(head)) / len(nodes) for nodes in alternatives), default=0.0)
            for head in heads
        ]


class Alignment(NamedTuple):
    """A file beside a wiki."""

    questions: list[AlignedQuestion]
    """What can be asked of this wiki, in the file's order."""
    report: dict[str, Any]
    """How much of the file was matched, and what was not: counts, rates, examples; ready for JSON."""
    damage: list[BadLine]
    claims: Sequence[Question] = ()
    """Where sentences are aligned: all that was read."""


def gold_articles(graph: Graph, questions: Sequence[AlignedQuestion]) -> frozenset[int]:
    """The articles with evidence for some questions, in any alternative."""
    return frozenset(int(graph.node_article[node]) for one in questions for node in one.blocks)


def without_accents(text: str) -> str:
    """A text whose letters have lost their accents."""
    if text.isascii():
        return text
    return "".join(part for part in unicodedata.normalize("NFKD", text) if not unicodedata.combining(part))


def plain(text: str) -> str:
    """As answers are compared: small letters, no punctuation, accents or articles, single blanks."""
    words = _SYMBOL.sub(" ", without_accents(text).lower()).split()
    return " ".join(word for word in words if word not in _ARTICLES)


def answer_phrases(answers: Sequence[str], shortest: int = 1) -> list[str]:
    """What to look for in a text; not what has fewer letters, nor an answer that is only articles and punctuation."""
    return [f" {words} " for answer in answers if len(words := plain(answer)) >= shortest]


def holds(text: str, phrases: Sequence[str]) -> bool:
    """Whether a text has one of the ``answer_phrases``, as whole words."""
    text = f" {plain(text)} "
    return any(phrase in text for phrase in phrases)
