"""Triton's kernels in numpy, a program at a time, where Triton is not installed: slow, and the same figures.

TRITON_INTERPRET=1 python -m pytest -p tests.triton_in_numpy tests/gpu -k kernels

A stand-in for what the kernels of ``linkwalk.gpu`` use of ``triton`` and ``triton.language``, and for no more.
"""

import importlib.machinery
import operator
import sys
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import torch


class Values:
    """Numbers of a program: an array, whose floats are never wider than 32 bits."""

    def __init__(self, array: Any) -> None:
        array = np.asarray(array)
        self.array = array.astype(np.float32) if array.dtype == np.float64 else array

    def to(self, dtype: type, bitcast: bool = False) -> "Values":
        return Values(self.array.view(dtype) if bitcast else self.array.astype(dtype))

    def __getitem__(self, at: Any) -> "Values":
        return Values(self.array[at])

    def __index__(self) -> int:
        return int(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __neg__(self) -> "Values":
        return Values(-self.array)

    def __invert__(self) -> "Values":
        return Values(~self.array)


def plain(value: Any) -> Any:
    return value.array if isinstance(value, Values) else value


def _give(name: str) -> None:
    ours = getattr(operator, name)

    def forward(self: Values, other: Any) -> Values:
        return NotImplemented if isinstance(other, Pointer) else apply(ours, self, other)

    stem = name.strip("_")
    setattr(Values, f"__{stem}__", forward)
    setattr(Values, f"__r{stem}__", lambda self, other: apply(ours, other, self))


def apply(function: Any, *values: Any) -> Values:
    """What overflows wraps around, and what is no number is none, without a word."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return Values(function(*map(plain, values)))


class Pointer:
    """A place in memory, or many."""

    def __init__(self, memory: np.ndarray, at: Any = 0) -> None:
        self.memory, self.at = memory, at

    def __add__(self, more: Any) -> "Pointer":
        return Pointer(self.memory, self.at + plain(more))

    __radd__ = __add__


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
):
    _give(_name)


def load(pointer: Pointer, mask: Any = True, other: Any = 0) -> Values:
    at, mask = np.broadcast_arrays(np.asarray(pointer.at), plain(mask))
    assert mask.size == 0 or (at[mask] >= 0).all()
    found = np.full(at.shape, other).astype(pointer.memory.dtype)
    found[mask] = pointer.memory[at[mask]]
    return Values(found)


def store(pointer: Pointer, value: Any, mask: Any = True) -> None:
    at, mask, value = np.broadcast_arrays(np.asarray(pointer.at), plain(mask), plain(value))
    assert (at[mask] >= 0).all()
    pointer.memory[at[mask]] = value[mask]


class Kernel:
    """A function of Triton's: called by others as it is, or launched as many programs."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __getitem__(self, grid: tuple[int]) -> Any:
        def launch(*arguments: Any, num_warps: int = 4, **sizes: Any) -> None:
            places = [
                Pointer(x.detach().numpy().reshape(-1)) if isinstance(x, torch.Tensor) else Values(x)
                for x in arguments
            ]
            for x in arguments:
                assert not isinstance(x, torch.Tensor) or x.is_contiguous()
            for number in range(grid[0]):
                language.program_id = lambda _, number=number: Values(np.int32(number))  # type: ignore[attr-defined]
                self.function(*places, **sizes)

        return launch


def jit(function: Any = None, **_: Any) -> Any:
    return Kernel(function) if function is not None else jit


language = ModuleType("triton.language")
for _name, _kind in (
    ("int32", np.int32),
    ("int64", np.int64),
    ("uint8", np.uint8),
    ("uint64", np.uint64),
    ("float32", np.float32),
    ("constexpr", int),
):
    setattr(language, _name, _kind)
for _name in ("maximum", "minimum", "exp", "log", "sqrt", "sum", "max", "min", "where", "abs"):
    setattr(language, _name, partial(apply, getattr(np, _name)))
language.load, language.store = load, store  # type: ignore[attr-defined]
language.arange = lambda a, b: Values(np.arange(a, b, dtype=np.int32))  # type: ignore[attr-defined]
language.full = lambda shape, value, dtype: Values(np.full(shape, value, dtype))  # type: ignore[attr-defined]
language.zeros = lambda shape, dtype: Values(np.zeros(shape, dtype))  # type: ignore[attr-defined]

triton = ModuleType("triton")
triton.jit, triton.language = jit, language  # type: ignore[attr-defined]
for _module in (triton, language):
    _module.__spec__ = importlib.machinery.ModuleSpec(_module.__name__, None)


def pytest_configure() -> None:
    """The kernels are imported with this in Triton's place, and nothing else is."""
    sys.modules["triton"], sys.modules["triton.language"] = triton, language
    import linkwalk.gpu.acting_kernels

    assert linkwalk.gpu.acting_kernels.act
    del sys.modules["triton"], sys.modules["triton.language"]
