"""A word table in training: its vectors, their gradient, and what Adam by rows does with it."""

import numpy as np
import torch
from torch import nn

from linkwalk.embed.svd import Sparse
from linkwalk.embed.words import WordProjection
from linkwalk.learn.encoders.row_adam import RowAdam
from linkwalk.learn.encoders.word_phi import WordPhi

BLOCKS, TERMS, WIDTH = 12, 30, 8


def sparse(seed: int = 0) -> tuple[Sparse, torch.Tensor]:
    """Rows of a matrix, the third of them empty, and the same matrix in full."""
    rng = np.random.default_rng(seed)
    dense = rng.random((BLOCKS, TERMS)) * (rng.random((BLOCKS, TERMS)) < 0.2)
    dense[2], dense[:, 7] = 0, 0
    rows, columns = np.nonzero(dense)
    bounds = np.concatenate(([0], np.bincount(rows, minlength=BLOCKS).cumsum()))
    values = dense[rows, columns].astype(np.float32)
    return Sparse(bounds, columns.astype(np.int32), values), torch.from_numpy(dense.astype(np.float32))


def test_vectors_and_gradients_are_those_of_the_plain_product() -> None:
    rows, dense = sparse()
    start = np.random.default_rng(1).standard_normal((TERMS, WIDTH))
    phi = WordPhi([rows], start, workers=3)
    nodes = np.array([4, 2, 4, 9])
    weigh = torch.randn(len(nodes), WIDTH, generator=torch.Generator().manual_seed(2))
    found = phi.vectors([(0, nodes)], [])
    (nn.functional.normalize(found, dim=-1) * weigh).sum().backward()

    plain = phi.projection.detach().clone().requires_grad_()
    wanted = dense[torch.from_numpy(nodes)] @ plain
    (nn.functional.normalize(wanted, dim=-1) * weigh).sum().backward()
    torch.testing.assert_close(found, wanted)
    assert plain.grad is not None
    assert phi.projection.grad is not None
    torch.testing.assert_close(phi.projection.grad.to_dense(), plain.grad)
    used = set(phi.projection.grad.coalesce().indices()[0].tolist())
    assert used == set(np.flatnonzero(dense[[4, 9]].numpy().any(0)).tolist())

    table = phi.table(0)
    lengths = np.linalg.norm(table, axis=1)
    assert not table[2].any()
    np.testing.assert_allclose(np.delete(lengths, 2), 1, rtol=1e-5)


def test_what_was_trained_is_an_encoder_of_the_same_terms() -> None:
    rows, _ = sparse()
    before = WordProjection(
        np.arange(TERMS, dtype=np.int32), np.ones(TERMS, np.float32), np.ones((TERMS, WIDTH), np.float16)
    )
    phi = WordPhi([rows], np.random.default_rng(1).standard_normal((TERMS, WIDTH)))
    with torch.no_grad():
        phi.projection.mul_(1e6)  # far beyond half precision, and no matter
    after = phi.fitted(before)
    assert after.terms is before.terms
    assert after.projection.dtype == np.float16
    np.testing.assert_allclose(WordPhi([rows], after.projection).table(0), phi.table(0), atol=2e-3)


def test_adam_by_rows_moves_the_rows_that_have_a_gradient() -> None:
    weight = nn.Parameter(torch.ones(5, 3))
    optimiser = RowAdam([{"params": [weight]}], lr=0.1)
    for _ in range(3):
        values = torch.tensor([[-1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [-1.0, 0.0, 0.0]])
        weight.grad = torch.sparse_coo_tensor(
            torch.tensor([[4, 1, 4]]), values, (5, 3), check_invariants=True
        )
        optimiser.step()
    # Of a steady gradient each step is as long as the rate times the root of the mean square's share.
    torch.testing.assert_close(weight.detach()[1], torch.full((3,), 0.7))
    torch.testing.assert_close(weight.detach()[4], torch.tensor([1 + 0.3 * 3**0.5, 1.0, 1.0]))
    assert torch.equal(weight.detach()[[0, 2, 3]], torch.ones(3, 3))
