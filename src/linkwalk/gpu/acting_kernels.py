# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
"""Reinforcement learning's two kernels on a GPU: an unroll of many episodes, and the look back at its steps (app. B.2).

An episode is a program of its own: page, goal and path stay in registers for all of its steps, so nothing is launched,
and nobody waited for, in between. So is every step that is looked back at: it reads the rows of its page's links once.
Imported only where Triton is installed.

Shapes: B episodes, T steps, K episodes in store; D, WIDTH, KINDS, SLOTS, PATH and TILE as in ``decision_kernels``.
"""

import triton
import triton.language as tl

from linkwalk.gpu.decision_kernels import (
    add_up,
    embeddings,
    links_at,
    load_state,
    moments,
    nothing_yet,
    row_of,
    traits_of,
)
from linkwalk.gpu.walk_kernels import draw, key_of


@triton.jit
def _standardise(
    query, traits, D: tl.constexpr, WIDTH: tl.constexpr, KINDS: tl.constexpr, SLOTS: tl.constexpr
):
    """A state of mean 0 and variance 1, in its two parts, and what it was multiplied by."""
    width: tl.constexpr = D + KINDS + 1
    d, slot = tl.arange(0, WIDTH), tl.arange(0, SLOTS)
    mean = (tl.sum(query, 0) + tl.sum(traits, 0)) / width
    query = tl.where(d < D, query - mean, 0.0)
    traits = tl.where(slot <= KINDS, traits - mean, 0.0)
    scale = 1.0 / tl.sqrt((tl.sum(query * query, 0) + tl.sum(traits * traits, 0)) / width + 1e-5)
    return query * scale, traits * scale, scale


@triton.jit
def _led_back(
    x,
    own,
    query,
    traits,
    scale,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
    SLOTS: tl.constexpr,
):
    """The gradient with respect to a state before it was standardised, of that after it, both in two parts."""
    width: tl.constexpr = D + KINDS + 1
    d, slot = tl.arange(0, WIDTH), tl.arange(0, SLOTS)
    mean = (tl.sum(x, 0) + tl.sum(own, 0)) / width
    along = (tl.sum(x * query, 0) + tl.sum(own * traits, 0)) / width
    x = tl.where(d < D, x - mean - query * along, 0.0)
    own = tl.where(slot <= KINDS, own - mean - traits * along, 0.0)
    return x * scale, own * scale


@triton.jit
def act(
    of_current,
    of_goal,
    vectors,
    indptr,
    indices,
    kinds,
    store,
    seed,
    currents,
    goals,
    steps,
    paths,
    taken,
    out_current,
    out_goal,
    out_landed,
    out_path,
    out_steps,
    out_action,
    out_log_mu,
    out_reward,
    out_terminated,
    out_truncated,
    COUNT,
    LENGTH,
    BUDGET: tl.constexpr,
    STORE: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
    SLOTS: tl.constexpr,
    PATH: tl.constexpr,
    TILE: tl.constexpr,
    COSINE: tl.constexpr,
):
    """Go on for LENGTH steps in every episode, links drawn as likely as the policy thinks, and write it all down.

    A state is what ``of_current`` [N, W] has of the page plus what ``of_goal`` [N, W] has of the goal, standardised, as
    is the action; with COSINE that of the goal alone, and an action is of unit length, its traits apart.
    """
    b = tl.program_id(0).to(tl.int64)
    here, goal = tl.load(currents + b), tl.load(goals + b)
    step, used = tl.load(steps + b).to(tl.int32), tl.load(taken + b)
    t_path = tl.arange(0, PATH)
    before = tl.load(paths + b * (BUDGET + 1) + t_path, mask=t_path <= BUDGET, other=-1)
    width: tl.constexpr = D + KINDS + 1
    for t in range(LENGTH):
        at = b + t * COUNT
        tl.store(out_current + at, here)
        tl.store(out_goal + at, goal)
        tl.store(out_steps + at, step.to(tl.int64))
        tl.store(out_path + at * (BUDGET + 1) + t_path, before, mask=t_path <= BUDGET)

        query, traits = load_state(of_goal + goal.to(tl.int64) * width, D, WIDTH, KINDS, SLOTS)
        if not COSINE:
            row = of_current + here.to(tl.int64) * width
            more_query, more_traits = load_state(row, D, WIDTH, KINDS, SLOTS)
            query, traits, _ = _standardise(query + more_query, traits + more_traits, D, WIDTH, KINDS, SLOTS)
        whole = tl.sum(query, 0) + tl.sum(traits, 0)

        first, degree = row_of(indptr, here)
        key = key_of(tl.load(seed).to(tl.uint64, bitcast=True), at)
        top, total = nothing_yet()
        best, choice = tl.full((), float("-inf"), tl.float32), tl.full((), 0, tl.int32)
        best_logit = total
        for begin in range(0, degree, TILE):
            i = begin + tl.arange(0, TILE)
            shown = i < degree
            target, kind, seen = links_at(indices, kinds, first + i, shown, before)
            x = embeddings(vectors, target, shown, D, WIDTH)
            trait = tl.sum(traits_of(kind, seen, KINDS, SLOTS) * traits[None, :], 1)
            product = tl.sum(x * query[None, :], 1)
            if COSINE:
                logit = product / tl.sqrt(tl.maximum(tl.sum(x * x, 1), 1e-24)) + trait
            else:
                middle, variance = moments(x, seen, D, KINDS)
                logit = (product + trait - middle * whole) / tl.sqrt(variance)
            top, total = add_up(top, total, logit, shown)
            # The largest logit with Gumbel noise is distributed as the policy is.
            chance = ((draw(key, i) >> 41).to(tl.int32).to(tl.float32) + 0.5) / 8388608.0
            noisy = tl.where(shown, logit - tl.log(-tl.log(chance)), float("-inf"))
            highest = tl.max(noisy, 0)
            place = tl.min(tl.where(shown & (noisy == highest), i, degree), 0)
            better = highest > best
            choice = tl.where(better, place, choice)
            best_logit = tl.where(better, tl.sum(tl.where(i == place, logit, 0.0), 0), best_logit)
            best = tl.maximum(best, highest)

        landed = tl.load(indices + first + choice)
        step += 1
        before = tl.where(t_path == step, landed, before)
        reached = landed == goal
        _, links = row_of(indptr, landed)
        ends = reached | (links == 0)
        cut = (step >= BUDGET) & (landed != goal) & (links > 0)
        tl.store(out_landed + at, landed)
        tl.store(out_action + at, choice.to(tl.int64))
        tl.store(out_log_mu + at, best_logit - top - tl.log(total))
        tl.store(out_reward + at, reached.to(tl.float32))
        tl.store(out_terminated + at, ends.to(tl.uint8))
        tl.store(out_truncated + at, cut.to(tl.uint8))

        over = ends | cut
        pair = store + (b * STORE + used % STORE) * 2
        here = tl.where(over, tl.load(pair), landed)
        goal = tl.where(over, tl.load(pair + 1), goal)
        used += over.to(tl.int64)
        step = tl.where(over, 0, step)
        before = tl.where(over, tl.where(t_path == 0, here, -1), before)
    tl.store(currents + b, here)
    tl.store(goals + b, goal)
    tl.store(steps + b, step.to(tl.int64))
    tl.store(paths + b * (BUDGET + 1) + t_path, before, mask=t_path <= BUDGET)
    tl.store(taken + b, used)


@triton.jit
def look_back(
    states,
    vectors,
    indptr,
    indices,
    kinds,
    currents,
    paths,
    steps,
    actions,
    log_pi,
    entropy,
    of_log_pi,
    of_entropy,
    PAGES: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
    SLOTS: tl.constexpr,
    PATH: tl.constexpr,
    TILE: tl.constexpr,
    COSINE: tl.constexpr,
):
    """How likely a policy is to do what was done, as a logarithm [S], its entropy there [S], and both gradients [S, W].

    The gradients are those with respect to the states [S, W], which are standardised here as ``act`` does. With a the
    action taken, x an action as it is scored and E the mean logit, they are x_a - mean(x) and -mean((logit - E) x), the
    means weighted by probability, led back through the standardising.
    """
    number = tl.program_id(0).to(tl.int64)
    here, action = tl.load(currents + number), tl.load(actions + number).to(tl.int32)
    t = tl.arange(0, PATH)
    before = tl.load(paths + number * PAGES + t, mask=t <= tl.load(steps + number), other=-1)
    first, degree = row_of(indptr, here)

    width: tl.constexpr = D + KINDS + 1
    d, slot = tl.arange(0, WIDTH), tl.arange(0, SLOTS)
    query, traits = load_state(states + number * width, D, WIDTH, KINDS, SLOTS)
    spread = 1.0
    if not COSINE:
        query, traits, spread = _standardise(query, traits, D, WIDTH, KINDS, SLOTS)

    top, total = nothing_yet()
    excess, taken_logit = total, total
    # Sums over actions of embedding and traits: weighted by probability, by that times how far the logit is below the
    # highest (``low``), and the one taken.
    mean_x, mean_traits = tl.zeros((WIDTH,), tl.float32), tl.zeros((SLOTS,), tl.float32)
    low_x, low_traits, taken_x, taken_traits = mean_x, mean_traits, mean_x, mean_traits
    for begin in range(0, degree, TILE):
        i = begin + tl.arange(0, TILE)
        shown = i < degree
        target, kind, seen = links_at(indices, kinds, first + i, shown, before)
        x = embeddings(vectors, target, shown, D, WIDTH)
        own = traits_of(kind, seen, KINDS, SLOTS)
        if COSINE:
            x = x / tl.sqrt(tl.maximum(tl.sum(x * x, 1), 1e-24))[:, None]
        else:
            middle, variance = moments(x, seen, D, KINDS)
            scale = 1.0 / tl.sqrt(variance)
            x = tl.where((d < D)[None, :], (x - middle[:, None]) * scale[:, None], 0.0)
            own = tl.where((slot <= KINDS)[None, :], (own - middle[:, None]) * scale[:, None], 0.0)
        logit = tl.sum(x * query[None, :], 1) + tl.sum(own * traits[None, :], 1)

        higher = tl.maximum(top, tl.max(tl.where(shown, logit, -1e30), 0))
        fade, fall = tl.exp(top - higher), tl.where(total > 0, top - higher, 0.0)
        weight = tl.where(shown, tl.exp(logit - higher), 0.0)
        low = tl.where(shown, weight * (logit - higher), 0.0)
        low_x = fade * (low_x + fall * mean_x) + tl.sum(low[:, None] * x, 0)
        low_traits = fade * (low_traits + fall * mean_traits) + tl.sum(low[:, None] * own, 0)
        excess = fade * (excess + fall * total) + tl.sum(low, 0)
        mean_x = mean_x * fade + tl.sum(weight[:, None] * x, 0)
        mean_traits = mean_traits * fade + tl.sum(weight[:, None] * own, 0)
        total = total * fade + tl.sum(weight, 0)
        top = higher
        only = tl.where(i == action, 1.0, 0.0)
        taken_logit += tl.sum(only * logit, 0)
        taken_x += tl.sum(only[:, None] * x, 0)
        taken_traits += tl.sum(only[:, None] * own, 0)

    below = excess / total
    tl.store(log_pi + number, taken_logit - top - tl.log(total))
    tl.store(entropy + number, tl.log(total) - below)
    mean_x, mean_traits = mean_x / total, mean_traits / total
    taken_x, taken_traits = taken_x - mean_x, taken_traits - mean_traits
    low_x, low_traits = below * mean_x - low_x / total, below * mean_traits - low_traits / total
    if not COSINE:
        taken_x, taken_traits = _led_back(
            taken_x, taken_traits, query, traits, spread, D, WIDTH, KINDS, SLOTS
        )
        low_x, low_traits = _led_back(low_x, low_traits, query, traits, spread, D, WIDTH, KINDS, SLOTS)
    at = number * width
    tl.store(of_log_pi + at + d, taken_x, mask=d < D)
    tl.store(of_log_pi + at + D + slot, taken_traits, mask=slot <= KINDS)
    tl.store(of_entropy + at + d, low_x, mask=d < D)
    tl.store(of_entropy + at + D + slot, low_traits, mask=slot <= KINDS)
