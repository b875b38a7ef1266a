"""``linkwalk train --recipe rl``: from nothing, from a policy, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran

Run = Callable[..., Ran]
QUICK = ("--set", "updates=3", "--set", "batch=8", "--set", "unroll=5", "--embeddings", "random", "-q")


@pytest.fixture
def embedded(run: Run, wiki: Path) -> Path:
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    return wiki


def test_a_policy_learns_from_reward_and_is_gone_on_from(run: Run, embedded: Path) -> None:
    made = run("train", embedded, "--recipe", "rl", *QUICK, "--json").json()
    assert (made["recipe"], made["last"]["update"], made["began_as"]) == ("rl", 3, None)
    assert made["last"].keys() >= {"reward", "episode_steps", "entropy", "value_loss", "clipped"}
    assert "up to date" in run("train", embedded, "--recipe", "rl", *QUICK).out
    tuned = run("train", embedded, "--from", "rl", *QUICK, "--json").json()
    assert tuned["recipe"] == "rl-fine-tune"
    assert tuned["began_as"]
    walked = ("--embeddings", "random", "--episodes", 20, "--steps", 3, "--agent", "rl-fine-tune", "-q")
    assert run("eval", embedded, *walked).status == 0
    others = run("train", embedded, "--from", "rl", *QUICK, "--set", "discount=0.8")
    assert (others.status, "of another training" in others.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--recipe", "rl-fine-tune"], "rl-fine-tune goes on from a policy: name one with --from POLICY"),
        (["--from", "nobody"], "no policy named 'nobody' to go on from"),
        (["--from", "nobody", "--recipe", "ours"], "ours begins with nothing"),
        (["--recipe", "rl", "--set", "discount=2"], "discount=2"),
        (["--recipe", "rl", "--head", "transformer"], "looks at its page alone"),
        (["--recipe", "rl", "--set", "walks=forward"], "there is no such setting"),
    ],
)
def test_what_is_refused(run: Run, embedded: Path, options: list[str], why: str) -> None:
    found = run("train", embedded, *QUICK, *options)
    assert found.status == 2
    assert why in found.err
    assert len(found.err.strip().splitlines()) == 1
