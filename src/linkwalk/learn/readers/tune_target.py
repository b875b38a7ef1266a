"""Tunes a trained target encoder on what people ask: from where search begins to the evidence (sec. 4.3, app. C.1).

Embeddings and policy stay as they are. For each claim or question the expert takes a shortest path from one of its
starts (BM25's first ten) to a block with evidence; the loss is the cloning loss plus a tenth of the distance to the
evidence's embedding, and, ours, a contrastive term in which the starts that hold no evidence are among what it must be
told from. No edges are dropped. Shapes: B pairs of a batch, M paths in all, D the embeddings' width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.arrays import Int32s, Int64s
from linkwalk.embed.bert import Weights
from linkwalk.embed.tokens import pad
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import InputError
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.limits import at_least
from linkwalk.learn.loop import RunOptions, seeded, train
from linkwalk.learn.readers.target import ReaderConfig, ReaderTraining
from linkwalk.policy.decisions import from_walks
from linkwalk.policy.heads import NodeTable
from linkwalk.policy.low_rank import TargetModel, restore
from linkwalk.policy.target import AdapterConfig
from linkwalk.walks import Walks


@dataclass(frozen=True, kw_only=True)
class TuneConfig(ReaderConfig):
    """How a target encoder is tuned; ``PAPER`` holds the paper's settings, which have no contrastive term."""

    updates: int = 150
    batch: int = 128
    learning_rate: float = 2e-4
    schedule: str = "constant"
    epsilon: float = 1e-6
    negatives: int = 2048
    longest: int = 20
    """Paths of more links are left out: no walk is that long."""
    max_tokens: int = 64

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        at_least(self, longest=1, epsilon=0)


PAPER = TuneConfig(batch=512, learning_rate=1e-6, contrastive=0.0)
"""AdamW at a constant 1e-6, epsilon 1e-6, batches of 512 (app. C.1)."""


class TuningQuestion(NamedTuple):
    """What is asked, where search would begin, and which blocks hold what it needs."""

    text: str
    starts: list[int]
    gold: list[int]


class ExpertPaths(NamedTuple):
    """Shortest paths from starts to evidence."""

    walks: Walks
    """[M]."""
    bounds: Int64s
    """Which paths are a pair's: those from ``bounds[i]`` to ``bounds[i + 1]``."""

    @classmethod
    def of(cls, graph: Graph, pairs: Sequence[TuningQuestion], longest: int) -> "ExpertPaths":
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


class TuneTraining(ReaderTraining):
    """Texts are what people ask, and an expert walks from where search begins to the evidence."""

    log_every = 10

    def __init__(
        self,
        config: TuneConfig,
        target: TargetModel,
        policy: nn.Module,
        graph: Graph,
        table: NodeTable,
        pairs: Sequence[TuningQuestion],
        encoder: TransformerEncoder,
    ) -> None:
        super().__init__(config, target, policy, graph, table)
        self.pairs, self.epsilon = pairs, config.epsilon
        self.experts = ExpertPaths.of(graph, pairs, config.longest)
        if not len(self.experts.walks.nodes):
            raise InputError(
                "no start of any query has a path to its evidence: there is nothing to learn from"
            )
        most = config.max_tokens
        tokens_of = encoder.tokenize([pair.text for pair in pairs])
        self.rows = [x if len(x) <= most else [*x[: most - 1], x[-1]] for x in tokens_of]
        self.padding = encoder.tokenizer.pad_token_id or 0

    def loss(self, update: int) -> Tensor:
        """Of some pairs and an expert's path for each."""
        which, walks = self.experts.draw(self.settings.batch, self.rng)
        chosen = which.tolist()
        q = self.read(pad([self.rows[i] for i in chosen], self.padding))
        decisions = from_walks(walks, self.graph.forward, self.kinds)
        walk = np.repeat(np.arange(self.settings.batch), walks.lengths)
        others = _others(self.graph, [self.pairs[i] for i in chosen], self.settings.negatives, self.rng)
        return self.total(q, decisions, walk, walks.goals, others)

    def optimiser(self) -> torch.optim.Optimizer:
        """AdamW with the paper's epsilon."""
        rate, decay = self.config.learning_rate, self.config.weight_decay
        return torch.optim.AdamW(self.parameters(), lr=rate, eps=self.epsilon, weight_decay=decay)


def tune_target(
    graph: Graph,
    vectors: NDArray[Any],
    encoder: TransformerEncoder,
    adapter: Weights,
    adapter_config: AdapterConfig,
    head: nn.Module,
    pairs: Sequence[TuningQuestion],
    config: TuneConfig,
    *,
    device: str = "cpu",
    **kept: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Go on training ``adapter`` on pairs and return it; ``encoder`` is changed, open another for other work."""
    with seeded(config.seed, device):
        target = TargetModel(encoder.model.to(device), adapter_config, tanh=encoder.tanh).to(device)
        restore(target.adapter(), adapter)
        target.eval()  # as in the paper, nothing is dropped
        policy = head.to(device).requires_grad_(False).eval()
        train(
            TuneTraining(config, target, policy, graph, NodeTable.of(vectors, device), pairs, encoder), **kept
        )
    return target.adapter()


def _others(graph: Graph, pairs: Sequence[TuningQuestion], count: int, rng: np.random.Generator) -> Int32s:
    """What evidence must be told from: starts that hold none, for nobody of the batch, and random blocks."""
    gold = {node for pair in pairs for node in pair.gold}
    starts = {node for pair in pairs for node in pair.starts} - gold
    drawn = rng.integers(graph.nodes, size=count, dtype=np.int32)
    return np.concatenate((np.array(sorted(starts), np.int32), drawn[~np.isin(drawn, list(gold))]))
