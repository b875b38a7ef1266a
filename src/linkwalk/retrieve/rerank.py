"""Which of the sentences seen answers best: rerankers, by the words alone or in a cascade (sec. 4.3)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy as np

from linkwalk.arrays import Float32s, Int64s
from linkwalk.errors import InputError
from linkwalk.scripts import UNSPACED

TOP = 20
"""How many sentences the slow reranker of a cascade reads."""
_RANK = 20  # what softens the lead of first places where ranks are fused, before the slow one reads
_LAST = 5  # and after
#: Letters of scripts without blanks stand alone, so that pairs of them are terms; others make words.
_WORDS = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
_SLICE = 128  # queries; at a hundred blocks each that is some 60,000 sentences

Texts = Sequence[Sequence[str]]
"""Of each query those of its sentences, or the titles of their articles."""
Blocks = Sequence[Sequence[int]] | None
"""Which block each sentence stands in, the blocks in the order they were read; None where nobody knows."""


class Reranker(Protocol):
    """Anything that gives sentences a score for a query; more is better."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence, given the title of its article."""
        ...


@runtime_checkable
class BatchReranker(Reranker, Protocol):
    """A reranker that can do more: take many queries at once, or look at the blocks that sentences stand in."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        return self.many([query], [titles], [sentences])[0]

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of each query's sentences."""
        ...


def score_many(
    rerank: Reranker, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
) -> list[Float32s]:
    """The scores of each query's sentences, all at once where the reranker can."""
    if isinstance(rerank, BatchReranker):
        found = list(rerank.many(queries, titles, sentences, blocks))
    else:
        found = [rerank(*each) for each in zip(queries, titles, sentences, strict=True)]
    scores = [np.asarray(own, np.float32) for own in found]
    if [own.shape for own in scores] != [(len(own),) for own in sentences]:
        raise InputError(f"{name_of(rerank)} did not give one score for each sentence: mend that reranker")
    if not all(np.isfinite(own).all() for own in scores):
        raise InputError(f"{name_of(rerank)} gave scores that are not numbers: mend that reranker")
    return scores


def name_of(rerank: Reranker) -> str:
    """What to call a reranker: its own name, or that of its kind."""
    name = getattr(rerank, "name", None) or getattr(rerank, "__name__", None)
    return name if isinstance(name, str) else type(rerank).__name__


class TfIdf(BatchReranker):
    """The cosine of a query and a sentence behind its title, in words and pairs of words, for many queries at once.

    Weights are 1 + ln(tf) and ln((1 + n) / (1 + df)) + 1. How rare a term is, is counted among the n sentences at hand
    for that query: what all of them have does not tell them apart. So each query has a vocabulary of its own, and what
    is shared is the work: one pass over the words, and from there on sorted numbers, (text, term) and (query, term),
    for a slice of queries at a time.

    Shapes: W words, P pairs of a text and one of its terms, K pairs of a query and a term.
    """

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of each query's sentences."""
        found: list[Float32s] = []
        for at in range(0, len(queries), _SLICE):
            some = slice(at, at + _SLICE)
            found += _tfidf(queries[some], titles[some], sentences[some])
        return found


tfidf = TfIdf()


class Cascade(BatchReranker):
    """A quick reranker chooses what a slow one reads; what that one has read comes first.

    Where it is known which block each sentence stands in, two things are better (``docs/results.md``). Of each block
    the sentence that the quick one likes best is read before all second-best ones, and blocks go by two ranks fused:
    the quick one's, and the order in which they were read; a hundred blocks hold five hundred sentences, and by TF-IDF
    alone the right one is often not among twenty. And the slow one does not have the last word: its rank is fused with
    the order of reading, too, since search and navigation know what no pair of query and sentence tells. The score is

        3 / (5 + the slow one's rank) + 3 / (5 + the block's place)

    with ranks from 1, so that it is 1 for the sentence that is first by both, and nears 0 for the last.
    """

    def __init__(self, slow: Reranker, quick: Reranker = tfidf, *, top: int = TOP) -> None:
        self.slow, self.quick, self.top = slow, quick, top

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The slow one's scores for ``top`` sentences of each query; the others follow below them, in the order chosen.

        ``blocks``, in the order read, says which block each sentence stands in; where nobody knows, the quick one's
        order is the choice.
        """
        quick = score_many(self.quick, queries, titles, sentences)
        if blocks is None:
            order = [np.argsort(-scores, kind="stable") for scores in quick]
        else:
            order = [_order(*each) for each in zip(quick, blocks, strict=True)]
        best = [each[: self.top].tolist() for each in order]
        few = (
            [[own[i] for i in chosen] for own, chosen in zip(texts, best, strict=True)]
            for texts in (titles, sentences)
        )
        slow = score_many(self.slow, queries, *few)
        if blocks is not None:
            slow = [_fused(*each) for each in zip(slow, best, blocks, strict=True)]
        return [_below(*each) for each in zip(order, slow, strict=True)]


def _order(quick: Float32s, blocks: Sequence[int]) -> Int64s:
    """Sentences in the order in which the slow reranker takes them."""
    liked = np.argsort(-quick, kind="stable")
    read = _places(blocks)
    seen: dict[int, int] = {}
    turn = np.empty(len(quick), np.int64)  # the sentence is its block's best, second best ...
    for i in liked.tolist():
        turn[i] = seen[blocks[i]] = seen.get(blocks[i], -1) + 1
    rank = _places(blocks[i] for i in liked.tolist())
    worth = np.array([1 / (_RANK + read[b]) + 1 / (_RANK + rank[b]) for b in blocks])
    return np.lexsort((np.arange(len(quick)), -worth, turn)) if len(quick) else liked


def _fused(slow: Float32s, chosen: list[int], blocks: Sequence[int]) -> Float32s:
    """The slow one's ranks and the order of reading, as one score."""
    read = _places(blocks)
    rank = np.empty(len(slow), np.int64)
    rank[np.argsort(-slow, kind="stable")] = np.arange(1, len(slow) + 1)
    places = np.array([read[blocks[i]] + 1 for i in chosen], np.int64)
    return (3 / (_LAST + rank) + 3 / (_LAST + places)).astype(np.float32)


def _below(order: Int64s, slow: Float32s) -> Float32s:
    """The slow scores for the first sentences of an order; the others a step below the least, one after the other."""
    scores = np.empty(len(order), np.float32)
    scores[order[: len(slow)]] = slow
    least = slow.min() if len(slow) else np.float32(0)
    scores[order[len(slow) :]] = least - 1 - np.arange(len(order) - len(slow), dtype=np.float32)
    return scores


def _places(blocks: Iterable[int]) -> dict[int, int]:
    """The place of each block, by when it comes first."""
    return {block: place for place, block in enumerate(dict.fromkeys(blocks))}


def _tfidf(queries: Sequence[str], titles: Texts, sentences: Texts) -> list[Float32s]:
    texts = [
        f"{title}. {sentence}" for title, sentence in zip(chain(*titles), chain(*sentences), strict=True)
    ]
    counts = np.array([len(own) for own in sentences])
    owner = np.concatenate((np.repeat(np.arange(len(queries)), counts), np.arange(len(queries))))
    text_P, term_P, times_P = _count([*texts, *queries])
    terms = int(term_P.max(initial=0)) + 1
    known_K, at_P = np.unique(owner[text_P] * terms + term_P, return_inverse=True)
    own_P = text_P >= len(texts)  # the query's own
    sentences_K = np.bincount(at_P[~own_P], minlength=len(known_K))
    idf_K = np.log((1 + counts[known_K // terms]) / (1 + sentences_K)) + 1
    weight_P = (1 + np.log(times_P)) * idf_K[at_P]
    # A term of the query that no sentence has is no term: it would only make the query longer.
    weight_P *= sentences_K[at_P] > 0
    query_K = np.zeros(len(known_K))
    query_K[at_P[own_P]] = weight_P[own_P]
    length = np.sqrt(np.bincount(text_P, weight_P**2, len(owner)))
    product = np.bincount(text_P, weight_P * query_K[at_P], len(owner))
    scores = product / np.maximum(length * length[len(texts) :][owner], np.finfo(np.float64).tiny)
    return np.split(scores[: len(texts)].astype(np.float32), np.cumsum(counts)[:-1])


def _count(texts: Sequence[str]) -> tuple[Int64s, Int64s, Int64s]:
    """Which text has which term how often: three columns [P]."""
    words = [_WORDS.findall(text.lower()) for text in texts]
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a word that is new gets the next number
    lengths = [len(own) for own in words]
    word_W = np.fromiter(map(numbers.__getitem__, chain.from_iterable(words)), np.int64, sum(lengths))
    text_W = np.repeat(np.arange(len(texts)), lengths)
    paired = text_W[1:] == text_W[:-1]
    pairs = (word_W[:-1] + 1) * max(len(numbers), 1) + word_W[1:]  # beyond the single words' numbers
    text = np.concatenate((text_W, text_W[1:][paired]))
    different, term = np.unique(np.concatenate((word_W, pairs[paired])), return_inverse=True)
    size = max(len(different), 1)
    both, times = np.unique(text * size + term, return_counts=True)
    return both // size, both % size, times
