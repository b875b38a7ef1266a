"""Tunes a trained target encoder on what people ask: from where search begins to the evidence (sec. 4.3, app. C.1).

Embeddings and policy stay as they are. For each claim or question the expert takes a shortest path from one of its
starts (BM25's first ten) to a block with evidence; the loss is the cloning loss plus a tenth of the distance to the
evidence's embedding, and, ours, a contrastive term in which the starts that hold no evidence are among what it must be
told from. No edges are dropped. Shapes: B pairs of a batch, M paths in all, D the embeddings' width.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.embed.batches import pad
from linkwalk.embed.bert import Weights
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import InputError
from linkwalk.graph.csr import Int32s, Int64s
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.limits import above_zero, at_least
from linkwalk.learn.target import SHORTEST, losses
from linkwalk.policy.decisions import from_walks
from linkwalk.policy.heads import Pointing, Table
from linkwalk.policy.low_rank import TargetModel, restore
from linkwalk.policy.target import AdapterConfig
from linkwalk.progress import Progress
from linkwalk.walks import Walks

_LOG_EVERY = 10


@dataclass(frozen=True, kw_only=True)
class TuneConfig:
    """How a target encoder is tuned; ``PAPER`` holds the paper's settings."""

    updates: int = 150
    batch: int = 128
    learning_rate: float = 2e-4
    """Constant."""
    epsilon: float = 1e-6
    weight_decay: float = 0.01
    cloning: float = 1.0
    distance: float = 0.1
    contrastive: float = 0.3
    """Weight of the contrastive term; the paper has none."""
    temperature: float = 0.05
    negatives: int = 2048
    """Random blocks beside the starts that hold no evidence."""
    longest: int = 20
    """Paths of more links are left out: no walk is that long."""
    max_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        at_least(self, updates=1, batch=1, longest=1)
        at_least(self, learning_rate=0, weight_decay=0, negatives=0, max_tokens=SHORTEST, seed=0)
        above_zero(self, "temperature")


PAPER = TuneConfig(batch=512, learning_rate=1e-6, contrastive=0.0)
"""AdamW at a constant 1e-6, epsilon 1e-6, batches of 512 (app. C.1)."""


class Pair(NamedTuple):
    """What is asked, where search would begin, and which blocks hold what it needs."""

    text: str
    starts: list[int]
    gold: list[int]


class Experts(NamedTuple):
    """Shortest paths from starts to evidence."""

    walks: Walks
    """[M]."""
    bounds: Int64s
    """Which paths are a pair's: those from ``bounds[i]`` to ``bounds[i + 1]``."""

    @classmethod
    def of(cls, graph: Graph, pairs: Sequence[Pair], longest: int) -> "Experts":
        """All paths of at most so many links, and at least one."""
        each = [(i, s, g) for i, pair in enumerate(pairs) for s in pair.starts for g in pair.gold if s != g]
        owner, starts, goals = np.array(each, np.int64).reshape(-1, 3).T
        lengths, nodes = ShortestPaths(graph.forward, graph.reverse).paths(starts, goals, longest)
        there = (lengths > 0) & (lengths <= longest)
        counts = np.bincount(owner[there], minlength=len(pairs))
        return cls(Walks(nodes[there], lengths[there]), np.concatenate(([0], np.cumsum(counts))))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Int64s, Walks]:
        """Pairs that have a path, and one path of each."""
        first, last = self.bounds[:-1], self.bounds[1:]
        pairs = rng.choice(np.flatnonzero(last > first), count)
        which = first[pairs] + (rng.random(count) * (last - first)[pairs]).astype(np.int64)
        return pairs, Walks(*(x[which] for x in self.walks))


def tune_target(
    graph: Graph,
    vectors: NDArray[Any],
    encoder: TransformerEncoder,
    adapter: Weights,
    adapter_config: AdapterConfig,
    head: Pointing,
    pairs: Sequence[Pair],
    config: TuneConfig,
    *,
    device: str = "cpu",
    metrics: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Tensor]:
    """Go on training ``adapter`` on pairs and return it; ``encoder`` is changed, open another for other work."""
    progress = progress or Progress(quiet=True)
    torch.manual_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    experts = Experts.of(graph, pairs, config.longest)
    if not len(experts.walks.nodes):
        raise InputError("no start of any query has a path to its evidence: there is nothing to learn from")
    target = TargetModel(encoder.model.to(device), adapter_config, tanh=encoder.tanh).to(device)
    restore(target, adapter)
    target.eval()  # as in the paper, nothing is dropped
    policy = head.to(device).requires_grad_(False).eval()
    table, kinds = Table.of(vectors, device), np.array(graph.out_kinds)
    tokens_of = encoder.tokenize([pair.text for pair in pairs])
    rows = [x if len(x) <= config.max_tokens else [*x[: config.max_tokens - 1], x[-1]] for x in tokens_of]
    padding = encoder.tokenizer.pad_token_id or 0
    weights = [p for p in target.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(
        weights, lr=config.learning_rate, eps=config.epsilon, weight_decay=config.weight_decay
    )
    began = time.monotonic()
    log = metrics.open("w", encoding="utf-8") if metrics else None
    try:
        with progress.stage("tune", config.updates, "updates") as stage:
            for update in range(1, config.updates + 1):
                which, walks = experts.draw(config.batch, rng)
                tokens = pad([rows[i] for i in which.tolist()], padding)
                q = target(*(torch.from_numpy(x).to(device) for x in tokens)).float()
                found = losses(
                    policy,
                    table,
                    q,
                    from_walks(walks, graph.forward, kinds),
                    np.repeat(np.arange(config.batch), walks.lengths),
                    walks.goals,
                    _others(graph, [pairs[i] for i in which.tolist()], config.negatives, rng),
                    config.temperature,
                )
                loss = (
                    config.cloning * found.cloning
                    + config.distance * found.distance
                    + config.contrastive * found.contrastive
                )
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(weights, 1.0)
                optimiser.step()
                if log and (update % _LOG_EVERY == 0 or update in (1, config.updates)):
                    row = {"update": update, "loss": loss.item()}
                    row |= {name: value.item() for name, value in found._asdict().items()}
                    row["seconds"] = round(time.monotonic() - began, 3)
                    log.write(json.dumps(row) + "\n")
                    log.flush()
                stage.advance()
    finally:
        if log:
            log.close()
    return target.adapter()


def _others(graph: Graph, pairs: Sequence[Pair], count: int, rng: np.random.Generator) -> Int32s:
    """What evidence must be told from: starts that hold none, for nobody of the batch, and random blocks."""
    gold = {node for pair in pairs for node in pair.gold}
    starts = {node for pair in pairs for node in pair.starts} - gold
    drawn = rng.integers(graph.nodes, size=count, dtype=np.int32)
    return np.concatenate((np.array(sorted(starts), np.int32), drawn[~np.isin(drawn, list(gold))]))
