"""The transformer encoder against a plain loop over single texts."""

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from linkwalk.embed.encoder import MAX_TOKENS, open_encoder
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.errors import InputError
from tests.embed.conftest import TEXTS, tiny_bert


def alone(encoder: TransformerEncoder, text: str, max_tokens: int = MAX_TOKENS) -> NDArray[np.float32]:
    """Mean over one text's tokens by the shortest way: no batch, no padding, no mask."""
    ids = encoder.tokenizer(text)["input_ids"]
    if len(ids) > max_tokens:
        ids = [*ids[: max_tokens - 1], ids[-1]]
    with torch.inference_mode():
        states = encoder.model(input_ids=torch.tensor([ids])).last_hidden_state[0]
    mean: NDArray[np.float32] = states.mean(0).numpy()
    return mean


def small_batches(encoder: TransformerEncoder, budget: int, **options: Any) -> TransformerEncoder:
    """The same model with other settings, without loading it again."""
    other = object.__new__(TransformerEncoder)
    other.__dict__ = {**encoder.__dict__, "batch_tokens": budget, **options}
    return other


def test_it_is_the_mean_over_a_texts_own_tokens(minilm: TransformerEncoder) -> None:
    vectors = minilm.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert np.abs(vector - alone(minilm, text)).max() < 1e-4


@pytest.mark.parametrize("budget", [1, 64, 1000])
def test_neither_batches_nor_order_matter(minilm: TransformerEncoder, budget: int) -> None:
    vectors = minilm.encode(TEXTS)
    order = np.random.default_rng(budget).permutation(len(TEXTS))
    shuffled = small_batches(minilm, budget).encode([TEXTS[i] for i in order])
    assert np.abs(shuffled - vectors[order]).max() < 1e-4


def test_long_texts_are_cut_at_200_tokens(minilm: TransformerEncoder) -> None:
    long = max(TEXTS, key=len)
    assert len(minilm.tokenizer(long)["input_ids"]) > 2 * MAX_TOKENS
    ids = minilm.tokenize([long, "short"])
    assert [len(row) for row in ids] == [MAX_TOKENS, 3]
    assert ids[0][-1] == ids[1][-1] == minilm.tokenizer.sep_token_id
    # What stands behind the cut is not read.
    a, b, c = minilm.encode([long, long + " Something else entirely, of whales.", "Whales. " + long])
    assert np.abs(a - b).max() < 1e-5
    assert np.abs(a - c).max() > 1e-2


def test_tanh_is_of_the_mean(minilm: TransformerEncoder) -> None:
    found = small_batches(minilm, 4096, tanh=True).encode(TEXTS[:3])
    assert np.abs(found - np.tanh(minilm.encode(TEXTS[:3]))).max() < 1e-6


def test_meaning_is_near(minilm: TransformerEncoder) -> None:
    texts = [
        "Kepler and the orbit of Mars",
        "Planets move around the sun in ellipses",
        "A recipe for onion soup",
    ]
    rows = minilm.encode(texts)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


def test_no_texts_and_progress(minilm: TransformerEncoder) -> None:
    assert minilm.encode([]).shape == (0, 384)
    heard: list[float] = []
    small_batches(minilm, 64).encode(TEXTS[5:9], heard.append)
    assert len(heard) > 1
    assert sum(heard) == pytest.approx(4)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return tiny_bert(tmp_path / "tiny-bert", max_position_embeddings=64)


def test_any_folder_without_the_network(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    encoder = open_transformer(str(tiny), device="cpu", max_tokens=40)
    assert encoder.width == 16
    for text, vector in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        assert np.abs(vector - alone(encoder, text, 40)).max() < 1e-4


def test_more_tokens_than_the_model_reads(tiny: Path) -> None:
    with pytest.raises(InputError, match="3 to 64"):
        open_encoder(str(tiny), device="cpu", max_tokens=65)


def test_damaged_weights(tiny: Path) -> None:
    weights = load_file(tiny / "model.safetensors")
    weights["embeddings.LayerNorm.weight"][3] = float("nan")
    save_file(weights, tiny / "model.safetensors")
    with pytest.raises(InputError, match="not numbers"):
        open_encoder(str(tiny), device="cpu", max_tokens=40).encode(["text"])
    (tiny / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(InputError, match="cannot load the encoder"):
        open_encoder(str(tiny), device="cpu", max_tokens=40)


def test_weights_that_do_not_fit_the_model(tiny: Path) -> None:
    weights = load_file(tiny / "model.safetensors")
    save_file({f"foreign.{name}": weight for name, weight in weights.items()}, tiny / "model.safetensors")
    with pytest.raises(InputError, match="lacks weights"):
        open_encoder(str(tiny), device="cpu", max_tokens=40)


def test_random_features_read_no_text() -> None:
    with pytest.raises(InputError, match="cannot read text"):
        open_encoder("random")
