"""Behavioural cloning of random walks: the whole of the paper's method in one loop (sec. 3, app. B.2).

Walks are drawn, every step of a walk becomes a decision towards the walk's end, and the policy is trained to take the
step the walk took. No labels, no rewards.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.policy.decisions import Decisions, from_walks, without
from linkwalk.policy.heads import HeadConfig, Table, build_head, log_softmax
from linkwalk.progress import Progress
from linkwalk.walks import ForwardWalks, ReverseWalks, Sampler, ShortcutWalks, ShortestWalks
from linkwalk.walks.dropout import drop_edges

WALKS = ("forward", "reverse", "shortest", "shortcut")


@dataclass(frozen=True, kw_only=True)
class CloneConfig:
    """How a policy is cloned; the defaults are ours, ``linkwalk.recipes`` has the paper's."""

    head: HeadConfig = field(default_factory=HeadConfig)
    walks: str = "shortcut"
    steps: int = 20
    """T."""
    multistep: bool = True
    """Walks of Uniform(1, T) steps instead of T."""
    batch: int = 256
    """Walks in a batch."""
    updates: int = 2000
    edge_dropout: float = 0.5
    optimiser: str = "adamw"
    """``adamw``, or ``rmsprop`` with the paper's decay and epsilon."""
    learning_rate: float = 3e-4
    seed: int = 0


def sampler(config: CloneConfig, forward: Csr, reverse: Csr) -> Sampler:
    """The trajectory distribution E(n_0 .. n_T) of a configuration (sec. 3.1)."""
    if config.walks == "forward":
        return ForwardWalks(forward, steps=config.steps, multistep=config.multistep)
    if config.walks == "reverse":
        return ReverseWalks(forward, reverse, steps=config.steps, multistep=config.multistep)
    if config.walks == "shortest":
        return ShortestWalks(forward, reverse, steps=config.steps, multistep=config.multistep)
    if config.walks == "shortcut":
        return ShortcutWalks(forward, steps=config.steps, multistep=config.multistep)
    raise InputError(f"no walks named {config.walks!r}: choose one of {', '.join(WALKS)}")


def cloning_loss(head: nn.Module, table: Table, decisions: Decisions) -> tuple[Tensor, Tensor]:
    """Mean negative log-likelihood of what the walks did (sec. 3), and how often the policy would do the same."""
    logits, owner = table.logits(head, decisions)
    likely = log_softmax(logits, owner, len(decisions.current))
    taken = torch.as_tensor(decisions.taken, device=logits.device)
    best = torch.full_like(taken, -torch.inf, dtype=logits.dtype).scatter_reduce(0, owner, logits, "amax")
    return -likely[taken].mean(), (logits[taken] >= best).float().mean()


def clone(
    forward: Csr,
    reverse: Csr,
    kinds: NDArray[np.uint8],
    vectors: NDArray[Any],
    config: CloneConfig,
    *,
    device: str = "cpu",
    metrics: Path | None = None,
    progress: Progress | None = None,
) -> nn.Module:
    """Train a policy on one graph; losses go to ``metrics`` as JSON lines."""
    progress = progress or Progress(quiet=True)
    torch.manual_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    head = build_head(config.head).to(device)
    table = Table.of(vectors, device)
    optimiser = _optimiser(config, head)
    draw = sampler(config, forward, reverse)
    started = time.monotonic()
    with progress.stage("train", config.updates, "updates") as stage:
        log = metrics.open("w") if metrics else None
        try:
            for update in range(1, config.updates + 1):
                walks = draw.sample(config.batch, rng)
                decisions = from_walks(walks, forward, kinds)
                if config.edge_dropout:
                    dropped = drop_edges(forward, walks, probability=config.edge_dropout, rng=rng)
                    decisions = without(decisions, dropped.hidden)
                loss, accuracy = cloning_loss(head, table, decisions)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                if log and (update % 50 == 0 or update == config.updates):
                    took = round(time.monotonic() - started, 3)
                    row = {
                        "update": update,
                        "loss": loss.item(),
                        "accuracy": accuracy.item(),
                        "seconds": took,
                    }
                    log.write(json.dumps(row) + "\n")
                    log.flush()
                stage.advance()
        finally:
            if log:
                log.close()
    return head.eval()


def _optimiser(config: CloneConfig, head: nn.Module) -> torch.optim.Optimizer:
    if config.optimiser == "adamw":
        return torch.optim.AdamW(head.parameters(), lr=config.learning_rate)
    if config.optimiser == "rmsprop":
        return torch.optim.RMSprop(head.parameters(), lr=config.learning_rate, alpha=0.9, eps=1e-10)
    raise InputError(f"no optimiser named {config.optimiser!r}: choose adamw or rmsprop")


def config_to_json(config: CloneConfig) -> dict[str, Any]:
    """The resolved configuration, for the manifest."""
    return asdict(config)
