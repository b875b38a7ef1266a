"""``linkwalk demo``: from nothing to the page, as a person would see it, in a process of its own."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.cli.demo import QUESTION
from tests.cli.conftest import Ran
from tests.conftest import DemoRun
from tests.graph.conftest import Page, write_graph

Run = Callable[..., Ran]
COMMAND = [sys.executable, "-m", "linkwalk", "demo"]
pytestmark = pytest.mark.slow


def test_each_step_is_a_command_that_can_be_typed(demo_run: DemoRun) -> None:
    out = demo_run.out
    verbs = re.findall(r"^\$ linkwalk (\w+)", out, re.MULTILINE)
    assert verbs == ["build", "embed", "eval", "walk", "index", "find"]
    assert "linkwalk serve wiki" in out
    assert "next:" not in out
    assert QUESTION in out


def test_the_table_the_path_and_the_evidence_are_there(demo_run: DemoRun) -> None:
    out = demo_run.out
    success = {
        (name, int(steps)): float(rate)
        for name, steps, rate in re.findall(r"^  (\S+) +(\d+) +([\d.]+) +[\d.]+-", out, re.MULTILINE)
    }
    assert set(success) == {(name, t) for name in ("compass", "greedy-unvisited", "random") for t in (5, 20)}
    assert all(
        success["compass", t] >= success["greedy-unvisited", t] > success["random", t] for t in (5, 20)
    )
    assert re.search(r"found in \d+ steps; the shortest path has 7", out)
    assert "Adwa" in out.split(QUESTION)[1]


def test_a_second_run_serves_elsewhere_if_the_port_is_taken(demo_run: DemoRun) -> None:
    pytest.importorskip("fastapi")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = subprocess.Popen(
            [*COMMAND, "-o", demo_run.wiki, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            found = next(
                match for line in process.stdout if (match := re.match(r"http://127\.0\.0\.1:(\d+) ", line))
            )
            assert int(found[1]) != port
            with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/api/v1/health", timeout=60) as answer:
                assert b"Linkwalk Encyclopedia" in answer.read()
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
    assert "Traceback" not in err


def test_another_wiki_is_not_replaced(run: Run, tmp_path: Path) -> None:
    write_graph(tmp_path / "mine", {"A": [Page("a")], "B": [Page("b")]})
    before = sorted(path.read_bytes() for path in (tmp_path / "mine" / "graph").iterdir())
    ran = run("demo", "-o", tmp_path / "mine", "--no-serve")
    assert (ran.status, ran.out) == (2, "")
    assert "holds another wiki" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert sorted(path.read_bytes() for path in (tmp_path / "mine" / "graph").iterdir()) == before
