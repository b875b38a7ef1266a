"""BERT's layers in numpy: reading takes neither the library that trained them nor a second to begin.

Texts of a batch lie one after another, without padding: linear layers see one matrix of tokens, and attention goes from
one length to the next. In one thread it is as fast as torch, so batches are shared among threads, each with a BLAS of
its own (``bench/infer.py``).

Shapes: T tokens of a batch, D width, H heads, L tokens of a text, B texts of that length.
"""

import json
import mmap
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.artifact import Json
from linkwalk.compiled import guarded
from linkwalk.embed.tokens import joined

Weights = Mapping[str, Float32s]
Tokens = Sequence[int]

_TABLES = ("word", "position", "token_type")
_LINEAR = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
_CONFIG = {"model_type": "bert", "hidden_act": "gelu"}
_USUAL = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}

# Half of erfc(u / sqrt 2) is exp(-u^2 / 2) times a polynomial in 1 / (1 + _GELU_AT u), to 3e-9 (a minimax fit).
_GELU_AT = np.float32(0.28)
_GELU = (-0.1075551989, 0.3969911954, -0.2485198226, 0.2781837969, 0.06379089387, 0.1171090866)
_GELU_0, _GELU_1, _GELU_2, _GELU_3, _GELU_4, _GELU_5 = map(np.float32, _GELU)
_ZERO, _ONE, _HALF = map(np.float32, (0, 1, -0.5))
_GELU_CHUNK = 1 << 14  # numbers at a time, so that its passes stay in the cache

_NOT_READ = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a folder that is no BERT, or a damaged one, may make of being read."""

_BLAS = Lock()

_LARGEST_KEPT = 1 << 22  # numbers: 16 MB
_KEPT: deque[Float32s] = deque(maxlen=16)
"""Memory that nobody works in at the moment."""


class Bert:
    """A network of BERT's architecture; its weights stay in the file until they are read."""

    def __init__(self, weights: Weights, *, layers: int, heads: int, eps: float) -> None:
        self.weights, self.layers, self.heads, self.eps = weights, layers, heads, eps
        self.changes: dict[str, tuple[Float32s, Float32s]] = {}
        """Changes of low rank, by the names of the linear layers."""
        words, positions, kinds = (weights[f"embeddings.{name}_embeddings.weight"] for name in _TABLES)
        self.words, self.width = words.shape
        self.longest, self.kinds = len(positions), len(kinds)
        self.wide = len(weights["encoder.layer.0.intermediate.dense.bias"]) if layers else 0

    @classmethod
    def open(cls, folder: Path) -> "Bert | None":
        """The network in a folder of Hugging Face's form; None where it is another one, or is not whole."""
        try:
            config = json.loads((folder / "config.json").read_bytes())
            if not _is_bert(config):
                return None
            weights = map_weights(folder / "model.safetensors")
            layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
            whole = all(weights[name].shape == shape for name, shape in _shapes(config))
            if not whole or config["hidden_size"] % heads:
                return None
            return cls(weights, layers=layers, heads=heads, eps=float(config["layer_norm_eps"]))
        except _NOT_READ:
            return None

    def adapted(self, adapter: Weights) -> "Bert":
        """The same network with changes of low rank: they are added as it reads, so that all weights are shared."""
        names = {f"encoder.layer.{i}.{name}" for i in range(self.layers) for name in _LINEAR}
        if {name.rpartition(".")[0] for name in adapter} != names:
            raise ValueError("the adapter is of another model")
        other = copy(self)
        other.changes = {}
        for name in names:
            up, down = low_rank(adapter, name, self.weights[f"{name}.weight"].shape)
            other.changes[name] = np.ascontiguousarray(up.T), np.ascontiguousarray(down.T)
        return other

    def changed(self, adapter: Weights) -> "Bert":
        """The same network with changes of low rank in a copy of the weights they change: they cost nothing then."""
        own = {}
        with one_blas_thread():
            for name, (up, down) in self.adapted(adapter).changes.items():
                # Column by column, as a product with few rows wants them: a query is read in two thirds of the time.
                whole = down @ up
                whole += self.weights[f"{name}.weight"].T
                own[f"{name}.weight"] = whole.T
        other = copy(self)
        other.weights = {**self.weights, **own}
        return other

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def read(self, rows: Sequence[Tokens], types: Sequence[Tokens] | None = None) -> Float32s:
        """The token vectors [T, D] of tokenised texts, one text after another; quickest where like lengths meet."""
        lengths = [len(row) for row in rows]
        return self.go_on(self.begin(rows, types), lengths, range(self.layers))

    def begin(self, rows: Sequence[Tokens], types: Sequence[Tokens] | None = None) -> Float32s:
        """The token vectors [T, D] below the first layer."""
        words, positions, kinds = (self.weights[f"embeddings.{name}_embeddings.weight"] for name in _TABLES)
        x: Float32s = words[joined(rows)]
        x += positions[joined([range(len(row)) for row in rows])]
        x += kinds[0] if types is None else kinds[joined(types)]
        self._norm("embeddings.LayerNorm", x)
        return x

    # Damage is noticed by whoever looks at the result.
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def go_on(self, x: Float32s, lengths: Sequence[int], layers: range) -> Float32s:
        """Take the token vectors of texts through some layers; ``x`` is written over."""
        runs = [(length, len(list(same))) for length, same in groupby(lengths)]
        shares = self.heads * max((count * length**2 for length, count in runs), default=0)
        with _room(len(x), self.width, self.wide, shares) as room:
            for i in layers:
                layer = f"encoder.layer.{i}."
                self._attend(layer, x, runs, room)
                x += self._linear(layer + "attention.output.dense", room.four[3], room.one)
                self._norm(layer + "attention.output.LayerNorm", x)
                gelu(self._linear(layer + "intermediate.dense", x, room.wide))
                x += self._linear(layer + "output.dense", room.wide, room.one)
                self._norm(layer + "output.LayerNorm", x)
        return x

    def _linear(self, name: str, x: Float32s, y: Float32s) -> Float32s:
        """A linear layer of ``x``, written to ``y``."""
        np.matmul(x, self.weights[f"{name}.weight"].T, out=y)
        y += self.weights[f"{name}.bias"]
        if change := self.changes.get(name):
            up, down = change
            y += x @ down @ up
        return y

    def _norm(self, name: str, x: Float32s) -> None:
        """Layer norm, in place."""
        x -= x.mean(1, keepdims=True)
        variance = np.einsum("td,td->t", x, x)[:, None] / np.float32(self.width)
        x /= np.sqrt(variance + np.float32(self.eps))
        x *= self.weights[f"{name}.weight"]
        x += self.weights[f"{name}.bias"]

    def _attend(self, layer: str, x: Float32s, runs: Sequence[tuple[int, int]], room: "_Room") -> None:
        """What each token hears from the others of its text; ``runs`` are lengths, and how many have each."""
        for name, y in zip(_LINEAR[:3], room.four, strict=False):
            self._linear(layer + name, x, y)
        room.four[0] *= np.float32((self.width // self.heads) ** -0.5)
        at = 0
        for length, count in runs:
            here = slice(at, at + length * count)
            at += length * count
            q, k, v, heard = (
                y[here].reshape(count, length, self.heads, -1).swapaxes(1, 2) for y in room.four
            )
            share_BHLL = room.shares[: self.heads * count * length**2].reshape(count, -1, length, length)
            np.matmul(q, k.swapaxes(2, 3), out=share_BHLL)
            share_BHLL -= share_BHLL.max(-1, keepdims=True)
            np.exp(share_BHLL, out=share_BHLL)
            np.matmul(share_BHLL, v, out=heard)
            heard /= np.einsum("bhlm->bhl", share_BHLL)[..., None]  # shares of one, but fewer to divide


class _Room(NamedTuple):
    """Where the layers write what they make of a batch, one over the other."""

    one: Float32s
    """[T, D]"""
    four: Float32s
    """[4, T, D]: queries, keys, values, and what is heard."""
    wide: Float32s
    """[T, 4 D] as a rule, in the place of those four."""
    shares: Float32s


@contextmanager
def _room(tokens: int, width: int, wide: int, shares: int) -> Iterator[_Room]:
    """Room for a batch, of memory that is kept: to be given fresh pages all the time took a tenth of reading."""
    sizes = tokens * width, tokens * max(4 * width, wide), shares
    numbers = np.zeros(0, np.float32)
    with suppress(IndexError):  # others took what there was
        numbers = _KEPT.pop()
    if len(numbers) < sum(sizes):
        numbers = np.empty(sum(sizes), np.float32)
    one, most, rest = np.split(numbers, np.cumsum(sizes)[:-1])
    try:
        yield _Room(
            one.reshape(tokens, width),
            most[: 4 * tokens * width].reshape(4, tokens, width),
            most[: tokens * wide].reshape(tokens, wide),
            rest,
        )
    finally:
        if len(numbers) <= _LARGEST_KEPT:
            _KEPT.append(numbers)


def gelu(x: Float32s) -> None:
    """Multiply each number by the normal distribution's share below it, in place; to the digits that float32 has."""
    numbers = x.reshape(-1)
    tail, power = np.empty((2, min(_GELU_CHUNK, len(numbers))), np.float32)
    for start in range(0, len(numbers), _GELU_CHUNK):
        part = numbers[start : start + _GELU_CHUNK]
        own, exponent = tail[: len(part)], power[: len(part)]
        _before_exp(part, own, exponent)
        np.exp(exponent, out=exponent)  # numpy's is quicker than the compiler's
        _after_exp(part, own, exponent)


@guarded
def _before_exp(x: Float32s, tail: Float32s, power: Float32s) -> None:
    """The polynomial, and what is to be raised to the power of; all three are as long as each other."""
    for i in range(x.shape[0]):
        size = abs(x[i])
        t = np.divide(_ONE, size * _GELU_AT + _ONE)  # by numpy's rules: nothing is said of a zero
        y = _GELU_0 * t + _GELU_1
        y = y * t + _GELU_2
        y = y * t + _GELU_3
        y = y * t + _GELU_4
        y = y * t + _GELU_5
        tail[i] = y * t * size
        power[i] = size * size * _HALF


@guarded
def _after_exp(x: Float32s, tail: Float32s, power: Float32s) -> None:
    for i in range(x.shape[0]):
        x[i] = max(x[i], _ZERO) - tail[i] * power[i]


def means(states: Float32s, counted: Float32s, lengths: Sequence[int]) -> Float32s:
    """The mean of each text's token vectors [texts, D] over the tokens that are ``counted`` [T] as 1."""
    starts = np.cumsum([0, *lengths[:-1]])
    sums: Float32s = np.add.reduceat(states * counted[:, None], starts, axis=0)
    sums /= np.maximum(np.add.reduceat(counted, starts), np.float32(1))[:, None]
    return sums


def unit(rows: Float32s) -> Float32s:
    """Rows of unit length; zeros stay."""
    length = np.sqrt(np.einsum("sd,sd->s", rows, rows))[:, None]
    found: Float32s = rows / np.maximum(length, np.float32(1e-12))
    return found


def low_rank(adapter: Weights, name: str, shape: tuple[int, ...]) -> tuple[Float32s, Float32s]:
    """Both parts of an adapter's change to a layer whose weights are of that shape; it must fit."""
    up, down = (np.asarray(adapter[f"{name}.{part}"], np.float32) for part in ("up", "down"))
    if (*up.shape[:1], *down.shape[1:]) != shape or up.shape[1:] != down.shape[:1]:
        raise ValueError("the adapter is of another width")
    return up, down


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS keep to the thread that calls it.

    Left alone, it would share each product among all cores and let them wait, busily, through what is no product. One
    caller at a time: how many threads BLAS has is the whole process's matter.
    """
    with _BLAS, _blas().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def several_threads() -> Iterator[ThreadPoolExecutor]:
    """A pool to read batches in: a thread for each core, each with a BLAS of one."""
    with one_blas_thread(), ThreadPoolExecutor(cores()) as pool:
        yield pool


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def map_weights(path: Path) -> dict[str, Float32s]:
    """The float32 arrays of a safetensors file, mapped: a header of JSON behind its length, then the numbers."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + int.from_bytes(mapped[:8], "little")
    found = {}
    for name, about in json.loads(mapped[8:begin]).items():
        if about.get("dtype") == "F32":
            first, last = about["data_offsets"]
            if not 0 <= first <= last <= len(mapped) - begin:
                raise ValueError(f"{name} lies outside of the file")
            numbers = np.frombuffer(mapped, np.float32, (last - first) // 4, begin + first)
            found[name] = numbers.reshape(about["shape"])
    return found


def _is_bert(config: Json) -> bool:
    return all(({**_USUAL, **config}).get(key) == value for key, value in (_CONFIG | _USUAL).items())


def _shapes(config: Json) -> Iterator[tuple[str, tuple[int, ...]]]:
    """All weights that are read, and their shapes."""
    width, wide = config["hidden_size"], config["intermediate_size"]
    sizes = (config["vocab_size"], config["max_position_embeddings"], config["type_vocab_size"])
    for name, size in zip(_TABLES, sizes, strict=True):
        yield f"embeddings.{name}_embeddings.weight", (size, width)
    for part in ("weight", "bias"):
        yield f"embeddings.LayerNorm.{part}", (width,)
    for i in range(config["num_hidden_layers"]):
        for name in _LINEAR:
            out = wide if name == "intermediate.dense" else width
            yield f"encoder.layer.{i}.{name}.weight", (out, wide if name == "output.dense" else width)
            yield f"encoder.layer.{i}.{name}.bias", (out,)
        for name in _NORMS:
            for part in ("weight", "bias"):
                yield f"encoder.layer.{i}.{name}.{part}", (width,)
