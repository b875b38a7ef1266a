"""A real server over a real wiki, and a browser that fails a test on anything that goes wrong beside it.

Every page is watched: what the console says, errors of scripts, dialogs, requests that fail or leave for another host.
Pictures of the views are kept in out/browser.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest

from linkwalk.embed import embed
from linkwalk.graph.split import split
from linkwalk.graph.store import Graph
from linkwalk.retrieve import index
from tests.conftest import Once

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "out" / "browser"
CHROMIUM = Path("/usr/bin/chromium")
NO_PLAYWRIGHT = "the page is tested with Playwright: pip install playwright"
BLOCKS = 120
"""Of the encyclopedia's 801: enough to walk, ask and play in, embedded in seconds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is run in a browser, and say plainly why it cannot be, where that is so."""
    skip = pytest.mark.skip(reason=f"the page is tested in {CHROMIUM}: apt-get install chromium")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")
            if not CHROMIUM.is_file():
                item.add_marker(skip)


@dataclass(frozen=True)
class Site:
    """A server that answers."""

    url: str
    games: Path
    """Where it keeps finished games."""

    def ask(self, path: str, /, body: Any = None, **query: object) -> Any:
        """The API's own answer, to hold the page to."""
        address = f"{self.url}/api/v1/{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = Request(address, data=data, headers={"content-type": "application/json"})
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def served(wiki: Path, *options: str) -> Iterator[Site]:
    """``linkwalk serve`` on a free port, in a process of its own."""
    games = wiki.parent / f"{wiki.name}-games.jsonl"
    command = [sys.executable, "-m", "linkwalk", "serve", str(wiki), "--port", "0", "--runs", str(games)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = []
            for line in server.stdout:
                said.append(line)
                if line.startswith("http://"):
                    yield Site(line.split()[0], games)
                    break
            else:
                pytest.fail("the server did not start: " + "".join(said))
        finally:
            server.terminate()


@pytest.fixture(scope="package")
def workspace(encyclopedia: Path, once: Once) -> Path:
    """Some of the bundled encyclopedia, embedded and indexed; or all of it, where a ready one is named."""
    if ready := os.environ.get("LINKWALK_PAGE_WIKI"):
        return Path(ready)

    def make(folder: Path) -> None:
        split(Graph.open(encyclopedia), folder, by="article", nodes=BLOCKS)
        embed(folder / "train", device="cpu")
        index(folder / "train", Graph.open(folder / "train"))

    return once("browser", make) / "train"


@pytest.fixture(scope="package")
def site(workspace: Path) -> Iterator[Site]:
    """The server that most tests visit."""
    with served(workspace) as site:
        yield site


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    """Chromium, for this folder only: while Playwright runs no test can start an event loop of its own."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)  # as long as a slow machine may need; nothing here is measured
    with sync_playwright() as playwright:
        arguments = ["--headless", "--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@dataclass
class Watch:
    """Everything that should not have happened on the pages of one test."""

    problems: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of problems that a test brings about on purpose."""

    def note(self, problem: str) -> None:
        """Something went wrong."""
        self.problems.append(problem)

    def left(self) -> list[str]:
        """What nobody asked for."""
        return [one for one in self.problems if not any(part in one for part in self.expected)]


Visit = Callable[..., "Page"]


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fails the test if anything went wrong on a page it opened."""
    watch = Watch()
    yield watch
    assert watch.left() == []


@pytest.fixture
def visit(browser: "Browser", request: pytest.FixtureRequest, watch: Watch) -> Iterator[Visit]:
    """Opens pages, each in a browser that remembers nothing: ``visit("?view=ask", width=360, scheme="dark")``."""
    contexts = []

    def visit(
        query: str = "",
        *,
        site: Site | None = None,
        width: int = 1280,
        height: int = 800,
        scheme: str = "light",
        motion: str = "reduce",
    ) -> "Page":
        host = site or request.getfixturevalue("site")
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion=motion,
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        context.set_default_timeout(20_000)
        page = context.new_page()
        _watch(page, watch, host.url)
        page.goto(f"{host.url}/{query}")
        return page

    yield visit
    for context in contexts:
        context.close()


def _watch(page: "Page", watch: Watch, url: str) -> None:
    own = urlsplit(url).netloc

    def said(message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            watch.note(f"console {message.type}: {message.text}")

    page.on("console", said)
    page.on("pageerror", lambda error: watch.note(f"script: {error}"))
    page.on("dialog", lambda dialog: (watch.note(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda popup: watch.note(f"popup: {popup.url}"))

    def asked(address: str) -> None:
        if urlsplit(address).scheme not in ("blob", "data") and urlsplit(address).netloc != own:
            watch.note(f"request to another host: {address}")

    page.on("request", lambda request: asked(request.url))

    def failed(what: str, address: str) -> None:
        if what != "net::ERR_ABORTED":  # the page's own doing: suggestions nobody waits for any more
            watch.note(f"request failed: {what} {address}")

    page.on("requestfailed", lambda request: failed(str(request.failure), request.url))
    page.on(
        "response", lambda r: r.status >= 400 and watch.note(f"status {r.status}: {urlsplit(r.url).path}")
    )


Shoot = Callable[..., Path]


@pytest.fixture(scope="session")
def shoot() -> Shoot:
    """Keeps a picture: ``shoot(page, "walk-dark")``."""

    def shoot(page: "Page", name: str, *, whole: bool = False) -> Path:
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        page.screenshot(path=path, full_page=whole)
        return path

    return shoot


def search(page: "Page") -> dict[str, str]:
    """What stands in a page's address."""
    from urllib.parse import parse_qsl

    # Asked of the page itself: ``page.url`` hears of a changed address a moment later.
    return dict(parse_qsl(str(page.evaluate("location.search")).removeprefix("?")))


def rests_at(page: "Page", step: int) -> None:
    """Wait until a walk's address says that it is at a step."""
    from playwright.sync_api import expect

    expect(page).to_have_url(re.compile(rf"[?&]step={step}(&|$)"))


def text_of(block: dict[str, Any]) -> str:
    """A block's text, as the API tells it."""
    return "".join(segment["text"] for segment in block["segments"])


@pytest.fixture(scope="package")
def trip(site: Site) -> dict[str, Any]:
    """A walk of the usual agent that ends at its goal after a few clicks, one of them on a link in the text."""
    for seed in range(40):
        pair = site.ask("pair", seed=seed, least=3)
        asked = {"start": pair["start"]["node"], "goal": pair["goal"]["node"]}
        walk: dict[str, Any] = site.ask("walk", asked)
        if (
            walk["success"]
            and 3 <= len(walk["steps"]) <= 5
            and walk["steps"][0]["kind"] in ("link", "entity")
        ):
            return walk
    raise AssertionError("no such walk: draw more pairs")


def named(place: dict[str, Any]) -> str:
    """A block as the page names it."""
    return f"{place['title']} ({place['block']})" if place["block"] else str(place["title"])


def address(walk: dict[str, Any], **more: object) -> str:
    """The page's address of a walk."""
    ends = {"view": "walk", "from": named(walk["start"]), "to": named(walk["goal"])}
    return f"?{urlencode(ends | more)}"
