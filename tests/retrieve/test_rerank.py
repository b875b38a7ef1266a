"""TF-IDF, and a quick reranker before a slow one: what was read slowly comes first, nothing is lost."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from linkwalk.arrays import Float32s
from linkwalk.errors import InputError
from linkwalk.retrieve import Cascade, tfidf
from linkwalk.retrieve.rerank import TOP, BatchReranker, Blocks, Reranker, name_of, score_many


def test_tfidf_prefers_what_shares_words() -> None:
    scores = tfidf("blue whales sing", ["Whale", "Moon"], ["The blue whale sings.", "The moon shines."])
    assert scores[0] > scores[1] >= 0
    assert tfidf("a", ["?"], ["!"]).tolist() == [0.0]


def test_tfidf_reads_the_title_and_pairs_of_words() -> None:
    titles, sentences = ["Iron", "Copper"], ["It is a metal.", "It is a metal."]
    assert np.argmax(tfidf("copper", titles, sentences)) == 1
    order = tfidf("new york", ["x", "x"], ["york is not new", "new york is not"])
    assert order[1] > order[0]
    assert tfidf("iron", [], []).tolist() == []


WORDS = st.lists(
    st.sampled_from("the The a blue whale sings, sings. Straße 鲸 naïve x_1 ?! ".split(" ")), max_size=6
)
TEXTS = st.lists(st.tuples(WORDS.map(" ".join), WORDS.map(" ".join)), max_size=5)


@given(st.lists(st.tuples(WORDS.map(" ".join), TEXTS), max_size=4))
def test_many_queries_at_once_are_scored_as_scikit_learn_scores_them(
    asked: list[tuple[str, list[tuple[str, str]]]],
) -> None:
    queries = [query for query, _ in asked]
    titles, sentences = ([[pair[i] for pair in own] for _, own in asked] for i in (0, 1))
    found = tfidf.many(queries, titles, sentences)
    assert len(found) == len(asked)
    for query, own_titles, own, scores in zip(queries, titles, sentences, found, strict=True):
        vectoriser = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
        texts = [f"{title}. {text}" for title, text in zip(own_titles, own, strict=True)]
        try:
            expected = (vectoriser.fit_transform(texts) @ vectoriser.transform([query]).T).toarray().ravel()
        except ValueError:  # no words at all
            expected = np.zeros(len(texts))
        assert scores == pytest.approx(expected, abs=1e-6)
        assert scores.tolist() == tfidf(query, own_titles, own).tolist()


class Length:
    """A slow reranker that keeps what it was given to read; the shortest sentence is best."""

    def __init__(self) -> None:
        self.read: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        self.read.append((query, tuple(titles), tuple(sentences)))
        return np.array([-7.0 - len(sentence) for sentence in sentences], np.float32)


class Lengths(Length):
    """The same, many at once."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.blocks: Blocks = None

    def many(
        self,
        queries: Sequence[str],
        titles: Sequence[Sequence[str]],
        sentences: Sequence[Sequence[str]],
        blocks: Blocks = None,
    ) -> list[Float32s]:
        self.calls += 1
        self.blocks = blocks
        return [self(*each) for each in zip(queries, titles, sentences, strict=True)]


def digits(query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
    """A quick reranker that reads the number in the title."""
    return np.array([float(title) for title in titles], np.float32)


def order(scores: Float32s) -> list[int]:
    found: list[int] = np.argsort(-scores, kind="stable").tolist()
    return found


lists = st.lists(st.tuples(st.integers(-20, 20), st.text("x", max_size=9)), max_size=12)


@given(lists, st.integers(0, 14), st.booleans())
def test_the_slow_ones_first_then_the_quick_ones_order(
    own: list[tuple[int, str]], top: int, many: bool
) -> None:
    titles, sentences = [str(n) for n, _ in own], [s for _, s in own]
    slow = Lengths() if many else Length()
    scores = Cascade(slow, digits, top=top)("q", titles, sentences)
    assert (scores.dtype, scores.shape) == (np.float32, (len(own),))
    quick = sorted(range(len(own)), key=lambda i: -own[i][0])
    read = sorted(quick[:top], key=lambda i: (len(sentences[i]), i))
    assert order(scores) == read + quick[top:]
    if read:
        assert slow.read == [
            ("q", tuple(titles[i] for i in quick[:top]), tuple(sentences[i] for i in quick[:top]))
        ]
        assert [scores[i] for i in read] == [-7 - len(sentences[i]) for i in read], (
            "scores as they were given"
        )
        assert all(scores[i] < scores[read[-1]] for i in quick[top:])


@pytest.mark.parametrize("slow", [Length(), Lengths()])
def test_many_queries_as_one_by_one(slow: Length) -> None:
    rng = np.random.default_rng(0)
    cascade = Cascade(slow, digits, top=3)
    titles = [[str(n) for n in rng.integers(9, size=size)] for size in (5, 0, 2, 40, 1)]
    sentences = [["x" * n for n in rng.integers(30, size=len(own))] for own in titles]
    queries = [f"query {i}" for i in range(5)]
    many = cascade.many(queries, titles, sentences)
    assert [len(own) for own in many] == [5, 0, 2, 40, 1]
    for found, *each in zip(many, queries, titles, sentences, strict=True):
        assert found.tolist() == cascade(*each).tolist()
    assert {query for query, _, read in slow.read if read} == set(queries) - {"query 1"}
    assert isinstance(slow, BatchReranker) == isinstance(slow, Lengths)
    if isinstance(slow, Lengths):
        assert slow.calls == 1 + 5, "one call for all of them, and one each"
    assert cascade.many([], [], []) == []


def test_as_it_comes() -> None:
    slow = Length()
    cascade = Cascade(slow)
    sentences = [f"copper {'and tin ' * i}" for i in range(30)]
    scores = cascade("copper", ["Bronze"] * 30, sentences)
    assert isinstance(cascade, BatchReranker)
    assert len(slow.read[0][2]) == TOP
    assert set(order(scores)[:TOP]) == set(order(tfidf("copper", ["Bronze"] * 30, sentences))[:TOP])
    assert order(scores)[TOP:] == order(tfidf("copper", ["Bronze"] * 30, sentences))[TOP:]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), min_size=1, max_size=30), st.integers(1, 12)
)
def test_the_best_sentence_of_each_block_is_read_first(own: list[tuple[int, int]], top: int) -> None:
    """By hand: blocks by both ranks fused, each block's best sentence, then each one's second best, and so on."""
    own = sorted(own, key=lambda pair: pair[0])  # sentences of a block come together
    blocks, titles, sentences = (
        [b for b, _ in own],
        [str(n) for _, n in own],
        [f"{i}" for i in range(len(own))],
    )
    slow = Length()
    scores = Cascade(slow, digits, top=top).many(["q"], [titles], [sentences], [blocks])[0]
    best = {block: max(n for b, n in own if b == block) for block in blocks}
    first = {block: min(i for i in range(len(own)) if own[i] == (block, best[block])) for block in blocks}
    by_quick = sorted(best, key=lambda block: (-best[block], first[block]))
    by_read = list(best)
    fused = sorted(
        best, key=lambda b: (-(1 / (20 + by_read.index(b)) + 1 / (20 + by_quick.index(b))), by_read.index(b))
    )
    turns: list[int] = []
    for turn in range(len(own)):
        for block in fused:
            mine = sorted((i for i in range(len(own)) if blocks[i] == block), key=lambda i: (-own[i][1], i))
            turns += mine[turn : turn + 1]
    assert list(slow.read[0][2]) == [sentences[i] for i in turns[:top]]
    assert order(scores)[top:] == turns[top:]
    read = turns[:top]
    by_slow = sorted(read, key=lambda i: (len(sentences[i]), read.index(i)))
    for i in read:
        expected = 3 / (6 + by_slow.index(i)) + 3 / (6 + by_read.index(blocks[i]))
        assert abs(scores[i] - expected) < 1e-6
        assert scores[i] > max((scores[j] for j in turns[top:]), default=-1)


def test_who_wants_to_know_is_told_the_blocks() -> None:
    queries, titles, sentences, blocks = ["a", "b"], [["t"], ["t", "u"]], [["x"], ["x", "xx"]], [[7], [7, 9]]
    told, plain = Lengths(), Length()
    found = [score_many(slow, queries, titles, sentences, blocks) for slow in (told, plain)]
    assert [[own.tolist() for own in each] for each in found] == [[[-8], [-8, -9]]] * 2
    assert (told.calls, told.blocks) == (1, blocks)
    assert [query for query, _, _ in plain.read] == queries


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([1.0], "did not give one score for each sentence"),
        ([[1.0], [2.0]], "did not give one score for each sentence"),
        ([1.0, float("nan")], "gave scores that are not numbers"),
        ([1.0, float("inf")], "gave scores that are not numbers"),
    ],
)
def test_scores_that_cannot_be_are_refused(scores: list[Any], words: str) -> None:
    def mine(query: str, titles: Sequence[str], sentences: Sequence[str]) -> Any:
        return scores

    with pytest.raises(InputError, match=f"^mine {words}"):
        score_many(mine, ["q"], [["t", "t"]], [["x", "y"]])


def test_what_a_reranker_is_called() -> None:
    class Named(Length):
        name = "mine"

    rerankers: dict[str, Reranker] = {"mine": Named(), "Length": Length(), "digits": digits}
    assert {name: name_of(rerank) for name, rerank in rerankers.items()} == {name: name for name in rerankers}


def test_tfidf_reads_scripts_without_blanks() -> None:
    sentences = ["北京是中国的首都。", "上海是中国最大的城市。", "猫是一种动物。"]
    scores = tfidf("中国的首都是哪里？", ["甲", "乙", "丙"], sentences)
    assert scores.argmax() == 0
    assert scores[1] > scores[2]
