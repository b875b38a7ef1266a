"""The learned part of a map, and its file: what each sight of an unseen link adds to what the constants say.

Beside it the forecast: how many clicks a walk with a map will still take, an estimate with its spread, for giving up or
going on. A small network looks at what is seen of the link that the walker goes for, and divides its belief among a few
ranges of clicks. They are those of the walker itself, detours and all, not those of the shortest path.
"""

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Float32s, Float64s
from linkwalk.artifact import MANIFEST, parsing, read_json
from linkwalk.graph.csr import Csr
from linkwalk.navigate.cosine import Units
from linkwalk.navigate.map_sights import OF_LINKS, SIGHTS

MAP = "map.json"
"""What a map is called in a policy's folder: that policy walks by it."""
SHIPPED = Path(__file__).with_name(MAP)
FORMAT = 2
_FIELDS = {"format": int, "sights": list, "worth": dict, "clicks": dict, "trained": dict}
CLICKS = (1, 2, 3, 5, 8, 13, 21, 40)
"""The last of each range; in the one after them all are more clicks, and goals that are never found."""
NO_WEIGHTS: Float32s = np.zeros(0, np.float32)
"""The constants are all there is."""
_PAIRS, _LEAST = 4096, 0.01
_RUNS, _RUN = 64, 256
_DIGITS = 5


class Forecast(NamedTuple):
    """One hidden layer of rectified units, on ``map_sights.SIGHTS``."""

    into: Float32s
    """[SIGHTS, H]."""
    bias: Float32s
    """[H]."""
    out: Float32s
    """[H, CLICKS + 1]."""
    last: Float32s
    """[CLICKS + 1]."""

    def chances(self, sights: Float32s) -> Float32s:
        """Of each range of clicks [T, CLICKS + 1], by what is seen of the best link [T, SIGHTS]."""
        hidden = np.maximum(sights @ self.into + self.bias, 0)
        logits = hidden @ self.out + self.last
        chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
        found: Float32s = (chances / chances.sum(axis=-1, keepdims=True)).astype(np.float32)
        return found


class TrainedMap(NamedTuple):
    """What ``linkwalk train-map`` makes."""

    weights: Float32s
    """[OF_LINKS]: in units of the cosine."""
    forecast: Forecast
    trained: dict[str, Any]
    """On what, and how."""
    longest: float = math.inf
    """Blocks of an article, on average, up to which the weights are used.

    In long articles ways lead from block to block, and what was learned where they are short misleads.
    """

    def on(self, length: float) -> Float32s:
        """The weights to walk with on a wiki of articles of some length; none where they are too long for them."""
        return self.weights if length <= self.longest else NO_WEIGHTS

    def to_bytes(self) -> bytes:
        """Its file: a line for each part."""
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in self.to_json().items())
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()

    def to_json(self) -> dict[str, Any]:
        """What its file holds: weights by name, in five digits."""
        return {
            "format": FORMAT,
            "sights": list(SIGHTS),
            "worth": dict(zip(OF_LINKS, _short(self.weights), strict=True)),
            "clicks": {name: _short(values) for name, values in self.forecast._asdict().items()},
            "longest": None if math.isinf(self.longest) else round(self.longest, 2),
            "trained": self.trained,
        }


def _short(values: Float32s) -> Any:
    """As lists of the shortest decimals that are good to five digits."""
    return np.vectorize(lambda value: float(f"{value:.{_DIGITS}g}"), otypes=[float])(values).tolist()


def read_map(path: Path) -> TrainedMap:
    """A trained map from its file; one that ships is mended by installing again."""
    own = f" --policy {path.parent}" if (path.parent / MANIFEST).exists() else ""
    remedy = (
        "run `pip install --force-reinstall linkwalk`"
        if path.resolve().is_relative_to(SHIPPED.parents[1])
        else f"run `linkwalk train-map WIKI...{own} -o {path} --force`"
    )
    found = read_json(path, remedy, _FIELDS)
    with parsing(path, remedy):
        if found["format"] != FORMAT or found["sights"] != list(SIGHTS):
            raise ValueError("a map of another version")
        weights = _array([found["worth"][name] for name in OF_LINKS], len(OF_LINKS))
        units = len(found["clicks"]["bias"])
        ranges = len(CLICKS) + 1
        shapes = {"into": (len(SIGHTS), units), "bias": (units,), "out": (units, ranges), "last": (ranges,)}
        forecast = Forecast(**{name: _array(found["clicks"][name], *shapes[name]) for name in shapes})
        longest = math.inf if found.get("longest") is None else float(found["longest"])
    return TrainedMap(weights, forecast, found["trained"], longest)


@lru_cache(maxsize=1)
def shipped_map() -> TrainedMap:
    """The map that comes with the package."""
    return read_map(SHIPPED)


def article_length(graph: Csr) -> float:
    """Blocks of an article, on average, where nobody has counted articles: blocks in a row that link to and fro.

    Some runs of blocks are looked at, so that a mapped graph is read in a few places.
    """
    links = tied = 0
    for begin in np.unique(np.linspace(0, max(0, graph.nodes - _RUN), _RUNS).astype(np.int64)).tolist():
        end = min(begin + _RUN, graph.nodes)
        source = np.repeat(np.arange(begin, end), np.diff(graph.indptr[begin : end + 1]))
        target = graph.indices[graph.indptr[begin] : graph.indptr[end]]
        on, back = np.unique(source[target == source + 1]), np.unique(target[target == source - 1])
        links += end - begin
        tied += len(np.intersect1d(on, back, assume_unique=True))
    return links / max(1, links - tied)


def _array(values: Any, *shape: int) -> Float32s:
    array: Float32s = np.array(values, np.float32)
    if array.shape != shape:
        raise ValueError(f"weights of {array.shape}, not of {shape}")
    if not np.isfinite(array).all():
        raise ValueError("weights that are not numbers")
    return array


def measure_of(vectors: Units) -> tuple[float, float]:
    """Mean and spread of the cosines of any two rows of a table: of a few thousand, the same every time."""
    if not len(vectors):
        return 0.0, 1.0
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(len(vectors), size=(2, _PAIRS)))  # in order: the table may be mapped
    cosines = np.einsum("nd,nd->n", vectors[rows[0]], vectors[rng.permutation(rows[1])])
    return float(cosines.mean()), max(_LEAST, float(cosines.std()))


def within_clicks(chances: Float32s, clicks: int) -> Float32s:
    """How probable it is that the goal is found within so many clicks [T], evenly spread within a range."""
    bounds = np.array((0, *CLICKS))
    share = np.clip((clicks - bounds[:-1]) / np.diff(bounds), 0, 1)
    found: Float32s = chances[:, :-1] @ share.astype(np.float32)
    return found


def quantile(chances: Float32s, share: float) -> Float64s:
    """The clicks within which the goal is found with that probability [T]; infinite where never."""
    bounds, below = np.array((0.0, *CLICKS)), np.cumsum(chances[:, :-1], axis=1)
    below = np.hstack([np.zeros((len(chances), 1), np.float32), below])
    clicks = [np.interp(share, row, bounds) if row[-1] >= share else np.inf for row in below]
    return np.array(clicks, np.float64)
