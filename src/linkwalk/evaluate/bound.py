"""The variational reading of cloning: a lower bound on how likely a policy reaches its goal (app. D).

A policy that clicks by chance, from a start drawn from p(n_0), reaches n_g along some path, and any distribution q over
paths that end in n_g bounds the probability of that from below:

    log P(n_g is reached)  >=  E_q[ log p(n_0) + sum_t log p_theta(n_t | n_t-1, n_g) - log q(path | n_g) ]

The sum is what cloning maximises; the rest does not depend on the policy and is called the spread here. The paper takes
its trajectory distributions for q without their densities, so that it has no figure for the bound. They can be had:

forward    walks of T steps that end in n_g: every step has probability 1/out-degree, and what all of them have together
           is found by T products with the transition matrix. For the policy that clicks at random the bound is exact.
reverse    walks back from n_g: every step has probability 1/in-degree. Walks that come to a node without in-links
           before T steps are left out, and the share of the others is divided by.
shortest   the path follows from its ends, so q is the probability of a start given the goal.
shortcut   many walks give one path, and what they have together is out of reach. As the path names its start, its
           entropy is at least the start's: the same term as for shortest paths, and a bound that is a little too low.

p(n_0) is uniform over the nodes with a link. All four are bounds for the same event, that the policy stands on the goal
within T steps, and are taken over the same goals: the ends of forward walks of T steps, away from their starts.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwalk.arrays import Bytes, Float64s, Int32s, Int64s
from linkwalk.compiled import kernel, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import ShortestPaths
from linkwalk.policy.decisions import Decisions, from_walks
from linkwalk.walks import ForwardWalks, Walks, take_shortcuts
from linkwalk.walks.draws import draw, key_of, seed_from

if TYPE_CHECKING:
    from torch import nn

    from linkwalk.policy.heads import NodeTable

Likelihood = Callable[[Decisions], Float64s]
"""The log-probability of every action of some decisions [A]."""

DISTRIBUTIONS = ("forward", "reverse", "shortest", "shortcut")

_LANES = 8
_CHUNK = 512
_FRUITLESS = 64
_UNIT = 2.0**-53


class Trajectories(NamedTuple):
    """Paths drawn from q, each to a goal of its own."""

    walks: Walks
    spread: Float64s
    """log p(n_0) - log q(path | n_g) [B]; for shortcut walks a lower bound of it on average."""


class Bound(NamedTuple):
    """A bound in nats, averaged over goals, with its standard error and its two parts."""

    distribution: str
    steps: int
    trajectories: int
    bound: float
    standard_error: float
    fit: float
    """Mean log-likelihood of a whole path: what cloning maximises."""
    spread: float
    """Mean of log p(n_0) - log q: how many ways lead to the goal, and how thinly q is spread over them."""
    loss: float
    """Mean negative log-likelihood of a single step: the cloning loss on this graph."""


def uniform(decisions: Decisions) -> Float64s:
    """The policy that clicks at random."""
    counts = np.diff(decisions.indptr)
    return np.repeat(-np.log(np.maximum(counts, 1)), counts)


def of_head(head: "nn.Module", table: "NodeTable") -> Likelihood:
    """A head over the embeddings of a graph."""
    import torch

    from linkwalk.policy.heads import log_softmax

    @torch.inference_mode()
    def likelihood(decisions: Decisions) -> Float64s:
        logits, owner = table.logits(head, decisions)
        return log_softmax(logits, owner, len(decisions.current)).cpu().numpy().astype(np.float64)

    return likelihood


def draw_trajectories(
    forward: Csr, reverse: Csr, *, steps: int, count: int, seed: int = 0
) -> dict[str, Trajectories]:
    """Draw ``count`` paths from each of the four distributions, to the same goals.

    Costs T passes over all links for every goal: meant for graphs of up to some million links.
    """
    rng = np.random.default_rng((seed, steps))
    walks = _whole_walks(forward, steps, count, rng)
    goals = walks.goals.astype(np.int64)
    hit, reached = _reach(forward, walks.starts.astype(np.int64), goals, steps)
    lengths, nodes = ShortestPaths(forward, reverse).paths(walks.starts, walks.goals, steps)
    by_start = np.log(reached) - np.log(hit)
    back, survived = _walk_back(reverse, goals, steps, rng)
    linked = np.count_nonzero(forward.degrees())
    turned = Walks(np.ascontiguousarray(back.nodes[:, ::-1]), back.lengths)
    return {
        "forward": Trajectories(walks, np.log(reached) - _log_steps(forward, walks)),
        "reverse": Trajectories(turned, np.log(survived) - np.log(linked) - _log_steps(reverse, back)),
        "shortest": Trajectories(Walks(nodes, lengths), by_start),
        "shortcut": Trajectories(take_shortcuts(forward, walks), by_start),
    }


def bound(name: str, trajectories: Trajectories, forward: Csr, kinds: Bytes, likelihood: Likelihood) -> Bound:
    """The bound of one distribution for one policy."""
    walks, spread = trajectories
    fit = path_likelihoods(walks, forward, kinds, likelihood)
    values = fit + spread
    return Bound(
        distribution=name,
        steps=walks.nodes.shape[1] - 1,
        trajectories=len(values),
        bound=float(values.mean()),
        standard_error=float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf"),
        fit=float(fit.mean()),
        spread=float(spread.mean()),
        loss=float(-fit.sum() / walks.lengths.sum()),
    )


def path_likelihoods(walks: Walks, forward: Csr, kinds: Bytes, likelihood: Likelihood) -> Float64s:
    """sum_t log p_theta(n_t | n_t-1, n_g) of every walk [B]; links to the same node count together."""
    found = np.zeros(len(walks.lengths))
    for first in range(0, len(found), _CHUNK):
        some = slice(first, first + _CHUNK)
        part = Walks(walks.nodes[some], walks.lengths[some])
        decisions = from_walks(part, forward, kinds)
        steps = np.empty(len(decisions.current))
        _add_up(decisions.indptr, decisions.target, decisions.taken, likelihood(decisions), steps)
        owner = np.repeat(np.arange(len(part.lengths)), part.lengths)
        found[some] = np.bincount(owner, steps, minlength=len(part.lengths))
    return found


def _whole_walks(forward: Csr, steps: int, count: int, rng: np.random.Generator) -> Walks:
    """Forward walks of exactly ``steps`` steps, whose ends differ."""
    sampler = ForwardWalks(forward, steps=steps, apart=True)
    nodes = np.empty((0, steps + 1), np.int32)
    for _ in range(_FRUITLESS + count):
        walks = sampler.sample(max(count, 64), rng)
        nodes = np.concatenate((nodes, walks.nodes[walks.lengths == steps]))
        if len(nodes) >= count:
            return Walks(nodes[:count], np.full(count, steps, np.int32))
        if not len(nodes):
            break
    raise InputError(f"too few walks of {steps} steps do not end early: choose fewer steps")


def _log_steps(graph: Csr, walks: Walks) -> Float64s:
    """Log-probability of the steps of uniform walks [B], without that of their start."""
    found = np.zeros(len(walks.lengths))
    _log_uniform(graph.indptr, graph.indices, walks.nodes, found)
    return found


@kernel
def _log_uniform(indptr: Int64s, indices: Int32s, nodes: Int32s, found: Float64s) -> None:
    for walk in range(nodes.shape[0]):
        for step in range(nodes.shape[1] - 1):
            first, last = row_of(indptr, nodes[walk, step], indices.shape[0])
            ways = 0  # a row may name a node more than once
            for edge in range(first, last):
                ways += indices[edge] == nodes[walk, step + 1]
            found[walk] += np.log(ways / max(last - first, 1))


@kernel
def _add_up(indptr: Int64s, target: Int32s, taken: Int64s, likely: Float64s, steps: Float64s) -> None:
    for s in range(taken.shape[0]):
        top, total = likely[taken[s]], 0.0
        first, last = row_of(indptr, s, target.shape[0])
        for action in range(first, last):
            if target[action] == target[taken[s]]:
                total += np.exp(likely[action] - top)
        steps[s] = top + np.log(total)


def _reach(forward: Csr, starts: Int64s, goals: Int64s, steps: int) -> tuple[Float64s, Float64s]:
    """For every pair P^T(start, goal), and P(goal is reached at step T by a random walk from any other node) [B]."""
    hit, reached = np.empty(len(goals)), np.empty(len(goals))
    degrees = forward.degrees()
    linked = np.flatnonzero(degrees)
    for first in range(0, len(goals), _LANES):
        some = slice(first, first + _LANES)
        at = goals[some]
        lane = np.arange(len(at))
        column = np.zeros((forward.nodes, _LANES))
        column[at, lane] = 1
        for _ in range(steps):
            further = np.zeros_like(column)
            _step_back(forward.indptr, forward.indices, column, further)
            column = further
        hit[some] = column[starts[some], lane]
        others = column[linked].sum(0)[lane] - np.where(degrees[at] > 0, column[at, lane], 0)
        reached[some] = others / len(linked)
    return hit, reached


@kernel
def _step_back(indptr: Int64s, indices: Int32s, column: Float64s, further: Float64s) -> None:
    """One product of the transition matrix with columns [N, lanes]; a node without links leads nowhere."""
    for node in range(indptr.shape[0] - 1):
        first, last = row_of(indptr, node, indices.shape[0])
        for edge in range(first, last):
            target = within(indices[edge], column.shape[0])
            for lane in range(column.shape[1]):
                further[node, lane] += column[target, lane]
        for lane in range(column.shape[1]):
            further[node, lane] /= max(last - first, 1)


def _walk_back(reverse: Csr, goals: Int64s, steps: int, rng: np.random.Generator) -> tuple[Walks, Float64s]:
    """Uniform walks back from given goals that last ``steps`` steps, and the share of walks that do [B].

    ``left[t]`` [N] is the share of walks back from a node that last t steps; weighing the links by it draws from the
    walks that last without throwing any away.
    """
    left = np.ones((steps + 1, reverse.nodes, 1))
    for t in range(1, steps + 1):
        left[t] = 0
        _step_back(reverse.indptr, reverse.indices, left[t - 1], left[t])
    nodes = np.empty((len(goals), steps + 1), np.int32)
    nodes[:, 0] = goals
    _choose_back(reverse.indptr, reverse.indices, left[:, :, 0], seed_from(rng), nodes)
    return Walks(nodes, np.full(len(goals), steps, np.int32)), left[steps, goals, 0]


@kernel
def _choose_back(indptr: Int64s, indices: Int32s, left: Float64s, seed: np.uint64, nodes: Int32s) -> None:
    steps = nodes.shape[1] - 1
    for walk in range(nodes.shape[0]):
        key = key_of(seed, 0, walk)
        for step in range(steps):
            first, last = row_of(indptr, nodes[walk, step], indices.shape[0])
            total = 0.0
            for edge in range(first, last):
                total += left[steps - step - 1, within(indices[edge], left.shape[1])]
            rest = total * np.float64(draw(key, step) >> np.uint64(11)) * _UNIT
            chosen = -1
            for edge in range(first, last):
                weight = left[steps - step - 1, indices[edge]]
                if weight > 0:
                    chosen = edge
                    if rest < weight:
                        break
                    rest -= weight
            nodes[walk, step + 1] = indices[within(chosen, last)]
