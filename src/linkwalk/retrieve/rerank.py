"""Which of the sentences seen answers best: rerankers (sec. 4.3)."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from linkwalk.navigate.journeys import Float32s

TOP = 20
"""How many sentences the slow reranker of a cascade reads."""


class Reranker(Protocol):
    """Anything that gives sentences a score for a query; more is better."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence, given the title of its article."""
        ...


@runtime_checkable
class Many(Protocol):
    """A reranker that takes many queries at once and is faster for it."""

    def many(
        self, queries: Sequence[str], titles: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]
    ) -> list[Float32s]:
        """The scores of each query's sentences."""
        ...


def tfidf(query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
    """Cosine of TF-IDF vectors of the query and of a sentence with its title, in words and pairs of words.

    How rare a word is, is counted among the sentences at hand: what all of them have does not tell them apart.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [f"{title}. {sentence}" for title, sentence in zip(titles, sentences, strict=True)]
    vectoriser = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    try:
        seen = vectoriser.fit_transform(texts)
    except ValueError:  # no words at all
        return np.zeros(len(texts), np.float32)
    scores: Float32s = (seen @ vectoriser.transform([query]).T).toarray().ravel().astype(np.float32)
    return scores


class Cascade:
    """A quick reranker chooses what a slow one reads; what that one has read comes first."""

    def __init__(self, slow: Reranker, quick: Reranker = tfidf, *, top: int = TOP) -> None:
        self.slow, self.quick, self.top = slow, quick, top

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """The slow one's scores for ``top`` sentences; the others follow below them, as the quick one has them."""
        return self.many([query], [titles], [sentences])[0]

    def many(
        self, queries: Sequence[str], titles: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]
    ) -> list[Float32s]:
        """The same for many queries."""
        quick = [self.quick(*each) for each in zip(queries, titles, sentences, strict=True)]
        best = [np.argsort(-scores, kind="stable")[: self.top].tolist() for scores in quick]
        few_titles = [[own[i] for i in chosen] for own, chosen in zip(titles, best, strict=True)]
        few = [[own[i] for i in chosen] for own, chosen in zip(sentences, best, strict=True)]
        if isinstance(self.slow, Many):
            slow = self.slow.many(queries, few_titles, few)
        else:
            slow = [self.slow(*each) for each in zip(queries, few_titles, few, strict=True)]
        return [_below(*each) for each in zip(quick, best, slow, strict=True)]


def _below(quick: Float32s, chosen: list[int], slow: Float32s) -> Float32s:
    """The slow scores where there are any, and the quick ones moved under the least of them."""
    if not chosen:
        return quick
    scores: Float32s = (quick - quick.max() + slow.min() - 1).astype(np.float32)
    scores[chosen] = slow
    return scores
