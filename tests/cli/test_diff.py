from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk.graph.store import Graph


@pytest.fixture
def train(run: Callable[..., Any], wiki: Path, tmp_path: Path) -> Path:
    assert run("split", wiki, "-o", tmp_path / "halves", "--by", "node").status == 0
    return tmp_path / "halves" / "train"


def test_json_is_one_object_and_nothing_else(run: Callable[..., Any], train: Path, wiki: Path) -> None:
    ran = run("diff", train, wiki, "--json", "--quiet")
    assert (ran.status, ran.err) == (0, "")
    value = ran.json()
    half, whole = Graph.open(train), Graph.open(wiki)
    assert value["nodes"]["kept"] == value["nodes"]["unchanged_text"] == half.nodes
    assert value["nodes"]["added"] == whole.nodes - half.nodes
    assert value["articles"]["deleted"] == 0
    assert value["edge_changes_within_common"]["added"] == 0
    assert value["paper"]["new articles"] == {"count": 404_773, "share": 0.075}


def test_people_see_the_papers_beside(run: Callable[..., Any], train: Path, wiki: Path) -> None:
    ran = run("diff", train, wiki)
    assert ran.status == 0
    for expected in (
        "404,773",
        "3,871,578",
        "58,476",
        "874,372",
        "new articles",
        "moved text",
        "next: linkwalk stats",
    ):
        assert expected in ran.out


def test_the_plot_is_written(run: Callable[..., Any], train: Path, wiki: Path, tmp_path: Path) -> None:
    assert run("diff", train, wiki, "--plots", tmp_path / "figures").status == 0
    assert (tmp_path / "figures" / "edge_changes.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_in_common_can_be_drawn(run: Callable[..., Any], train: Path, tmp_path: Path) -> None:
    other = train.parent / "eval"
    assert run("diff", train, other, "--plots", tmp_path / "figures").status == 0


def test_a_missing_snapshot_is_one_line(run: Callable[..., Any], wiki: Path) -> None:
    ran = run("diff", wiki, wiki / "nowhere")
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert "no such workspace" in ran.err
