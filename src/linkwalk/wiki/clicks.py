"""From an agent's steps to clicks that say what else there was, and how likely each choice was.

**What a choice's probability is.** The look of the page alone, before the walker's memory has its say: a softmax over
all targets of the page. For a compass and the greedy agents it is taken of their score (the inner product of the target
and what is looked for) times ``SCALE``, the temperature by which a walker with a map draws its ways
(``MapConfig.temperature``): a link that is better by a twentieth of a cosine is e times as likely. For random agents it
is the share of the page's links that lead there; for learned policies what their head says, summed over the links to
the same target. A click's own probability is the walker's, which may know better: that it has been there, that many
pages like this one were no good, or that a link seen before is worth the way back.

A walk's pages are looked at together, some hundred at a time: C clicks, L links on their pages, and K targets of those,
each target of a page once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.csr import Int32s, Int64s
from linkwalk.graph.store import KINDS, LINK, Graph
from linkwalk.navigate import BLIND, Agent, Baseline, Episodes, Journeys, Step
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.guided import Guided
from linkwalk.navigate.journeys import Float32s
from linkwalk.navigate.mapped import MapConfig
from linkwalk.wiki.pages import find_segment
from linkwalk.wiki.places import Place
from linkwalk.wiki.walks import Choice, Click

SHOWN = 12
"""How many of a page's targets a click shows."""
SCALE = MapConfig().temperature
"""What a score is multiplied by before the softmax."""
_AT_ONCE = 256
_BACK = -1  # instead of a link


class Targets(NamedTuple):
    """Where the pages of some clicks lead."""

    firsts: Int64s
    """[C]: each page's first link, by its number among all of the graph's."""
    links: Int64s
    """[C + 1]: a page's links are those from one bound to the next."""
    bounds: Int64s
    """[C + 1]: so are its targets."""
    which: Int64s
    """[L]: the target of each link."""
    page: Int64s
    """[K]: the page that each is a target of."""
    nodes: Int32s
    edges: Int64s
    """[K]: the first link that leads there, numbered likewise."""

    @classmethod
    def of(cls, graph: Graph, pages: Int32s) -> "Targets":
        """Each page's targets in the order of their numbers."""
        links, targets = graph.forward.gather(pages)
        of_link = np.repeat(np.arange(len(pages)), np.diff(links))
        _, firsts, which = np.unique(of_link * graph.nodes + targets, return_index=True, return_inverse=True)
        page = of_link[firsts]
        bounds = np.searchsorted(page, np.arange(len(pages) + 1))
        own = graph.out_indptr[pages]
        return cls(own, links, bounds, which, page, targets[firsts], (own - links[:-1])[page] + firsts)

    def each(self) -> Iterator[slice]:
        """Page by page, where its targets are."""
        return (slice(*ends) for ends in pairwise(self.bounds.tolist()))

    def best(
        self, likely: Float32s, scores: Float32s | None, clicked: Int64s
    ) -> tuple[Int64s, Int64s, NDArray[np.bool_]]:
        """Which targets to show, best first and page by page; how many of each page [C]; which of them were clicked.

        ``clicked`` [C] are links; their targets are always shown, if need be in the place of the last.
        """
        by_score = np.zeros_like(likely) if scores is None else -scores
        order = np.lexsort((self.edges, by_score, -likely, self.page))
        shown = order[np.arange(len(order)) - self.bounds[self.page] < SHOWN]
        counts = np.minimum(np.diff(self.bounds), SHOWN)
        missing = clicked != _BACK
        some = np.flatnonzero(missing)
        targets = np.full(len(clicked), _BACK)
        targets[some] = self.which[self.links[some] + clicked[some] - self.firsts[some]]
        taken = shown == np.repeat(targets, counts)
        missing[self.page[shown[taken]]] = False
        last = np.cumsum(counts)[missing] - 1
        shown[last], taken[last] = targets[missing], True
        return shown, counts, taken


Choices = tuple[tuple[Choice, ...], int]
"""What a click shows, and how many more there were."""
Look = Callable[[int, Targets, "Float32s | None"], Float32s]
"""How likely each target of a page is, by its look [K]: given the first click's number, the targets, their scores."""


def look_of(agent: Agent, episodes: Episodes, journeys: Journeys) -> Look:
    """How an agent looks at the pages of its first journey."""
    if isinstance(agent, Guided) or (isinstance(agent, Baseline) and agent.name not in BLIND):
        return _by_score
    if isinstance(agent, Baseline):
        return _by_chance
    from linkwalk.navigate.learned import Learned

    assert isinstance(agent, Learned), "there are no others"
    indptr, likely = agent.look(episodes, journeys)

    def by_head(begin: int, targets: Targets, scores: Float32s | None) -> Float32s:
        own = likely[indptr[begin] : indptr[begin + len(targets.links) - 1]]
        found: Float32s = np.bincount(targets.which, np.exp(own, dtype=np.float64)).astype(np.float32)
        return found

    return by_head


def _by_score(begin: int, targets: Targets, scores: Float32s | None) -> Float32s:
    assert scores is not None, "agents that look at embeddings have them"
    chances = np.empty_like(scores)
    for own in targets.each():
        if own.start < own.stop:
            likely = np.exp(np.float32(SCALE) * (scores[own] - scores[own].max()))
            np.divide(likely, likely.sum(), out=chances[own])
    return chances


def _by_chance(begin: int, targets: Targets, scores: Float32s | None) -> Float32s:
    found: Float32s = (np.bincount(targets.which) / np.diff(targets.links)[targets.page]).astype(np.float32)
    return found


class Eyes(NamedTuple):
    """What an agent sees of a walk's pages."""

    look: Look
    vectors: Units | None
    query: Float32s | None
    """What is looked for."""

    def weigh(self, begin: int, targets: Targets) -> tuple[Float32s | None, Float32s]:
        """The targets' scores, None without embeddings, and how likely each is."""
        scores: Float32s | None = None
        if self.vectors is not None and self.query is not None:
            scores = np.concatenate([self.vectors[targets.nodes[own]] @ self.query for own in targets.each()])
        return scores, self.look(begin, targets, scores)


def click_all(
    graph: Graph, start: int, steps: Sequence[Step], choices: Iterable[Choices] = repeat(((), 0))
) -> tuple[Click, ...]:
    """Steps as clicks; without what else there was where nobody says: of shortest paths, and of paths to evidence."""
    nodes = [start, *(step.node for step in steps)]
    places = Place.many(graph, nodes)
    return tuple(
        Click(
            number=number + 1,
            start=places[number],
            to=places[number + 1],
            step=step,
            segment=_segment(graph, nodes[number], step),
            choices=shown,
            others=others,
        )
        for number, (step, (shown, others)) in enumerate(zip(steps, choices, strict=False))
    )


def _segment(graph: Graph, here: int, step: Step) -> int | None:
    return None if step.edge is None or step.sentence is None else find_segment(graph, here, step.edge)


def weigh_all(graph: Graph, start: int, steps: Sequence[Step], eyes: Eyes) -> Iterator[Choices]:
    """What there was to click on, click by click."""
    pages = [start, *(step.node for step in steps[:-1])]
    first: dict[int, int] = {}  # the step at which a page was first stood on
    for t, page in enumerate(pages):
        first.setdefault(page, t)
    for begin in range(0, len(steps), _AT_ONCE):
        own = slice(begin, begin + _AT_ONCE)
        clicked = np.array([_BACK if step.edge is None else step.edge for step in steps[own]], np.int64)
        yield from _weigh(graph, begin, pages[own], clicked, first, eyes)


def _weigh(
    graph: Graph, begin: int, pages: list[int], clicked: Int64s, first: dict[int, int], eyes: Eyes
) -> Iterator[Choices]:
    targets = Targets.of(graph, np.array(pages, np.int32))
    scores, likely = eyes.weigh(begin, targets)
    shown, counts, taken = targets.best(likely, scores, clicked)
    nodes, edges = targets.nodes[shown], np.where(taken, np.repeat(clicked, counts), targets.edges[shown])
    choices = zip(
        nodes.tolist(),
        graph.titles.take(graph.node_article[nodes]),
        graph.node_block[nodes].tolist(),
        graph.out_kinds[edges].tolist(),
        *graph.out_spans[edges].T.tolist(),
        repeat(None) if scores is None else scores[shown].tolist(),
        likely[shown].tolist(),
        taken.tolist(),
        strict=False,
    )
    others = np.diff(targets.bounds) - counts
    each = zip(pages, counts.tolist(), others.tolist(), strict=True)
    for t, (page, count, more) in enumerate(each, begin):
        raw = graph.texts.bytes(page)
        own = [
            Choice(  # by place: a walk has a thousand of them
                node,
                title,
                block,
                KINDS[kind],
                raw[a:b].decode() if kind >= LINK else "",
                score,
                probability,
                first.get(node, t + 1) <= t,
                is_taken,
            )
            for node, title, block, kind, a, b, score, probability, is_taken in islice(choices, count)
        ]
        yield tuple(own), more
