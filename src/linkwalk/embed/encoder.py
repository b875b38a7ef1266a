"""Encoders: texts in, vectors out. A transformer, the mean over its tokens, and the paper's tanh if wanted (sec. 4.2).

On a CPU, a model of BERT's architecture such as MiniLM is read by numpy; any other, and any on a GPU, by torch.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from linkwalk.arrays import Float32s, Int64s
from linkwalk.device import choose_device, on_cpu
from linkwalk.embed.batches import by_length
from linkwalk.embed.bert import Bert, Weights, joined, means, several_threads
from linkwalk.embed.change import read_change
from linkwalk.embed.model import ModelFolder, find_model, refuse_code
from linkwalk.embed.tokens import Rows, Tokens
from linkwalk.errors import InputError

MAX_TOKENS = 200
"""Node text is clipped to 200 tokens (app. B.1)."""
BATCH_TOKENS = 512
"""Tokens of a batch in numpy: enough for a product to be worth it, and few enough for the caches."""

Advance = Callable[[float], None]


def unheard(_: float) -> None:
    """Hear of no progress."""


class Encoder(Protocol):
    """Anything that turns texts into vectors of one width."""

    width: int

    def encode(self, texts: list[str]) -> Float32s:
        """One row per text, in order."""
        ...


class TellingEncoder(Encoder, Protocol):
    """An encoder that tells how far it is."""

    def encode(self, texts: list[str], advance: Advance = unheard) -> Float32s:
        """One row per text, in order; ``advance`` hears how many are done."""
        ...


class Reader(TellingEncoder, Protocol):
    """A transformer that reads texts, and pairs of them, and can be adapted."""

    def pairs(self, queries: list[str], passages: list[str]) -> tuple[Float32s, Float32s]:
        """The mean over each query's tokens and over its passage's, both read at once."""
        ...

    def adapted(self, adapter: Weights, *, max_tokens: int | None = None) -> "Reader":
        """Another one with changes of low rank in its linear layers; this one stays as it is."""
        ...


class BertEncoder:
    """phi: the mean over a transformer's token vectors (sec. 4.2, app. B.1), in numpy."""

    def __init__(
        self,
        model: ModelFolder,
        bert: Bert,
        tokens: Tokens,
        *,
        max_tokens: int = MAX_TOKENS,
        tanh: bool = False,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        check_length(max_tokens, min(tokens.longest, bert.longest))
        self.model, self.bert, self.tokens = model, bert, tokens
        self.max_tokens, self.tanh, self.batch_tokens = max_tokens, tanh, batch_tokens
        self.width: int = bert.width

    def encode(self, texts: list[str], advance: Advance = unheard) -> Float32s:
        """One row per text, in order; ``advance`` hears how many texts' worth of tokens are done."""
        rows = self.tokens.of_texts(texts, self.max_tokens) if texts else []
        (found,) = self._means(rows, None, advance)
        return np.tanh(found) if self.tanh else found

    def pairs(self, queries: list[str], passages: list[str]) -> tuple[Float32s, Float32s]:
        """The mean over each query's tokens and over its passage's, both read at once."""
        ids, types = self.tokens.of_pairs(queries, passages, self.max_tokens)
        of_query, of_passage = self._means(ids, types)
        return of_query, of_passage

    def adapted(self, adapter: Weights, *, max_tokens: int | None = None) -> "BertEncoder":
        """Another one with changes of low rank; the rest of the weights is shared."""
        return BertEncoder(
            self.model,
            self.bert.adapted(adapter),
            self.tokens,
            max_tokens=max_tokens or self.max_tokens,
            tanh=self.tanh,
            batch_tokens=self.batch_tokens,
        )

    def _means(self, rows: Rows, types: Rows | None, advance: Advance = unheard) -> list[Float32s]:
        """The means over all of each text's tokens, or over those of each of two types."""
        lengths = [len(row) for row in rows]
        share = len(rows) / max(1, sum(lengths))
        found = [np.empty((len(rows), self.width), np.float32) for _ in range(1 if types is None else 2)]

        def read(batch: Int64s) -> list[Float32s]:
            own, kinds = [rows[i] for i in batch], None if types is None else [types[i] for i in batch]
            states, sizes = self.bert.read(own, kinds), [len(row) for row in own]
            if kinds is None:
                return [means(states, np.ones(len(states), np.float32), sizes)]
            second = joined(kinds).astype(np.float32)
            return [means(states, 1 - second, sizes), means(states, second, sizes)]

        batches = list(by_length(lengths, self.batch_tokens))
        with several_threads() as pool:
            for batch, parts in zip(batches, pool.map(read, batches), strict=True):
                for whole, part in zip(found, parts, strict=True):
                    whole[batch] = part
                advance(share * sum(lengths[i] for i in batch))
        if not all(np.isfinite(part).all() for part in found):
            raise InputError(
                f"the encoder in {self.model.path} gives values that are not numbers: it is damaged"
            )
        return found


def check_length(max_tokens: int, limit: int) -> None:
    """Refuse to cut texts where a model has not learned to read."""
    if not 3 <= max_tokens <= limit:
        raise InputError(f"max_tokens={max_tokens}: this encoder reads 3 to {limit}")


def open_encoder(
    spec: str = "minilm",
    *,
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    tanh: bool = False,
    batch_tokens: int | None = None,
) -> Reader:
    """The transformer that ``minilm``, a folder or a hub's name stands for, ready for sentences and queries."""
    if spec == "random":
        raise InputError("random features cannot read text: take embeddings of an encoder")
    model = find_model(spec)
    options: dict[str, Any] = {"max_tokens": max_tokens, "tanh": tanh}
    opened = _open_once(model, _settings(model.path)) if on_cpu(device) else None
    if opened is not None:
        return BertEncoder(model, *opened, **options, batch_tokens=batch_tokens or BATCH_TOKENS)
    choose_device(device)  # before anything that needs torch: without it, this says what to install
    from linkwalk.embed.transformer import open_transformer

    return open_transformer(spec, device=device, batch_tokens=batch_tokens, **options)


@lru_cache(maxsize=8)
def _open_once(model: ModelFolder, settings: object) -> tuple[Bert, Tokens] | None:
    """A model for whoever in this process reads with it; fingerprint and settings tell another in its place from it."""
    if model.change is not None:
        change = read_change(model.change)
        opened = _open_once(find_model(change.base), settings)
        return opened and (opened[0].changed(change.weights), opened[1])
    refuse_code(model.path)
    bert, tokens = Bert.open(model.path), Tokens.open(model.path)
    return (bert, tokens) if bert and tokens and tokens.words <= bert.words else None


def _settings(path: Path) -> tuple[tuple[str, int, int], ...]:
    """The files of a model that say how it is read, and their state."""
    stats = ((file.name, file.stat()) for file in sorted(path.glob("*.json")))
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)
