"""Which of the sentences seen answers best: rerankers (sec. 4.3)."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from linkwalk.arrays import Float32s, Int64s
from linkwalk.errors import InputError
from linkwalk.retrieve.tfidf import tfidf

TOP = 20
"""How many sentences the slow reranker of a cascade reads."""
_RANK = 20  # what softens the lead of first places where ranks are fused, before the slow one reads
_LAST = 5  # and after


Blocks = Sequence[Sequence[int]] | None
"""Which block each sentence stands in, the blocks in the order they were read; None where nobody knows."""


class Reranker(Protocol):
    """Anything that gives sentences a score for a query; more is better."""

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence, given the title of its article."""
        ...


@runtime_checkable
class Many(Protocol):
    """A reranker that can do more: take many queries at once, or look at the blocks that sentences stand in."""

    def many(
        self,
        queries: Sequence[str],
        titles: Sequence[Sequence[str]],
        sentences: Sequence[Sequence[str]],
        blocks: Blocks = None,
    ) -> list[Float32s]:
        """The scores of each query's sentences."""
        ...


def score_many(
    rerank: Reranker,
    queries: Sequence[str],
    titles: Sequence[Sequence[str]],
    sentences: Sequence[Sequence[str]],
    blocks: Blocks = None,
) -> list[Float32s]:
    """The scores of each query's sentences, all at once where the reranker can."""
    if isinstance(rerank, Many):
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


class Cascade:
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

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """The slow one's scores for ``top`` sentences; the others follow below them, in the order of the choice."""
        return self.many([query], [titles], [sentences])[0]

    def many(
        self,
        queries: Sequence[str],
        titles: Sequence[Sequence[str]],
        sentences: Sequence[Sequence[str]],
        blocks: Blocks = None,
    ) -> list[Float32s]:
        """The same for many queries; ``blocks``, in the order read, says which block each sentence stands in.

        Where nobody knows, the quick one's order is the choice.
        """
        quick = score_many(self.quick, queries, titles, sentences)
        if blocks is None:
            order = [np.argsort(-scores, kind="stable") for scores in quick]
        else:
            order = [_order(*each) for each in zip(quick, blocks, strict=True)]
        best = [each[: self.top].tolist() for each in order]
        few_titles = [[own[i] for i in chosen] for own, chosen in zip(titles, best, strict=True)]
        few = [[own[i] for i in chosen] for own, chosen in zip(sentences, best, strict=True)]
        slow = score_many(self.slow, queries, few_titles, few)
        if blocks is not None:
            slow = [_fused(*each) for each in zip(slow, best, blocks, strict=True)]
        return [_below(*each) for each in zip(order, slow, strict=True)]


def _order(quick: Float32s, blocks: Sequence[int]) -> Int64s:
    """Sentences in the order in which the slow reranker takes them."""
    liked = np.argsort(-quick, kind="stable")
    read = {block: place for place, block in enumerate(dict.fromkeys(blocks))}
    seen: dict[int, int] = {}
    turn = np.empty(len(quick), np.int64)  # the sentence is its block's best, second best ...
    for i in liked.tolist():
        turn[i] = seen[blocks[i]] = seen.get(blocks[i], -1) + 1
    rank = {block: place for place, block in enumerate(dict.fromkeys(blocks[i] for i in liked.tolist()))}
    worth = np.array([1 / (_RANK + read[b]) + 1 / (_RANK + rank[b]) for b in blocks])
    return np.lexsort((np.arange(len(quick)), -worth, turn)) if len(quick) else liked


def _fused(slow: Float32s, chosen: list[int], blocks: Sequence[int]) -> Float32s:
    """The slow one's ranks and the order of reading, as one score."""
    read = {block: place for place, block in enumerate(dict.fromkeys(blocks), 1)}
    rank = np.empty(len(slow), np.int64)
    rank[np.argsort(-slow, kind="stable")] = np.arange(1, len(slow) + 1)
    places = np.array([read[blocks[i]] for i in chosen], np.int64)
    scores: Float32s = (3 / (_LAST + rank) + 3 / (_LAST + places)).astype(np.float32)
    return scores


def _below(order: Int64s, slow: Float32s) -> Float32s:
    """The slow scores for the first sentences of an order; the others a step below the least, one after the other."""
    scores = np.empty(len(order), np.float32)
    scores[order[: len(slow)]] = slow
    least = slow.min() if len(slow) else np.float32(0)
    scores[order[len(slow) :]] = least - 1 - np.arange(len(order) - len(slow), dtype=np.float32)
    return scores
