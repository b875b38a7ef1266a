"""The target encoder: MiniLM before training, the same in training and in use, and small on disk."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.embed import Embeddings, open_encoder
from linkwalk.embed.batches import pad
from linkwalk.errors import ArtifactError
from linkwalk.policy.target import (
    AdapterConfig,
    TargetEncoder,
    TargetModel,
    linear_layers,
    load_target,
    save_target,
)

TEXTS = ["She was born in 1945.", "Copper conducts heat, and silver does so better.", "x"]


def shake(model: TargetModel) -> TargetModel:
    """As training leaves it: no weight of the adapter is zero."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += 0.02 * torch.randn(weight.shape, generator=generator)
    return model


@torch.no_grad()
def encode(model: TargetModel) -> np.ndarray:
    encoder = open_encoder("minilm", device="cpu")
    ids, mask = pad(encoder.tokenize(TEXTS), encoder.tokenizer.pad_token_id)
    return model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()


@pytest.fixture(scope="module")
def plain() -> np.ndarray:
    return open_encoder("minilm", device="cpu").encode(TEXTS)


def test_untrained_it_is_the_encoder_itself(plain: np.ndarray) -> None:
    # The same shapes and the same sums, so to the last bit; in a batch by length rounding may differ.
    ids, mask = pad(open_encoder("minilm", device="cpu").tokenize(TEXTS), 0)
    encoder = open_encoder("minilm", device="cpu")
    with torch.no_grad():
        states = encoder.model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))[0]
        weight = torch.from_numpy(mask)[:, :, None].float()
        expected = ((states * weight).sum(1) / weight.sum(1)).numpy()
    found = encode(TargetModel(encoder.model, AdapterConfig()))
    assert np.array_equal(found, expected)
    assert np.allclose(found, plain, atol=1e-6)


def test_only_the_adapter_learns() -> None:
    model = TargetModel(open_encoder("minilm", device="cpu").model, AdapterConfig(rank=4, turn=True))
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert all(name.endswith((".up", ".down")) or name == "turn" for name in learning)
    assert len(learning) == len(model.adapter()) == 2 * 6 * 6 + 1  # six linear layers in each of six
    assert TargetModel(open_encoder("minilm", device="cpu").model, AdapterConfig()).adapter().keys() == {
        name for name in model.adapter() if name != "turn"
    }


def test_merged_it_computes_the_same(plain: np.ndarray) -> None:
    model = shake(TargetModel(open_encoder("minilm", device="cpu").model, AdapterConfig(turn=True)))
    expected = encode(model)
    assert np.abs(expected - plain).max() > 0.1
    encoder = open_encoder("minilm", device="cpu")
    done: list[float] = []
    found = TargetEncoder(encoder, model.adapter()).encode(TEXTS, done.append)
    assert np.allclose(found, expected, atol=1e-5)
    assert sum(done) == pytest.approx(3)


def test_it_survives_the_disk_and_is_small(embedded_world: Path, tmp_path: Path) -> None:
    table = Embeddings.open(embedded_world)
    model = shake(TargetModel(open_encoder("minilm", device="cpu").model, AdapterConfig()))
    save_target(tmp_path, model.adapter(), model.config, table.fingerprint, {"config": {"seed": 3}})
    assert (tmp_path / "target.safetensors").stat().st_size < 1_400_000
    manifest = json.loads((tmp_path / "target.json").read_bytes())
    assert (manifest["config"]["seed"], manifest["adapter"]["rank"]) == (3, 16)
    again = load_target(tmp_path, table, device="cpu")
    assert again is not None
    assert np.allclose(again.encode(TEXTS), encode(model), atol=5e-3)  # kept in half precision


def test_target_encoders_that_cannot_be_used(embedded_world: Path, tmp_path: Path) -> None:
    table = Embeddings.open(embedded_world)
    assert load_target(tmp_path, table) is None
    model = TargetModel(open_encoder("minilm", device="cpu").model, AdapterConfig(rank=1))
    adapter = model.adapter()

    def write(weights: dict[str, torch.Tensor], encoder: str = table.fingerprint) -> None:
        save_target(tmp_path, weights, model.config, encoder, {})

    write(adapter, "another")
    with pytest.raises(ArtifactError, match="adapts another encoder than that of the embeddings 'minilm'"):
        load_target(tmp_path, table)
    write(adapter | {"turn": torch.full((384, 384), float("nan"))})
    with pytest.raises(ArtifactError, match="not numbers"):
        load_target(tmp_path, table)
    write({name: value for name, value in adapter.items() if "layer.5" not in name})
    with pytest.raises(ArtifactError, match=r"is damaged .the adapter is of another model"):
        load_target(tmp_path, table, device="cpu")
    write(adapter | {"encoder.layer.0.output.dense.up": torch.zeros(7, 1)})
    with pytest.raises(ArtifactError, match="is damaged"):
        load_target(tmp_path, table, device="cpu")
    write(adapter)
    for name, content in (("target.safetensors", b"noise"), ("target.json", b"{}"), ("target.json", b"[")):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ArtifactError, match="is damaged"):
            load_target(tmp_path, table)
        (tmp_path / name).write_bytes(before)
    assert load_target(tmp_path, table, device="cpu") is not None


def test_the_pooler_is_left_alone() -> None:
    names = linear_layers(open_encoder("minilm", device="cpu").model)
    assert len(names) == 36
    assert not any("pooler" in name for name in names)
