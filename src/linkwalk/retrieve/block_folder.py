"""The folder of a reader of blocks: what it reads with, how its readings are ranked, how queries are read for search.

``cross.json`` seals all of it: ``cross.safetensors`` has the reader's adapter, a byte a number, and its two heads.
``ranking.json`` has the small networks of ``linkwalk.retrieve.judge``; without it the reader is a reranker of
sentences. ``search.safetensors`` has an adapter of the encoder that made the embeddings, by which queries are read for
dense search; the manifest's ``search`` names that encoder by its fingerprint.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.artifact import parsing, read_json, read_manifest, seal, steady, write_json
from linkwalk.embed import Embeddings
from linkwalk.embed.bert import Weights
from linkwalk.embed.encoder import BertEncoder, Reader
from linkwalk.embed.encoder_change import packed, unpacked
from linkwalk.embed.sections import NumpySections, SectionReader
from linkwalk.embed.tokens import Tokens
from linkwalk.errors import InputError
from linkwalk.policy.checkpoint import NO_NUMBERS, look_at_some
from linkwalk.policy.target import TargetEncoder
from linkwalk.retrieve.block_reader import HEADS, QUERY_TOKENS, VIA_TOKENS, BlockReader, unframed
from linkwalk.retrieve.cross import KIND, MANIFEST, WEIGHTS, BlockConfig, command_of
from linkwalk.retrieve.judge import JudgeWeights

RANKING, SEARCH = "ranking.json", "search.safetensors"
_LEAST = QUERY_TOKENS + VIA_TOKENS + 16  # tokens, so that some of the block is read in any case
_FIELDS = {"model": str, "config": dict}


class SearchReader(NamedTuple):
    """How queries are read for dense search."""

    encoder: str
    """The fingerprint of the embeddings that it fits."""
    adapter: Weights


def save_blocks(
    folder: Path,
    weights: Weights,
    config: BlockConfig,
    encoder: str,
    manifest: dict[str, Any],
    *,
    ranking: JudgeWeights | None = None,
    search: SearchReader | None = None,
) -> dict[str, Any]:
    """Write a reader of blocks; ``encoder`` is the fingerprint of the weights it adapts.

    The manifest comes last and seals all that is in the folder.
    """
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    adapter, heads = unframed(weights)
    save_file(packed(adapter) | {HEADS: np.asarray(heads, np.float32)}, folder / WEIGHTS)
    whole = {"artifact": KIND, "model": encoder, "config": asdict(config), **manifest}
    for name in (RANKING, SEARCH):
        (folder / name).unlink(missing_ok=True)
    if ranking is not None:
        write_json(folder / RANKING, ranking.to_json())
    if search is not None:
        save_file(packed(search.adapter), folder / SEARCH)
        whole["search"] = {"encoder": search.encoder}
    return seal(folder, whole, name=MANIFEST)


def open_blocks(plain: Reader, weights: Weights, config: BlockConfig) -> BlockReader:
    """The reader itself; ``plain`` is the encoder that it adapts."""
    adapter, heads = unframed(weights)
    sections: SectionReader
    tokens: Tokens | None
    if isinstance(plain, BertEncoder):
        # Merged into a copy of the weights: that takes 40 MB, and each reading a tenth of the time less.
        bert = plain.bert.changed(adapter)
        sections, tokens, longest = NumpySections(bert), plain.tokens, bert.longest
        layers, width, kinds = bert.layers, bert.width, bert.kinds
    else:
        from linkwalk.embed.transformer import TransformerEncoder
        from linkwalk.retrieve.cross_torch import TorchSections

        assert isinstance(plain, TransformerEncoder)
        other, about = plain.adapted(adapter), plain.model.config
        padding = other.tokenizer.pad_token_id or 0
        sections = TorchSections(other.model, padding, other.device, other.batch_tokens)
        tokens, longest = Tokens.open(plain.folder), about.max_position_embeddings
        layers, width, kinds = about.num_hidden_layers, about.hidden_size, about.type_vocab_size
    if tokens is None or kinds < 2:
        raise InputError("this encoder does not read pairs: take one of BERT's kind (minilm)")
    if not _LEAST <= config.max_tokens <= longest:
        raise ValueError(f"max_tokens={config.max_tokens}: it reads {_LEAST} to {longest}")
    if not 1 <= config.exit < layers:
        raise ValueError(f"exit={config.exit}: it has {layers} layers")
    if heads.shape != (2, 2 * width + 1):
        raise ValueError("the heads are of another model")
    return BlockReader(sections, tokens, heads, exit=config.exit, max_tokens=config.max_tokens)


def read_ranking(folder: Path) -> JudgeWeights | None:
    """How readings are ranked, where the folder says so."""
    return steady(folder, lambda: _read_ranking(folder), name=MANIFEST)


def _read_ranking(folder: Path) -> JudgeWeights | None:
    remedy = f"run `{command_of(folder)}`"
    manifest = _manifest(folder)
    if RANKING not in manifest.get("files", {}):
        return None
    look_at_some(folder, manifest, remedy, RANKING, name=MANIFEST)
    found = read_json(folder / RANKING, remedy)
    with parsing(folder / RANKING, remedy):
        return JudgeWeights.from_json(found)


def load_search(folder: Path, table: Embeddings, *, device: str = "cpu") -> TargetEncoder | None:
    """What reads queries for dense search over a table; None where the folder has none for its encoder."""
    found = steady(folder, lambda: _read_search(folder), name=MANIFEST)
    if found is None or found.encoder != table.fingerprint:
        return None
    plain = table.reader(device)
    with parsing(folder / SEARCH, f"run `{command_of(folder)}`"):
        return TargetEncoder(plain, found.adapter)


def _read_search(folder: Path) -> SearchReader | None:
    from safetensors.numpy import load_file

    remedy = f"run `{command_of(folder)}`"
    manifest = _manifest(folder)
    if "search" not in manifest:
        return None
    look_at_some(folder, manifest, remedy, SEARCH, name=MANIFEST)
    with parsing(folder / MANIFEST, remedy):
        encoder = str(manifest["search"]["encoder"])
    with parsing(folder / SEARCH, remedy):
        adapter = unpacked(load_file(folder / SEARCH))
        if not all(np.isfinite(value).all() for value in adapter.values()):
            raise ValueError(NO_NUMBERS)
    return SearchReader(encoder, adapter)


def _manifest(folder: Path) -> dict[str, Any]:
    return read_manifest(folder, KIND, command_of(folder), _FIELDS, name=MANIFEST)
