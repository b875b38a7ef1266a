"""Tunes a trained target encoder on what people ask: from where search begins to the evidence (sec. 4.3, app. C.1).

Embeddings and policy stay as they are. For each claim or question the expert takes a shortest path from one of its
starts (BM25's first ten) to a block with evidence; the loss is the cloning loss plus a tenth of the distance to the
evidence's embedding, and, ours, a contrastive term in which the starts that hold no evidence are among what it must be
told from. No edges are dropped. Shapes: B pairs of a batch, M paths in all, D the embeddings' width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Unpack

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

from linkwalk.arrays import Array, Int32s, Int64s
from linkwalk.embed.bert import Weights
from linkwalk.embed.tokens import pad
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import InputError
from linkwalk.graph.csr import bounds_of
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.loop import RunOptions, Schedule, seeded, train
from linkwalk.learn.readers.target import SHORTEST, ReaderConfig, ReaderTraining, tokenised
from linkwalk.policy.heads import NodeTable
from linkwalk.policy.low_rank import TargetModel, restore
from linkwalk.policy.target import AdapterConfig
from linkwalk.settings import Count, CountOrNone, NotNegative, at_least
from linkwalk.walks import Walks


@dataclass(frozen=True, kw_only=True)
class TuneConfig(ReaderConfig):
    """How a target encoder is tuned; ``PAPER`` holds the paper's settings, which have no contrastive term."""

    updates: Count = 150
    batch: Count = 128
    learning_rate: NotNegative = 2e-4
    schedule: Schedule = "constant"
    epsilon: NotNegative = 1e-6
    negatives: CountOrNone = 2048
    longest: Count = 20
    """Paths of more links are left out: no walk is that long."""
    max_tokens: Annotated[int, at_least(SHORTEST)] = 64


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
        return cls(Walks(nodes[there], lengths[there]), bounds_of(counts))

    def draw(self, count: int, rng: Generator) -> tuple[Int64s, Walks]:
        """Pairs that have a path, and one path of each."""
        first, last = self.bounds[:-1], self.bounds[1:]
        pairs = rng.choice(np.flatnonzero(last > first), count)
        which = first[pairs] + (rng.random(count) * (last - first)[pairs]).astype(np.int64)
        return pairs, Walks(*(x[which] for x in self.walks))


@dataclass(eq=False)
class TuneTraining(ReaderTraining[TuneConfig]):
    """Texts are what people ask, and an expert walks from where search begins to the evidence."""

    log_every = 10
    questions: Sequence[TuningQuestion]
    encoder: TransformerEncoder

    def begin(self) -> None:
        """Find the experts' paths, and tokenise the questions once."""
        super().begin()
        self.experts = ExpertPaths.of(self.graph, self.questions, self.config.longest)
        if not len(self.experts.walks.nodes):
            raise InputError(
                "no start of any query has a path to its evidence: there is nothing to learn from"
            )
        texts = [question.text for question in self.questions]
        self.rows = tokenised(self.encoder, texts, self.config.max_tokens)

    def loss(self, update: int) -> Tensor:
        """Of some questions and an expert's path for each."""
        which, walks = self.experts.draw(self.config.batch, self.rng)
        chosen, padding = which.tolist(), self.encoder.tokenizer.pad_token_id or 0
        q = self.read(pad([self.rows[i] for i in chosen], padding))
        asked = [self.questions[i] for i in chosen]
        return self.imitation(q, walks, _others(self.graph, asked, self.config.negatives, self.rng))

    def optimiser(self) -> torch.optim.Optimizer:
        """AdamW with the paper's epsilon."""
        return self.adamw(self.parameters(), eps=self.config.epsilon)


def tune_target(
    graph: Graph,
    vectors: Array,
    encoder: TransformerEncoder,
    adapter: Weights,
    adapter_config: AdapterConfig,
    head: nn.Module,
    pairs: Sequence[TuningQuestion],
    config: TuneConfig,
    *,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Go on training ``adapter`` on pairs and return it; ``encoder`` is changed, open another for other work."""
    with seeded(config.seed, device):
        target = TargetModel(encoder.model.to(device), adapter_config, tanh=encoder.tanh).to(device)
        restore(target.adapter(), adapter)
        target.eval()  # as in the paper, nothing is dropped
        policy = head.to(device).requires_grad_(False).eval()
        table = NodeTable.of(vectors, device)
        train(TuneTraining(config, target, policy, graph, table, pairs, encoder), **run)
    return target.adapter()


def _others(graph: Graph, pairs: Sequence[TuningQuestion], count: int, rng: Generator) -> Int32s:
    """What evidence must be told from: starts that hold none, for nobody of the batch, and random blocks."""
    gold = {node for pair in pairs for node in pair.gold}
    starts = {node for pair in pairs for node in pair.starts} - gold
    drawn = rng.integers(graph.nodes, size=count, dtype=np.int32)
    return np.concatenate((np.array(sorted(starts), np.int32), drawn[~np.isin(drawn, list(gold))]))
