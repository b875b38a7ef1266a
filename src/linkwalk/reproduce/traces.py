"""A gallery of journeys: goals that were found, and near misses (fig. 3).

A near miss is a journey that failed and had come close: what counts is the true distance to the goal from the nearest
page it stood on. The figure in the paper shows the same: where the agent fails, it visits pages very close by.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwalk.arrays import Int32s
from linkwalk.evaluate import TaskConfig, draw_episodes
from linkwalk.graph.paths import ShortestPaths, distances_from
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent

LONGEST = 12
"""Steps of a found goal that can still be read at a glance; longer ones are taken if there are no others."""
SHORTEST = 3
_AFTER = 3
_MISSES = 200


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One journey."""

    start: int
    goal: int
    success: bool
    path: tuple[int, ...]
    """The pages stood on, the start first."""
    optimum: tuple[int, ...]
    """A shortest path."""
    nearest: int
    """Where in the path its page nearest to the goal is, the first of equals."""
    left: int
    """Links from that page to the goal: 0 if the goal was found."""

    def rank(self) -> tuple[int, bool, int]:
        """Misses that came nearest first; of these, those that were neither there at once nor after a long search."""
        return self.left, not SHORTEST <= self.nearest <= LONGEST, self.nearest

    def to_json(self, graph: Graph) -> dict[str, Any]:
        """As ``linkwalk reproduce traces --json`` prints it."""

        def places(nodes: tuple[int, ...]) -> list[dict[str, Any]]:
            return [
                {"node": node, "title": graph.title(node), "block": int(graph.node_block[node])}
                for node in nodes
            ]

        (start,), (goal,) = places((self.start,)), places((self.goal,))
        return {
            "success": self.success,
            "start": start,
            "goal": goal,
            "steps": places(self.path[1:]),
            "distance": len(self.optimum) - 1,
            "optimum": places(self.optimum[1:]),
            "nearest_step": self.nearest,
            "links_left": self.left,
        }


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Some journeys of one agent, and out of how many."""

    agent: str
    task: TaskConfig
    budget: int
    success: float
    found: tuple[Trace, ...]
    missed: tuple[Trace, ...]


def gallery(graph: Graph, agent: Agent, task: TaskConfig, *, budget: int = 100, count: int = 4) -> Gallery:
    """Journeys of an agent: the farthest goals found, and the misses that came nearest, in articles of their own."""
    episodes = draw_episodes(graph.forward, graph.reverse, task)
    journeys = agent.run(episodes, budget=budget, seed=task.seed)
    search = ShortestPaths(graph.forward, graph.reverse)
    distances = search.distances(episodes.starts, episodes.goals)

    def trace(episode: int) -> Trace:
        start, goal = int(episodes.starts[episode]), int(episodes.goals[episode])
        path, success = journeys.path(episode), bool(journeys.success[episode])
        left = distances_from(graph.reverse, goal)[path]
        left[left < 0] = np.iinfo(left.dtype).max  # a page from which no way leads to the goal
        return Trace(
            start=start,
            goal=goal,
            success=success,
            path=tuple(path.tolist()),
            optimum=tuple(search.path(start, goal).nodes.tolist()),
            nearest=int(np.argmin(left)),
            left=int(left.min()),
        )

    wins = np.flatnonzero(journeys.success)
    # The farthest goals first, and of these the shortest journeys: what is easy shows nothing.
    too_long = journeys.steps[wins] > LONGEST
    wins = wins[np.lexsort((journeys.steps[wins], -distances[wins], too_long))]
    misses = {int(episode): trace(int(episode)) for episode in np.flatnonzero(~journeys.success)[:_MISSES]}
    nearest = sorted(misses, key=lambda episode: misses[episode].rank())
    articles = graph.node_article[episodes.goals]
    return Gallery(
        agent=agent.name,
        task=task,
        budget=budget,
        success=float(journeys.success.mean()),
        found=tuple(trace(episode) for episode in _differing(wins.tolist(), articles, count)),
        missed=tuple(misses[episode] for episode in _differing(nearest, articles, count)),
    )


def _differing(episodes: list[int], articles: Int32s, count: int) -> list[int]:
    """The first episodes whose goals are in articles of their own."""
    first = {int(articles[episode]): episode for episode in reversed(episodes)}
    return [episode for episode in episodes if first[int(articles[episode])] == episode][:count]


def lines(graph: Graph, shown: Gallery) -> Iterator[str]:
    """The gallery in Markdown, which reads well as it is."""
    task = shown.task
    yield f"# Traces of {shown.agent}\n"
    yield (
        f"{graph.snapshot}: {shown.agent} found {100 * shown.success:.1f} % of {task.episodes:,} goals, the ends of "
        f"walks of {task.steps} steps, within {shown.budget} clicks. Pages are written as title and block, from 0 on. "
        "Of the goals found the farthest are shown, of those missed the ones that came nearest.\n"
    )
    yield (
        f"`linkwalk reproduce traces WIKI --agent {shown.agent} --steps {task.steps} --episodes {task.episodes} "
        f"--budget {shown.budget} --seed {task.seed}`"
    )
    for title, traces in (("Found", shown.found), ("Near misses", shown.missed)):
        yield f"\n## {title}"
        if not traces:
            yield "\nNone."
        for one in traces:
            yield from _trace_lines(graph, one)


def _trace_lines(graph: Graph, one: Trace) -> Iterator[str]:
    distance, steps = len(one.optimum) - 1, len(one.path) - 1
    yield f"\n### {graph.name(one.start)} to {graph.name(one.goal)}\n"
    if one.success:
        yield f"{steps} clicks, the shortest path has {distance}.\n"
        last = steps
    else:
        links = "one link" if one.left == 1 else f"{one.left} links"
        where = graph.name(one.path[one.nearest])
        yield (
            f"Not found in {steps} clicks, the shortest path has {distance}. "
            f"After {one.nearest} it was {links} away, on {where}.\n"
        )
        last = min(one.nearest + _AFTER, steps)
    clicked = _chain(graph, one.path[: last + 1], None if one.success else one.nearest)
    yield f"- clicked: {clicked}" + (f" … and {steps - last} more" if last < steps else "")
    yield f"- shortest: {_chain(graph, one.optimum)}"


def _chain(graph: Graph, nodes: tuple[int, ...], mark: int | None = None) -> str:
    """Pages in their order, one of them marked; the middle of a long way is left out."""
    names = [graph.name(node) for node in nodes]
    if mark is not None:
        names[mark] = f"**{names[mark]}**"
    if len(names) > 2 * LONGEST:
        names[LONGEST:-LONGEST] = [f"… {len(names) - 2 * LONGEST} pages …"]
    return " > ".join(names)
