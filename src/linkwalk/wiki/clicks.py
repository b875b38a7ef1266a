"""From pages and links to clicks that say what else there was, and what decided each.

An agent that explains itself says what every way out of a page was worth to it (``navigate.click_weights``). Links to
the same page are one choice here. A walk's clicks are put together some hundred at a time: C clicks, L ways out of
their pages, K choices among them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.graph.store import KINDS, LINK, Graph, find_sentence
from linkwalk.navigate import BACK, ClickWeights
from linkwalk.navigate.click_weights import NOWHERE
from linkwalk.wiki.answers import Choice, Click, Place
from linkwalk.wiki.pages import find_segment, stands_in_text

SHOWN = 12
"""How many of a page's choices a click shows."""
_AT_ONCE = 256

Choices = tuple[tuple[Choice, ...], int]
"""What a click shows, and how many more there were."""


def clicks_along(
    graph: Graph, pages: Sequence[int], links: Sequence[int], choices: Iterable[Choices] = repeat(((), 0))
) -> tuple[Click, ...]:
    """The clicks from page to page; ``links`` are numbers in each page's row, or BACK.

    Without choices where nobody weighed any: on shortest paths, and on paths to evidence.
    """
    places, seen, clicks = Place.many(graph, pages), set[int](), []
    for number, (link, (shown, others)) in enumerate(zip(links, choices, strict=False)):
        here = pages[number]
        seen.add(here)
        edge = int(graph.out_indptr[here]) + link
        kind = "back" if link == BACK else KINDS[graph.out_kinds[edge]]
        own = slice(edge, edge + 1)
        in_text = link != BACK and bool(stands_in_text(graph.out_kinds[own], graph.out_spans[own])[0])
        sentence = find_sentence(graph, here, edge) if in_text else None
        taken = next((choice for choice in shown if choice.taken), None)
        clicks.append(
            Click(
                number=number + 1,
                at=places[number],
                to=places[number + 1],
                kind=kind,
                link="" if sentence is None else sentence.link,
                sentence=sentence,
                segment=find_segment(graph, here, edge) if in_text else None,
                seen=pages[number + 1] in seen,
                score=None if taken is None else taken.score,
                probability=None if taken is None else taken.probability,
                choices=shown,
                others=others,
            )
        )
    return tuple(clicks)


def shortest_clicks(graph: Graph, pages: Sequence[int]) -> tuple[Click, ...]:
    """The clicks along given pages, as one would make them: the first link from each to the next."""
    links = [int(np.argmax(graph.forward.row(a) == b)) for a, b in pairwise(pages)]
    return clicks_along(graph, pages, links)


def weighed(
    graph: Graph, pages: Sequence[int], links: Sequence[int], weights: ClickWeights
) -> Iterator[Choices]:
    """What there was to click on, click by click, best first."""
    first: dict[int, int] = {}  # the click at which a page was first stood on
    for step, page in enumerate(pages[:-1]):
        first.setdefault(page, step)
    for begin in range(0, len(links), _AT_ONCE):
        own = slice(begin, begin + _AT_ONCE)
        yield from _weighed(graph, begin, pages[:-1][own], links[own], weights, first)


class _Merged(NamedTuple):
    """The choices of some clicks: their ways out, those to the same page as one."""

    click: Int64s
    """[K]: whose choice it is."""
    nodes: Int32s
    edges: Int64s
    """[K]: the first link that leads there, by its number among all of the graph's; BACK for the back button."""
    worth: Float32s
    probability: Float32s
    towards: Int32s
    taken: NDArray[np.bool_]

    @classmethod
    def of(cls, graph: Graph, begin: int, pages: Int32s, links: Int64s, weights: ClickWeights) -> "_Merged":
        """The choices of the clicks on these pages, which are those from ``begin`` on."""
        bounds = weights.indptr[begin : begin + len(pages) + 1]
        rows = slice(int(bounds[0]), int(bounds[-1]))
        counts = np.diff(bounds)
        click = np.repeat(np.arange(len(pages)), counts)
        place = np.arange(rows.stop - rows.start) - (bounds[:-1] - bounds[0])[click]
        is_back = place == counts[click] - 1
        targets = weights.targets[rows]
        clicked = place == np.where(links == BACK, counts - 1, links)[click]
        edges = np.where(is_back, BACK, graph.out_indptr[pages][click] + place)
        order = np.lexsort((place, targets, is_back, click))
        order = order[targets[order] != NOWHERE]
        keys = click[order], is_back[order], targets[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        at = np.flatnonzero(new)
        heads = order[at]
        worth, probability = weights.worth[rows][order], weights.probability[rows][order]
        # A link is named by the one that was clicked, or else by the first to that page.
        taken = np.maximum.reduceat(np.where(clicked[order], order, -1), at)
        return cls(
            click[heads],
            targets[heads],
            edges[np.where(taken >= 0, taken, heads)],
            np.fmax.reduceat(worth, at),
            np.add.reduceat(probability, at),
            weights.towards[rows][heads],
            taken >= 0,
        )

    def shown(self) -> NDArray[np.int64]:
        """Which to show, click by click and best first: the taken one always, if need be in the place of the last."""
        worth = np.nan_to_num(self.worth, nan=-np.inf)
        order = np.lexsort((self.edges, ~self.taken, -worth, -self.probability, self.click))
        counts = np.bincount(self.click)
        place = np.arange(len(order)) - (np.cumsum(counts) - counts)[self.click[order]]
        late = order[(place >= SHOWN) & self.taken[order]]
        last = (place == SHOWN - 1) & np.isin(self.click[order], self.click[late])
        order[last] = late
        return order[place < SHOWN]


def _weighed(
    graph: Graph,
    begin: int,
    pages: Sequence[int],
    links: Sequence[int],
    weights: ClickWeights,
    first: dict[int, int],
) -> Iterator[Choices]:
    merged = _Merged.of(graph, begin, np.array(pages, np.int32), np.array(links, np.int64), weights)
    shown = merged.shown()
    nodes, edges, towards = merged.nodes[shown], merged.edges[shown], merged.towards[shown]
    back = edges == BACK
    kinds = np.where(back, LINK - 1, graph.out_kinds[edges]).tolist()
    further = {NOWHERE: None, **{node: graph.name(node) for node in set(towards.tolist()) - {NOWHERE}}}
    choices = zip(
        nodes.tolist(),
        graph.titles.take(graph.node_article[nodes]),
        graph.node_block[nodes].tolist(),
        back.tolist(),
        kinds,
        *graph.out_spans[edges].T.tolist(),
        merged.worth[shown].tolist(),
        merged.probability[shown].tolist(),
        merged.taken[shown].tolist(),
        map(further.__getitem__, towards.tolist()),
        strict=True,
    )
    counts = np.bincount(merged.click[shown], minlength=len(pages)).tolist()
    others = (np.bincount(merged.click, minlength=len(pages)) - counts).tolist()
    for step, (page, count, more) in enumerate(zip(pages, counts, others, strict=True), begin):
        raw = graph.texts.bytes(page)
        own = [
            Choice(  # by place: a walk has a thousand of them
                node,
                title,
                block,
                "back" if is_back else KINDS[kind],
                raw[a:b].decode() if kind >= LINK else "",
                None if worth != worth else worth,
                probability,
                first.get(node, step + 1) <= step,
                taken,
                head,
            )
            for node, title, block, is_back, kind, a, b, worth, probability, taken, head in islice(
                choices, count
            )
        ]
        yield tuple(own), more
