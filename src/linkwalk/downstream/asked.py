"""What every benchmark comes down to: a claim or a question, the blocks it needs, and how many of them were found."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwalk.downstream.lines import Damage
from linkwalk.graph.store import Graph

DEPTH = 5
"""Recall is counted at 1 to this many blocks, as in table 6."""
_ARTICLES = frozenset(("a", "an", "the"))
_SYMBOL = re.compile(r"[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A claim or a question, and what must be found for it."""

    id: str
    text: str
    gold: tuple[frozenset[int], ...] = ()
    """Alternatives: sets of blocks, each of which is enough when all of it is found."""
    answers: tuple[str, ...] = ()
    """Where no gold block is known: a block with one of these strings will do, the weaker measure (NQ-open)."""
    group: str = "all"
    """What the rate is told apart by: ``lead``, ``two articles``."""

    def recall(self, graph: Graph, ranked: Sequence[int], depth: int = DEPTH) -> list[float]:
        """The share of what is needed among the first 1, 2 .. ``depth`` blocks, by the alternative found best."""
        first = list(ranked[:depth])
        if self.answers and not self.gold:
            wanted = sought(self.answers)
            hits = [holds(graph.texts[node], wanted) for node in first]
            return [float(any(hits[:k])) for k in range(1, depth + 1)]
        return [
            max((len(nodes & set(first[:k])) / len(nodes) for nodes in self.gold if nodes), default=0.0)
            for k in range(1, depth + 1)
        ]


class Benchmark(NamedTuple):
    """A benchmark's file, aligned with a wiki."""

    asked: list[Asked]
    """What can be asked of this wiki, in the file's order."""
    report: dict[str, Any]
    """How much of the file was matched, and what was not: counts, rates, examples; ready for JSON."""
    damage: list[Damage]


def plain(text: str) -> str:
    """As answers are compared: small letters, no punctuation, accents or articles, single blanks."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(part for part in parts if not unicodedata.combining(part))
    return " ".join(word for word in _SYMBOL.sub(" ", text.lower()).split() if word not in _ARTICLES)


def sought(answers: Sequence[str]) -> list[str]:
    """What to look for; an answer that is nothing but articles and punctuation cannot be found."""
    return [f" {words} " for answer in answers if (words := plain(answer))]


def holds(text: str, wanted: Sequence[str]) -> bool:
    """Whether a text has one of the ``sought`` answers, as whole words."""
    text = f" {plain(text)} "
    return any(answer in text for answer in wanted)
