import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwalk import Wiki
from linkwalk.artifact import checks, notes
from linkwalk.embed import Embeddings
from linkwalk.graph.store import ENTITY, LINK, Graph
from linkwalk.navigate import unit_rows
from linkwalk.wiki import MoveConfig
from linkwalk.wiki.answers import plain
from tests.graph.conftest import Page, write_graph

Run = Callable[..., Any]


@pytest.fixture
def world(run: Run, tmp_path: Path) -> Path:
    """Alpha > Beta > Gamma (0), (1); Delta leads in and is led to by none; Omega is apart, and Echo a dead end."""
    write_graph(
        tmp_path / "world",
        {
            "Alpha": [Page("to Beta here", [("Beta", 0, LINK), ("Echo", 0, ENTITY)])],
            "Beta": [Page("on and on", [("Gamma", 0, ENTITY), ("Alpha", 0, LINK)])],
            "Gamma": [Page("first"), Page("second")],
            "Delta": [Page("in", [("Alpha", 0, LINK)])],
            "Omega": [Page("one"), Page("two")],
            "Echo": [Page("end")],
        },
    )
    assert run("embed", tmp_path / "world", "--encoder", "random", "--quiet").status == 0
    return tmp_path / "world"


def test_json_is_as_promised(run: Run, world: Path) -> None:
    options = ("--agent", "greedy-unvisited", "--back", "--embeddings", "random", "--json")
    ran = run("walk", world, "--from", "alpha", "--to", "Gamma (1)", *options)
    assert ran.status == 0
    value = ran.json()
    graph = Graph.open(world)
    assert (value["success"], value["distance"]) == (True, 3)
    assert value["steps"][-1]["to"]["node"] == graph.find("Gamma (1)")
    assert value["start"]["name"] == "Alpha (0)"
    assert [(click["to"]["name"], click["kind"]) for click in value["optimum"]] == [
        ("Beta (0)", "link"),
        ("Gamma (0)", "entity"),
        ("Gamma (1)", "next"),
    ]
    ways = MoveConfig(back=True)
    same = Wiki.open(world, embeddings="random").walk(
        "Alpha", "Gamma (1)", agent="greedy-unvisited", ways=ways
    )
    assert value == json.loads(json.dumps(plain(same)))


def test_people_see_every_click_and_the_optimum(run: Run, world: Path) -> None:
    ran = run("walk", world, "--from", "Beta", "--to", "Gamma (1)", "--agent", "random", "--seed", 1)
    assert (ran.status, ran.err) == (0, "")
    assert "from Beta (0)\nto   Gamma (1), by random\n" in ran.out
    assert "[[o]]n and on" in ran.out
    assert "probability 0.50" in ran.out
    assert "the shortest path has 2:\n  Beta (0) > Gamma (0) > Gamma (1)\n" in ran.out
    assert ran.out.splitlines()[-1] == f"next: linkwalk eval {world} --agent random"


def test_a_walk_repeats_and_the_seed_matters(run: Run, world: Path) -> None:
    def walk(seed: int) -> Any:
        ran = run(
            "walk", world, "--from", "Alpha", "--to", "Gamma", "--agent", "random", "--seed", seed, "--json"
        )
        return [click["to"]["node"] for click in ran.json()["steps"]]

    assert walk(4) == walk(4)
    assert len({tuple(walk(seed)) for seed in range(8)}) > 1


def test_a_walk_that_fails_says_how(run: Run, world: Path) -> None:
    short = run("walk", world, "--from", "Alpha", "--to", "Gamma (1)", "--agent", "random-dfs", "--budget", 1)
    assert short.status == 0
    assert "not found within 1 step; the shortest path has 3" in short.out
    trapped = [
        run("walk", world, "--from", "Alpha", "--to", "Gamma", "--agent", "random", "--seed", seed).out
        for seed in range(12)
    ]
    said = (
        "not found: after 1 step all that can be reached has been seen (--back gives the agent a back button)"
    )
    assert any(said in out for out in trapped)
    assert any("found in 2 steps; the shortest path has 2" in out for out in trapped)


def test_one_is_there_already(run: Run, world: Path) -> None:
    ran = run("walk", world, "--from", "Alpha", "--to", "Alpha", "--agent", "random", "--json")
    assert ran.status == 0
    assert (ran.json()["success"], ran.json()["steps"], ran.json()["distance"]) == (True, [], 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--from", "Alpa", "--to", "Beta"],
            "no article named 'Alpa' in testwiki 2018-12-20: did you mean 'Alpha'?",
        ),
        (["--from", "Alpha", "--to", "Gamma (7)"], "'Gamma' has no block 7: its blocks are 0 to 1"),
        (
            ["--from", "Echo", "--to", "Beta"],
            "Echo (0) has no links, so no path leads anywhere: start elsewhere",
        ),
        (["--from", "Alpha", "--to", "Delta"], "nothing links to Delta (0), so no path leads there"),
        (
            ["--from", "Alpha", "--to", "Omega"],
            "no path leads from Alpha (0) to Omega (0): 4 other blocks can be reached from the first, "
            "1 leads to the second",
        ),
        (
            ["--from", "Alpha", "--to", "Beta", "--agent", "clever"],
            "no agent named 'clever': choose from random",
        ),
        (["--from", "Alpha", "--to", "Beta", "--agent", "random,greedy"], "one agent walks at a time"),
        (["--from", "Alpha", "--to", "Beta", "--budget", "0"], "--budget"),
        (["--from", "Alpha"], "--to"),
    ],
)
def test_errors_are_one_line_and_say_what_to_do(run: Run, world: Path, args: list[str], message: str) -> None:
    ran = run("walk", world, *args)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


def test_towards_a_sentence_the_goal_is_unknown(run: Run, embedded_world: Path) -> None:
    graph = Graph.open(embedded_world)
    start = graph.name(int(np.argmax(graph.forward.degrees())))
    words = "Copper engine light letter bridge story mountain village"
    options = ("--from", start, "--sentence", words, "--agent", "greedy-unvisited")
    value = run("walk", embedded_world, *options, "--json").json()
    assert [value[name] for name in ("success", "distance", "goal", "optimum")] == [None] * 4
    assert (value["sentence"], value["budget"]) == (words, 20)
    assert len(value["steps"]) == 20
    pages = [value["start"], *(click["to"] for click in value["steps"])]
    best = value["closest"]
    assert pages[best["step"]] == best["place"]
    table = Embeddings.open(embedded_world)
    query = unit_rows(table.encoder("cpu").encode([words]))[0]
    cosines = unit_rows(table.vectors[[page["node"] for page in pages]]) @ query
    assert best["score"] == pytest.approx(cosines.max(), abs=1e-4)
    weighed = [
        (click["score"], cosine)
        for click, cosine in zip(value["steps"], cosines[1:], strict=True)
        if not click["seen"]
    ]
    assert len(weighed) > 10
    assert all(score == pytest.approx(cosine, abs=1e-4) for score, cosine in weighed)

    people = run("walk", embedded_world, *options, "--budget", 3)
    assert f"to   «{words}», by greedy-unvisited" in people.out
    assert "closest of the pages seen in 3 steps: " in people.out
    assert people.out.splitlines()[-1].endswith("--agent greedy-unvisited --task sentence")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--from", "Alpha"], "a block with --to or words with --sentence, one of the two"),
        (["--from", "Alpha", "--to", "Beta", "--sentence", "x"], "one of the two"),
        (["--from", "Alpha", "--sentence", "  "], "--sentence is empty: give the words to look for"),
        (["--from", "Echo", "--sentence", "x"], "Echo (0) has no links, so no path leads anywhere"),
        (
            ["--from", "Alpha", "--sentence", "x"],
            "random features, which cannot read text: run `linkwalk embed",
        ),
        (
            ["--from", "Alpha", "--sentence", "x", "--agent", "random"],
            "which cannot read text: run `linkwalk",
        ),
        (
            ["--from", "Alpha", "--sentence", "x", "--embeddings", "random"],
            "the embeddings 'random' are random features, which cannot read text",
        ),
    ],
)
def test_sentences_that_cannot_be_looked_for(run: Run, world: Path, args: list[str], message: str) -> None:
    ran = run("walk", world, *args)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert message in ran.err


def test_embeddings_that_are_no_numbers_are_named_by_their_file(
    world: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world / "embeddings" / "random" / "vectors.npy"
    vectors = np.load(path)
    vectors[2, 3] = np.nan
    np.save(path, vectors)
    monkeypatch.setattr(
        checks, "SMALL", 0
    )  # as of a large file, whose checksum is not compared when it is opened
    words = ("--from", "Alpha", "--to", "Gamma", "--agent", "greedy-unvisited", "--embeddings", "random")
    done = run("walk", world, *words)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert done.err.startswith(f"error: {path} is damaged (its checksum")


def test_a_block_without_links_is_believed_once_the_columns_are_looked_at(world: Path, run: Run) -> None:
    words = ("--from", "Echo", "--to", "Gamma", "--agent", "random")
    assert "Echo (0) has no links" in run("walk", world, *words).err
    path = world / "graph" / "out_indptr.npy"
    whole = path.read_bytes()
    column = np.load(path)
    column[[1, 4]] = 0
    path.write_bytes(whole[: -column.nbytes] + column.tobytes())
    folder, before = path.parent, notes._TICK_S
    notes._TICK_S = 0.0  # a note that all has been looked at, as where a disk loses bits
    files = json.loads((folder / "manifest.json").read_bytes())["files"]
    notes.note(world, "graph", notes.states(folder / name for name in files), "sound")
    notes._TICK_S = before
    done = run("walk", world, "--from", "Alpha", "--to", "Gamma", "--agent", "random")
    assert done.status == 2
    assert "out_indptr.npy is damaged" in done.err
