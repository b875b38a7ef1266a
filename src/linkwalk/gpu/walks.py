"""Walks over tensors, on a GPU or any device of torch's: the same walks as numba draws, bit for bit (sec. 3.1).

Draws are hashes of (seed, walk, step), so it does not matter who computes them. With Triton a whole walk is one kernel
launch; without it every step is a few torch operations over all walkers.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from linkwalk.arrays import Bytes
from linkwalk.compiled import OUTSIDE
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import types_of
from linkwalk.walks.draws import FIRST_STEP_DRAW, LENGTH_DRAW, START_DRAW, seed_from
from linkwalk.walks.sampler import Walks, check_steps

_plain = False


def runs_kernels(device: torch.device) -> bool:
    """Whether Triton is there and compiles for the device; its interpreter runs kernels on a CPU, for tests."""
    on_device = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return on_device and not _plain and _has_triton()


@cache
def _has_triton() -> bool:
    """Triton comes with torch for CUDA, and only with it."""
    try:
        import linkwalk.gpu.walk_kernels  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def without_kernels() -> Iterator[None]:
    """Do as if Triton were not there: to compare with."""
    global _plain
    before, _plain = _plain, True
    try:
        yield
    finally:
        _plain = before


_LANES, _WARPS = 256, 4


class DeviceGraph(NamedTuple):
    """Who links to whom, as tensors on one device: the rows of a ``Csr`` and the types of its links."""

    indptr: Tensor
    """[N + 1], int32 where the number of edges allows it, as half the bytes are read: else int64."""
    indices: Tensor
    """[E], int32."""
    kinds: Tensor
    """[E], uint8, as policies tell them apart (``graph.store.TYPES``); empty where nobody asks for them."""

    @classmethod
    def of(cls, graph: Csr, kinds: Bytes | None = None, *, device: torch.device | str) -> "DeviceGraph":
        """Copy a graph to a device; kernels there trust it, so rows and targets that leave it are an error here."""
        small = len(graph.indices) <= np.iinfo(np.int32).max
        arrays = (
            graph.indptr.astype(np.int32 if small else np.int64),
            np.array(graph.indices),
            np.zeros(0, np.uint8) if kinds is None else types_of(kinds),
        )
        copied = cls(*(torch.from_numpy(array).to(device) for array in arrays))
        if not copied.is_sound():
            raise IndexError(OUTSIDE)
        return copied

    def is_sound(self) -> bool:
        """Whether every row lies inside of the edges, and every edge leads to a node."""
        indptr, indices = self.indptr, self.indices
        if int(indptr[0]) != 0 or int(indptr[-1]) != len(indices) or bool((indptr[1:] < indptr[:-1]).any()):
            return False
        return not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < self.nodes)

    @property
    def nodes(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    def bounds(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Where the rows of some nodes begin and how long they are, int64."""
        first = self.indptr[nodes].long()
        return first, self.indptr[nodes + 1] - first


@dataclass(eq=False)
class WalksOnDevice:
    """Uniform walks on a graph's tensors: ``ForwardWalks``, or ``ReverseWalks`` if given the transposed graph.

    The same seed gives the same walks as those. Walks that end where they began are kept (there is no ``apart``).
    """

    graph: DeviceGraph
    steps: int
    multistep: bool = False
    reverse: bool = False

    def __post_init__(self) -> None:
        """Walks begin where there is a link."""
        check_steps(self.steps)
        self.device = self.graph.indptr.device
        self._starts = torch.nonzero(self.graph.indptr[1:] > self.graph.indptr[:-1])[:, 0].int()
        if not len(self._starts):
            raise InputError("the graph has no links, so nothing can walk it: build it from pages that link")

    def sample(self, count: int, rng: Generator) -> Walks:
        """Draw walks and copy them to numpy: the protocol of every sampler."""
        if count < 0:
            raise InputError(f"cannot draw {count} walks: choose 0 or more")
        seed = torch.from_numpy(np.array([seed_from(rng)]).view(np.int64)).to(self.device)
        nodes, lengths = self.draw(count, seed)
        return Walks(nodes.cpu().numpy(), lengths.cpu().numpy())

    def draw(self, count: int, seed: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes [B, T + 1] and lengths [B] of walks, left on the device; ``seed`` [1] int64 is there, too."""
        nodes = torch.empty((count, self.steps + 1), dtype=torch.int32, device=self.device)
        nodes, lengths = self._walk(nodes, seed)
        return (_turned(nodes, lengths) if self.reverse else nodes), lengths

    def ends(self, count: int, seed: Tensor) -> tuple[Tensor, Tensor]:
        """Where walks end up [B], and their lengths [B]: for many walkers whose way nobody asks for."""
        return self._walk(torch.empty(count, dtype=torch.int32, device=self.device), seed)

    def _walk(self, nodes: Tensor, seed: Tensor) -> tuple[Tensor, Tensor]:
        count = len(nodes)
        if not runs_kernels(self.device):
            return self._walk_plainly(nodes, key_of(seed, torch.arange(count, device=self.device)))
        from linkwalk.gpu.walk_kernels import walk

        lengths = torch.empty(count, dtype=torch.int32, device=self.device)
        if count:
            walk[(-(-count // _LANES),)](
                self.graph.indptr,
                self.graph.indices,
                self._starts,
                len(self._starts),
                seed,
                count,
                nodes,
                lengths,
                STEPS=self.steps,
                MULTISTEP=self.multistep,
                TRACE=nodes.dim() == 2,
                LANES=_LANES,
                num_warps=_WARPS,
            )
        return nodes, lengths

    def between(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Where the walks of some keys [B] begin and end, in the order one would walk them from start to goal."""
        ends, _ = self._walk_plainly(torch.empty(len(keys), dtype=torch.int32, device=self.device), keys)
        begins = self._begins(keys)
        return (ends, begins) if self.reverse else (begins, ends)

    def _begins(self, keys: Tensor) -> Tensor:
        return self._starts[below(draw(keys, START_DRAW), len(self._starts))]

    def _walk_plainly(self, nodes: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """The same in torch, a step of all walkers at a time; shapes are static, so it can be compiled or captured."""
        here = self._begins(keys)
        lengths = torch.full_like(here, self.steps)
        if self.multistep:
            lengths = (1 + below(draw(keys, LENGTH_DRAW), self.steps)).int()
        trace = nodes.dim() == 2
        if trace:
            nodes[:, 0] = here
        for step in range(1, self.steps + 1):
            first, degree = self.graph.bounds(here)
            lengths = torch.where((degree == 0) & (lengths >= step), step - 1, lengths)
            walking = lengths >= step
            link = first + below(draw(keys, FIRST_STEP_DRAW + step), degree)
            here = torch.where(walking, self.graph.indices[torch.where(walking, link, 0)], here)
            if trace:
                nodes[:, step] = torch.where(walking, here, -1)
        return (nodes if trace else here), lengths


def _turned(nodes: Tensor, lengths: Tensor) -> Tensor:
    """Every walk the other way round."""
    place = lengths[:, None] - torch.arange(nodes.shape[1], device=nodes.device)
    return torch.where(place >= 0, nodes.gather(1, place.clamp(min=0).long()), -1)


# The hashes of linkwalk.walks.draws on int64 tensors, whose products wrap around as those of uint64 do.


def _signed(word: int) -> int:
    """The int64 with the low 64 bits of a number."""
    word &= (1 << 64) - 1
    return word - (1 << 64) if word >> 63 else word


_GOLDEN, _SALT = _signed(0x9E3779B97F4A7C15), _signed(0xD1B54A32D192ED03)
_FIRST, _SECOND = _signed(0xBF58476D1CE4E5B9), _signed(0x94D049BB133111EB)


def shifted(word: Tensor, bits: int) -> Tensor:
    """A shift to the right that brings in zeros, whatever the sign."""
    return (word >> bits) & ((1 << (64 - bits)) - 1)


def mix(word: Tensor) -> Tensor:
    """Scatter the bits of words: the output function of SplitMix64."""
    word = (word ^ shifted(word, 30)) * _FIRST
    word = (word ^ shifted(word, 27)) * _SECOND
    return word ^ shifted(word, 31)


def key_of(seed: Tensor, number: Tensor, attempt: int = 0) -> Tensor:
    """The keys of walks, other ones for each attempt at them."""
    return mix(mix(seed + _signed(attempt * _SALT)) + number * _GOLDEN)


def draw(key: Tensor, number: Tensor | int) -> Tensor:
    """Draw ``number`` of a key: 64 random bits."""
    offset = (number + 1) * _GOLDEN
    return mix(key + (_signed(offset) if isinstance(offset, int) else offset))


def below(word: Tensor, count: Tensor | int) -> Tensor:
    """Turn 64 random bits into one of 0 .. count - 1, for counts below 2^31."""
    return (shifted(word, 32) * count + (((word & 0xFFFFFFFF) * count) >> 32)) >> 32
