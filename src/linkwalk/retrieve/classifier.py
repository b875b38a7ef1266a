"""Any sequence classifier of Hugging Face's form as a reranker, BigBird and its like included."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from linkwalk.arrays import Float32s
from linkwalk.device import choose_device
from linkwalk.embed.tokens import by_length
from linkwalk.embed.transformer import CPU_BATCH_TOKENS, load, longest, padded, pair_tokens
from linkwalk.errors import InputError
from linkwalk.retrieve.cross import MAX_TOKENS, passage


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
        self.max_tokens = min(max_tokens, longest(self.tokenizer, self.model))
        self.inputs = ["input_ids", "attention_mask"]
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            self.inputs.append("token_type_ids")

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        texts = [passage(title, sentence) for title, sentence in zip(titles, sentences, strict=True)]
        scores = np.zeros(len(texts), np.float32)
        if not texts:
            return scores
        ids, types = pair_tokens(self.tokenizer, [query] * len(texts), texts, self.max_tokens)
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
