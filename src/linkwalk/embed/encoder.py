"""Encoders: texts in, vectors out. A transformer, the mean over its tokens, and the paper's tanh if wanted (sec. 4.2).

On a CPU, a model of BERT's architecture such as MiniLM is read by numpy; any other, and any on a GPU, by torch.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.artifact import Json, digest
from linkwalk.device import choose_device, on_cpu
from linkwalk.embed.bert import Bert, Weights, means, several_threads
from linkwalk.embed.encoder_change import read_change
from linkwalk.embed.model import ModelFolder, find_model, refuse_code
from linkwalk.embed.tokens import Rows, Tokens, by_length, joined
from linkwalk.errors import ArtifactError, InputError
from linkwalk.parts import is_part, make_part
from linkwalk.progress import Advance, unheard

MAX_TOKENS = 200
"""Node text is clipped to 200 tokens (app. B.1)."""
BATCH_TOKENS = 512
"""Tokens of a batch in numpy: enough for a product to be worth it, and few enough for the caches."""
OWN: dict[str, "OwnEncoder"] = {}
"""Encoders of one's own that this process knows, by name."""


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


class Reader:
    """phi: the mean over a transformer's token vectors (sec. 4.2, app. B.1); reads pairs of texts as well."""

    width: int

    def __init__(
        self, folder: Path, tokens: Tokens, longest: int, max_tokens: int, tanh: bool, batch_tokens: int
    ) -> None:
        """``longest``: the tokens that the model has learned to read."""
        self.folder, self.tokens, self.limit = folder, tokens, min(tokens.longest, longest)
        self.max_tokens, self.tanh, self.batch_tokens = max_tokens, tanh, batch_tokens
        self._check()

    def _check(self) -> None:
        if not 3 <= self.max_tokens <= self.limit:
            raise InputError(f"max_tokens={self.max_tokens}: this encoder reads 3 to {self.limit}")

    def encode(self, texts: list[str], advance: Advance = unheard) -> Float32s:
        """One row per text, in order; ``advance`` hears how many texts' worth of tokens are done."""
        found: Float32s = self._means(self.tokenize(texts), None, advance)[0]
        return found

    def tokenize(self, texts: list[str]) -> Rows:
        """Token ids with the model's special tokens, cut to ``max_tokens`` in all."""
        return self.tokens.of_texts(texts, self.max_tokens) if texts else []

    def pairs(self, queries: list[str], passages: list[str]) -> tuple[Float32s, Float32s]:
        """The mean over each query's tokens and over its passage's, both read at once."""
        of_query, of_passage = self._means(*self.tokens.of_pairs(queries, passages, self.max_tokens))
        return of_query, of_passage

    def adapted(self, adapter: Weights, *, max_tokens: int | None = None) -> Self:
        """Another one with changes of low rank in its linear layers; this one stays as it is."""
        other = copy(self)
        other.max_tokens = max_tokens or self.max_tokens
        other._check()
        other.adapt(adapter)
        return other

    def _means(self, rows: Rows, types: Rows | None, advance: Advance = unheard) -> Float32s:
        """The means over all of each text's tokens [1, N, D], or over those of each of two types [2, N, D]."""
        lengths = [len(row) for row in rows]
        share = len(rows) / max(1, sum(lengths))
        found = np.empty((1 if types is None else 2, len(rows), self.width), np.float32)
        batches = list(by_length(lengths, self.batch_tokens))
        inputs = (
            ([rows[i] for i in batch], None if types is None else [types[i] for i in batch])
            for batch in batches
        )
        for batch, parts in zip(batches, self.read(inputs), strict=True):
            for whole, part in zip(found, parts, strict=True):
                whole[batch] = part
            advance(share * sum(lengths[i] for i in batch))
        if not np.isfinite(found).all():
            raise InputError(f"the encoder in {self.folder} gives values that are not numbers: it is damaged")
        return found

    @abstractmethod
    def adapt(self, adapter: Weights) -> None:
        """Change the linear layers of this one, a copy."""

    @abstractmethod
    def read(self, batches: Iterable[tuple[Rows, Rows | None]]) -> Iterator[Sequence[Float32s]]:
        """The means of each batch of tokens, with types or without."""


class BertEncoder(Reader):
    """phi in numpy."""

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
        super().__init__(model.path, tokens, bert.longest, max_tokens, tanh, batch_tokens)
        self.bert, self.width = bert, bert.width

    def adapt(self, adapter: Weights) -> None:
        """Add changes of low rank; the rest of the weights is shared."""
        self.bert = self.bert.adapted(adapter)

    def read(self, batches: Iterable[tuple[Rows, Rows | None]]) -> Iterator[Sequence[Float32s]]:
        """The means of each batch, several at once."""
        with several_threads() as pool:
            yield from pool.map(self._read, batches)

    def _read(self, batch: tuple[Rows, Rows | None]) -> Sequence[Float32s]:
        rows, types = batch
        states, lengths = self.bert.read(rows, types), [len(row) for row in rows]
        if types is None:
            found = means(states, np.ones(len(states), np.float32), lengths)
            return [np.tanh(found) if self.tanh else found]
        second = joined(types).astype(np.float32)
        return [means(states, 1 - second, lengths), means(states, second, lengths)]


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
    options: Json = {"max_tokens": max_tokens, "tanh": tanh}
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


class OwnEncoder:
    """An encoder of one's own, whose rows are looked at: as many as texts, as wide as it says, and numbers.

    Importing a module runs it, so a manifest that names one's own encoder opens nothing by itself: whoever reads
    sentences names it, too, on the command line or by ``use_encoder`` in Python.
    """

    def __init__(self, encoder: Any, name: str) -> None:
        if not callable(getattr(encoder, "encode", None)) or not isinstance(
            getattr(encoder, "width", None), int
        ):
            raise InputError(f"{name} is no encoder: it needs a `width` and a method `encode`")
        self.encoder, self.name, self.width = encoder, name, int(encoder.width)

    @property
    def fingerprint(self) -> str:
        """Changes with the encoder's class, its width, and its ``version`` where it has one."""
        return digest([_home(self.encoder), self.width, str(getattr(self.encoder, "version", ""))])

    def encode(self, texts: list[str], advance: Advance = unheard) -> Float32s:
        """One row per text, in order."""
        rows = np.asarray(self.encoder.encode(texts), np.float32)
        if rows.shape != (len(texts), self.width):
            raise InputError(
                f"{self.name} gave an array of {rows.shape} for {len(texts)} texts and a width of {self.width}"
            )
        if not np.isfinite(rows).all():
            raise InputError(f"{self.name} gave values that are not numbers")
        advance(len(texts))
        return rows


def use_encoder(encoder: "str | Encoder") -> str:
    """Make an encoder known to this process, given as an object or as ``package.module:Name``; what it is called.

    A class is made without arguments. Names of other encoders are taken as they are.
    """
    if isinstance(encoder, str) and not is_part(encoder):
        return encoder
    found = make_part(encoder, "encoder") if isinstance(encoder, str) else encoder
    if isinstance(found, type):
        found = found()
    name = encoder if isinstance(encoder, str) else _home(found)
    OWN[name] = OWN[_home(found)] = OwnEncoder(found, name)
    return name


def own_encoder(name: str, fingerprint: str) -> OwnEncoder:
    """The encoder of that name, if it has been given and is the one with that fingerprint."""
    if name not in OWN:
        raise ArtifactError(
            f"the embeddings are by an encoder of one's own, {name}: give that encoder as well if you trust its code"
        )
    if OWN[name].fingerprint != fingerprint:
        raise ArtifactError(
            f"{name} is not as it was when it made the embeddings: run `linkwalk embed` again"
        )
    return OWN[name]


def _home(encoder: Any) -> str:
    return f"{type(encoder).__module__}:{type(encoder).__qualname__}"
