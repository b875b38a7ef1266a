"""What both retrievers give: a text, where it stands, and the clicks that led there; no other library is needed."""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from linkwalk.demo import POLICY
from linkwalk.errors import InputError
from linkwalk.wiki import Evidence, Wiki

_MORE = 10
"""How many sentences are looked at for each paragraph wanted, as several may stand in one."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A sentence or a paragraph."""

    id: str
    """The same for the same text of the same wiki."""
    text: str
    metadata: dict[str, Any]
    """title, block, node, section, score, sentence, and the click path: the blocks' names in ``path``, the words
    clicked between them in ``clicks``."""


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
    rerank: str | None = None
    """cross, tfidf, none, or a reranker's folder; None: the wiki's own, or the best there is."""
    agent: str = POLICY
    """Who navigates."""
    paragraph: bool = False
    """Whether a passage is the whole block that the sentence stands in; each block comes once then."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.count < 1 or self.candidates < 1:
            raise InputError(f"count={self.count}, candidates={self.candidates}: choose 1 or more")

    def find(self, query: str) -> list[Passage]:
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
            return [self._passage(one, one.sentence) for one in answer.evidence]
        best: dict[int, Evidence] = {}
        for one in answer.evidence:
            best.setdefault(one.place.node, one)
        texts = self.wiki.graph.texts
        return [self._passage(one, texts[node]) for node, one in list(best.items())[: self.count]]

    def _passage(self, one: Evidence, text: str) -> Passage:
        """A text with where it stands and how it was found."""
        place, wiki = one.place, self.wiki.graph.fingerprint
        return Passage(
            id=blake2b(f"{wiki}\n{place.node}\n{text}".encode(), digest_size=16).hexdigest(),
            text=text,
            metadata={
                "title": place.title,
                "block": place.block,
                "node": place.node,
                "section": place.section,
                "score": one.score,
                "sentence": one.sentence,
                "path": [one.start.name, *(click.to.name for click in one.path)],
                "clicks": [click.words for click in one.path],
            },
        )


def opened(wiki: Wiki | Path | str) -> Wiki:
    """A wiki, or the one at that path."""
    return wiki if isinstance(wiki, Wiki) else Wiki.open(wiki)
