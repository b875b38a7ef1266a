"""Ask, and get sentences with the click path that led to them: BM25, walks, a reranker (sec. 4.3).

BM25 gives the starts. From each the agent walks towards what the query means, all starts at once; every sentence of
every block it stood on is a candidate, and the reranker picks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, Step, click_path
from linkwalk.navigate.journeys import Float32s
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.rerank import Reranker, tfidf

_NO_GOAL = -1  # no page has that number, so the agent walks all its steps


@dataclass(frozen=True, kw_only=True)
class FindConfig:
    """How much is looked at."""

    starts: int = 5
    """Blocks that BM25 gives: the appendix's five (section 4.3 says ten)."""
    steps: int = 10
    """Clicks from each; 0: no navigation."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.starts < 1 or self.steps < 0:
            raise InputError(f"starts={self.starts}, steps={self.steps}: choose 1 or more, and 0 or more")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A sentence, where it stands, and how it was found."""

    score: float
    sentence: str
    title: str
    block: int
    node: int
    start: int
    """The block of BM25's that the path begins at."""
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


class Finder:
    """Answers queries on one wiki; without an agent the starts alone are read."""

    def __init__(
        self,
        graph: Graph,
        bm25: Bm25,
        agent: Agent | None = None,
        config: FindConfig = FindConfig(),  # noqa: B008 (frozen)
        rerank: Reranker = tfidf,
    ) -> None:
        self.graph, self.bm25, self.agent, self.config, self.rerank = graph, bm25, agent, config, rerank

    def find(self, query: str, count: int = 5, *, meaning: Float32s | None = None) -> list[Evidence]:
        """The best sentences for a query; ``meaning`` [D], of unit length, is where the agent walks to."""
        starts, _ = self.bm25.search(query, self.config.starts)
        if not len(starts):
            return []
        found: dict[int, tuple[int, tuple[Step, ...]]] = {int(node): (int(node), ()) for node in starts}
        if self.agent is not None and meaning is not None and self.config.steps:
            goals = np.full(len(starts), _NO_GOAL, np.int32)
            queries = np.repeat(meaning[None].astype(np.float32), len(starts), 0)
            episodes = Episodes.of(starts, goals)._replace(queries=queries)
            journeys = self.agent.run(episodes, budget=self.config.steps)
            for episode, start in enumerate(starts.tolist()):
                steps = tuple(click_path(self.graph, journeys, episode))
                for number, step in enumerate(steps, 1):
                    found.setdefault(step.node, (start, steps[:number]))
        nodes, sentences = [], []
        for node in found:
            for sentence in goal_sentences(self.graph, node):
                nodes.append(node)
                sentences.append(sentence)
        titles = [self.graph.title(node) for node in nodes]
        scores = self.rerank(query, titles, sentences)
        best = np.argsort(-scores, kind="stable")[:count].tolist()
        return [
            Evidence(
                score=float(scores[i]),
                sentence=sentences[i],
                title=titles[i],
                block=int(self.graph.node_block[nodes[i]]),
                node=nodes[i],
                start=found[nodes[i]][0],
                path=found[nodes[i]][1],
            )
            for i in best
        ]
