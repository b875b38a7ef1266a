"""What a wiki answers with: places, walks with every click and what else there was, evidence with its path.

Whoever asks, in Python, on the command line, over HTTP or MCP, gets these; in JSON a dataclass is its fields, by their
names (``plain``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.graph.store import Sentence
from linkwalk.navigate.moves import MoveConfig

if TYPE_CHECKING:
    from linkwalk.arrays import Int32s
    from linkwalk.graph.columns import Strings
    from linkwalk.graph.store import Graph

_MANY = 16
"""From how many on reading strings together is worth it."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A block, as one would say where it is."""

    node: int
    title: str
    block: int
    """Its number within the article, counted from 0."""
    blocks: int
    """How many blocks the article has."""
    section: str
    """The heading above it; empty in an article's lead."""
    name: str
    """``Title (3)``, which finds it again."""
    address: str
    """The file or URL the article comes from; empty where the source has none."""

    @classmethod
    def of(cls, graph: "Graph", node: int) -> "Place":
        """The place of a block."""
        return cls.many(graph, [node])[0]

    @classmethod
    def many(cls, graph: "Graph", nodes: Sequence[int]) -> "list[Place]":
        """The places of blocks."""
        rows = np.array(nodes, np.int64)
        articles = graph.node_article[rows]
        last = articles == graph.articles - 1
        after = np.where(last, graph.nodes, graph.article_node[articles + ~last])
        return [
            cls(
                node=node,
                title=title,
                block=block,
                blocks=blocks,
                section=section,
                name=f"{title} ({block})",
                address=address,
            )
            for node, title, block, blocks, section, address in zip(
                rows.tolist(),
                _read(graph.titles, articles),
                graph.node_block[rows].tolist(),
                (after - graph.article_node[articles]).tolist(),
                _read(graph.sections, graph.node_section[rows]),
                repeat("", len(rows)) if graph.addresses is None else _read(graph.addresses, articles),
                strict=True,
            )
        ]


def _read(strings: "Strings", rows: "Int32s") -> list[str]:
    """Together where they are many: a kernel lets the other threads of a server go first, and waits for its turn."""
    return strings.take(rows) if len(rows) >= _MANY else [strings[row] for row in rows.tolist()]


@dataclass(slots=True)  # not frozen: a walk has a thousand, and frozen ones take three times as long to make
class Choice:
    """A way out of a page, and what the agent thought of it."""

    node: int
    title: str
    block: int
    kind: str
    """prev, next, link, entity or back; where several links lead there, that of the one clicked, or else the first."""
    link: str
    """The words one would click; empty for prev, next and back."""
    score: float | None
    """What the agent went by; None where it did not weigh this way, or weighs nothing."""
    probability: float
    """At which the agent would click it, by its scores, if it drew its clicks; one that does not takes the best."""
    seen: bool
    """Whether the walk had been there by then."""
    taken: bool
    towards: str | None = None
    """The page further on that makes this way worth its score, for walkers with a map or a back button."""


@dataclass(frozen=True, kw_only=True)
class Click:
    """One move: from where, to where, how, and what else there was."""

    number: int
    """Counted from 1."""
    at: Place
    """The page clicked on."""
    to: Place
    kind: str
    """prev, next, link, entity or back."""
    link: str
    """The words clicked; empty for prev, next and back."""
    sentence: Sentence | None
    """Where these words stand."""
    segment: int | None
    """Which of the page's segments the link begins in; None for prev, next and back."""
    seen: bool
    """Whether the walk had been there before."""
    score: float | None = None
    """That of the choice taken; None where nobody weighed, as on a shortest path."""
    probability: float | None = None
    """Likewise."""
    choices: tuple[Choice, ...] = ()
    """What the page leads to, best first; the one taken is always among them."""
    others: int = 0
    """How many more there were."""

    @property
    def words(self) -> str:
        """The words clicked, or how else one went: prev, next, back."""
        return self.link or self.kind


@dataclass(frozen=True, kw_only=True)
class Closest:
    """Of the pages seen on the way to a sentence, the one nearest to it."""

    place: Place
    step: int
    """After how many steps it was seen first."""
    score: float
    """Its cosine to the sentence."""


@dataclass(frozen=True, kw_only=True)
class Walk:
    """What an agent did, from its start to where it ended."""

    agent: str
    start: Place
    goal: Place | None = None
    """None where a sentence is all that is known."""
    sentence: str | None = None
    """What was looked for, in words; None towards a block."""
    success: bool | None = None
    """None towards a sentence."""
    distance: int | None = None
    """Clicks of the shortest path; None towards a sentence."""
    steps: tuple[Click, ...]
    optimum: tuple[Click, ...] | None = None
    """A shortest path; None towards a sentence."""
    closest: Closest | None = None
    """Towards a sentence: the best of the pages seen."""
    budget: int
    seed: int
    ways: MoveConfig = field(default_factory=MoveConfig)
    measure: str | None = None
    """What the clicks' scores are: ``cosine``; ``worth``, for a compass and walkers with a map; ``log-probability``,
    for other policies; ``chance``, where nothing is weighed; None for an agent that does not say."""
    trapped: bool = False
    """It ended before its steps were used up: all that could still be reached had been seen."""

    @property
    def nodes(self) -> list[int]:
        """The blocks stood on, the start first."""
        return [self.start.node, *(click.to.node for click in self.steps)]

    @property
    def end(self) -> Place:
        """Where it ended."""
        return self.steps[-1].to if self.steps else self.start


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
        """The same without the times: the same question has the same answer."""
        return replace(self, milliseconds={})


def plain(thing: Any) -> Any:
    """An answer as plain values: what the command line prints, and what is sent over HTTP and MCP."""
    if is_dataclass(thing):
        return {field.name: plain(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, tuple | list):
        return [plain(part) for part in thing]
    return thing
