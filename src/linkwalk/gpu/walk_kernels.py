# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
"""Walks on a GPU as one kernel: a walker keeps its place in registers for all of its steps (sec. 3.1).

The draws are those of ``linkwalk.walks.draws``, so a seed gives the same walks here as on a CPU. Imported only where
Triton is installed; ``linkwalk.gpu.walks`` does without.
"""

import triton
import triton.language as tl


@triton.jit
def mix(word):
    """Scatter the bits of uint64 words: the output function of SplitMix64."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB
    return word ^ (word >> 31)


@triton.jit
def key_of(seed, number):
    """The key of walk ``number``, at the first attempt."""
    return mix(mix(seed) + number.to(tl.uint64) * 0x9E3779B97F4A7C15)


@triton.jit
def draw(key, number):
    """Draw ``number`` of a key: 64 random bits."""
    return mix(key + (number + 1).to(tl.uint64) * 0x9E3779B97F4A7C15)


@triton.jit
def below(word, count):
    """Turn 64 random bits into one of 0 .. count - 1, for counts below 2^32."""
    n = count.to(tl.uint64)
    return (((word >> 32) * n + (((word & 0xFFFFFFFF) * n) >> 32)) >> 32).to(tl.int64)


@triton.jit
def walk(
    indptr,
    indices,
    starts,
    starts_count,
    seed,
    count,
    nodes,
    lengths,
    STEPS: tl.constexpr,
    MULTISTEP: tl.constexpr,
    TRACE: tl.constexpr,
    LANES: tl.constexpr,
):
    """Fill ``nodes`` and ``lengths`` [B]; nodes [B, T + 1] with TRACE, else only where each walk ends [B]."""
    number = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = number < count
    key = key_of(tl.load(seed).to(tl.uint64, bitcast=True), number)
    zero = tl.zeros((LANES,), tl.int64)
    first_draw = below(draw(key, zero + 1), zero + starts_count)
    here = tl.load(starts + first_draw, mask=inside, other=0)
    length = tl.zeros((LANES,), tl.int32) + STEPS
    if MULTISTEP:
        length = (1 + below(draw(key, zero), zero + STEPS)).to(tl.int32)
    if TRACE:
        tl.store(nodes + number * (STEPS + 1), here, mask=inside)
    walking = inside
    for step in range(1, STEPS + 1):
        first = tl.load(indptr + here, mask=walking, other=0).to(tl.int64)
        degree = tl.load(indptr + here + 1, mask=walking, other=0).to(tl.int64) - first
        length = tl.where(walking & (degree == 0), step - 1, length)
        walking = walking & (degree > 0)
        link = first + below(draw(key, zero + (step + 2)), degree)
        here = tl.where(walking, tl.load(indices + link, mask=walking, other=0), here)
        if TRACE:
            tl.store(nodes + number * (STEPS + 1) + step, tl.where(walking, here, -1), mask=inside)
        walking = walking & (step < length)
    if not TRACE:
        tl.store(nodes + number, here, mask=inside)
    tl.store(lengths + number, length, mask=inside)
