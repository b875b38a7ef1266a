"""A training that is run again: after it has ended, after it was killed, and while another one runs."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from linkwalk.artifact import faults, locked
from linkwalk.artifact.notes import NOTE
from linkwalk.embed import Embeddings
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.state import FILE, read_state
from linkwalk.policy.checkpoint import read_policy
from linkwalk.policy.target import AdapterConfig, read_target
from tests.cli.conftest import Ran
from tests.cli.test_train import READ
from tests.cli.test_train_reranker import LIST, write
from tests.embed.conftest import tiny_bert
from tests.graph.conftest import random_graph
from tests.killing import is_killed
from tests.older import unseal

Run = Callable[..., Ran]
ROOT = Path(__file__).parents[2]
QUICK = ("--set", "updates=20", "--set", "batch=16", "--set", "steps=5", "--embeddings", "random")
LONG = (*QUICK, "--set", "updates=200", "--checkpoint-every", "40")
UP_TO_DATE = "is up to date: the same graph, embeddings and settings made it (--force trains it again)"


@pytest.fixture
def embedded(run: Run, wiki: Path) -> Path:
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    return wiki


@pytest.fixture
def readable(embedded_world: Path, tmp_path: Path) -> Path:
    """A workspace with embeddings of text, to be written to."""
    return Path(shutil.copytree(embedded_world, tmp_path / "readable"))


def names(folder: Path) -> list[str]:
    """What is in a folder, but for the note of what has been looked at."""
    return sorted(path.name for path in folder.iterdir() if path.name != NOTE)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(ran: Ran, *words: str) -> None:
    """One line on standard error, and status 2."""
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1), ran
    for word in words:
        assert word in ran.err


def test_the_same_training_again_says_so(run: Run, embedded: Path) -> None:
    made = run("train", embedded, *QUICK, "-q", "--json")
    folder = embedded / "policies" / "ours"
    before = files(folder)
    for older in (False, True):
        if older:
            unseal(folder)
            before = files(folder)
        shown = run("train", embedded, *QUICK)
        assert (shown.status, shown.err) == (0, "")
        assert shown.out.startswith(f"ours {UP_TO_DATE}\n")
        assert "20 updates in" in shown.out
        assert "next: linkwalk eval" in shown.out
        again = run("train", embedded, *QUICK, "--json")
        assert (again.status, again.err) == (0, "")
        assert again.json() == made.json()
        assert files(folder) == before
    assert names(embedded / "policies") == ["ours"]
    forced = run("train", embedded, *QUICK, "--force")
    assert forced.status == 0
    assert "train: 20 updates" in forced.err
    assert "up to date" not in forced.out
    assert (folder / "weights.safetensors").read_bytes() == before["weights.safetensors"]
    assert list(faults(folder, "policy")) == []


def test_another_training_names_what_differs(run: Run, embedded: Path) -> None:
    assert run("train", embedded, *QUICK, "-q").status == 0
    base = ("train", embedded, "--name", "ours", *QUICK)
    start = f"{embedded} has a policy named 'ours' of another training ("
    end = "): add --force to replace it, or name another with --name"
    refused(run(*base, "--set", "batch=8"), f"{start}config.batch was 16, is 8{end}")
    refused(run(*base, "--recipe", "paper"), f"{start}config.", " more): add --force")
    run("embed", embedded, "--encoder", "random", "--seed", 7, "--name", "other", "-q")
    encoders = [Embeddings.open(embedded, name).fingerprint for name in ("random", "other")]
    expected = f"{start}encoder was {encoders[0]}, is {encoders[1]}{end}"
    refused(run(*base, "--embeddings", "other"), expected)
    before = read_policy(embedded / "policies" / "ours")["trained_on"]["graph"]
    random_graph(embedded, np.random.default_rng(6), articles=30)
    assert run("embed", embedded, "--encoder", "random", "-q").status == 0
    refused(run(*base), f"{start}graph was {before}, is ")


def test_a_damaged_policy_is_trained_again_by_force(run: Run, embedded: Path) -> None:
    assert run("train", embedded, *QUICK, "-q").status == 0
    file = embedded / "policies" / "ours" / "weights.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-4])
    ran = run("train", embedded, *QUICK)
    refused(ran, f"{file} is damaged", f"`linkwalk train {embedded} --embeddings random --name ours --force`")
    assert run("train", embedded, *QUICK, "--force", "-q").status == 0
    assert file.read_bytes() == whole


def test_damaged_metrics_of_version_0_1(run: Run, embedded: Path) -> None:
    assert run("train", embedded, *QUICK, "-q").status == 0
    folder = unseal(embedded / "policies" / "ours")
    (folder / "metrics.jsonl").write_bytes(b'\xff\n{"update": 20, "loss": "x"}\n{"update": 10}\n{')
    assert run("train", embedded, *QUICK).out.startswith(f"ours {UP_TO_DATE}\n")
    assert run("train", embedded, *QUICK, "--json").json()["last"] == {"update": 10}
    (folder / "metrics.jsonl").unlink()
    assert run("train", embedded, *QUICK, "--json").json()["last"] == {}


def start(step: int, folder: Path, *args: object) -> subprocess.Popen[str]:
    """A command of its own, killed when it touches ``folder`` for the ``step``-th time; 0: never."""
    command = [sys.executable, "-m", "tests.killing", str(step), str(folder), *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_weights(run: Run, embedded: Path) -> None:
    """Killed after a save, then as it begins to put the policy in its place."""
    policies = embedded / "policies"
    assert run("train", embedded, *LONG, "--name", "whole", "-q").status == 0
    killed = start(0, policies, "train", embedded, *LONG)
    while not (policies / "ours.partial" / FILE).exists():
        assert killed.poll() is None
        time.sleep(0.005)
    killed.kill()
    killed.communicate()
    assert not (policies / "ours").exists()
    killed = start(2, policies / "ours.partial" / "whole", "train", embedded, *LONG)
    assert "goes on after update" in killed.communicate()[1]
    assert killed.returncode == -signal.SIGKILL
    assert not (policies / "ours").exists()
    ran = run("train", embedded, *LONG)
    assert ran.status == 0
    expected = r"goes on after update 200 of 200, from .*ours.partial \(--restart begins anew\)\n"
    assert re.match(expected, ran.err)
    assert names(policies) == ["ours", "whole"]
    assert list(faults(policies / "ours", "policy")) == []
    weights = [(policies / name / "weights.safetensors").read_bytes() for name in ("whole", "ours")]
    assert weights[0] == weights[1]
    losses = [[row["loss"] for row in read_rows(policies / name)] for name in ("whole", "ours")]
    assert losses[0] == losses[1]


def test_what_a_killed_training_left_is_removed(run: Run, embedded: Path) -> None:
    """Killed after its policy was in its place; what another training left stays."""
    policies = embedded / "policies"
    ruin = ("--set", "learning_rate=1e30", "--set", "updates=60", "--checkpoint-every", "10")
    assert run("train", embedded, *QUICK, *ruin).status == 2
    assert run("train", embedded, *QUICK, "-q", "--name", "other").status == 0
    shutil.copytree(policies / "ours.partial", policies / "other.partial")
    assert UP_TO_DATE in run("train", embedded, *QUICK, "--name", "other").out
    assert names(policies) == ["other", "other.partial", "ours.partial"]
    saved = policies / "other.partial" / FILE
    saved.write_bytes(saved.read_bytes()[:-1])
    assert UP_TO_DATE in run("train", embedded, *QUICK, "--name", "other").out
    assert names(policies) == ["other", "ours.partial"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut off", "flipped", "no rows"])
def test_what_a_stopped_training_left_is_damaged(run: Run, embedded: Path, damage: str) -> None:
    ruin = (*QUICK, "--set", "learning_rate=1e30", "--set", "updates=60", "--checkpoint-every", "10")
    assert run("train", embedded, *ruin).status == 2
    partial = embedded / "policies" / "ours.partial"
    if damage == "no rows":
        (partial / "metrics.jsonl").write_bytes(b"\xff\xfe{\n")
        assert run("train", embedded, *ruin).err.startswith("goes on after update 40 of 60")
        return
    data = bytearray((partial / FILE).read_bytes())
    if damage == "flipped":
        data[-100] ^= 4
    (partial / FILE).write_bytes(data[:-3] if damage == "cut off" else data)
    ran = run("train", embedded, *ruin)
    assert ran.err.startswith(f"{partial / FILE} is damaged (")
    assert ran.err.splitlines()[0].endswith("): the training begins anew")
    assert "its loss or weights are no longer numbers at update 50" in ran.err
    assert read_state(partial) is not None
    assert "is damaged" not in run("train", embedded, *ruin, "-q", "--restart").err


@pytest.mark.slow
def test_two_at_once(run: Run, embedded: Path) -> None:
    """One is refused, the other leaves a whole policy."""
    policies = embedded / "policies"
    running = start(0, policies, "train", embedded, *QUICK, "--set", "updates=400")
    while not (policies / "ours.partial").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    busy = f"another process is writing {policies / 'ours'} at this moment: wait until it has ended"
    refused(run("train", embedded, *QUICK, "-q"), busy)
    assert running.poll() is None, "it came while the other was running"
    running.communicate()
    assert running.returncode == 0
    assert list(faults(policies / "ours", "policy")) == []
    assert names(policies) == ["ours"]


def test_whatever_is_being_written_is_left_alone(run: Run, readable: Path, tmp_path: Path) -> None:
    mine = ("--name", "mine", "-q")
    assert run("train-reader", readable, "compass", *READ, *mine).status == 0
    before = files(readable / "policies" / "mine")
    tiny = f"model.encoder={tiny_bert(tmp_path / 'tiny')}"
    lists = write(tmp_path / "lists.jsonl", [LIST])
    with locked(readable / "policies" / "mine"), locked(readable / "rerankers" / "mine"):
        for verb, *options in (
            ("train", "--force"),
            ("train-reader", "compass", *READ, "--force"),
            ("train-reader", "mine", *READ, "--force"),
            ("train-reranker", lists, "--set", tiny, "--device", "cpu"),
        ):
            refused(run(verb, readable, *options, *mine), "error: another process is writing")
    assert files(readable / "policies" / "mine") == before
    assert names(readable / "policies") == ["mine"]
    assert not (readable / "rerankers").exists()


def test_the_same_target_encoder_again_says_so(run: Run, readable: Path) -> None:
    base = ("train-reader", readable, "compass", "--name", "mine", *READ)
    made = run(*base, "--json", "-q")
    folder = readable / "policies" / "mine"
    before = files(folder)
    line = "the target encoder of mine is up to date: the same graph, embeddings, policy and settings made it"
    (readable / "policies" / "mine+target.partial").mkdir()  # as one does that was killed at its very end
    shown = run(*base)
    assert names(readable / "policies") == ["mine"]
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.startswith(f"{line} (--force trains it again)\n")
    assert run(*base, "--json").json() == made.json()
    assert run("train-reader", readable, "mine", *READ).out.startswith(line)
    assert files(folder) == before
    # Of what cannot be known to be the same, it is as before.
    manifest = json.loads((folder / "target.json").read_bytes())
    for changes in ({"tuned": {}}, {"trained_on": {"graph": manifest["trained_on"]["graph"]}}):
        unseal(unseal(folder), "target.json", **(manifest | changes))
        refused(run(*base), "has a policy named 'mine': add --force to replace it")
        refused(
            run("train-reader", readable, "mine", *READ),
            "the policy 'mine' has a target encoder: add --force to replace it",
        )


def test_a_damaged_target_encoder_is_trained_again_by_force(run: Run, readable: Path) -> None:
    base = ("train-reader", readable, "compass", "--name", "mine", *READ, "-q")
    assert run(*base).status == 0
    folder = readable / "policies" / "mine"
    whole = (folder / "target.safetensors").read_bytes()
    (folder / "target.safetensors").unlink()
    (folder / "target.safetensors").mkdir()
    again = ("train-reader", readable, "mine")
    refused(
        run(*again, *READ), "target.safetensors is damaged", f"`linkwalk {' '.join(map(str, again))} --force`"
    )
    assert run(*again, *READ, "--force", "-q").status == 0
    assert (folder / "target.safetensors").read_bytes() == whole
    assert list(faults(folder, "policy")) == []


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("had_one", [False, True])
def test_killed_at_any_step_the_policy_is_whole(
    run: Run, readable: Path, tmp_path: Path, had_one: bool, older: bool
) -> None:
    """With the target encoder it had, or none, or the new one."""
    from linkwalk.trainings.readers import METRICS, PolicyPlace

    assert run("train-reader", readable, "compass", "--name", "mine", *READ, "-q").status == 0
    folder = readable / "policies" / "mine"
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("about it")
    found = read_target(folder)
    assert found is not None
    manifest = found[0]
    adapter = {name: torch.tensor(value) for name, value in found[1].items()}
    sizes = AdapterConfig(**manifest["adapter"])
    place = PolicyPlace.of(readable, "mine", None)
    assert place.in_place
    for name in ("target.json", "target.safetensors", METRICS):
        if not had_one:
            (folder / name).unlink()
    if not had_one:
        shutil.rmtree(folder / "target", ignore_errors=True)

    def put() -> None:
        place.put(adapter, sizes, manifest["encoder"], manifest)

    if older or not had_one:
        unseal(folder)
    before = Path(shutil.copytree(folder, tmp_path / "before"))
    step, seen = 0, set()
    killed = True
    while killed:
        step += 1
        for path in (place.partial, folder):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(before, folder)
        place.partial.mkdir()
        (place.partial / "metrics.jsonl").write_text('{"update": 99}\n')
        killed = is_killed(step, folder.parent, put)
        assert list(faults(folder, "policy")) == []
        assert (folder / "weights.safetensors").read_bytes() == (before / "weights.safetensors").read_bytes()
        assert (folder / "notes" / "mine.txt").read_text() == "about it"
        if read_target(folder) is None:
            seen.add("none")
            assert not had_one
        else:
            rows: Any = (folder / METRICS).read_text()
            seen.add("new" if rows == '{"update": 99}\n' else "old")
        if "new" not in seen:
            assert files(folder) == files(before)
    assert seen == {"old" if had_one else "none", "new"}
    assert step > 15
    assert set(read_policy(folder)["files"]) > {"target.json", "target.safetensors", "notes/mine.txt"}


def test_the_same_reranker_again_says_so(run: Run, wiki: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    tiny = tiny_bert(tmp_path / "tiny")
    settings = (f"model.encoder={tiny}", "model.rank=2", "updates=2", "warmup=1", "lists=1")
    lists = write(tmp_path / "lists.jsonl", [LIST])
    quick = [part for one in settings for part in ("--set", one)]
    base = ("train-reranker", wiki, lists, "--name", "mine", *quick, "--device", "cpu")
    made = run(*base, "--json", "-q")
    folder = wiki / "rerankers" / "mine"
    before = files(folder)
    folder.with_name("mine.partial").mkdir()  # as one does that was killed at its very end
    shown = run(*base)
    assert names(folder.parent) == ["mine"]
    assert (shown.status, shown.err) == (0, "")
    line = "mine is up to date: the same graph, files and settings made it (--force trains it again)\n"
    assert shown.out.startswith(line)
    assert "lists.jsonl: 1 of 1" in shown.out
    assert shown.out.endswith(f"next: linkwalk find {wiki} 'a claim or a question' --rerank {folder}\n")
    assert run(*base, "--json").json() == made.json()
    assert files(folder) == before
    start = f"{wiki} has a reranker named 'mine'"
    refused(
        run(*base, "--set", "seed=3"), f"{start} of another training (training.seed was 0, is 3): add --force"
    )
    write(lists, [LIST, LIST])
    refused(run(*base), f"{start} of another training (made_from.files was ['lists.jsonl ")
    write(lists, [LIST])
    unseal(folder, "cross.json", made_from=None)
    refused(run(*base), f"{start}: add --force to replace it")
    (folder / "cross.safetensors").write_bytes(b"")
    refused(
        run(*base),
        "cross.safetensors is damaged",
        f"`linkwalk train-reranker {wiki} FILE --name mine --force`",
    )
    assert run(*base, "--force", "-q").status == 0
    assert (folder / "cross.safetensors").read_bytes() == before["cross.safetensors"]
    assert list(faults(folder, "cross", name="cross.json")) == []
