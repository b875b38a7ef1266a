"""Trainings that are stopped by Ctrl-C and go on."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from linkwalk.learn.metrics import read_rows
from linkwalk.learn.state import read_state
from linkwalk.progress import Progress, Stage


class CtrlC(Progress):
    """Somebody presses Ctrl-C while some update is under way."""

    def __init__(self, at: int) -> None:
        super().__init__(quiet=True)
        self.at = at

    @contextmanager
    def stage(self, name: str, total: float, unit: str) -> Iterator[Stage]:
        def press(stage: Stage) -> None:
            if name == "train" and stage.done == self.at:
                os.kill(os.getpid(), signal.SIGINT)

        yield Stage(name, total, unit, press)


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("seconds", "updates_per_second")} for row in rows]


def same_when_stopped(train: Callable[..., dict[str, Tensor]], folder: Path, *at: int) -> None:
    """Stopped after so many updates, each time, and gone on with, it has the same rows and the same weights."""
    whole = {name: value.clone() for name, value in train(folder=folder / "whole").items()}
    stopped = folder / "stopped"
    for updates in at:
        with pytest.raises(KeyboardInterrupt):
            train(folder=stopped, resume=read_state(stopped), progress=CtrlC(updates))
        torch.rand(3)  # what others do with torch's chance in between is no matter
    saved = read_state(stopped)
    assert saved is not None
    assert saved.update == sum(at)
    again = train(folder=stopped, resume=saved)
    assert without_clock(read_rows(stopped)) == without_clock(read_rows(folder / "whole"))
    assert whole.keys() == again.keys()
    assert all(torch.equal(value, again[name]) for name, value in whole.items())
