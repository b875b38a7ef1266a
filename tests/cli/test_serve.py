"""``linkwalk serve`` as a user runs it; what it answers is in ``tests/serve``."""

import contextlib
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Ran
from tests.cli.test_find import refused
from tests.serve.conftest import process

Run = Callable[..., Ran]


def test_nothing_to_serve(run: Run, wiki: Path, tmp_path: Path) -> None:
    refused(run("serve", tmp_path / "none"), "no such workspace", "linkwalk build")
    refused(run("serve", wiki, "--embeddings", "other"), "other", "linkwalk embed")
    refused(run("serve", wiki, "--rerank", "nobody"), "nobody", "tfidf")
    refused(run("serve", wiki, "--runs", tmp_path / "no" / "runs.jsonl"), "runs.jsonl")
    refused(run("serve", wiki, "--host", "nowhere.invalid"), "nowhere.invalid", "--host")


def test_a_port_that_is_taken(run: Run, wiki: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(run("serve", wiki, "--port", port), str(port), "is taken", "--port")


@pytest.mark.parametrize(
    "options", [("--port", 70_000), ("--workers", 0), ("--seconds", 0), ("--max-budget", 0), ("--at-once", 0)]
)
def test_options_out_of_range(run: Run, wiki: Path, options: tuple[str, int]) -> None:
    refused(run("serve", wiki, *options), options[0])


def test_without_the_server_s_packages(run: Run, wiki: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused(run("serve", wiki), "uvicorn is not installed", "linkwalk[serve]")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("pause", [0, 0.05, 0.3])
def test_ctrl_c_again_and_again_is_no_error(wiki: Path, workers: int, pause: float) -> None:
    """Still reading models, answering, and told to stop three times: ``process`` wants silence and status 0."""
    with process(wiki, "--workers", workers) as served, contextlib.ExitStack() as open_:
        if pause:  # without, the server has hardly begun
            httpx.get(f"{served.url}/api/v1/health", timeout=60)
            walk = {"start": 0, "goal": 1, "agent": "random", "budget": 1000}
            events = httpx.stream("GET", f"{served.url}/api/v1/walk/events", params=walk, timeout=60)
            next(open_.enter_context(events).iter_lines())
        for _ in range(2):
            os.killpg(served.process.pid, signal.SIGINT)
            time.sleep(pause)


def test_a_wiki_that_goes_away_before_it_is_served(
    wiki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The browser is opened between the first look at the wiki and the server's: it takes the wiki away."""
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\nmv {wiki} {wiki}.gone\n")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    line = f"error: no such workspace: {wiki} (make one with `linkwalk build DUMP -o {wiki}`)"
    with process(wiki, "--open", error=line) as served:
        served.process.wait(120)  # a busy machine may take its time


def test_it_says_what_is_there_and_what_is_missing(
    wiki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    runs = tmp_path / "runs.jsonl"
    with process(wiki, "--lazy", "--open", "--runs", runs, "--max-budget", 9) as served:
        assert re.search(r"30 articles, [\d,]+ blocks", served.said)
        assert f"linkwalk index {wiki}" in served.said
        assert f"linkwalk embed {wiki}" in served.said
        assert str(runs) in served.said
        with httpx.Client(base_url=served.url) as client:
            assert client.get("/api/v1/health").json()["budget"] == 9
            assert client.get("/").status_code == 200
        while not (opened.exists() and opened.read_text().strip()):
            time.sleep(0.05)
        assert opened.read_text().strip() == served.url
        assert runs.exists()
        # One that takes its place while it runs is told so.
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(served.address)
    assert not Path(f"/proc/{served.process.pid}").exists() or os.name == "nt"
