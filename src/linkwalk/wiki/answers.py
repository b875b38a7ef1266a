"""What was found for a query: sentences, where they stand, and the clicks that led there (sec. 4.3)."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from linkwalk.wiki.clicks import clicks_along
from linkwalk.wiki.places import Place
from linkwalk.wiki.walks import Click

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
    from linkwalk.retrieve import FindConfig, Found


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A sentence with its provenance."""

    score: float
    """The chance that the sentence settles the query, from 0 to 1; with a reranker that gives other scores, its own,
    and at the stage ``search`` the share of the best search result's score."""
    sentence: str
    place: Place
    start: Place
    """The search result that the path begins at."""
    path: tuple[Click, ...]
    """The clicks from there; none if the sentence stands in the search result itself."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of a query."""

    query: str
    start: str
    """How the starts were found: bm25, dense or hybrid; dense where BM25 knows none of the words."""
    navigation: str
    rerank: str
    agent: str | None
    """Who navigated; None where nobody did."""
    blocks: int
    """How many blocks were read."""
    evidence: tuple[Evidence, ...]
    confidence: float | None = None
    """The chance that anything that was read settles the query; None where nobody has learned to tell."""
    answered: bool = True
    """Whether that is enough to say so; if not, the evidence is what comes nearest."""
    stage: str = "final"
    """``search`` (what the search engine gives, not read yet), ``reading`` (so far) or ``final``."""
    milliseconds: dict[str, float] = field(default_factory=dict, compare=False)
    """What each part of the work took, where that is asked for: meaning, search, links, desk, reading, ranking."""

    @property
    def untimed(self) -> "Answer":
        """The same without: the same question has the same answer."""
        return replace(self, milliseconds={})

    @classmethod
    def of(cls, graph: "Graph", query: str, found: "Found", asked: "FindConfig", reranker: str) -> "Answer":
        """What was found, put together."""
        return cls(
            query=query,
            start=found.start,
            navigation=asked.navigation,
            rerank=reranker,
            agent=asked.who if asked.navigated else None,
            blocks=len(found.read),
            evidence=tuple(
                Evidence(
                    score=score,
                    sentence=sentence,
                    place=Place.of(graph, trail.pages[-1]),
                    start=Place.of(graph, trail.pages[0]),
                    path=clicks_along(graph, trail.pages, trail.links),
                )
                for score, sentence, trail in zip(found.scores, found.sentences, found.trails, strict=True)
            ),
            confidence=found.sure,
            answered=found.answered,
            stage=found.stage,
            milliseconds=dict(found.milliseconds),
        )
