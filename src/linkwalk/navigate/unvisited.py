"""The honest baseline: greedy by cosine, never to a page seen before; with a back button, best-first.

Under the paper's rules only the links of the current page count. Where all of them lead to pages seen before, the agent
takes the one seen longest ago, which walks it out of a corner instead of to and fro.

With a back button the unseen links of the last 16 pages opened compete, and the agent goes back, one step a page, to
the page of the best one. Pages it goes back from are closed, as in a browser: their links are gone until it comes by
again. Where no link is left, it goes back one page, and from the start to the page seen longest ago.
"""

import numpy as np

from linkwalk.arrays import Float32s, Int32s, Int64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.navigate.cosine import cosine, in_kernel
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.navigate.memory import NEVER, blank_memory, last_seen, remember
from linkwalk.navigate.walker import Walker
from linkwalk.navigate.weights import COSINE, NOWHERE, Outlook, Weights

NONE = -1


class Unvisited(Walker):
    """Takes the link to the unseen page closest to the goal."""

    def _walk(self, episodes: Episodes, directions: Float32s, seed: np.uint64, journeys: Journeys) -> None:
        window = self.ways.window if self.ways.back else 0
        ways = self.graph.indptr, self.graph.indices, in_kernel(self.vectors), window
        unvisited(*ways, episodes.starts, episodes.goals, directions, journeys)

    def _weigh(self, out: Outlook, episode: Episodes, direction: Float32s, seed: int) -> Weights:
        cosines = out.cosines(self.vectors, direction[0])
        worth = np.where(out.links & ~out.seen(), cosines, np.float32(np.nan))
        towards = np.full(len(worth), NOWHERE, np.int32)
        if self.ways.back:
            worth[out.buttons], towards[out.buttons] = self._behind(out, cosines)
        return out.by_worth(worth, COSINE, scale=self.ways.constants.temperature, towards=towards)

    def _behind(self, out: Outlook, cosines: Float32s) -> tuple[list[float], list[int]]:
        """The best unseen link of the pages behind the back button at each click: its cosine and its target."""
        path, choices, first = out.path.tolist(), out.choices.tolist(), dict[int, int]()
        for step, node in enumerate(path):
            first.setdefault(node, step)
        links = [slice(int(a), int(b) - 1) for a, b in zip(out.indptr, out.indptr[1:], strict=False)]
        targets = np.where(np.isnan(cosines), NOWHERE, out.targets)
        firsts = np.array([first.get(node, len(path)) for node in targets.tolist()])
        opened, found = [0], []  # the clicks at which the pages behind the button were first stood on
        best, to, aim = np.nan, NOWHERE, NONE
        for step, choice in enumerate(choices):
            top = len(opened) - 1
            if aim in (NONE, top):  # else it is on its way back to a link, and looks for no other
                best, to, page = np.nan, NOWHERE, NONE
                for at in range(top - 1, max(top - self.ways.window, -1), -1) if aim == NONE else ():
                    own = np.where(firsts[links[opened[at]]] > step, cosines[links[opened[at]]], np.nan)
                    if not np.isnan(own).all() and not np.nanmax(own) <= best:
                        best, page = float(np.nanmax(own)), at
                        to = int(targets[links[opened[at]]][np.nanargmax(own)])
                aim = page if choice == BACK else NONE
            found.append((best, to))
            opened = opened[:-1] if choice == BACK else [*opened, step + 1]
        return [worth for worth, _ in found], [to for _, to in found]


@kernel
def best_unseen(
    indptr: Int64s, indices: Int32s, vectors: Float32s, node: int, query: Float32s, memory: Int32s
) -> tuple[int, np.float32]:
    """The link to an unseen page that is closest to the goal, the first of equals, and its cosine; or NONE."""
    choice, best = NONE, np.float32(-np.inf)
    first, last = row_of(indptr, node, indices.shape[0])
    for i in range(last - first):
        target = within(indices[first + i], vectors.shape[0])
        if last_seen(memory, target) == NEVER:
            score = cosine(vectors[target], query)
            if score > best:
                choice, best = i, score
    return choice, best


@kernel
def _longest_ago(indptr: Int64s, indices: Int32s, node: int, memory: Int32s) -> int:
    """The link to the page that was last stood on the longest ago, the first of equals; or NONE."""
    choice, oldest = NONE, np.iinfo(np.int32).max
    first, last = row_of(indptr, node, indices.shape[0])
    for i in range(last - first):
        seen = last_seen(memory, indices[first + i])
        if seen < oldest:
            choice, oldest = i, seen
    return choice


@kernel
def unvisited(
    indptr: Int64s,
    indices: Int32s,
    vectors: Float32s,
    window: int,
    starts: Int32s,
    goals: Int32s,
    queries: Float32s,
    journeys: Journeys,
) -> None:
    """Fill the journeys of a batch; ``window`` pages compete, and 0 means that there is no back button."""
    nodes, choices, probabilities, steps, success, looped = journeys
    budget = choices.shape[1]
    # The pages behind the back button, the current one on top, each with its best unseen link. That one is looked for
    # again only once it has been seen, since what is unseen only becomes less.
    opened = np.empty(budget + 1, np.int32)
    links = np.empty(budget + 1, np.int64)
    scores = np.empty(budget + 1, np.float32)
    for e in range(starts.shape[0]):
        memory = blank_memory(budget)
        query = queries[e]
        node, goal, top, step = starts[e], goals[e], 0, 0
        nodes[e, 0] = opened[0] = node
        remember(memory, node, 0)
        links[0], scores[0] = best_unseen(indptr, indices, vectors, node, query, memory)
        page = (
            NONE  # where in ``opened`` the best link is; once chosen, the agent goes all the way back to it
        )
        while node != goal and step < budget:
            score = np.float32(-np.inf)
            for at in range(top, max(top - max(window, 1), -1) if page == NONE else top, -1):
                if links[at] == NONE:
                    continue
                if last_seen(memory, indices[indptr[opened[at]] + links[at]]) != NEVER:
                    links[at], scores[at] = best_unseen(indptr, indices, vectors, opened[at], query, memory)
                if links[at] != NONE and scores[at] > score:
                    page, score = at, scores[at]
            if page == NONE:
                choice = _longest_ago(indptr, indices, node, memory)
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
                looped[e] |= last_seen(memory, node) != NEVER
                if window > 0:
                    top += 1
                opened[top] = node
            choices[e, step] = choice
            probabilities[e, step] = 1
            step += 1
            nodes[e, step] = node
            remember(memory, node, step)
            if not go_back:
                links[top], scores[top] = best_unseen(indptr, indices, vectors, node, query, memory)
        steps[e] = step
        success[e] = node == goal
