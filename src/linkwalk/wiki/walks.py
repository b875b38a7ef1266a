"""A walk as a reader follows it: every click with what else there was to click on, and how likely each was.

**What a choice's probability is.** The look of the page alone, before the walker's memory has its say: a softmax over
all targets of the page. For a compass and the greedy agents it is taken of their score (the inner product of the target
and what is looked for) times ``SCALE``, the temperature by which a walker with a map draws its ways
(``MapConfig.temperature``): a link that is better by a twentieth of a cosine is e times as likely. For random agents it
is the share of the page's links that lead there; for learned policies what their head says, summed over the links to
the same target. A click's own probability is the walker's, which may know better: that it has been there, that many
pages like this one were no good, or that a link seen before is worth the way back.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.graph.csr import Int32s, Int64s
from linkwalk.graph.store import KINDS, LINK, Graph
from linkwalk.navigate import BACK, BLIND, Agent, Baseline, Episodes, Journeys, Step
from linkwalk.navigate.clickpath import find_sentence
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.journeys import Float32s
from linkwalk.navigate.mapped import MapConfig
from linkwalk.wiki.agents import Ways
from linkwalk.wiki.pages import Cut, cut_block
from linkwalk.wiki.places import Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHOWN = 12
"""How many of a page's targets a click shows."""
SCALE = MapConfig().temperature
"""What a score is multiplied by before the softmax."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A page that the page clicked on leads to."""

    node: int
    title: str
    block: int
    kind: str
    """Of the link that was taken, or of the first that leads there."""
    link: str
    """Its words; empty for the blocks before and after."""
    score: float | None
    """Inner product with what is looked for; None without embeddings."""
    probability: float
    seen: bool
    """Whether the walk had been there by then."""
    taken: bool

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Click:
    """One move: from where, to where, how, and what else there was."""

    number: int
    """Counted from 1."""
    start: Place
    """The page clicked on."""
    to: Place
    step: Step
    segment: int | None
    """Which of the page's segments the link clicked begins in; None for previous, next and back."""
    choices: tuple[Choice, ...] = ()
    """What the page leads to, best first; the one taken is always among them."""
    others: int = 0
    """How many more there were."""

    @property
    def link(self) -> str:
        """The words clicked, or how else one went: prev, next, back."""
        return self.step.link or self.step.kind

    @property
    def probability(self) -> float:
        """Of this click, to the agent; 1 where it leaves nothing to chance."""
        return self.step.probability

    def to_json(self, *, choices: bool = True) -> dict[str, Any]:
        """As the server sends it."""
        sentence = self.step.sentence
        value = {
            "number": self.number,
            "from": self.start.to_json(),
            "to": self.to.to_json(),
            "kind": self.step.kind,
            "link": self.step.link,
            "seen": self.step.seen,
            "score": self.step.score,
            "probability": self.step.probability,
            "segment": self.segment,
            "sentence": None if sentence is None else sentence._asdict(),
        }
        if choices:
            value |= {"choices": [choice.to_json() for choice in self.choices], "others": self.others}
        return value


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
    goal: Place | None
    """None where a sentence is all that is known."""
    sentence: str | None
    success: bool | None
    """None towards a sentence."""
    distance: int | None
    """Clicks of the shortest path; None towards a sentence."""
    steps: tuple[Click, ...]
    optimum: tuple[Click, ...] | None
    """A shortest path."""
    closest: Closest | None
    """Towards a sentence."""
    budget: int
    seed: int
    ways: Ways = field(default_factory=Ways)
    measure: str = "cosine"
    """What the scores are: ``cosine``, or a compass's ``score``."""

    @property
    def best(self) -> Place | None:
        """Of the pages seen on the way to a sentence, the one nearest to it."""
        return None if self.closest is None else self.closest.place

    def to_json(self, *, steps: bool = True, optimum: bool = True) -> dict[str, Any]:
        """As the server sends it."""
        value: dict[str, Any] = {
            "agent": self.agent,
            "start": self.start.to_json(),
            "goal": self.goal and self.goal.to_json(),
            "sentence": self.sentence,
            "success": self.success,
            "distance": self.distance,
        }
        if steps:
            value["steps"] = [click.to_json() for click in self.steps]
        if optimum:
            path = self.optimum
            value["optimum"] = None if path is None else [click.to_json() for click in path]
        return value | {
            "best": self.best and self.best.to_json(),
            "budget": self.budget,
            "seed": self.seed,
        }


Look = Callable[[int, Int32s, Int64s, "Float32s | None"], Float32s]
"""How likely each target of a page is, by its look: given the step, the page's links, the number of each link's target
among the distinct ones, and the targets' scores."""


def look_of(agent: Agent, episodes: Episodes, journeys: Journeys) -> Look:
    """How an agent looks at the pages of its first journey."""
    from linkwalk.navigate.guided import Guided

    if isinstance(agent, Guided) or (isinstance(agent, Baseline) and agent.name not in BLIND):
        return _by_score
    if isinstance(agent, Baseline):
        return _by_chance
    from linkwalk.navigate.learned import Learned

    assert isinstance(agent, Learned), "there are no others"
    indptr, likely = agent.look(episodes, journeys)

    def by_head(step: int, row: Int32s, which: Int64s, scores: Float32s | None) -> Float32s:
        own = likely[indptr[step] : indptr[step + 1]]
        found: Float32s = np.bincount(which, np.exp(own, dtype=np.float64)).astype(np.float32)
        return found

    return by_head


def _by_score(step: int, row: Int32s, which: Int64s, scores: Float32s | None) -> Float32s:
    assert scores is not None, "agents that look at embeddings have them"
    chances = np.exp(np.float32(SCALE) * (scores - scores.max()))
    found: Float32s = chances / chances.sum()
    return found


def _by_chance(step: int, row: Int32s, which: Int64s, scores: Float32s | None) -> Float32s:
    found: Float32s = (np.bincount(which) / len(row)).astype(np.float32)
    return found


class Clicks:
    """Turns steps into clicks on one graph; a page is cut once, however often it is clicked on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._cuts: dict[int, Cut] = {}
        self._places: dict[int, Place] = {}

    def plain(self, start: int, steps: "tuple[Step, ...] | list[Step]") -> tuple[Click, ...]:
        """Clicks without what else there was: of shortest paths, and of paths to evidence."""
        found, here = [], start
        for number, step in enumerate(steps, 1):
            found.append(
                Click(
                    number=number,
                    start=self.place(here),
                    to=self.place(step.node),
                    step=step,
                    segment=self._segment(here, self._edge(here, step)),
                )
            )
            here = step.node
        return tuple(found)

    def full(
        self,
        journeys: Journeys,
        steps: list[Step],
        look: Look,
        vectors: Units | None,
        query: Float32s | None,
    ) -> tuple[Click, ...]:
        """The clicks of the first journey."""
        path, moves = journeys.path(0), journeys.choices[0]
        found = []
        for t, step in enumerate(steps):
            here = int(path[t])
            edge = None if moves[t] == BACK else int(self.graph.out_indptr[here]) + int(moves[t])
            choices, others = self._choices(t, path[: t + 1], edge, look, vectors, query)
            found.append(
                Click(
                    number=t + 1,
                    start=self.place(here),
                    to=self.place(step.node),
                    step=step,
                    segment=self._segment(here, edge),
                    choices=choices,
                    others=others,
                )
            )
        return tuple(found)

    def place(self, node: int) -> Place:
        """The place of a block."""
        if node not in self._places:
            self._places[node] = Place.of(self.graph, node)
        return self._places[node]

    def _edge(self, here: int, step: Step) -> int | None:
        """The link that a step took: the first to its page of its kind and in its sentence."""
        first = int(self.graph.out_indptr[here])
        for i in np.flatnonzero(self.graph.forward.row(here) == step.node).tolist():
            edge = first + i
            in_text = self.graph.out_kinds[edge] >= LINK
            sentence = find_sentence(self.graph, here, edge) if in_text else None
            if (KINDS[self.graph.out_kinds[edge]], sentence) == (step.kind, step.sentence):
                return edge
        return None

    def _segment(self, here: int, edge: int | None) -> int | None:
        if edge is None or self.graph.out_kinds[edge] < LINK:
            return None
        if here not in self._cuts:
            self._cuts[here] = cut_block(self.graph, here)
        return self._cuts[here].at(int(self.graph.out_spans[edge, 0]))

    def _words(self, here: int, edge: int) -> tuple[str, str]:
        """A link's kind, and the words one would click."""
        kind = int(self.graph.out_kinds[edge])
        start, end = self.graph.out_spans[edge].tolist()
        link = self.graph.texts.bytes(here)[start:end].decode() if kind >= LINK else ""
        return KINDS[kind], link

    def _choices(
        self,
        t: int,
        so_far: Int32s,
        edge: int | None,
        look: Look,
        vectors: Units | None,
        query: Float32s | None,
    ) -> tuple[tuple[Choice, ...], int]:
        graph, here = self.graph, int(so_far[-1])
        first = int(graph.out_indptr[here])
        row = graph.forward.row(here)
        if not len(row):
            return (), 0
        targets, firsts, which = np.unique(row, return_index=True, return_inverse=True)
        scores = None if vectors is None or query is None else vectors[targets] @ query
        likely = look(t, row, which, scores)
        taken = None if edge is None else int(which[edge - first])
        seen: NDArray[np.bool_] = np.isin(targets, so_far)
        by_score = np.zeros(len(targets), np.float32) if scores is None else scores
        order = np.lexsort((firsts, -by_score, -likely))[:SHOWN].tolist()
        if taken is not None and taken not in order:
            order[-1] = taken
        choices = []
        for i in order:
            link = edge if edge is not None and i == taken else first + int(firsts[i])
            node = int(targets[i])
            kind, words = self._words(here, link)
            choices.append(
                Choice(
                    node=node,
                    title=graph.title(node),
                    block=int(graph.node_block[node]),
                    kind=kind,
                    link=words,
                    score=None if scores is None else float(scores[i]),
                    probability=float(likely[i]),
                    seen=bool(seen[i]),
                    taken=i == taken,
                )
            )
        return tuple(choices), len(targets) - len(choices)
