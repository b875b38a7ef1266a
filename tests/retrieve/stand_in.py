"""A reader of blocks with a judge that have learned nothing, for tests of all that stands on them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkwalk.embed.bert import _LINEAR, Weights
from linkwalk.embed.encoder import BertEncoder, open_encoder
from linkwalk.embed.model import find_model
from linkwalk.retrieve.block_folder import SearchReader, open_blocks, save_blocks
from linkwalk.retrieve.block_reader import HEADS, BlockReader, fresh_heads
from linkwalk.retrieve.cross import BlockConfig
from linkwalk.retrieve.judge import RANK, SURE, WORTH, JudgeWeights
from linkwalk.retrieve.scorer import Scorer


def scorer(names: Sequence[str], bias: float = 0.0, **weights: float) -> Scorer:
    """A linear score."""
    linear = np.array([weights.get(name, 0.0) for name in names], np.float32)
    zero, one = np.zeros(len(names), np.float32), np.ones(len(names), np.float32)
    return Scorer(tuple(names), zero, one, linear, np.zeros((0, len(names) + 1), np.float32), zero[:0], bias)


def by_hand(*, enough: float = 0.0, nothing: float = 0.0) -> JudgeWeights:
    """Opens what search likes, and links in good sentences; ranks by the reader."""
    worth = scorer(WORTH, search=10, words=2, words_rank=1, near_rank=1, linked=-1.0, via=2.0, title=1)
    rank = scorer(RANK, best=10, search=3, words=1)
    return JudgeWeights(
        worth=worth, rank=rank, sure=scorer(SURE, bias=-1, best=4), enough=enough, nothing=nothing
    )


def adapter(
    encoder: str = "minilm", rank: int = 2, seed: int = 0, size: float = 0.05
) -> dict[str, np.ndarray]:
    """Changes of low rank that mean nothing."""
    rng = np.random.default_rng(seed)
    plain = open_encoder(encoder, device="cpu")
    assert isinstance(plain, BertEncoder)
    found = {}
    for layer in range(plain.bert.layers):
        for name in _LINEAR:
            whole = f"encoder.layer.{layer}.{name}"
            out, width = plain.bert.weights[f"{whole}.weight"].shape
            found[f"{whole}.up"] = (size * rng.standard_normal((out, rank))).astype(np.float32)
            found[f"{whole}.down"] = (rng.standard_normal((rank, width)) / width**0.5).astype(np.float32)
    return found


def weights_of(encoder: str = "minilm", *, rank: int = 2, seed: int = 0) -> Weights:
    """A reader's weights: the heads are ten times the cosine, a little shaken."""
    plain = open_encoder(encoder, device="cpu")
    heads = fresh_heads(plain.width)
    heads += 0.1 * np.random.default_rng(seed + 1).standard_normal(heads.shape).astype(np.float32)
    return {**adapter(encoder, rank, seed), HEADS: heads}


def reader_of(encoder: str = "minilm", *, exit: int = 3, max_tokens: int = 224, seed: int = 0) -> BlockReader:
    """Such a reader, on a CPU."""
    config = BlockConfig(encoder=encoder, rank=2, exit=exit, max_tokens=max_tokens)
    return open_blocks(open_encoder(encoder, device="cpu"), weights_of(encoder, seed=seed), config)


def older(folder: Path, encoder: str = "minilm") -> Path:
    """The folder of a cross-encoder of single sentences, as ``linkwalk train-reranker`` makes them."""
    import torch

    from linkwalk.retrieve.cross import SCALES, CrossConfig
    from linkwalk.retrieve.cross_torch import save_cross

    weights = {name: torch.from_numpy(value) for name, value in adapter(encoder).items()}
    weights[SCALES] = torch.tensor([1.2, 1.0])
    config = CrossConfig(encoder=encoder, rank=2)
    save_cross(folder, weights, config, find_model(encoder).fingerprint, {})
    return folder


def stand_in(
    folder: Path,
    encoder: str = "minilm",
    *,
    exit: int = 3,
    ranking: JudgeWeights | None = None,
    search: str | None = None,
) -> Path:
    """Its folder; ``search`` is the fingerprint of the embeddings that it searches, by ``minilm-walks``."""
    save_blocks(
        folder,
        weights_of(encoder),
        BlockConfig(encoder=encoder, rank=2, exit=exit),
        find_model(encoder).fingerprint,
        {},
        ranking=ranking,
        search=None if search is None else SearchReader(search, adapter("minilm-walks", seed=7)),
    )
    return folder
