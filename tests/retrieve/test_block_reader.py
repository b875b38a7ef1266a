"""The reader of blocks on a tiny random BERT: what torch computes, whatever is read beside it, cut where it is long."""

import numpy as np
import pytest
import torch

from linkwalk.downstream.methods import SectionCache
from linkwalk.embed.encoder import open_encoder
from linkwalk.embed.sections import Means, NumpySections
from linkwalk.embed.transformer import open_transformer
from linkwalk.retrieve.block_folder import open_blocks
from linkwalk.retrieve.block_reader import (
    HEADS,
    QUERY_TOKENS,
    VIA_TOKENS,
    BlockReader,
    PairFrame,
    Passage,
    fresh_heads,
)
from linkwalk.retrieve.cross import BlockConfig
from linkwalk.retrieve.cross_torch import BlockModel, SectionBatch, TorchSections
from linkwalk.retrieve.rerank import BatchReranker
from tests.embed.conftest import TEXTS, tiny_bert
from tests.retrieve.stand_in import reader_of, weights_of

QUERIES = ["Where does the Danube rise?", "copper", "Who was Kepler? " * 60]
LONG = " ".join(TEXTS[4].split()[:300])
PASSAGES = [
    [
        Passage("Danube", tuple(TEXTS[:2])),
        Passage("", (TEXTS[7],)),
        Passage("Long", (LONG, LONG, "The end.")),
    ],
    [Passage("Copper", ("Copper conducts heat.",), via=TEXTS[9])],
    [Passage("Kepler", tuple(TEXTS[5:9]), via=LONG), Passage("x", ("x",)), Passage("Empty", ("", TEXTS[8]))],
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("blocks") / "tiny"
    return str(tiny_bert(folder, num_hidden_layers=3, initializer_range=0.3))


@pytest.fixture(scope="module")
def reader(base: str) -> BlockReader:
    return reader_of(base, exit=1)


def scores(reader: BlockReader) -> list[list[np.ndarray]]:
    return [[block.scores for block in own] for own in reader.read(QUERIES, PASSAGES)]


def same(a: list[list[np.ndarray]], b: list[list[np.ndarray]], atol: float = 1e-4) -> None:
    for own, others in zip(a, b, strict=True):
        for one, other in zip(own, others, strict=True):
            assert np.allclose(one, other, atol=atol)


def by_hand(model: BlockModel, frame: PairFrame, query: str, passage: Passage) -> np.ndarray:
    """Both heads' scores [2, S] of one pair by itself, from the layers' states."""
    pair = frame.pair(query, passage)
    ids = torch.tensor([pair.tokens])
    types = torch.tensor([[0] * pair.second + [1] * (len(pair.tokens) - pair.second)])
    with torch.no_grad():
        states = model.model(input_ids=ids, token_type_ids=types, output_hidden_states=True).hidden_states
    found = []
    for head, at in zip(model.heads.detach().numpy().astype(np.float64), (model.exit, -1), strict=True):
        state = states[at][0].numpy().astype(np.float64)
        means = [state[a:b].mean(0) for a, b in pair.bounds]
        q, *sections = (mean / np.linalg.norm(mean) for mean in means)
        width = len(q)
        found.append([(head[:width] * q + head[width:-1]) @ s + head[-1] for s in sections])
    return np.array(found)


def shaken_model(base: str, weights: dict[str, np.ndarray]) -> BlockModel:
    """The torch side with the stand-in's weights."""
    model = BlockModel(open_transformer(base, device="cpu").model.float(), 2, 1).eval()
    own = model.weights()
    assert own.keys() == weights.keys()
    with torch.no_grad():
        for name, value in weights.items():
            own[name].copy_(torch.from_numpy(value))
    return model


def test_it_computes_what_torch_computes(base: str, reader: BlockReader) -> None:
    model = shaken_model(base, dict(weights_of(base)))
    found = reader.read(QUERIES, PASSAGES)
    for query, passages, own in zip(QUERIES, PASSAGES, found, strict=True):
        for passage, block in zip(passages, own, strict=True):
            first, last = by_hand(model, reader.frame, query, passage)
            assert np.allclose(block.first, first, atol=1e-4)
            assert np.allclose(block.scores, last if block.deep else first, atol=1e-4)
    with torch.no_grad():
        pairs = [reader.frame.pair(q, p) for q, own in zip(QUERIES, PASSAGES, strict=True) for p in own]
        trained = model(SectionBatch.of(pairs, 0, torch.device("cpu")))
    everything = np.concatenate([block.first for own in found for block in own])
    assert np.allclose(trained[0].numpy(), everything, atol=1e-4)
    other = open_blocks(open_transformer(base, device="cpu"), weights_of(base), BlockConfig(exit=1))
    assert isinstance(other.reader, TorchSections)
    same(scores(other), scores(reader))


def test_before_training_it_is_ten_times_the_cosine(base: str) -> None:
    plain = open_encoder(base, device="cpu")
    weights = {name: 0 * value for name, value in weights_of(base).items()}
    reader = open_blocks(plain, weights | {HEADS: fresh_heads(plain.width)}, BlockConfig(exit=1))
    ((block,),) = reader.read(["copper"], [[Passage("", (TEXTS[1],))]])
    ids, types = plain.tokens.of_pairs(["copper"], [TEXTS[1]], 224)
    state = plain.bert.read(ids, types).astype(np.float64)
    kinds = np.array(types[0])
    q, s = state[kinds == 0][1:-1].mean(0), state[kinds == 1][:-1].mean(0)
    assert block.scores[0] == pytest.approx(10 * q @ s / np.linalg.norm(q) / np.linalg.norm(s), abs=1e-4)


def test_a_block_of_one_sentence_and_none(reader: BlockReader) -> None:
    ((block,),) = reader.read(["copper"], [[Passage("Copper", ("Copper conducts heat.",))]])
    assert block.scores.shape == block.first.shape == (1,)
    assert block.deep, "of one block a share is that block"
    assert reader.read(["a", "b"], [[], []]) == [[], []]
    assert reader.read([], []) == []
    assert [len(own) for own in reader.read(["a", "b"], [[], [Passage("", ("x",))]])] == [0, 1]


def test_neither_batches_nor_what_is_read_beside_it_matter(base: str, reader: BlockReader) -> None:
    everything = scores(reader)
    for budget in (1, 100, 100_000):
        other = reader_of(base, exit=1)
        other.reader.batch_tokens = budget
        same(scores(other), everything, 1e-5)
    for query, passages, own in zip(QUERIES, PASSAGES, everything, strict=True):
        same([[block.scores for block in reader.read([query], [passages])[0]]], [own], 1e-5)


def test_only_what_is_chosen_is_read_to_the_end(reader: BlockReader) -> None:
    found = reader.read(QUERIES, PASSAGES)
    for own in found:
        best = [block.first.max() for block in own]
        chosen = np.argsort(-np.array(best), kind="stable")[: int(np.ceil(reader.deep * len(own)))]
        assert [block.deep for block in own] == [i in chosen for i in range(len(own))]
        for block in own:
            assert np.array_equal(block.scores, block.first) != block.deep
    everything = BlockReader(
        reader.reader, reader.tokens, reader.heads, exit=reader.exit, max_tokens=reader.max_tokens, deep=1.0
    ).read(QUERIES, PASSAGES)
    for own, others in zip(found, everything, strict=True):
        for block, other in zip(own, others, strict=True):
            assert other.deep
            assert np.allclose(block.first, other.first, atol=1e-5)
            if block.deep:
                assert np.allclose(block.scores, other.scores, atol=1e-5)


def test_sentences_one_by_one_are_the_same_blocks(reader: BlockReader) -> None:
    assert isinstance(reader, BatchReranker)
    plain = [[p._replace(via="") for p in own] for own in PASSAGES]
    titles = [[p.title for p in own for _ in p.sentences] for own in plain]
    sentences = [[s for p in own for s in p.sentences] for own in plain]
    blocks = [[i for i, p in enumerate(own) for _ in p.sentences] for own in plain]
    many = reader.many(QUERIES, titles, sentences, blocks)
    read = [np.concatenate([block.scores for block in own]) for own in reader.read(QUERIES, plain)]
    for one, other in zip(many, read, strict=True):
        assert np.array_equal(one, other)
    alone = reader.many(QUERIES, titles, sentences)
    apart = [[Passage(p.title, (s,)) for p in own for s in p.sentences] for own in plain]
    for one, own in zip(alone, reader.read(QUERIES, apart), strict=True):
        assert np.array_equal(one, np.concatenate([block.scores for block in own]))
    assert len(reader("copper", [], [])) == 0
    assert reader("copper", ["T"], ["It melts."]).shape == (1,)


def test_the_frame_of_a_pair(reader: BlockReader) -> None:
    frame, tokens = reader.frame, reader.tokens
    pair = frame.pair("copper", Passage("Tin", ("It melts.", "It is grey."), via="See tin."))
    pieces = tokens.bare(["copper", "See tin.", "Tin.", "It melts.", "It is grey."])
    q, via, title, one, two = pieces
    first, last = tokens.frame()
    assert pair.tokens == [first, *q, last, *via, last, *title, *one, *two, last]
    assert pair.second == len(q) + 2
    assert [pair.tokens[a:b] for a, b in pair.bounds] == [q, one, two]
    assert tokens.of_pairs(["copper"], ["Tin."], 224)[0][0] == [first, *q, last, *title, last]


def test_long_texts_are_cut(reader: BlockReader) -> None:
    frame = reader.frame
    pair = frame.pair("w " * 500, Passage("T " * 500, (LONG, LONG, "end"), via="v " * 500))
    assert len(pair.tokens) == reader.max_tokens
    assert pair.second == QUERY_TOKENS + 2
    assert pair.bounds[0] == (1, QUERY_TOKENS + 1)
    assert all(0 < a < b <= len(pair.tokens) for a, b in pair.bounds), "no section is empty"
    middle = frame.pair("copper", Passage("T", (LONG, "The last one."), via="v " * 500))
    begin = 3 + VIA_TOKENS + 1 + len(reader.tokens.bare(["T."])[0])
    assert middle.bounds[1] == (begin, reader.max_tokens - 1)
    (own,) = reader.read(
        ["copper"], [[Passage("T", (LONG * 2, "a b c")), Passage("T", (LONG * 2, "Whales."))]]
    )
    assert own[0].first == pytest.approx(own[1].first, abs=1e-5), "what stands behind the cut is not read"
    (empty,) = reader.read([""], [[Passage("", ("",))]])
    assert np.isfinite(empty[0].scores).all()


def test_what_is_remembered_is_what_would_be_read(base: str) -> None:
    plain, spied = reader_of(base, exit=1), reader_of(base, exit=1)
    count = []

    class Counting(NumpySections):
        def read(self, pairs, exit, choose):  # type: ignore[no-untyped-def]
            count.append(len(pairs))
            return super().read(pairs, exit, choose)

    spied.reader = SectionCache(Counting(plain.reader.bert))
    same(scores(spied), scores(plain), 1e-5)
    assert count == [7]
    same(scores(spied), scores(plain), 1e-5)
    assert count == [7], "nothing is read twice"
    # Beside other blocks another half is read to the end: what lacks the last layers is read once more.
    for own in (PASSAGES[0][:1], PASSAGES[0][1:2], PASSAGES[0][2:]):
        (one,), (other,) = (r.read(QUERIES[:1], [own]) for r in (spied, plain))
        assert one[0].deep
        assert np.allclose(one[0].scores, other[0].scores, atol=1e-5)
    assert sum(count) == 8
    twice = [[PASSAGES[0][0], PASSAGES[0][1], PASSAGES[0][0]]]
    spied.reader.clear()
    (one,), (other,) = (r.read(QUERIES[:1], twice) for r in (spied, plain))
    assert [b.deep for b in one] == [b.deep for b in other]
    same([[b.scores for b in one]], [[b.scores for b in other]], 1e-5)


def test_heads_of_another_width_are_refused(reader: BlockReader) -> None:
    for heads in (np.zeros((2, 4)), np.zeros((1, 33)), np.zeros(33)):
        with pytest.raises(ValueError, match="the heads are of another model"):
            BlockReader(reader.reader, reader.tokens, heads, exit=1, max_tokens=224)


def test_means_of_sections_are_directions(reader: BlockReader) -> None:
    pairs = [reader.frame.pair(q, p) for q, own in zip(QUERIES, PASSAGES, strict=True) for p in own]
    seen: list[Means] = []

    def none(means: Means) -> np.ndarray:
        seen.append(means)
        return np.zeros(len(means.query), np.bool_)

    early, late, deep = reader.reader.read(pairs, 1, none)
    assert not deep.any()
    assert np.array_equal(early.sections, late.sections), "nothing went on"
    assert np.allclose(np.linalg.norm(early.sections, axis=1), 1, atol=1e-5)
    assert early.owner.tolist() == [i for i, pair in enumerate(pairs) for _ in pair.bounds[1:]]
    assert seen[0] is early
