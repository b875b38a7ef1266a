"""Trains the target encoder: one sentence of the goal must lead where the goal itself would (sec. 4.2, app. B.2, C.1).

Walks are drawn as for cloning. Of each walk's goal one random sentence is read, and q = phi_target(sentence) takes the
place of phi(s_g). Three terms, each with its weight:

cloning      the walk's steps must be likely for the policy that is shown q (the paper's loss);
distance     1 - cosine of q and phi(s_g), the paper's pull of the target to its node (app. C.1), as a cosine;
contrastive  ours: among the batch's goals and random blocks, q must be nearest to its own. That is what makes up for
             the title, which the block's embedding knows and the sentence does not.

The nodes' embeddings stay fixed. Shapes: B walks, L tokens padded, D the embeddings' width, S decisions, A actions.
"""

import json
import math
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

from linkwalk.embed.encoder import TransformerEncoder
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.csr import Int32s, Int64s, gather_rows
from linkwalk.graph.store import KINDS, Graph
from linkwalk.policy.decisions import Decisions, from_walks
from linkwalk.policy.heads import log_softmax
from linkwalk.policy.target import AdapterConfig, TargetModel
from linkwalk.progress import Progress
from linkwalk.walks import ForwardWalks, Sampler, ShortcutWalks

WALKS: dict[str, Callable[..., Sampler]] = {"forward": ForwardWalks, "shortcut": ShortcutWalks}
_TOKENIZE_BLOCKS = 4096
_LOG_EVERY = 50
_NEVER = -1e4


@dataclass(frozen=True, kw_only=True)
class TargetConfig:
    """How a target encoder is trained."""

    adapter: AdapterConfig = field(default_factory=AdapterConfig)
    walks: str = "shortcut"
    steps: int = 20
    """T."""
    multistep: bool = True
    """Walks of Uniform(1, T) steps instead of T."""
    batch: int = 512
    """Walks in a batch, a sentence each."""
    updates: int = 3000
    learning_rate: float = 5e-4
    """At its highest, after the warm-up; then along a cosine to zero. The paper: 1e-4, of all weights."""
    warmup: int = 100
    weight_decay: float = 0.01
    cloning: float = 1.0
    """Weight of the cloning loss."""
    distance: float = 0.1
    """Weight of the distance to the goal's embedding."""
    contrastive: float = 1.0
    """Weight of the contrastive term."""
    temperature: float = 0.05
    """By which the contrastive term divides cosines."""
    negatives: int = 8192
    """Random blocks beside the batch's goals."""
    max_tokens: int = 96
    """Of a sentence, while training."""
    seed: int = 0


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


class Losses(NamedTuple):
    """The three terms, unweighted, and how often the policy that is shown q would step as the walk did."""

    cloning: Tensor
    distance: Tensor
    contrastive: Tensor
    accuracy: Tensor
    nearest: Tensor
    """How often q is nearest to its own goal among those it is compared with."""


class CosinePolicy(nn.Module):
    """Greedy as a policy head: a softmax of cosines; its one weight is their scale."""

    def __init__(self, scale: float = 20.0) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        """Logits [A], of the same shapes as every head's."""
        goal, action = (nn.functional.normalize(x, dim=-1) for x in (goal, action))
        logits: Tensor = self.log_scale.exp() * (goal[owner] * action).sum(-1)
        return logits


def losses(
    head: nn.Module,
    vectors: Tensor,
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
    device = vectors.device

    def tensor(values: NDArray[Any], dtype: torch.dtype = torch.long) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(device, dtype, non_blocking=True)

    def rows(nodes: NDArray[Any]) -> Tensor:
        return vectors[tensor(nodes)].float()

    count = len(decisions.current)
    owner = tensor(np.repeat(np.arange(count), np.diff(decisions.indptr)))
    traits = torch.cat(
        (
            nn.functional.one_hot(tensor(decisions.kind), len(KINDS)).float(),
            tensor(decisions.visited, torch.float32)[:, None],
        ),
        -1,
    )
    logits = head(rows(decisions.current), q[tensor(walk)], rows(decisions.target), traits, owner)
    taken = tensor(decisions.taken)
    # Whoever is shown q will not go back to a page it has seen; a walk may.
    closed = tensor(decisions.visited, torch.bool).index_fill(0, taken, False)
    logits = logits.masked_fill(closed, _NEVER)
    likely = log_softmax(logits, owner, count)
    best = torch.full((count,), -torch.inf, device=device).scatter_reduce(0, owner, logits.detach(), "amax")

    candidates = nn.functional.normalize(rows(np.concatenate((goals, others))), dim=-1)
    cosines = nn.functional.normalize(q, dim=-1) @ candidates.T
    mine = torch.arange(len(goals), device=device)
    nodes = tensor(np.concatenate((goals, others)))
    again = (nodes[None, :] == nodes[: len(goals), None]).fill_diagonal_(False)
    apart = cosines.masked_fill(again, _NEVER)
    return Losses(
        cloning=-likely[taken].mean(),
        distance=1 - cosines.diagonal().mean(),
        contrastive=nn.functional.cross_entropy(apart / temperature, mine),
        accuracy=(logits[taken] >= best).float().mean(),
        nearest=(apart.argmax(-1) == mine).float().mean(),
    )


def train_target(
    graph: Graph,
    vectors: NDArray[Any],
    encoder: TransformerEncoder,
    config: TargetConfig,
    *,
    head: nn.Module | None = None,
    sentences: Sentences | None = None,
    device: str = "cpu",
    metrics: Path | None = None,
    progress: Progress | None = None,
) -> TargetModel:
    """Train an adapter of ``encoder`` on one graph; losses go to ``metrics`` as JSON lines.

    ``head`` is a trained policy, which stays as it is; without one, queries are trained for the cosine. ``encoder`` is
    changed: open another one for other work. It must be in float32, as a CPU's is.
    """
    progress = progress or Progress(quiet=True)
    torch.manual_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    if sentences is None:
        with progress.stage("tokenise", graph.nodes, "blocks") as stage:
            sentences = Sentences.read(graph, encoder, config.max_tokens, stage.advance)
    target = TargetModel(encoder.model.to(device), config.adapter, tanh=encoder.tanh).to(device).eval()
    policy = CosinePolicy() if head is None else head.requires_grad_(False)
    policy = policy.to(device)
    table = torch.from_numpy(np.array(vectors)).to(device)
    kinds = np.array(graph.out_kinds)
    if config.walks not in WALKS:
        raise InputError(f"no walks named {config.walks!r}: choose one of {', '.join(WALKS)}")
    draw = WALKS[config.walks](graph.forward, steps=config.steps, multistep=config.multistep)
    weights = [p for p in (*target.parameters(), *policy.parameters()) if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: _rate(update, config))
    # bfloat16 on a GPU alone: on some CPUs it ends the process.
    half = torch.autocast("cuda", torch.bfloat16) if device.startswith("cuda") else nullcontext()
    started = time.monotonic()
    log = metrics.open("w") if metrics else None
    try:
        with progress.stage("train", config.updates, "updates") as stage:
            for update in range(1, config.updates + 1):
                walks = draw.sample(config.batch, rng)
                decisions = from_walks(walks, graph.forward, kinds)
                ids, mask = sentences.draw(walks.goals, rng)
                others = rng.integers(graph.nodes, size=config.negatives, dtype=np.int32)
                with half:
                    q = target(*(torch.from_numpy(x).to(device, non_blocking=True) for x in (ids, mask)))
                found = losses(
                    policy,
                    table,
                    q.float(),
                    decisions,
                    np.repeat(np.arange(config.batch), walks.lengths),
                    walks.goals,
                    others,
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
                schedule.step()
                if log and (update % _LOG_EVERY == 0 or update in (1, config.updates)):
                    row = {"update": update, "loss": loss.item()}
                    row |= {name: value.item() for name, value in found._asdict().items()}
                    row["seconds"] = round(time.monotonic() - started, 3)
                    log.write(json.dumps(row) + "\n")
                    log.flush()
                stage.advance()
    finally:
        if log:
            log.close()
    return target


def _rate(update: int, config: TargetConfig) -> float:
    """The learning rate's share at an update: up in a line, down along half a cosine."""
    if update < config.warmup:
        return (update + 1) / config.warmup
    done = (update - config.warmup) / max(1, config.updates - config.warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def config_to_json(config: TargetConfig) -> dict[str, Any]:
    """The resolved configuration, for the manifest."""
    return asdict(config)
