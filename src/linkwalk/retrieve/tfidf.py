"""TF-IDF of sentences, for many queries at once (sec. 4.3).

A score is the cosine of a query and a sentence behind its title, in words and pairs of words, with 1 + ln(tf) and
ln((1 + n) / (1 + df)) + 1 for weights. How rare a term is, is counted among the n sentences at hand for that query:
what all of them have does not tell them apart. So each query has a vocabulary of its own, and what is shared is the
work: one pass over the words, and from there on sorted numbers, (text, term) and (query, term), for a slice of queries
at a time.

Shapes: W words, P pairs of a text and one of its terms, K pairs of a query and a term.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s, Int64s
from linkwalk.scripts import UNSPACED

#: Letters of scripts without blanks stand alone, so that pairs of them are terms; others make words.
_WORDS = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
_SLICE = 128  # queries; at a hundred blocks each that is some 60,000 sentences


class TfIdf:
    """A reranker that knows nothing but the words."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        return self.many([query], [titles], [sentences])[0]

    def many(
        self,
        queries: Sequence[str],
        titles: Sequence[Sequence[str]],
        sentences: Sequence[Sequence[str]],
        blocks: Any = None,
    ) -> list[Float32s]:
        """The scores of each query's sentences."""
        found: list[Float32s] = []
        for at in range(0, len(queries), _SLICE):
            some = slice(at, at + _SLICE)
            found += _scores(queries[some], titles[some], sentences[some])
        return found


tfidf = TfIdf()


def _scores(
    queries: Sequence[str], titles: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]
) -> list[Float32s]:
    each = zip(titles, sentences, strict=True)
    texts = [f"{t}. {s}" for own_titles, own in each for t, s in zip(own_titles, own, strict=True)]
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
