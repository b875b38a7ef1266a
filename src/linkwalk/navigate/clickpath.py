"""A journey as a person reads it: the page, the sentence, the link clicked in it, and what else there was (fig. 3)."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from linkwalk.graph.csr import Int32s
from linkwalk.graph.sentence import Sentence, find_sentence
from linkwalk.graph.store import KINDS, LINK, Graph
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import BACK, Float32s, Journeys

RUNNERS_UP = 3


@dataclass(frozen=True, kw_only=True)
class RunnerUp:
    """A link that was not taken."""

    node: int
    title: str
    block: int
    score: float
    seen: bool
    """Whether the journey had been there by then."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One move: the page it led to, and how."""

    node: int
    title: str
    block: int
    link: str
    """The words clicked; empty for previous, next and back."""
    kind: str
    """prev, next, link, entity or back."""
    probability: float
    """1 where the agent leaves nothing to chance."""
    score: float | None
    """Inner product of the page and what the agent looks for: the goal, or a compass's direction; None without
    embeddings."""
    seen: bool
    """Whether the journey had been there before."""
    sentence: Sentence | None
    """Where the link stands on the page before."""
    edge: int | None
    """The link's number among all of the graph's; None for a step back."""
    weigh: Callable[[], tuple[RunnerUp, ...]] = field(default=tuple, repr=False, compare=False)
    """Looks for the runners-up."""

    @cached_property
    def runners_up(self) -> tuple[RunnerUp, ...]:
        """The best of the page's other targets, by score; none for a step back. Looked for when first asked for."""
        return self.weigh()

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk walk --json`` prints it."""
        sentence = self.sentence
        return {
            "node": self.node,
            "title": self.title,
            "block": self.block,
            "link": self.link,
            "kind": self.kind,
            "probability": self.probability,
            "score": self.score,
            "seen": self.seen,
            "sentence": None if sentence is None else f"{sentence.before}[[{sentence.link}]]{sentence.after}",
            "runners_up": [vars(other) for other in self.runners_up],
        }


def click_path(
    graph: Graph,
    journeys: Journeys,
    episode: int = 0,
    *,
    vectors: Units | None = None,
    query: Float32s | None = None,
) -> list[Step]:
    """The steps of one journey; scores are inner products of ``vectors`` and ``query``."""
    path = journeys.path(episode)
    choices = journeys.choices[episode, : len(path) - 1]
    firsts, reached = graph.out_indptr[path[:-1]], path[1:]
    titles, blocks = graph.titles.take(graph.node_article[reached]), graph.node_block[reached].tolist()
    probabilities = journeys.probabilities[episode, : len(choices)].tolist()
    scores: list[float | None] = [None] * len(choices)
    if vectors is not None and query is not None:
        scores = [float(vector @ query) for vector in vectors[reached]]
    moves = zip(path.tolist(), reached.tolist(), choices.tolist(), firsts.tolist(), strict=False)
    seen, steps = set[int](), []
    for t, (here, node, choice, first) in enumerate(moves):
        seen.add(here)
        edge = None if choice == BACK else first + choice
        kind = None if edge is None else int(graph.out_kinds[edge])
        sentence = None if edge is None or kind is None or kind < LINK else find_sentence(graph, here, edge)
        weigh: Callable[[], tuple[RunnerUp, ...]] = tuple
        if vectors is not None and query is not None and edge is not None:
            weigh = partial(_runners_up, graph, path[: t + 1], node, vectors, query)
        steps.append(
            Step(
                node=node,
                title=titles[t],
                block=blocks[t],
                link="" if sentence is None else sentence.link,
                kind="back" if kind is None else KINDS[kind],
                probability=probabilities[t],
                score=scores[t],
                seen=node in seen,
                sentence=sentence,
                edge=edge,
                weigh=weigh,
            )
        )
    return steps


def path_steps(graph: Graph, nodes: Int32s) -> list[Step]:
    """The steps along given pages, as one would click them: the first link from each to the next."""
    choices = [int(np.argmax(graph.forward.row(a) == b)) for a, b in itertools.pairwise(nodes.tolist())]
    journeys = Journeys.blank(1, len(choices))
    journeys.nodes[0] = nodes
    journeys.choices[0] = choices
    journeys.probabilities[0] = 1
    journeys.steps[0] = len(choices)
    return click_path(graph, journeys)


def _runners_up(
    graph: Graph, so_far: Int32s, taken: int, vectors: Units, query: Float32s
) -> tuple[RunnerUp, ...]:
    row = graph.forward.row(int(so_far[-1]))
    others = np.unique(row[row != taken])
    scores = vectors[others] @ query
    best = np.argsort(-scores, kind="stable")[:RUNNERS_UP]
    return tuple(
        RunnerUp(
            node=int(others[i]),
            title=graph.title(int(others[i])),
            block=int(graph.node_block[others[i]]),
            score=float(scores[i]),
            seen=bool(others[i] in so_far),
        )
        for i in best
    )
