from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from linkwalk.graph.store import Graph
from linkwalk.navigate import BASELINES
from tests.graph.conftest import Page, write_graph

Run = Callable[..., Any]
EVERYONE = ("--agent", ",".join(BASELINES))
FIELDS = """agent task steps sampling episodes success success_ci95 spl mean_steps mean_distance loop_rate failure_ratio
failure_ratio_ci95""".split()


@pytest.fixture
def embedded(run: Run, wiki: Path) -> Path:
    assert run("embed", wiki, "--encoder", "random", "--quiet").status == 0
    return wiki


def test_json_is_as_promised(run: Run, embedded: Path) -> None:
    options = ("--embeddings", "random", "--episodes", 50, "--json", "--budget", 30)
    ran = run("eval", embedded, *EVERYONE, *options)
    assert ran.status == 0
    results = ran.json()["results"]
    assert [(r["steps"], r["agent"]) for r in results] == [(t, a) for t in (5, 10, 20) for a in BASELINES]
    for result in results:
        assert list(result)[: len(FIELDS)] == FIELDS
        assert result["success_ci95"][0] <= result["success"] <= result["success_ci95"][1]
        assert 0 <= result["spl"] <= result["success"] <= 1
        assert (result["task"], result["sampling"], result["episodes"]) == ("navigation", "forward", 50)
        assert result["mean_distance"] >= 1
    for start in range(0, len(results), len(BASELINES)):
        together = results[start : start + len(BASELINES)]
        failures = {r["agent"]: 1 - r["success"] for r in together}
        for result in together:
            expected = failures[result["agent"]] / failures["greedy-unvisited"]
            assert result["failure_ratio"] == pytest.approx(expected)


def test_the_agents_named_change_no_figure(run: Run, embedded: Path) -> None:
    options = ("--embeddings", "random", "--episodes", 40, "--steps", "7", "--seed", 3, "--json", "--quiet")
    everyone = run("eval", embedded, *EVERYONE, *options).json()["results"]
    for name in ("random", "greedy-dfs"):
        (alone,) = run("eval", embedded, "--agent", name, *options).json()["results"]
        assert alone == everyone[list(BASELINES).index(name)]
    one_by_one = run("eval", embedded, "--agent", "greedy-dfs,random", "--agent", "greedy-dfs", *options)
    assert [r["agent"] for r in one_by_one.json()["results"]] == ["greedy-dfs", "random"]


def test_blind_agents_need_no_embeddings(run: Run, wiki: Path) -> None:
    ran = run("eval", wiki, "--agent", "random", "--agent", "random-dfs", "--task", "multistep", "--json")
    assert ran.status == 0
    assert [(r["steps"], r["failure_ratio"], r["failure_ratio_ci95"]) for r in ran.json()["results"]] == [
        (20, None, None)
    ] * 2


def test_people_see_a_table_and_the_next_command_works(run: Run, embedded: Path) -> None:
    import shlex

    options = ("--embeddings", "random", "--steps", "3", "--back", "--sampling", "reverse", "-q")
    ran = run("eval", embedded, *EVERYONE, *options)
    assert (ran.status, ran.err) == (0, "")
    for expected in (
        "success %",
        "failure ratio",
        "greedy-unvisited",
        "with a back button",
        "by reverse walks",
    ):
        assert expected in ran.out
    _, _, command = ran.out.rpartition("next: linkwalk ")
    assert command.endswith(" --embeddings random\n")
    assert run(*shlex.split(command), "--agent", "random").status == 0


def test_a_back_button_is_a_privilege_that_the_reference_shares(run: Run, embedded: Path) -> None:
    options = (
        "--embeddings",
        "random",
        "--agent",
        "greedy-unvisited",
        "--steps",
        "10",
        "--json",
        "--budget",
        25,
    )
    (without,) = run("eval", embedded, *options).json()["results"]
    (with_back,) = run("eval", embedded, *options, "--back").json()["results"]
    assert with_back["success"] != without["success"]
    assert (without["back"], with_back["back"]) == (False, True)
    assert with_back["failure_ratio"] == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--agent", "greedy"], "linkwalk embed"),
        ([], "linkwalk embed"),
        (["--agent", "random", "--embeddings", "mine"], "no embeddings named 'mine'"),
        (["--agent", "clever"], "no agent named 'clever': choose from random, greedy, "),
        (["--agent", "random", "--steps", "5,x"], "--steps '5,x' is not a list of numbers"),
        (["--agent", "random", "--steps", "0"], "--steps '0' is not a list of numbers"),
        (["--agent", "random", "--steps", ""], "--steps '' is not a list"),
        (["--agent", "random", "--budget", "0"], "--budget"),
        (["--agent", "random", "--episodes", "0"], "--episodes"),
        (["--agent", "random", "--task", "paragraph"], "--task"),
        (["--agent", "greedy", "--task", "sentence"], "linkwalk embed"),
        (["--agent", "random", "--seed", "-1"], "--seed"),
    ],
)
def test_errors_are_one_line_and_say_what_to_do(run: Run, wiki: Path, args: list[str], message: str) -> None:
    ran = run("eval", wiki, *args)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


@pytest.mark.parametrize("pages", [{"A": [Page("x")]}, {"A": [Page("x")], "B": [Page("y")]}], ids=len)
def test_a_graph_without_links_is_refused(run: Run, tmp_path: Path, pages: dict[str, list[Page]]) -> None:
    write_graph(tmp_path / "bare", pages)
    ran = run("eval", tmp_path / "bare", "--agent", "random", "--quiet")
    assert (ran.status, ran.out) == (2, "")
    assert "links" in ran.err
    assert ran.err.count("\n") == 1


def test_embeddings_of_another_graph_are_refused(run: Run, embedded: Path) -> None:
    write_graph(embedded, {"A": [Page("x y", [("B", 0, 2)])], "B": [Page("y")]})
    ran = run("eval", embedded, "--embeddings", "random")
    assert (ran.status, ran.out) == (2, "")
    assert "another graph" in ran.err


@pytest.mark.slow
def test_sentence_search(run: Run, embedded_world: Path) -> None:
    import shlex

    options = ("--task", "sentence", "--steps", 3, "--episodes", 40, "--budget", 6)
    everyone = run("eval", embedded_world, *EVERYONE, *options, "--json", "-q").json()["results"]
    assert [row["agent"] for row in everyone] == list(BASELINES)
    assert {(row["task"], row["steps"], row["episodes"]) for row in everyone} == {("sentence", 3, 40)}
    for name in ("random", "greedy-dfs"):
        (alone,) = run("eval", embedded_world, "--agent", name, *options, "--json", "-q").json()["results"]
        assert alone == everyone[list(BASELINES).index(name)]
    whole = run("eval", embedded_world, "--agent", "greedy", *options[2:], "--json", "-q").json()["results"]
    assert whole[0]["success"] != everyone[1]["success"], "a sentence is not the goal"

    people = run("eval", embedded_world, "--agent", "greedy-unvisited", *options)
    assert "sentence search by forward walks, 40 episodes each" in people.out
    assert people.out.splitlines()[0].endswith(", embeddings minilm-walks")
    assert "read: " in people.err
    command = shlex.split(people.out.rpartition("next: linkwalk ")[2])
    assert run(*command, "--agent", "random").status == 0


def test_random_features_cannot_read_sentences(run: Run, embedded: Path) -> None:
    ran = run("eval", embedded, "--task", "sentence", "--embeddings", "random", "--agent", "greedy")
    assert (ran.status, ran.out) == (2, "")
    assert "random features, which cannot read text" in ran.err
    assert ran.err.count("\n") == 1
    blind = run("eval", embedded, "--task", "sentence", "--agent", "random", "--steps", 2, "-q", "--json")
    assert blind.status == 0
    assert blind.json()["results"][0]["failure_ratio"] is None


def test_a_policy_reads_with_its_own_target_encoder(run: Run, embedded_world: Path, tmp_path: Path) -> None:
    import shutil

    from linkwalk.embed import Embeddings
    from linkwalk.policy.checkpoint import save_policy
    from linkwalk.policy.heads import HeadConfig, build_head
    from linkwalk.policy.low_rank import TargetModel, save_target
    from linkwalk.policy.target import AdapterConfig

    table = Embeddings.open(embedded_world)
    # Untrained the residual head walks as greedy-unvisited does; so what differs is what it reads.
    config = HeadConfig(width=table.width)
    save_policy(
        tmp_path / "plain",
        build_head(config),
        config,
        {"encoder": table.fingerprint, "encoder_name": "minilm"},
    )
    shutil.copytree(tmp_path / "plain", tmp_path / "own")
    model = TargetModel(table.transformer("cpu").model, AdapterConfig(rank=1))
    adapter = model.adapter()
    adapter["turn"] = -2 * torch.eye(table.width)  # away from everything
    save_target(tmp_path / "own", adapter, model.config, table.fingerprint, {})
    options = ("--task", "sentence", "--steps", 3, "--episodes", 60, "--budget", 4, "--json", "-q")
    agents = ("--agent", "greedy-unvisited", "--agent", tmp_path / "plain", "--agent", tmp_path / "own")
    greedy, plain, own = run("eval", embedded_world, *agents, *options).json()["results"]
    assert abs(plain["success"] - greedy["success"]) < 0.05
    assert own["success"] < plain["success"] - 0.1
    graph = Graph.open(embedded_world)
    towards = ("--from", graph.name(int(graph.forward.degrees().argmax())), "--sentence", "stone", "--json")
    plain, own = (
        run("walk", embedded_world, *towards, "--agent", tmp_path / name).json() for name in ("plain", "own")
    )
    assert plain["closest"]["score"] > 0 > own["steps"][0]["score"]
