"""Adapters of low rank, trainable: the target encoder's (``linkwalk.policy.target``) and the cross-encoder's.

Shapes: B texts, L tokens padded, D the embeddings' width.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from linkwalk.artifact import FORMAT, write_json
from linkwalk.embed.bert import Weights
from linkwalk.embed.transformer import forward, linear_layers
from linkwalk.policy.target import KIND, MANIFEST, TURN, WEIGHTS, AdapterConfig


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
        changed: Tensor = self.layer(x) + linear(linear(x, self.down), self.up)
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
        return found if self.turn is None else found | {TURN: self.turn.detach()}


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
def restore(own: dict[str, Tensor], adapter: Weights) -> None:
    """Give an adapter's tensors the changes that an earlier training left; ones that do not fit are an error.

    A change of rank 0 is none, and so is one that is not trained yet, of whatever rank.
    """
    left = {name: value for name, value in adapter.items() if value.size}
    if own.keys() != adapter.keys() or any(own[name].shape != value.shape for name, value in left.items()):
        raise ValueError("the adapter is of another model")
    for name, value in left.items():
        own[name].copy_(torch.as_tensor(value))


def scaled(adapter: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """The adapter with a share of its change: 0 is the encoder itself, 1 what was trained."""
    return {name: value if name.endswith(".down") else share * value for name, value in adapter.items()}


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
