"""A cross-encoder that reads whole blocks: query and block at once, and each sentence gets its own score (sec. 4.3).

The transformer reads ``query [SEP] via [SEP] title. first sentence. second ...``. With q and s the means over the
query's and a sentence's tokens, of unit length, the sentence's score is

    sum_d (w_d q_d + u_d) s_d + b

which begins as ten times the cosine and learns the rest, with an adapter of low rank in every layer. ``via`` is the
sentence that a click stands in, where the block was reached by one: a page that is joined to what was asked by another
is read behind what joins them. There are two such heads, one after ``exit`` layers and one after the last: all blocks
are read up to the first, and only a share of a query's, the best so far, to the end.

Shapes: P blocks, S sentences of all of them, D width.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Bools, Float32s
from linkwalk.embed.bert import Weights
from linkwalk.embed.sections import Means, SectionReader, Sections
from linkwalk.embed.tokens import Tokens

HEADS = "heads"
"""[2, 2 D + 1]: w, u and b of the first and the last head."""
QUERY_TOKENS, VIA_TOKENS = 64, 48
"""What of a query is read at most, and of the sentence around a link."""
DEEP = 0.5
"""Of a query's blocks that are read at once, the share that is read to the end."""
_CACHED = 1 << 14
_DIGITS = 4  # of scores that are compared: where a block stands in a batch changes the sixth


class Passage(NamedTuple):
    """What is read of a block."""

    title: str
    sentences: tuple[str, ...]
    via: str = ""
    """The sentence around the link that led there."""


class ReadBlock(NamedTuple):
    """The scores of one block's sentences."""

    scores: Float32s
    """Of its sentences, as the last head that read them has it."""
    first: Float32s
    """As the first head has it."""
    deep: bool
    """Whether it was read to the end."""


class BlockReader:
    """Reads blocks for queries, many at once; a reranker of sentences, too."""

    def __init__(
        self,
        reader: SectionReader,
        tokens: Tokens,
        heads: NDArray[Any],
        *,
        exit: int,
        max_tokens: int,
        deep: float = DEEP,
    ) -> None:
        self.reader, self.tokens, self.exit, self.max_tokens, self.deep = (
            reader,
            tokens,
            exit,
            max_tokens,
            deep,
        )
        self.heads = np.asarray(heads, np.float32)
        if self.heads.ndim != 2 or len(self.heads) != 2 or not self.heads.shape[1] % 2:
            raise ValueError("the heads are of another model")
        self.frame = PairFrame(tokens, max_tokens)

    def read(self, queries: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[ReadBlock]]:
        """What each query's blocks say to it; which of them are read to the end depends on them alone."""
        pairs = [self.frame.pair(q, p) for q, own in zip(queries, passages, strict=True) for p in own]
        if not pairs:
            return [[] for _ in queries]
        counts = np.array([len(own) for own in passages])

        def choose(early: Means) -> Bools:
            best = np.full(len(pairs), -np.inf, np.float32)
            np.maximum.at(best, early.owner, _score(self.heads[0], early))
            going = np.zeros(len(pairs), np.bool_)
            for start, count in zip(np.cumsum(counts) - counts, counts, strict=True):
                order = np.argsort(-np.round(best[start : start + count], _DIGITS), kind="stable")
                going[start + order[: int(np.ceil(self.deep * count))]] = True
            return going

        early, late, deep = self.reader.read(pairs, self.exit, choose)
        first, last = _score(self.heads[0], early), _score(self.heads[1], late)
        last = np.where(deep[early.owner], last, first)
        cuts = np.cumsum([len(pair.bounds) - 1 for pair in pairs])[:-1]
        each = zip(np.split(last, cuts), np.split(first, cuts), deep.tolist(), strict=True)
        blocks = iter([ReadBlock(*one) for one in each])
        return [[next(blocks) for _ in own] for own in passages]

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        return self.many([query], [titles], [sentences])[0]

    def many(
        self,
        queries: Sequence[str],
        titles: Sequence[Sequence[str]],
        sentences: Sequence[Sequence[str]],
        blocks: Sequence[Sequence[int]] | None = None,
    ) -> list[Float32s]:
        """The scores of each query's sentences; those of one block, which stand together, are read at once."""
        passages = []
        for number, (own_titles, own) in enumerate(zip(titles, sentences, strict=True)):
            which = range(len(own)) if blocks is None else blocks[number]
            rows = groupby(zip(which, own_titles, own, strict=True), key=lambda row: row[0])
            together = [list(group) for _, group in rows]
            passages.append([Passage(group[0][1], tuple(text for _, _, text in group)) for group in together])
        none = np.zeros(0, np.float32)
        return [
            np.concatenate([none, *(block.scores for block in own)]) for own in self.read(queries, passages)
        ]


def _score(head: Float32s, means: Means) -> Float32s:
    """The scores [S] of all sentences by one head."""
    width = means.query.shape[1]
    weight = means.query * head[:width] + head[width : 2 * width]
    found: Float32s = np.einsum("sd,sd->s", weight[means.owner], means.sections) + head[-1]
    return found


def fresh_heads(width: int) -> Float32s:
    """Heads that have learned nothing: ten times the cosine."""
    one = np.concatenate((np.full(width, 10), np.zeros(width + 1)))
    return np.stack((one, one)).astype(np.float32)


class PairFrame:
    """Puts queries and passages together as tokens."""

    def __init__(self, tokens: Tokens, max_tokens: int) -> None:
        self.tokens, self.max_tokens = tokens, max_tokens
        self.first, self.last = tokens.frame()
        self.known: dict[str, list[int]] = {}
        self._read = lru_cache(_CACHED)(lambda texts: tokens.bare(texts))

    def know(self, texts: Sequence[str]) -> None:
        """Take many texts apart at once, for those who will meet them often."""
        self.known.update(zip(texts, self.tokens.bare(texts), strict=True))

    def rows(self, texts: tuple[str, ...]) -> list[list[int]]:
        """The tokens of some texts."""
        if all(text in self.known for text in texts):
            return [self.known[text] for text in texts]
        return self._read(texts)

    def pair(self, query: str, passage: Passage) -> Sections:
        """One pair; what is too long loses the end of the passage."""
        asked = [self.first, *self.rows((query,))[0][:QUERY_TOKENS], self.last]
        row, bounds = list(asked), [(1, max(2, len(asked) - 1))]
        if passage.via:
            row += [*self.rows((passage.via,))[0][:VIA_TOKENS], self.last]
        title, *sentences = self.rows((f"{passage.title}." if passage.title else "", *passage.sentences))
        row += title
        for own in sentences:
            begin = min(len(row), self.max_tokens - 2)
            row += own
            bounds.append((begin, max(begin + 1, min(len(row), self.max_tokens - 1))))
        row = [*row[: self.max_tokens - 1], self.last]
        return Sections(row, len(asked), [(a, min(b, len(row))) for a, b in bounds])


def unframed(weights: Weights) -> tuple[Weights, NDArray[Any]]:
    """An adapter and the heads, apart."""
    return {name: value for name, value in weights.items() if name != HEADS}, weights[HEADS]
