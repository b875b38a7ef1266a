"""Training the cross-encoder on lists whose evidence can be told by one word; and lists that cannot be used."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from linkwalk.embed.encoder import open_encoder
from linkwalk.embed.transformer import open_transformer
from linkwalk.errors import InputError
from linkwalk.learn.readers.ranking import RankingConfig, SentenceList, read_lists, train_sentences
from linkwalk.retrieve.cross import CrossConfig, CrossEncoder
from linkwalk.retrieve.cross_torch import CrossModel
from tests.conftest import WORDS
from tests.embed.conftest import tiny_bert
from tests.learn.stopping import same_when_stopped

MARK = "vellum"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> CrossConfig:
    folder = tiny_bert(tmp_path_factory.mktemp("train") / "tiny", initializer_range=0.2)
    return CrossConfig(encoder=str(folder), rank=2)


def lists(count: int, seed: int) -> list[SentenceList]:
    """Negatives have more of the query's words, evidence has the mark: the cosine is led astray."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        words = rng.sample(WORDS, 6)
        others = [" ".join([*rng.sample(words, 3), *rng.choices(WORDS, k=3)]) for _ in range(5)]
        good = " ".join([MARK, *rng.choices(WORDS, k=5)])
        found.append(SentenceList(f"{' '.join(words)} {MARK}", [("", good)], [("", text) for text in others]))
    return found


def first(weights: dict[str, torch.Tensor], config: CrossConfig, some: list[SentenceList]) -> float:
    """The share of lists whose evidence comes first."""
    cross = CrossEncoder(open_encoder(config.encoder, device="cpu"), weights, config)
    sentences = [[text for _, text in (*one.positives, *one.negatives)] for one in some]
    titles = [[""] * len(own) for own in sentences]
    scores = cross.many([one.query for one in some], titles, sentences)
    return float(np.mean([np.argmax(own) == 0 for own in scores]))


QUICK = RankingConfig(updates=60, lists=8, negatives=4, learning_rate=0.03, warmup=5)


def test_evidence_comes_first_after_training(config: CrossConfig, tmp_path: Path) -> None:
    weights = train_sentences(lists(48, 0), config, QUICK, folder=tmp_path / "log")
    assert all(torch.isfinite(value).all() for value in weights.values())
    untrained = CrossModel(open_transformer(config.encoder, device="cpu").model, config.rank).weights()
    assert weights.keys() == untrained.keys()
    unseen = lists(60, 1)
    before, after = first(untrained, config, unseen), first(weights, config, unseen)
    assert before < 0.5
    assert after > 0.9
    rows = [json.loads(line) for line in (tmp_path / "log" / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [1, 25, 50, 60]
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[-1]["first"] > rows[-1]["first_by_cosine"]
    assert all(0 <= row["first"] <= 1 and row["seconds"] >= 0 and len(row["scales"]) == 2 for row in rows)


def test_the_same_seed_gives_the_same_weights(config: CrossConfig) -> None:
    def train(seed: int) -> dict[str, torch.Tensor]:
        training = RankingConfig(updates=4, lists=3, negatives=2, warmup=1, seed=seed)
        return train_sentences(lists(5, 0), config, training)

    one, again, other = train(1), train(1), train(2)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not any(torch.equal(one[name], other[name]) for name in one if name.endswith((".up", "weight")))


@pytest.mark.parametrize("held_out", [0, 3])
def test_stopped_it_goes_on_to_the_same_weights(held_out: int, config: CrossConfig, tmp_path: Path) -> None:
    training = RankingConfig(
        updates=20, lists=3, negatives=2, warmup=4, held_out=held_out, evaluate_every=8, learning_rate=0.01
    )

    def train(**kept: Any) -> dict[str, torch.Tensor]:
        return train_sentences(lists(8, 0), config, training, **kept)

    same_when_stopped(train, tmp_path, 3, 11)


def test_the_encoder_itself_stays_as_it_is(config: CrossConfig) -> None:
    before = (Path(config.encoder) / "model.safetensors").read_bytes()
    # More lists a batch than there are, and no warm-up.
    train_sentences(lists(2, 0), config, RankingConfig(updates=1, lists=5, negatives=5, warmup=0))
    assert (Path(config.encoder) / "model.safetensors").read_bytes() == before


def test_long_sentences_are_cut(config: CrossConfig) -> None:
    long = ("Stone", "river light winter " * 200)
    some = [SentenceList("garden " * 300, [long], [long, ("", "x")])]
    weights = train_sentences(some, config, RankingConfig(updates=2, negatives=2, warmup=0))
    assert all(torch.isfinite(value).all() for value in weights.values())


@pytest.mark.parametrize(
    "some",
    [
        [],
        [SentenceList("a", [("", "b")], [("", "c")] * 6)],
        [SentenceList("a", [], [("", "c")] * 9)],
    ],
)
def test_lists_that_teach_nothing_are_refused(some: list[SentenceList], config: CrossConfig) -> None:
    with pytest.raises(InputError, match=r"^no list has evidence and 7 negatives: give more of either$"):
        train_sentences(some, config, RankingConfig())


@pytest.mark.parametrize("name", ["updates", "lists", "negatives"])
def test_training_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}=0: choose 1 or more"):
        RankingConfig(**{name: 0})
    with pytest.raises(InputError, match="max_tokens=7: choose 8 or more"):
        RankingConfig(max_tokens=7)


GOOD = {"query": "q", "positives": [["T", "a b"]], "negatives": [["", "c"], ["U", "d"]]}


def test_lists_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl.gz"
    empty: dict[str, Any] = {"query": "é", "positives": [], "negatives": []}
    path.write_bytes(gzip.compress(f"{json.dumps(GOOD)}\n\n{json.dumps(empty)}\n".encode()))
    assert read_lists(path) == [
        SentenceList("q", [("T", "a b")], [("", "c"), ("U", "d")]),
        SentenceList("é", [], []),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[1, 2]",
        {},
        GOOD | {"query": None},
        GOOD | {"positives": None},
        GOOD | {"positives": "ab"},
        GOOD | {"positives": ["ab"]},
        GOOD | {"positives": {"ab": 1}},
        GOOD | {"negatives": [["T", "a", "b"]]},
        GOOD | {"negatives": [["T", 1]]},
        GOOD | {"negatives": [[]]},
    ],
)
def test_a_malformed_line_is_named(bad: Any, tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{bad if isinstance(bad, str) else json.dumps(bad)}\n")
    with pytest.raises(InputError) as refused:
        read_lists(path)
    assert str(refused.value).startswith(f"{path}, line 2: ")
    assert "\n" not in str(refused.value)


def test_files_without_lists(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for name, words in (("empty", "is empty"), ("nowhere", "cannot read")):
        with pytest.raises(InputError, match=words):
            read_lists(tmp_path / name)
