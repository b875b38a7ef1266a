"""Any sequence classifier of Hugging Face's form as a reranker, BigBird and its like included."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from linkwalk.arrays import Float32s
from linkwalk.device import choose_device, compute_dtype
from linkwalk.embed.batches import by_length
from linkwalk.embed.model import refuse_code
from linkwalk.embed.pairs import Pairs
from linkwalk.embed.transformer import CPU_BATCH_TOKENS, FROM_DISK, silence
from linkwalk.errors import InputError
from linkwalk.retrieve.cross import MAX_TOKENS, passage


class Classifier:
    """A sequence classifier as a reranker: its one logit, or that of its last label."""

    def __init__(self, folder: Path, *, device: str = "auto", max_tokens: int = MAX_TOKENS) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.device = choose_device(device)
        refuse_code(folder)
        try:
            with silence():
                tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_DISK)
                model, found = AutoModelForSequenceClassification.from_pretrained(
                    folder,
                    **FROM_DISK,
                    use_safetensors=True,
                    dtype=compute_dtype(self.device),
                    output_loading_info=True,
                )
        except Exception as error:  # whatever a foreign folder makes of it: the user chose the folder
            reason = (str(error).strip().splitlines() or [""])[0][:200]
            raise InputError(
                f"cannot load the reranker in {folder} ({type(error).__name__}: {reason}): choose another"
            ) from None
        # The library fills what is missing with random weights, a plain encoder's head above all.
        if missing := sorted(found["missing_keys"]):
            raise InputError(
                f"the reranker in {folder} lacks weights ({missing[0]}, ...): take a sequence classifier"
            )
        self.folder, self.model = folder, model.to(self.device).eval()
        limit = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 1 << 30))
        self.pairs = Pairs(tokenizer, min(max_tokens, limit))
        self.types = getattr(model.config, "type_vocab_size", 0) > 1

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        texts = [passage(title, sentence) for title, sentence in zip(titles, sentences, strict=True)]
        scores = np.zeros(len(texts), np.float32)
        ids, types = self.pairs.tokenize([query] * len(texts), texts) if texts else ([], [])
        with torch.inference_mode():
            for batch in by_length([len(row) for row in ids], CPU_BATCH_TOKENS):
                tensors = self.pairs.tensors([ids[i] for i in batch], [types[i] for i in batch], self.device)
                named = dict(zip(("input_ids", "attention_mask", "token_type_ids"), tensors, strict=True))
                if not self.types:
                    del named["token_type_ids"]
                scores[batch] = self.model(**named).logits[:, -1].float().cpu().numpy()
        if not np.isfinite(scores).all():
            raise InputError(
                f"the reranker in {self.folder} is damaged (scores that are not numbers): choose another"
            )
        return scores
