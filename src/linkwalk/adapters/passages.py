"""What both retrievers give: a text, and the evidence that it is; no other library is needed."""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from linkwalk.errors import InputError
from linkwalk.navigate import Agent
from linkwalk.retrieve import Reranker
from linkwalk.wiki import Answer, Evidence, Wiki
from linkwalk.wiki.answers import plain

_MORE = 10
"""How many sentences are looked at for each paragraph wanted, as several may stand in one."""


Document = tuple[str, str, dict[str, Any]]
"""An id, the same for the same text of the same wiki; the text; and as metadata the evidence, as plain values, with
``confidence`` and ``answered`` of the answer that it is part of."""


@dataclass(frozen=True, kw_only=True)
class Passages:
    """How passages are looked for."""

    wiki: Wiki
    count: int = 5
    """How many."""
    candidates: int = 20
    """Blocks to read for them."""
    navigation: str = "tabs"
    """tabs, or none for search results alone, and what else ``Wiki.find`` knows."""
    rerank: str | Reranker | None = None
    """cross, tfidf, none, a reranker's folder, or one of your own; None: the wiki's own, or the best there is."""
    agent: str | Agent | None = None
    """Who navigates; None: whoever fits the embeddings."""
    paragraph: bool = False
    """Whether a passage is the whole block that the sentence stands in; each block comes once then."""

    def __post_init__(self) -> None:
        """Refuse passages of nothing."""
        if self.count < 1 or self.candidates < 1:
            raise InputError(f"count={self.count}, candidates={self.candidates}: choose 1 or more")

    def find(self, query: str) -> list[Document]:
        """The passages for a query, best first."""
        answer = self.wiki.find(
            query,
            self.count * (_MORE if self.paragraph else 1),
            candidates=self.candidates,
            navigation=self.navigation,
            rerank=self.rerank,
            agent=self.agent,
        )
        if not self.paragraph:
            return [self._document(answer, one, one.sentence) for one in answer.evidence]
        best: dict[int, Evidence] = {}
        for one in answer.evidence:
            best.setdefault(one.place.node, one)
        texts = self.wiki.graph.texts
        return [self._document(answer, one, texts[node]) for node, one in list(best.items())[: self.count]]

    def _document(self, answer: Answer, one: Evidence, text: str) -> Document:
        what = f"{self.wiki.graph.fingerprint}\n{one.place.node}\n{text}"
        sure = {"confidence": answer.confidence, "answered": answer.answered}
        return blake2b(what.encode(), digest_size=16).hexdigest(), text, plain(one) | sure


def open_wiki(wiki: Wiki | Path | str) -> Wiki:
    """A wiki, or the one at that path."""
    return wiki if isinstance(wiki, Wiki) else Wiki.open(wiki)
