"""Texts and pairs of texts as a model's tokens, and these in batches of like length: little of a batch is padding."""

import json
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from linkwalk.arrays import Bools, Int64s

Rows = list[list[int]]


class Tokens:
    """A tokenizer from ``tokenizer.json`` alone, as Hugging Face's library would open it from the same folder."""

    def __init__(self, tokenizer: Any, longest: int) -> None:
        self.tokenizer, self.longest = tokenizer, longest
        self._lock = Lock()  # where to cut is a setting of the tokenizer's

    @classmethod
    def open(cls, folder: Path) -> "Tokens | None":
        """The tokenizer of a folder; None where it is in other files, or cannot be read."""
        try:
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = json.loads((folder / "tokenizer_config.json").read_bytes())
            longest = int(min(config.get("model_max_length", 1 << 30), 1 << 30))
        except Exception:  # the library's own errors are plain ones
            return None
        tokenizer.no_padding()
        return cls(tokenizer, longest)

    @property
    def words(self) -> int:
        """How many tokens it knows."""
        return int(self.tokenizer.get_vocab_size(with_added_tokens=True))

    def of_texts(self, texts: Sequence[str], max_tokens: int) -> Rows:
        """Token ids with the model's special tokens, cut to ``max_tokens`` in all."""
        return [found.ids for found in self._encode(list(texts), max_tokens)]

    def of_pairs(self, queries: Sequence[str], passages: Sequence[str], max_tokens: int) -> tuple[Rows, Rows]:
        """Token ids and types of each pair; what is too long loses the end of its longer part."""
        found = self._encode(list(zip(queries, passages, strict=True)), max_tokens)
        return [pair.ids for pair in found], [pair.type_ids for pair in found]

    def bare(self, texts: Sequence[str]) -> Rows:
        """Token ids of whole texts, without special tokens."""
        with self._lock:
            self.tokenizer.no_truncation()
            found = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [one.ids for one in found]

    def frame(self) -> tuple[int, int]:
        """The tokens that stand before a pair, and behind each of its parts."""
        first, last, _ = self.of_pairs([""], [""], 8)[0][0]
        return first, last

    def _encode(self, what: list[Any], max_tokens: int) -> list[Any]:
        with self._lock:
            self.tokenizer.enable_truncation(max_tokens, strategy="longest_first")
            found: list[Any] = self.tokenizer.encode_batch(what)
        return found


class HubTokens(Tokens):
    """A tokenizer that Hugging Face's library has opened, of any kind."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer, int(tokenizer.model_max_length))

    def of_texts(self, texts: Sequence[str], max_tokens: int) -> Rows:
        """Token ids with the model's special tokens, cut to ``max_tokens`` in all."""
        ids: Rows = self.tokenizer(list(texts), truncation=True, max_length=max_tokens)["input_ids"]
        return ids

    def of_pairs(self, queries: Sequence[str], passages: Sequence[str], max_tokens: int) -> tuple[Rows, Rows]:
        """Token ids and types of each pair; what is too long loses the end of its longer part."""
        found = self.tokenizer(
            list(queries),
            list(passages),
            truncation="longest_first",
            max_length=max_tokens,
            return_token_type_ids=True,
        )
        return found["input_ids"], found["token_type_ids"]


def by_length(lengths: Sequence[int], budget: int) -> Iterator[Int64s]:
    """Indices in batches, longest first, each with at most ``budget`` tokens once padded (or a single text)."""
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    at = 0
    while at < len(order):
        size = max(1, budget // max(1, lengths[order[at]]))
        yield order[at : at + size]
        at += size


def shared_out(lengths: Sequence[int], budget: int, among: int) -> list[Int64s]:
    """Indices in batches of about as many tokens, up to ``budget`` where texts are short, a multiple of ``among``.

    So that nobody waits for who has more to read: the longest first, each to whoever has least so far.
    """
    if not lengths:
        return []
    count = min(len(lengths), among * max(1, -(-sum(lengths) // (budget * among))))
    batches: list[list[int]] = [[] for _ in range(count)]
    load = [(0, number) for number in range(count)]
    for i in np.argsort(-np.asarray(lengths, np.int64), kind="stable").tolist():
        tokens, number = heappop(load)
        batches[number].append(i)
        heappush(load, (tokens + lengths[i], number))
    return [np.array(batch, np.int64) for batch in batches]


def pad(rows: Sequence[Sequence[int]], value: int) -> tuple[Int64s, Int64s]:
    """Token ids as one array filled up with ``value``, and the mask that is 1 on tokens."""
    ids, mask = fill(joined(rows), np.array([len(row) for row in rows], np.int64), value)
    return ids, mask.astype(np.int64)


def fill(tokens: Int64s, lengths: Int64s, value: int) -> tuple[Int64s, Bools]:
    """Rows of tokens, which lie end to end, each filled up to the longest; and which of these are tokens."""
    mask: Bools = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(mask.shape, value, np.int64)
    ids[mask] = tokens
    return ids, mask


def joined(rows: Sequence[Sequence[int]]) -> Int64s:
    """All rows, one after another."""
    return np.fromiter(chain.from_iterable(rows), np.int64)
