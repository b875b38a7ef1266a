"""A transformer in torch: for training, for GPUs, and for models of any architecture in Hugging Face's form.

Shapes: B texts of a batch, L tokens padded, D width.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.arrays import Float32s
from linkwalk.device import INSTALL, choose_device, compute_dtype
from linkwalk.embed.batches import by_length, pad
from linkwalk.embed.bert import Weights, product
from linkwalk.embed.encoder import MAX_TOKENS, check_length
from linkwalk.embed.model import find_model, refuse_code
from linkwalk.embed.pairs import Pairs
from linkwalk.errors import InputError

#: Tokens of a batch: on a CPU what stays in its caches, on a GPU what keeps it busy.
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 4096, 1 << 17

_UNREAD = "pooler"

#: How models are opened, whoever made them: no network, and no code from their folder.
FROM_DISK: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


class TransformerEncoder:
    """phi: the mean over a transformer's token vectors, padding left out (sec. 4.2, app. B.1), in torch."""

    def __init__(
        self,
        folder: Path,
        *,
        device: torch.device,
        max_tokens: int = MAX_TOKENS,
        tanh: bool = False,
        batch_tokens: int | None = None,
        changes: Weights | None = None,
    ) -> None:
        """``changes`` of low rank are added to the weights as they are loaded."""
        self.device, self.max_tokens, self.tanh = device, max_tokens, tanh
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS)
        self.folder = folder
        self.tokenizer, self.model = _load(folder, device)
        self.changes = changes
        if changes is not None:
            merge(self.model, changes)
        config = self.model.config
        limit = min(self.tokenizer.model_max_length, getattr(config, "max_position_embeddings", 1 << 30))
        check_length(max_tokens, limit)
        self.width: int = config.hidden_size

    def tokenize(self, texts: list[str]) -> list[list[int]]:
        """Token ids with the model's special tokens, cut to ``max_tokens`` in all."""
        if not texts:
            return []
        found = self.tokenizer(
            texts,
            truncation=True,
            max_length=self.max_tokens,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        ids: list[list[int]] = found["input_ids"]
        return ids

    def encode(self, texts: list[str], advance: Callable[[float], None] = lambda _: None) -> Float32s:
        """One row per text, in order; ``advance`` hears how many texts' worth of tokens are done."""
        rows = self.tokenize(texts)
        lengths = [len(row) for row in rows]
        share = len(texts) / max(1, sum(lengths))
        vectors = np.empty((len(texts), self.width), np.float32)
        for batch in by_length(lengths, self.batch_tokens):
            vectors[batch] = self._forward([rows[i] for i in batch])
            advance(share * sum(lengths[i] for i in batch))
        if not np.isfinite(vectors).all():
            raise InputError(f"the encoder in {self.folder} gives values that are not numbers: it is damaged")
        return vectors

    def pairs(self, queries: list[str], passages: list[str]) -> tuple[Float32s, Float32s]:
        """The mean over each query's tokens and over its passage's, both read at once."""
        pairs = Pairs(self.tokenizer, self.max_tokens)
        ids, types = pairs.tokenize(queries, passages)
        found = np.empty((2, len(queries), self.width), np.float32)
        with torch.inference_mode():
            for batch in by_length([len(row) for row in ids], self.batch_tokens):
                tensors = pairs.tensors([ids[i] for i in batch], [types[i] for i in batch], self.device)
                for part, mean in zip(found, both_means(self.model, *tensors), strict=True):
                    part[batch] = mean.cpu().numpy()
        if not np.isfinite(found).all():
            raise InputError(f"the encoder in {self.folder} gives values that are not numbers: it is damaged")
        return found[0], found[1]

    def adapted(self, adapter: Weights, *, max_tokens: int | None = None) -> "TransformerEncoder":
        """Another one with changes of low rank in its linear layers: a copy of all weights."""
        other = TransformerEncoder(
            self.folder,
            device=self.device,
            max_tokens=max_tokens or self.max_tokens,
            tanh=self.tanh,
            batch_tokens=self.batch_tokens,
            changes=self.changes,
        )
        merge(other.model, adapter)
        return other

    def _forward(self, rows: list[list[int]]) -> Float32s:
        ids, mask = pad(rows, self.tokenizer.pad_token_id or 0)
        try:
            with torch.inference_mode():
                ids_BL = torch.from_numpy(ids).to(self.device)
                mask_BL = torch.from_numpy(mask).to(self.device)
                vectors: Float32s = forward(self.model, ids_BL, mask_BL, self.tanh).cpu().numpy()
        except torch.OutOfMemoryError:
            raise InputError(
                f"{self.device} has too little memory for batches of {self.batch_tokens:,} tokens: "
                f"free some, or embed in smaller ones (`linkwalk embed WIKI --batch-tokens {self.batch_tokens // 4}`)"
            ) from None
        return vectors


def forward(model: Any, ids_BL: Tensor, mask_BL: Tensor, tanh: bool) -> Tensor:
    """The mean over a model's token vectors [B, D] in float32, padding left out, and the paper's tanh if wanted."""
    states_BLD = model(input_ids=ids_BL, attention_mask=mask_BL).last_hidden_state
    weight_BL1 = mask_BL[:, :, None].float()
    mean_BD: Tensor = (states_BLD.float() * weight_BL1).sum(1) / weight_BL1.sum(1).clamp(min=1)
    return mean_BD.tanh() if tanh else mean_BD


def both_means(model: Any, ids_PL: Tensor, mask_PL: Tensor, types_PL: Tensor) -> tuple[Tensor, Tensor]:
    """The means [P, D] over the query's tokens and over the passage's, each pair read at once."""
    states_PLD = model(
        input_ids=ids_PL, attention_mask=mask_PL, token_type_ids=types_PL
    ).last_hidden_state.float()
    of_passage = types_PL * mask_PL
    query_PD, passage_PD = (
        (states_PLD * part[:, :, None]).sum(1) / part.sum(1, keepdim=True).clamp(min=1)
        for part in (mask_PL - of_passage, of_passage)
    )
    return query_PD, passage_PD


def linear_layers(model: nn.Module) -> dict[str, nn.Linear]:
    """The layers that an adapter changes, by name: all linear ones that have a say in the token vectors."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and not name.startswith(_UNREAD)
    }


@torch.no_grad()
def merge(model: nn.Module, adapter: Weights) -> None:
    """Add an adapter's changes to the weights of a model; one that does not fit it is an error."""
    layers = linear_layers(model)
    if {name.rpartition(".")[0] for name in adapter} != set(layers):
        raise ValueError("the adapter is of another model")
    for name, layer in layers.items():
        change = product(adapter[f"{name}.up"], adapter[f"{name}.down"], layer.weight.shape)
        layer.weight.copy_(layer.weight.float() + torch.from_numpy(change).to(layer.weight.device))


def open_transformer(
    spec: str = "minilm",
    *,
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    tanh: bool = False,
    batch_tokens: int | None = None,
) -> TransformerEncoder:
    """The transformer that ``minilm``, a folder or a hub's name stands for, whatever its architecture."""
    model = find_model(spec)
    return TransformerEncoder(
        model.path,
        device=choose_device(device),
        max_tokens=max_tokens,
        tanh=tanh,
        batch_tokens=batch_tokens,
        changes=model.changes,
    )


def _load(folder: Path, device: torch.device) -> tuple[Any, Any]:
    """Tokenizer and model from a folder; no network, no code from the folder, no pickle."""
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise InputError(f"transformers is not installed: {INSTALL}") from None
    refuse_code(folder)
    try:
        with silence():
            tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_DISK)
            model, found = AutoModel.from_pretrained(
                folder,
                **FROM_DISK,
                use_safetensors=True,
                dtype=compute_dtype(device),
                output_loading_info=True,
            )
    except Exception as error:  # whatever a foreign folder makes of it: the user chose the folder
        reason = str(error).strip().splitlines() or [""]
        raise InputError(
            f"cannot load the encoder in {folder} ({type(error).__name__}: {reason[0][:200]})"
        ) from None
    # The library fills what is missing with random weights. Nobody reads the pooler, which many folders leave out.
    if missing := sorted(key for key in found["missing_keys"] if "pooler" not in key):
        raise InputError(
            f"the encoder in {folder} lacks weights of its model ({missing[0]}, ...): it is of no use"
        )
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    return tokenizer, model.to(device).eval()


@contextmanager
def silence() -> Iterator[None]:
    """No bars and reports of the library's while it loads."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
