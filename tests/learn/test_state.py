"""A training that is stopped and goes on is the same as one that was not."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from linkwalk.errors import DamagedError
from linkwalk.learn.clone import CloneConfig, clone
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.state import FILE, differences, read_state
from linkwalk.policy.heads import HeadConfig
from linkwalk.recipes import RECIPES
from linkwalk.settings import with_settings
from tests.learn.conftest import WIDTH, World
from tests.learn.stopping import CtrlC, without_clock

QUICK = ("updates=120", "batch=8", "steps=6", "head.hidden=8", "evaluate_every=20", "patience=0")
HELD_OUT = np.arange(60) < 20


@pytest.mark.slow
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
    assert [row["update"] for row in read_rows(tmp_path / "killed")] == [1, 50, 80, 100, 120]
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


@pytest.fixture
def stopped(tmp_path: Path, world: World) -> Path:
    """A folder with the state of a training."""
    config = CloneConfig(head=HeadConfig(width=WIDTH, hidden=4), updates=1, batch=2, steps=2)
    clone(*world, config, folder=tmp_path / "x", job={"seen": 1}, checkpoint_every=1)
    return tmp_path / "x"


def test_what_cannot_be_read_is_no_state(tmp_path: Path, stopped: Path) -> None:
    said: list[str] = []
    assert read_state(tmp_path, said.append) is None
    assert said == []
    whole = (stopped / FILE).read_bytes()
    for damaged in (b"", b"noise", whole[: len(whole) // 2], whole[:-1], whole + b"x"):
        (stopped / FILE).write_bytes(damaged)
        assert read_state(stopped, said.append) is None
    (stopped / FILE).unlink()
    (stopped / FILE).mkdir()
    assert read_state(stopped, said.append) is None
    assert len(said) == 6
    for line in said:
        assert line.startswith(f"{stopped / FILE} is damaged (")
        assert line.endswith("): the training begins anew")
        assert "\n" not in line


def test_a_state_in_which_any_bit_has_changed_is_none(stopped: Path) -> None:
    """But for bits that say nothing, such as a blank of the header."""
    whole, kept = (stopped / FILE).read_bytes(), read_state(stopped)
    assert kept is not None
    rng, taken = np.random.default_rng(0), 0
    size = len(whole)
    for at in [*range(0, 400, 3), *rng.integers(0, size, 300).tolist()]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        (stopped / FILE).write_bytes(damaged)
        found = read_state(stopped)
        if found is not None:
            taken += 1
            assert (found.job, found.counters) == (kept.job, kept.counters)
            assert found.tensors.keys() == kept.tensors.keys()
            assert all(torch.equal(value, kept.tensors[name]) for name, value in found.tensors.items())
    assert taken < 5


def test_a_state_of_version_0_1_is_gone_on_from(stopped: Path) -> None:
    saved = read_state(stopped)
    assert saved is not None
    header = {"format": 1, "job": saved.job, "counters": saved.counters}
    save_file(saved.tensors, stopped / FILE, metadata={"linkwalk": json.dumps(header)})
    found = read_state(stopped)
    assert found is not None
    assert (found.job, found.counters) == (saved.job, saved.counters)
    for changes in ({"format": 3}, {"counters": {}}, {"counters": {"update": "x"}}, {"job": [1]}):
        save_file(saved.tensors, stopped / FILE, metadata={"linkwalk": json.dumps(header | changes)})
        assert read_state(stopped) is None


def test_a_state_that_does_not_fit_is_told_in_a_line(stopped: Path, world: World) -> None:
    config = CloneConfig(head=HeadConfig(width=WIDTH, hidden=5), updates=2, batch=2, steps=2)
    with pytest.raises(DamagedError, match=r"state.safetensors is damaged .*: remove it") as refused:
        clone(*world, config, folder=stopped, resume=read_state(stopped))
    assert "\n" not in str(refused.value)


def test_differences_in_words() -> None:
    old = {"config": {"batch": 8, "head": {"hidden": 4}}, "graph": "a"}
    assert differences(old, old) == []
    new = {"config": {"batch": 9, "head": {"hidden": 4, "new": True}}, "graph": "a"}
    assert differences(old, new) == ["config.batch was 8, is 9", "config.head.new was None, is True"]
