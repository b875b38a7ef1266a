"""The cross-encoder in torch, to be trained (``linkwalk.retrieve.cross`` reads with it).

Shapes: P pairs, L tokens padded, D width.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from linkwalk.artifact import seal
from linkwalk.embed.change import packed
from linkwalk.embed.transformer import both_means
from linkwalk.errors import InputError
from linkwalk.policy.low_rank import adapt, adapter_of
from linkwalk.retrieve.cross import KIND, MANIFEST, SCALES, WEIGHTS, CrossConfig


class CrossModel(nn.Module):
    """psi with its adapter, and the scales of both cosines, trainable."""

    def __init__(self, model: nn.Module, rank: int) -> None:
        super().__init__()
        if getattr(model.config, "type_vocab_size", 0) < 2:
            raise InputError(
                "this encoder does not tell the two parts of a pair apart: take one of BERT's kind (minilm)"
            )
        self.model = adapt(model, rank)
        # In tens, so that one learning rate suits them and the adapter.
        self.scales = nn.Parameter(torch.tensor([1.2, 1.0]))

    def forward(self, ids_PL: Tensor, mask_PL: Tensor, types_PL: Tensor, cosine_P: Tensor) -> Tensor:
        """Scores [P] of pairs whose cosines are known."""
        together_P = nn.functional.cosine_similarity(*both_means(self.model, ids_PL, mask_PL, types_PL))
        return 10 * (self.scales[0] * cosine_P + self.scales[1] * together_P)

    def weights(self) -> dict[str, Tensor]:
        """All that was trained, by name."""
        return adapter_of(self.model) | {SCALES: self.scales.detach()}


def save_cross(
    folder: Path, weights: dict[str, Tensor], config: CrossConfig, encoder: str, manifest: dict[str, Any]
) -> dict[str, Any]:
    """Write a cross-encoder, a byte a number; ``encoder`` is the fingerprint of the weights it adapts.

    The manifest comes last and seals all that is in the folder.
    """
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    found = {name: value.float().cpu().numpy() for name, value in weights.items()}
    scales = found.pop(SCALES)
    save_file(packed(found) | {SCALES: scales}, folder / WEIGHTS)
    whole = {"artifact": KIND, "model": encoder, "config": asdict(config), **manifest}
    return seal(folder, whole, name=MANIFEST)
