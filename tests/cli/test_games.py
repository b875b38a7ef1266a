import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.games.conftest import WriteArchive, write_archive  # noqa: F401 (a fixture)
from tests.graph.conftest import Page, write_graph

Run = Callable[..., Any]
TITLES = ("Ant", "Bee", "Cat (animal)", "Déjà vu", "Elk", "Star Trek: Voyager")


@pytest.fixture
def world(run: Run, tmp_path: Path) -> Path:
    write_graph(tmp_path / "world", {title: [Page(f"of {title}"), Page("more")] for title in TITLES})
    assert run("embed", tmp_path / "world", "--encoder", "random", "--quiet").status == 0
    return tmp_path / "world"


def test_games_are_played_written_and_scored(
    run: Run,
    world: Path,
    write_archive: WriteArchive,  # noqa: F811
    tmp_path: Path,
) -> None:
    archive, runs, plot = write_archive(), tmp_path / "runs.jsonl", tmp_path / "games.png"
    options = ("--agent", "greedy-unvisited", "--agent", "random", "--runs", runs, "--plot", plot, "--quiet")
    ran = run("games", world, archive, *options, "--json")
    assert (ran.status, ran.err) == (0, "")
    found = ran.json()
    assert (found["games"], found["human_mean"], found["unfinished"]) == (3, 2, 1)
    first, second = found["results"]
    assert (first["agent"], second["agent"]) == ("greedy-unvisited", "random")
    assert {"success_30", "mean_clicks", "wins_or_ties", "beats", "by_distance"} <= first.keys()
    assert plot.stat().st_size > 1000
    told = run("games", "play", world, archive, *options)
    assert (told.status, told.err) == (0, "")
    assert "3 games on 2 pairs: people 2.00 clicks, shortest paths 1.67; people arrived in 75.0 %" in told.out
    scored = run("games", "score", runs, "--json")
    assert (scored.status, scored.err) == (0, "")
    people, *agents = scored.json()["results"]
    assert (people["agent"], people["runs"], people["success"]) == ("people", 4, 0.75)
    assert [one["runs"] for one in agents] == [2, 2]
    assert "greedy-unvisited" in run("games", "score", runs).out


def test_a_wrong_click_is_refused(
    run: Run,
    world: Path,
    write_archive: WriteArchive,  # noqa: F811
    tmp_path: Path,
) -> None:
    archive, runs = write_archive(), tmp_path / "runs.jsonl"
    run("games", world, archive, "--agent", "random", "--runs", runs)
    header, first, *_ = runs.read_text().splitlines()
    wrong = json.loads(first) | {"clicks": ["Elk"]}
    runs.write_text(f"{header}\n{json.dumps(wrong)}\n")
    ran = run("games", "score", runs)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: {runs}, line 2: click 1: no link leads from Ant to Elk\n"


@pytest.mark.parametrize(
    ("finished", "said"), [((), "has no game"), (("what\tis this",), "paths_finished.tsv, line 1, 2 columns")]
)
def test_without_a_game_there_is_one_line(
    run: Run,
    world: Path,
    write_archive: WriteArchive,  # noqa: F811
    finished: Any,
    said: str,
) -> None:
    ran = run("games", world, write_archive(finished, ()), "--agent", "random")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_tasks(run: Run, wiki: Path, tmp_path: Path) -> None:
    ran = run("games", "tasks", wiki, "-o", tmp_path / "tasks.jsonl", "--count", 9)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"wrote 9 tasks to {tmp_path / 'tasks.jsonl'}: easy 2 to ")
    assert len((tmp_path / "tasks.jsonl").read_text().splitlines()) == 10


def test_agents_play_tasks_and_a_task_without_a_run_is_a_failure(
    run: Run, wiki: Path, tmp_path: Path
) -> None:
    tasks, runs = tmp_path / "tasks.jsonl", tmp_path / "runs.jsonl"
    run("games", "tasks", wiki, "-o", tasks, "--count", 9, "--budget", 200)
    played = run("games", wiki, tasks, "--agent", "random", "--runs", runs, "--json")
    assert (played.status, played.err) == (0, "")
    (found,) = played.json()["results"]
    assert (found["runs"], sum(some["runs"] for some in found["by_difficulty"])) == (9, 9)
    assert found["success"] > 0
    scored = run("games", "score", runs, "--tasks", tasks, "--replay", "http://here/", "--json").json()
    assert scored["results"] == [found]
    assert [one.partition("&")[0] for one in scored["replays"]] == ["http://here/?view=play"] * 9
    lines = runs.read_text().splitlines()
    runs.write_text("\n".join(lines[:4]))
    assert run("games", "score", runs, "--json").json()["results"][0]["runs"] == 3
    (fewer,) = run("games", "score", runs, "--tasks", tasks, "--json").json()["results"]
    assert (fewer["runs"], fewer["success"] <= 3 / 9) == (9, True)
    assert "success % by difficulty" in run("games", "score", runs, "--tasks", tasks).out
    run("games", "tasks", wiki, "-o", tasks, "--count", 9, "--seed", 1)
    assert "is no task" in run("games", "score", runs, "--tasks", tasks).err
    tasks.write_text('{"format": "something"}\n')
    assert "is no task file" in run("games", wiki, tasks, "--agent", "random").err


def test_eval_and_walk_write_runs_that_are_scored_alike(run: Run, wiki: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    options = ("--agent", "random", "--steps", "5", "--episodes", 20, "--budget", 50, "--back")
    (measured,) = run("eval", wiki, *options, "--runs", runs, "--json", "--quiet").json()["results"]
    (scored,) = run("games", "score", runs, "--json").json()["results"]
    for name in ("success", "spl", "mean_distance"):
        assert scored[name] == pytest.approx(measured[name])
    assert scored["mean_clicks"] == pytest.approx(measured["mean_steps"])
    first = json.loads(runs.read_text().splitlines()[1])
    where = ("--from", first["start"], "--to", first["goal"], "--agent", "random", "--back")
    walked = run("walk", wiki, *where, "--runs", runs, "--json").json()
    (scored,) = run("games", "score", runs, "--json").json()["results"]
    assert (scored["runs"], scored["success"]) == (1, float(walked["success"]))
    refused = run("walk", wiki, "--from", first["start"], "--sentence", "x", "--runs", runs)
    assert (refused.status, "--runs is for walks to a block" in refused.err) == (2, True)
