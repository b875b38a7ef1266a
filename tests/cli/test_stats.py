import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk.graph.store import KINDS, Graph


def test_json_is_one_object_and_nothing_else(run: Callable[..., Any], wiki: Path) -> None:
    ran = run("stats", wiki, "--json", "--sources", 50)
    assert ran.status == 0
    value, graph = ran.json(), Graph.open(wiki)
    assert (value["articles"], value["nodes"], value["edges"]) == (30, graph.nodes, graph.edges)
    assert sum(value["edges_by_kind"].values()) == graph.edges
    assert list(value["edges_by_kind"]) == list(KINDS)
    assert value["words_per_node"] > 0
    assert value["median_path_length"] > 0
    assert value["path_lengths"]["sources"] == 50


def test_people_see_a_table_beside_the_papers_and_the_next_command(
    run: Callable[..., Any], wiki: Path
) -> None:
    ran = run("stats", wiki, "--quiet")
    assert ran.status == 0
    assert ran.err == ""
    for expected in (
        "testwiki 2018-12-20",
        "paper 2017",
        "38.5M",
        "387M",
        "median path length",
        "strong components",
    ):
        assert expected in ran.out
    assert ran.out.splitlines()[-1] == f"next: linkwalk embed {wiki}"
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    assert run("stats", wiki, "--quiet").out.splitlines()[-1] == f"next: linkwalk eval {wiki}"


def test_plots_are_written(run: Callable[..., Any], wiki: Path, tmp_path: Path) -> None:
    ran = run("stats", wiki, "--plots", tmp_path / "new" / "figures", "--json")
    assert ran.status == 0
    files = sorted((tmp_path / "new" / "figures").iterdir())
    assert [f.name for f in files] == ["in_degree.png", "out_degree.png", "path_lengths.png"]
    assert all(f.read_bytes().startswith(b"\x89PNG") and f.stat().st_size > 10_000 for f in files)
    assert sorted(ran.json()["plots"]) == [str(f) for f in files]


def test_plots_without_matplotlib_name_the_extra(
    run: Callable[..., Any], wiki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    ran = run("stats", wiki, "--plots", tmp_path)
    assert ran.status == 2
    assert ran.out == ""
    assert "pip install 'linkwalk[plots]'" in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [(["nowhere"], "no such workspace"), ([], "Missing argument"), (["x", "--sources", "-1"], "--sources")],
)
def test_bad_input_is_one_line_and_status_2(run: Callable[..., Any], args: list[str], message: str) -> None:
    ran = run("stats", *args)
    assert ran.status == 2
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_plots_into_a_file_are_refused_before_the_work(
    run: Callable[..., Any], wiki: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    ran = run("stats", wiki, "--plots", tmp_path / "file")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: {tmp_path / 'file'} is a file: plots want a folder\n"


def test_a_folder_without_a_graph_names_the_command(run: Callable[..., Any], tmp_path: Path) -> None:
    ran = run("stats", tmp_path)
    assert ran.status == 2
    assert "linkwalk build" in ran.err
    assert len(ran.err.splitlines()) == 1
