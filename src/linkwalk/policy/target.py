"""phi_target: a separate encoder for what is looked for, as a low-rank adapter of the nodes' encoder (sec. 4.2).

Every linear layer W of the transformer becomes W + up down, with `up` zero before training, and the mean over the
tokens is multiplied by I + `turn`, if wanted, with `turn` zero, too: untrained it is exactly the encoder it adapts. Its
vectors live in the space of the nodes' embeddings, so any policy over these takes them in place of phi(s_g). On disk
the adapter is a megabyte or two of half-precision numbers beside a policy; opened, it is added as the encoder reads,
whose weights all share, or merged into a copy of them on a GPU.

Shapes: B texts, L tokens padded, D the embeddings' width, R the rank.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.artifact import FORMATS, parsing, read_json, steady
from linkwalk.artifact import MANIFEST as OF_POLICY
from linkwalk.embed import Embeddings
from linkwalk.embed.bert import Weights
from linkwalk.embed.encoder import Reader
from linkwalk.errors import ArtifactError
from linkwalk.policy import checkpoint

KIND = "target"
WEIGHTS, MANIFEST = "target.safetensors", "target.json"
_FIELDS = {"artifact": str, "format": int, "encoder": str}
TURN = "turn"


@dataclass(frozen=True, kw_only=True)
class AdapterConfig:
    """Sizes of the adapter."""

    rank: int = 16
    """R; of MiniLM, 16 makes 1.3 MB."""
    turn: bool = False
    """Whether the mean over the tokens is mapped, too; 0.3 MB more."""


class TargetEncoder:
    """phi_target for use: an encoder with the adapter on top."""

    def __init__(self, encoder: Reader, adapter: Weights) -> None:
        self.width = encoder.width
        self.encoder = encoder.adapted({name: value for name, value in adapter.items() if name != TURN})
        self.turn = np.asarray(adapter[TURN], np.float32) if TURN in adapter else None
        if self.turn is not None and self.turn.shape != (self.width, self.width):
            raise ValueError("the adapter is of another width")

    def encode(self, texts: list[str], advance: Callable[[float], None] = lambda _: None) -> Float32s:
        """One row per text, in order."""
        mean = self.encoder.encode(texts, advance)
        return mean if self.turn is None else mean + mean @ self.turn.T


def read_target(folder: Path) -> tuple[dict[str, Any], Weights] | None:
    """The manifest and the adapter of the target encoder beside a policy; None if the policy has none."""
    from safetensors.numpy import load_file

    remedy = checkpoint.target_remedy(folder)

    def read() -> tuple[dict[str, Any], Weights] | None:
        if (folder / OF_POLICY).exists():
            checkpoint.look_at_some(folder, checkpoint.read_policy(folder), remedy, MANIFEST, WEIGHTS)
        if not (folder / MANIFEST).exists():
            return None
        manifest = read_json(folder / MANIFEST, remedy, _FIELDS)
        with parsing(folder / MANIFEST, remedy):
            if manifest["artifact"] != KIND or manifest["format"] not in FORMATS:
                raise ValueError("it is of another format")
        with parsing(folder / WEIGHTS, remedy):
            adapter = load_file(folder / WEIGHTS)
            if not all(np.isfinite(value).all() for value in adapter.values()):
                raise ValueError(checkpoint.NO_NUMBERS)
        return manifest, adapter

    return steady(folder, read)


def load_target(folder: Path, table: Embeddings, *, device: str = "cpu") -> TargetEncoder | None:
    """The target encoder beside a policy, for queries to those embeddings; None if the policy has none."""
    found = read_target(folder)
    if found is None:
        return None
    manifest, adapter = found
    if manifest["encoder"] != table.fingerprint:
        raise ArtifactError(
            f"the target encoder in {folder} adapts another encoder than that of the embeddings {table.name!r}"
        )
    base = table.reader(device)
    with parsing(folder / WEIGHTS, checkpoint.target_remedy(folder)):
        return TargetEncoder(base, adapter)
