"""Decisions: at a node, with a goal, which of the out-links? Ragged, so that no link is ever left out (sec. 4.2).

Shapes: S decisions, A actions of all of them together. The actions of decision ``s`` are the entries ``indptr[s]`` to
``indptr[s + 1]`` of the action columns, in the order of the node's row in the graph.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Bytes, Float32s, Int32s, Int64s, Integers
from linkwalk.compiled import OUTSIDE, guarded, row_of, within
from linkwalk.graph.csr import Csr, bounds_of, gather_rows
from linkwalk.graph.store import KINDS, types_of
from linkwalk.walks import Walks

Bools = NDArray[np.bool_]


class StepsOf(NamedTuple):
    """The walks that decisions are steps of: what a policy over the trajectory sees (sec. 4.2)."""

    paths: Int32s
    """Their pages [W, T + 1]."""
    walk: Int64s
    """Which walk a decision is a step of [S]."""
    step: Int64s
    """Which step of it [S]."""


class Decisions(NamedTuple):
    """What a policy sees at each of S decisions, and for imitation what the walk did."""

    current: Int32s
    """n_t [S]."""
    goal: Int32s
    """n_g [S]."""
    indptr: Int64s
    """Bounds of each decision's actions [S + 1]."""
    target: Int32s
    """n_i [A], where an action leads."""
    kind: Bytes
    """Type of the link [A]: prev, next, link, entity (``graph.store.TYPES``)."""
    visited: Bools
    """Whether the walk has been at the target [A] (app. B.2)."""
    taken: Int64s
    """Position among all actions of the one the walk took [S]; empty where nobody has acted yet."""
    share: Float32s | None = None
    """How right each action is [A], 1 in all for a decision, where that is known: then ``taken`` is not imitated."""
    steps: StepsOf | None = None
    """The walks they are steps of, where these are known."""


def without(decisions: Decisions, hidden: Bools) -> Decisions:
    """The same decisions with some actions hidden; the one taken must not be among them."""
    kept = ~hidden
    place = bounds_of(kept)
    return decisions._replace(
        indptr=place[decisions.indptr],
        target=decisions.target[kept],
        kind=decisions.kind[kept],
        visited=decisions.visited[kept],
        taken=place[decisions.taken],
    )


def some(decisions: Decisions, which: Int64s) -> Decisions:
    """Some of the decisions [S]."""
    indptr, target = gather_rows(decisions.indptr, decisions.target, which)
    _, kind = gather_rows(decisions.indptr, decisions.kind, which)
    _, visited = gather_rows(decisions.indptr, decisions.visited, which)
    taken, share, steps = decisions.taken, decisions.share, decisions.steps
    return Decisions(
        decisions.current[which],
        decisions.goal[which],
        indptr,
        target,
        kind,
        visited,
        taken[which] - decisions.indptr[which] + indptr[:-1] if len(taken) else taken,
        None if share is None else gather_rows(decisions.indptr, share, which)[1],
        None if steps is None else StepsOf(steps.paths, steps.walk[which], steps.step[which]),
    )


def from_walks(walks: Walks, forward: Csr, kinds: Bytes) -> Decisions:
    """Every step of every walk as a decision to imitate (sec. 3): at n_t, towards the walk's end, n_t+1 was taken."""
    steps = np.arange(walks.nodes.shape[1] - 1)[None, :] < walks.lengths[:, None]
    walk, step = np.nonzero(steps)
    current = walks.nodes[walk, step]
    indptr, target, kind = actions_at(forward, kinds, current)
    visited = visited_targets(walks.nodes, walk, step, indptr, target)
    taken = np.empty(len(current), np.int64)
    _find_taken(indptr, target, walks.nodes[walk, step + 1], taken)
    return Decisions(
        current,
        walks.goals[walk],
        indptr,
        target,
        kind,
        visited,
        taken,
        steps=StepsOf(walks.nodes, walk, step),
    )


def actions_at(graph: Csr, kinds: Bytes, nodes: Integers) -> tuple[Int64s, Int32s, Bytes]:
    """The links of some nodes: their bounds, targets and types, which policies look up, so that they must be there."""
    indptr, target = gather_rows(graph.indptr, graph.indices, nodes)
    _, kind = gather_rows(graph.indptr, kinds, nodes)
    if len(target) and (target.min() < 0 or target.max() >= graph.nodes or kind.max() >= len(KINDS)):
        raise IndexError(OUTSIDE)
    return indptr, target, types_of(kind)


def visited_targets(paths: Int32s, row: Int64s, step: Int64s, indptr: Int64s, target: Int32s) -> Bools:
    """For each action whether its target is among the nodes of its path up to the step of the decision."""
    visited = np.zeros(len(target), np.bool_)
    _mark_visited(paths, row, step, indptr, target, visited)
    return visited


@guarded
def _mark_visited(
    paths: Int32s, row: Int64s, step: Int64s, indptr: Int64s, target: Int32s, visited: Bools
) -> None:
    for s in range(row.shape[0]):
        path = paths[within(row[s], paths.shape[0]), : step[s] + 1]
        first, last = row_of(indptr, s, visited.shape[0])
        for action in range(first, last):
            for node in path:
                if node == target[action]:
                    visited[action] = True
                    break


@guarded
def _find_taken(indptr: Int64s, target: Int32s, following: Int32s, taken: Int64s) -> None:
    for s in range(following.shape[0]):
        first, last = row_of(indptr, s, target.shape[0])
        taken[s] = first
        for action in range(first, last):
            if target[action] == following[s]:
                taken[s] = action
                break
