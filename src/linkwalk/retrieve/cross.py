"""A cross-encoder: one transformer reads query and sentence together and says how well they go together (sec. 4.3).

Ours goes on from the cosine. A pair's score is

    a cosine(phi(q), phi(s)) + b cosine(psi_q(q, s), psi_s(q, s))

with q the query and s the sentence behind its title. phi is the encoder as it is, which reads each by itself. psi is a
low-rank adapter of it (``linkwalk.policy.target``) which reads both at once: psi_q is the mean over the query's tokens,
psi_s that over the sentence's. Untrained, that is a fair score already, and a few thousand lists correct it. On disk it
is an adapter of 0.7 MB, a byte a number. Any sequence classifier in Hugging Face's form works in its place, BigBird and
its like included.

Shapes: P pairs, L tokens padded, D width.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.artifact import Json, parsing, read_manifest, steady
from linkwalk.device import choose_device
from linkwalk.embed.bert import Weights
from linkwalk.embed.encoder import Encoder, Reader, open_encoder
from linkwalk.embed.encoder_change import load_packed
from linkwalk.embed.model import find_model
from linkwalk.errors import ArtifactError, InputError
from linkwalk.navigate import unit_rows
from linkwalk.policy.checkpoint import command_for, look_at_some
from linkwalk.retrieve.block_reader import HEADS, BlockReader
from linkwalk.retrieve.rerank import BatchReranker, Blocks, Texts

if TYPE_CHECKING:
    from linkwalk.retrieve.cross_torch import Classifier

KIND = "cross"
WEIGHTS, MANIFEST = "cross.safetensors", "cross.json"
MAX_TOKENS = 160
"""Of a pair; longer sentences are cut."""
SCALES = "scales"
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


@dataclass(frozen=True, kw_only=True)
class BlockConfig(CrossConfig):
    """The same of one that reads whole blocks (``linkwalk.retrieve.block_reader``)."""

    max_tokens: int = 224
    exit: int = 0
    """Layers up to the first head; 0: a reader of single sentences."""


def passage(title: str, sentence: str) -> str:
    """A sentence as rerankers read it: behind its article's title, which it often leaves unsaid."""
    return f"{title}. {sentence}" if title else sentence


class CrossEncoder(BatchReranker):
    """Ours, for use: the adapter is on top of the encoder; a reranker, for one query or many at once."""

    def __init__(self, plain: Reader, weights: Weights, config: CrossConfig) -> None:
        """``plain`` gives the cosine and is adapted to read pairs."""
        self.plain, self.config = plain, config
        self.scales = np.asarray(weights[SCALES], np.float32)
        if self.scales.shape != (2,):
            raise ValueError("the scales are of another model")
        adapter = {name: value for name, value in weights.items() if name != SCALES}
        self.together = plain.adapted(adapter, max_tokens=config.max_tokens)

    def many(
        self, queries: Sequence[str], titles: Texts, sentences: Texts, blocks: Blocks = None
    ) -> list[Float32s]:
        """The scores of several queries' sentences, in batches across queries."""
        counts = [len(own) for own in sentences]
        owner = np.repeat(np.arange(len(queries)), counts)
        texts = list(map(passage, chain(*titles), chain(*sentences)))
        if not texts:
            return [np.zeros(0, np.float32) for _ in queries]
        apart = cosines(self.plain, list(queries), texts, owner)
        parts = self.together.pairs([queries[i] for i in owner.tolist()], texts)
        together = (unit_rows(parts[0]) * unit_rows(parts[1])).sum(1)
        scores = 10 * (self.scales[0] * apart + self.scales[1] * together)
        return np.split(scores, np.cumsum(counts)[:-1])


def cosines(encoder: Encoder, queries: list[str], texts: list[str], owner: Any) -> Float32s:
    """The cosine [P] of each text and its query, whose number ``owner`` [P] has, each read by itself."""
    vectors = unit_rows(encoder.encode(queries + texts))
    found: Float32s = (vectors[: len(queries)][owner] * vectors[len(queries) :]).sum(1)
    return found


def read_cross(folder: Path) -> tuple[Json, CrossConfig, Weights]:
    """The manifest of our cross-encoder in a folder, what it is made of, and its weights."""
    remedy = f"run `{command_of(folder)}`"
    manifest = read_manifest(folder, KIND, command_of(folder), _FIELDS, name=MANIFEST)
    look_at_some(folder, manifest, remedy, WEIGHTS, name=MANIFEST)
    with parsing(folder / MANIFEST, remedy):
        config = _config(manifest["config"])
    with parsing(folder / WEIGHTS, remedy):
        weights = load_packed(folder / WEIGHTS, HEADS if isinstance(config, BlockConfig) else SCALES)
    return manifest, config, weights


def _config(found: Json) -> CrossConfig:
    """What a manifest says; one that reads blocks says after how many layers the first head looks."""
    own = {name: value for name, value in found.items() if name != "exit" or value}
    config = BlockConfig(**own) if "exit" in own else CrossConfig(**own)
    kinds = {"encoder": str, "rank": int, "max_tokens": int, "exit": int}
    if any(type(value) is not kinds[name] for name, value in asdict(config).items()):
        raise ValueError("its configuration is of other types")
    return config


def load_cross(folder: Path, *, device: str = "cpu") -> "CrossEncoder | BlockReader | Classifier":
    """The reranker in a folder: ours, of sentences or of whole blocks, or a sequence classifier."""
    if not (folder / MANIFEST).exists():
        if (folder / _HUB).is_file():
            choose_device(device)  # before anything that needs torch: without it, this says what to install
            from linkwalk.retrieve.cross_torch import Classifier

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
    remedy = f"run `{command_of(folder)}`"
    if isinstance(config, BlockConfig):
        from linkwalk.retrieve.block_folder import open_blocks

        with parsing(folder / WEIGHTS, remedy):
            return open_blocks(plain, weights, config)
    with parsing(folder / WEIGHTS, remedy):
        return CrossEncoder(plain, weights, config)


def command_of(folder: Path) -> str:
    """What makes such a folder."""
    return command_for(folder, "train-reranker", "FILE", "--name", folder.name)
