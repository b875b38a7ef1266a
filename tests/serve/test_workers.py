"""A server, however many workers it has, answers from one and the same wiki, whatever becomes of it on the disk."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import httpx
import pytest

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.embed import embed
from linkwalk.graph.store import Graph
from linkwalk.retrieve import index
from linkwalk.serve.app import create_app
from linkwalk.wiki import Wiki
from tests.conftest import P, prose, write_dump
from tests.serve.conftest import Served, process, serving
from tests.serve.test_api import bad, good

pytestmark = pytest.mark.slow


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    """A workspace of its own, which a test may do anything to."""
    return made(tmp_path / "wiki", "Old")


def made(workspace: Path, word: str) -> Path:
    """Build a wiki whose pages are named after a word, in place of the one that is there."""
    pages = [P(f"{word} {i}", f"To [[{word} {(i + 1) % 3}]]. {prose(40, seed=i)}") for i in range(3)]
    dump = write_dump(workspace.with_name(f"{word}.xml"), pages)
    build([dump], workspace, BuildConfig(extract=ExtractConfig(min_chars=0)), force=True)
    return workspace


def title(served: Served) -> str:
    """The first word of the first page: which wiki a server answers from; a connection each, so that all get some."""
    # There is no TLS: to read all certificates for each of hundreds of questions takes longer than the answers.
    answer = httpx.get(f"{served.url}/api/v1/block/0", timeout=60, verify=False)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["place"]["title"]).split()[0]


@contextlib.contextmanager
def asking(served: Served) -> Iterator[list[str]]:
    """Ask on and on meanwhile; what is answered, in order. Nobody may be turned away."""
    heard: list[str] = []
    over, failed = threading.Event(), []

    def ask() -> None:
        while not over.is_set():
            try:
                heard.append(title(served))
                time.sleep(0.005)
            except BaseException as error:
                failed.append(error)
                return

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield heard
    finally:
        over.set()
        thread.join()
    assert not failed, failed


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def spoilt(path: Path) -> None:
    """Put half a file in the place of a whole one, which stays as it is for those who have it open."""
    half = path.with_name("half")
    half.write_bytes(path.read_bytes()[:100])
    os.replace(half, path)


def opened(served: Served) -> set[int]:
    """Wait until both workers have the wiki open; who they are."""

    def have_it() -> bool:
        maps = [Path(f"/proc/{pid}/maps") for pid in served.workers()]
        return len(maps) == 2 and all("out_targets.npy" in one.read_text() for one in maps)

    until(have_it)
    return served.workers()


def test_who_dies_is_replaced_alone_and_all_are_if_there_is_another_wiki(wiki: Path) -> None:
    with process(wiki, "--lazy", "--workers", 2) as served:
        first = opened(served)
        os.kill(min(first), signal.SIGKILL)
        until(lambda: len(served.workers() - first) == 1)
        before = opened(served)
        assert max(first) in before
        made(wiki, "New")
        os.kill(min(before), signal.SIGKILL)
        with asking(served) as heard:
            until(lambda: heard.count("New") > 100)
        assert [word for word, _ in groupby(heard)] == ["Old", "New"]
        assert not served.workers() & before


def test_who_is_left_goes_on_while_there_is_nothing_to_start_with(wiki: Path) -> None:
    with process(wiki, "--lazy", "--workers", 2) as served:
        before = opened(served)
        title(served)
        spoilt(wiki / "graph" / "out_targets.npy")
        os.kill(served.process.pid, signal.SIGHUP)
        cannot_start(served, wiki)
        assert served.workers() == before
        os.kill(min(before), signal.SIGKILL)
        with asking(served) as heard:
            cannot_start(served, wiki)
            until(lambda: len(served.workers()) == 2)  # the next try fails, too, and need not be told
            until(lambda: served.workers() < before)
            made(wiki, "New")  # all is well again, which is noticed by and by
            until(lambda: heard.count("New") > 20)
        assert [word for word, _ in groupby(heard)] == ["Old", "New"]


def cannot_start(served: Served, wiki: Path) -> None:
    """Wait for the line that says so."""
    assert served.process.stdout is not None
    said = served.process.stdout.readline()
    assert said.startswith(f"a new worker cannot start, those at work go on: {wiki / 'graph'}")
    assert "linkwalk build" in said


def test_it_is_over_when_nobody_is_left_and_nobody_can_start(wiki: Path) -> None:
    """In one line, though each of the workers has one to say."""
    with process(wiki, "--lazy", "--workers", 2, error=f"error: {wiki / 'graph'}") as served:
        before = served.workers()
        for pid in before:  # hardly begun: that is not what the line is about
            os.kill(pid, signal.SIGKILL)
        title(served)
        until(lambda: len(served.workers() - before) == 2)
        spoilt(wiki / "graph" / "out_targets.npy")
        for pid in served.workers():
            os.kill(pid, signal.SIGKILL)
        served.process.wait(60)


def test_a_hang_up_replaces_all_at_once(wiki: Path) -> None:
    with process(wiki, "--lazy", "--workers", 2) as served:
        before = opened(served)
        made(wiki, "New")
        with asking(served) as heard:
            os.kill(served.process.pid, signal.SIGHUP)
            until(lambda: heard.count("New") > 50)
        assert [word for word, _ in groupby(heard)] == ["Old", "New"]
        assert not served.workers() & before


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_while_all_are_replaced(wiki: Path, told: signal.Signals) -> None:
    """An old worker waits for the rest of a request, new ones have not begun: ``process`` wants silence, status 0."""
    with process(wiki, "--lazy", "--workers", 2) as served:
        before = opened(served)
        title(served)
        with socket.create_connection(served.address) as slow:
            slow.sendall(b"POST /api/v1/walk HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
            os.kill(served.process.pid, signal.SIGHUP)
            until(lambda: len(served.workers() & before) == 1)
            os.killpg(served.process.pid, told)
            time.sleep(0.5)


def test_a_server_that_is_open_does_not_mix_two_wikis(wiki: Path) -> None:
    """What it has not opened yet may be of another wiki by then."""
    with serving(create_app(Wiki.open(wiki))) as client:
        made(wiki, "New")
        embed(wiki, device="cpu")
        index(wiki, Graph.open(wiki))
        assert good(client.get("/api/v1/block/0"))["place"]["title"] == "Old 0"
        assert good(client.get("/api/v1/titles", params={"q": "new"}))["titles"] == []
        asked = {"start": 0, "sentence": "a word", "agent": "random"}
        bad(
            client.post("/api/v1/walk", json=asked),
            404,
            "not_found",
            "are of another graph",
            "linkwalk embed",
        )
        bad(client.post("/api/v1/find", json={"query": "a word"}), 404, "not_found", "linkwalk index")
    with serving(create_app(Wiki.open(wiki))) as client:
        assert good(client.get("/api/v1/block/0"))["place"]["title"] == "New 0"
        good(client.post("/api/v1/walk", json=asked))


def test_what_was_made_of_an_older_wiki_is_not_used(wiki: Path) -> None:
    embed(wiki, device="cpu")
    index(wiki, Graph.open(wiki))
    made(wiki, "New")
    with serving(create_app(Wiki.open(wiki))) as client:
        missing = good(client.get("/api/v1/health"))["missing"]
        assert f"linkwalk embed {wiki}" in missing["navigate"]
        assert f"linkwalk index {wiki}" in missing["find"]
        bad(client.post("/api/v1/find", json={"query": "a word"}), 404, "not_found", "linkwalk index")
        bad(client.post("/api/v1/walk", json={"start": 0, "goal": 1}), 404, "not_found", "linkwalk embed")
