"""A wiki whose files are damaged while it is served: answers name the file, and the server goes on."""

import asyncio
import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp_types import CallToolResult

from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Limits
from linkwalk.serve.mcp import WikiServer
from linkwalk.serve.work import Lane
from linkwalk.wiki import Wiki
from tests.serve.conftest import serving
from tests.serve.test_api import bad, good

FILES = (
    "graph/name_articles.npy",
    "graph/out_kinds.npy",
    "graph/sections.bin",
    "graph/text.bin",
    "graph/titles.bin",
    "embeddings/minilm-walks/vectors.npy",
    "index/keys.npy",
)


@pytest.fixture(scope="module")
def copied(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that may be damaged, and is mended by whoever damages it."""
    folder = tmp_path_factory.mktemp("damage") / "wiki"
    shutil.copytree(small, folder)
    return folder


@contextlib.contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Put nonsense into a file, beyond its header if it has one, for those too who have it open."""
    right = path.read_bytes()
    start = 128 if path.suffix == ".npy" else 0
    try:
        _write(path, right[:start] + b"\x7f\xff" * ((len(right) - start) // 2))
        yield
    finally:
        _write(path, right)


def _write(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)


def ask_all(client: httpx.Client) -> Iterator[httpx.Response]:
    """Everything that reads the wiki."""
    pair = {"start": "Star", "goal": "Sun"}
    game = {"who": "Ada", "start": 0, "goal": 1, "steps": [1], "seconds": 1, "won": True}
    for path in ("graph", "block/0", "block?name=Star", "titles?q=st", "titles?q=oecan", "pair"):
        yield client.get(f"/api/v1/{path}")
    yield client.get("/api/v1/walk/events", params=pair)
    yield client.post("/api/v1/walk", json=pair)
    yield client.post("/api/v1/walk", json={"start": 0, "sentence": "water"})
    yield client.post("/api/v1/compare", json={"start": 0, "goal": 5, "agents": ["random", "greedy-dfs"]})
    yield client.post("/api/v1/find", json={"query": "water and stars", "rerank": "tfidf"})
    yield client.get("/api/v1/find/events", params={"query": "water and stars", "rerank": "tfidf"})
    yield client.post("/api/v1/runs", json=game)


@pytest.mark.parametrize("name", FILES)
def test_whatever_is_damaged_the_server_answers(copied: Path, name: str) -> None:
    """Right, wrong where nothing shows, or an error with a type; never one that nobody can tell the reason of."""
    with serving(create_app(Wiki.open(copied))) as client, damaged(copied / name):
        for answer in ask_all(client):
            if answer.status_code != 200:
                bad(answer, answer.status_code, answer.json()["error"]["type"])
            assert '"internal"' not in answer.text
        good(client.get("/api/v1/health"))
        assert client.get("/openapi.json").status_code == 200


def test_an_answer_names_the_damaged_file_and_what_mends_it(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiki, text = Wiki.open(copied), copied / "graph" / "text.bin"
    with serving(create_app(wiki)) as client:
        with damaged(text):
            said = bad(
                client.get("/api/v1/block/0"), 500, "damaged", f"{text} is damaged (", "linkwalk build"
            )
            assert bad(client.get("/api/v1/block/1"), 500, "damaged") == said
        good(client.get("/api/v1/block/0"))  # mended, under an open server
    assert caplog.messages == [said], "all files are read for it, and not for every request"


def test_a_tool_s_error_names_the_damaged_file(copied: Path) -> None:
    server, text = WikiServer(Wiki.open(copied)), copied / "graph" / "text.bin"
    with damaged(text):
        called = asyncio.run(server.call_tool("open", {"block": "Star"}))
    assert isinstance(called, CallToolResult)
    assert called.is_error
    (content,) = called.content
    assert content.type == "text"
    assert content.text.startswith(f"{text} is damaged (")
    assert not asyncio.run(server.call_tool("open", {"block": "Star"})).is_error  # type: ignore[union-attr]


def test_a_panic_of_a_rust_library_is_an_error_like_any_other() -> None:
    panic: type[BaseException] = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    lane = Lane("test", 1, Limits())

    def panics() -> None:
        raise panic("index out of bounds")

    async def main() -> None:
        with pytest.raises(RuntimeError, match="PanicException: index out of bounds"):
            await lane.run(panics)
        assert await lane.run(lambda: 3) == 3

    asyncio.run(main())
    lane.close()
