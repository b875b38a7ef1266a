"""Decisions over tensors: the loss and the gradient of the ragged ones on the host, whatever the number of links."""

import numpy as np
import pytest
import torch

from linkwalk.errors import InputError
from linkwalk.gpu.decisions import EdgeDropout, imitation, power_of_two, share_of_goal, states
from linkwalk.gpu.walks import DeviceGraph
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import KINDS
from linkwalk.learn.clone import cloning_loss
from linkwalk.policy import from_walks, without
from linkwalk.policy.heads import FeedForward, HeadConfig, NodeTable
from linkwalk.walks import ForwardWalks, Walks, drop_edges
from tests.graph.conftest import csr
from tests.on_device import DEVICE, way
from tests.walks.conftest import unsorted_graph

__all__ = ["way"]
WIDTH = 12


def world(seed: int = 0, *, nodes: int = 60, links: float = 9.0):
    """A graph with repeated links, self-links and dead ends, a head, and embeddings."""
    rng = np.random.default_rng(seed)
    graph = unsorted_graph(rng, nodes=nodes, links=links)
    kinds = rng.integers(0, len(KINDS), len(graph.indices)).astype(np.uint8)
    torch.manual_seed(seed)
    head = FeedForward(HeadConfig(width=WIDTH)).to(DEVICE)
    vectors = torch.tensor(rng.normal(size=(nodes, WIDTH)), dtype=torch.float32, device=DEVICE)
    return graph, kinds, head, vectors


def loss_on_device(graph: Csr, kinds, head: FeedForward, vectors, walks: Walks, dropout: EdgeDropout):
    nodes, lengths = (torch.from_numpy(column).to(DEVICE) for column in walks)
    goals = torch.from_numpy(walks.goals).to(DEVICE)
    state = states(head, vectors[nodes[:, :-1]], share_of_goal(head, vectors[goals])[:, None])
    return imitation(state, vectors, DeviceGraph.of(graph, kinds, device=DEVICE), nodes, lengths, dropout)


def seed_of(rng: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(rng.integers(1 << 64, size=1, dtype=np.uint64).view(np.int64)).to(DEVICE)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("probability", [0.0, 0.3, 0.5, 1.0])
def test_loss_and_gradient_are_those_of_the_same_decisions(probability: float) -> None:
    graph, kinds, head, vectors = world()
    walks = ForwardWalks(graph, steps=6, multistep=True).sample(30, np.random.default_rng(1))
    assert walks.lengths.min() < 6
    hidden = drop_edges(graph, walks, probability=probability, rng=np.random.default_rng(2)).hidden
    decisions = without(from_walks(walks, graph, kinds), hidden)
    exact, right = cloning_loss(head, NodeTable(vectors), decisions)
    exact.backward()
    gradients = [weight.grad.clone() for weight in head.parameters()]
    head.zero_grad()
    dropout = EdgeDropout(seed_of(np.random.default_rng(2)), probability)
    loss, accuracy = loss_on_device(graph, kinds, head, vectors, walks, dropout)
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)
    assert accuracy.item() == pytest.approx(right.item())
    for weight, gradient in zip(head.parameters(), gradients, strict=True):
        assert torch.allclose(weight.grad, gradient, atol=1e-5)


@pytest.mark.usefixtures("way")
def test_no_link_is_cut_off_however_many_there_are() -> None:
    count = 500
    graph = csr(count, [(0, i) for i in range(1, count)] + [(i, 0) for i in range(1, count)])
    _, _, head, _ = world()
    vectors = torch.tensor(
        np.random.default_rng(4).normal(size=(count, WIDTH)), dtype=torch.float32, device=DEVICE
    )
    kinds = np.full(len(graph.indices), 2, np.uint8)
    walks = Walks(np.array([[0, count - 1, 0]], np.int32), np.array([2], np.int32))  # the last of 499 links
    exact, _ = cloning_loss(head, NodeTable(vectors), from_walks(walks, graph, kinds))
    none = EdgeDropout(torch.zeros(1, dtype=torch.int64, device=DEVICE), 0.0)
    loss, _ = loss_on_device(graph, kinds, head, vectors, walks, none)
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)


@pytest.mark.usefixtures("way")
def test_the_link_taken_is_never_hidden() -> None:
    # With every other link hidden the walk's is the only one: it is certain, wherever rows do not repeat it.
    rng = np.random.default_rng(6)
    graph = csr(30, sorted({(int(a), int(b)) for a, b in rng.integers(0, 30, (200, 2))}))
    kinds = rng.integers(0, len(KINDS), len(graph.indices)).astype(np.uint8)
    _, _, head, vectors = world()
    for seed in range(3):
        walks = ForwardWalks(graph, steps=5).sample(40, rng)
        dropout = EdgeDropout(torch.tensor([seed], device=DEVICE), 1.0)
        loss, accuracy = loss_on_device(graph, kinds, head, vectors[:30], walks, dropout)
        assert loss.item() == pytest.approx(0, abs=1e-5)
        assert accuracy.item() == 1


def test_a_graph_without_kinds_is_refused() -> None:
    graph, _, head, vectors = world()
    walks = ForwardWalks(graph, steps=3).sample(5, np.random.default_rng(1))
    with pytest.raises(InputError, match="give them to DeviceGraph"):
        loss_on_device(graph, None, head, vectors, walks, EdgeDropout(torch.tensor([1], device=DEVICE), 0.5))


def test_powers_of_two() -> None:
    assert [power_of_two(n) for n in (1, 2, 3, 5, 384, 512)] == [1, 2, 4, 8, 512, 512]
