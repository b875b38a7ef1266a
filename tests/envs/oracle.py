"""The environment as one would write it without thinking of speed: one episode, lists and sets."""

import numpy as np

from linkwalk.graph.csr import Csr


class Plain:
    """One episode at a time on a graph."""

    def __init__(self, graph: Csr, kinds: np.ndarray, *, budget: int, back: bool, cost: float) -> None:
        self.graph, self.kinds, self.budget, self.back, self.cost = graph, kinds, budget, back, cost
        self.most = int(graph.degrees().max())

    def reset(self, start: int, goal: int) -> dict[str, object]:
        self.here, self.goal, self.steps = start, goal, 0
        self.been, self.trail = {start}, []
        return self.seen()

    def step(self, action: int) -> tuple[dict[str, object], float, bool, bool, bool]:
        links, illegal = self.graph.row(self.here).tolist(), False
        if 0 <= action < len(links):
            self.trail.append(self.here)
            self.here = links[action]
        elif self.back and action == self.most and self.trail:
            self.here = self.trail.pop()
        else:
            illegal = True
        self.steps += 1
        self.been.add(self.here)
        stuck = not len(self.graph.row(self.here)) and not (self.back and self.trail)
        terminated = self.here == self.goal or stuck
        truncated = not terminated and self.steps >= self.budget
        return self.seen(), (self.here == self.goal) - self.cost, terminated, truncated, illegal

    def seen(self) -> dict[str, object]:
        links = self.graph.row(self.here).tolist()
        first, blank = self.graph.indptr[self.here], self.most - len(links)
        mask = [1] * len(links) + [0] * blank
        return {
            "current": self.here,
            "goal": self.goal,
            "links": links + [-1] * blank,
            "kinds": self.kinds[first : first + len(links)].tolist() + [0] * blank,
            "visited": [int(link in self.been) for link in links] + [0] * blank,
            "action_mask": [*mask, int(bool(self.trail))] if self.back else mask,
        }
