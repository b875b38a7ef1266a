"""The cross-encoder on a tiny random BERT: two cosines, the same in batches, refused where damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from linkwalk.artifact import seal
from linkwalk.embed.encoder_change import packed, unpacked
from linkwalk.embed.model import find_model
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.errors import ArtifactError, DamagedError, InputError
from linkwalk.retrieve.cross import MANIFEST, WEIGHTS, CrossConfig, CrossEncoder, load_cross, passage
from linkwalk.retrieve.cross_torch import Classifier, CrossModel, save_cross
from linkwalk.retrieve.rerank import BatchReranker
from tests.embed.conftest import TEXTS, tiny_bert
from tests.older import unseal

QUERIES = ["Where does the Danube rise?", "copper", "Who was Kepler? " * 60]
TITLES = [["Danube"] * len(TEXTS), [""], [f"Title {i}" for i in range(7)]]
SENTENCES = [TEXTS, ["Copper conducts heat."], TEXTS[:7]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("cross") / "tiny")


@pytest.fixture(scope="module")
def plain(base: Path) -> TransformerEncoder:
    return open_transformer(str(base), device="cpu")


@pytest.fixture(scope="module")
def config(base: Path) -> CrossConfig:
    return CrossConfig(encoder=str(base), rank=2)


def model_of(config: CrossConfig, *, shaken: bool) -> CrossModel:
    """As it begins, or as training leaves it: no weight is zero."""
    torch.manual_seed(1)
    model = CrossModel(open_transformer(config.encoder, device="cpu").model, config.rank)
    with torch.no_grad():
        for weight in model.parameters():
            if shaken and weight.requires_grad:
                weight += 0.3 * torch.randn(weight.shape)
    return model.eval()


@pytest.fixture(scope="module")
def shaken(config: CrossConfig) -> dict[str, Tensor]:
    return model_of(config, shaken=True).weights()


@pytest.fixture
def saved(tmp_path: Path, config: CrossConfig, shaken: dict[str, Tensor]) -> Path:
    (tmp_path / "cross").mkdir()
    (tmp_path / "cross" / "metrics.jsonl").write_text('{"update": 3}\n')
    save_cross(tmp_path / "cross", shaken, config, find_model(config.encoder).fingerprint, {"updates": 3})
    return tmp_path / "cross"


def cosines(plain: TransformerEncoder, query: str, texts: list[str]) -> np.ndarray:
    """One by one."""
    rows = np.concatenate([plain.encode([text]) for text in [query, *texts]]).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[1:] @ rows[0]


@torch.no_grad()
def by_hand(model: CrossModel, plain: TransformerEncoder, query: str, text: str) -> float:
    """One pair, without a batch, padding or mask."""
    tokens = plain.tokenizer(query, text, return_tensors="pt", truncation=True, max_length=160)
    cosine = torch.tensor(cosines(plain, query, [text]), dtype=torch.float32)
    states = model.model(**tokens).last_hidden_state[0]
    second = tokens["token_type_ids"][0] == 1
    together = torch.cosine_similarity(states[~second].mean(0), states[second].mean(0), dim=0)
    return float(10 * (model.scales[0] * cosine[0] + model.scales[1] * together))


def test_each_cosine_counts_by_its_scale(plain: TransformerEncoder, config: CrossConfig) -> None:
    model = model_of(config, shaken=False)
    texts = [passage(*pair) for pair in zip(TITLES[0], SENTENCES[0], strict=True)]
    apart = cosines(plain, QUERIES[0], texts)
    weights = model.weights()
    for scales, expected in (((0.7, 0.0), 7 * apart), ((0.0, 0.0), 0 * apart)):
        found = CrossEncoder(plain, weights | {"scales": torch.tensor(scales)}, config)
        assert np.allclose(found(QUERIES[0], TITLES[0], SENTENCES[0]), expected, atol=1e-5)
    both = CrossEncoder(plain, weights, config)(QUERIES[0], TITLES[0], SENTENCES[0])
    assert np.ptp(both - 12 * apart) > 1e-3
    assert np.abs(both - 12 * apart).max() <= 10 + 1e-4


def test_only_the_correction_learns(config: CrossConfig) -> None:
    model = model_of(config, shaken=False)
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert all(name.endswith((".up", ".down")) or name == "scales" for name in learning)
    assert len(learning) == len(model.weights()) == 2 * 6 + 1


def test_an_encoder_that_knows_no_pairs_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "single", type_vocab_size=1)
    with pytest.raises(InputError, match="does not tell the two parts of a pair apart"):
        model_of(CrossConfig(encoder=str(folder), rank=2), shaken=False)


def test_in_use_it_computes_what_was_trained(
    plain: TransformerEncoder, config: CrossConfig, shaken: dict[str, Tensor]
) -> None:
    model = model_of(config, shaken=True)
    found = CrossEncoder(plain, shaken, config)(QUERIES[0], TITLES[0], SENTENCES[0])
    expected = [
        by_hand(model, plain, QUERIES[0], passage(*pair))
        for pair in zip(TITLES[0], SENTENCES[0], strict=True)
    ]
    assert np.allclose(found, expected, atol=1e-4)
    texts = [passage(*pair) for pair in zip(TITLES[0], SENTENCES[0], strict=True)]
    scale = 10 * float(shaken["scales"][0])
    assert np.abs(found - scale * cosines(plain, QUERIES[0], texts)).max() > 0.1, "both cosines have a say"


def test_the_order_of_the_pair_and_the_title_matter(
    plain: TransformerEncoder, config: CrossConfig, shaken: dict[str, Tensor]
) -> None:
    cross = CrossEncoder(plain, shaken, config)
    there, back = cross("copper", [""], ["tin and zinc"]), cross("tin and zinc", [""], ["copper"])
    assert abs(float(there[0] - back[0])) > 1e-3, "the two parts are told apart"
    assert cross("copper", ["Tin"], ["It melts."])[0] != cross("copper", [""], ["It melts."])[0]
    assert passage("Tin", "It melts.") == "Tin. It melts."
    assert passage("", "It melts.") == "It melts."


def test_neither_batches_nor_queries_beside_it_matter(
    plain: TransformerEncoder, config: CrossConfig, shaken: dict[str, Tensor]
) -> None:
    cross = CrossEncoder(plain, shaken, config)
    assert isinstance(cross, BatchReranker)
    many = cross.many(QUERIES, TITLES, SENTENCES)
    for found, *each in zip(many, QUERIES, TITLES, SENTENCES, strict=True):
        assert np.allclose(found, cross(*each), atol=1e-5)
    for budget in (1, 300):
        cross.together.batch_tokens = budget
        for found, other in zip(cross.many(QUERIES, TITLES, SENTENCES), many, strict=True):
            assert np.allclose(found, other, atol=1e-5)
    holes = cross.many(["a", QUERIES[1], "b"], [[], TITLES[1], []], [[], SENTENCES[1], []])
    assert [len(own) for own in holes] == [0, 1, 0]
    assert holes[1] == pytest.approx(many[1], abs=1e-5)
    assert cross.many([], [], []) == []
    assert [len(own) for own in cross.many(["a", "b"], [[], []], [[], []])] == [0, 0]


def test_long_texts_are_cut(
    plain: TransformerEncoder, config: CrossConfig, shaken: dict[str, Tensor]
) -> None:
    cross = CrossEncoder(plain, shaken, config)
    long = "Copper conducts heat and silver does so better. " * 200
    ids, types = plain.tokens.of_pairs(["copper", long, long], [long, "copper", long], config.max_tokens)
    assert [len(row) for row in ids] == [len(row) for row in types] == [160] * 3
    assert 1 in types[1], "the shorter part is kept"
    assert np.isfinite(cross(long, ["T", "T"], [long, ""])).all()
    once, again = cross("copper", ["T", "T"], [long, long + " Whales."])
    assert once == pytest.approx(again, abs=1e-5), "what stands behind the cut is not read"


def test_saved_and_opened_again(
    saved: Path, plain: TransformerEncoder, config: CrossConfig, shaken: dict[str, Tensor]
) -> None:
    opened = load_cross(saved, device="cpu")
    assert isinstance(opened, CrossEncoder)
    assert opened.config == config
    assert json.loads((saved / MANIFEST).read_text())["updates"] == 3
    before = CrossEncoder(plain, shaken, config).many(QUERIES, TITLES, SENTENCES)
    after = opened.many(QUERIES, TITLES, SENTENCES)
    for one, other in zip(before, after, strict=True):
        assert np.allclose(one, other, atol=0.1)
    numbers = {name: value.numpy() for name, value in shaken.items() if name != "scales"}
    rounded = unpacked(packed(numbers)) | {"scales": shaken["scales"].numpy()}
    for one, other in zip(
        CrossEncoder(plain, rounded, config).many(QUERIES, TITLES, SENTENCES), after, strict=True
    ):
        assert np.allclose(one, other, atol=1e-6), "rounding to bytes is all that is lost"


def test_one_in_half_precision_opens(saved: Path, shaken: dict[str, Tensor]) -> None:
    """As the version before wrote them."""
    now = load_cross(saved, device="cpu").many(QUERIES, TITLES, SENTENCES)
    save_file({name: value.half().contiguous() for name, value in shaken.items()}, saved / WEIGHTS)
    seal(saved, json.loads((saved / MANIFEST).read_bytes()), name=MANIFEST)
    before = load_cross(saved, device="cpu").many(QUERIES, TITLES, SENTENCES)
    for one, other in zip(before, now, strict=True):
        assert np.allclose(one, other, atol=0.1)


def change(**changes: Any) -> Callable[[Path], None]:
    """Writes other things into the manifest, as version 0.1 wrote it; None takes one away."""

    def damage(folder: Path) -> None:
        unseal(folder, MANIFEST, **changes)

    return damage


def reweigh(change: Callable[[dict[str, Tensor]], Any]) -> Callable[[Path], None]:
    """Does something to the weights, and seals them."""

    def damage(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        change(weights)
        save_file(weights, folder / WEIGHTS)
        seal(folder, json.loads((folder / MANIFEST).read_bytes()), name=MANIFEST)

    return damage


def flip(folder: Path, name: str) -> None:
    """Changes one bit of a file."""
    data = bytearray((folder / name).read_bytes())
    data[-9] ^= 1
    (folder / name).write_bytes(data)


def into_folder(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()


def first(weights: dict[str, Tensor]) -> Tensor:
    return next(value for name, value in weights.items() if name.endswith(".scale"))


DAMAGE: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "no weights": (lambda f: (f / WEIGHTS).unlink(), WEIGHTS, "no such file"),
    "half the weights": (
        lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:999]),
        WEIGHTS,
        "999 bytes instead of",
    ),
    "empty weights": (lambda f: (f / WEIGHTS).write_bytes(b""), WEIGHTS, "0 bytes instead of"),
    "another bit": (lambda f: flip(f, WEIGHTS), WEIGHTS, "its checksum is not the one"),
    "another bit of the manifest": (lambda f: flip(f, MANIFEST), MANIFEST, ""),
    "a folder": (lambda f: into_folder(f, WEIGHTS), WEIGHTS, "it is no plain file"),
    "a folder for a manifest": (lambda f: into_folder(f, MANIFEST), MANIFEST, "is a directory"),
    "no JSON": (lambda f: (f / MANIFEST).write_text("{"), MANIFEST, ""),
    "empty": (lambda f: (f / MANIFEST).write_text(""), MANIFEST, ""),
    "a list": (lambda f: (f / MANIFEST).write_text("[]"), MANIFEST, "not an object"),
    "bytes": (lambda f: (f / MANIFEST).write_bytes(b"\xff\xfe\x00"), MANIFEST, ""),
    "another artefact": (change(artifact="target"), MANIFEST, "it is not a cross's manifest"),
    "another format": (change(format=99), MANIFEST, "it has format 99"),
    "no checksum": (change(format=2), MANIFEST, "it is not as it was written"),
    "no model": (change(model=None), MANIFEST, "no `model`"),
    "no config": (change(config=None), MANIFEST, "no `config`"),
    "a list for a config": (change(config=[1]), MANIFEST, "`config` is no dict"),
    "an unknown option": (change(config={"depth": 3}), MANIFEST, "depth"),
    "a rank of another type": (change(config={"rank": "high"}), MANIFEST, "of other types"),
    "an encoder of another type": (change(config={"encoder": 3}), MANIFEST, "of other types"),
    "NaN": (reweigh(lambda w: first(w).fill_(float("nan"))), WEIGHTS, "weights that are not numbers"),
    "infinite": (reweigh(lambda w: w["scales"].fill_(float("inf"))), WEIGHTS, "weights that are not numbers"),
    "no scales": (reweigh(lambda w: w.pop("scales")), WEIGHTS, "scales"),
    "a scale too many": (reweigh(lambda w: w.update(scales=torch.ones(3))), WEIGHTS, "scales are of another"),
    "half an adapter": (reweigh(lambda w: w.pop(next(n for n in w if n.endswith(".up")))), WEIGHTS, ""),
    "a layer too many": (
        reweigh(lambda w: w.update({"x.up": torch.ones(1, 1), "x.down": torch.ones(1, 1)})),
        WEIGHTS,
        "of another model",
    ),
    "another rank": (
        reweigh(lambda w: w.update({next(n for n in w if n.endswith(".up")): torch.ones(16, 9)})),
        WEIGHTS,
        "",
    ),
    "another width": (
        reweigh(lambda w: w.update({next(n for n in w if n.endswith(".up")): torch.ones(1, 2)})),
        WEIGHTS,
        "",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_folders_are_refused(what: str, saved: Path) -> None:
    damage, name, words = DAMAGE[what]
    damage(saved)
    with pytest.raises(DamagedError) as refused:
        load_cross(saved, device="cpu")
    line = str(refused.value)
    assert line.startswith(f"{saved / name} is damaged (")
    assert words in line
    assert "run `linkwalk train-reranker WIKI FILE --name cross --force`" in line
    assert "\n" not in line


def test_it_opens_without_its_metrics(saved: Path) -> None:
    (saved / "metrics.jsonl").unlink()
    assert isinstance(load_cross(saved, device="cpu"), CrossEncoder)


def test_one_of_version_0_1_opens(saved: Path, config: CrossConfig) -> None:
    expected = load_cross(saved, device="cpu")("copper", ["T"], ["It melts."])
    opened = load_cross(unseal(saved, MANIFEST), device="cpu")
    assert isinstance(opened, CrossEncoder)
    assert opened.config == config
    assert np.array_equal(opened("copper", ["T"], ["It melts."]), expected)


def test_one_of_other_weights(saved: Path) -> None:
    change(model="0" * 16)(saved)
    with pytest.raises(ArtifactError, match="adapts other weights than those of"):
        load_cross(saved, device="cpu")


@pytest.mark.parametrize("tokens", ["many", 2, 100_000])
def test_more_tokens_than_the_encoder_reads(tokens: Any, saved: Path, config: CrossConfig) -> None:
    change(config={"encoder": config.encoder, "rank": 2, "max_tokens": tokens})(saved)
    with pytest.raises((ArtifactError, InputError)) as refused:
        load_cross(saved, device="cpu")
    assert "\n" not in str(refused.value)


def test_the_base_has_changed(tmp_path: Path) -> None:
    base = tiny_bert(tmp_path / "base")
    config = CrossConfig(encoder=str(base), rank=2)
    weights = model_of(config, shaken=True).weights()
    save_cross(tmp_path / "cross", weights, config, find_model(str(base)).fingerprint, {})
    load_cross(tmp_path / "cross", device="cpu")
    shutil.rmtree(base)
    tiny_bert(base, seed=1)
    with pytest.raises(ArtifactError, match="adapts other weights"):
        load_cross(tmp_path / "cross", device="cpu")
    shutil.rmtree(base)
    with pytest.raises(InputError, match="no encoder"):
        load_cross(tmp_path / "cross", device="cpu")


@pytest.mark.parametrize("labels", [1, 2])
def test_any_sequence_classifier(labels: int, tmp_path: Path) -> None:
    options = {"num_labels": labels, "initializer_range": 0.5}  # so much that texts are told apart
    folder = tiny_bert(tmp_path / "hub", "BertForSequenceClassification", **options)
    found = load_cross(folder, device="cpu")
    assert isinstance(found, Classifier)
    assert not isinstance(found, BatchReranker)
    scores = found(QUERIES[0], TITLES[0], SENTENCES[0])
    assert np.ptp(scores) > 0.1
    for pair, score in zip(zip(TITLES[0], SENTENCES[0], strict=True), scores, strict=True):
        tokens = found.tokenizer(
            QUERIES[0], passage(*pair), return_tensors="pt", truncation=True, max_length=160
        )
        with torch.no_grad():
            logits = found.model(**tokens).logits
        assert logits.shape == (1, labels)
        assert float(logits[0, -1]) == pytest.approx(float(score), abs=1e-5)
    assert found(QUERIES[0], [], []).tolist() == []
    found.batch_tokens = 1
    assert np.allclose(found(QUERIES[0], TITLES[0], SENTENCES[0]), scores, atol=1e-5)
    long = "Copper conducts heat and silver does so better. " * 200
    assert np.isfinite(found(long, ["T"], [long])).all()


def test_a_classifier_that_reads_little(tmp_path: Path) -> None:
    folder = tiny_bert(
        tmp_path / "hub", "BertForSequenceClassification", num_labels=1, max_position_embeddings=20
    )
    scores = load_cross(folder, device="cpu")(TEXTS[4], ["T", "T"], [TEXTS[4], "x"])
    assert np.isfinite(scores).all()


def test_a_classifier_in_half_precision_is_computed_in_single(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "hub", "BertForSequenceClassification", num_labels=1)
    weights = load_file(folder / "model.safetensors")
    save_file({name: value.half() for name, value in weights.items()}, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float16"}))
    found = load_cross(folder, device="cpu")
    assert isinstance(found, Classifier)
    assert {value.dtype for value in found.model.parameters()} == {torch.float32}


def test_folders_that_are_no_reranker(tmp_path: Path, base: Path, capfd: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.json").write_text("{}")
    bare = tiny_bert(tmp_path / "bare", "BertForSequenceClassification", num_labels=1)
    (bare / "model.safetensors").unlink()
    broken = tiny_bert(tmp_path / "broken", "BertForSequenceClassification", num_labels=1)
    (broken / "model.safetensors").write_bytes(b"\xff" * 100)
    for folder, words in {
        empty: "holds no reranker: give a folder with cross.json or",
        tmp_path / "nowhere": "holds no reranker",
        config: "cannot load the reranker",
        bare: "cannot load the reranker",
        broken: "cannot load the reranker",
        base: "take a sequence classifier",
    }.items():
        with pytest.raises(InputError) as refused:
            load_cross(folder, device="cpu")
        assert words in str(refused.value)
        assert str(folder) in str(refused.value)
        assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", ""), "the one line is all there is"


def test_a_classifier_whose_weights_are_no_numbers(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "hub", "BertForSequenceClassification", num_labels=1)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"].fill_(float("nan"))
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(InputError, match="scores that are not numbers"):
        load_cross(folder, device="cpu")("copper", ["T"], ["It melts."])
