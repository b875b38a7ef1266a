"""Servers for tests: in a thread of this process, or in a process of their own as users start them."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from uvicorn import Server

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.embed import embed
from linkwalk.graph.store import Graph
from linkwalk.retrieve import index
from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Limits
from linkwalk.serve.listening import listen, url_of
from linkwalk.serve.server import configure
from linkwalk.wiki import Wiki
from tests.conftest import Once, P, prose, write_dump

SCRIPT = "<script>alert(1)</script>"
RIGHT_TO_LEFT = "Moon \u202egnp.exe"
HOSTILE = f'{SCRIPT} "quoted" & <img src=x onerror=alert(2)>'
TITLES = ("Star", "Sun", "Moon", "Coral reef", "Ocean", "Water", SCRIPT.strip("<>"), RIGHT_TO_LEFT)


def pages() -> list[P]:
    """A small world in which every page leads on, with what somebody might write to do harm."""
    made = []
    for i, title in enumerate(TITLES):
        links = " and ".join(f"[[{TITLES[(i + step) % len(TITLES)]}]]" for step in (1, 2))
        text = f"{title} is next to {links}, as they say. {prose(50, seed=i)}\n\n== More ==\n{prose(120, seed=i + 50)}"
        made.append(P(title, f"<nowiki>{HOSTILE}</nowiki> {text}" if i == 2 else text))
    made.append(P("Lonely", prose(60, seed=99)))
    made.append(P("Sea", "#REDIRECT [[Ocean]]", redirect="Ocean"))
    return made


@pytest.fixture(scope="session")
def small(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with everything: graph, embeddings, index; only to be read."""

    def make(folder: Path) -> None:
        dump = write_dump(tmp_path_factory.mktemp("dump") / "dump.xml", pages())
        build([dump], folder, BuildConfig(extract=ExtractConfig(min_chars=0)))
        embed(folder, device="cpu")
        index(folder, Graph.open(folder))

    return once("small", make)


@pytest.fixture(scope="session")
def bare(small: Path) -> Path:
    """The same graph alone."""
    folder = small.parent / "bare"
    shutil.copytree(small / "graph", folder / "graph")
    return folder


@contextlib.contextmanager
def serving(app: FastAPI) -> Iterator[httpx.Client]:
    """The application at a port of its own, and somebody who asks it."""
    listening = listen("127.0.0.1", 0)
    url = url_of(listening)
    server = Server(configure(app, app.state.api.limits))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        with httpx.Client(base_url=url, timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def wiki(small: Path) -> Wiki:
    return Wiki.open(small)


@pytest.fixture(scope="session")
def runs(small: Path) -> Path:
    return small.parent / "runs.jsonl"


@pytest.fixture(scope="session")
def client(wiki: Wiki, runs: Path) -> Iterator[httpx.Client]:
    with serving(create_app(wiki, Limits(), runs)) as client:
        yield client


@dataclass
class Served:
    """A server of its own process."""

    url: str
    process: "subprocess.Popen[str]"
    said: str

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def workers(self) -> set[int]:
        """The processes that answer; Python has another, which tidies up."""
        found, pid = set(), self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(FileNotFoundError):  # gone in the meantime
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.add(int(child))
        return found

    def memory(self) -> int:
        """Resident bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def process(*args: object, error: str = "") -> Iterator[Served]:
    """``linkwalk serve`` as one starts it; ended as one ends it, by Ctrl-C, unless it is to fail in that line."""
    command = [sys.executable, "-m", "linkwalk", "serve", *map(str, args), "--port", "0"]
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said = ""
    assert started.stdout is not None
    try:
        for line in started.stdout:
            said += line
            if found := re.match(r"http://\S+", line):
                yield Served(found[0], started, said)
                break
        else:
            pytest.fail(f"the server did not start: {said}")
    finally:
        if not error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGINT)
        try:
            rest, _ = started.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            rest, _ = started.communicate()
    if error:
        assert rest.startswith(error), f"something else went wrong: {rest}"
        assert rest.count("\n") == 1, f"one line was to be said: {rest}"
    else:
        assert rest.strip() == "", f"a server that is stopped has nothing to say: {rest}"
    assert started.returncode == (2 if error else 0)


@pytest.fixture(scope="session")
def server(small: Path) -> Iterator[Served]:
    """One for all tests that need a real one."""
    with process(small, "--lazy", "--rerank", "tfidf") as served:
        yield served
