"""The ways of retrieval that are set side by side, each held to the same number of blocks (tables 5, 6, and ours)."""

from dataclasses import dataclass

from linkwalk.retrieve import FindConfig

_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way of retrieval."""

    name: str
    start: str = "bm25"
    navigation: str = "none"
    rerank: str = "none"
    """``none``, ``tfidf`` or ``cross``."""
    reference: str | None = None
    """The row that differs in navigation alone."""

    def config(self, candidates: int) -> FindConfig:
        """Held to so many blocks: a quarter of them are the starts of walks and of one-hop expansion."""
        return FindConfig(
            start=self.start,
            navigation=self.navigation,
            starts=max(1, candidates // 4),
            steps=_STEPS,
            candidates=candidates,
        )


ROWS = (
    Row(name="BM25"),
    Row(name="BM25, lead blocks", navigation="lead", reference="BM25"),
    Row(name="BM25 + navigation", navigation="tabs", reference="BM25"),
    Row(name="BM25 + TF-IDF", rerank="tfidf"),
    Row(name="BM25 + one-hop + TF-IDF", navigation="expand", rerank="tfidf", reference="BM25 + TF-IDF"),
    Row(name="BM25 + walks + TF-IDF", navigation="walk", rerank="tfidf", reference="BM25 + TF-IDF"),
    Row(name="BM25 + navigation + TF-IDF", navigation="tabs", rerank="tfidf", reference="BM25 + TF-IDF"),
    Row(name="BM25 + cross-encoder", rerank="cross"),
    Row(
        name="BM25 + one-hop + cross-encoder",
        navigation="expand",
        rerank="cross",
        reference="BM25 + cross-encoder",
    ),
    Row(
        name="BM25 + walks + cross-encoder",
        navigation="walk",
        rerank="cross",
        reference="BM25 + cross-encoder",
    ),
    Row(
        name="BM25 + navigation + cross-encoder",
        navigation="tabs",
        rerank="cross",
        reference="BM25 + cross-encoder",
    ),
    Row(name="dense", start="dense"),
    Row(name="dense + cross-encoder", start="dense", rerank="cross"),
    Row(
        name="dense + navigation + cross-encoder",
        start="dense",
        navigation="tabs",
        rerank="cross",
        reference="dense + cross-encoder",
    ),
    Row(name="hybrid", start="hybrid"),
    Row(name="hybrid + cross-encoder", start="hybrid", rerank="cross"),
    Row(
        name="hybrid + navigation + cross-encoder",
        start="hybrid",
        navigation="tabs",
        rerank="cross",
        reference="hybrid + cross-encoder",
    ),
)
