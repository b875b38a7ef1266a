"""A BERT read without padding: texts lie end to end, and attention knows where each begins (sec. 4.2, app. B.1).

Texts of a wiki are of all lengths, and a batch padded to its longest spends a third of its work on nothing. Here a
batch is one row of tokens. On a GPU attention is the flash kernel for such rows; elsewhere each batch is padded for
attention alone. What is trained and what is quick are the same code: the weights are those of a Hugging Face model,
changed by low-rank adapters or not, and the gradient flows to whichever of them want it.

Shapes: B texts, T tokens of all of them, D width.
"""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from linkwalk.arrays import Int64s, Integers
from linkwalk.errors import InputError
from linkwalk.graph.csr import bounds_of


class Packed(NamedTuple):
    """Tokenised texts end to end."""

    ids: Tensor
    """[T]."""
    bounds: Tensor
    """Where each text begins, and the last one ends [B + 1], int32."""
    longest: int

    @property
    def lengths(self) -> Tensor:
        """Tokens of each text [B]."""
        return self.bounds.diff()


class TokenRows:
    """The tokens of many texts on one device, of which any may be asked for."""

    def __init__(self, ids: Tensor, bounds: Tensor) -> None:
        self.ids, self.bounds = ids, bounds
        self._host = bounds.cpu().numpy()

    @classmethod
    def of(cls, rows: list[list[int]], device: torch.device | str) -> "TokenRows":
        """Of lists of token ids."""
        bounds = bounds_of([len(row) for row in rows])
        ids = np.fromiter(chain.from_iterable(rows), np.int32, int(bounds[-1]))
        return cls(torch.from_numpy(ids).to(device), torch.from_numpy(bounds).to(device))

    def __len__(self) -> int:
        return len(self._host) - 1

    def lengths(self, rows: Integers) -> Int64s:
        """Tokens of some texts; the host knows them without asking the device."""
        found: Int64s = self._host[rows + 1] - self._host[rows]
        return found

    def take(self, rows: Integers) -> Packed:
        """Some of the texts, in that order."""
        lengths = self.lengths(rows)
        ends = bounds_of(lengths)
        device = self.ids.device
        # Where each token comes from: its place in the batch, moved by where its text lies.
        moved = torch.from_numpy(self._host[rows] - ends[:-1]).to(device, non_blocking=True)
        counts = torch.from_numpy(lengths).to(device, non_blocking=True)
        total = int(ends[-1])
        where = torch.arange(total, device=device) + torch.repeat_interleave(moved, counts, output_size=total)
        bounds = torch.from_numpy(ends.astype(np.int32)).to(device, non_blocking=True)
        return Packed(self.ids[where], bounds, int(lengths.max(initial=0)))


def is_packable(model: Any) -> bool:
    """Whether a Hugging Face model is of BERT's architecture."""
    return bool(model.config.model_type == "bert" and model.config.hidden_act == "gelu")


class PackedBert(nn.Module):
    """A Hugging Face model of BERT's architecture, read without padding, in ``dtype``."""

    def __init__(self, model: Any, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        config = model.config
        if not is_packable(model):
            raise InputError(f"only models of BERT's architecture are trained, not {config.model_type}")
        self.model, self.dtype = model, dtype
        self.heads: int = config.num_attention_heads
        self.width: int = config.hidden_size
        self.eps: float = config.layer_norm_eps

    def forward(self, texts: Packed) -> Tensor:
        """The mean over each text's token vectors [B, D], in float32."""
        states = self.states(texts).float()
        counts = texts.lengths
        owner = torch.repeat_interleave(
            torch.arange(len(counts), device=states.device), counts, output_size=len(states)
        )
        total = torch.zeros(len(counts), self.width, device=states.device).index_add(0, owner, states)
        return total / counts.clamp(min=1)[:, None]

    def states(self, texts: Packed) -> Tensor:
        """Token vectors [T, D] of the last layer."""
        embeddings = self.model.embeddings
        place = torch.arange(len(texts.ids), device=texts.ids.device) - torch.repeat_interleave(
            texts.bounds[:-1], texts.lengths, output_size=len(texts.ids)
        )
        x = (
            F.embedding(texts.ids, embeddings.word_embeddings.weight)
            + F.embedding(place, embeddings.position_embeddings.weight)
            + embeddings.token_type_embeddings.weight[0]
        )
        x = self._norm(x.to(self.dtype), embeddings.LayerNorm)
        for layer in self.model.encoder.layer:
            x = self._layer(x, layer, texts)
        return x

    def _layer(self, x: Tensor, layer: Any, texts: Packed) -> Tensor:
        inner = layer.attention.self
        three = [_weights(part) for part in (inner.query, inner.key, inner.value)]
        weight = torch.cat([w for w, _ in three]).to(self.dtype)
        bias = torch.cat([b for _, b in three]).to(self.dtype)
        q, k, v = F.linear(x, weight, bias).view(len(x), 3, self.heads, -1).unbind(1)
        mixed = _attend(q, k, v, texts).reshape(len(x), -1)
        x = self._norm(
            x + self._linear(mixed, layer.attention.output.dense), layer.attention.output.LayerNorm
        )
        wide = F.gelu(self._linear(x, layer.intermediate.dense))
        return self._norm(x + self._linear(wide, layer.output.dense), layer.output.LayerNorm)

    def _linear(self, x: Tensor, layer: Any) -> Tensor:
        weight, bias = _weights(layer)
        return F.linear(x, weight.to(self.dtype), bias.to(self.dtype))

    def _norm(self, x: Tensor, norm: Any) -> Tensor:
        return F.layer_norm(x, (self.width,), norm.weight.to(self.dtype), norm.bias.to(self.dtype), self.eps)


def _weights(layer: Any) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear layer, with its change of low rank where it has one (``policy.low_rank``)."""
    if hasattr(layer, "down"):
        return layer.layer.weight + layer.up @ layer.down, layer.layer.bias
    return layer.weight, layer.bias


def _attend(q: Tensor, k: Tensor, v: Tensor, texts: Packed) -> Tensor:
    """Attention within each text [T, H, D/H]."""
    if q.is_cuda:
        out: Tensor = torch.ops.aten._flash_attention_forward(
            q, k, v, texts.bounds, texts.bounds, texts.longest, texts.longest, 0.0, False, False
        )[0]
        return out
    counts = texts.lengths
    inside = torch.arange(texts.longest, device=q.device)[None] < counts[:, None]  # [B, L]
    padded = []
    for part in (q, k, v):
        whole = part.new_zeros(len(counts), texts.longest, *part.shape[1:])
        whole[inside] = part
        padded.append(whole.transpose(1, 2))
    mixed = F.scaled_dot_product_attention(padded[0], padded[1], padded[2], inside[:, None, None])
    return mixed.transpose(1, 2)[inside]
