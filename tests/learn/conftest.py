"""A world small enough to train in, whose embeddings tell how far apart two nodes are."""

from typing import NamedTuple

import numpy as np
import pytest
import torch

from linkwalk.graph.csr import Csr, transpose
from tests.graph.conftest import csr

WIDTH = 16


class World(NamedTuple):
    """What ``clone`` takes first."""

    forward: Csr
    reverse: Csr
    kinds: np.ndarray
    vectors: np.ndarray


def padded(values: torch.Tensor, indptr: np.ndarray, fill: float) -> torch.Tensor:
    """A ragged array's rows side by side, as torch's own losses take them."""
    lengths = torch.as_tensor(np.diff(indptr))
    rows = torch.full((len(lengths), int(lengths.max())), fill, dtype=torch.float64)
    rows[torch.arange(rows.shape[1]) < lengths[:, None]] = values.double()
    return rows


@pytest.fixture(scope="session")
def world() -> World:
    """A ring with chords."""
    count = 60
    graph = csr(count, sorted({(i, (i + d) % count) for i in range(count) for d in (1, -1, 7)}))
    angle = 2 * np.pi * np.arange(count) / count
    waves = [np.stack((np.cos(k * angle), np.sin(k * angle)), 1) / k for k in range(1, WIDTH // 2 + 1)]
    vectors = np.concatenate(waves, 1).astype(np.float32)
    return World(graph, transpose(graph), np.full(len(graph.indices), 2, np.uint8), vectors)
