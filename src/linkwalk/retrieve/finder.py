"""Ask, and get sentences with the click path that led to them: starts, walks, a reranker (sec. 4.3).

From each start the agent walks towards what the query means, all starts at once; every sentence of every block it stood
on is a candidate, and the reranker picks. Instead of walking, every block one link away from a start can be read (the
scheme the paper compares with), or the starts alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, Journeys, Step, click_path
from linkwalk.navigate.journeys import Float32s
from linkwalk.retrieve.rerank import Reranker, tfidf
from linkwalk.retrieve.starts import STARTS, Search, find_starts

_NO_GOAL = -1  # no page has that number, so the agent walks all its steps


@dataclass(frozen=True, kw_only=True)
class FindConfig:
    """Where to begin, and how much to read."""

    start: str = "bm25"
    """``bm25``, ``dense`` (the nearest embeddings) or ``hybrid`` (both lists fused)."""
    starts: int = 5
    """Blocks to begin at: the appendix's five (section 4.3 says ten)."""
    steps: int = 10
    """Clicks from each; 0: no navigation."""
    expand: bool = False
    """Read every block one link away from a start, instead of walking."""
    candidates: int = 0
    """At most that many blocks are read, the starts first, then what was seen soonest; 0: all."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.starts < 1 or self.steps < 0 or self.candidates < 0:
            raise InputError(
                f"starts={self.starts}, steps={self.steps}, candidates={self.candidates}: "
                "choose 1 or more starts, and no negative number"
            )
        if self.start not in STARTS:
            raise InputError(f"no starts named {self.start!r}: choose one of {', '.join(STARTS)}")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A sentence, where it stands, and how it was found."""

    score: float
    sentence: str
    title: str
    block: int
    node: int
    start: int
    """The block that the path begins at."""
    path: tuple[Step, ...]
    """The clicks from there; none if the sentence stands in the start itself."""

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk find --json`` prints it."""
        return {
            "score": self.score,
            "sentence": self.sentence,
            "title": self.title,
            "block": self.block,
            "node": self.node,
            "start": self.start,
            "path": [step.to_json() for step in self.path],
        }


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of a query."""

    evidence: tuple[Evidence, ...]
    start: str
    """How the starts were found in the end: ``dense`` if BM25 was asked and knows none of the words."""
    blocks: int
    """How many blocks were read."""


class Finder:
    """Answers queries on one wiki; without an agent nothing is walked."""

    def __init__(
        self,
        graph: Graph,
        search: Search,
        agent: Agent | None = None,
        config: FindConfig = FindConfig(),  # noqa: B008 (frozen)
        rerank: Reranker | None = tfidf,
        *,
        vectors: Float32s | None = None,
    ) -> None:
        """``vectors`` [N, D] of unit length are for dense starts; ``rerank`` None: blocks as they were seen."""
        self.graph, self.search, self.agent, self.config = graph, search, agent, config
        self.rerank, self.vectors = rerank, vectors

    def find(self, query: str, count: int = 5, *, meaning: Float32s | None = None) -> Found:
        """The best sentences for a query; ``meaning`` [D], of unit length, is where the agent walks to."""
        config = self.config
        starts, how = find_starts(config.start, config.starts, self.search, query, self.vectors, meaning)
        ways = self._ways(starts.tolist(), meaning)
        read = list(ways)[: config.candidates or None]
        nodes, sentences = [], []
        for node in read:
            for sentence in goal_sentences(self.graph, node):
                nodes.append(node)
                sentences.append(sentence)
        titles = [self.graph.title(node) for node in nodes]
        scores = -np.arange(len(nodes), dtype=np.float32)
        if self.rerank is not None and nodes:
            scores = self.rerank(query, titles, sentences)
        best = np.argsort(-scores, kind="stable")[:count].tolist()
        evidence = tuple(
            Evidence(
                score=float(scores[i]),
                sentence=sentences[i],
                title=titles[i],
                block=int(self.graph.node_block[nodes[i]]),
                node=nodes[i],
                start=ways[nodes[i]][0],
                path=ways[nodes[i]][1],
            )
            for i in best
        )
        return Found(evidence=evidence, start=how, blocks=len(read))

    def _ways(self, starts: list[int], meaning: Float32s | None) -> dict[int, tuple[int, tuple[Step, ...]]]:
        """How each block is reached: the start and the clicks, the soonest first; starts by no click at all."""
        ways: dict[int, tuple[int, tuple[Step, ...]]] = {node: (node, ()) for node in starts}
        if self.config.expand:
            paths = [(start, path) for start in starts for path in self._neighbours(start)]
        elif self.agent is not None and meaning is not None and self.config.steps and starts:
            queries = np.repeat(meaning[None].astype(np.float32), len(starts), 0)
            episodes = Episodes.of(starts, [_NO_GOAL] * len(starts))._replace(queries=queries)
            journeys = self.agent.run(episodes, budget=self.config.steps)
            paths = [
                (start, tuple(click_path(self.graph, journeys, episode)))
                for episode, start in enumerate(starts)
            ]
        else:
            paths = []
        for number in range(1, max((len(path) for _, path in paths), default=0) + 1):
            for start, path in paths:
                if number <= len(path):
                    ways.setdefault(path[number - 1].node, (start, path[:number]))
        return ways

    def _neighbours(self, start: int) -> list[tuple[Step, ...]]:
        """One click along each link of a block."""
        targets = self.graph.forward.row(start)
        journeys = Journeys.blank(len(targets), 1)
        journeys.nodes[:, 0], journeys.nodes[:, 1] = start, targets
        journeys.choices[:, 0] = np.arange(len(targets))
        journeys.probabilities[:], journeys.steps[:] = 1, 1
        return [tuple(click_path(self.graph, journeys, link)) for link in range(len(targets))]
