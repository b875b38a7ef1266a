"""Trains phi together with a policy that scores links by their own words (app. B.1): the paper's embedding training.

Walks are drawn, some steps of each become decisions, and one pass over each block that is stood on scores all its
links. phi, phi_target, the learned vectors and the head all follow the gradient of the cloning loss. What comes of it
is an encoder: a wiki is embedded with it, and policies are cloned on the table as on any other (sec. 5.3, app. B.3).

A model of BERT's kind is read without padding. In bfloat16 on a GPU alone, which ends the process on some CPUs; means,
heads and losses are in full precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Unpack

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from linkwalk.arrays import Array, Int64s
from linkwalk.embed.block_tokens import BlockTokens, TokenBatch
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import InputError
from linkwalk.graph.csr import bounds_of
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import Batches, CloneConfig, likelihood
from linkwalk.learn.loop import LoopConfig, RunOptions, Training, seeded, train
from linkwalk.learn.own_walks import PICKS
from linkwalk.learn.ranks import ranks
from linkwalk.learn.readers.target import Sentences
from linkwalk.navigate import unit_rows
from linkwalk.policy.compass import LinearCompass
from linkwalk.policy.decisions import Decisions, some
from linkwalk.policy.heads import HeadConfig
from linkwalk.policy.spans import SpanModel, show
from linkwalk.progress import Progress
from linkwalk.settings import Count, CountOrNone, NotNegative, Positive, Share, at_least, one_of

HEADS = ("feedforward", "mlp", "compass")


@dataclass(frozen=True, kw_only=True)
class SpanConfig(LoopConfig):
    """How phi is trained with a policy. The defaults are the paper's (app. B.1)."""

    head: HeadConfig = field(default_factory=lambda: HeadConfig(head="mlp"))
    """``mlp`` (app. B.1), ``feedforward`` (sec. 4.2) or ``compass`` (ours)."""
    walks: Annotated[str, one_of("forward", "shortcut", "own")] = "forward"
    """``forward``, ``shortcut``, or ``own``: what is right on walks with a map over the embeddings that are there."""
    steps: Count = 20
    """T."""
    multistep: bool = True
    """Walks of Uniform(1, T) steps instead of T."""
    picks: Count = 1
    """Steps of a walk that become decisions; those of one walk share its goal."""
    batch: Count = 512
    """Decisions of an update."""
    pieces: Count = 1
    """Into how many parts a batch is cut to save memory; the gradient is the same."""
    edge_dropout: Share = 0.5
    """With which probability a link that was not taken is hidden (app. B.2); on walks with a map, none."""
    rank: CountOrNone = 0
    """Of an adapter that is trained in place of all weights; 0: none, the whole transformer is trained."""
    own_target: bool = True
    """Whether goals are read by a copy of phi that learns for itself (phi_target), or by phi."""
    sentences: Share = 0.0
    """Share of the goals that are shown by one of their sentences (sentence search)."""
    max_tokens: Annotated[int, at_least(8)] = 200
    """Of a block (app. B.1)."""
    tanh: bool = True
    """Whether means go through tanh (sec. 4.2)."""
    pace: Positive = 1.0
    """How many times faster the head and the learned vectors, which begin from nothing, learn."""
    updates: Count = 3_000_000
    learning_rate: NotNegative = 1e-5
    warmup: CountOrNone = 10_000
    weight_decay: NotNegative = 0.0

    def __post_init__(self) -> None:
        """Refuse heads that cannot score links by their words."""
        super().__post_init__()
        if self.head.head not in HEADS or not self.head.visited:
            raise InputError(
                f"head.head={self.head.head}: choose one of {', '.join(HEADS)}, head.visited=true"
            )


@dataclass(eq=False)
class SpanTraining(Training[SpanConfig]):
    """phi, phi_target and a head that learn from walks on one graph."""

    log_every = 10
    spans: SpanModel
    graph: Graph
    blocks: BlockTokens
    sentences: Sentences | None
    vectors: Array | None
    """What walks with a map go by."""

    def begin(self) -> None:
        """Walks are drawn as for cloning; those with a map look straight at the goal."""
        self.model, config, graph, units, width = self.spans, self.config, self.graph, None, 0
        if config.walks == "own":
            if self.vectors is None:
                raise InputError("walks=own needs embeddings to walk by: embed the wiki first")
            units, width = unit_rows(self.vectors), self.vectors.shape[1]
        self.straight = LinearCompass(np.zeros((width, width), np.float32), np.zeros(width, np.float32))
        as_cloned = CloneConfig(
            head=HeadConfig(head="compass"),
            walks=config.walks,
            steps=config.steps,
            multistep=config.multistep,
            edge_dropout=0.0,
        )
        self.batches = Batches(as_cloned, graph.forward, graph.reverse, np.array(graph.out_kinds), units)

    def decisions(self) -> Decisions:
        """Of fresh walks, as many as a batch has."""
        config = self.config
        walks = -(-config.batch // (PICKS if config.walks == "own" else config.picks))
        drawn = self.batches.draw(walks, self.rng, self.straight, edge_dropout=config.edge_dropout)
        if drawn.steps is None:
            return drawn
        return some(drawn, _picked(drawn.steps.walk, config.picks, self.rng)[: config.batch])

    def goals(self, decisions: Decisions) -> tuple[TokenBatch, Int64s]:
        """What is shown of the goals, each once; and which is whose [S]."""
        own, aim = np.unique(decisions.goal, return_inverse=True)
        texts = self.blocks.batch(own)
        if self.sentences is not None:
            shown = self.rng.random(len(own)) < self.config.sentences
            ids, mask = self.sentences.draw(own[shown], self.rng)
            texts = texts.replaced(shown, TokenBatch(ids[mask == 1], bounds_of(mask.sum(1))))
        return texts, aim

    def pieces(self, update: int) -> Iterator[Tensor]:
        """The loss of a batch, in as many parts as the configuration has."""
        decisions = self.decisions()
        goals, aim = self.goals(decisions)
        right = torch.zeros((), device=self.spans.kinds.device)
        mine, weight = ranks().part(len(decisions.current))
        for which in np.array_split(mine, min(self.config.pieces, len(mine))):
            part = some(decisions, which)
            used, own = np.unique(aim[which], return_inverse=True)
            shown = show(part, self.graph.forward, self.blocks, goals.take(used), own)
            logits, owner = self.model(part, shown)
            loss, accuracy = likelihood(logits, owner, part)
            right = right + accuracy.detach() * len(which) / len(mine)
            yield loss * (weight * len(which) / len(mine))
        self.accuracy = right

    def row(self) -> dict[str, float]:
        """How often the policy would have done what the walks did."""
        return {"accuracy": float(self.accuracy)}

    def optimiser(self) -> torch.optim.Optimizer:
        """Adam, with a pace of its own for what begins from nothing."""
        new = {id(weight) for weight in (self.spans.kinds, *self.spans.head.parameters())}
        fast, slow = ([w for w in self.parameters() if (id(w) in new) == wanted] for wanted in (True, False))
        groups = [{"params": slow, "scale": 1.0}, {"params": fast, "scale": self.config.pace}]
        return self.adamw(groups)


def _picked(walk: Int64s, picks: int, rng: Generator) -> Int64s:
    """So many random steps of each walk, of decisions that are given walk by walk."""
    order = np.lexsort((rng.random(len(walk)), walk))
    first = np.searchsorted(walk, walk)
    place = np.arange(len(walk)) - first
    found: Int64s = np.sort(order[place < picks])
    return found


def train_spans(
    graph: Graph,
    encoder: TransformerEncoder,
    config: SpanConfig,
    *,
    vectors: Array | None = None,
    blocks: BlockTokens | None = None,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> SpanModel:
    """Train on one graph; ``encoder`` is changed, and must be in float32, as a CPU's is."""
    if config.head.width != encoder.width:
        raise InputError(f"the head is for embeddings of width {config.head.width}, not {encoder.width}")
    progress = run.get("progress") or Progress(quiet=True)
    if blocks is None:
        with progress.stage("tokenise", graph.nodes, "blocks") as stage:
            blocks = BlockTokens.read(graph, encoder.tokenizer, config.max_tokens, stage.advance)
    sentences = None
    if config.sentences:
        with progress.stage("tokenise", graph.nodes, "blocks") as stage:
            sentences = Sentences.read(graph, encoder, config.max_tokens, stage.advance)
    with seeded(config.seed, device):
        model = SpanModel(
            encoder.model, config.head, rank=config.rank, own_target=config.own_target, tanh=config.tanh
        ).to(device)
        model.eval().head.train()  # nothing of what is read is dropped
        train(SpanTraining(config, model, graph, blocks, sentences, vectors), **run)
    return model.eval()
