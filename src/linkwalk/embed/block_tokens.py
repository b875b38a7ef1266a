"""Blocks as tokens, and which tokens are the words of which link: what a transformer scores links by (app. B.1).

A graph is tokenised once, so that batches are cut out of arrays. A link that stands nowhere in its block (previous and
next, say), or only in what is cut off, has no tokens. Shapes: N blocks, E links, B texts of a batch, L tokens padded.
"""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Bools, Int64s, Integers
from linkwalk.compiled import OUTSIDE
from linkwalk.embed.text import node_texts
from linkwalk.embed.tokens import fill
from linkwalk.errors import InputError
from linkwalk.graph.csr import bounds_of, gather_rows
from linkwalk.graph.store import Graph
from linkwalk.progress import Advance, unheard

_BLOCKS = 4096
Int16s = NDArray[np.uint16]


class BlockTokens(NamedTuple):
    """All blocks of a graph as tokens, and where in them their links stand."""

    tokens: Integers
    """Of all blocks, one after the other."""
    bounds: Int64s
    """Where each block begins, and the last one ends [N + 1]."""
    spans: Int16s
    """From which to before which token of its block a link stands [E, 2]; 0, 0: nowhere."""

    @classmethod
    def read(cls, graph: Graph, tokenizer: Any, max_tokens: int, advance: Advance = unheard) -> "BlockTokens":
        """Tokenise a graph with a tokenizer of Hugging Face's that knows where its tokens stand."""
        if not tokenizer.is_fast:
            raise InputError(
                "this encoder's tokenizer does not say where tokens stand: choose another encoder"
            )
        small = len(tokenizer) <= 1 << 16
        tokens: list[Integers] = [np.zeros(0, np.uint16 if small else np.int32)]
        lengths: list[Int64s] = [np.zeros(0, np.int64)]
        spans = np.zeros((graph.edges, 2), np.uint16)
        for at in range(0, graph.nodes, _BLOCKS):
            stop = min(at + _BLOCKS, graph.nodes)
            texts = node_texts(graph, at, stop)
            found = tokenizer(texts, truncation=True, max_length=max_tokens, return_offsets_mapping=True)
            rows = found["input_ids"]
            sizes = np.fromiter(map(len, rows), np.int64, len(rows))
            tokens.append(np.fromiter(chain.from_iterable(rows), tokens[0].dtype, int(sizes.sum())))
            lengths.append(sizes)
            _place(graph, at, texts, found["offset_mapping"], sizes, spans)
            advance(stop - at)
        return cls(np.concatenate(tokens), bounds_of(np.concatenate(lengths)), spans)

    def batch(self, nodes: Integers) -> "TokenBatch":
        """The tokens of some blocks, in that order."""
        bounds, tokens = gather_rows(self.bounds, self.tokens, nodes)
        return TokenBatch(tokens.astype(np.int64), bounds)


class TokenBatch(NamedTuple):
    """Some texts as tokens, end to end."""

    tokens: Int64s
    """[T]."""
    bounds: Int64s
    """Where each text begins, and the last one ends [B + 1]."""

    def take(self, rows: Integers) -> "TokenBatch":
        """Some of the texts, in that order."""
        bounds, tokens = gather_rows(self.bounds, self.tokens, rows)
        return TokenBatch(tokens, bounds)

    def replaced(self, which: Bools, others: "TokenBatch") -> "TokenBatch":
        """The same with other texts in the place of some [B]."""
        order = np.arange(len(which))
        order[which] = len(which) + np.arange(int(which.sum()))
        tokens = np.concatenate((self.tokens, others.tokens))
        lengths = np.concatenate((np.diff(self.bounds), np.diff(others.bounds)))
        return TokenBatch(tokens, bounds_of(lengths)).take(order)

    def padded(self, filler: int) -> tuple[Int64s, Bools]:
        """Token ids filled up to the longest, and which of them are tokens [B, L]."""
        return fill(self.tokens, np.diff(self.bounds), filler)


def _place(
    graph: Graph,
    first: int,
    texts: list[str],
    offsets: list[list[tuple[int, int]]],
    sizes: Int64s,
    spans: Int16s,
) -> None:
    """Find the tokens of each link of some blocks: bytes of the text become characters, and those tokens."""
    stop = first + len(texts)
    place = np.array(list(chain.from_iterable(offsets)), np.int64).reshape(-1, 2)
    # All texts on one long line: a token of the one never looks like one of the next.
    long = np.fromiter(map(len, texts), np.int64, len(texts))
    line = bounds_of(long + 1)
    begins = bounds_of(sizes)
    owner = np.repeat(np.arange(len(texts)), sizes)
    special = place[:, 0] == place[:, 1]  # these say 0, 0, whether they come first or last
    behind = special & (np.arange(len(owner)) > begins[owner])
    place[behind] = long[owner[behind], None]
    place += line[owner, None]

    a, b = int(graph.out_indptr[first]), int(graph.out_indptr[stop])
    node = np.repeat(np.arange(len(texts)), np.diff(graph.out_indptr[first : stop + 1]))
    where = graph.texts.offsets[first : stop + 1].astype(np.int64)
    raw = np.asarray(graph.texts.blob[where[0] : where[-1]])
    letters = bounds_of((raw & 0xC0) != 0x80)
    text = where[:-1] - where[0]
    head = long - (letters[where[1:] - where[0]] - letters[text])  # the title's letters
    said = graph.out_spans[a:b].astype(np.int64)
    if len(said) and (said > (where[1:] - where[:-1])[node, None]).any():
        raise IndexError(OUTSIDE)
    stands = (
        letters[text[node, None] + said] - letters[text][node, None] + head[node, None] + line[node, None]
    )
    begin = np.searchsorted(place[:, 1], stands[:, 0], side="right")
    end = np.searchsorted(place[:, 0], stands[:, 1], side="left")
    anchored = (said[:, 1] > said[:, 0]) & (end > begin)
    own = begins[node]
    spans[a:b, 0] = np.where(anchored, begin - own, 0)
    spans[a:b, 1] = np.where(anchored, end - own, 0)
