from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk.graph.store import Graph


@pytest.mark.parametrize("by", ["article", "node"])
def test_two_workspaces_that_other_verbs_can_open(
    run: Callable[..., Any], wiki: Path, tmp_path: Path, by: str
) -> None:
    ran = run("split", wiki, "-o", tmp_path / "halves", "--by", by, "--json", "--quiet")
    assert ran.status == 0
    assert ran.err == ""
    value = ran.json()
    assert value["by"] == by
    assert value["train"]["nodes"] + value["eval"]["nodes"] == Graph.open(wiki).nodes
    kept_or_cut = sum(value[half]["edges_kept"] + value[half]["edges_cut"] for half in ("train", "eval"))
    assert kept_or_cut == Graph.open(wiki).edges
    for half in ("train", "eval"):
        assert value[half]["workspace"] == str(tmp_path / "halves" / half)
        assert run("stats", value[half]["workspace"], "--json").json()["nodes"] == value[half]["nodes"]


def test_people_see_a_table_and_the_next_command(run: Callable[..., Any], wiki: Path, tmp_path: Path) -> None:
    ran = run("split", wiki, "-o", tmp_path / "halves")
    assert ran.status == 0
    assert "edges cut" in ran.out
    assert f"next: linkwalk stats {tmp_path / 'halves' / 'train'}" in ran.out


def test_running_out_of_links_is_said(run: Callable[..., Any], wiki: Path, tmp_path: Path) -> None:
    ran = run("split", wiki, "-o", tmp_path / "halves", "--nodes", 100_000)
    assert ran.status == 0
    assert "of 100,000 blocks: no link leads to the rest" in ran.out
    value = run("split", wiki, "-o", tmp_path / "halves", "--nodes", 100_000, "--json").json()
    assert value["train"]["exhausted"] is True


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--nodes", "0"], "--nodes"),
        (["--by", "section"], "section"),
        (["--nodes", "many"], "--nodes"),
    ],
)
def test_bad_options_are_status_2(
    run: Callable[..., Any], wiki: Path, tmp_path: Path, args: list[str], message: str
) -> None:
    ran = run("split", wiki, "-o", tmp_path / "halves", *args)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert not (tmp_path / "halves").exists()


def test_a_folder_in_use_is_refused_in_one_line(run: Callable[..., Any], wiki: Path) -> None:
    ran = run("split", wiki, "-o", wiki)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 1


def test_out_is_required(run: Callable[..., Any], wiki: Path) -> None:
    ran = run("split", wiki)
    assert ran.status == 2
    assert "-o" in ran.err
