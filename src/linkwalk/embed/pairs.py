"""Pairs of texts as torch's tensors, for models of Hugging Face's form."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from linkwalk.embed.batches import pad


class Pairs:
    """Tokenises pairs for a model."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        self.padding: int = tokenizer.pad_token_id or 0

    def tokenize(
        self, queries: Sequence[str], passages: Sequence[str]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Token ids and types of each pair; what is too long loses the end of its longer part."""
        found = self.tokenizer(
            list(queries),
            list(passages),
            truncation="longest_first",
            max_length=self.max_tokens,
            padding=False,
            return_token_type_ids=True,
            return_attention_mask=False,
        )
        return found["input_ids"], found["token_type_ids"]

    def tensors(
        self, ids: list[list[int]], types: list[list[int]], device: torch.device
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and types [P, L] of some pairs."""
        padded, mask = pad(ids, self.padding)
        kinds, _ = pad(types, 0)
        ids_PL, mask_PL, types_PL = (torch.from_numpy(x).to(device) for x in (padded, mask, kinds))
        return ids_PL, mask_PL, types_PL
