"""What an unseen link is worth to a walker with a map: by some constants, or with weights that were trained besides.

What is known of an unseen page is kept in a row of facts, and brought up to date when a page is read. What is seen of
its link (``SIGHTS``) is made of the facts, the clicks to get there and the state of the walk: cosines and counts, no
vector, so that one set of weights serves every table of embeddings. Cosines are counted in spreads above the mean of
the table's own: 0 is any two pages, whoever made the table. A weight for each sight says what it adds to what the
constants say; weights of zero change nothing.

The greater part of what the weights add stays as it is from step to step. It is kept among the facts (``ADDED``) and
found anew only where a fact has changed; that is what makes a trained map about as quick as the constants.
"""

from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import guarded, kernel, within
from linkwalk.graph.paths import UNREACHABLE

(
    COSINE,  # to the direction looked in, as it is
    CROWD,  # pages seen that are like it, by the constants' likeness
    CROWDED,  # what that costs
    DEPTH,  # clicks from the start, by the pages seen that link to it
    DEEP,  # what that costs
    ADDED,  # what the weights add, but for what changes with every step
    ORIGIN,  # the step of the page on whose links it was seen first
    DEGREE,  # how many links that page has, as a logarithm
    OWN,  # its cosine to the direction, measured, as all that follow
    PAGE,  # that page's own cosine to the direction
    LINK,  # its cosine to that page
    BEHIND,  # how far it lies behind the best link of that page
    RANK,  # how many links of that page are better, as a logarithm
    ADJACENT,  # whether it is the block before or after
    RUN,  # blocks of one article in a row that lead to it
    BEST_PAGE,  # the highest cosine of a page seen that links to it
    LINKED,  # pages seen that link to it
    ALIKE,  # pages seen that are like it, a little
    TWINS,  # pages seen that are like it, very much
    CLOSEST,  # its highest cosine to a page seen
    CLOSEST_PAGE,  # that page's own cosine to the direction
    CLOSEST_LINK,  # the best of that page's links
) = range(22)
FACTS = 22

OF_LINKS = (
    "cosine",
    "page",
    "link",
    "behind",
    "rank",
    "adjacent",
    "run",
    "best page",
    "linked",
    "crowd",
    "alike",
    "twins",
    "closest",
    "closest page",
    "closest link",
    "degree",
    "cosine in the walk",
    "detour",
    "age",
    "tried",
)
"""What is seen of an unseen link, and has a weight; the last four change with every step."""
STILL, IN_THE_WALK, DETOUR, AGE, TRIED = 16, 16, 17, 18, 19
OF_WALKS = ("step", "frontier", "here", "best", "degrees", "adjacency")
"""What is seen of the walk, whatever the link: for the forecast alone."""
SIGHTS = (*OF_LINKS, *OF_WALKS)
"""What is seen, in this order."""
ALIKE_FROM, TWINS_FROM = 1.5, 4.0
"""Spreads above the mean from which a page is like another, a little or very much."""
_LEAST_SPREAD = 0.25

COUNT, TOTAL, SQUARES, BEST, MEAN, SPREAD, READ, DEGREES, ADJACENCY = range(9)
"""Of a walk: the links seen, the sum of their cosines and of its squares, the best, mean and spread of them; the pages
read, the sum of the logarithms of their degrees, links to the block before or after."""
WALK = 9


class Worth(NamedTuple):
    """How worth is found, as the kernel takes it."""

    detour: float
    crowding: float
    likeness: float
    homing: float
    temperature: float
    mean: float
    """Of the cosines of any two pages."""
    spread: float
    weights: Float32s
    """[OF_LINKS], or empty: the constants decide alone."""


class MapNotes(NamedTuple):
    """What was seen at P steps of one walk, K of the unseen links known at each: the one worth most first."""

    steps: Int64s
    """[P]: the steps to be noted, ascending, each once."""
    distances: Int32s
    """[N]: clicks from every page to the goal, UNREACHABLE where none lead there; empty where nobody asks."""
    sights: Float32s
    """[P, K, SIGHTS]: what is seen of them."""
    worth: Float32s
    """[P, K]: what the constants say."""
    clicks: Int32s
    """[P, K]: from here to the link's page on the map, and from there to the goal; UNREACHABLE, too."""
    counts: Int64s
    """[P]: how many were noted."""

    @classmethod
    def blank(cls, steps: int, links: int) -> "MapNotes":
        """Room for some links of some steps, all else empty."""
        return cls(
            np.zeros(steps, np.int64),
            np.zeros(0, np.int32),
            np.zeros((steps, links, len(SIGHTS)), np.float32),
            np.zeros((steps, links), np.float32),
            np.full((steps, links), UNREACHABLE, np.int32),
            np.zeros(steps, np.int64),
        )

    def part(self, start: int, stop: int) -> "MapNotes":
        """Room for some of the steps, as views."""
        rows = slice(start, stop)
        return self._replace(
            steps=self.steps[rows],
            sights=self.sights[rows],
            worth=self.worth[rows],
            clicks=self.clicks[rows],
            counts=self.counts[rows],
        )


NO_NOTES = MapNotes.blank(0, 0)


@guarded
def measured(cosine: float | np.float32, worth: Worth) -> Any:
    """A cosine in spreads above the mean of its table."""
    return np.float32((cosine - worth.mean) / worth.spread)


@guarded
def likeness(cosine: Any, above: float) -> Any:
    """How far two pages are alike: 0 up to a cosine of ``above``, then linearly up to 1."""
    return max(np.float32(0), (cosine - np.float32(above)) / np.float32(1 - above))


@guarded
def crowd(facts: Float32s, cosine: Any, worth: Worth) -> Any:
    """Take note of a page seen, by its cosine to the unseen one; whether that makes it worth less."""
    alike = likeness(cosine, worth.likeness)
    if alike > 0:
        facts[CROWD] += alike
        facts[CROWDED] = np.float32(worth.crowding) * np.log1p(facts[CROWD])
    return alike > 0


@guarded
def link_from(facts: Float32s, page: Float32s, worth: Worth) -> None:
    """Take note of a page seen that links to the unseen one, by the facts of both."""
    if facts[DEPTH] == 0 or facts[DEPTH] > page[DEPTH] + 1:
        facts[DEPTH] = page[DEPTH] + 1
        facts[DEEP] = np.float32(worth.homing) * np.log(facts[DEPTH])


@guarded
def liken(facts: Float32s, alike: Any, page: Any, best: Any) -> Any:
    """Take note of a page seen: how like an unseen one it is, measured, and what came of it; whether that counts."""
    if alike > ALIKE_FROM:
        facts[ALIKE] += alike - np.float32(ALIKE_FROM)
    if alike > TWINS_FROM:
        facts[TWINS] += alike - np.float32(TWINS_FROM)
    closer = alike > facts[CLOSEST]
    if closer:
        facts[CLOSEST], facts[CLOSEST_PAGE], facts[CLOSEST_LINK] = alike, page, best
    return closer or alike > ALIKE_FROM


@guarded
def still(facts: Float32s) -> Any:
    """What is seen of a link and stays as it is from step to step: the first ``STILL`` of ``OF_LINKS``."""
    return (
        facts[OWN],
        facts[PAGE],
        facts[LINK],
        facts[BEHIND],
        facts[RANK],
        facts[ADJACENT],
        np.log1p(facts[RUN]),
        facts[BEST_PAGE],
        np.log1p(facts[LINKED]),
        np.log1p(facts[CROWD]),
        np.log1p(facts[ALIKE]),
        np.log1p(facts[TWINS]),
        facts[CLOSEST],
        facts[CLOSEST_PAGE],
        facts[CLOSEST_LINK],
        facts[DEGREE],
    )


@guarded
def settle(facts: Float32s, weights: Float32s) -> None:
    """Find anew what the weights add, but for what changes with every step."""
    seen, added = still(facts), np.float32(0)
    for sight in range(STILL):
        added += weights[sight] * seen[sight]
    facts[ADDED] = added


@guarded
def constants(facts: Float32s, away: int, worth: Worth) -> Any:
    """What a link is worth by the constants alone, ``away`` clicks more than one from here."""
    return facts[COSINE] - np.float32(worth.detour * away) - facts[CROWDED] - facts[DEEP]


@guarded
def moving(by_page: Float32s, tried: Float32s, step: int, weights: Float32s) -> None:
    """What the weights add to all links of each page read: for its age, and for how many of them were tried."""
    for page in range(step + 1):
        by_page[page] = weights[AGE] * np.log1p(np.float32(step - page)) + weights[TRIED] * np.log1p(
            tried[page]
        )


@guarded
def trained(facts: Float32s, away: int, by_page: Any, walk: Float32s, weights: Float32s) -> Any:
    """What the weights add in all."""
    in_the_walk = (facts[OWN] - walk[MEAN]) / walk[SPREAD]
    return facts[ADDED] + by_page + weights[IN_THE_WALK] * in_the_walk + weights[DETOUR] * np.float32(away)


@guarded
def tally(walk: Float32s, own: Any) -> None:
    """One more link seen, of that cosine."""
    walk[BEST] = own if walk[COUNT] == 0 else max(walk[BEST], own)
    walk[COUNT] += 1
    walk[TOTAL] += own
    walk[SQUARES] += own * own


@guarded
def tally_page(walk: Float32s, degree: int) -> None:
    """One more page read, with so many links; all of them have been tallied."""
    walk[READ] += 1
    walk[DEGREES] += np.log1p(np.float32(degree))
    count = max(walk[COUNT], np.float32(1))
    walk[MEAN] = walk[TOTAL] / count
    variance = max(np.float32(0), walk[SQUARES] / count - walk[MEAN] * walk[MEAN])
    walk[SPREAD] = max(np.float32(_LEAST_SPREAD), np.sqrt(variance))


@guarded
def see(sights: Float32s, facts: Float32s, away: int, step: int, tried: Any, walk: Float32s) -> None:
    """Write down what is seen of a link."""
    seen = still(facts)
    for sight in range(STILL):
        sights[sight] = seen[sight]
    sights[IN_THE_WALK] = (facts[OWN] - walk[MEAN]) / walk[SPREAD]
    sights[DETOUR] = away
    sights[AGE] = np.log1p(np.float32(step) - facts[ORIGIN])
    sights[TRIED] = np.log1p(tried)


@guarded
def see_walk(sights: Float32s, step: int, frontier: int, here: Any, walk: Float32s) -> None:
    """Write down what is seen of the walk, whatever the link."""
    sights[20] = np.log1p(np.float32(step))
    sights[21] = np.log1p(np.float32(frontier))
    sights[22] = here
    sights[23] = walk[BEST]
    sights[24] = walk[DEGREES] / max(walk[READ], np.float32(1))
    sights[25] = walk[ADJACENCY] / max(walk[COUNT], np.float32(1))


@kernel
def note(
    notes: MapNotes,
    line: int,
    sights: Float32s,
    plain: Float32s,
    worth: Float32s,
    clicks: Int32s,
    pages: Int32s,
) -> None:
    """Write down the links worth most, some of those nearest to the goal, and of the rest one in so many."""
    count, room = worth.shape[0], notes.worth.shape[1]
    totals = np.empty(count, np.int64)
    far = np.iinfo(np.int32).max
    for i in range(count):
        distance = UNREACHABLE
        if notes.distances.shape[0] > 0:
            distance = notes.distances[within(pages[i], notes.distances.shape[0])]
        totals[i] = far if distance == UNREACHABLE else clicks[i] + 1 + distance
    taken = np.zeros(count, np.bool_)
    by_worth, by_distance = np.argsort(-worth), np.argsort(totals)
    to = 0
    for chosen, limit in ((by_worth, (room + 1) // 2), (by_distance, room * 2 // 3)):
        for i in chosen:
            if to < limit and not taken[i]:
                taken[i] = True
                _write(notes, line, to, sights[i], plain[i], totals[i], far)
                to += 1
    left = count - to
    if left > 0 and to < room:
        stride = max(1.0, left / (room - to))
        at, due = 0.0, (line * 0.37) % 1.0 * stride
        for i in by_worth:
            if not taken[i]:
                if at >= due and to < room:
                    _write(notes, line, to, sights[i], plain[i], totals[i], far)
                    to += 1
                    due += stride
                at += 1
    notes.counts[line] = to


@kernel
def _write(notes: MapNotes, line: int, to: int, sights: Float32s, plain: float, total: int, far: int) -> None:
    notes.sights[line, to] = sights
    notes.worth[line, to] = plain
    notes.clicks[line, to] = UNREACHABLE if total == far else total
