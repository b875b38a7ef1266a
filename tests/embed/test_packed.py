"""Texts end to end are read as padded ones are, and have the same gradient."""

from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.embed.packed import PackedBert, TokenRows
from linkwalk.embed.transformer import TransformerEncoder, forward, open_transformer
from linkwalk.errors import InputError
from linkwalk.policy.low_rank import adapt
from tests.embed.conftest import TEXTS, tiny_bert


@pytest.fixture
def encoder(tmp_path: Path) -> TransformerEncoder:
    return open_transformer(str(tiny_bert(tmp_path / "tiny", num_hidden_layers=2)), device="cpu")


def test_any_texts_in_any_order_have_the_vectors_of_padded_ones(encoder: TransformerEncoder) -> None:
    rows = TokenRows.of(encoder.tokenize(TEXTS), "cpu")
    order = np.array([4, 0, 4, 7, 2])
    with torch.no_grad():
        found = PackedBert(encoder.model)(rows.take(order))
    np.testing.assert_allclose(found.numpy(), encoder.encode([TEXTS[i] for i in order]), atol=1e-5)


def test_the_gradient_is_that_of_padded_texts(encoder: TransformerEncoder) -> None:
    ids = encoder.tokenize(TEXTS)
    rows = TokenRows.of(ids, "cpu")
    weight = encoder.model.encoder.layer[0].attention.self.query.weight
    PackedBert(encoder.model)(rows.take(np.arange(len(TEXTS)))).square().sum().backward()
    packed = weight.grad.clone()
    weight.grad = None
    width = max(map(len, ids))
    padded = torch.tensor([row + [0] * (width - len(row)) for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
    forward(encoder.model, padded, mask, False).square().sum().backward()
    np.testing.assert_allclose(packed.numpy(), weight.grad.numpy(), atol=1e-4)


def test_an_adapter_is_read_and_has_a_gradient(encoder: TransformerEncoder) -> None:
    rows = TokenRows.of(encoder.tokenize(TEXTS), "cpu").take(np.arange(len(TEXTS)))
    before = PackedBert(encoder.model)(rows).detach()
    model = adapt(encoder.model, 2)
    layer = model.encoder.layer[1].output.dense
    np.testing.assert_allclose(PackedBert(model)(rows).detach().numpy(), before.numpy(), atol=1e-6)
    with torch.no_grad():
        layer.up[0].fill_(0.5)
    after = PackedBert(model)(rows)
    assert (after - before).abs().max() > 1e-3
    after.sum().backward()
    assert layer.down.grad.abs().max() > 0
    assert layer.layer.weight.grad is None


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    encoder = open_transformer(str(tiny_bert(tmp_path / "tiny", hidden_act="relu")), device="cpu")
    with pytest.raises(InputError, match="BERT's architecture"):
        PackedBert(encoder.model)
