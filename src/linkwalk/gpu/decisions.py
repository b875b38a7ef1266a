"""Decisions over a graph's tensors, without a list of all actions on the host: imitating a step, and clicking a link.

What ``Decisions``, ``NodeTable.logits`` and ``cloning_loss`` do, for the paper's feed-forward head, where walks and
embeddings are on a GPU. With Triton one kernel reads every out-link of every decision, none left out; without it the
same is a handful of torch operations over ragged rows.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, normalize, one_hot

from linkwalk.errors import InputError
from linkwalk.gpu.walks import DeviceGraph, draw, key_of, runs_kernels, shifted
from linkwalk.graph.store import TYPES
from linkwalk.policy.heads import CompassHead, FeedForward, highest, log_softmax


def power_of_two(least: int) -> int:
    """The smallest power of two that is not below a number."""
    return 1 << max(least - 1, 0).bit_length()


def share_of_goal(head: FeedForward, goal: Tensor) -> Tensor:
    """What the goals [B, D] add to the layer's output: computed once a walk, not once a step."""
    return linear(goal, head.layer.weight[:, goal.shape[-1] :], head.layer.bias)


def states(head: FeedForward, current: Tensor, of_goal: Tensor) -> Tensor:
    """The head's standardised states [S, W] at the current nodes [S, D]."""
    state = linear(current, head.layer.weight[:, : current.shape[-1]]) + of_goal
    return layer_norm(state, state.shape[-1:])


_MOST_STATES = 1 << 31


def has_states(head: nn.Module) -> bool:
    """Whether kernels know what a head does with a state."""
    return isinstance(head, FeedForward | CompassHead)


def states_of(head: nn.Module, current: Tensor, goal: Tensor) -> Tensor:
    """What kernels make a head's logits of [S, W], not yet standardised, of pages and goals [S, D].

    A compass's: where to look, scaled, and how much likelier each kind of link is; nothing for the visited bit.
    """
    if isinstance(head, FeedForward):
        found: Tensor = head.layer(torch.cat((current, goal), -1))
        return found
    assert isinstance(head, CompassHead), "has_states sees to it"
    scale, *kinds = head.scales_now()
    traits = torch.stack((*kinds, torch.zeros_like(scale))).expand(len(goal), -1)
    return torch.cat((scale * head.direction(goal), traits), -1)


def fits_shares(vectors: Tensor) -> bool:
    """Whether the graph is small enough for ``shares_of_states``."""
    return 4 * len(vectors) * (vectors.shape[1] + len(TYPES) + 1) <= _MOST_STATES


@torch.no_grad()
def shares_of_states(head: nn.Module, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """What every page adds to a state where one stands on it and where it is the goal, [N, W] each.

    A compass looks at the goal alone, so that both are the same.
    """
    rows = vectors.float()
    if isinstance(head, FeedForward):
        return linear(rows, head.layer.weight[:, : rows.shape[1]]), share_of_goal(head, rows)
    of_goal = states_of(head, rows, rows)
    return of_goal, of_goal


class EdgeDropout(NamedTuple):
    """Which links are hidden from the learner (app. B.2): those that ``linkwalk.walks.drop_edges`` hides."""

    seed: Tensor
    """[1] int64, on the device."""
    probability: float

    @property
    def threshold(self) -> int:
        """A link is hidden where 53 random bits are below this."""
        return math.ceil(self.probability * (1 << 53))


def imitation(
    state: Tensor, vectors: Tensor, graph: DeviceGraph, nodes: Tensor, lengths: Tensor, dropout: EdgeDropout
) -> tuple[Tensor, Tensor]:
    """Mean negative log-likelihood of what walks did (sec. 3), and how often the policy would do the same.

    ``state`` [B, T, W] is the feed-forward head's at each step; behind a walk's end it does not matter.
    """
    _check_kinds(graph)
    imitate = _imitate if runs_kernels(vectors.device) else _imitate_plainly
    loss, right = imitate(state, vectors, graph, nodes, lengths, dropout)
    steps = lengths.sum()
    return loss / steps, right / steps


def _imitate(
    state: Tensor, vectors: Tensor, graph: DeviceGraph, nodes: Tensor, lengths: Tensor, dropout: EdgeDropout
) -> tuple[Tensor, Tensor]:
    from linkwalk.gpu.decision_kernels import imitate

    def launch(state: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        steps = nodes.shape[1] - 1
        losses, right = (state.new_empty(state.shape[:-1]) for _ in range(2))
        gradients = torch.empty_like(state)
        if losses.numel():
            imitate[(losses.numel(),)](
                state,
                vectors,
                *graph,
                nodes,
                lengths,
                dropout.seed,
                dropout.threshold,
                losses,
                right,
                gradients,
                STEPS=steps,
                **sizes_of(vectors, steps + 1),
            )
        return [losses, right], [gradients]

    losses, right = figures_of(state, launch)
    return losses.sum(), right.sum()


Launch = Callable[[Tensor], tuple[list[Tensor], list[Tensor]]]
"""Runs a kernel on states [..., W]: figures of each [...], and the gradients of the first ones with respect to it."""


def figures_of(state: Tensor, launch: Launch) -> tuple[Tensor, ...]:
    """The figures of states, with their gradients: one kernel for both, as they need the same rows of the table."""
    found: tuple[Tensor, ...] = _Figures.apply(state, launch)  # type: ignore[no-untyped-call]
    return found


class _Figures(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, state: Tensor, launch: Launch) -> tuple[Tensor, ...]:
        figures, gradients = launch(state.contiguous())
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(*figures[len(gradients) :])
        return tuple(figures)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None]:
        first, *others = zip(ctx.saved_tensors, outer, strict=False)
        total = first[0] * first[1][..., None]
        for gradient, weight in others:
            total = torch.addcmul(total, weight[..., None], gradient)
        return total, None


def _check_kinds(graph: DeviceGraph) -> None:
    if len(graph.kinds) != len(graph.indices):
        raise InputError("the policy sees the kinds of links: give them to DeviceGraph.of")


def sizes_of(vectors: Tensor, pages: int) -> dict[str, int]:
    """What kernels have to know of embeddings, and of paths of so many pages, when they are compiled."""
    width = vectors.shape[1]
    return {
        "PATH": power_of_two(pages),
        "D": width,
        "WIDTH": power_of_two(width),
        "KINDS": len(TYPES),
        "SLOTS": power_of_two(len(TYPES) + 1),
        "TILE": 8,
        "num_warps": 4,
    }


class OutLinks(NamedTuple):
    """The out-links of S nodes, ragged, A together: as ``Decisions``, but on the device."""

    owner: Tensor
    """Whose a link is, ascending."""
    place: Tensor
    """Which of its row a link is."""
    target: Tensor
    kind: Tensor


def out_links(graph: DeviceGraph, nodes: Tensor) -> OutLinks:
    """The out-links of some nodes."""
    first, degree = graph.bounds(nodes)
    owner = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.device), degree)
    begin = degree.cumsum(0) - degree
    place = torch.arange(len(owner), device=nodes.device) - begin[owner]
    link = first[owner] + place
    kind = graph.kinds[link] if len(graph.kinds) else link.new_zeros(len(link), dtype=torch.uint8)
    return OutLinks(owner, place, graph.indices[link], kind)


def _logits(state: Tensor, vectors: Tensor, actions: OutLinks, visited: Tensor) -> Tensor:
    """The feed-forward head's, given its states [S, W]."""
    traits = torch.cat((one_hot(actions.kind.long(), len(TYPES)), visited[:, None]), -1)
    action = torch.cat((vectors[actions.target].float(), traits.float()), -1)
    return (state[actions.owner] * layer_norm(action, action.shape[-1:])).sum(-1)


def last_seen(paths: Tensor, steps: Tensor, actions: OutLinks) -> Tensor:
    """When [A] a path [S, P] was last at an action's target up to the step [S] of the decision; -1 for never."""
    t = torch.arange(paths.shape[1], device=paths.device)
    paths = torch.where(t <= steps[:, None], paths, -1)
    return torch.where(paths[actions.owner] == actions.target[:, None], t, -1).amax(1)


def first_of(which: Tensor, actions: OutLinks, decisions: int) -> Tensor:
    """The first action of each decision [S] for which ``which`` [A] holds, as a place in its row; -1 for none."""
    none = torch.iinfo(torch.int64).max
    first = torch.full((decisions,), none, device=which.device)
    first = first.scatter_reduce(0, actions.owner, torch.where(which, actions.place, none), "amin")
    return torch.where(first == none, -1, first)


def _imitate_plainly(
    state: Tensor, vectors: Tensor, graph: DeviceGraph, nodes: Tensor, lengths: Tensor, dropout: EdgeDropout
) -> tuple[Tensor, Tensor]:
    walk, step = torch.nonzero(
        torch.arange(nodes.shape[1] - 1, device=nodes.device) < lengths[:, None], as_tuple=True
    )
    actions = out_links(graph, nodes[walk, step])
    owner, following = actions.owner, nodes[walk, step + 1]
    visited = last_seen(nodes[walk], step, actions) >= 0
    links = draw(key_of(dropout.seed, walk), step)
    chance = shifted(draw(links[owner], actions.place), 11)
    leads_on = actions.target == following[owner]
    shown = (chance >= dropout.threshold) | leads_on
    is_taken = leads_on & (actions.place == first_of(leads_on, actions, len(walk))[owner])
    *columns, visited, is_taken = (column[shown] for column in (*actions, visited, is_taken))
    actions = OutLinks(*columns)
    logits = _logits(state[walk, step], vectors, actions, visited)
    likely = log_softmax(logits, actions.owner, len(walk))[is_taken]
    best = highest(logits, actions.owner, len(walk))
    return -likely.sum(), (logits[is_taken] >= best).float().sum()


class Journey(NamedTuple):
    """The tensors of B journeys in progress: the columns of ``linkwalk.navigate.Journeys``, of up to T steps."""

    goals: Tensor
    """[B] int32."""
    nodes: Tensor
    """[B, T + 1] int32, the start first, -1 where nobody has been yet."""
    choices: Tensor
    probabilities: Tensor
    steps: Tensor
    success: Tensor
    """[B] uint8."""
    looped: Tensor
    """[B] uint8."""


def click(
    state: Tensor,
    vectors: Tensor,
    graph: DeviceGraph,
    journey: Journey,
    step: int,
    *,
    cosine: bool = False,
    revisit: bool = False,
) -> None:
    """Let every journey that goes on take its best link, written to column ``step + 1``; one at a dead end has ended.

    ``state`` [B, W] is the feed-forward head's; with ``cosine`` it is a query [B, D] of unit length, and links are
    scored by their cosine to it. Unless it may ``revisit``, a journey goes to a page it has been at only where all
    links do: by cosine to the one seen longest ago, as greedy-unvisited, else to the best, as ``PolicyWalker``.
    """
    if not cosine:
        _check_kinds(graph)
    if not runs_kernels(vectors.device):
        _click_plainly(state, vectors, graph, journey, step, cosine, revisit)
    elif len(journey.goals):
        from linkwalk.gpu import decision_kernels

        decision_kernels.click[(len(journey.goals),)](
            state.contiguous(),
            vectors,
            *graph,
            *journey,
            step,
            BUDGET=journey.choices.shape[1],
            COSINE=cosine,
            REVISIT=revisit,
            **sizes_of(vectors, journey.nodes.shape[1]),
        )


def _click_plainly(
    state: Tensor,
    vectors: Tensor,
    graph: DeviceGraph,
    journey: Journey,
    step: int,
    cosine: bool,
    revisit: bool,
) -> None:
    here = journey.nodes[:, step]
    going = torch.nonzero((here >= 0) & (here != journey.goals))[:, 0]
    going = going[graph.bounds(here[going])[1] > 0]  # a dead end is an end
    actions, count = out_links(graph, here[going]), len(going)
    seen = last_seen(journey.nodes[going], torch.full_like(going, step), actions)
    if cosine:
        unit = normalize(vectors[actions.target].float(), dim=-1, eps=1e-15)
        logits = (unit * state[going][actions.owner]).sum(-1)
    else:
        logits = _logits(state[going], vectors, actions, seen >= 0)
    fresh = (seen < 0) | revisit
    choice = torch.full((count,), -1, device=here.device)
    for among, score in ((fresh, logits), (seen >= 0, -seen.float() if cosine else logits)):
        score = torch.where(among, score, -torch.inf)
        best = highest(score, actions.owner, count)[actions.owner]
        first = first_of(among & (score == best), actions, count)
        choice = torch.where(choice < 0, first, choice)
    chosen = actions.place == choice[actions.owner]
    target = actions.target[chosen]
    journey.nodes[going, step + 1] = target
    journey.choices[going, step] = choice.int()
    likely = logits.new_zeros(count) if cosine else log_softmax(logits, actions.owner, count)[chosen]
    journey.probabilities[going, step] = likely.exp()
    journey.steps[going] = step + 1
    journey.success[going] |= (target == journey.goals[going]).byte()
    journey.looped[going] |= (seen[chosen] >= 0).byte()
