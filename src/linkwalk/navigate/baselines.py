"""The agents that need no training, by name (sec. 5.2): random, greedy, depth-first, and the honest baseline.

Random and greedy look at the page before them and at nothing else. With a back button they have one more action, the
page they came from: random takes it as often as any link, greedy scores it as it does a link. An agent on a page
without a link, and without a way back, has failed.

Depth-first search: the paper says "DFS of depth equal to number of steps": the task's T bounds how many links below the
start the agent goes. It does not say what going back costs. Here every move costs a step, back as well as forth, as the
page one goes back to is opened again. No page is entered twice; once the search has nothing left, the agent stops.

The honest baseline is greedy by cosine, never to a page seen before; with a back button, best-first. Under the paper's
rules only the links of the current page count. Where all of them lead to pages seen before, the agent takes the one
seen longest ago, which walks it out of a corner instead of to and fro. With a back button the unseen links of the last
16 pages opened compete, and the agent goes back, one step a page, to the page of the best one. Pages it goes back from
are closed, as in a browser: their links are gone until it comes by again. Where no link is left, it goes back one page,
and from the start to the page seen longest ago.
"""

from typing import Any, ClassVar

import numpy as np

from linkwalk.arrays import Float32s, Int32s
from linkwalk.compiled import guarded, kernel, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, links_of
from linkwalk.graph.hashes import GOLDEN, slot_of
from linkwalk.navigate.agents import Walker
from linkwalk.navigate.click_weights import COSINE, NO_WORTH, NOWHERE, ClickWeights, WaysOut, WayWorth
from linkwalk.navigate.cosine import Units, cosine, in_kernel
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.navigate.map_walkers import LearnedMapWalker, MapWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.walks.draws import below, draw, key_of

NONE, NEVER = -1, -1
_UPPER = np.uint64(0xFFFFFFFF00000000)


class Random(Walker):
    """Takes any link, each as often as any other."""

    blind: ClassVar[bool] = True

    def _walk(self, episodes: Episodes, seed: np.uint64, journeys: Journeys) -> None:
        depth = self.ways.depth if self.goes_back else NONE
        vectors = in_kernel(self.vectors)
        _walk_simply(self.graph, vectors, not self.blind, self.ways.back, depth, episodes, seed, journeys)

    def _weigh(self, out: WaysOut, episode: Episodes, direction: Float32s, seed: int) -> ClickWeights:
        may = out.targets != NOWHERE
        if self.goes_back:  # down to unseen pages; the back button is for where there are none
            down = np.where(out.choices == BACK, -1, 1)
            may = out.links & ~out.seen() & (np.cumsum(down) - down < self.ways.depth)[out.owner]
        if self.blind:
            return out.by_chance(may)
        worth = np.where(may, out.cosines(self.vectors, direction), np.float32(np.nan))
        return out.by_worth(worth, COSINE, scale=self.ways.constants.temperature)


class Greedy(Random):
    """Takes the link whose target is closest to the goal, the first of equals."""

    blind: ClassVar[bool] = False


class RandomDepthFirst(Random):
    """Goes down by any link to an unseen page, and back where there is none, or where it is deep enough."""

    goes_back: ClassVar[bool] = True


class GreedyDepthFirst(Greedy):
    """Goes down by the link to the unseen page closest to the goal."""

    goes_back: ClassVar[bool] = True


class GreedyUnvisited(Walker):
    """Takes the link to the unseen page closest to the goal."""

    def _walk(
        self, episodes: Episodes, seed: np.uint64, journeys: Journeys, behind: WayWorth = NO_WORTH
    ) -> None:
        window = self.ways.window if self.ways.back else 0
        _walk_unvisited(self.graph, in_kernel(self.vectors), window, episodes, journeys, behind)

    def _weigh(self, out: WaysOut, episode: Episodes, direction: Float32s, seed: int) -> ClickWeights:
        cosines = out.cosines(self.vectors, direction)
        worth = np.where(out.links & ~out.seen(), cosines, np.float32(np.nan))
        towards = np.full(len(worth), NOWHERE, np.int32)
        if self.ways.back:  # walked once more, with what was behind the button written down
            behind = WayWorth.blank(len(out.pages))
            self._walk(episode, np.uint64(seed), Journeys.blank(1, len(out.pages)), behind)
            worth[out.buttons], towards[out.buttons] = behind
        return out.by_worth(worth, COSINE, scale=self.ways.constants.temperature, towards=towards)


BASELINES: dict[str, type[Walker]] = {
    "random": Random,
    "greedy": Greedy,
    "greedy-unvisited": GreedyUnvisited,
    "random-dfs": RandomDepthFirst,
    "greedy-dfs": GreedyDepthFirst,
    "greedy-map": MapWalker,
    "learned-map": LearnedMapWalker,
}
REFERENCE = "greedy-unvisited"
"""The agent whose failures all others are measured by."""


def open_baseline(
    name: str,
    graph: Csr,
    vectors: Units | None = None,
    ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
    *,
    workers: int = 1,
) -> Walker:
    """The baseline of that name on one graph; ``vectors`` [N, D] of unit length."""
    if name not in BASELINES:
        raise InputError(f"no agent named {name!r}: choose one of {', '.join(BASELINES)}")
    return BASELINES[name](name, graph, vectors, ways, workers=workers)


@kernel
def _walk_simply(
    graph: Csr,
    vectors: Float32s,
    greedy: bool,
    back: bool,
    depth: int,
    episodes: Episodes,
    seed: np.uint64,
    journeys: Journeys,
) -> None:
    """Fill the journeys of a batch: depth-first down to a ``depth``, or without memory where that is NONE.

    Greedy takes what is closest to the goal, the first of equals; random is uniform over what there is to take.
    """
    indptr, indices = graph
    starts, goals, numbers, _ = episodes
    queries: Any = episodes.queries
    nodes, choices, probabilities, steps, success, looped = journeys
    budget, searching = choices.shape[1], depth != NONE
    opened = np.empty(budget + 1, np.int32)  # the pages behind the back button, the current one on top
    for e in range(starts.shape[0]):
        memory = _blank_memory(budget)
        key, drawn = key_of(seed + GOLDEN, 0, numbers[e]), 0
        node, goal, top, step = within(starts[e], indptr.shape[0] - 1), goals[e], 0, 0
        nodes[e, 0] = opened[0] = node
        _remember(memory, node, 0)
        while node != goal and step < budget:
            first, last = links_of(graph, node)
            degree = last - first
            choice, count = NONE, 0
            if searching and top < depth and greedy:
                choice = _best_unseen(graph, vectors, node, queries[e], memory)[0]
            elif searching and top < depth:
                # The n-th unseen link replaces the choice with probability 1/n: uniform in one pass.
                for i in range(degree):
                    if _last_seen(memory, indices[first + i]) == NEVER:
                        count += 1
                        if _below(key, drawn, count) == 0:
                            choice = i
                        drawn += 1
            elif not searching:
                count = degree + 1 if back and top > 0 else degree
                if count == 0:
                    break
                choice, best = 0, np.float32(-np.inf)
                if not greedy:
                    choice = _below(key, step, count)
                for i in range(count if greedy else 0):
                    target = indices[first + i] if i < degree else opened[top - 1]
                    score = cosine(vectors[within(target, vectors.shape[0])], queries[e])
                    if score > best:
                        choice, best = i, score
            if choice == NONE and top == 0:
                break
            probabilities[e, step] = 1 if greedy or choice == NONE else 1 / count
            if 0 <= choice < degree:
                node = within(indices[first + choice], indptr.shape[0] - 1)
                choices[e, step] = choice
                looped[e] |= _last_seen(memory, node) != NEVER
                top += 1
                opened[top] = node
            else:
                choices[e, step] = BACK
                top -= 1
                node = opened[top]
            step += 1
            nodes[e, step] = node
            _remember(memory, node, step)
        steps[e] = step
        success[e] = node == goal


@kernel
def _walk_unvisited(
    graph: Csr, vectors: Float32s, window: int, episodes: Episodes, journeys: Journeys, behind: WayWorth
) -> None:
    """Fill the journeys of a batch; ``window`` pages compete, and 0 means that there is no back button.

    Of a single episode, ``behind`` takes the best link behind the back button at each step.
    """
    indptr, indices = graph
    starts, goals, _, _ = episodes
    queries: Any = episodes.queries
    nodes, choices, probabilities, steps, success, looped = journeys
    budget = choices.shape[1]
    # The pages behind the back button, the current one on top, each with its best unseen link. That one is looked for
    # again only once it has been seen, since what is unseen only becomes less.
    opened = np.empty(budget + 1, np.int32)
    links = np.empty(budget + 1, np.int64)
    scores = np.empty(budget + 1, np.float32)
    for e in range(starts.shape[0]):
        memory = _blank_memory(budget)
        query = queries[e]
        node, goal, top, step = starts[e], goals[e], 0, 0
        nodes[e, 0] = opened[0] = node
        _remember(memory, node, 0)
        links[0], scores[0] = _best_unseen(graph, vectors, node, query, memory)
        page = NONE  # where in ``opened`` the best link is; once chosen, the agent goes all the way back
        past, to = np.float32(-np.inf), NOWHERE
        while node != goal and step < budget:
            score = np.float32(-np.inf)
            if page in (NONE, top):  # else it is on its way back to a link, and looks for no other
                past, to = np.float32(-np.inf), NOWHERE
            for at in range(top, max(top - max(window, 1), -1) if page == NONE else top, -1):
                if links[at] == NONE:
                    continue
                if _last_seen(memory, indices[indptr[opened[at]] + links[at]]) != NEVER:
                    links[at], scores[at] = _best_unseen(graph, vectors, opened[at], query, memory)
                if links[at] != NONE and at < top and scores[at] > past:
                    past, to = scores[at], indices[indptr[opened[at]] + links[at]]
                if links[at] != NONE and scores[at] > score:
                    page, score = at, scores[at]
            if behind.worth.shape[0] > 0:
                behind.worth[step], behind.towards[step] = past, to
            if page == NONE:
                choice = _longest_ago(graph, node, memory)
                go_back = window > 0 and top > 0
            else:
                choice = links[page]
                go_back = page < top
            if go_back:
                choice = BACK
                top -= 1
                node = opened[top]
            elif choice == NONE:
                break
            else:
                page = NONE
                node = indices[indptr[node] + choice]
                looped[e] |= _last_seen(memory, node) != NEVER
                if window > 0:
                    top += 1
                opened[top] = node
            choices[e, step] = choice
            probabilities[e, step] = 1
            step += 1
            nodes[e, step] = node
            _remember(memory, node, step)
            if not go_back:
                links[top], scores[top] = _best_unseen(graph, vectors, node, query, memory)
        steps[e] = step
        success[e] = node == goal


@kernel
def _below(key: np.uint64, number: int, count: int) -> Any:
    """Draw ``number`` of an episode, from 0 to ``count - 1``: by the upper half of its bits alone."""
    return below(draw(key, number) & _UPPER, count)


@kernel
def _best_unseen(
    graph: Csr, vectors: Float32s, node: int, query: Float32s, memory: Int32s
) -> tuple[int, np.float32]:
    """The link to an unseen page that is closest to the goal, the first of equals, and its cosine; or NONE."""
    choice, best = NONE, np.float32(-np.inf)
    first, last = links_of(graph, node)
    for i in range(last - first):
        target = within(graph.indices[first + i], vectors.shape[0])
        if _last_seen(memory, target) == NEVER:
            score = cosine(vectors[target], query)
            if score > best:
                choice, best = i, score
    return choice, best


@kernel
def _longest_ago(graph: Csr, node: int, memory: Int32s) -> int:
    """The link to the page that was last stood on the longest ago, the first of equals; or NONE."""
    choice, oldest = NONE, np.iinfo(np.int32).max
    first, last = links_of(graph, node)
    for i in range(last - first):
        seen = _last_seen(memory, graph.indices[first + i])
        if seen < oldest:
            choice, oldest = i, seen
    return choice


@kernel
def _blank_memory(budget: int) -> Int32s:
    """Room for ``budget + 1`` pages in a hash table at most half full: pages, and the steps of their last visits."""
    size = 4
    while size < 2 * (budget + 1):
        size *= 2
    return np.full((2, size), NEVER, np.int32)


@guarded
def _last_seen(memory: Int32s, node: int) -> Any:
    """The step at which the page was last stood on, or NEVER."""
    return memory[1, slot_of(memory[0], node)]


@guarded
def _remember(memory: Int32s, node: int, step: int) -> None:
    """Note that the page is stood on at this step."""
    at = slot_of(memory[0], node)
    memory[0, at], memory[1, at] = node, step
