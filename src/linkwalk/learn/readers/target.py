"""Trains the target encoder: one sentence of the goal must lead where the goal itself would (sec. 4.2, app. B.2, C.1).

Of each goal one random sentence is read, and q = phi_target(sentence) takes the place of phi(s_g). Three terms, each
with its weight:

cloning      the right links must be likely for the policy that is shown q (the paper's loss): the steps of random
             walks, or, ours, some steps of the policy's own walks with what would have been right (``own_walks``);
distance     1 - cosine of where the policy looks for q and for phi(s_g): the paper's pull of the target to its node
             (app. C.1), as a cosine and as the policy sees it;
contrastive  ours: among the batch's goals and random blocks, q must be nearest to its own.

The policy is a trained one, whatever its head, which stays as it is, or, without one, the cosine itself. A head that is
no compass is shown q as long as the nodes' vectors are on average, as it is when it walks. The nodes' embeddings stay
fixed. Shapes: B goals, L tokens padded, D the embeddings' width, S decisions, A actions.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple, TypeVar, Unpack

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from linkwalk.arrays import Array, Int32s, Int64s
from linkwalk.embed.text import goal_sentences
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import InputError
from linkwalk.graph.csr import bounds_of, gather_rows
from linkwalk.graph.store import Graph
from linkwalk.learn.loop import DivergenceError, LoopConfig, RunOptions, Training, seeded, train
from linkwalk.learn.own_walks import ATTEMPTS, BUDGET, NothingToDecide, OwnWalks
from linkwalk.navigate import Episodes, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.policy.compass import Compass
from linkwalk.policy.decisions import Decisions, from_walks
from linkwalk.policy.heads import CompassHead, HeadConfig, NodeTable, Pointing, shared_likelihood
from linkwalk.policy.low_rank import TargetModel, scaled
from linkwalk.policy.target import AdapterConfig
from linkwalk.progress import Progress
from linkwalk.settings import Count, CountOrNone, NotNegative, Positive, Share, at_least
from linkwalk.walks import ForwardWalks, ReverseWalks, Walks, take_shortcuts

WALKS = ("forward", "shortcut", "own")
SHORTEST = 3
"""Tokens of a text: its first, one word, its last."""
_TOKENIZE_BLOCKS = 4096
_NEVER = -1e4


@dataclass(frozen=True, kw_only=True)
class ReaderConfig(LoopConfig):
    """What all trainings of a target encoder have in common."""

    batch: Count = 512
    """Sentences in a batch, each with a walk."""
    cloning: float = 1.0
    """Weight of the cloning loss."""
    distance: float = 0.1
    """Weight of the distance to the goal's direction."""
    contrastive: float = 0.3
    """Weight of the contrastive term."""
    temperature: Positive = 0.05
    """By which the contrastive term divides cosines."""
    negatives: CountOrNone = 8192
    """Random blocks that goals are told from."""
    max_tokens: Annotated[int, at_least(SHORTEST)] = 96
    """Of a sentence, while training."""


@dataclass(frozen=True, kw_only=True)
class TargetConfig(ReaderConfig):
    """How a target encoder is trained. The paper's learning rate: 1e-4, of all weights."""

    adapter: AdapterConfig = field(default_factory=AdapterConfig)
    walks: str = "own"
    """What is imitated: ``forward`` or ``shortcut`` walks, or what is right on the policy's ``own``."""
    steps: Count = 40
    """T of the walks whose ends are start and goal; Uniform(1, T) steps each."""
    uniform: Share = 0.25
    """Share of the walks that go back from a uniform goal, for the sake of more texts; the others go forward."""
    updates: Count = 1500
    learning_rate: NotNegative = 5e-4
    warmup: CountOrNone = 100
    trust: Share = 1.0
    """How far the adapter that is kept lies from the encoder itself (0) to the trained one (1)."""
    dropout: bool = True
    """Whether the transformer's own dropout is at work while training."""

    def __post_init__(self) -> None:
        """Refuse walks that are not there, and an adapter of no rank."""
        super().__post_init__()
        if self.walks not in WALKS:
            raise InputError(f"no walks named {self.walks!r}: choose one of {', '.join(WALKS)}")
        if self.adapter.rank < 1:
            raise InputError(f"adapter.rank={self.adapter.rank}: choose 1 or more")


class Sentences(NamedTuple):
    """All sentences of a graph that may stand for their block, as tokens."""

    tokens: Int32s
    """Of all sentences, one after the other."""
    bounds: Int64s
    """Where each sentence begins, and the last one ends."""
    blocks: Int64s
    """Which sentences are a block's: those from ``blocks[node]`` to ``blocks[node + 1]``."""
    padding: int
    """The token that fills a batch up."""

    @classmethod
    def read(
        cls,
        graph: Graph,
        encoder: TransformerEncoder,
        max_tokens: int,
        advance: Callable[[float], None] = lambda _: None,
    ) -> "Sentences":
        """Tokenise a graph once, so that batches are cut out of arrays."""
        tokens: list[Int32s] = [np.zeros(0, np.int32)]
        lengths: list[int] = []
        counts: list[int] = []
        for at in range(0, graph.nodes, _TOKENIZE_BLOCKS):
            stop = min(at + _TOKENIZE_BLOCKS, graph.nodes)
            texts = [goal_sentences(graph, node) for node in range(at, stop)]
            counts += map(len, texts)
            rows = tokenised(encoder, [text for own in texts for text in own], max_tokens)
            lengths += map(len, rows)
            tokens.append(np.fromiter((token for row in rows for token in row), np.int32))
            advance(stop - at)
        padding = encoder.tokenizer.pad_token_id or 0
        return cls(np.concatenate(tokens), bounds_of(lengths), bounds_of(counts), padding)

    def draw(self, nodes: Int32s, rng: Generator) -> tuple[Int64s, Int64s]:
        """One random sentence of each block: token ids and mask [B, L]."""
        first, last = self.blocks[nodes], self.blocks[nodes.astype(np.int64) + 1]
        which = first + (rng.random(len(nodes)) * (last - first)).astype(np.int64)
        bounds, tokens = gather_rows(self.bounds, self.tokens, which.astype(np.int32))
        lengths = np.diff(bounds)
        # A multiple of 8, so that a GPU meets few shapes.
        mask = np.arange(-(-int(lengths.max(initial=1)) // 8) * 8)[None, :] < lengths[:, None]
        ids = np.full(mask.shape, self.padding, np.int64)
        ids[mask] = tokens
        return ids, mask.astype(np.int64)


def tokenised(encoder: TransformerEncoder, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    """The tokens of some texts; what is too long is cut before its last token, which closes it."""
    rows = encoder.tokenize(list(texts))
    return [row if len(row) <= max_tokens else [*row[: max_tokens - 1], row[-1]] for row in rows]


class GoalWalks:
    """Walks of a configuration, for their ends and for what they do."""

    def __init__(self, graph: Graph, config: TargetConfig) -> None:
        self.forward, self.shortcut = graph.forward, config.walks == "shortcut"
        self.back = round(config.uniform * config.batch)
        self.ahead = config.batch - self.back
        self.onward = ForwardWalks(graph.forward, steps=config.steps, multistep=True, apart=True)
        self.homeward = ReverseWalks(
            graph.forward, graph.reverse, steps=config.steps, multistep=True, apart=True
        )

    def draw(self, rng: Generator) -> Walks:
        """A batch of walks with different ends."""
        parts = self.onward.sample(self.ahead, rng), self.homeward.sample(self.back, rng)
        walks = Walks(*map(np.concatenate, zip(*parts, strict=True)))
        return take_shortcuts(self.forward, walks) if self.shortcut else walks


class Losses(NamedTuple):
    """The three terms, unweighted, and two rates to look at."""

    cloning: Tensor
    distance: Tensor
    contrastive: Tensor
    accuracy: Tensor
    """How often the policy that is shown q would do what is right."""
    nearest: Tensor
    """How often q is nearest to its own goal among those it is compared with."""


def losses(
    head: nn.Module,
    table: NodeTable,
    q: Tensor,
    decisions: Decisions,
    walk: Int64s,
    goals: Int32s,
    others: Int32s,
    temperature: float,
) -> Losses:
    """The terms for queries ``q`` [B, D] to ``goals`` [B]; ``walk`` [S] says which query a decision follows.

    ``others`` are blocks to tell the goals from; where one is a query's own goal, it does not count.
    """
    device, count = q.device, len(decisions.current)
    shown = q if isinstance(head, Pointing) else table.length * normalize(q, dim=-1)
    logits, owner = table.logits(head, decisions, shown.index_select(0, torch.as_tensor(walk, device=device)))
    if decisions.share is None:
        taken = torch.as_tensor(decisions.taken, device=device)
        right = torch.zeros_like(logits).index_fill(0, taken, 1.0)
        # Whoever is shown q will not go back to a page it has seen; a walk may.
        closed = torch.as_tensor(decisions.visited, device=device).index_fill(0, taken, False)
        logits = logits.masked_fill(closed, _NEVER)
    else:
        right = torch.as_tensor(decisions.share, device=device)
    cloning, accuracy = shared_likelihood(logits, owner, right, count)

    nodes = torch.as_tensor(np.concatenate((goals, others)), device=device).long()
    units = normalize(table.vectors[nodes].float(), dim=-1)
    look: Callable[[Tensor], Tensor] = head.direction if isinstance(head, Pointing) else nn.Identity()
    towards = cosine_similarity(look(q), look(units[: len(goals)]), dim=-1)
    mine = torch.arange(len(goals), device=device)
    again = (nodes[None, :] == nodes[: len(goals), None]).fill_diagonal_(False)
    apart = (normalize(q, dim=-1) @ units.T).masked_fill(again, _NEVER)
    return Losses(
        cloning,
        distance=1 - towards.mean(),
        contrastive=cross_entropy(apart / temperature, mine),
        accuracy=accuracy,
        nearest=(apart.argmax(-1) == mine).float().mean(),
    )


AnyReader = TypeVar("AnyReader", bound=ReaderConfig, covariant=True)


@dataclass(eq=False)
class ReaderTraining(Training[AnyReader]):
    """A target encoder that learns to read for a policy, which is shown what it makes of a text."""

    target: TargetModel
    policy: nn.Module
    graph: Graph
    table: NodeTable

    def begin(self) -> None:
        """The adapter learns, and a policy that is not fixed learns along."""
        self.model = nn.ModuleList((self.target, self.policy))
        self.kinds = np.array(self.graph.out_kinds)

    def read(self, tokens: tuple[Int64s, Int64s]) -> Tensor:
        """Q [B, D] of tokenised texts."""
        device = self.table.vectors.device
        q: Tensor = self.target(*(torch.from_numpy(x).to(device) for x in tokens)).float()
        return q

    def total(self, q: Tensor, decisions: Decisions, walk: Int64s, goals: Int32s, others: Int32s) -> Tensor:
        """The three terms, weighted."""
        config = self.config
        self.found = found = losses(
            self.policy, self.table, q, decisions, walk, goals, others, config.temperature
        )
        weighed = config.cloning * found.cloning + config.distance * found.distance
        return weighed + config.contrastive * found.contrastive

    def imitation(self, q: Tensor, walks: Walks, others: Int32s) -> Tensor:
        """The same of all steps of walks, one to each goal."""
        walk = np.repeat(np.arange(len(walks.lengths)), walks.lengths)
        decisions = from_walks(walks, self.graph.forward, self.kinds)
        return self.total(q, decisions, walk, walks.goals, others)

    def row(self) -> dict[str, float]:
        """The terms, and the two rates."""
        return {name: value.item() for name, value in self.found._asdict().items()}

    def weights(self) -> dict[str, Tensor]:
        """The adapter's, and those of a policy that learns along."""
        own = {n: p.detach() for n, p in self.policy.named_parameters() if p.requires_grad}
        return self.target.adapter() | {f"policy.{name}": value for name, value in own.items()}


@dataclass(eq=False)
class SentenceTraining(ReaderTraining[TargetConfig]):
    """Texts are sentences of a wiki's own blocks."""

    vectors: Array
    sentences: Sentences
    ways: MoveConfig

    def begin(self) -> None:
        """A policy that is a compass walks by itself."""
        super().begin()
        config, graph = self.config, self.graph
        self.goals, self.own = GoalWalks(graph, config), None
        if config.walks == "own":
            if not isinstance(self.policy, Compass):
                raise InputError("walks=own is for a policy that walks with a map: choose walks=shortcut")
            units = unit_rows(self.vectors)
            self.own = OwnWalks(graph.forward, graph.reverse, self.kinds, units, config.steps, multistep=True)
            self.walker = CompassWalker(
                "policy", self.policy, graph.forward, units, self.ways, workers=self.own.workers
            )

    def loss(self, update: int) -> Tensor:
        """Of a batch that has anything to decide."""
        for _ in range(ATTEMPTS):
            with suppress(NothingToDecide):
                return self._loss(update)
        raise NothingToDecide

    def _loss(self, update: int) -> Tensor:
        walks = self.goals.draw(self.rng)
        tokens = self.sentences.draw(walks.goals, self.rng)
        others = self.rng.integers(self.graph.nodes, size=self.config.negatives, dtype=np.int32)
        # bfloat16 on a GPU alone: on some CPUs it ends the process.
        with torch.autocast("cuda", torch.bfloat16, enabled=self.table.vectors.is_cuda):
            q = self.read(tokens)
        if self.own is None:
            return self.imitation(q, walks, others)
        shown = q.detach().cpu().numpy()
        if not np.isfinite(shown).all():  # nobody walks by it
            raise DivergenceError(update)
        episodes = Episodes.of(walks.starts, walks.goals)._replace(queries=unit_rows(shown))
        journeys = self.walker.run(episodes, budget=BUDGET)
        self.success = float(journeys.success.mean())
        decisions, walk = self.own.label(walks.goals, journeys, self.rng)
        return self.total(q, decisions, walk, walks.goals, others)

    def row(self) -> dict[str, float]:
        """How often the policy arrives, too, where it walks."""
        return super().row() | ({} if self.own is None else {"success": self.success})


def train_target(
    graph: Graph,
    vectors: Array,
    encoder: TransformerEncoder,
    config: TargetConfig,
    *,
    head: nn.Module | None = None,
    sentences: Sentences | None = None,
    ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train an adapter of ``encoder`` on one graph and return it.

    ``head`` is a trained policy, which stays as it is, and ``ways`` how it walks; without one, queries are trained for
    the cosine. ``encoder`` is changed: open another one for other work. It must be in float32, as a CPU's is.
    """
    if sentences is None:
        progress = run.get("progress") or Progress(quiet=True)
        with progress.stage("tokenise", graph.nodes, "blocks") as stage:
            sentences = Sentences.read(graph, encoder, config.max_tokens, stage.advance)
    with seeded(config.seed, device):
        target = TargetModel(encoder.model.to(device), config.adapter, tanh=encoder.tanh).to(device)
        target.train(config.dropout)
        if head is None:  # a compass that points at q, and learns its scales
            policy: nn.Module = CompassHead(HeadConfig(head="compass", width=vectors.shape[1]))
            policy.turn.requires_grad_(False)
        else:
            policy = head.requires_grad_(False).eval()
        policy.to(device)
        table = NodeTable.of(vectors, device)
        train(SentenceTraining(config, target, policy, graph, table, vectors, sentences, ways), **run)
    return scaled(target.adapter(), config.trust)
