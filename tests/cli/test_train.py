"""``linkwalk train``, and its policy in ``eval`` and ``walk``."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk import shipped
from linkwalk.artifact.notes import NOTE
from linkwalk.graph.store import Graph
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.heads import HeadConfig, build_head
from tests.cli.conftest import Ran
from tests.graph.conftest import Page, random_graph, write_graph
from tests.older import unseal

Run = Callable[..., Ran]
QUICK = ("--set", "updates=20", "--set", "batch=16", "--set", "steps=5", "--embeddings", "random", "-q")


def policies(wiki: Path) -> list[str]:
    """What is in the folder of policies, but for the note of what has been looked at."""
    return sorted(path.name for path in (wiki / "policies").iterdir() if path.name != NOTE)


@pytest.fixture
def embedded(run: Run, wiki: Path) -> Path:
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    return wiki


def test_a_policy_is_trained_and_walks(run: Run, embedded: Path) -> None:
    made = run("train", embedded, *QUICK, "--json").json()
    folder = embedded / "policies" / "ours"
    assert made["policy"] == str(folder)
    assert made["last"]["update"] == 20
    assert sorted(path.name.partition(".out.")[0] for path in folder.iterdir()) == [
        "events",
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
        (["--recipe", "secret"], "no recipe named 'secret': choose one of trained-words, ours, residual"),
        (["--set", "updates=many"], "updates=many: 'many' is no int"),
        (["--name", "../x"], "'../x' cannot name a policy: use letters, digits, dots, dashes, underscores"),
        (["--embeddings", "none"], "no embeddings named 'none' in"),
        (["--device", "abacus"], "no such device: 'abacus'"),
        (["--set", "batch=0"], "batch=0: choose 1 or more"),
        (["--set", "walks=sideways"], "no walks named 'sideways': choose one of forward, reverse"),
        (["--set", "optimiser=sgd"], "no optimiser named 'sgd': choose one of adamw, rmsprop"),
        (["--recipe", "residual", "--set", "head.head=deep"], "no policy head named 'deep'"),
        (["--set", "head.width=5"], "the head is for embeddings of width 5, these have"),
        (["--name", "greedy"], "greedy is an agent that needs no training: choose another --name"),
        (["--name", "x.partial"], "cannot name a policy"),
    ],
)
def test_bad_options(run: Run, embedded: Path, options: list[str], message: str) -> None:
    ran = run("train", embedded, "--embeddings", "random", *options)
    assert ran.status == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (embedded / "policies").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_asked_for_and_absent(run: Run, embedded: Path) -> None:
    ran = run("train", embedded, "--embeddings", "random", "--device", "cuda")
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "has no CUDA device that torch can use: choose cpu or auto" in ran.err


@pytest.mark.parametrize("blocks", [{"Only": 1}, {"One": 1, "Two": 1, "Three": 1}])
def test_a_graph_without_links(run: Run, tmp_path: Path, blocks: dict[str, int]) -> None:
    write_graph(tmp_path / "lone", {title: [Page("Some words.")] * n for title, n in blocks.items()})
    assert run("embed", tmp_path / "lone", "--encoder", "random", "-q").status == 0
    ran = run("train", tmp_path / "lone", *QUICK)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "the graph has no links, so nothing can walk it" in ran.err
    assert not (tmp_path / "lone" / "policies").exists()


def test_embeddings_older_than_the_graph(run: Run, embedded: Path) -> None:
    random_graph(embedded, np.random.default_rng(6), articles=30)
    ran = run("train", embedded, *QUICK)
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert "are of another graph: run `linkwalk embed" in ran.err


def test_embeddings_that_are_not_numbers(run: Run, embedded: Path) -> None:
    vectors = np.lib.format.open_memmap(embedded / "embeddings" / "random" / "vectors.npy", "r+")
    vectors[:] = np.nan
    vectors.flush()
    unseal(embedded / "embeddings" / "random")  # else a checksum tells
    ran = run("train", embedded, *QUICK)
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert "the embedding of node 0 is not a number: run `linkwalk embed" in ran.err
    ran = run("train", embedded, *QUICK, "--recipe", "residual")
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert "the embeddings hold values that are not numbers" in ran.err


def test_a_rate_that_is_too_high(run: Run, embedded: Path) -> None:
    ran = run("train", embedded, *QUICK, "--set", "learning_rate=1e30", "--set", "updates=60")
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert "its loss or weights are no longer numbers at update 50: lower its learning_rate" in ran.err
    assert not (embedded / "policies" / "ours").exists()


@pytest.mark.slow
def test_early_stopping(run: Run, embedded: Path) -> None:
    held_out = ("--set", "validation=0.4", "--set", "evaluate_every=5", "--set", "patience=1")
    ruinous = ("--set", "learning_rate=1", "--set", "updates=500")
    made = run("train", embedded, *QUICK, *held_out, *ruinous, "--json").json()
    assert made["kept_update"] == made["kept"]["update"] < made["updates"] == made["last"]["update"] < 500
    assert made["last"]["validation_loss"] >= made["kept"]["validation_loss"]
    shown = run("train", embedded, *QUICK, *held_out, *ruinous, "--name", "again").out
    assert f"{made['updates']} updates in" in shown
    assert "stopped early (of 500)" in shown
    assert f"update {made['kept_update']}: on held-out articles loss" in shown
    none = run("train", embedded, *QUICK, "--set", "validation=0.01", "--name", "none")
    assert (none.status, len(none.err.splitlines())) == (2, 1)
    assert "too few links among themselves: hold out more, or none with validation=0" in none.err


def test_another_training_begins_anew_and_says_why(run: Run, embedded: Path) -> None:
    short = (*QUICK[2:-1], "--checkpoint-every", "10")
    diverges = run("train", embedded, *short, "--set", "learning_rate=1e30", "--set", "updates=60")
    assert diverges.status == 2  # the quickest way to leave a training unfinished
    partial = embedded / "policies" / "ours.partial"
    assert (partial / "state.safetensors").exists()
    ran = run("train", embedded, *short, "--set", "updates=20")
    assert ran.status == 0
    expected = "(config.learning_rate was 1e+30, is 0.0003, config.updates was 60, is 20)"
    assert ran.err.startswith(f"begins anew: the training in {partial} is another {expected}\n")
    assert not partial.exists()


def test_restart(run: Run, embedded: Path) -> None:
    ruinous = (*QUICK[:-1], "--set", "learning_rate=1e30", "--set", "updates=60", "--checkpoint-every", "10")
    assert run("train", embedded, *ruinous).status == 2
    assert run("train", embedded, *ruinous).err.startswith("goes on after update 40 of 60")
    assert "goes on" not in run("train", embedded, *ruinous, "--restart").err


def test_a_policy_fits_its_encoder_only(run: Run, embedded: Path) -> None:
    assert run("train", embedded, *QUICK).status == 0
    assert run("embed", embedded, "--encoder", "random", "--seed", 7, "--name", "other", "-q").status == 0
    ran = run(
        "eval", embedded, "--agent", "ours", "--embeddings", "other", "--steps", 5, "--episodes", 10, "-q"
    )
    assert ran.status == 2
    assert "the policy 'ours' was trained on embeddings with other options than 'other'" in ran.err


READ = [
    *(
        "--set",
        "updates=2",
        "--set",
        "batch=8",
        "--set",
        "steps=3",
        "--set",
        "negatives=10",
        "--set",
        "warmup=0",
    ),
    *("--set", "adapter.rank=2", "--set", "learning_rate=0.01", "--device", "cpu"),
]


@pytest.fixture
def readable(embedded_world: Path, tmp_path: Path) -> Path:
    """A workspace with embeddings of text, to be written to."""
    return Path(shutil.copytree(embedded_world, tmp_path / "readable"))


@pytest.mark.slow
def test_a_policy_learns_to_read(run: Run, readable: Path) -> None:
    bundled = {path.name: path.read_bytes() for path in shipped.policy_path().iterdir()}
    made = run("train-reader", readable, "compass", "--name", "mine", *READ, "--json", "-q")
    folder = readable / "policies" / "mine"
    assert (made.status, made.err) == (0, "")
    found = made.json()
    assert (found["policy"], found["copied_from"]) == (str(folder), str(shipped.policy_path()))
    assert (found["config"]["adapter"]["rank"], found["last"]["update"]) == (2, 2)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    of_target = {"target.json", "target.safetensors", "target_metrics.jsonl"}
    assert set(files) == {"manifest.json", "weights.safetensors", "map.json"} | of_target
    assert files["weights.safetensors"] == bundled["weights.safetensors"]
    own, theirs = (json.loads(each["manifest.json"]) for each in (files, bundled))
    curves = {name for name in own["files"] if name.startswith("target/events.")}
    assert set(own["files"]) - curves == set(files) - {"manifest.json"}
    for name in ("files", "checksum"):
        del own[name], theirs[name]
    assert own == theirs
    assert policies(readable) == ["mine"]

    # It is the same policy, so what differs is what it reads.
    graph = Graph.open(readable)
    towards = ("--from", graph.name(int(graph.forward.degrees().argmax())), "--sentence", "stone", "--json")
    scores = [
        run("walk", readable, *towards, "--agent", name).json()["steps"][0]["score"]
        for name in ("mine", folder, "compass")
    ]
    assert scores[0] == scores[1]
    assert abs(scores[0] - scores[2]) > 1e-3
    options = ("--task", "sentence", "--steps", 3, "--episodes", 10, "-q", "--json")
    assert run("eval", readable, "--agent", "mine", *options).json()["results"][0]["agent"] == "mine"

    again = run("train-reader", readable, "mine", *READ, "--set", "seed=1")
    assert (again.status, again.out) == (2, "")
    other = "of another training (config.seed was 0, is 1)"
    assert f"the policy 'mine' has a target encoder {other}: add --force to replace it" in again.err
    (folder / "notes").mkdir()
    replaced = run("train-reader", readable, folder, *READ, "--set", "seed=1", "--force")
    assert "tokenise: 20 blocks" in replaced.err
    assert "train: 2 updates" in replaced.err
    assert "2 updates in" in replaced.out
    assert replaced.out.endswith(f"next: linkwalk eval {readable} --task sentence --agent mine\n")
    assert (folder / "target.safetensors").read_bytes() != files["target.safetensors"]
    assert (folder / "weights.safetensors").read_bytes() == files["weights.safetensors"]
    assert (folder / "notes").is_dir(), "what else is in the folder stays"
    copy = run("train-reader", readable, "compass", "--name", "mine", *READ)
    assert (copy.status, copy.out) == (2, "")
    other = "of another training (config.seed was 1, is 0)"
    assert f"has a policy named 'mine' {other}: add --force to replace it" in copy.err


def test_a_stopped_reader_goes_on(run: Run, readable: Path) -> None:
    ruinous = ("--set", "learning_rate=1e30", "--set", "updates=4", "--checkpoint-every", "1")
    base = ("train-reader", readable, "compass", "--name", "mine", *READ, *ruinous)
    assert "the training has run away" in run(*base, "-q").err
    partial = readable / "policies" / "mine+target.partial"
    again = run(*base)
    assert re.match(r"goes on after update [123] of 4, from ", again.err)
    assert f"from {partial} (--restart begins anew)\n" in again.err
    assert again.status == 2
    assert "goes on" not in run(*base, "--restart").err
    other = run(*base, "--set", "learning_rate=1e-3")
    assert other.err.startswith(
        f"begins anew: the training in {partial} is another (config.learning_rate was"
    )
    assert other.status == 0
    assert policies(readable) == ["mine"]


@pytest.mark.parametrize(
    ("options", "verb"),
    [
        (["--target", "compass"], "train-reader WIKI compass"),
        (["--target", "compass", "--queries", "c.jsonl"], "tune-reader WIKI compass c.jsonl"),
        (["--queries", "c.jsonl"], "tune-reader WIKI POLICY c.jsonl"),
        (["--reranker", "a.jsonl", "--reranker", "b.jsonl"], "train-reranker WIKI a.jsonl b.jsonl"),
    ],
)
def test_what_were_options_once_are_verbs(run: Run, options: list[str], verb: str) -> None:
    ran = run("train", "WIKI", *options)
    assert (ran.status, ran.out) == (2, "")
    assert f"of their own: run `linkwalk {verb}`" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["nobody"],
            "no policy named 'nobody': choose from compass, other, residual, or give a path",
        ),
        (["greedy"], "no policy named 'greedy'"),
        (["compass", "--name", "../x"], "'../x' cannot name a policy"),
        (
            ["compass", "--set", "rank=3"],
            "rank=3: there is no such setting; there are updates,",
        ),
        (["compass", "--set", "adapter.rank=0"], "adapter.rank=0: choose 1 or more"),
        (["compass", "--set", "seed=-1"], "seed=-1: choose 0 or more"),
        (["compass", "--set", "temperature=0"], "temperature=0: choose more than 0"),
        (["compass", "--embeddings", "random"], "are random features, which cannot read text"),
        (
            ["other"],
            "--encoder roberta`, or name those that it fits with --embeddings",
        ),
        (
            ["compass", "--set", "learning_rate=1e30", "--set", "updates=4"],
            "the training has run away, its loss or weights are no longer numbers at update",
        ),
        (
            ["compass", "--set", "learning_rate=1e6"],
            "the training has run away",
        ),
    ],
)
def test_a_target_encoder_that_cannot_be(run: Run, readable: Path, options: list[str], message: str) -> None:
    assert run("embed", readable, "--encoder", "random", "-q").status == 0
    for name, head, encoder in (("other", "compass", "roberta"), ("residual", "residual", "minilm")):
        config = HeadConfig(head=head)
        manifest = {"encoder": encoder, "encoder_name": encoder}
        save_policy(readable / "policies" / name, build_head(config), config, manifest)
    ran = run("train-reader", readable, *READ, *options, "-q")
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert message in ran.err
    assert policies(readable) == ["other", "residual"]
