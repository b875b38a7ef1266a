"""Two articles for a game: a start, and a goal that a few clicks lead to."""

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.errors import InputError
from linkwalk.graph.paths import ShortestPaths, distances_from
from linkwalk.graph.store import Graph

_TRIES = 64
"""Walks that a pair is looked for by; each costs one search from both ends."""
_SEARCHES = 4
"""Whole searches of the graph after that, each from another start."""
_MOST = 1000

Pair = tuple[int, int, int]
"""A start, a goal, and the clicks between them."""


def draw_pair(graph: Graph, paths: ShortestPaths, seed: int, least: int, most: int) -> Pair:
    """Two lead blocks, ``least`` to ``most`` clicks apart.

    The goal is where a random walk from the start comes past, so that it is something other pages link to, and the
    work is the same however large the wiki. Where walks find nothing, as on a small or strange wiki, all that can
    be reached from some starts is looked at; on a small wiki from every one.
    """
    if not 1 <= least <= most <= _MOST:
        raise InputError(f"least={least}, most={most}: choose 1 to {_MOST} clicks, the least first")
    if seed < 0:
        raise InputError(f"seed={seed}: choose a number from 0 on")
    if not graph.articles:
        raise InputError(f"{graph.snapshot} has no articles: build another wiki")
    rng = np.random.default_rng(seed)
    return _walk(graph, paths, rng, least, most) or _search(graph, rng, least, most)


def _walk(graph: Graph, paths: ShortestPaths, rng: np.random.Generator, least: int, most: int) -> Pair | None:
    wanted = int(rng.integers(least, min(most, least + 8) + 1))
    near: Pair | None = None
    for _ in range(_TRIES):
        start = node = int(graph.article_node[rng.integers(graph.articles)])
        for _ in range(2 * wanted):
            row = graph.forward.row(node)
            if not len(row):
                break
            node = int(row[rng.integers(len(row))])
        goal = int(graph.article_node[graph.node_article[node]])
        distance = paths.distance(start, goal)
        if distance == wanted:
            return start, goal, distance
        if near is None and least <= distance <= most:
            near = start, goal, distance
    return near


def _search(graph: Graph, rng: np.random.Generator, least: int, most: int) -> Pair:
    starts: Int64s = rng.permutation(graph.articles)
    searches = max(_SEARCHES, min(graph.articles, 20_000_000 // (graph.nodes + graph.edges + 1)))
    for article in starts[:searches].tolist():
        start = int(graph.article_node[article])
        away: Int32s = distances_from(graph.forward, start)[graph.article_node]
        goals = np.flatnonzero((away >= least) & (away <= most))
        if len(goals):
            goal = int(goals[rng.integers(len(goals))])
            return start, int(graph.article_node[goal]), int(away[goal])
    raise InputError(f"no two articles from {least} to {most} clicks apart were found: choose other numbers")
