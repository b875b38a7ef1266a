"""A small network over plain figures: which block to open, which is the best, how sure one may be (sec. 4.3, ours).

    score(x) = w z + v tanh(H z + h) + b,  z = (x - mean) / spread, cut at 8

A linear score with a correction by a few hidden units, for what figures mean together: a claim is not a question. What
is not known (NaN) counts as the mean. It is a page of JSON, and its inputs have names, so that one made for other
figures is refused, and one that was made before some figures were thought of does without them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s


@dataclass(frozen=True)
class Scorer:
    """The network, in numpy."""

    names: tuple[str, ...]
    mean: Float32s
    spread: Float32s
    linear: Float32s
    hidden: Float32s
    """[units, inputs + 1], the last column added as it is."""
    out: Float32s
    bias: float

    def __call__(self, x: Float32s) -> Float32s:
        """Scores [N] of rows [N, inputs]."""
        z: Float32s = np.nan_to_num(np.clip((x - self.mean) / self.spread, -8, 8))
        found: Float32s = np.asarray(z @ self.linear + self.bias, np.float32)
        if len(self.out):
            found += np.tanh(z @ self.hidden[:, :-1].T + self.hidden[:, -1]) @ self.out
        return found

    def of(self, figures: Float32s, names: Sequence[str]) -> Float32s:
        """Scores [N] of rows [N, names], which may have figures that it does not look at."""
        return self(figures[:, _columns(self.names, tuple(names))])

    def to_json(self) -> dict[str, Any]:
        """For a file: five digits are plenty."""
        numbers = {name: getattr(self, name) for name in ("mean", "spread", "linear", "hidden", "out")}
        short = {name: [float(f"{x:.5g}") for x in np.ravel(value)] for name, value in numbers.items()}
        return {"names": list(self.names), **short, "bias": float(f"{self.bias:.5g}")}

    @classmethod
    def from_json(cls, found: dict[str, Any], names: Sequence[str]) -> "Scorer":
        """Of a file; one for other inputs than some of these is an error."""
        if not set(found["names"]) <= set(names):
            raise ValueError("it is for other figures")
        names = tuple(found["names"])
        arrays = {name: np.array(found[name], np.float32) for name in ("mean", "spread", "linear", "out")}
        hidden = np.array(found["hidden"], np.float32).reshape(len(arrays["out"]), len(names) + 1)
        if any(len(arrays[name]) != len(names) for name in ("mean", "spread", "linear")):
            raise ValueError("it is of another size")
        whole = cls(names, **arrays, hidden=hidden, bias=float(found["bias"]))
        numbers = (*arrays.values(), hidden, np.array(whole.bias))
        if not all(np.isfinite(value).all() for value in numbers):
            raise ValueError("it holds what is not a number")
        return whole


@cache
def _columns(own: tuple[str, ...], names: tuple[str, ...]) -> list[int]:
    return [names.index(name) for name in own]
