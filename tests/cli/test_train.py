"""``linkwalk train``, and its policy in ``eval`` and ``walk``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran

Run = Callable[..., Ran]
QUICK = ("--set", "updates=20", "--set", "batch=16", "--set", "steps=5", "--embeddings", "random", "-q")


@pytest.fixture
def embedded(run: Run, wiki: Path) -> Path:
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    return wiki


def test_a_policy_is_trained_and_walks(run: Run, embedded: Path) -> None:
    made = run("train", embedded, *QUICK, "--json").json()
    folder = embedded / "policies" / "ours"
    assert made["policy"] == str(folder)
    assert made["last"]["update"] == 20
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "metrics.jsonl",
        "weights.safetensors",
    ]
    assert json.loads((folder / "manifest.json").read_bytes())["config"]["updates"] == 20

    options = ("--embeddings", "random", "--episodes", 50, "--steps", 5, "--json", "-q")
    results = run("eval", embedded, "--agent", "ours", "--agent", "greedy-unvisited", *options).json()[
        "results"
    ]
    assert [row["agent"] for row in results] == ["ours", "greedy-unvisited"]
    assert results[0]["failure_ratio"] is not None
    elsewhere = run("eval", embedded, "--agent", folder, *options).json()["results"]
    assert elsewhere[0]["success"] == results[0]["success"]

    shown = run("train", embedded, *QUICK, "--name", "second").out
    assert "next: linkwalk eval" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recipe", "secret"], "no recipe named 'secret': choose one of ours, paper"),
        (["--set", "updates=many"], "--set updates=many: 'many' is no int"),
        (["--name", "../x"], "'../x' cannot name a policy: use letters, digits, dots, dashes, underscores"),
        (["--embeddings", "none"], "no embeddings named 'none' in"),
        (["--device", "abacus"], "no such device: 'abacus'"),
    ],
)
def test_bad_options(run: Run, embedded: Path, options: list[str], message: str) -> None:
    ran = run("train", embedded, "--embeddings", "random", *options)
    assert ran.status == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (embedded / "policies").exists()


def test_names_are_taken_once(run: Run, embedded: Path) -> None:
    assert run("train", embedded, *QUICK).status == 0
    again = run("train", embedded, *QUICK)
    assert again.status == 2
    assert "has a policy named 'ours': add --force" in again.err
    assert run("train", embedded, *QUICK, "--force").status == 0


def test_a_policy_fits_its_encoder_only(run: Run, embedded: Path) -> None:
    assert run("train", embedded, *QUICK).status == 0
    assert run("embed", embedded, "--encoder", "random", "--seed", 7, "--name", "other", "-q").status == 0
    ran = run(
        "eval", embedded, "--agent", "ours", "--embeddings", "other", "--steps", 5, "--episodes", 10, "-q"
    )
    assert ran.status == 2
    assert "was trained on embeddings of another encoder" in ran.err
    ran = run("eval", embedded, "--agent", "ours", "--back", "--embeddings", "random", "-q")
    assert ran.status == 2
    assert "has no back button yet" in ran.err
