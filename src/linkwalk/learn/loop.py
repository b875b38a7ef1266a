"""The training loop, one for all: loss, gradient, step; now and then a row, a look at what is held out, a save.

What is trained is a ``Training``: policies, encoders, readers, from walks or from reward. Maps are fitted otherwise;
recorded updates on a GPU have a loop of their own. One that is stopped goes on to the same weights, to the last bit,
on a CPU.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from linkwalk.artifact import clear, parsing
from linkwalk.errors import InputError
from linkwalk.learn.metrics import Metrics
from linkwalk.learn.optimise import SCHEDULES, rate_at
from linkwalk.learn.ranks import ranks
from linkwalk.learn.state import FILE, Interrupt, SavedState, State
from linkwalk.progress import Progress
from linkwalk.settings import CheckedSettings, Count, CountOrNone, NotNegative, one_of

Schedule = Annotated[str, one_of(*SCHEDULES)]


@dataclass(frozen=True, kw_only=True)
class LoopConfig(CheckedSettings):
    """What the loop has to know; what there is to learn from, and how, each training adds."""

    updates: Count = 1000
    learning_rate: NotNegative = 1e-3
    """At its highest, after the warm-up."""
    schedule: Schedule = "cosine"
    """``constant``, or ``cosine``: down to 0 at the last update."""
    warmup: CountOrNone = 0
    """Updates in which the learning rate rises from 0."""
    weight_decay: NotNegative = 0.01
    """By which share, times the learning rate, every weight shrinks at every update."""
    seed: CountOrNone = 0


@dataclass(frozen=True, kw_only=True)
class ValidationConfig(LoopConfig):
    """The same for a training that looks at what it holds out, and keeps the weights that are best there."""

    evaluate_every: Count = 250
    """Updates between two looks."""
    patience: CountOrNone = 8
    """Stop after that many looks without a better one; 0: never."""


class HeldOutScore(NamedTuple):
    """How good the weights are on what is held out."""

    score: float
    """More is better."""
    row: dict[str, float]


Config = TypeVar("Config", bound=LoopConfig, covariant=True)


@dataclass(eq=False)
class Training(Generic[Config]):
    """Something to train: its weights, the loss of one update, and what there is to say about it."""

    log_every = 50
    """Updates between two rows."""
    clip = 1.0
    """How long a gradient may be; 0: as long as it is."""
    config: Config
    model: nn.Module = field(init=False)
    """Whose weights follow the gradient, those that are not fixed."""

    def __post_init__(self) -> None:
        """Begin from the configuration's seed, which all chance but torch's comes from."""
        self.rng = default_rng(self.config.seed)
        self.evaluate_every: int = getattr(self.config, "evaluate_every", 0)
        self.patience: int = getattr(self.config, "patience", 0)
        self.begin()

    def begin(self) -> None:
        """Make what is trained, and what it learns from."""

    def loss(self, update: int) -> Tensor:
        """The loss of an update, counted from 1."""
        raise NotImplementedError

    def pieces(self, update: int) -> Iterator[Tensor]:
        """The same in parts that add up to it, each followed back before the next is made: for less memory."""
        yield self.loss(update)

    def improve(self, update: int, optimiser: torch.optim.Optimizer) -> Tensor:
        """Follow the gradient of an update's loss, averaged over processes; the loss."""
        weights = self.parameters()
        optimiser.zero_grad(set_to_none=True)
        losses = []
        for piece in self.pieces(update):
            piece.backward()  # type: ignore[no-untyped-call]
            losses.append(piece.detach())
        loss = ranks().average(weights, torch.stack(losses).sum())
        if self.clip:
            nn.utils.clip_grad_norm_(weights, self.clip)
        optimiser.step()
        return loss

    def parameters(self) -> list[nn.Parameter]:
        """What follows the gradient."""
        return [weight for weight in self.model.parameters() if weight.requires_grad]

    def weights(self) -> dict[str, Tensor]:
        """What is saved, and kept where it is best: the tensors themselves, by name."""
        return {name: w.detach() for name, w in self.model.named_parameters() if w.requires_grad}

    def optimiser(self) -> torch.optim.Optimizer:
        """AdamW, unless a training has its own."""
        return self.adamw(self.parameters())

    def adamw(self, parameters: list[Any], **more: Any) -> torch.optim.Optimizer:
        """AdamW of parameters, or of groups of them, each with the ``scale`` of its learning rate."""
        config = self.config
        return torch.optim.AdamW(
            parameters, lr=config.learning_rate, weight_decay=config.weight_decay, **more
        )

    def row(self) -> dict[str, Any]:
        """What there is to tell of the last update beside its loss."""
        return {}

    def validate(self) -> HeldOutScore | None:
        """A look at what is held out; None where nothing is."""
        return None

    def memory(self) -> dict[str, Any]:
        """What the next update depends on beside weights and chance, for JSON."""
        return {}

    def remember(self, memory: dict[str, Any]) -> None:
        """Take that from where it was saved."""


class RunOptions(TypedDict, total=False):
    """Where a training is kept while it runs."""

    folder: Path | None
    """For its metrics and its state; none: nothing is written."""
    job: dict[str, Any]
    """What it follows from, for who may want to go on with it."""
    resume: SavedState | None
    """What to go on from, of the same job."""
    checkpoint_every: int
    """Updates between two saves."""
    progress: Progress | None


def train(training: Training[LoopConfig], **run: Unpack[RunOptions]) -> None:
    """Train to the last update, or until it no longer gets better; its weights are then the last ones, or the best.

    One that fails before it was ever saved leaves nothing in its folder.
    """
    if not ranks().first:  # the first of several processes writes for all
        run["folder"] = run["progress"] = None
    try:
        _train(training, **run)
    except BaseException:
        if (folder := run.get("folder")) is not None and not (folder / FILE).exists():
            clear(folder)
        raise


def _train(training: Training[LoopConfig], **run: Unpack[RunOptions]) -> None:
    config, folder, resume = training.config, run.get("folder"), run.get("resume")
    progress, save_every = run.get("progress") or Progress(quiet=True), run.get("checkpoint_every", 1000)
    optimiser = training.optimiser()
    state, team = State(training, optimiser), ranks()
    if resume is not None:
        with parsing((folder or Path()) / FILE, "remove it, and the training begins anew"):
            state.restore(resume)
    elif folder is not None:
        clear(folder)
        folder.mkdir(parents=True)
    with (
        Interrupt() as interrupt,
        Metrics(folder, after=state.update) as metrics,
        progress.stage("train", config.updates - state.update, "updates") as stage,
    ):
        if not state.update and (look := training.validate()):  # untrained weights are the first to be beaten
            metrics.write({"update": 0, **look.row, "best": state.judge(look.score)})
        clock, done = time.monotonic(), state.update
        while state.update < config.updates and not 0 < training.patience <= state.waited:
            state.update += 1
            rate = rate_at(config, state.update)
            for group in optimiser.param_groups:
                group["lr"] = rate * group.get("scale", 1.0)
            loss = training.improve(state.update, optimiser)
            stage.advance()

            last, stopped = state.update == config.updates, team.any(interrupt.asked, loss.device)
            tells = last or state.update == 1 or state.update % training.log_every == 0
            looks = last or (training.evaluate_every and state.update % training.evaluate_every == 0)
            saves = stopped or state.update % save_every == 0
            if (tells or looks) and not np.isfinite(loss.item()):
                raise DivergenceError(state.update)
            now = time.monotonic()
            look = training.validate() if looks else None
            if tells or look:
                state.seconds += now - clock
                row = {"update": state.update, "loss": loss.item(), **training.row(), "learning_rate": rate}
                row["seconds"] = round(state.seconds, 3)
                row["updates_per_second"] = round((state.update - done) / max(now - clock, 1e-9), 2)
                if look:
                    row |= {**look.row, "best": state.judge(look.score)}
                metrics.write(row)
                clock, done = time.monotonic(), state.update
            if folder is not None and saves:
                metrics.sync()
                state.save(folder, run.get("job", {}))
            if stopped:
                raise KeyboardInterrupt
    if state.best:
        state.put(state.best)
    # In half precision, too, in which some weights are kept.
    if not all(bool(value.half().isfinite().all()) for value in training.weights().values()):
        raise DivergenceError(state.update)


class DivergenceError(InputError):
    """A training whose loss or weights are no longer numbers."""

    def __init__(self, update: int) -> None:
        super().__init__(
            f"the training has run away, its loss or weights are no longer numbers at update {update}: lower its "
            "learning_rate"
        )


@contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """Torch's chance begins anew from a seed; afterwards it is the caller's again."""
    with torch.random.fork_rng([device] if device.startswith("cuda") else []):
        torch.manual_seed(seed)
        yield
