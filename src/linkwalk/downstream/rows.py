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
    """The row that reads search results alone, as they come."""
    control: str | None = None
    """The row that differs in links alone: the same search results in the agent's order, none of their links."""

    def config(self, candidates: int) -> FindConfig:
        """Held to so many blocks: a quarter of them are the starts of walks and of one-hop expansion."""
        return FindConfig(
            start=self.start,
            navigation=self.navigation,
            starts=max(1, candidates // 4),
            steps=_STEPS,
            candidates=candidates,
            read_all=True,
        )


def _rows(start: str, rerank: str, ways: tuple[str, ...]) -> list[Row]:
    """One start and one reranker: the search results themselves, and ways to read beyond them."""
    named = {"bm25": "BM25"}.get(start, start)
    ranked = {"none": "", "tfidf": " + TF-IDF", "cross": " + cross-encoder"}[rerank]
    names = {way: f"{named}{said}{ranked}" for way, said in _SAID.items()}
    return [
        Row(
            name=names[way],
            start=start,
            navigation=way,
            rerank=rerank,
            reference=None if way == "none" else names["none"],
            control=names["order"] if way == "tabs" and "order" in ways else None,
        )
        for way in ways
    ]


_SAID = {
    "none": "",
    "lead": ", lead blocks",
    "expand": " + one-hop",
    "pagerank": " + PageRank",
    "walks": " + walks",
    "order": " + order",
    "tabs": " + navigation",
}
ROWS = (
    *_rows("bm25", "none", ("none", "lead", "pagerank", "order", "tabs")),
    *_rows("bm25", "tfidf", ("none", "expand", "walks", "order", "tabs")),
    *_rows("bm25", "cross", ("none", "expand", "pagerank", "walks", "order", "tabs")),
    *_rows("dense", "none", ("none", "tabs")),
    *_rows("dense", "cross", ("none", "tabs")),
    *_rows("hybrid", "none", ("none", "pagerank", "order", "tabs")),
    *_rows("hybrid", "cross", ("none", "pagerank", "order", "tabs")),
)
"""``order``: search results alone, those first that look best to the agent; what links add is the difference to it."""
