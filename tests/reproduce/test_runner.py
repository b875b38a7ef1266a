"""One runner for all tables: on the device alone or by plain loops, the figures are the same."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwalk.artifact import faults, locked
from linkwalk.errors import InputError, LinkwalkError
from linkwalk.evaluate import TaskConfig
from linkwalk.navigate import REFERENCE
from linkwalk.reproduce.halves import Halves, open_halves
from linkwalk.reproduce.runner import Contender, Runner
from tests.graph.conftest import random_graph
from tests.older import unseal

TINY = ("steps=5", "batch=16", "updates=5", "epsilon=1e-4")
POLICY = Contender(settings=TINY)
TASK = TaskConfig(steps=5, episodes=60, seed=2)


@pytest.fixture
def halves(tmp_path: Path) -> Halves:
    random_graph(tmp_path / "wiki", np.random.default_rng(4), articles=40, links=3.0)
    return open_halves(tmp_path / "wiki", "random")


def test_on_the_device_alone_the_figures_are_the_same(halves: Halves) -> None:
    found = []
    for recorded in (False, True):
        runner = Runner(halves, embeddings="random", budget=20, device="cpu", recorded=recorded)
        who = [POLICY, Contender(settings=TINY, revisit=True), Contender(baseline=REFERENCE)]
        found.append(runner.measure(TASK, who))
        runner.journal.path.unlink()
    for loop, device in zip(*found, strict=True):
        times = {"seconds", "training_seconds"}
        assert {k: v for k, v in loop.items() if k not in times} == {
            k: v for k, v in device.items() if k not in times
        }
        assert loop["agent_steps"] > 0


def test_policies_are_known_by_all_they_follow_from(halves: Halves) -> None:
    runner = Runner(halves, embeddings="random", device="cpu")
    folder = runner.policy(POLICY)
    written = (folder / "weights.safetensors").stat().st_mtime_ns
    assert runner.policy(Contender(settings=TINY, revisit=True)) == folder, "how it walks is no part of it"
    assert (folder / "weights.safetensors").stat().st_mtime_ns == written
    assert not list(folder.parent.glob("*.partial"))
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("events.")) == [
        "manifest.json",
        "metrics.jsonl",
        "weights.safetensors",
    ]
    other = runner.policy(Contender(settings=(*TINY, "seed=1")))
    assert other != folder
    assert other.name.rpartition("-")[0] == folder.name.rpartition("-")[0] == "paper-forward-5"


def test_a_policy_that_is_damaged_is_trained_again(halves: Halves) -> None:
    runner = Runner(halves, embeddings="random", device="cpu")
    folder = runner.policy(POLICY)
    weights = (folder / "weights.safetensors").read_bytes()
    for damage in (b"", weights[:-1], bytes([weights[0] ^ 1]) + weights[1:]):
        (folder / "weights.safetensors").write_bytes(damage)
        assert runner.policy(POLICY) == folder
        assert (folder / "weights.safetensors").read_bytes() == weights
    assert list(faults(folder, "policy")) == []
    unseal(folder)
    assert runner.policy(POLICY) == folder, "one of version 0.1 is as good"
    assert json.loads((folder / "manifest.json").read_bytes())["format"] == 1
    (folder / "metrics.jsonl").write_text("{")
    assert "updates" not in runner.measure(TASK, [POLICY])[0]
    (folder / "manifest.json").unlink()
    with locked(folder), pytest.raises(LinkwalkError, match="another process is writing"):
        runner.policy(POLICY)


def test_a_recipe_that_is_not_there(halves: Halves) -> None:
    runner = Runner(halves, embeddings="random", device="cpu")
    with pytest.raises(InputError, match="no recipe named 'secret'"):
        runner.measure(TASK, [Contender(recipe="secret")])
