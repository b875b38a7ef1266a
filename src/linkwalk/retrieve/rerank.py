"""Which of the sentences seen answers best: rerankers (sec. 4.3)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from linkwalk.navigate.journeys import Float32s


class Reranker(Protocol):
    """Anything that gives sentences a score for a query; more is better."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence, given the title of its article."""
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
