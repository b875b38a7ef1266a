"""What was found for a query: sentences, where they stand, and the clicks that led there (sec. 4.3)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwalk.wiki.clicks import click_all
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

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return {
            "score": self.score,
            "sentence": self.sentence,
            "place": self.place.to_json(),
            "start": self.start.to_json(),
            "path": [click.to_json(choices=False) for click in self.path],
        }


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
            agent=asked.agent if asked.navigated else None,
            blocks=len(found.read),
            evidence=tuple(
                Evidence(
                    score=one.score,
                    sentence=one.sentence,
                    place=Place.of(graph, one.node),
                    start=Place.of(graph, one.start),
                    path=click_all(graph, one.start, one.path),
                )
                for one in found.evidence
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return {
            "query": self.query,
            "start": self.start,
            "navigation": self.navigation,
            "rerank": self.rerank,
            "agent": self.agent,
            "blocks": self.blocks,
            "evidence": [evidence.to_json() for evidence in self.evidence],
        }
