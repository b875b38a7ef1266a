"""A training that is stopped and goes on is the same as one that was not."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from linkwalk.learn.clone import CloneConfig, clone
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.state import FILE, differences, read_state
from linkwalk.policy.heads import HeadConfig
from linkwalk.progress import Progress, Stage
from linkwalk.recipes import RECIPES, with_settings
from tests.learn.conftest import WIDTH, World

QUICK = ("updates=120", "batch=8", "steps=6", "head.hidden=8", "evaluate_every=20", "patience=0")
HELD_OUT = np.arange(60) < 20


class CtrlC(Progress):
    """Somebody presses Ctrl-C while some update is under way."""

    def __init__(self, at: int) -> None:
        super().__init__(quiet=True)
        self.at = at

    @contextmanager
    def stage(self, name: str, total: float, unit: str) -> Iterator[Stage]:
        def press(stage: Stage) -> None:
            if stage.done == self.at:
                os.kill(os.getpid(), signal.SIGINT)

        yield Stage(name, total, unit, press)


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("seconds", "updates_per_second")} for row in rows]


@pytest.mark.parametrize(
    ("recipe", "settings", "held_out"),
    [
        ("ours", ("validation=0.3", "schedule=cosine", "warmup=10"), HELD_OUT),
        ("ours", ("validation=0.3", "criterion=success", "learning_rate=0.05"), HELD_OUT),
        ("paper", (), None),
        ("paper-shortest", ("exact=true", "steps=3"), None),
    ],
)
def test_a_stopped_training_goes_on_to_the_same_losses(
    recipe: str, settings: tuple[str, ...], held_out: np.ndarray | None, world: World, tmp_path: Path
) -> None:
    config = with_settings(RECIPES[recipe](WIDTH), [*QUICK, *settings])
    whole = clone(*world, config, held_out=held_out, folder=tmp_path / "whole")
    folder, handler = tmp_path / "stopped", signal.getsignal(signal.SIGINT)
    for at in (37, 30, 24):  # after updates 37, 67 and 91; twice, and once more while going on
        with pytest.raises(KeyboardInterrupt):
            clone(
                *world,
                config,
                held_out=held_out,
                folder=folder,
                resume=read_state(folder),
                job={"seen": 1},
                checkpoint_every=50,
                progress=CtrlC(at),
            )
        torch.rand(3)  # what others do with torch's chance in between is no matter
    saved = read_state(folder)
    assert saved is not None
    assert (saved.update, saved.job) == (91, {"seen": 1})
    again = clone(*world, config, held_out=held_out, folder=folder, resume=saved)
    assert without_clock(read_rows(folder)) == without_clock(read_rows(tmp_path / "whole"))
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_killed_training_goes_on_from_its_last_save(world: World, tmp_path: Path) -> None:
    config = with_settings(RECIPES["ours"](WIDTH), [*QUICK, "schedule=constant"])
    whole = clone(*world, config, folder=tmp_path / "whole", checkpoint_every=40)
    saved = read_state(tmp_path / "whole")
    assert saved is not None
    assert saved.update == 120
    # As if it had been killed at update 99: the state is of update 80, but later rows have been written.
    first = with_settings(config, ["updates=80"])
    clone(*world, first, folder=tmp_path / "killed", checkpoint_every=40)
    with (tmp_path / "killed" / "metrics.jsonl").open("a") as log:
        log.write('{"update": 99, "loss": 1.0}\n{"upd')
    again = clone(*world, config, folder=tmp_path / "killed", resume=read_state(tmp_path / "killed"))
    assert [row["update"] for row in read_rows(tmp_path / "killed")] == [50, 80, 100, 120]
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])


@pytest.mark.parametrize("recipe", ["ours", "residual"])
@pytest.mark.parametrize(("share", "held_out"), [(0.0, None), (0.3, HELD_OUT)])
def test_chance_is_the_callers_again(
    recipe: str, share: float, held_out: np.ndarray | None, world: World
) -> None:
    config = with_settings(RECIPES[recipe](WIDTH), [*QUICK, "updates=2", f"validation={share}"])
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(5)
    clone(*world, config, held_out=held_out)
    assert torch.equal(torch.rand(4), expected)


def test_what_cannot_be_read_is_no_state(tmp_path: Path, world: World) -> None:
    assert read_state(tmp_path) is None
    (tmp_path / FILE).write_bytes(b"noise")
    assert read_state(tmp_path) is None
    config = CloneConfig(head=HeadConfig(width=WIDTH), updates=1, batch=2, steps=2)
    clone(*world, config, folder=tmp_path / "x", checkpoint_every=1)
    whole = (tmp_path / "x" / FILE).read_bytes()
    (tmp_path / "x" / FILE).write_bytes(whole[: len(whole) // 2])
    assert read_state(tmp_path / "x") is None


def test_differences_in_words() -> None:
    old = {"config": {"batch": 8, "head": {"hidden": 4}}, "graph": "a"}
    assert differences(old, old) == []
    new = {"config": {"batch": 9, "head": {"hidden": 4, "new": True}}, "graph": "a"}
    assert differences(old, new) == ["config.batch was 8, is 9", "config.head.new was None, is True"]
