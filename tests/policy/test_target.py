"""The target encoder: MiniLM before training, the same in training and in use, and small on disk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from linkwalk.embed import Embeddings, open_encoder
from linkwalk.embed.tokens import pad
from linkwalk.embed.transformer import linear_layers, open_transformer
from linkwalk.errors import ArtifactError, DamagedError
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.heads import HeadConfig, build_head
from linkwalk.policy.low_rank import TargetModel, restore, save_target
from linkwalk.policy.target import AdapterConfig, TargetEncoder, load_target
from tests.older import unseal

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
    encoder = open_transformer("minilm", device="cpu")
    ids, mask = pad(encoder.tokenize(TEXTS), encoder.tokenizer.pad_token_id)
    return model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()


@pytest.fixture(scope="module")
def plain() -> np.ndarray:
    return open_transformer("minilm", device="cpu").encode(TEXTS)


def test_untrained_it_is_the_encoder_itself(plain: np.ndarray) -> None:
    # The same shapes and the same sums, so to the last bit; in a batch by length rounding may differ.
    ids, mask = pad(open_transformer("minilm", device="cpu").tokenize(TEXTS), 0)
    encoder = open_transformer("minilm", device="cpu")
    with torch.no_grad():
        states = encoder.model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))[0]
        weight = torch.from_numpy(mask)[:, :, None].float()
        expected = ((states * weight).sum(1) / weight.sum(1)).numpy()
    found = encode(TargetModel(encoder.model, AdapterConfig()))
    assert np.array_equal(found, expected)
    assert np.allclose(found, plain, atol=1e-6)


def test_only_the_adapter_learns() -> None:
    model = TargetModel(open_transformer("minilm", device="cpu").model, AdapterConfig(rank=4, turn=True))
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert all(name.endswith((".up", ".down")) or name == "turn" for name in learning)
    assert len(learning) == len(model.adapter()) == 2 * 6 * 6 + 1  # six linear layers in each of six
    assert TargetModel(open_transformer("minilm", device="cpu").model, AdapterConfig()).adapter().keys() == {
        name for name in model.adapter() if name != "turn"
    }


def test_merged_it_computes_the_same(plain: np.ndarray) -> None:
    model = shake(TargetModel(open_transformer("minilm", device="cpu").model, AdapterConfig(turn=True)))
    expected = encode(model)
    assert np.abs(expected - plain).max() > 0.1
    encoder = open_encoder("minilm", device="cpu")
    done: list[float] = []
    found = TargetEncoder(encoder, model.adapter()).encode(TEXTS, done.append)
    assert np.allclose(found, expected, atol=1e-5)
    assert sum(done) == pytest.approx(3)


def test_a_reader_that_only_turns_can_be_tuned_like_any_other() -> None:
    sizes = AdapterConfig(rank=0, turn=True)
    turned = TargetModel(open_transformer("minilm", device="cpu").model, sizes).adapter()
    turned["turn"] += 1
    model = TargetModel(open_transformer("minilm", device="cpu").model, AdapterConfig(rank=2, turn=True))
    restore(model.adapter(), {name: value.numpy() for name, value in turned.items()})
    found = model.adapter()
    assert (found["turn"] == 1).all()
    assert all((value == 0).all() for name, value in found.items() if name.endswith(".up"))
    assert {len(value) for name, value in found.items() if name.endswith(".down")} == {2}


def test_it_survives_the_disk_and_is_small(embedded_world: Path, tmp_path: Path) -> None:
    table = Embeddings.open(embedded_world)
    model = shake(TargetModel(table.transformer("cpu").model, AdapterConfig()))
    save_target(tmp_path, model.adapter(), model.config, table.fingerprint, {"config": {"seed": 3}})
    assert (tmp_path / "target.safetensors").stat().st_size < 1_400_000
    manifest = json.loads((tmp_path / "target.json").read_bytes())
    assert (manifest["config"]["seed"], manifest["adapter"]["rank"]) == (3, 16)
    again = load_target(tmp_path, table, device="cpu")
    assert again is not None
    assert np.allclose(again.encode(TEXTS), encode(model), atol=5e-3)  # kept in half precision


@pytest.fixture(scope="module")
def adapter() -> dict[str, torch.Tensor]:
    return TargetModel(open_transformer("minilm", device="cpu").model, AdapterConfig(rank=1)).adapter()


def beside(folder: Path, table: Embeddings, adapter: dict[str, torch.Tensor], encoder: str = "") -> Path:
    """A sealed policy with a target encoder."""
    config = HeadConfig(head="compass", width=table.width)
    save_target(folder, adapter, AdapterConfig(rank=1), encoder or table.fingerprint, {})
    save_policy(folder, build_head(config), config, {"encoder": table.fingerprint, "encoder_name": "minilm"})
    return folder


def test_target_encoders_that_cannot_be_used(
    embedded_world: Path, tmp_path: Path, adapter: dict[str, torch.Tensor]
) -> None:
    table = Embeddings.open(embedded_world)
    assert load_target(tmp_path, table) is None
    with pytest.raises(
        ArtifactError, match="adapts another encoder than that of the embeddings 'minilm-walks'"
    ):
        load_target(beside(tmp_path / "other", table, adapter, "another"), table)
    layer = "encoder.layer.0.output.dense.up"
    for number, (weights, words) in enumerate(
        [
            (adapter | {"turn": torch.full((384, 384), float("nan"))}, "weights that are not numbers"),
            (
                {name: value for name, value in adapter.items() if "layer.5" not in name},
                "the adapter is of another model",
            ),
            ({name: value for name, value in adapter.items() if name != layer}, "KeyError"),
            (adapter | {layer: torch.zeros(7, 1)}, "another width"),
            (adapter | {layer: torch.zeros(1, 1)}, "another width"),
            (adapter | {layer: torch.zeros(384, 2)}, "another width"),
            (adapter | {"turn": torch.zeros(3, 3)}, "another width"),
        ]
    ):
        folder = beside(tmp_path / str(number), table, weights)
        with pytest.raises(DamagedError) as refused:
            load_target(folder, table, device="cpu")
        assert refused.value.path == folder / "target.safetensors"
        assert words in str(refused.value)
        assert "\n" not in str(refused.value)


def into_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("name", ["target.json", "target.safetensors"])
def test_damage_is_one_line_that_names_the_file(
    embedded_world: Path, tmp_path: Path, adapter: dict[str, torch.Tensor], name: str, sealed: bool
) -> None:
    table = Embeddings.open(embedded_world)
    whole = beside(tmp_path / "whole", table, adapter)
    if not sealed:
        unseal(whole)
    assert load_target(whole, table, device="cpu") is not None
    damages: list[Callable[[Path], Any]] = [
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"[" * 100_000),
        lambda path: path.write_bytes(b"\xff\xfe"),
        into_folder,
    ]
    if name == "target.json":
        damages += [
            lambda path: unseal(path.parent, name, **{"artifact": "policy", "format": 2}),
            lambda path: unseal(path.parent, name, **{"format": "two"}),
            lambda path: unseal(path.parent, name, **{"encoder": [1]}),
            lambda path: path.write_text("[]"),
        ]
    if sealed or name == "target.safetensors":
        damages.append(lambda path: path.unlink())
    for number, damage in enumerate(damages):
        folder = tmp_path / "wiki" / "policies" / f"p{number}"
        damage(Path(shutil.copytree(whole, folder)) / name)
        with pytest.raises(DamagedError) as refused:
            load_target(folder, table, device="cpu")
        line = str(refused.value)
        assert line.startswith(f"{folder / name} is damaged ("), number
        assert line.endswith(f"run `linkwalk train-reader {tmp_path / 'wiki'} p{number} --force`")
        assert "\n" not in line


def test_a_target_encoder_of_version_0_1_opens(
    embedded_world: Path, tmp_path: Path, adapter: dict[str, torch.Tensor]
) -> None:
    """With its policy or alone."""
    table = Embeddings.open(embedded_world)
    folder = unseal(beside(tmp_path / "p", table, adapter))
    unseal(folder, "target.json")
    expected = load_target(folder, table, device="cpu")
    (folder / "manifest.json").unlink()
    alone = load_target(folder, table, device="cpu")
    assert expected is not None
    assert alone is not None
    assert np.array_equal(alone.encode(TEXTS), expected.encode(TEXTS))


def test_the_pooler_is_left_alone() -> None:
    names = linear_layers(open_transformer("minilm", device="cpu").model)
    assert len(names) == 36
    assert not any("pooler" in name for name in names)
