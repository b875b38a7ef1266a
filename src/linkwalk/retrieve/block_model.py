"""The reader of blocks in torch: to be trained, and to read on a GPU (``linkwalk.retrieve.block_reader`` has the rest).

Shapes: P pairs, L tokens padded, S sections of all pairs, D width.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.arrays import Bools
from linkwalk.embed.sections import Choose, Means, Sections
from linkwalk.embed.tokens import by_length, pad
from linkwalk.policy.low_rank import adapt, adapter_of
from linkwalk.retrieve.block_reader import HEADS, fresh_heads


class Padded(NamedTuple):
    """Some pairs as tensors."""

    ids: Tensor
    mask: Tensor
    types: Tensor
    """[P, L]"""
    token: Tensor
    """The tokens of all queries and sections, by their place among those of all pairs, padding and all."""
    part: Tensor
    """Which of the P + S each of them is of: a pair's query comes before its sections."""
    query: Tensor
    """Which of these are queries [P]."""
    section: Tensor
    """Which are sections [S]."""
    owner: Tensor
    """The pair that each section is of [S]."""

    @classmethod
    def of(cls, pairs: Sequence[Sections], padding: int, device: torch.device) -> "Padded":
        """Laid out for a model."""
        ids, mask = pad([pair.tokens for pair in pairs], padding)
        types = (
            np.arange(ids.shape[1])[None, :] >= np.array([pair.second for pair in pairs])[:, None]
        ) * mask
        counts = np.array([len(pair.bounds) for pair in pairs])
        begin, end = np.array([bound for pair in pairs for bound in pair.bounds], np.int64).reshape(-1, 2).T
        lengths = end - begin
        begin = begin + np.repeat(np.arange(len(pairs)), counts) * ids.shape[1]
        part = np.repeat(np.arange(len(begin)), lengths)
        token = np.arange(len(part)) + np.repeat(begin - np.cumsum(lengths) + lengths, lengths)
        first = np.cumsum(counts) - counts
        rest = np.ones(len(begin), np.bool_)
        rest[first] = False
        owner = np.repeat(np.arange(len(pairs)), counts - 1)
        arrays = (ids, mask, types, token, part, first, np.flatnonzero(rest), owner)
        return cls(*(torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in arrays))


def section_means(states_PLD: Tensor, padded: Padded) -> tuple[Tensor, Tensor]:
    """The directions of the queries' means [P, D] and of the sections' [S, D]."""
    flat = states_PLD.float().flatten(0, 1)
    parts = len(padded.query) + len(padded.section)
    sums = flat.new_zeros(parts, flat.shape[1]).index_add(0, padded.part, flat[padded.token])
    found = nn.functional.normalize(sums, dim=-1)
    return found[padded.query], found[padded.section]


class BlockModel(nn.Module):
    """A transformer with an adapter, and the two heads, trainable."""

    def __init__(self, model: nn.Module, rank: int, exit: int) -> None:
        super().__init__()
        self.exit = exit
        self.model = adapt(model, rank)
        width: int = model.config.hidden_size  # type: ignore[union-attr,assignment]
        self.heads = nn.Parameter(torch.from_numpy(fresh_heads(width)))

    def forward(self, padded: Padded) -> tuple[Tensor, Tensor]:
        """The scores [S] of all sections by either head."""
        states = self.model(
            input_ids=padded.ids,
            attention_mask=padded.mask,
            token_type_ids=padded.types,
            output_hidden_states=True,
        ).hidden_states
        first, last = (
            self._score(head, *section_means(states[at], padded), padded.owner)
            for head, at in zip(self.heads, (self.exit, -1), strict=True)
        )
        return first, last

    def _score(self, head: Tensor, query: Tensor, section: Tensor, owner: Tensor) -> Tensor:
        width = query.shape[1]
        weight = query * head[:width] + head[width : 2 * width]
        found: Tensor = (weight[owner] * section).sum(-1) + head[-1]
        return found

    def weights(self) -> dict[str, Tensor]:
        """All that was trained, by name."""
        return adapter_of(self.model) | {HEADS: self.heads.detach()}


class TorchSections:
    """Reads pairs by torch, all of them to the end: on a GPU there is nothing to be saved."""

    def __init__(self, model: Any, padding: int, device: torch.device, batch_tokens: int) -> None:
        self.model, self.padding, self.device, self.batch_tokens = model, padding, device, batch_tokens

    @torch.inference_mode()
    def read(self, pairs: Sequence[Sections], exit: int, choose: Choose) -> tuple[Means, Means, Bools]:
        """The means after ``exit`` layers and after the last, and which pairs [P] count as read to the end."""
        counts = np.array([len(pair.bounds) - 1 for pair in pairs])
        begin, width = np.cumsum(counts) - counts, int(self.model.config.hidden_size)
        owner = np.repeat(np.arange(len(pairs)), counts)
        found = [
            Means(np.empty((len(pairs), width), np.float32), np.empty((len(owner), width), np.float32), owner)
            for _ in range(2)
        ]
        for batch in by_length([len(pair.tokens) for pair in pairs], self.batch_tokens):
            padded = Padded.of([pairs[i] for i in batch], self.padding, self.device)
            states = self.model(
                input_ids=padded.ids,
                attention_mask=padded.mask,
                token_type_ids=padded.types,
                output_hidden_states=True,
            ).hidden_states
            at = np.concatenate([np.arange(begin[i], begin[i] + counts[i]) for i in batch])
            for means, layer in zip(found, (exit, -1), strict=True):
                query, sections = section_means(states[layer], padded)
                means.query[batch], means.sections[at] = query.cpu().numpy(), sections.cpu().numpy()
        return found[0], found[1], choose(found[0])
