"""An encoder that is another one, changed: matrices of low rank to be added to its layers (sec. 4.2, app. B.1).

What training adds to a transformer of 90 MB that everybody has fits into one or two: of each layer's change the leading
singular directions, one byte a number. The folder of such an encoder holds ``encoder.safetensors`` and
``encoder.json``, which names the encoder that is changed; it may be the folder of the policy that was trained with it.

Shapes: O and I what a layer gives and takes, R the rank.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Array, Float32s
from linkwalk.artifact import FORMAT, FORMATS, Json, parsing, read_json, write_json
from linkwalk.artifact import MANIFEST as SEAL
from linkwalk.embed.bert import Weights

KIND = "encoder"
WEIGHTS, MANIFEST = "encoder.safetensors", "encoder.json"
_FIELDS = {"artifact": str, "format": int, "base": str, "base_fingerprint": str}
_AGAIN = "get the folder again, or train the encoder anew"


class EncoderChange(NamedTuple):
    """What is added to an encoder, and which."""

    base: str
    base_fingerprint: str
    weights: Weights
    """``LAYER.up`` [O, R] and ``LAYER.down`` [R, I] of every linear layer."""


def is_change(folder: Path) -> bool:
    """Whether a folder holds such an encoder."""
    return (folder / MANIFEST).is_file()


def save_change(folder: Path, change: EncoderChange, manifest: Json) -> None:
    """Write a change, one byte a number; who reads it sees what was rounded."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / SEAL).unlink(missing_ok=True)  # it is about what was there before
    save_file(packed(change.weights), folder / WEIGHTS)
    about = {"artifact": KIND, "format": FORMAT, "base": change.base}
    write_json(folder / MANIFEST, about | {"base_fingerprint": change.base_fingerprint} | manifest)


def read_base(folder: Path) -> tuple[str, str]:
    """Name and fingerprint of the encoder that is changed."""
    manifest = read_json(folder / MANIFEST, _AGAIN, _FIELDS)
    with parsing(folder / MANIFEST, _AGAIN):
        if manifest["artifact"] != KIND or manifest["format"] not in FORMATS:
            raise ValueError("it is of another format")
    return manifest["base"], manifest["base_fingerprint"]


def read_change(folder: Path) -> EncoderChange:
    """What ``save_change`` wrote; damage is named."""
    base, fingerprint = read_base(folder)
    with parsing(folder / WEIGHTS, _AGAIN):
        return EncoderChange(base, fingerprint, load_packed(folder / WEIGHTS))


def load_packed(path: Path, *plain: str) -> dict[str, Float32s]:
    """Changes of low rank as a file has them, with ``plain`` arrays beside them; they must be numbers."""
    from safetensors.numpy import load_file

    found = load_file(path)
    own = {name: found.pop(name).astype(np.float32) for name in plain}
    weights = unpacked(found) | own
    if not all(np.isfinite(value).all() for value in weights.values()):
        raise ValueError("weights that are not numbers")
    return weights


def packed(weights: Weights) -> dict[str, Array]:
    """Changes of low rank in a byte a number, with the scales of each layer's directions."""
    found: dict[str, Array] = {}
    for layer in _layers(weights):
        up, of_up = _in_bytes(weights[f"{layer}.up"].T)
        down, of_down = _in_bytes(weights[f"{layer}.down"])
        found |= {f"{layer}.up": np.ascontiguousarray(up.T), f"{layer}.down": down}
        found[f"{layer}.scale"] = of_up * of_down
    return found


def unpacked(found: Mapping[str, Array]) -> dict[str, Float32s]:
    """Changes of low rank as they are used; those that are not in bytes, as another version wrote them, stay so."""
    weights: dict[str, Float32s] = {}
    for layer in _layers(found):
        up, down = (found[f"{layer}.{part}"].astype(np.float32) for part in ("up", "down"))
        weights |= {f"{layer}.up": up * found.get(f"{layer}.scale", np.float32(1)), f"{layer}.down": down}
    return weights


def balanced(weights: Weights) -> dict[str, Float32s]:
    """The same changes with both parts of every direction as long as each other: what training can go on from."""
    found: dict[str, Float32s] = {}
    for layer in _layers(weights):
        up, down = weights[f"{layer}.up"], weights[f"{layer}.down"]
        lengths = np.linalg.norm(up, axis=0), np.linalg.norm(down, axis=1)
        share = np.sqrt(np.maximum(lengths[1], 1e-12) / np.maximum(lengths[0], 1e-12)).astype(np.float32)
        found[f"{layer}.up"], found[f"{layer}.down"] = up * share, down / share[:, None]
    return found


def leading(whole: Float32s, rank: int) -> tuple[Float32s, Float32s]:
    """The leading directions of a layer's change [O, I], as up [O, R] and down [R, I]."""
    left, values, right = np.linalg.svd(whole.astype(np.float64), full_matrices=False)
    root = np.sqrt(values[:rank])
    return (left[:, :rank] * root).astype(np.float32), (root[:, None] * right[:rank]).astype(np.float32)


def _layers(weights: Mapping[str, Any]) -> list[str]:
    return sorted({name.rpartition(".")[0] for name in weights})


def _in_bytes(rows: Float32s) -> tuple[NDArray[np.int8], Float32s]:
    """Rows of numbers in a byte each, and the scale of each row."""
    scale = np.maximum(np.abs(rows).max(1), np.float32(1e-12)) / np.float32(127)
    return np.round(rows / scale[:, None]).astype(np.int8), scale.astype(np.float32)
