"""A journey as a person reads it: the page, the sentence, the link clicked in it, and what else there was (fig. 3)."""

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwalk.graph.csr import Int32s
from linkwalk.graph.store import KINDS, NEXT, PREV, Graph
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import BACK, Float32s, Journeys

RUNNERS_UP = 3


class Sentence(NamedTuple):
    """The sentence a link stands in, cut where the link begins and ends."""

    before: str
    link: str
    after: str


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
    runners_up: tuple[RunnerUp, ...]
    """The best of the page's other targets, by score; none for a step back."""

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
    path, choices = journeys.path(episode), journeys.choices[episode]
    probabilities = journeys.probabilities[episode]
    steps = []
    for t in range(len(path) - 1):
        here, node, choice = int(path[t]), int(path[t + 1]), int(choices[t])
        edge = int(graph.out_indptr[here]) + choice
        kind = "back" if choice == BACK else KINDS[graph.out_kinds[edge]]
        in_text = choice != BACK and graph.out_kinds[edge] not in (PREV, NEXT)
        sentence = find_sentence(graph, here, edge) if in_text else None
        steps.append(
            Step(
                node=node,
                title=graph.title(node),
                block=int(graph.node_block[node]),
                link="" if sentence is None else sentence.link,
                kind=kind,
                probability=float(probabilities[t]),
                score=None if vectors is None or query is None else float(vectors[node] @ query),
                seen=bool((path[: t + 1] == node).any()),
                sentence=sentence,
                runners_up=(
                    ()
                    if vectors is None or query is None or choice == BACK
                    else _runners_up(graph, path[: t + 1], node, vectors, query)
                ),
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


def find_sentence(graph: Graph, node: int, edge: int) -> Sentence:
    """The sentence of a block in which one of its links begins."""
    raw = graph.texts.bytes(node)
    start, end = map(int, graph.out_spans[edge])
    ends = graph.sentence_ends[graph.sentence_indptr[node] : graph.sentence_indptr[node + 1]]
    which = int(np.searchsorted(ends, start, side="right"))
    begin = int(ends[which - 1]) if which else 0
    stop = max(end, int(ends[which])) if which < len(ends) else len(raw)
    return Sentence(
        raw[begin:start].decode().lstrip(), raw[start:end].decode(), raw[end:stop].decode().rstrip()
    )


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
