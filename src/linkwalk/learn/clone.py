"""Behavioural cloning of random walks: the whole of the paper's method in one loop (sec. 3, app. B.2).

Walks are drawn, every step of a walk becomes a decision towards the walk's end, and the policy is trained to take the
step the walk took. No labels, no rewards.
"""

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from linkwalk.artifact import clear, parsing
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.learn.imitation import Batches, cloning_loss, sampler
from linkwalk.learn.limits import at_least, shares
from linkwalk.learn.metrics import Metrics
from linkwalk.learn.optimise import SCHEDULES, build_optimiser, rate_at
from linkwalk.learn.state import FILE, Interrupt, Saved, State
from linkwalk.learn.validation import CRITERIA, Bools, Validation, within
from linkwalk.navigate import unit_rows
from linkwalk.policy.heads import HeadConfig, Table, build_head
from linkwalk.progress import Progress

__all__ = ["CloneConfig", "clone", "cloning_loss", "sampler"]

LOG_EVERY = 50


@dataclass(frozen=True, kw_only=True)
class CloneConfig:
    """How a policy is cloned; the defaults are ours, ``linkwalk.recipes`` has the paper's."""

    head: HeadConfig = field(default_factory=HeadConfig)
    walks: str = "shortcut"
    """``forward``, ``reverse``, ``shortest`` or ``shortcut`` (sec. 3.1); ``own``: the policy's (``own_walks``)."""
    exact: bool = False
    """Shortest paths of exactly T steps to a uniform goal (sec. 3.1), instead of between a walk's ends (sec. 5.1)."""
    steps: int = 20
    """T."""
    multistep: bool = True
    """Walks of Uniform(1, T) steps instead of T."""
    batch: int = 256
    """Walks in a batch."""
    updates: int = 2000
    edge_dropout: float = 0.5
    """With which probability a link that was not taken is hidden (app. B.2); on the policy's own walks, none."""
    optimiser: str = "adamw"
    """``adamw`` or ``rmsprop``."""
    learning_rate: float = 3e-4
    schedule: str = "constant"
    """``constant``, or ``cosine``: down to 0 at the last update."""
    warmup: int = 0
    """Updates in which the learning rate rises from 0."""
    weight_decay: float = 0.01
    """By which share, times the learning rate, every weight shrinks at every update."""
    decay: float = 0.9
    """Of RMSProp's mean square."""
    epsilon: float = 1e-10
    """Of RMSProp."""
    epsilon_inside: bool = True
    """Whether RMSProp's epsilon is under the root, as in JAX, or outside, as in torch."""
    trust: float = 1.0
    """How far the weights that are kept lie from the first ones (0) to the trained ones (1).

    What starts as the cosine and is moved half-way only is better on wikis it has not seen than either end.
    """
    validation: float = 0.0
    """Share of the articles that is held out; 0: none, and the last weights are kept, not the best."""
    evaluate_every: int = 250
    """Updates between two looks at the held-out articles."""
    patience: int = 8
    """Stop after that many looks without a better one; 0: never."""
    criterion: str = "loss"
    """What better means on the held-out articles: ``loss`` or ``success``."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        at_least(self, updates=1, batch=1, steps=1, evaluate_every=1)
        at_least(self, learning_rate=0, weight_decay=0, warmup=0, patience=0, epsilon=0, seed=0)
        shares(self, "edge_dropout", "decay", "trust")
        if not 0 <= self.validation < 1:
            raise InputError(f"validation={self.validation}: choose a share below 1, or 0 for none")
        for name, choices in (("schedule", SCHEDULES), ("criterion", CRITERIA)):
            if getattr(self, name) not in choices:
                raise InputError(f"{name}={getattr(self, name)}: choose one of {', '.join(choices)}")
        if self.walks == "own":
            if not self.head.visited:
                raise InputError(
                    "head.visited=false: what walks with a map never looks at that; choose head.visited=true"
                )
            if not self.head.points:
                raise InputError(
                    f"walks=own is for a head that walks with a map, not for {self.head.head}: choose "
                    "head.head=compass, or walks=shortcut"
                )
            if self.edge_dropout:
                raise InputError(
                    f"edge_dropout={self.edge_dropout:g} is for walks that are imitated; with walks=own choose "
                    "edge_dropout=0 (and head.dropout for the compass)"
                )


def clone(
    forward: Csr,
    reverse: Csr,
    kinds: NDArray[np.uint8],
    vectors: NDArray[Any],
    config: CloneConfig,
    *,
    held_out: Bools | None = None,
    device: str = "cpu",
    folder: Path | None = None,
    job: dict[str, Any] | None = None,
    resume: Saved | None = None,
    checkpoint_every: int = 1000,
    progress: Progress | None = None,
) -> nn.Module:
    """Train a policy on one graph; with ``held_out`` nodes [N], on the rest of it, and give the weights best there.

    Metrics and the state of the training go to ``folder``; ``resume`` is such a state, of the same ``job``.
    """
    progress = progress or Progress(quiet=True)
    if config.head.width != vectors.shape[1]:
        raise InputError(
            f"the head is for embeddings of width {config.head.width}, these have {vectors.shape[1]}"
        )
    if (held_out is not None) != (config.validation > 0):
        raise InputError(
            f"validation={config.validation:g}, but held-out nodes are {'not ' * (held_out is None)}given"
        )
    table, validation = Table.of(vectors, device), None
    units = unit_rows(vectors) if config.head.points else None  # for the walker with a map
    if held_out is not None:
        validation = Validation(config, *within(forward, kinds, held_out), table, units)
        forward, kinds = within(forward, kinds, ~held_out)
        reverse = transpose(forward)
    batches = Batches(config, forward, reverse, kinds, units)
    chance = torch.random.fork_rng([device] if device.startswith("cuda") else [])
    with chance, Interrupt() as interrupt:
        torch.manual_seed(config.seed)
        head = build_head(config.head).to(device)
        first = {name: value.detach().clone() for name, value in head.state_dict().items()}
        state = State(head, build_optimiser(config, head), np.random.default_rng(config.seed))
        if folder is not None and resume is None:
            clear(folder)
            folder.mkdir(parents=True)
        if resume is not None:
            with parsing((folder or Path()) / FILE, "remove it, and the training begins anew"):
                state.restore(resume)
        with (
            Metrics(folder, after=state.update) as metrics,
            progress.stage("train", config.updates - state.update, "updates") as stage,
        ):
            if validation and not state.update:  # the untrained policy is the first to be beaten
                row = validation.measure(head)
                state.judge(_score(row, config))
                metrics.write({"update": 0, **row})
            clock, done = time.monotonic(), state.update
            while state.update < config.updates and not _stops(state, config):
                state.update += 1
                decisions = batches.draw(config.batch, state.rng, head, edge_dropout=config.edge_dropout)
                loss, accuracy = cloning_loss(head, table, decisions)
                for group in state.optimiser.param_groups:
                    group["lr"] = rate_at(config, state.update)
                state.optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                state.optimiser.step()

                last = state.update == config.updates
                looks = validation is not None and (last or state.update % config.evaluate_every == 0)
                if looks or last or state.update % LOG_EVERY == 0:
                    now = time.monotonic()
                    state.seconds += now - clock
                    row = {
                        "update": state.update,
                        "loss": _finite(loss.item(), state, table),
                        "accuracy": accuracy.item(),
                        "learning_rate": rate_at(config, state.update),
                        "seconds": round(state.seconds, 3),
                        "updates_per_second": round((state.update - done) / max(now - clock, 1e-9), 2),
                    }
                    if validation is not None and looks:
                        row |= validation.measure(head)
                        state.judge(_score(row, config))
                    metrics.write(row)
                    clock, done = time.monotonic(), state.update
                stage.advance()
                if folder is not None and (interrupt.asked or state.update % checkpoint_every == 0):
                    metrics.sync()
                    state.save(folder, job or {})
                if interrupt.asked:
                    raise KeyboardInterrupt
    if state.best:
        head.load_state_dict(state.best)
    trained = head.state_dict()
    head.load_state_dict({name: first[name].lerp(trained[name], config.trust) for name in trained})
    return head.eval()


def _stops(state: State, config: CloneConfig) -> bool:
    return 0 < config.patience <= state.waited


def _score(row: dict[str, Any], config: CloneConfig) -> float:
    """What is to be as large as possible."""
    return float(row["success"] if config.criterion == "success" else -row["validation_loss"])


def _finite(loss: float, state: State, table: Table) -> float:
    if np.isfinite(loss):
        return loss
    if not torch.isfinite(table.vectors).all():
        raise InputError("the embeddings hold values that are not numbers: run `linkwalk embed WIKI --force`")
    raise InputError(
        f"the loss is no longer a number at update {state.update}: lower it with --set learning_rate=..."
    )


def config_to_json(config: CloneConfig) -> dict[str, Any]:
    """The resolved configuration, for the manifest."""
    return asdict(config)
