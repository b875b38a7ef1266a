"""A cross-encoder: one transformer reads query and sentence together and says how well they go together (sec. 4.3).

Ours goes on from the cosine. A pair's score is

    a cosine(phi(q), phi(s)) + b cosine(psi_q(q, s), psi_s(q, s))

with q the query and s the sentence behind its title. phi is the encoder as it is, which reads each by itself. psi is a
low-rank adapter of it (``linkwalk.policy.target``) which reads both at once: psi_q is the mean over the query's tokens,
psi_s that over the sentence's. Untrained, that is a fair score already, and a few thousand lists correct it. On disk it
is an adapter of a megabyte. Any sequence classifier in Hugging Face's form works in its place, BigBird and its like
included.

Shapes: P pairs, L tokens padded, D width.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.artifact import parsing, read_manifest, seal, steady
from linkwalk.device import choose_device, compute_dtype
from linkwalk.embed.batches import by_length, pad
from linkwalk.embed.encoder import FROM_DISK, TransformerEncoder, open_encoder, refuse_code, silence
from linkwalk.embed.model import find_model
from linkwalk.errors import ArtifactError, InputError
from linkwalk.navigate import unit_rows
from linkwalk.navigate.journeys import Float32s
from linkwalk.policy.checkpoint import NO_NUMBERS, command_for, look_at_some
from linkwalk.policy.target import adapt, adapter_of, merge

KIND = "cross"
WEIGHTS, MANIFEST = "cross.safetensors", "cross.json"
MAX_TOKENS = 160
"""Of a pair; longer sentences are cut."""
_SCALES = "scales"
_HUB = "config.json"
_FIELDS = {"model": str, "config": dict}


@dataclass(frozen=True, kw_only=True)
class CrossConfig:
    """What a cross-encoder is made of."""

    encoder: str = "minilm"
    """The transformer that it adapts, as ``linkwalk embed --encoder`` names it."""
    rank: int = 16
    """Of the adapter."""
    max_tokens: int = MAX_TOKENS


def passage(title: str, sentence: str) -> str:
    """A sentence as rerankers read it: behind its article's title, which it often leaves unsaid."""
    return f"{title}. {sentence}" if title else sentence


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
        return combine(self.scales, cosine_P, together(self.model, ids_PL, mask_PL, types_PL))

    def weights(self) -> dict[str, Tensor]:
        """All that was trained, by name."""
        return adapter_of(self.model) | {_SCALES: self.scales.detach()}


def together(model: Any, ids_PL: Tensor, mask_PL: Tensor, types_PL: Tensor) -> Tensor:
    """Cosine [P] of the query's part and the sentence's part, each pair read at once."""
    states_PLD = model(
        input_ids=ids_PL, attention_mask=mask_PL, token_type_ids=types_PL
    ).last_hidden_state.float()
    of_sentence = types_PL * mask_PL
    query_PD, sentence_PD = (
        (states_PLD * part[:, :, None]).sum(1) / part.sum(1, keepdim=True).clamp(min=1)
        for part in (mask_PL - of_sentence, of_sentence)
    )
    return nn.functional.cosine_similarity(query_PD, sentence_PD, dim=-1)


def combine(scales: Tensor, cosine_P: Tensor, together_P: Tensor) -> Tensor:
    """Both cosines, weighted."""
    return 10 * (scales[0] * cosine_P + scales[1] * together_P)


class Pairs:
    """Tokenises pairs for a model and batches them by length."""

    def __init__(self, tokenizer: Any, max_tokens: int, batch_tokens: int) -> None:
        self.tokenizer, self.max_tokens, self.batch_tokens = tokenizer, max_tokens, batch_tokens
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


class CrossEncoder:
    """Ours, for use: adapter merged; a reranker, for one query or many at once."""

    def __init__(self, plain: TransformerEncoder, weights: dict[str, Tensor], config: CrossConfig) -> None:
        """``plain`` gives the cosine; the model that reads pairs is another copy of it."""
        self.plain, self.config = plain, config
        other = open_encoder(config.encoder, device=str(plain.device), max_tokens=config.max_tokens)
        merge(other.model, {name: value for name, value in weights.items() if name != _SCALES})
        self.model, self.device = other.model, plain.device
        self.scales = weights[_SCALES].float().to(self.device)
        if self.scales.shape != (2,):
            raise ValueError("the scales are of another model")
        self.pairs = Pairs(other.tokenizer, config.max_tokens, other.batch_tokens)

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        return self.many([query], [titles], [sentences])[0]

    def many(
        self, queries: Sequence[str], titles: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]
    ) -> list[Float32s]:
        """The scores of several queries' sentences, in batches across queries."""
        counts = [len(own) for own in sentences]
        owner = np.repeat(np.arange(len(queries)), counts)
        texts = [
            passage(t, s)
            for ts, ss in zip(titles, sentences, strict=True)
            for t, s in zip(ts, ss, strict=True)
        ]
        if not texts:
            return [np.zeros(0, np.float32) for _ in queries]
        apart = cosines(self.plain, list(queries), texts, owner)
        ids, types = self.pairs.tokenize([queries[i] for i in owner.tolist()], texts)
        scores = np.empty(len(texts), np.float32)
        with torch.inference_mode():
            for batch in by_length([len(row) for row in ids], self.pairs.batch_tokens):
                tensors = self.pairs.tensors([ids[i] for i in batch], [types[i] for i in batch], self.device)
                cosine_P = torch.from_numpy(apart[batch]).to(self.device)
                scores[batch] = combine(self.scales, cosine_P, together(self.model, *tensors)).cpu().numpy()
        return np.split(scores, np.cumsum(counts)[:-1])


def cosines(encoder: TransformerEncoder, queries: list[str], texts: list[str], owner: Any) -> Float32s:
    """The cosine [P] of each text and its query, whose number ``owner`` [P] has, each read by itself."""
    vectors = unit_rows(encoder.encode(queries + texts))
    found: Float32s = (vectors[: len(queries)][owner] * vectors[len(queries) :]).sum(1)
    return found


class Classifier:
    """Any sequence classifier of Hugging Face's form as a reranker: its one logit, or that of its last label."""

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
        self.pairs = Pairs(tokenizer, min(max_tokens, limit), 4096)
        self.types = getattr(model.config, "type_vocab_size", 0) > 1

    def __call__(self, query: str, titles: Sequence[str], sentences: Sequence[str]) -> Float32s:
        """One score for each sentence."""
        texts = [passage(title, sentence) for title, sentence in zip(titles, sentences, strict=True)]
        scores = np.zeros(len(texts), np.float32)
        ids, types = self.pairs.tokenize([query] * len(texts), texts) if texts else ([], [])
        with torch.inference_mode():
            for batch in by_length([len(row) for row in ids], self.pairs.batch_tokens):
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


def save_cross(
    folder: Path, weights: dict[str, Tensor], config: CrossConfig, encoder: str, manifest: dict[str, Any]
) -> dict[str, Any]:
    """Write a cross-encoder, in half precision; ``encoder`` is the fingerprint of the weights it adapts.

    The manifest comes last and seals all that is in the folder.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().cpu().contiguous() for name, value in weights.items()}, folder / WEIGHTS)
    whole = {"artifact": KIND, "model": encoder, "config": asdict(config), **manifest}
    return seal(folder, whole, name=MANIFEST)


def read_cross(folder: Path) -> tuple[dict[str, Any], CrossConfig, dict[str, Tensor]]:
    """The manifest of our cross-encoder in a folder, what it is made of, and its weights."""
    from safetensors.torch import load_file

    remedy = f"run `{_command(folder)}`"
    manifest = read_manifest(folder, KIND, _command(folder), _FIELDS, name=MANIFEST)
    look_at_some(folder, manifest, remedy, WEIGHTS, name=MANIFEST)
    with parsing(folder / MANIFEST, remedy):
        config = CrossConfig(**manifest["config"])
        if [type(part) for part in (config.encoder, config.rank, config.max_tokens)] != [str, int, int]:
            raise ValueError("its configuration is of other types")
    with parsing(folder / WEIGHTS, remedy):
        weights = load_file(folder / WEIGHTS)
        if not all(torch.isfinite(value).all() for value in weights.values()):
            raise ValueError(NO_NUMBERS)
    return manifest, config, weights


def load_cross(folder: Path, *, device: str = "auto") -> "CrossEncoder | Classifier":
    """The reranker in a folder: ours, or a sequence classifier."""
    if not (folder / MANIFEST).exists():
        if (folder / _HUB).is_file():
            return Classifier(folder, device=device)
        raise InputError(
            f"{folder} holds no reranker: give a folder with {MANIFEST} or a sequence classifier's {_HUB}"
        )
    manifest, config, weights = steady(folder, lambda: read_cross(folder), name=MANIFEST)
    plain = open_encoder(config.encoder, device=device)
    if find_model(config.encoder).fingerprint != manifest["model"]:
        raise ArtifactError(
            f"the reranker in {folder} adapts other weights than those of {config.encoder!r} here: choose another"
        )
    with parsing(folder / WEIGHTS, f"run `{_command(folder)}`"):
        return CrossEncoder(plain, weights, config)


def _command(folder: Path) -> str:
    return command_for(folder, "--reranker", "FILE", "--name", folder.name)
