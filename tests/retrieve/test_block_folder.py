"""The folder of a reader of blocks: opened as it was saved, refused where damaged, and older folders as before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from linkwalk.artifact import seal
from linkwalk.embed import Embeddings
from linkwalk.embed.encoder import open_encoder
from linkwalk.errors import ArtifactError, DamagedError
from linkwalk.policy.target import TargetEncoder
from linkwalk.retrieve.block_folder import RANKING, SEARCH, load_search, read_ranking
from linkwalk.retrieve.block_reader import BlockReader
from linkwalk.retrieve.cross import MANIFEST, WEIGHTS, BlockConfig, CrossConfig, load_cross, read_cross
from tests.embed.conftest import tiny_bert
from tests.retrieve.stand_in import adapter, by_hand, reader_of, stand_in
from tests.retrieve.test_block_reader import PASSAGES, QUERIES


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("folder") / "tiny"
    return str(tiny_bert(folder, num_hidden_layers=3, initializer_range=0.3))


@pytest.fixture
def saved(tmp_path: Path, base: str) -> Path:
    return stand_in(tmp_path / "blocks", base, exit=1, ranking=by_hand(nothing=0.25), search="0" * 32)


def test_saved_and_opened_again(saved: Path, base: str) -> None:
    opened = load_cross(saved)
    assert isinstance(opened, BlockReader)
    assert (opened.exit, opened.max_tokens) == (1, 224)
    manifest, config, _ = read_cross(saved)
    assert config == BlockConfig(encoder=base, rank=2, exit=1)
    assert sorted(manifest["files"]) == [WEIGHTS, RANKING, SEARCH]
    before, after = (r.read(QUERIES, PASSAGES) for r in (reader_of(base, exit=1), opened))
    for own, others in zip(before, after, strict=True):
        for one, other in zip(own, others, strict=True):
            assert np.allclose(one.first, other.first, atol=0.3), "a byte a number"
    weights = read_ranking(saved)
    assert weights is not None
    assert weights.to_json() == by_hand(nothing=0.25).to_json()


def test_without_a_ranking_it_is_a_reranker(tmp_path: Path, base: str) -> None:
    folder = stand_in(tmp_path / "blocks", base, exit=1)
    assert read_ranking(folder) is None
    assert isinstance(load_cross(folder), BlockReader)


def test_saved_again_without_what_was_there(saved: Path, base: str) -> None:
    stand_in(saved, base, exit=1)
    assert not (saved / RANKING).exists()
    assert not (saved / SEARCH).exists()
    assert read_ranking(saved) is None


def test_who_reads_queries_for_search(tmp_path: Path, embedded_world: Path) -> None:
    table = Embeddings.open(embedded_world, "minilm-walks")
    folder = stand_in(tmp_path / "blocks", search=table.fingerprint)
    reader = load_search(folder, table)
    assert isinstance(reader, TargetEncoder)
    plain, texts = open_encoder("minilm-walks", device="cpu"), ["copper", "Who was Kepler?"]
    expected = plain.adapted(adapter("minilm-walks", seed=7)).encode(texts)
    assert np.allclose(reader.encode(texts), expected, atol=0.05)
    assert np.abs(reader.encode(texts) - plain.encode(texts)).max() > 0.01
    assert load_search(stand_in(tmp_path / "other", search="0" * 32), table) is None, "of other embeddings"
    assert load_search(stand_in(tmp_path / "none"), table) is None


def reweigh(name: str, change: Callable[[dict[str, np.ndarray]], Any]) -> Callable[[Path], None]:
    """Does something to weights, and seals them."""

    def damage(folder: Path) -> None:
        weights = load_file(folder / name)
        change(weights)
        save_file(weights, folder / name)
        seal(folder, json.loads((folder / MANIFEST).read_bytes()), name=MANIFEST)

    return damage


def rerank(**change: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        found = json.loads((folder / RANKING).read_bytes()) | change
        (folder / RANKING).write_text(json.dumps(found))
        seal(folder, json.loads((folder / MANIFEST).read_bytes()), name=MANIFEST)

    return damage


def configured(**change: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        seal(folder, manifest | {"config": manifest["config"] | change}, name=MANIFEST)

    return damage


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:99]) and None


def first(weights: dict[str, np.ndarray]) -> np.ndarray:
    return next(value for name, value in weights.items() if name.endswith(".scale"))


DAMAGE: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "half the weights": (cut(WEIGHTS), WEIGHTS, "99 bytes instead of"),
    "half the ranking": (cut(RANKING), RANKING, "99 bytes instead of"),
    "half the reader of queries": (cut(SEARCH), SEARCH, "99 bytes instead of"),
    "no ranking": (lambda f: (f / RANKING).unlink(), RANKING, "no such file"),
    "no reader of queries": (lambda f: (f / SEARCH).unlink(), SEARCH, "no such file"),
    "no heads": (reweigh(WEIGHTS, lambda w: w.pop("heads")), WEIGHTS, "heads"),
    "heads of another width": (
        reweigh(WEIGHTS, lambda w: w.update(heads=np.ones((2, 7), np.float32))),
        WEIGHTS,
        "the heads are of another model",
    ),
    "NaN": (reweigh(WEIGHTS, lambda w: first(w).fill(np.nan)), WEIGHTS, "weights that are not numbers"),
    "NaN in a head": (
        reweigh(WEIGHTS, lambda w: w["heads"].fill(np.nan)),
        WEIGHTS,
        "weights that are not numbers",
    ),
    "NaN for queries": (
        reweigh(SEARCH, lambda w: first(w).fill(np.nan)),
        SEARCH,
        "weights that are not numbers",
    ),
    "a layer too many": (
        reweigh(WEIGHTS, lambda w: w.update({"x.up": np.ones((1, 1)), "x.down": np.ones((1, 1))})),
        WEIGHTS,
        "of another model",
    ),
    "more layers than there are": (configured(exit=3), WEIGHTS, "exit=3: it has 3 layers"),
    "less than no layer": (configured(exit=-1), WEIGHTS, "exit=-1: it has 3 layers"),
    "layers of another type": (configured(exit="many"), MANIFEST, "of other types"),
    "too few tokens": (configured(max_tokens=40), WEIGHTS, "max_tokens=40: it reads 128 to 512"),
    "too many tokens": (configured(max_tokens=999), WEIGHTS, "max_tokens=999"),
    "an unknown option": (configured(depth=3), MANIFEST, "depth"),
    "a list for a ranking": (
        lambda f: ((f / RANKING).write_text("[]"), rerank_seal(f)),
        RANKING,
        "not an object",
    ),
    "no network": (rerank(worth=None), RANKING, ""),
    "another network": (rerank(worth=by_hand().rank.to_json()), RANKING, "it is for other figures"),
    "no limit": (rerank(nothing=None), RANKING, ""),
    "a limit that is none": (rerank(enough=float("nan")), RANKING, "not a number"),
}


def rerank_seal(folder: Path) -> None:
    seal(folder, json.loads((folder / MANIFEST).read_bytes()), name=MANIFEST)


class FakeTable:
    """Embeddings that fit."""

    fingerprint = "0" * 32

    def __init__(self, base: str) -> None:
        self.base = base

    def reader(self, device: str) -> Any:
        return open_encoder(self.base, device=device)


def open_all(folder: Path, base: str) -> None:
    load_cross(folder)
    read_ranking(folder)
    load_search(folder, FakeTable(base))  # type: ignore[arg-type]


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_folders_are_refused(what: str, saved: Path, base: str) -> None:
    damage, name, words = DAMAGE[what]
    damage(saved)
    with pytest.raises(DamagedError) as refused:
        open_all(saved, base)
    line = str(refused.value)
    assert line.startswith(f"{saved / name} is damaged (")
    assert words in line
    assert "run `linkwalk train-reranker WIKI FILE --name blocks --force`" in line
    assert "\n" not in line


def test_of_other_weights(saved: Path) -> None:
    manifest = json.loads((saved / MANIFEST).read_bytes())
    seal(saved, manifest | {"model": "0" * 16}, name=MANIFEST)
    with pytest.raises(ArtifactError, match="adapts other weights than those of"):
        load_cross(saved)


def test_a_folder_of_single_sentences_is_known_by_its_layers() -> None:
    from linkwalk.retrieve.cross import _config

    assert _config({"encoder": "minilm", "rank": 4, "max_tokens": 160}) == CrossConfig(rank=4)
    assert _config({"encoder": "minilm", "rank": 4, "exit": 0, "max_tokens": 160}) == CrossConfig(rank=4)
    assert _config({"encoder": "minilm", "rank": 4, "exit": 2, "max_tokens": 224}) == BlockConfig(
        rank=4, exit=2
    )
