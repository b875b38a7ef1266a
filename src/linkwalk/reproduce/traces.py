"""Galleries of traces to read: what was found, and near misses.

Of journeys to goals (fig. 3) a near miss is one that failed and had come close: what counts is the true distance to the
goal from the nearest page it stood on. The figure in the paper shows the same: where the agent fails, it visits pages
very close by. Of what was read for claims and questions (fig. 4) shown is what search alone would not have: evidence
that is reached through links. A near miss is a query of whose evidence no block was read, though one was read that lies
close to it.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.evaluate import TaskConfig, draw_episodes
from linkwalk.graph.paths import ShortestPaths, distances_from
from linkwalk.graph.store import KINDS, Graph
from linkwalk.navigate import Agent
from linkwalk.navigate.journeys import BACK
from linkwalk.retrieve.evidence import Reading
from linkwalk.retrieve.finder import Finder
from linkwalk.retrieve.starts import Starts

LONGEST = 12
"""Steps of a found goal that can still be read at a glance; longer ones are taken if there are no others."""
SHORTEST = 3
_CLICKS = 5  # the same for evidence
_EXCERPT = 240
_AFTER = 3
_MISSES = 200
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Some traces, and out of how many."""

    graph: Graph
    title: str
    about: tuple[str, ...]
    facts: dict[str, Any]
    """What ``about`` says, for JSON."""
    found: "tuple[GoalTrace | EvidenceTrace, ...]"
    missed: "tuple[GoalTrace | EvidenceTrace, ...]"

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk reproduce traces --json`` prints it."""
        parts = {"found": self.found, "missed": self.missed}
        return self.facts | {name: [one.to_json(self.graph) for one in part] for name, part in parts.items()}

    def lines(self) -> Iterator[str]:
        """The gallery in Markdown, which reads well as it is."""
        yield f"# {self.title}\n"
        yield from self.about
        for title, traces in (("Found", self.found), ("Near misses", self.missed)):
            yield f"\n## {title}"
            if not traces:
                yield "\nNone."
            for one in traces:
                yield from one.lines(self.graph)


@dataclass(frozen=True, kw_only=True)
class GoalTrace:
    """One journey to a goal."""

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
        """Pages by number, title and block."""

        def place(node: int) -> dict[str, Any]:
            return {"node": node, "title": graph.title(node), "block": int(graph.node_block[node])}

        return {
            "success": self.success,
            "start": place(self.start),
            "goal": place(self.goal),
            "steps": [place(node) for node in self.path[1:]],
            "distance": len(self.optimum) - 1,
            "optimum": [place(node) for node in self.optimum[1:]],
            "nearest_step": self.nearest,
            "links_left": self.left,
        }

    def lines(self, graph: Graph) -> Iterator[str]:
        """In Markdown."""
        distance, steps = len(self.optimum) - 1, len(self.path) - 1
        yield f"\n### {graph.name(self.start)} to {graph.name(self.goal)}\n"
        if self.success:
            yield f"{steps} clicks, the shortest path has {distance}.\n"
            last = steps
        else:
            links = "one link" if self.left == 1 else f"{self.left} links"
            where = graph.name(self.path[self.nearest])
            yield (
                f"Not found in {steps} clicks, the shortest path has {distance}. "
                f"After {self.nearest} it was {links} away, on {where}.\n"
            )
            last = min(self.nearest + _AFTER, steps)
        clicked = _chain(graph, self.path[: last + 1], None if self.success else self.nearest)
        yield f"- clicked: {clicked}" + (f" … and {steps - last} more" if last < steps else "")
        yield f"- shortest: {_chain(graph, self.optimum)}"


def goal_gallery(
    graph: Graph, agent: Agent, task: TaskConfig, *, budget: int = 100, count: int = 4
) -> Gallery:
    """Journeys of an agent: the farthest goals found, and the misses that came nearest, in articles of their own."""
    episodes = draw_episodes(graph.forward, graph.reverse, task)
    journeys = agent.run(episodes, budget=budget, seed=task.seed)
    search = ShortestPaths(graph.forward, graph.reverse)
    distances = search.distances(episodes.starts, episodes.goals)

    def trace(episode: int) -> GoalTrace:
        start, goal = int(episodes.starts[episode]), int(episodes.goals[episode])
        path, success = journeys.path(episode), bool(journeys.success[episode])
        left = distances_from(graph.reverse, goal)[path]
        left[left < 0] = np.iinfo(left.dtype).max  # a page from which no way leads to the goal
        return GoalTrace(
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
    success = float(journeys.success.mean())
    articles = graph.node_article[episodes.goals].tolist()

    return Gallery(
        graph=graph,
        title=f"Traces of {agent.name}",
        about=(
            f"{graph.snapshot}: {agent.name} found {100 * success:.1f} % of {task.episodes:,} goals, the ends of "
            f"walks of {task.steps} steps, within {budget} clicks. Pages are written as title and block, from 0 on. "
            "Of the goals found the farthest are shown, of those missed the ones that came nearest.\n",
            f"`linkwalk reproduce traces WIKI --agent {agent.name} --steps {task.steps} --episodes {task.episodes} "
            f"--budget {budget} --seed {task.seed}`",
        ),
        facts={
            "agent": agent.name,
            "steps": task.steps,
            "episodes": task.episodes,
            "seed": task.seed,
            "budget": budget,
            "success": success,
        },
        found=tuple(map(trace, _differing(((articles[e], e) for e in wins.tolist()), count))),
        missed=tuple(misses[episode] for episode in _differing(((articles[e], e) for e in nearest), count)),
    )


@dataclass(frozen=True, kw_only=True)
class EvidenceTrace:
    """What was asked, where the reading began, and how it came to the evidence or near it."""

    text: str
    gold: int
    """The evidence that was reached, or that lies nearest to what was read; not visible to the agent."""
    pages: tuple[int, ...]
    """From the start to the page shown: the evidence, or the page that came nearest."""
    clicks: tuple[str, ...]
    """The words clicked on the way; the kind of link where there are none."""
    place: int
    """As which of the blocks read, from 1 on, the page shown was read."""
    searched: int | None
    """As which of the search results, from 1 on, the evidence would have come; None: not among them."""
    left: int
    """Links from the page shown to the evidence."""

    def to_json(self, graph: Graph) -> dict[str, Any]:
        """Pages by name."""
        return {
            "text": self.text,
            "start": graph.name(self.pages[0]),
            "evidence": graph.name(self.gold),
            "path": [graph.name(node) for node in self.pages],
            "clicks": list(self.clicks),
            "read_as": self.place,
            "search_result": self.searched,
            "links_left": self.left,
        }

    def lines(self, graph: Graph) -> Iterator[str]:
        """In Markdown."""
        yield f"\n### {' '.join(self.text.split())}\n"
        clicks = (
            f" > [{words}] {graph.name(node)}"
            for words, node in zip(self.clicks, self.pages[1:], strict=True)
        )
        yield f"- read as number {self.place}: {graph.name(self.pages[0])}{''.join(clicks)}"
        result = "not among the search results" if self.searched is None else f"search result {self.searched}"
        away = "" if not self.left else f", {self.left} link{'s' * (self.left != 1)} away from there"
        yield f"- evidence: {graph.name(self.gold)}, {result}{away}"
        yield f"- its text: {textwrap.shorten(graph.texts[self.gold], _EXCERPT, placeholder=' …')}"


def evidence_gallery(
    graph: Graph,
    finder: Finder,
    asked: Sequence[AlignedQuestion],
    meanings: Float32s | None,
    sought: Float32s | None = None,
    *,
    count: int = 4,
) -> Gallery:
    """Read for each query as ``find`` does, and keep what shows most."""
    starts, readings = finder.readings([one.text for one in asked], meanings, sought)
    search = ShortestPaths(graph.forward, graph.reverse)
    found: list[EvidenceTrace] = []
    missed: list[EvidenceTrace] = []
    read = clicked = 0
    for one, own, reading in zip(asked, starts, readings, strict=True):
        gold = frozenset().union(*one.gold)
        if not gold:
            continue
        places = [place for place, node in enumerate(reading.nodes) if node in gold]
        if not places:
            if (miss := _nearest(graph, search, one, own, reading, gold)) is not None:
                missed.append(miss)
            continue
        read += 1
        alone = set(own.nodes[: len(reading.nodes)].tolist())
        linked = [p for p in places if reading.nodes[p] not in alone and reading.trail(p).links]
        if linked:
            clicked += 1
            found.append(_trace(graph, one, own, reading, linked[0], reading.nodes[linked[0]], 0))
    found.sort(key=lambda one: (len(one.clicks) > _CLICKS, -len(one.clicks), one.place))
    missed.sort(key=lambda one: (one.left, -len(one.clicks), one.place))
    config = finder.config
    article = graph.node_article
    return Gallery(
        graph=graph,
        title=f"Evidence that {config.who} clicked its way to",
        about=(
            f"{graph.snapshot}: for {read:,} of {len(asked):,} claims or questions, evidence is among the "
            f"{config.candidates} blocks read; for {clicked:,} of these some of it only thanks to links, since as many "
            "search results do not have it. Pages are written as title and block, from 0 on; the words clicked stand "
            "in brackets. The evidence is not visible to the agent.",
        ),
        facts={
            "agent": config.who,
            "candidates": config.candidates,
            "asked": len(asked),
            "read": read,
            "clicked": clicked,
        },
        found=tuple(_differing(((int(article[one.gold]), one) for one in found), count)),
        missed=tuple(_differing(((int(article[one.gold]), one) for one in missed), count)),
    )


def _words(graph: Graph, page: int, link: int) -> str:
    """What one clicks on a page."""
    if link == BACK:
        return "back"
    edge = int(graph.out_indptr[page]) + link
    start, end = graph.out_spans[edge].tolist()
    return graph.texts.bytes(page)[start:end].decode() or KINDS[graph.out_kinds[edge]]


def _trace(
    graph: Graph, one: AlignedQuestion, starts: Starts, reading: Reading, place: int, gold: int, left: int
) -> EvidenceTrace:
    trail = reading.trail(place)
    hits = starts.nodes.tolist()
    return EvidenceTrace(
        text=one.text,
        gold=gold,
        pages=trail.pages,
        clicks=tuple(_words(graph, *click) for click in zip(trail.pages, trail.links, strict=False)),
        place=place + 1,
        searched=hits.index(gold) + 1 if gold in hits else None,
        left=left,
    )


def _nearest(
    graph: Graph,
    search: ShortestPaths,
    one: AlignedQuestion,
    starts: Starts,
    reading: Reading,
    gold: frozenset[int],
) -> EvidenceTrace | None:
    """The page read that is fewest links away from any evidence; None if no way leads there from any."""
    pairs = [(place, goal) for place in range(len(reading.nodes)) for goal in sorted(gold)]
    if not pairs:
        return None
    begin = np.array([reading.nodes[place] for place, _ in pairs], np.int32)
    left = search.distances(begin, np.array([goal for _, goal in pairs], np.int32)).astype(np.int64)
    left[left < 0] = np.iinfo(np.int64).max
    best = int(left.argmin())
    if left[best] == np.iinfo(np.int64).max:
        return None
    place, goal = pairs[best]
    return _trace(graph, one, starts, reading, place, goal, int(left[best]))


def _chain(graph: Graph, nodes: tuple[int, ...], mark: int | None = None) -> str:
    """Pages in their order, one of them marked; the middle of a long way is left out."""
    names = [graph.name(node) for node in nodes]
    if mark is not None:
        names[mark] = f"**{names[mark]}**"
    if len(names) > 2 * LONGEST:
        names[LONGEST:-LONGEST] = [f"… {len(names) - 2 * LONGEST} pages …"]
    return " > ".join(names)


def _differing(traces: Iterable[tuple[int, T]], count: int) -> list[T]:
    """The first, by the articles they lead to, that have one of their own."""
    first: dict[int, T] = {}
    for article, one in traces:
        first.setdefault(article, one)
    return list(first.values())[:count]
