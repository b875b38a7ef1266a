"""What every sampler gives and takes: E(n_0 .. n_T), the distributions of trajectories to imitate (sec. 3.1)."""

from typing import NamedTuple, Protocol

import numpy as np

from linkwalk.arrays import Int32s
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr


class Walks(NamedTuple):
    """B walks of up to T steps in forward order; a walk's last node is its goal n_g."""

    nodes: Int32s
    """Nodes [B, T + 1], -1 after the walk's end."""
    lengths: Int32s
    """Steps [B], at least 1 as samplers give them, so that ``nodes[b, lengths[b]]`` is the goal."""

    @property
    def starts(self) -> Int32s:
        """Every walk's first node."""
        return self.nodes[:, 0]

    @property
    def goals(self) -> Int32s:
        """Every walk's last node."""
        return np.take_along_axis(self.nodes, self.lengths[:, None].astype(np.int64), 1)[:, 0]


class Sampler(Protocol):
    """Draws walks; the same generator state gives the same walks, and fewer walks are a prefix of more."""

    def sample(self, count: int, rng: np.random.Generator) -> Walks:
        """Draw ``count`` independent walks; takes one number from ``rng``, however many walks there are."""
        ...


def check_steps(steps: int) -> None:
    """A walk takes one step or more."""
    if steps < 1:
        raise InputError(f"a walk of {steps} steps leads nowhere: choose 1 or more")


def empty_walks(count: int, steps: int) -> Walks:
    """Room for walks, not yet filled."""
    if count < 0:
        raise InputError(f"cannot draw {count} walks: choose 0 or more")
    return Walks(np.empty((count, steps + 1), np.int32), np.empty(count, np.int32))


def linked_nodes(graph: Csr) -> Int32s:
    """Nodes that have a link in ``graph``, or the error that there are none."""
    nodes = np.flatnonzero(graph.degrees()).astype(np.int32)
    if not len(nodes):
        raise InputError("the graph has no links, so nothing can walk it: build it from pages that link")
    return nodes
