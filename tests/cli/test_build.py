import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk.graph.store import Graph
from tests.conftest import P, prose, world, write_dump

Run = Callable[..., Any]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    pages = [P("Comet", f"See [[Asteroid]]. {prose(150)}"), P("Asteroid", prose(60)), P("Stub", "Tiny.")]
    return write_dump(tmp_path / "dump.xml.bz2", pages)


def test_people_see_what_came_of_it_and_the_next_command(run: Run, dump: Path, tmp_path: Path) -> None:
    ran = run("build", dump, "-o", tmp_path / "wiki", "--workers", 1)
    assert ran.status == 0
    for expected in ("Testwiki 2021-03-04", "3 read, 2 kept (out: 1 short)", "1 seen, 1 resolved"):
        assert expected in ran.out
    assert ran.out.splitlines()[-1] == f"next: linkwalk stats {tmp_path / 'wiki'}"
    assert "read:" in ran.err
    assert "warning" not in ran.err


def test_markup_of_json_lines_is_stated(run: Run, tmp_path: Path) -> None:
    lines = [
        {"title": "Butter", "text": f"{prose(60)} See [[Milk]]."},
        {"title": "Milk", "text": prose(60, 1)},
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    args = ("build", tmp_path / "x.jsonl", "-o", tmp_path / "wiki", "--workers", 1, "-q")
    assert "1 seen, 0 resolved (not: 1 double brackets in plain text)" in run(*args).out
    assert "1 seen, 1 resolved" in run(*args, "--force", "--markup", "wikitext").out
    assert "there are plain, wikitext, markdown" in run(*args, "--markup", "troff").err
    assert "there are rule, trafilatura" in run(*args, "--main", "magic").err


def test_a_folder_of_html_becomes_a_wiki(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        page = f"<html lang=de><title>{name}</title><nav>menu</nav><main>{prose(60)} <a href=b.html>b</a> {prose(60)}"
        (tmp_path / f"{name}.html").write_text(page)
    ran = run("build", tmp_path, "-o", tmp_path / "wiki", "--workers", 1, "-q")
    assert "2 seen, 1 resolved (not: 1 page itself)" in ran.out
    assert "menu" not in Graph.open(tmp_path / "wiki").block(0).text


def test_quiet_is_quiet(run: Run, dump: Path, tmp_path: Path) -> None:
    assert run("build", dump, "-o", tmp_path / "wiki", "-q", "--workers", 1).err == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_json_is_one_object_and_nothing_else(run: Run, dump: Path, tmp_path: Path, quiet: bool) -> None:
    args = ("build", dump, "-o", tmp_path / "wiki", "--json", "--workers", 1, *(["--quiet"] if quiet else []))
    ran = run(*args)
    value = ran.json()
    assert ran.status == 0
    assert value["workspace"] == str(tmp_path / "wiki")
    assert value["counts"]["articles"] == 2
    assert value["ledger"] == json.loads((tmp_path / "wiki" / "graph" / "ledger.json").read_text())
    again = run(*args)
    assert again.json() == {**value, "costs": {}}  # nothing was done


def test_a_second_run_is_up_to_date(run: Run, dump: Path, tmp_path: Path) -> None:
    args = ("build", dump, "-o", tmp_path / "wiki", "--workers", 1)
    run(*args)
    ran = run(*args)
    assert ran.status == 0
    assert "is up to date" in ran.out
    assert "is up to date" not in run(*args, "--force").out
    other = run(*args, "--block-words", 50)
    assert (other.status, other.out) == (2, "")
    assert "--force" in other.err


def test_every_option_reaches_the_graph(run: Run, tmp_path: Path) -> None:
    pages = world(8)
    dump = write_dump(tmp_path / "x.xml", pages)
    args = ("build", dump, "-o", tmp_path / "wiki", "--force", "--json", "--quiet", "--workers", 1)
    plain = run(*args).json()
    for options, changed in (
        (["--block-words", 30], "nodes"),
        (["--min-chars", 900], "articles"),
        (["--keep-list-pages"], "articles"),
        (["--no-entity-links"], "edges"),
    ):
        counts = run(*args, *options).json()["counts"]
        assert counts[changed] != plain["counts"][changed], options
    assert run(*args, "--prose-only").json()["config"]["extract"]["prose_only"]
    assert run(*args, "--keep-tables").json()["config"]["extract"]["keep_tables"]


def test_anchors_of_another_wiki(run: Run, tmp_path: Path) -> None:
    teacher = [
        P("Moon", prose(60)),
        *(P(f"P{i}", f"{prose(40, i)} [[Moon|our satellite]]") for i in range(6)),
    ]
    run("build", write_dump(tmp_path / "t.xml", teacher), "-o", tmp_path / "teacher", "--workers", 1)
    text = write_dump(tmp_path / "x.jsonl.gz", [P("Moon", prose(60)), P("S", f"{prose(60)} Our satellite!")])
    args = (
        "build",
        text,
        "-o",
        tmp_path / "wiki",
        "--anchors",
        tmp_path / "teacher",
        "--workers",
        1,
        "--json",
    )
    assert run(*args).json()["counts"]["edges_by_kind"]["entity"] == 1


@pytest.mark.slow
def test_a_build_as_people_run_it(dump: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "linkwalk",
        "build",
        str(dump),
        "-o",
        str(tmp_path / "wiki"),
        "--workers",
        "2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert Graph.open(tmp_path / "wiki").articles == 2


@pytest.mark.slow
def test_a_reader_who_leaves_early(dump: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "linkwalk", "build", str(dump), "-o", str(tmp_path / "wiki"), "--json"]
    process = subprocess.Popen([*command, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    with process:
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode in (1, 141)
    assert Graph.open(tmp_path / "wiki").articles == 2


def test_paths_that_are_not_utf8(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    dump = write_dump(folder / "x\udcff.xml", [P("A", prose(60))])
    for _ in range(2):
        ran = run("build", dump, "-o", folder / "wiki", "--workers", 1)
        assert ran.status == 0, ran.err
    assert "up to date" in ran.out
    assert run("build", dump, "-o", folder / "wiki", "--workers", 1, "--json").json()["inputs"]
