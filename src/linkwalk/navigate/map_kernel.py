"""The walk of ``map_walkers``, compiled: a batch of episodes, the map of each, and what the links on it are worth."""

from typing import Any

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.compiled import kernel, within
from linkwalk.graph.csr import Csr, links_of
from linkwalk.graph.hashes import EMPTY, slot_of
from linkwalk.navigate.click_weights import NOWHERE, WayWorth
from linkwalk.navigate.cosine import cosine
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.navigate.map_sights import (
    ADJACENCY,
    ADJACENT,
    BEHIND,
    BEST_PAGE,
    CLOSEST,
    COSINE,
    DEGREE,
    FACTS,
    LINK,
    LINKED,
    ORIGIN,
    OWN,
    PAGE,
    RANK,
    RUN,
    SIGHTS,
    WALK,
    MapNotes,
    Worth,
    constants,
    crowd,
    liken,
    link_from,
    measured,
    moving,
    note,
    see,
    see_walk,
    settle,
    tally,
    tally_page,
    trained,
)
from linkwalk.walks.draws import draw, key_of, pick

_NOT_SEEN = -1
_NOWHERE = -3  # the page itself, which no step leads to


@kernel
def walk_with_map(
    graph: Csr,
    vectors: Float32s,
    value: Worth,
    sampled: bool,
    window: int,
    episodes: Episodes,
    seed: np.uint64,
    journeys: Journeys,
    told: WayWorth,
    notes: MapNotes,
) -> None:
    """Fill the journeys of a batch; the queries [B, D] are looked in, ``window`` 0 means no back button.

    Of a single episode, walked before, ``told`` takes what each way was worth.
    """
    indices = graph.indices
    starts, goals, numbers, _ = episodes
    directions: Any = episodes.queries
    learned = value.weights.shape[0] > 0
    crowds = learned or value.crowding > 0
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
    tried = np.empty(budget + 1, np.float32)
    by_page = np.zeros(budget + 1, np.float32)
    walk = np.empty(WALK, np.float32)
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
        length = np.float32(max(np.sqrt(cosine(direction, direction)), 1e-6))
        walk[:] = 0
        arrived = True  # at a page not seen before: its links go onto the map
        while node != goal and step < budget:
            begin, last = links_of(graph, node)
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
                tried[step] = 0
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
                            changed = crowd(facts[at], alike, value)
                            if learned:
                                z = measured(alike, value)
                                if liken(facts[at], z, page_cosine[step], page_best[step]) or changed:
                                    settle(facts[at], value.weights)
                for way in range(degree):
                    target = indices[begin + way]
                    at = slot_of(pages, target)
                    if pages[at] == EMPTY:
                        pages[at], seen[at], reached[at] = target, _NOT_SEEN, -1
                        facts[at] = 0
                        facts[at, COSINE] = cosines[way]
                        if learned:
                            facts[at, OWN] = measured(cosines[way] / length, value)
                            facts[at, ORIGIN], facts[at, DEGREE] = step, np.log1p(np.float32(degree))
                            facts[at, PAGE] = facts[at, BEST_PAGE] = page_cosine[step]
                            facts[at, LINK] = measured(cosine(vectors[target], vectors[node]), value)
                            facts[at, BEHIND] = page_best[step] - facts[at, OWN]
                            facts[at, RANK] = np.log1p(ranks[way])
                            facts[at, CLOSEST] = -np.inf
                            if abs(target - node) == 1:
                                facts[at, ADJACENT], facts[at, RUN] = 1, facts[here, RUN] + 1
                                walk[ADJACENCY] += 1
                            tally(walk, facts[at, OWN])
                        if crowds:
                            for past in range(step + 1):
                                # A page stood on twice counts once, at its first visit.
                                if seen[slot_of(pages, nodes[e, past])] == past:
                                    alike = cosine(vectors[target], vectors[nodes[e, past]])
                                    crowd(facts[at], alike, value)
                                    if learned:
                                        z = measured(alike, value)
                                        liken(facts[at], z, page_cosine[past], page_best[past])
                        frontier[known] = at
                        known += 1
                    if seen[at] == _NOT_SEEN:
                        link_from(facts[at], facts[here], value)
                    if learned and seen[at] == _NOT_SEEN:
                        facts[at, LINKED] += 1
                        facts[at, BEST_PAGE] = max(facts[at, BEST_PAGE], page_cosine[step])
                        settle(facts[at], value.weights)
                tally_page(walk, degree)
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
                    link, stop = links_of(graph, pages[at])
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
            noting = picked < notes.steps.shape[0] and notes.steps[picked] == step
            if noting:
                all_sights = np.empty((count, len(SIGHTS)), np.float32)
                all_plain, all_worth = np.empty(count, np.float32), np.empty(count, np.float32)
            if learned:
                moving(by_page, tried, step, value.weights)
            for i in range(count):
                to = near[i]
                worth = constants(facts[to], clicks[i], value)
                if learned:
                    page = int(facts[to, ORIGIN])
                    if noting:
                        see(all_sights[i], facts[to], clicks[i], step, tried[page], walk)
                        see_walk(all_sights[i], step, count, page_cosine[seen[here]], walk)
                        all_plain[i] = worth
                    worth += trained(facts[to], clicks[i], by_page[page], walk, value.weights)
                if noting:
                    all_worth[i] = worth
                way = first[to] if first[to] != BACK else degree
                if worth > ways[way]:
                    ways[way], heads[way] = worth, pages[to]
            if noting:
                note(notes, picked, all_sights, all_plain, all_worth, clicks, pages[near[:count]])
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
                        chances[way] = np.exp(value.temperature * (ways[way] - best))
                if sampled:
                    choice = pick(draw(key, step), chances)
                probability = chances[choice] / chances.sum()
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
