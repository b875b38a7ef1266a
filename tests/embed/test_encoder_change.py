"""An encoder that is another one, changed: written in bytes, read alike by numpy and torch, and told from its base."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from linkwalk.artifact import seal
from linkwalk.embed import EmbedConfig, Embeddings, embed, open_encoder
from linkwalk.embed.encoder_change import (
    MANIFEST,
    WEIGHTS,
    EncoderChange,
    balanced,
    leading,
    read_change,
    save_change,
)
from linkwalk.embed.model import find_model
from linkwalk.embed.transformer import linear_layers, open_transformer
from linkwalk.errors import DamagedError, InputError
from linkwalk.graph.store import Graph
from tests.embed.conftest import TEXTS, tiny_bert


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny_bert(tmp_path / "tiny", num_hidden_layers=2)


@pytest.fixture
def changed(tmp_path: Path, base: Path) -> Path:
    """A folder with a change of rank 3 of the tiny model."""
    rng = np.random.default_rng(0)
    weights = {}
    for name, layer in linear_layers(open_transformer(str(base), device="cpu").model).items():
        up, down = leading(0.3 * rng.standard_normal(tuple(layer.weight.shape)).astype(np.float32), 3)
        weights |= {f"{name}.up": up, f"{name}.down": down}
    save_change(tmp_path / "walks", EncoderChange(str(base), find_model(str(base)).fingerprint, weights), {})
    return tmp_path / "walks"


def test_leading_directions_are_the_best_of_their_rank() -> None:
    rng = np.random.default_rng(0)
    low = (rng.standard_normal((9, 2)) @ rng.standard_normal((2, 7))).astype(np.float32)
    up, down = leading(low, 2)
    np.testing.assert_allclose(up @ down, low, atol=1e-5)
    assert leading(low, 1)[0].shape == (9, 1)


def test_what_training_goes_on_from_is_the_same_change(changed: Path) -> None:
    found = read_change(changed).weights
    again = balanced(found)
    for name in {name.rpartition(".")[0] for name in found}:
        (up, down), other = ((some[f"{name}.up"], some[f"{name}.down"]) for some in (again, found))
        np.testing.assert_allclose(up @ down, other[0] @ other[1], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(up, axis=0), np.linalg.norm(down, axis=1), rtol=1e-4)


def test_a_byte_a_number_keeps_two_digits(changed: Path, base: Path) -> None:
    assert all(
        value.dtype == np.int8 for name, value in load_file(changed / WEIGHTS).items() if "scale" not in name
    )
    rng = np.random.default_rng(0)
    found = read_change(changed).weights
    for name, layer in linear_layers(open_transformer(str(base), device="cpu").model).items():
        up, down = leading(0.3 * rng.standard_normal(tuple(layer.weight.shape)).astype(np.float32), 3)
        whole, kept = up @ down, found[f"{name}.up"] @ found[f"{name}.down"]
        assert np.linalg.norm(kept - whole) < 0.02 * np.linalg.norm(whole)


def test_numpy_and_torch_read_it_alike_and_not_as_its_base(changed: Path, base: Path) -> None:
    by_numpy = open_encoder(str(changed), device="cpu").encode(TEXTS)
    by_torch = open_transformer(str(changed), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(by_numpy, by_torch, atol=1e-4)
    assert np.abs(by_numpy - open_encoder(str(base), device="cpu").encode(TEXTS)).max() > 0.05


def test_an_adapter_goes_on_top_of_it(changed: Path) -> None:
    encoder = open_transformer(str(changed), device="cpu")
    nothing = {
        f"{name}.{part}": np.zeros(shape, np.float32)
        for name, layer in linear_layers(encoder.model).items()
        for part, shape in (("up", (layer.weight.shape[0], 0)), ("down", (0, layer.weight.shape[1])))
    }
    np.testing.assert_allclose(encoder.adapted(nothing).encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)
    by_numpy = open_encoder(str(changed), device="cpu")
    np.testing.assert_allclose(by_numpy.adapted(nothing).encode(TEXTS), by_numpy.encode(TEXTS), atol=1e-5)


def test_a_wiki_is_embedded_with_it_and_reads_sentences_with_it(
    changed: Path, graph: Graph, tmp_path: Path
) -> None:
    done = embed(tmp_path / "wiki", EmbedConfig(encoder=str(changed)))
    table = Embeddings.open(tmp_path / "wiki", "walks")
    assert done.name == "walks"
    expected = open_encoder(str(changed), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(table.encoder().encode(TEXTS), expected, atol=1e-6)
    plain = embed(tmp_path / "wiki", EmbedConfig(encoder=read_change(changed).base))
    assert plain.manifest is not None
    assert plain.manifest["encoder_fingerprint"] != table.fingerprint


def test_another_base_is_refused(changed: Path) -> None:
    about = json.loads((changed / MANIFEST).read_text())
    (changed / MANIFEST).write_text(json.dumps(about | {"base_fingerprint": "0" * 32}))
    with pytest.raises(InputError, match="changes another"):
        find_model(str(changed))


def test_damage_is_named(changed: Path) -> None:
    weights = load_file(changed / WEIGHTS)
    name = next(name for name in weights if name.endswith(".scale"))
    save_file(weights | {name: np.full_like(weights[name], np.nan)}, changed / WEIGHTS)
    with pytest.raises(DamagedError, match="not numbers"):
        read_change(changed)
    seal(changed, {"artifact": "policy"})
    find_model(str(changed))
    (changed / WEIGHTS).write_bytes(b"no weights")
    with pytest.raises(DamagedError, match=rf"{WEIGHTS} is damaged \(its checksum"):
        find_model(str(changed))
    (changed / "manifest.json").unlink()
    with pytest.raises(DamagedError, match=WEIGHTS):
        find_model(str(changed)).changes  # noqa: B018
