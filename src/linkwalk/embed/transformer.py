"""A transformer in torch: for training, for GPUs, and for models of any architecture in Hugging Face's form.

Shapes: B texts of a batch, L tokens padded, D width.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from linkwalk.arrays import Float32s
from linkwalk.device import INSTALL, choose_device, compute_dtype
from linkwalk.embed.bert import Weights, low_rank
from linkwalk.embed.encoder import MAX_TOKENS, Reader
from linkwalk.embed.model import find_model, refuse_code
from linkwalk.embed.tokens import HubTokens, Rows, pad
from linkwalk.errors import InputError

#: Tokens of a batch: on a CPU what stays in its caches, on a GPU what keeps it busy.
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 4096, 1 << 17

_UNREAD = "pooler"

#: How models are opened, whoever made them: no network, and no code from their folder.
FROM_DISK: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


class TransformerEncoder(Reader):
    """phi in torch, padding left out."""

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
        self.device = device
        self.tokenizer, self.model, lacking = load("AutoModel", folder, device)
        # The library fills what is missing with random weights. Nobody reads the pooler, which many folders leave out.
        if missing := [key for key in lacking if "pooler" not in key]:
            raise InputError(
                f"the encoder in {folder} lacks weights of its model ({missing[0]}, ...): it is of no use"
            )
        if self.model.config.is_encoder_decoder:
            self.model = self.model.get_encoder()
        if changes is not None:
            merge(self.model, changes)
        budget = batch_tokens or (CPU_BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS)
        super().__init__(folder, HubTokens(self.tokenizer), longest(self.model), max_tokens, tanh, budget)
        self.width = self.model.config.hidden_size

    def adapt(self, adapter: Weights) -> None:
        """Add changes of low rank to a copy of all weights."""
        self.model = deepcopy(self.model)
        merge(self.model, adapter)

    @torch.inference_mode()
    def read(self, batches: Iterable[tuple[Rows, Rows | None]]) -> Iterator[Sequence[Float32s]]:
        """The means of each batch, one after another."""
        for rows, types in batches:
            try:
                ids, mask, *kinds = padded(self.tokenizer, rows, types, self.device)
                found = (
                    both_means(self.model, ids, mask, *kinds)
                    if kinds
                    else [forward(self.model, ids, mask, self.tanh)]
                )
                yield [mean.cpu().numpy() for mean in found]
            except torch.OutOfMemoryError:
                raise InputError(
                    f"{self.device} has too little memory for batches of {self.batch_tokens:,} tokens: free some, or "
                    f"embed in smaller ones (`linkwalk embed WIKI --batch-tokens {self.batch_tokens // 4}`)"
                ) from None


def padded(tokenizer: Any, ids: Rows, types: Rows | None, device: torch.device) -> list[Tensor]:
    """Ids and mask [B, L] of some texts, or ids, mask and types of some pairs."""
    arrays = [*pad(ids, tokenizer.pad_token_id or 0), *([] if types is None else [pad(types, 0)[0]])]
    return [torch.from_numpy(array).to(device) for array in arrays]


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
        up, down = low_rank(adapter, name, layer.weight.shape)
        layer.weight.copy_(layer.weight.float() + torch.from_numpy(up @ down).to(layer.weight.device))


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


def load(
    kind: str, folder: Path, device: torch.device, what: str = "encoder", remedy: str = ""
) -> tuple[Any, Any, list[str]]:
    """Tokenizer, model and the weights it lacks; ``kind`` is a class of transformers'. No network, code or pickle."""
    try:
        import transformers
    except ImportError:
        raise InputError(f"transformers is not installed: {INSTALL}") from None
    refuse_code(folder)
    try:
        with silence():
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **FROM_DISK)
            model, found = getattr(transformers, kind).from_pretrained(
                folder,
                **FROM_DISK,
                use_safetensors=True,
                dtype=compute_dtype(device),
                output_loading_info=True,
            )
    except Exception as error:  # whatever a foreign folder makes of it: the user chose the folder
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        raise InputError(
            f"cannot load the {what} in {folder} ({type(error).__name__}: {reason}){remedy}"
        ) from None
    return tokenizer, model.to(device).eval(), sorted(found["missing_keys"])


def longest(model: Any) -> int:
    """The tokens that a model has places for."""
    return int(getattr(model.config, "max_position_embeddings", 1 << 30))


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
