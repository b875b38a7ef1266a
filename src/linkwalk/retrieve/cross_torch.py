"""Cross-encoders in torch: to be trained, to read on a GPU, and any sequence classifier of Hugging Face's form.

``linkwalk.retrieve.cross`` reads single sentences with what is trained here, ``linkwalk.retrieve.block_reader`` whole
blocks.

Shapes: P pairs, L tokens padded, S sections of all pairs, D width.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.arrays import Bools, Float32s
from linkwalk.artifact import Json, seal
from linkwalk.device import choose_device
from linkwalk.embed.encoder_change import packed
from linkwalk.embed.sections import Choose, Means, Sections, layout
from linkwalk.embed.tokens import HubTokens, by_length, pad
from linkwalk.embed.transformer import CPU_BATCH_TOKENS, both_means, load, longest, padded
from linkwalk.errors import InputError
from linkwalk.policy.low_rank import adapt, adapter_of
from linkwalk.retrieve.block_reader import HEADS, fresh_heads
from linkwalk.retrieve.cross import KIND, MANIFEST, MAX_TOKENS, SCALES, WEIGHTS, CrossConfig, passage


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
    folder: Path, weights: dict[str, Tensor], config: CrossConfig, encoder: str, manifest: Json
) -> Json:
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


class SectionBatch(NamedTuple):
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
    def of(cls, pairs: Sequence[Sections], padding: int, device: torch.device) -> "SectionBatch":
        """Laid out for a model."""
        ids, mask = pad([pair.tokens for pair in pairs], padding)
        types = (
            np.arange(ids.shape[1])[None, :] >= np.array([pair.second for pair in pairs])[:, None]
        ) * mask
        parts = [
            np.arange(a, b) + row * ids.shape[1] for row, pair in enumerate(pairs) for a, b in pair.bounds
        ]
        part = np.repeat(np.arange(len(parts)), [len(own) for own in parts])
        arrays = (ids, mask, types, np.concatenate(parts), part, *layout(pairs))
        return cls(*(torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in arrays))


def section_sums(model: Any, batch: SectionBatch, exit: int) -> list[Tensor]:
    """Sums [P + S, D] over each query's tokens and each section's, after ``exit`` layers and after the last."""
    states = model(
        input_ids=batch.ids,
        attention_mask=batch.mask,
        token_type_ids=batch.types,
        output_hidden_states=True,
    ).hidden_states
    found = []
    for states_PLD in (states[exit], states[-1]):
        flat = states_PLD.float().flatten(0, 1)
        none = flat.new_zeros(len(batch.query) + len(batch.section), flat.shape[1])
        found.append(none.index_add(0, batch.part, flat[batch.token]))
    return found


class BlockModel(nn.Module):
    """A transformer with an adapter, and the two heads, trainable."""

    def __init__(self, model: nn.Module, rank: int, exit: int) -> None:
        super().__init__()
        self.exit = exit
        self.model = adapt(model, rank)
        width: int = model.config.hidden_size  # type: ignore[union-attr,assignment]
        self.heads = nn.Parameter(torch.from_numpy(fresh_heads(width)))

    def forward(self, batch: SectionBatch) -> tuple[Tensor, Tensor]:
        """The scores [S] of all sections by either head."""
        sums = section_sums(self.model, batch, self.exit)
        first, last = (self._score(head, own, batch) for head, own in zip(self.heads, sums, strict=True))
        return first, last

    def _score(self, head: Tensor, sums: Tensor, batch: SectionBatch) -> Tensor:
        means, width = nn.functional.normalize(sums, dim=-1), sums.shape[1]
        weight = means[batch.query] * head[:width] + head[width : 2 * width]
        found: Tensor = (weight[batch.owner] * means[batch.section]).sum(-1) + head[-1]
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
        sums: list[dict[int, Float32s]] = [{}, {}]
        for some in by_length([len(pair.tokens) for pair in pairs], self.batch_tokens):
            chosen = [pairs[i] for i in some]
            batch = SectionBatch.of(chosen, self.padding, self.device)
            ends = np.cumsum([len(pair.bounds) for pair in chosen])[:-1]
            for own, found in zip(sums, section_sums(self.model, batch, exit), strict=True):
                own.update(zip(some.tolist(), np.split(found.cpu().numpy(), ends), strict=True))
        early, late = (Means.of(pairs, [own[i] for i in range(len(pairs))]) for own in sums)
        return early, late, choose(early)


class Classifier:
    """A sequence classifier as a reranker: its one logit, or that of its last label."""

    def __init__(self, folder: Path, *, device: str = "auto", max_tokens: int = MAX_TOKENS) -> None:
        self.folder, self.device, self.batch_tokens = folder, choose_device(device), CPU_BATCH_TOKENS
        self.tokenizer, self.model, missing = load(
            "AutoModelForSequenceClassification", folder, self.device, "reranker", ": choose another"
        )
        # The library fills what is missing with random weights, a plain encoder's head above all.
        if missing:
            raise InputError(
                f"the reranker in {folder} lacks weights ({missing[0]}, ...): take a sequence classifier"
            )
        self.tokens = HubTokens(self.tokenizer)
        self.max_tokens = min(max_tokens, self.tokens.longest, longest(self.model))
        self.inputs = ["input_ids", "attention_mask"]
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            self.inputs.append("token_type_ids")

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        texts = [passage(title, sentence) for title, sentence in zip(titles, sentences, strict=True)]
        scores = np.zeros(len(texts), np.float32)
        if not texts:
            return scores
        ids, types = self.tokens.of_pairs([query] * len(texts), texts, self.max_tokens)
        with torch.inference_mode():
            for batch in by_length([len(row) for row in ids], self.batch_tokens):
                tensors = padded(
                    self.tokenizer, [ids[i] for i in batch], [types[i] for i in batch], self.device
                )
                named = dict(zip(self.inputs, tensors, strict=False))
                scores[batch] = self.model(**named).logits[:, -1].float().cpu().numpy()
        if not np.isfinite(scores).all():
            raise InputError(
                f"the reranker in {self.folder} is damaged (scores that are not numbers): choose another"
            )
        return scores
