"""Trains the target encoder: one sentence of the goal must lead where the goal itself would (sec. 4.2, app. B.2, C.1).

Of each goal one random sentence is read, and q = phi_target(sentence) takes the place of phi(s_g). Three terms, each
with its weight:

cloning      the right links must be likely for the policy that is shown q (the paper's loss): the steps of random
             walks, or, ours, some steps of the policy's own walks with what would have been right (``own_walks``);
distance     1 - cosine of where the policy looks for q and for phi(s_g): the paper's pull of the target to its node
             (app. C.1), as a cosine and as the policy sees it;
contrastive  ours: among the batch's goals and random blocks, q must be nearest to its own.

The policy is a compass: untrained, the cosine itself, or a trained one, which stays as it is. The nodes' embeddings
stay fixed. Shapes: B goals, L tokens padded, D the embeddings' width, S decisions, A actions.
"""

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.embed.text import goal_sentences
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.errors import InputError
from linkwalk.graph.csr import Int32s, Int64s, gather_rows
from linkwalk.graph.store import Graph
from linkwalk.learn.limits import above_zero, at_least, shares
from linkwalk.learn.optimise import rise_and_fall
from linkwalk.learn.own_walks import BUDGET, OwnWalks
from linkwalk.navigate import Episodes, unit_rows
from linkwalk.navigate.guided import Guided
from linkwalk.policy.decisions import Decisions, from_walks
from linkwalk.policy.heads import Compass, HeadConfig, Pointing, Table, log_softmax
from linkwalk.policy.low_rank import TargetModel, scaled
from linkwalk.policy.target import AdapterConfig
from linkwalk.progress import Progress
from linkwalk.walks import ForwardWalks, ReverseWalks, Walks
from linkwalk.walks.shortcut import take_shortcuts

WALKS = ("forward", "shortcut", "own")
SHORTEST = 3
"""Tokens of a text: its first, one word, its last."""
_TOKENIZE_BLOCKS = 4096
_LOG_EVERY = 50
_NEVER = -1e4


@dataclass(frozen=True, kw_only=True)
class TargetConfig:
    """How a target encoder is trained."""

    adapter: AdapterConfig = field(default_factory=AdapterConfig)
    walks: str = "own"
    """What is imitated: ``forward`` or ``shortcut`` walks, or what is right on the policy's ``own``."""
    steps: int = 40
    """T of the walks whose ends are start and goal; Uniform(1, T) steps each."""
    uniform: float = 0.25
    """Share of the walks that go back from a uniform goal, for the sake of more texts; the others go forward."""
    batch: int = 512
    """Walks in a batch, a sentence each."""
    updates: int = 1500
    learning_rate: float = 5e-4
    """At its highest, after the warm-up; then along a cosine to zero. The paper: 1e-4, of all weights."""
    warmup: int = 100
    weight_decay: float = 0.01
    trust: float = 1.0
    """How far the adapter that is kept lies from the encoder itself (0) to the trained one (1)."""
    dropout: bool = True
    """Whether the transformer's own dropout is at work while training."""
    cloning: float = 1.0
    """Weight of the cloning loss."""
    distance: float = 0.1
    """Weight of the distance to the goal's direction."""
    contrastive: float = 0.3
    """Weight of the contrastive term."""
    temperature: float = 0.05
    """By which the contrastive term divides cosines."""
    negatives: int = 8192
    """Random blocks beside the batch's goals."""
    max_tokens: int = 96
    """Of a sentence, while training."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.walks not in WALKS:
            raise InputError(f"no walks named {self.walks!r}: choose one of {', '.join(WALKS)}")
        at_least(self, updates=1, batch=1, steps=1)
        shares(self, "uniform", "trust")
        at_least(self, learning_rate=0, warmup=0, weight_decay=0, negatives=0, max_tokens=SHORTEST, seed=0)
        above_zero(self, "temperature")
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
        tokens: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
        lengths: list[int] = [0]
        counts: list[int] = [0]
        closing = encoder.tokenize([""])[0][-1]
        for at in range(0, graph.nodes, _TOKENIZE_BLOCKS):
            stop = min(at + _TOKENIZE_BLOCKS, graph.nodes)
            texts = [goal_sentences(graph, node) for node in range(at, stop)]
            counts += map(len, texts)
            rows = encoder.tokenize([text for own in texts for text in own])
            rows = [row if len(row) <= max_tokens else [*row[: max_tokens - 1], closing] for row in rows]
            lengths += map(len, rows)
            tokens.append(np.fromiter((token for row in rows for token in row), np.int32))
            advance(stop - at)
        padding = encoder.tokenizer.pad_token_id or 0
        return cls(np.concatenate(tokens), np.cumsum(lengths), np.cumsum(counts), padding)

    def draw(self, nodes: Int32s, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


class Goals:
    """Walks of a configuration, for their ends and for what they do."""

    def __init__(self, graph: Graph, config: TargetConfig) -> None:
        self.forward, self.shortcut = graph.forward, config.walks == "shortcut"
        self.back = round(config.uniform * config.batch)
        self.ahead = config.batch - self.back
        self.onward = ForwardWalks(graph.forward, steps=config.steps, multistep=True, apart=True)
        self.homeward = ReverseWalks(
            graph.forward, graph.reverse, steps=config.steps, multistep=True, apart=True
        )

    def draw(self, rng: np.random.Generator) -> Walks:
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
    head: Pointing,
    table: Table,
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
    device = q.device
    count = len(decisions.current)
    logits, owner = table.logits(head, decisions, q.index_select(0, torch.as_tensor(walk, device=device)))
    if decisions.share is None:
        taken = torch.as_tensor(decisions.taken, device=device)
        right = torch.zeros_like(logits).index_fill(0, taken, 1.0)
        # Whoever is shown q will not go back to a page it has seen; a walk may.
        closed = torch.as_tensor(decisions.visited, device=device).index_fill(0, taken, False)
        logits = logits.masked_fill(closed, _NEVER)
    else:
        right = torch.as_tensor(decisions.share, device=device)
    likely = log_softmax(logits, owner, count)
    best = torch.full((count,), -torch.inf, device=device).scatter_reduce(0, owner, logits.detach(), "amax")

    nodes = torch.as_tensor(np.concatenate((goals, others)), device=device).long()
    units = nn.functional.normalize(table.vectors[nodes].float(), dim=-1)
    towards = nn.functional.cosine_similarity(head.direction(q), head.direction(units[: len(goals)]), dim=-1)
    cosines = nn.functional.normalize(q, dim=-1) @ units.T
    mine = torch.arange(len(goals), device=device)
    again = (nodes[None, :] == nodes[: len(goals), None]).fill_diagonal_(False)
    apart = cosines.masked_fill(again, _NEVER)
    return Losses(
        cloning=-(right * likely).sum() / count,
        distance=1 - towards.mean(),
        contrastive=nn.functional.cross_entropy(apart / temperature, mine),
        accuracy=(right * (logits >= best.index_select(0, owner))).sum() / count,
        nearest=(apart.argmax(-1) == mine).float().mean(),
    )


def train_target(
    graph: Graph,
    vectors: NDArray[Any],
    encoder: TransformerEncoder,
    config: TargetConfig,
    *,
    head: Pointing | None = None,
    sentences: Sentences | None = None,
    device: str = "cpu",
    metrics: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Tensor]:
    """Train an adapter of ``encoder`` on one graph and return it; losses go to ``metrics`` as JSON lines.

    ``head`` is a trained policy, which stays as it is; without one, queries are trained for the cosine. ``encoder`` is
    changed: open another one for other work. It must be in float32, as a CPU's is.
    """
    progress = progress or Progress(quiet=True)
    torch.manual_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    if sentences is None:
        with progress.stage("tokenise", graph.nodes, "blocks") as stage:
            sentences = Sentences.read(graph, encoder, config.max_tokens, stage.advance)
    target = TargetModel(encoder.model.to(device), config.adapter, tanh=encoder.tanh).to(device)
    target.train(config.dropout)
    policy = _policy(head, vectors.shape[1]).to(device)
    table, kinds = Table.of(vectors, device), np.array(graph.out_kinds)
    goals = Goals(graph, config)
    own = None
    if config.walks == "own":
        units = unit_rows(vectors)
        own = OwnWalks(graph.forward, graph.reverse, kinds, units, steps=config.steps, multistep=True)
        walker = Guided("policy", policy, graph.forward, units, workers=own.workers)
    weights = [p for p in (*target.parameters(), *policy.parameters()) if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=config.weight_decay)
    # bfloat16 on a GPU alone: on some CPUs it ends the process.
    half = torch.autocast("cuda", torch.bfloat16) if device.startswith("cuda") else nullcontext()
    started = time.monotonic()
    log = metrics.open("w") if metrics else None
    try:
        with progress.stage("train", config.updates, "updates") as stage:
            for update in range(1, config.updates + 1):
                walks = goals.draw(rng)
                tokens = sentences.draw(walks.goals, rng)
                others = rng.integers(graph.nodes, size=config.negatives, dtype=np.int32)
                with half:
                    q = target(*(torch.from_numpy(x).to(device) for x in tokens)).float()
                if own is None:
                    decisions = from_walks(walks, graph.forward, kinds)
                    walk = np.repeat(np.arange(config.batch), walks.lengths)
                else:
                    episodes = Episodes.of(walks.starts, walks.goals)
                    episodes = episodes._replace(queries=unit_rows(q.detach().cpu().numpy()))
                    journeys = walker.run(episodes, budget=BUDGET)
                    decisions, walk = own.label(walks.goals, journeys, rng)
                found = losses(policy, table, q, decisions, walk, walks.goals, others, config.temperature)
                loss = (
                    config.cloning * found.cloning
                    + config.distance * found.distance
                    + config.contrastive * found.contrastive
                )
                for group in optimiser.param_groups:
                    group["lr"] = rise_and_fall(config, update)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(weights, 1.0)
                optimiser.step()
                if log and (update % _LOG_EVERY == 0 or update in (1, config.updates)):
                    row = {"update": update, "loss": loss.item()}
                    row |= {name: value.item() for name, value in found._asdict().items()}
                    if own is not None:
                        row["success"] = float(journeys.success.mean())
                    row["seconds"] = round(time.monotonic() - started, 3)
                    log.write(json.dumps(row) + "\n")
                    log.flush()
                stage.advance()
    finally:
        if log:
            log.close()
    return scaled(target.adapter(), config.trust)


def _policy(head: Pointing | None, width: int) -> Pointing:
    """The compass that is shown q: a trained one as it is, or one that points straight at q and learns its scales."""
    if head is not None:
        return head.requires_grad_(False).eval()
    compass = Compass(HeadConfig(head="compass", width=width))
    compass.turn.requires_grad_(False)
    return compass


def config_to_json(config: TargetConfig) -> dict[str, Any]:
    """The resolved configuration, for the manifest."""
    return asdict(config)
