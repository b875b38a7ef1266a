# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
"""Decisions on a GPU, a program for each: it reads the rows of its out-links once, however many there are (sec. 4.2).

As attention does, with the links of a page as keys: the softmax is taken on the way, so nothing of the size of all
actions is ever written, and nothing is padded or cut. Imported only where Triton is installed.

Shapes: D the embeddings' width, K kinds of links, W = D + K + 1 the width of a state. WIDTH, SLOTS and PATH are powers
of two that hold D, K + 1 and a path; TILE is how many links are read at a time.
"""

import triton
import triton.language as tl

from linkwalk.gpu.walk_kernels import draw, key_of


@triton.jit
def embeddings(vectors, target, shown, D: tl.constexpr, WIDTH: tl.constexpr):
    """Embeddings of targets [TILE, WIDTH] in float32, zero where they are not shown."""
    d = tl.arange(0, WIDTH)
    places = vectors + target.to(tl.int64)[:, None] * D + d[None, :]
    return tl.load(places, mask=shown[:, None] & (d < D)[None, :], other=0.0).to(tl.float32)


@triton.jit
def row_of(indptr, here):
    """Where the out-links of a page begin, and how many there are."""
    first = tl.load(indptr + here).to(tl.int64)
    return first, (tl.load(indptr + here + 1) - first).to(tl.int32)


@triton.jit
def links_at(indices, kinds, place, inside, before):
    """Targets and kinds of links [TILE] at some places, and whether each target is among the pages before."""
    target = tl.load(indices + place, mask=inside, other=-1)
    kind = tl.load(kinds + place, mask=inside, other=0).to(tl.int32)
    return target, kind, tl.max((target[:, None] == before[None, :]).to(tl.float32), 1)


@triton.jit
def traits_of(kind, seen, KINDS: tl.constexpr, SLOTS: tl.constexpr):
    """A one for each link's kind, and the visited bit behind them [TILE, SLOTS]."""
    slot = tl.arange(0, SLOTS)
    traits = (kind[:, None] == slot[None, :]).to(tl.float32)
    traits += tl.where(slot == KINDS, 1.0, 0.0)[None, :] * seen[:, None]
    return traits


@triton.jit
def load_state(state, D: tl.constexpr, WIDTH: tl.constexpr, KINDS: tl.constexpr, SLOTS: tl.constexpr):
    """A state in its two parts: what meets the embeddings [WIDTH], and what meets the traits [SLOTS]."""
    d, slot = tl.arange(0, WIDTH), tl.arange(0, SLOTS)
    query = tl.load(state + d, mask=d < D, other=0.0)
    return query, tl.load(state + D + slot, mask=slot <= KINDS, other=0.0)


@triton.jit
def moments(x, seen, D: tl.constexpr, KINDS: tl.constexpr):
    """Mean and variance of each action: its embedding, a one for its kind, and the visited bit."""
    width: tl.constexpr = D + KINDS + 1
    mean = (tl.sum(x, 1) + 1.0 + seen) / width
    variance = (tl.sum(x * x, 1) + 1.0 + seen) / width - mean * mean
    return mean, tl.maximum(variance, 0.0) + 1e-5


@triton.jit
def nothing_yet():
    """The highest logit, and the sum of what all are beside it, before any was seen."""
    return tl.full((), -1e30, tl.float32), tl.full((), 0.0, tl.float32)


@triton.jit
def add_up(top, total, logit, shown):
    """The same with some more logits, those that are shown."""
    higher = tl.maximum(top, tl.max(tl.where(shown, logit, -1e30), 0))
    total = total * tl.exp(top - higher) + tl.sum(tl.where(shown, tl.exp(logit - higher), 0.0), 0)
    return higher, total


@triton.jit
def _standardised(x, query, whole, state, kind, seen, D: tl.constexpr, KINDS: tl.constexpr):
    """The feed-forward head's logits, and the mean and scale that standardise each action (``FeedForward``).

    ``whole`` is the sum of the state.
    """
    mean, variance = moments(x, seen, D, KINDS)
    scale = 1.0 / tl.sqrt(variance)
    product = tl.sum(x * query[None, :], 1) + tl.load(state + D + kind) + seen * tl.load(state + D + KINDS)
    return (product - mean * whole) * scale, mean, scale


@triton.jit
def _first_of_best(score, among, i, degree, best, choice):
    """The best so far and which link that is, with some more links looked at; of equals the first."""
    value = tl.where(among, score, float("-inf"))
    highest = tl.max(value, 0)
    at = tl.min(tl.where(among & (value == highest), i, degree), 0)
    better = (highest > best) & (at < degree)
    return tl.where(better, highest, best), tl.where(better, at, choice)


@triton.jit
def imitate(
    states,
    vectors,
    indptr,
    indices,
    kinds,
    nodes,
    lengths,
    seed,
    threshold,
    losses,
    right,
    gradients,
    STEPS: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
    SLOTS: tl.constexpr,
    PATH: tl.constexpr,
    TILE: tl.constexpr,
):
    """Imitate each step of each walk: losses [S], whether the policy would do the same [S], gradients [S, W].

    The gradients are those of the losses with respect to the states. All are zero behind a walk's end. An out-link
    is hidden if 53 random bits of it are below ``threshold``, unless it leads where the walk goes.
    """
    number = tl.program_id(0).to(tl.int64)
    walk, step = number // STEPS, (number % STEPS).to(tl.int32)
    walked = step < tl.load(lengths + walk)
    path = nodes + walk * (STEPS + 1)
    here = tl.where(walked, tl.load(path + step), 0)
    following = tl.load(path + step + 1)
    t = tl.arange(0, PATH)
    before = tl.load(path + t, mask=t <= step, other=-1)
    first, links = row_of(indptr, here)
    degree = tl.where(walked, links, 0)

    width: tl.constexpr = D + KINDS + 1
    state = states + number * width
    query, of_traits = load_state(state, D, WIDTH, KINDS, SLOTS)
    whole = tl.sum(query, 0) + tl.sum(of_traits, 0)
    key = draw(key_of(tl.load(seed).to(tl.uint64, bitcast=True), walk), step)

    top, total = nothing_yet()
    taken, taken_logit = tl.full((), -1, tl.int32), total
    # Sums over actions of embedding, traits and mean, all times the scale: weighted by probability, and the one taken.
    mean_x, mean_traits, mean_mean = tl.zeros((WIDTH,), tl.float32), tl.zeros((SLOTS,), tl.float32), total
    taken_x, taken_traits, taken_mean = mean_x, mean_traits, total
    for begin in range(0, degree, TILE):
        i = begin + tl.arange(0, TILE)
        inside = i < degree
        target, kind, seen = links_at(indices, kinds, first + i, inside, before)
        chance = (draw(key, i) >> 11).to(tl.int64)
        shown = inside & ((chance >= threshold) | (target == following))
        x = embeddings(vectors, target, shown, D, WIDTH)
        logit, mean, scale = _standardised(x, query, whole, state, kind, seen, D, KINDS)

        higher = tl.maximum(top, tl.max(tl.where(shown, logit, -1e30), 0))
        weight = tl.where(shown, tl.exp(logit - higher), 0.0)
        fade = tl.exp(top - higher)
        top = higher
        total = total * fade + tl.sum(weight, 0)
        traits = traits_of(kind, seen, KINDS, SLOTS)
        scaled = weight * scale
        mean_x = mean_x * fade + tl.sum(scaled[:, None] * x, 0)
        mean_traits = mean_traits * fade + tl.sum(scaled[:, None] * traits, 0)
        mean_mean = mean_mean * fade + tl.sum(scaled * mean, 0)

        # A walk names nodes: of two links that lead to the next one, the first counts as taken.
        here_taken = tl.min(tl.where(inside & (target == following), i, degree), 0)
        taken = tl.where((taken < 0) & (here_taken < degree), here_taken, taken)
        only = tl.where(i == taken, scale, 0.0)
        taken_logit += tl.sum(tl.where(i == taken, logit, 0.0), 0)
        taken_x += tl.sum(only[:, None] * x, 0)
        taken_traits += tl.sum(only[:, None] * traits, 0)
        taken_mean += tl.sum(only * mean, 0)

    total = tl.where(walked, total, 1.0)
    tl.store(losses + number, tl.where(walked, top + tl.log(total) - taken_logit, 0.0))
    tl.store(right + number, tl.where(walked & (taken_logit >= top), 1.0, 0.0))
    d, slot = tl.arange(0, WIDTH), tl.arange(0, SLOTS)
    out, mean = gradients + number * width, mean_mean / total - taken_mean
    tl.store(out + d, mean_x / total - taken_x - mean, mask=d < D)
    tl.store(out + D + slot, mean_traits / total - taken_traits - mean, mask=slot <= KINDS)


@triton.jit(do_not_specialize=["step"])
def click(
    states,
    vectors,
    indptr,
    indices,
    kinds,
    goals,
    nodes,
    choices,
    probabilities,
    steps,
    success,
    looped,
    step,
    BUDGET: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
    SLOTS: tl.constexpr,
    PATH: tl.constexpr,
    TILE: tl.constexpr,
    COSINE: tl.constexpr,
    REVISIT: tl.constexpr,
):
    """One step of every journey that goes on: the best link, and where it leads written into the journey.

    COSINE: a state is the query of unit length, the score a cosine, and in a corner the page seen longest ago is next.
    Otherwise the state and the score are the feed-forward head's, and in a corner the best link is taken all the same.
    """
    number = tl.program_id(0).to(tl.int64)
    path = nodes + number * (BUDGET + 1)
    here = tl.load(path + step)
    goal = tl.load(goals + number)
    going = (here >= 0) & (here != goal)
    t = tl.arange(0, PATH)
    before = tl.load(path + t, mask=t <= step, other=-1)
    here = tl.where(going, here, 0)
    first, links = row_of(indptr, here)
    degree = tl.where(going, links, 0)

    if COSINE:
        d = tl.arange(0, WIDTH)
        query = tl.load(states + number * D + d, mask=d < D, other=0.0)
    else:
        state = states + number * (D + KINDS + 1)
        query, of_traits = load_state(state, D, WIDTH, KINDS, SLOTS)
        whole = tl.sum(query, 0) + tl.sum(of_traits, 0)

    top, total = nothing_yet()
    choice, best = tl.full((), -1, tl.int32), tl.full((), float("-inf"), tl.float32)
    corner, corner_best = tl.full((), -1, tl.int32), tl.full((), float("-inf"), tl.float32)
    for begin in range(0, degree, TILE):
        i = begin + tl.arange(0, TILE)
        shown = i < degree
        target = tl.load(indices + first + i, mask=shown, other=-1)
        when = tl.max(tl.where(target[:, None] == before[None, :], t[None, :], -1), 1)
        x = embeddings(vectors, target, shown, D, WIDTH)
        if COSINE:
            logit = tl.sum(x * query[None, :], 1) / tl.sqrt(tl.maximum(tl.sum(x * x, 1), 1e-30))
        else:
            kind = tl.load(kinds + first + i, mask=shown, other=0).to(tl.int32)
            seen = tl.where(when >= 0, 1.0, 0.0)
            logit, _, _ = _standardised(x, query, whole, state, kind, seen, D, KINDS)
            top, total = add_up(top, total, logit, shown)
        fresh = shown & ((when < 0) | REVISIT)
        best, choice = _first_of_best(logit, fresh, i, degree, best, choice)
        again = -when.to(tl.float32) if COSINE else logit
        corner_best, corner = _first_of_best(again, shown & (when >= 0), i, degree, corner_best, corner)

    best = tl.where(choice >= 0, best, corner_best)
    choice = tl.where(choice >= 0, choice, corner)
    moves = going & (choice >= 0)
    target = tl.load(indices + first + choice, mask=moves, other=-1)
    probability = 1.0 if COSINE else tl.exp(best - top) / tl.where(moves, total, 1.0)
    tl.store(path + step + 1, target, mask=moves)
    tl.store(choices + number * BUDGET + step, choice, mask=moves)
    tl.store(probabilities + number * BUDGET + step, probability, mask=moves)
    tl.store(steps + number, step + 1, mask=moves)
    tl.store(success + number, 1, mask=moves & (target == goal))
    returns = tl.max(tl.where(before == target, 1, 0), 0)
    tl.store(looped + number, 1, mask=moves & (returns > 0))
