"""Readers of blocks and of queries learn what a few lists can teach."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwalk.embed.encoder import open_encoder
from linkwalk.embed.model import find_model
from linkwalk.embed.sections import NumpySections
from linkwalk.embed.tokens import Tokens
from linkwalk.embed.transformer import open_transformer
from linkwalk.errors import InputError
from linkwalk.learn.readers.ranking import BlockList, BlockRankingConfig, train_blocks
from linkwalk.learn.readers.search import SearchList, SearchReaderConfig, train_search
from linkwalk.navigate import unit_rows
from linkwalk.policy.target import TargetEncoder
from linkwalk.retrieve.block_reader import BlockReader, Passage, unframed

TOWNS = ("Ulm", "Bonn", "Kiel", "Jena", "Celle", "Trier")


def _passage(town: str, fact: str) -> Passage:
    return Passage(town, (f"{town} lies on a river.", f"The {fact} of {town} is old."))


def _lists() -> list[BlockList]:
    """Against what the words say, the mill is the evidence for whoever asks for the bridge."""
    return [
        BlockList(
            f"How old is the bridge of {town}?",
            [(_passage(town, "mill"), frozenset({1}))],
            [_passage(town, "bridge"), _passage(town, "gate")],
        )
        for town in TOWNS
    ]


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    found = Tokens.open(find_model("minilm").path)
    assert found is not None
    return found


@pytest.mark.slow
def test_a_reader_of_blocks_learns_and_is_read_alike_by_numpy(tmp_path: Path, tokens: Tokens) -> None:
    config = BlockRankingConfig(updates=30, lists=3, negatives=2, learning_rate=2e-3, warmup=2, rank=4)
    weights = train_blocks(_lists(), tokens, config, folder=tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["loss"] < rows[0]["loss"] / 2
    adapter, heads = unframed({name: value.numpy() for name, value in weights.items()})
    bert = open_encoder("minilm", device="cpu").bert.adapted(adapter)  # type: ignore[attr-defined]
    reader = BlockReader(
        NumpySections(bert), tokens, heads, exit=config.exit, max_tokens=config.max_tokens, deep=1.0
    )
    for one in _lists():
        (read,) = reader.read([one.query], [[one.good[0][0], *one.bad]])
        best = [block.scores.max() for block in read]
        assert int(np.argmax(best)) == 0
        assert int(np.argmax(read[0].scores)) == 1


def test_lists_that_teach_nothing_are_refused(tokens: Tokens) -> None:
    with pytest.raises(InputError, match="no list has evidence and 7 blocks"):
        train_blocks(_lists(), tokens, BlockRankingConfig(updates=1))


@pytest.mark.slow
def test_a_reader_of_queries_learns_where_the_evidence_is() -> None:
    encoder = open_transformer("minilm", device="cpu")
    table = unit_rows(np.random.default_rng(0).standard_normal((40, encoder.width)).astype(np.float32))
    lists = [
        SearchList(f"Who built {town}?", 0, (number,), (number + 10,)) for number, town in enumerate(TOWNS)
    ]
    config = SearchReaderConfig(updates=40, batch=6, bad=1, negatives=16, learning_rate=5e-3, warmup=2)
    adapter = train_search(lists, [table], encoder, config)
    reader = TargetEncoder(
        open_encoder("minilm", device="cpu"), {name: x.numpy() for name, x in adapter.items()}
    )
    near = unit_rows(reader.encode([one.query for one in lists])) @ table.T
    assert near.argmax(1).tolist() == list(range(len(TOWNS)))
