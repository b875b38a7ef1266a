"""What was found for a query: sentences, where they stand, and the clicks that led there (sec. 4.3)."""

from dataclasses import dataclass
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
        )
