"""A walker with a map: it remembers the links of every page it has been at, and clicks its way to the best of them.

It sees what the paper's agent sees, the current page's links, and moves as that one moves, along them. But a link it
saw ten pages ago is not forgotten: if pages it knows lead back there, it can be reached, and its target competes with
the links of the current page. The worth of an unseen target ``a`` is

    a.q - crowding * log(1 + c(a)) - detour * (steps on the map - 1)

with vectors of unit length and ``q`` the direction looked in. ``c(a)`` counts the pages already seen that are like
``a``, each from 0 at a cosine of ``likeness`` to 1 at a cosine of 1: where many such pages were no good, the next one
will not be. Without this term a walker reads the thirty blocks of an article that is nearly the right one. The walker
takes the first step of a shortest way on its map to the unseen target worth most, and thinks again on the next page.
Of equally short ways the first counts: the back button before links, links in their order. Where all that can be
reached has been seen, it goes on to the page it saw first, and nothing will come of it.

With a back button, the last 16 pages opened, the current one among them, are one press a page away, and are on the map
as well. Where all that these lead to has been seen, it goes back one page, and looks again from there.
"""

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linkwalk.compiled import guarded, kernel, row_of, within
from linkwalk.graph.csr import Int32s, Int64s
from linkwalk.navigate.cosine import cosine, in_kernel
from linkwalk.navigate.journeys import BACK, Episodes, Float32s, Journeys
from linkwalk.navigate.network import MapNetwork, measure_of
from linkwalk.navigate.noted import NOTHING_NOTED, Noted, note
from linkwalk.navigate.values import (
    ADJACENT,
    BEHIND,
    BEST_PAGE,
    CLOSEST,
    COSINE,
    CROWD,
    FACTS,
    LINK,
    LINKED,
    ORIGIN,
    PAGE,
    RANK,
    RUN,
    SIGHTS,
    Worth,
    constants,
    judged,
    liken,
    likeness,
    measured,
    see,
    see_walk,
    settled,
)
from linkwalk.navigate.walker import Walker
from linkwalk.navigate.weights import NOWHERE, WORTH, Outlook, Weights
from linkwalk.walks.draws import draw, key_of

EMPTY, _NOT_SEEN = -1, -1
_NOWHERE = -3  # the page itself, which no step leads to
_FRACTION, _UNIT = np.uint64(11), 2.0**-53


class Mapped(Walker):
    """Clicks its way to the best link it remembers, looking straight at the goal."""

    minds: ClassVar[frozenset[str]] = frozenset({"back", "sampled"})
    network: MapNetwork = MapNetwork.blank()
    """What is added to the constants."""

    def worth(self) -> Worth:
        """How the kernel finds what a link is worth."""
        return Worth(*self.ways.map.trades(), *self._measure, *self.network)

    @cached_property
    def _measure(self) -> tuple[float, float]:
        return measure_of(self.vectors) if len(self.network.bias) else (0.0, 1.0)

    def _walk(self, episodes: Episodes, directions: Float32s, seed: np.uint64, journeys: Journeys) -> None:
        self._fill(episodes, directions, seed, journeys, NOT_TOLD)

    def note(self, episode: Episodes, noted: Noted, *, budget: int, seed: int = 0) -> None:
        """Walk one episode, and write down what is seen at the steps to be noted."""
        again = Journeys.blank(1, budget)
        self._fill(episode, self._looks(episode), np.uint64(seed), again, NOT_TOLD, noted)

    def _fill(
        self,
        episodes: Episodes,
        directions: Float32s,
        seed: np.uint64,
        journeys: Journeys,
        told: "Told",
        noted: Noted = NOTHING_NOTED,
    ) -> None:
        mapped(
            self.graph.indptr,
            self.graph.indices,
            in_kernel(self.vectors),
            self.worth(),
            bool(self.ways.sampled),
            self.ways.window if self.ways.back else 0,
            episodes.starts,
            episodes.goals,
            directions,
            episodes.numbers,
            seed,
            journeys,
            told,
            noted,
        )

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        """Walked once more, with what decided it written down."""
        told = Told(np.empty(len(out.targets), np.float32), np.full(len(out.targets), NOWHERE, np.int32))
        journeys = Journeys.blank(1, len(out.pages))
        self._fill(episode, direction, np.uint64(seed), journeys, told)
        return out.by_worth(told.worth, WORTH, scale=self.ways.map.temperature, towards=told.towards)


class Told(NamedTuple):
    """What the ways out of each page of one journey were worth, links first, then the back button, page by page."""

    worth: Float32s
    towards: Int32s


NOT_TOLD = Told(np.zeros(0, np.float32), np.zeros(0, np.int32))


@guarded
def slot_of(pages: Int32s, node: int) -> Any:
    """Where a page is in a hash table of pages, or the free slot where it would be; the mask keeps all within."""
    mask = pages.shape[0] - 1
    at = ((node * 0x9E3779B1) >> 7) & mask
    while pages[at] != EMPTY and pages[at] != node:
        at = (at + 1) & mask
    return at


@kernel
def mapped(
    indptr: Int64s,
    indices: Int32s,
    vectors: Float32s,
    value: Worth,
    sampled: bool,
    window: int,
    starts: Int32s,
    goals: Int32s,
    directions: Float32s,
    numbers: Int64s,
    seed: np.uint64,
    journeys: Journeys,
    told: Told,
    noted: Noted,
) -> None:
    """Fill the journeys of a batch; ``directions`` [B, D] are looked in, ``window`` 0 means no back button.

    Of a single episode, walked before, ``told`` takes what each way was worth.
    """
    detour, crowding, above, temperature = value.detour, value.crowding, value.likeness, value.temperature
    learned = value.bias.shape[0] > 0
    crowds = learned or crowding > 0
    worth_told, towards_told = told
    line = 0
    nodes, choices, probabilities, steps, success, looped = journeys
    budget = choices.shape[1]
    size = 1024
    # The map, a hash table of pages: those stood on, and the unseen targets of their links (the frontier).
    pages = np.empty(size, np.int32)
    seen = np.empty(size, np.int32)  # the step of the first visit
    facts = np.zeros((size, FACTS), np.float32)  # of the frontier
    reached = np.empty(size, np.int32)  # the step in which the search below last came here
    first = np.empty(size, np.int32)  # the first move on the way: a link's number, or BACK
    frontier = np.empty(size // 2, np.int32)  # slots
    queue = np.empty(budget + 1, np.int32)
    opened = np.empty(budget + 1, np.int32)  # pages behind the back button, the current one on top
    near = np.empty(size // 2, np.int32)  # the frontier that can be reached, nearest first: slots
    clicks = np.empty(size // 2, np.int32)  # clicks to get there, less one
    # Of pages stood on, by the step of the first visit: cosine to the direction, the best of their links, ...
    page_cosine, page_best = np.empty(budget + 1, np.float32), np.empty(budget + 1, np.float32)
    page_degree, tried = np.empty(budget + 1, np.float32), np.empty(budget + 1, np.float32)
    walk = np.empty(6, np.float32)
    sights, common = np.empty(len(SIGHTS), np.float32), np.empty(value.bias.shape[0], np.float32)
    hidden = np.empty(value.bias.shape[0], np.float32)
    picked = 0
    for e in range(starts.shape[0]):
        key = key_of(seed, 0, numbers[e])
        direction = directions[e]
        pages[:] = EMPTY
        node, goal, step, top, known = within(starts[e], vectors.shape[0]), goals[e], 0, 0, 0
        nodes[e, 0] = opened[0] = node
        at = slot_of(pages, node)
        pages[at], seen[at], reached[at] = node, 0, -1
        facts[at] = 0
        facts[at, COSINE] = cosine(vectors[node], direction)
        length = np.float32(max(np.sqrt(np.dot(direction, direction)), 1e-6))
        counted, adjacent, read, total_cosine, total_square, total_degree = 0, 0, 0, 0.0, 0.0, 0.0
        walk[0], walk[1], walk[2], walk[3], walk[4], walk[5] = 0, 1, 0, length, 0, 0
        arrived = True  # at a page not seen before: its links go onto the map
        while node != goal and step < budget:
            begin, last = row_of(indptr, node, indices.shape[0])
            degree = last - begin
            here = slot_of(pages, node)
            if arrived:
                if 2 * (known + budget + degree + 1) > size:
                    old, old_seen, old_facts = pages, seen, facts
                    while 2 * (known + budget + degree + 1) > size:
                        size *= 2
                    pages = np.full(size, EMPTY, np.int32)
                    seen, reached = np.empty(size, np.int32), np.full(size, -1, np.int32)
                    facts, near = np.zeros((size, FACTS), np.float32), np.empty(size // 2, np.int32)
                    first, clicks = np.empty(size, np.int32), np.empty(size // 2, np.int32)
                    frontier, known = np.empty(size // 2, np.int32), 0
                    for i in range(old.shape[0]):
                        if old[i] != EMPTY:
                            at = slot_of(pages, old[i])
                            pages[at], seen[at], facts[at] = old[i], old_seen[i], old_facts[i]
                            if old_seen[i] == _NOT_SEEN:
                                frontier[known] = at
                                known += 1
                    here = slot_of(pages, node)
                cosines = np.empty(degree, np.float32)
                for way in range(degree):
                    target = within(indices[begin + way], vectors.shape[0])
                    at = slot_of(pages, target)
                    cosines[way] = (
                        cosine(vectors[target], direction) if pages[at] == EMPTY else facts[at, COSINE]
                    )
                page_cosine[step], page_best[step] = measured(facts[here, COSINE] / length, value), 0
                page_degree[step], tried[step] = degree, 0
                if degree > 0:
                    page_best[step] = measured(cosines.max() / length, value)
                if learned:
                    tried[int(facts[here, ORIGIN])] += 1
                    ranks = np.empty(degree, np.float32)
                    order = np.argsort(-cosines)
                    for i in range(degree):
                        ranks[order[i]] = i
                if crowds and step > 0:  # this page is one more that others may be like
                    for i in range(known):
                        at = frontier[i]
                        if seen[at] == _NOT_SEEN:
                            alike = cosine(vectors[pages[at]], vectors[node])
                            facts[at, CROWD] += likeness(alike, above)
                            if learned:
                                z = measured(alike, value)
                                liken(facts[at], z, page_cosine[step], page_best[step])
                for way in range(degree):
                    target = indices[begin + way]
                    at = slot_of(pages, target)
                    if pages[at] == EMPTY:
                        pages[at], seen[at], reached[at] = target, _NOT_SEEN, -1
                        facts[at] = 0
                        facts[at, COSINE] = cosines[way]
                        if learned:
                            own = measured(cosines[way] / length, value)
                            facts[at, ORIGIN] = step
                            facts[at, PAGE] = facts[at, BEST_PAGE] = page_cosine[step]
                            facts[at, LINK] = measured(cosine(vectors[target], vectors[node]), value)
                            facts[at, BEHIND] = page_best[step] - own
                            facts[at, RANK] = np.log1p(ranks[way])
                            facts[at, CLOSEST] = -np.inf
                            if abs(target - node) == 1:
                                facts[at, ADJACENT], facts[at, RUN] = 1, facts[here, RUN] + 1
                                adjacent += 1
                            counted += 1
                            total_cosine += own
                            total_square += own * own
                            walk[2] = own if counted == 1 else max(walk[2], own)
                        if crowds:
                            for past in range(step + 1):
                                # A page stood on twice counts once, at its first visit.
                                if seen[slot_of(pages, nodes[e, past])] == past:
                                    alike = cosine(vectors[target], vectors[nodes[e, past]])
                                    facts[at, CROWD] += likeness(alike, above)
                                    if learned:
                                        z = measured(alike, value)
                                        liken(facts[at], z, page_cosine[past], page_best[past])
                        frontier[known] = at
                        known += 1
                    if learned and seen[at] == _NOT_SEEN:
                        facts[at, LINKED] += 1
                        facts[at, BEST_PAGE] = max(facts[at, BEST_PAGE], page_cosine[step])
                read += 1
                total_degree += np.log1p(degree)
                walk[4] = total_degree / read
                if counted > 0:
                    walk[5] = adjacent / counted
                    walk[0] = total_cosine / counted
                    walk[1] = max(0.25, np.sqrt(max(0.0, total_square / counted - walk[0] * walk[0])))
            # Search the map from here, nearest pages first. A way's worth is that of the best target it leads to.
            ways = np.full(degree + 1, -np.inf, np.float32)  # by first move; the last one is the back button
            heads = np.full(degree + 1, NOWHERE, np.int32)  # the targets that make them worth it
            reached[here], first[here] = step, _NOWHERE
            queue[0] = here
            head, end, tail, away, count = 0, 1, 1, 0, 0  # the pages from head to end are so many moves away
            while head < end or (top > away and away + 1 < window):
                # One more press of the back button; by itself, since links may lead to a page behind it sooner.
                if top > away and away + 1 < window:
                    to = slot_of(pages, opened[top - away - 1])
                    if reached[to] != step:
                        reached[to], first[to] = step, BACK
                        queue[tail] = to
                        tail += 1
                while head < end:
                    at = queue[head]
                    head += 1
                    link, stop = row_of(indptr, pages[at], indices.shape[0])
                    for edge in range(link, stop):
                        to = slot_of(pages, indices[edge])
                        if reached[to] == step:
                            continue
                        reached[to] = step
                        first[to] = edge - link if at == here else first[at]
                        if seen[to] != _NOT_SEEN:
                            queue[tail] = to
                            tail += 1
                            continue
                        near[count], clicks[count] = to, away
                        count += 1
                end = tail
                away += 1
            noting = picked < noted.steps.shape[0] and noted.steps[picked] == step
            if noting:
                all_sights = np.empty((count, len(SIGHTS)), np.float32)
                all_plain, all_worth = np.empty(count, np.float32), np.empty(count, np.float32)
            if learned:
                see_walk(sights, step, count, page_cosine[seen[here]], walk)
                settled(sights, value, common)
            for i in range(count):
                to = near[i]
                worth = constants(facts[to, COSINE], facts[to, CROWD], clicks[i], detour, crowding)
                plain = worth
                if learned:
                    origin = int(facts[to, ORIGIN])
                    see(sights, facts[to], clicks[i], step, tried[origin], page_degree[origin], walk, value)
                    worth += judged(sights, common, hidden, value)
                if noting:
                    all_sights[i], all_worth[i] = sights, worth
                    all_plain[i] = plain
                way = first[to] if first[to] != BACK else degree
                if worth > ways[way]:
                    ways[way], heads[way] = worth, pages[to]
            if noting:
                note(noted, picked, all_sights, all_plain, all_worth, clicks, pages[near[:count]])
                picked += 1
            if worth_told.shape[0] > 0:
                worth_told[line : line + degree + 1] = ways
                towards_told[line : line + degree + 1] = heads
                line += degree + 1
            choice = 0
            for way in range(degree + 1):
                if ways[way] > ways[choice]:
                    choice = way
            best = ways[choice]
            probability = np.float64(1)
            if best == -np.inf and window > 0 and top > 0:
                choice = degree
            elif best == -np.inf:
                if degree == 0:
                    break
                oldest = np.iinfo(np.int32).max
                for way in range(degree):
                    then = seen[slot_of(pages, indices[begin + way])]
                    if then < oldest:
                        choice, oldest = way, then
            else:
                chances = np.zeros(degree + 1)
                for way in range(degree + 1):
                    if ways[way] > -np.inf:  # at a temperature of 0, too, only ways to something new
                        chances[way] = np.exp(temperature * (ways[way] - best))
                total = chances.sum()
                if sampled:
                    left = np.float64(draw(key, step) >> _FRACTION) * _UNIT * total
                    for way in range(degree + 1):
                        if chances[way] > 0:
                            choice = way
                            left -= chances[way]
                            if left < 0:
                                break
                probability = chances[choice] / total
            if choice == degree:
                top -= 1
                node = opened[top]
                choices[e, step] = BACK
            else:
                node = indices[begin + choice]
                choices[e, step] = choice
                top += 1
                opened[top] = node
            probabilities[e, step] = probability
            step += 1
            nodes[e, step] = node
            at = slot_of(pages, node)
            arrived = seen[at] == _NOT_SEEN
            if arrived:
                seen[at] = step
            elif choice != degree:
                looped[e] = True
        steps[e] = step
        success[e] = node == goal
