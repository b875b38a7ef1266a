"""What an unseen link is worth to a walker with a map: by three constants, or by a small network that was trained.

The network sees no vector, only cosines and counts, so that one set of weights serves every table of embeddings. Its
cosines are counted in spreads above the mean of the table's own (``Measure``): 0 is any two pages, whoever made the
table. What it says is added to what the constants say, so that before training it changes nothing.

What is known of an unseen page is kept in a row of facts, and brought up to date when a page is read. What the network
sees (``SIGHTS``) is made of the facts, the clicks to get there and the state of the walk.
"""

from typing import Any, NamedTuple

import numpy as np

from linkwalk.compiled import guarded
from linkwalk.navigate.journeys import Float32s

(
    COSINE,  # to the direction looked in, as it is
    CROWD,  # pages seen that are like it, by the constants' likeness
    ORIGIN,  # the step of the page on whose links it was seen first
    PAGE,  # that page's own cosine to the direction, measured, as all that follow
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
) = range(16)
FACTS = 16

SIGHTS = (
    "cosine",
    "cosine in the walk",
    "cosine behind the best",
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
    "detour",
    "age",
    "tried",
    "degree",
    "step",
    "frontier",
    "here",
    "best",
    "degrees",
    "adjacency",
)
"""What the network sees of an unseen link, in this order."""
OWN = 21
"""So many of them differ from link to link, the rest are the walk's."""
ALIKE_FROM, TWINS_FROM = 1.5, 4.0
"""Spreads above the mean from which a page is like another, a little or very much."""


class Worth(NamedTuple):
    """How worth is found, as the kernel takes it."""

    detour: float
    crowding: float
    likeness: float
    temperature: float
    mean: float
    """Of the cosines of any two pages."""
    spread: float
    into: Float32s
    """[SIGHTS, H]: the network's hidden layer; H is 0 without one."""
    bias: Float32s
    """[H]."""
    out: Float32s
    """[H]: what is added to the worth for each hidden unit."""


@guarded
def measured(cosine: float | np.float32, worth: Worth) -> Any:
    """A cosine in spreads above the mean of its table."""
    return np.float32((cosine - worth.mean) / worth.spread)


@guarded
def constants(cosine: Any, crowd: Any, away: int, detour: float, crowding: float) -> Any:
    """What a link is worth by the constants alone, ``away`` clicks more than one from here."""
    value = cosine - np.float32(detour * away)
    if crowding > 0:
        value -= np.float32(crowding) * np.log1p(crowd)
    return value


@guarded
def likeness(cosine: Any, above: float) -> Any:
    """How far two pages are alike: 0 up to a cosine of ``above``, then linearly up to 1."""
    return max(np.float32(0), (cosine - np.float32(above)) / np.float32(1 - above))


@guarded
def liken(facts: Float32s, alike: Any, page: Any, best: Any) -> None:
    """Take note of a page seen: how like it an unseen one is, measured, and what that page came to."""
    facts[ALIKE] += max(np.float32(0), alike - np.float32(ALIKE_FROM))
    facts[TWINS] += max(np.float32(0), alike - np.float32(TWINS_FROM))
    if alike > facts[CLOSEST]:
        facts[CLOSEST], facts[CLOSEST_PAGE], facts[CLOSEST_LINK] = alike, page, best


@guarded
def see(
    sights: Float32s,
    facts: Float32s,
    away: int,
    step: int,
    tried: float,
    degree: float,
    walk: Float32s,
    worth: Worth,
) -> None:
    """Write what the network sees of a link; ``walk``: the mean, spread and best of the cosines of links seen."""
    own = measured(facts[COSINE] / walk[3], worth)
    sights[0] = own
    sights[1] = (own - walk[0]) / walk[1]
    sights[2] = walk[2] - own
    sights[3] = facts[PAGE]
    sights[4] = facts[LINK]
    sights[5] = facts[BEHIND]
    sights[6] = facts[RANK]
    sights[7] = facts[ADJACENT]
    sights[8] = np.log1p(facts[RUN])
    sights[9] = facts[BEST_PAGE]
    sights[10] = np.log1p(facts[LINKED])
    sights[11] = np.log1p(facts[CROWD])
    sights[12] = np.log1p(facts[ALIKE])
    sights[13] = np.log1p(facts[TWINS])
    sights[14] = facts[CLOSEST]
    sights[15] = facts[CLOSEST_PAGE]
    sights[16] = facts[CLOSEST_LINK]
    sights[17] = away
    sights[18] = np.log1p(np.float32(step) - facts[ORIGIN])
    sights[19] = np.log1p(tried)
    sights[20] = np.log1p(degree)


@guarded
def see_walk(sights: Float32s, step: int, frontier: int, here: float, walk: Float32s) -> None:
    """Write what the network sees of the walk, whatever the link."""
    sights[21] = np.log1p(np.float32(step))
    sights[22] = np.log1p(np.float32(frontier))
    sights[23] = here
    sights[24] = walk[2]
    sights[25] = walk[4]
    sights[26] = walk[5]


@guarded
def settled(sights: Float32s, worth: Worth, hidden: Float32s) -> None:
    """The part of the hidden layer that is the same for all links of a step."""
    for h in range(hidden.shape[0]):
        hidden[h] = worth.bias[h]
    for i in range(OWN, sights.shape[0]):
        for h in range(hidden.shape[0]):
            hidden[h] += sights[i] * worth.into[i, h]


@guarded
def judged(sights: Float32s, common: Float32s, hidden: Float32s, worth: Worth) -> Any:
    """What the network adds to the worth of a link."""
    for h in range(hidden.shape[0]):
        hidden[h] = common[h]
    for i in range(OWN):
        for h in range(hidden.shape[0]):
            hidden[h] += sights[i] * worth.into[i, h]
    value = np.float32(0)
    for h in range(hidden.shape[0]):
        value += max(hidden[h], np.float32(0)) * worth.out[h]
    return value
