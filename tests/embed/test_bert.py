"""BERT in numpy against torch and transformers: the same tokens, the same vectors, the same cosines."""

import json
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from linkwalk.embed import bert
from linkwalk.embed.bert import gelu, map_weights
from linkwalk.embed.encoder import BertEncoder, open_encoder
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.errors import InputError
from tests.embed.conftest import TEXTS, tiny_bert

ROUNDING = 3e-6
"""Of a vector's length. Torch's own float32 strays by 1e-6 from what it computes in float64."""
ODD = [
    "",
    " ",
    "\n\t",
    "ﬁancée\u0301 Ångström ẞ İstanbul",
    "東京は日本の首都です。",
    "😀 emoji 👩‍👩‍👧 joined",
    "[SEP] [CLS] [MASK] [PAD] [UNK]",
    "a" * 500,
    "control\x00\x07\x7f\u200b\ufeff characters",
    "العربية עברית हिन्दी ไทย",
    "1,234.5e-6%§¶—–‘’“”…",
    "word " * 400,
]


@pytest.fixture(scope="module")
def ours() -> BertEncoder:
    found = open_encoder("minilm", device="cpu")
    assert isinstance(found, BertEncoder)
    return found


def apart(found: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    """The largest distance of two vectors, by their length."""
    lengths = np.linalg.norm(expected, axis=1)
    return float((np.linalg.norm(found - expected, axis=1) / lengths).max())


def test_gelu_is_torchs() -> None:
    x = np.concatenate([np.linspace(-30, 30, 100_001), [0.0, -0.0, 1e-30, -1e-30, 1e30]]).astype(np.float32)
    expected = torch.nn.functional.gelu(torch.from_numpy(x.astype(np.float64))).numpy()
    with np.errstate(over="ignore"):
        gelu(x)
    assert (np.abs(x - expected) <= 1.2e-7 * np.maximum(1, np.abs(expected))).all()


def test_tokens_are_those_of_transformers(ours: BertEncoder, minilm: TransformerEncoder) -> None:
    texts = TEXTS + ODD
    for most in (3, 17, 200):
        cut = minilm.tokenizer(texts, truncation=True, max_length=most)
        assert ours.tokens.of_texts(texts, most) == cut["input_ids"]
        pairs = minilm.tokenizer(texts, texts[::-1], truncation="longest_first", max_length=max(most, 5))
        assert ours.tokens.of_pairs(texts, texts[::-1], max(most, 5)) == (
            pairs["input_ids"],
            pairs["token_type_ids"],
        )


def test_vectors_are_torchs_but_for_rounding(ours: BertEncoder, minilm: TransformerEncoder) -> None:
    texts = [*TEXTS, *ODD, *(" ".join(TEXTS[5:][:n]) for n in range(1, 7))]
    assert apart(ours.encode(texts), minilm.encode(texts)) < ROUNDING
    assert ours.encode([]).shape == (0, 384)


def test_it_is_as_exact_as_torch(ours: BertEncoder) -> None:
    other = open_transformer("minilm", device="cpu")
    theirs, exact = other.encode(TEXTS), other.model.double()
    with torch.inference_mode():
        states = [exact(input_ids=torch.tensor([row])).last_hidden_state[0] for row in other.tokenize(TEXTS)]
    truth = np.stack([state.mean(0).numpy() for state in states])
    assert apart(ours.encode(TEXTS), truth) < 2 * apart(theirs, truth)


def test_pairs_are_torchs_but_for_rounding(ours: BertEncoder, minilm: TransformerEncoder) -> None:
    texts = TEXTS + ODD
    for found, expected in zip(ours.pairs(texts, texts[::-1]), minilm.pairs(texts, texts[::-1]), strict=True):
        assert apart(found, expected) < ROUNDING


def test_adapted_it_is_torchs_and_the_weights_are_shared(
    ours: BertEncoder, minilm: TransformerEncoder
) -> None:
    rng = np.random.default_rng(5)
    adapter = {}
    for name, weight in ours.bert.weights.items():
        if weight.ndim == 2 and name.startswith("encoder."):
            layer = name.removesuffix(".weight")
            adapter[f"{layer}.up"] = rng.normal(0, 0.05, (len(weight), 3)).astype(np.float16)
            adapter[f"{layer}.down"] = rng.normal(0, 0.05, (3, weight.shape[1])).astype(np.float16)
    before = ours.encode(TEXTS)
    found, expected = ours.adapted(adapter, max_tokens=160), minilm.adapted(adapter, max_tokens=160)
    assert apart(found.encode(TEXTS), expected.encode(TEXTS)) < ROUNDING
    assert np.abs(found.encode(TEXTS) - before).max() > 1e-2
    assert np.array_equal(ours.encode(TEXTS), before)
    assert found.bert.weights is ours.bert.weights, "one copy serves both"
    assert len(found.bert.changes) == 36


def test_what_memory_held_before_does_not_matter(ours: BertEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ours.encode(TEXTS)
    kept: deque[NDArray[np.float32]] = deque(maxlen=2)
    monkeypatch.setattr(bert, "_KEPT", kept)
    for numbers in (10, 1 << 22):
        kept.append(np.full(numbers, np.nan, np.float32))
    for _ in range(2):
        assert np.array_equal(ours.encode(TEXTS), expected)
    assert 1 <= len(kept) <= 2
    monkeypatch.setattr(bert, "_LARGEST_KEPT", 10)
    kept.clear()
    assert np.array_equal(ours.encode(TEXTS), expected)
    assert not kept, "too large to be kept"


def test_changed_weights_are_sums_column_by_column(ours: BertEncoder) -> None:
    rng = np.random.default_rng(6)
    adapter = {}
    for name, weight in ours.bert.weights.items():
        if weight.ndim == 2 and name.startswith("encoder."):
            layer = name.removesuffix(".weight")
            adapter[f"{layer}.up"] = rng.normal(0, 0.05, (len(weight), 3)).astype(np.float32)
            adapter[f"{layer}.down"] = rng.normal(0, 0.05, (3, weight.shape[1])).astype(np.float32)
    changed = ours.bert.changed(adapter)
    for layer in {name.rpartition(".")[0] for name in adapter}:
        found, plain = (whose.weights[f"{layer}.weight"] for whose in (changed, ours.bert))
        assert np.allclose(found, plain + adapter[f"{layer}.up"] @ adapter[f"{layer}.down"], atol=1e-6)
        assert found.flags.f_contiguous


def test_neither_batches_nor_order_matter(ours: BertEncoder) -> None:
    vectors = ours.encode(TEXTS)
    order = np.random.default_rng(3).permutation(len(TEXTS))
    for budget in (1, 64, 10_000):
        other = open_encoder("minilm", device="cpu", batch_tokens=budget)
        assert apart(other.encode([TEXTS[i] for i in order]), vectors[order]) < ROUNDING


def test_tanh_and_progress() -> None:
    heard: list[float] = []
    plain, squeezed = (open_encoder("minilm", device="cpu", tanh=tanh, batch_tokens=64) for tanh in (0, 1))
    assert np.array_equal(squeezed.encode(TEXTS, heard.append), np.tanh(plain.encode(TEXTS)))
    assert len(heard) > 1
    assert sum(heard) == pytest.approx(len(TEXTS))


def test_a_model_is_opened_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    folder = str(tiny_bert(tmp_path / "tiny"))
    one, other = (open_encoder(folder, device="cpu", max_tokens=n) for n in (40, 50))
    assert isinstance(one, BertEncoder)
    assert isinstance(other, BertEncoder)
    assert one.bert is other.bert
    assert one.tokens is other.tokens
    tiny_bert(tmp_path / "second", seed=1).joinpath("model.safetensors").replace(
        tmp_path / "tiny" / "model.safetensors"
    )
    third = open_encoder(folder, device="cpu")
    assert np.abs(third.encode(TEXTS) - one.encode(TEXTS)).max() > 1e-2
    assert np.abs(third.encode(TEXTS) - open_transformer(folder, device="cpu").encode(TEXTS)).max() < 1e-5


@pytest.mark.parametrize(
    "config",
    [
        {"hidden_act": "relu"},
        {"model_type": "roberta"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"num_hidden_layers": 2},
        {"layer_norm_eps": "small"},
        {"num_attention_heads": 0},
    ],
)
def test_other_architectures_are_left_to_torch(tmp_path: Path, config: dict[str, object]) -> None:
    from linkwalk.embed.bert import Bert

    folder = tiny_bert(tmp_path / "tiny")
    assert Bert.open(folder) is not None
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    assert Bert.open(folder) is None


def test_weights_of_other_types_are_left_to_torch(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "tiny")
    weights = load_file(folder / "model.safetensors")
    save_file({name: value.half() for name, value in weights.items()}, folder / "model.safetensors")
    assert isinstance(open_encoder(str(folder), device="cpu"), TransformerEncoder)


def test_a_header_that_points_outside_of_its_file(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    assert map_weights(path)["a"].tolist() == [0, 0, 0, 0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="outside"):
        map_weights(path)


def test_code_of_its_own_is_refused_by_either_way(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "tiny")
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"auto_map": {"AutoModel": "evil.Model"}}))
    for device in ("cpu", "auto"):
        with pytest.raises(InputError, match="brings code of its own"):
            open_encoder(str(folder), device=device)
