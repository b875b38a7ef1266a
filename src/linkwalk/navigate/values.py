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

from linkwalk.arrays import Float32s
from linkwalk.compiled import guarded

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
    temperature: float
    homing: float
    mean: float
    """Of the cosines of any two pages."""
    spread: float
    weights: Float32s
    """[OF_LINKS], or empty: the constants decide alone."""


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
def settle(facts: Float32s, weights: Float32s) -> None:
    """Find anew what the weights add, but for what changes with every step."""
    facts[ADDED] = (
        weights[0] * facts[OWN]
        + weights[1] * facts[PAGE]
        + weights[2] * facts[LINK]
        + weights[3] * facts[BEHIND]
        + weights[4] * facts[RANK]
        + weights[5] * facts[ADJACENT]
        + weights[6] * np.log1p(facts[RUN])
        + weights[7] * facts[BEST_PAGE]
        + weights[8] * np.log1p(facts[LINKED])
        + weights[9] * np.log1p(facts[CROWD])
        + weights[10] * np.log1p(facts[ALIKE])
        + weights[11] * np.log1p(facts[TWINS])
        + weights[12] * facts[CLOSEST]
        + weights[13] * facts[CLOSEST_PAGE]
        + weights[14] * facts[CLOSEST_LINK]
        + weights[15] * facts[DEGREE]
    )


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
    sights[0] = facts[OWN]
    sights[1] = facts[PAGE]
    sights[2] = facts[LINK]
    sights[3] = facts[BEHIND]
    sights[4] = facts[RANK]
    sights[5] = facts[ADJACENT]
    sights[6] = np.log1p(facts[RUN])
    sights[7] = facts[BEST_PAGE]
    sights[8] = np.log1p(facts[LINKED])
    sights[9] = np.log1p(facts[CROWD])
    sights[10] = np.log1p(facts[ALIKE])
    sights[11] = np.log1p(facts[TWINS])
    sights[12] = facts[CLOSEST]
    sights[13] = facts[CLOSEST_PAGE]
    sights[14] = facts[CLOSEST_LINK]
    sights[15] = facts[DEGREE]
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
