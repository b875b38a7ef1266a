"""phi_target: a separate encoder for what is looked for, as a low-rank adapter of the nodes' encoder (sec. 4.2).

Every linear layer W of the transformer becomes W + up down, with `up` zero before training, and the mean over the
tokens is multiplied by I + `turn`, if wanted, with `turn` zero, too: untrained it is exactly the encoder it adapts. Its
vectors live in the space of the nodes' embeddings, so any policy over these takes them in place of phi(s_g). On disk
the adapter is a megabyte or two of half-precision numbers beside a policy; opened, it is merged into the encoder's
weights and costs nothing more.

Shapes: B texts, L tokens padded, D the embeddings' width, R the rank.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.artifact import FORMAT, FORMATS, parsing, read_json, steady, write_json
from linkwalk.artifact import MANIFEST as OF_POLICY
from linkwalk.embed import Embeddings
from linkwalk.embed.encoder import TransformerEncoder, forward
from linkwalk.errors import ArtifactError
from linkwalk.policy import checkpoint

KIND = "target"
WEIGHTS, MANIFEST = "target.safetensors", "target.json"
_FIELDS = {"artifact": str, "format": int, "encoder": str}
_TURN = "turn"
_UNREAD = "pooler"


@dataclass(frozen=True, kw_only=True)
class AdapterConfig:
    """Sizes of the adapter."""

    rank: int = 16
    """R; of MiniLM, 16 makes 1.3 MB."""
    turn: bool = False
    """Whether the mean over the tokens is mapped, too; 0.3 MB more."""


class LowRank(nn.Module):
    """A linear layer that stays as it is, and a change of low rank, zero before training."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.empty(rank, layer.in_features, device=layer.weight.device))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank, device=layer.weight.device))
        nn.init.normal_(self.down, std=layer.in_features**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """W x + up down x."""
        changed: Tensor = self.layer(x) + nn.functional.linear(nn.functional.linear(x, self.down), self.up)
        return changed


class TargetModel(nn.Module):
    """The adapted transformer, trainable: its own weights stay fixed, the adapter's follow the gradient."""

    def __init__(self, model: nn.Module, config: AdapterConfig, *, tanh: bool = False) -> None:
        super().__init__()
        self.config, self.tanh = config, tanh
        self.model = adapt(model, config.rank)
        width: int = model.config.hidden_size  # type: ignore[union-attr,assignment]
        device = next(model.parameters()).device
        self.turn = nn.Parameter(torch.zeros(width, width, device=device)) if config.turn else None

    def forward(self, ids_BL: Tensor, mask_BL: Tensor) -> Tensor:
        """phi_target of tokenised texts [B, D]."""
        mean_BD = forward(self.model, ids_BL, mask_BL, self.tanh)
        return mean_BD if self.turn is None else mean_BD + mean_BD @ self.turn.T

    def adapter(self) -> dict[str, Tensor]:
        """The adapter's weights alone, by the names of the layers they change."""
        found = adapter_of(self.model)
        return found if self.turn is None else found | {_TURN: self.turn.detach()}


def adapt(model: nn.Module, rank: int) -> nn.Module:
    """Fix a transformer's weights and give each of its linear layers a change of low rank, in place."""
    model.requires_grad_(False)
    for name, layer in linear_layers(model).items():
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, LowRank(layer, rank))
    return model


def adapter_of(model: nn.Module) -> dict[str, Tensor]:
    """The low-rank changes of an adapted transformer, by the names of the layers they change."""
    return {
        f"{name}.{part}": getattr(module, part).detach()
        for name, module in model.named_modules()
        if isinstance(module, LowRank)
        for part in ("down", "up")
    }


@torch.no_grad()
def restore(target: TargetModel, adapter: dict[str, Tensor]) -> None:
    """Give an adapted transformer the changes that an earlier training left; ones that do not fit are an error."""
    own = target.adapter()
    if {name: value.shape for name, value in own.items()} != {n: v.shape for n, v in adapter.items()}:
        raise ValueError("the adapter is of another model")
    for name, value in own.items():
        value.copy_(adapter[name])


def scaled(adapter: dict[str, Tensor], trust: float) -> dict[str, Tensor]:
    """The adapter with a share of its change: 0 is the encoder itself, 1 what was trained."""
    return {name: value if name.endswith(".down") else trust * value for name, value in adapter.items()}


def linear_layers(model: nn.Module) -> dict[str, nn.Linear]:
    """The layers that an adapter changes, by name: all linear ones that have a say in the token vectors."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and not name.startswith(_UNREAD)
    }


class TargetEncoder:
    """phi_target for use: an encoder with the adapter merged into its weights."""

    def __init__(self, encoder: TransformerEncoder, adapter: dict[str, Tensor]) -> None:
        self.encoder, self.width = encoder, encoder.width
        merge(encoder.model, adapter)
        self.turn = adapter[_TURN].float().cpu().numpy() if _TURN in adapter else None
        if self.turn is not None and self.turn.shape != (self.width, self.width):
            raise ValueError("the adapter is of another width")

    def encode(
        self, texts: list[str], advance: Callable[[float], None] = lambda _: None
    ) -> NDArray[np.float32]:
        """One row per text, in order."""
        mean = self.encoder.encode(texts, advance)
        return mean if self.turn is None else mean + mean @ self.turn.T


@torch.no_grad()
def merge(model: nn.Module, adapter: dict[str, Tensor]) -> None:
    """Add the adapter's changes to the weights of a model; one that does not fit it is an error."""
    layers = linear_layers(model)
    names = {name.rpartition(".")[0] for name in adapter if name != _TURN}
    if names != set(layers):
        raise ValueError("the adapter is of another model")
    for name, layer in layers.items():
        weight, up, down = (
            x.to(layer.weight.device, torch.float32)
            for x in (layer.weight, adapter[f"{name}.up"], adapter[f"{name}.down"])
        )
        change = up @ down
        if change.shape != weight.shape:
            raise ValueError("the adapter is of another width")
        layer.weight.copy_(weight + change)


def save_target(
    folder: Path, adapter: dict[str, Tensor], config: AdapterConfig, encoder: str, manifest: dict[str, Any]
) -> None:
    """Write an adapter beside a policy, in half precision; ``encoder`` is the fingerprint of the embeddings.

    The policy's manifest, which seals its folder, is to be written after it.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    # Halves below 6e-5 lose digits, those above 65,504 do not exist; what is trained is far from either.
    save_file({name: value.half().cpu().contiguous() for name, value in adapter.items()}, folder / WEIGHTS)
    write_json(
        folder / MANIFEST,
        {"artifact": KIND, "format": FORMAT, "encoder": encoder, "adapter": asdict(config), **manifest},
    )


def read_target(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """The manifest and the adapter of the target encoder beside a policy; None if the policy has none."""
    return steady(folder, lambda: _read_target(folder))


def _read_target(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    from safetensors.torch import load_file

    remedy = checkpoint.target_remedy(folder)
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
        if not all(torch.isfinite(value).all() for value in adapter.values()):
            raise ValueError(checkpoint.NO_NUMBERS)
    return manifest, adapter


def load_target(folder: Path, table: Embeddings, *, device: str = "auto") -> TargetEncoder | None:
    """The target encoder beside a policy, for queries to those embeddings; None if the policy has none."""
    found = read_target(folder)
    if found is None:
        return None
    manifest, adapter = found
    if manifest["encoder"] != table.fingerprint:
        raise ArtifactError(
            f"the target encoder in {folder} adapts another encoder than that of the embeddings {table.name!r}"
        )
    base = table.encoder(device)
    with parsing(folder / WEIGHTS, checkpoint.target_remedy(folder)):
        return TargetEncoder(base, adapter)
