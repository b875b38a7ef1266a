"""A training on disk: all that the next update depends on, so that a stopped run goes on as if it had not stopped.

One safetensors file holds the weights, the optimiser's state and the best weights so far; its header holds the rest
as JSON, and a checksum of it all. It is replaced in one step: a killed run leaves the last whole one, and one that has
been damaged since is not gone on from.
"""

import hashlib
import json
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from linkwalk.artifact import parsing, replacing
from linkwalk.errors import DamagedError

if TYPE_CHECKING:
    from linkwalk.learn.loop import LoopConfig, Training

FILE = "state.safetensors"
FORMAT = 2
"""1, which is read, too, has no checksum."""
_HEADER, _CHECKSUM = "linkwalk", "sha256"
_COUNTERS = ("update", "seconds", "best_update")


class SavedState(NamedTuple):
    """A training as it was found on disk."""

    job: dict[str, Any]
    """Configuration and inputs, as given to ``State.save``."""
    counters: dict[str, Any]
    tensors: dict[str, Tensor]

    @property
    def update(self) -> int:
        """How many updates were done."""
        return int(self.counters["update"])


@dataclass
class State:
    """All that the next update depends on."""

    training: "Training[LoopConfig]"
    optimiser: torch.optim.Optimizer
    update: int = 0
    seconds: float = 0.0
    best_update: int = 0
    best_score: float = -np.inf
    """Of the best weights, on the held-out articles; more is better."""
    best: dict[str, Tensor] = field(default_factory=dict)
    """The best weights; empty if nothing is held out."""
    waited: int = 0
    """Evaluations since the best."""

    def judge(self, score: float) -> int:
        """Keep the weights if they are better than the best before; of which update the best are."""
        self.waited += 1
        if score > self.best_score:
            self.best_update, self.best_score, self.waited = self.update, score, 0
            self.best = {name: value.detach().clone() for name, value in self.training.weights().items()}
        return self.best_update

    @torch.no_grad()
    def put(self, weights: dict[str, Tensor]) -> None:
        """Give the training those weights."""
        own = self.training.weights()
        if {name: value.shape for name, value in own.items()} != {n: v.shape for n, v in weights.items()}:
            raise ValueError("its weights are those of another training")
        for name, value in own.items():
            value.copy_(weights[name])

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(iter(self.training.weights().values())).device

    def save(self, folder: Path, job: dict[str, Any]) -> None:
        """Write the state in one step; it is on the disk then."""
        from safetensors.torch import save

        tensors = {f"head.{name}": value for name, value in self.training.weights().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        for number, values in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": value for name, value in values.items()}
        tensors["chance.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["chance.cuda"] = torch.cuda.get_rng_state(self.device)
        counters = {name: getattr(self, name) for name in _COUNTERS} | {
            "best_score": None if np.isinf(self.best_score) else self.best_score,
            "waited": self.waited,
            "rng": self.training.rng.bit_generator.state,
            "memory": self.training.memory(),
        }
        header = json.dumps({"format": FORMAT, "job": job, "counters": counters})
        whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        with replacing(folder / FILE) as file:
            file.write(save(whole, metadata={_HEADER: header, _CHECKSUM: _checksum(header, whole)}))

    def restore(self, saved: SavedState) -> None:
        """Take everything from what was saved."""
        counters, tensors = saved.counters, saved.tensors
        device = self.device
        self.put(_part(tensors, "head."))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _part(tensors, "optimiser.").items():
            number, _, moment = name.partition(".")
            moments.setdefault(int(number), {})[moment] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        self.best = {name: value.to(device) for name, value in _part(tensors, "best.").items()}
        torch.set_rng_state(tensors["chance.cpu"])
        if device.type == "cuda" and "chance.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["chance.cuda"], device)
        self.training.rng.bit_generator.state = counters["rng"]
        self.training.remember(counters.get("memory", {}))  # which states of version 0.1 do not have
        for name in (*_COUNTERS, "waited"):
            setattr(self, name, counters[name])
        self.best_score = -np.inf if counters["best_score"] is None else counters["best_score"]


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _checksum(header: str, tensors: dict[str, Tensor]) -> str:
    """SHA-256 of all that a state is made of."""
    found = hashlib.sha256(header.encode())
    for name, value in sorted(tensors.items()):
        found.update(f"\n{name} {value.dtype} {list(value.shape)}\n".encode())
        found.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def read_state(folder: Path, say: Callable[[str], None] = lambda _: None) -> SavedState | None:
    """What a stopped training left in its folder; None if there is nothing, or nothing whole, which ``say`` hears."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        with parsing(path, "the training begins anew"):
            return _read(path)
    except DamagedError as error:
        say(str(error))
        return None


def _read(path: Path) -> SavedState:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        metadata: dict[str, str] = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    header = json.loads(metadata[_HEADER])
    if header["format"] not in (1, FORMAT):
        raise ValueError(f"it has format {header['format']}, this version reads {FORMAT}")
    if header["format"] != 1 and metadata[_CHECKSUM] != _checksum(metadata[_HEADER], tensors):
        raise ValueError("its checksum is not the one it was written with")
    saved = SavedState(header["job"], header["counters"], tensors)
    if not isinstance(saved.job, dict) or saved.update < 0:
        raise ValueError("it is not a training's")
    return saved


def differences(old: Any, new: Any, name: str = "") -> list[str]:
    """Where two jobs differ, in words: ``batch was 256, is 512``."""
    if isinstance(old, dict) and isinstance(new, dict):
        below = f"{name}." if name else ""
        keys = sorted({*old, *new})
        return [line for key in keys for line in differences(old.get(key), new.get(key), f"{below}{key}")]
    return [] if old == new else [f"{name} was {old}, is {new}"]


class Interrupt:
    """Ctrl-C waits for the end of an update, so that the training can be saved; a second one does not wait."""

    def __init__(self) -> None:
        self.asked = False
        self._handles = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupt":
        if self._handles:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handles:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
