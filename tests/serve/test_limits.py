"""How much may be asked for, how many may ask, how long it may take."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest
from starlette.types import Message

from linkwalk.cli.serve import own_names
from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Boundary, Limits
from linkwalk.serve.errors import ApiError
from linkwalk.serve.events import stream
from linkwalk.serve.listening import url_of
from linkwalk.serve.metrics import Counters
from linkwalk.serve.work import Lane
from linkwalk.wiki import Wiki
from tests.serve.conftest import serving
from tests.serve.test_api import bad, good

WALK = {"start": "Star", "goal": "Sun"}


class Gate:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered = 0
        self.inside = 0
        self.most = 0
        self._lock = threading.Lock()

    def work(self) -> str:
        with self._lock:
            self.entered += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.opened.wait(30)
        with self._lock:
            self.inside -= 1
        return "done"

    async def has(self, inside: int) -> None:
        while self.inside != inside:
            await asyncio.sleep(0.001)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


def test_so_many_work_so_many_wait_and_the_next_comes_again(gate: Gate) -> None:
    lane = Lane("test", 2, Limits(waiting=3))

    async def main() -> None:
        tasks = [asyncio.create_task(lane.run(gate.work)) for _ in range(5)]
        await gate.has(2)
        with pytest.raises(ApiError) as refused:
            await lane.run(gate.work)
        assert (refused.value.kind, refused.value.headers) == ("busy", {"retry-after": "1"})
        gate.opened.set()
        assert await asyncio.gather(*tasks) == ["done"] * 5
        await asyncio.sleep(0)
        assert lane.taken == 0
        assert await lane.run(gate.work) == "done"

    asyncio.run(main())
    assert (gate.entered, gate.most) == (6, 2)
    lane.close()


def test_what_takes_too_long_is_given_up_but_keeps_its_place_until_it_ends(gate: Gate) -> None:
    lane = Lane("test", 1, Limits(waiting=0, seconds=0.05))

    async def main() -> None:
        with pytest.raises(ApiError, match=r"0\.05 seconds") as late:
            await lane.run(gate.work)
        assert late.value.kind == "timeout"
        assert gate.inside == 1
        with pytest.raises(ApiError) as refused:  # the thread is still at it
            await lane.run(gate.work)
        assert refused.value.kind == "busy"
        gate.opened.set()
        while lane.taken:
            await asyncio.sleep(0.001)
        assert await lane.run(gate.work) == "done"

    asyncio.run(main())
    lane.close()


def test_what_waits_when_its_client_leaves_is_never_begun(gate: Gate) -> None:
    lane = Lane("test", 1, Limits())

    async def main() -> None:
        first = asyncio.create_task(lane.run(gate.work))
        await gate.has(1)
        second = asyncio.create_task(lane.run(gate.work))
        await asyncio.sleep(0)
        assert lane.taken == 2
        second.cancel()
        with suppress(asyncio.CancelledError):
            await second
        gate.opened.set()
        assert await first == "done"

    asyncio.run(main())
    lane.close()
    assert gate.entered == 1


def test_errors_of_the_work_come_through() -> None:
    lane = Lane("test", 1, Limits())

    def fails() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await lane.run(fails)
        assert await lane.run(lambda: 3) == 3

    asyncio.run(main())
    lane.close()


def test_a_client_that_leaves_ends_its_events() -> None:
    lane = Lane("test", 1, Limits())
    made = 0

    def begin() -> Iterator[tuple[str, Any]]:
        nonlocal made
        for made in range(10**9):
            yield "click", made

    async def main() -> None:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            while len(sent) < 20:
                await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        response = stream(lane, begin)
        await asyncio.wait_for(response({"type": "http"}, receive, send), 20)
        assert sent[1]["body"].startswith(b": app;dur=")
        assert sent[2]["body"] == b"event: click\ndata: 0\n\n"
        assert sent[3]["body"] == b"event: click\ndata: 1\n\n"

    asyncio.run(main())
    lane.close()
    assert 10 < made < 1000


def ask(limit: Boundary, *parts: bytes, headers: dict[bytes, bytes] | None = None) -> tuple[int, int]:
    """Send a body in parts: the status of the answer, and how many parts were taken."""
    left = list(parts)
    status = 0

    async def receive() -> Message:
        if not left:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]

    scope = {"type": "http", "method": "POST", "path": "/", "headers": list((headers or {}).items())}
    asyncio.run(asyncio.wait_for(limit(scope, receive, send), 30))
    return status, len(parts) - len(left)


async def _swallow(scope: Any, receive: Any, send: Any) -> None:
    """Reads all there is, and would answer anything that goes wrong as the framework does."""
    try:
        while (await receive()).get("more_body"):
            pass
        status = 200
    except Exception:
        status = 400
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_a_body_is_counted_while_it_arrives() -> None:
    limit = Boundary(_swallow, Limits(body=100), Counters())
    assert ask(limit, b"x" * 100) == (200, 1)
    assert ask(limit, b"x" * 50, b"x" * 50) == (200, 2)
    assert ask(limit, *[b"x" * 40] * 10) == (413, 3), "whatever comes after is not read"
    assert ask(limit, b"x" * 101) == (413, 1)
    assert ask(limit, b"x", headers={b"content-length": b"101"}) == (413, 0), "not even the first"
    assert ask(limit, b"x" * 200, headers={b"content-length": b"5"}) == (413, 1)
    assert ask(limit, b"x", headers={b"content-length": b"9" * 40}) == (200, 1)


def test_a_body_has_to_come_in_time() -> None:
    limit = Boundary(_swallow, Limits(reading=0.05), Counters())

    async def dripping() -> AsyncIterator[Message]:
        while True:
            yield {"type": "http.request", "body": b"x", "more_body": True}

    async def main() -> None:
        drops, sent = dripping(), []

        async def receive() -> Message:
            await asyncio.sleep(0.01)
            return await anext(drops)

        async def send(message: Message) -> None:
            sent.append(message)

        await limit({"type": "http", "method": "POST", "path": "/", "headers": []}, receive, send)
        assert sent[0]["status"] == 408
        assert b"0.05 seconds" in sent[1]["body"]

    asyncio.run(main())


def test_the_limits_of_a_server_are_its_own(wiki: Wiki) -> None:
    with serving(create_app(wiki, Limits(body=200, budget=7, query=11))) as client:
        bad(client.post("/api/v1/walk", json=WALK | {"budget": 8}), 422, "bad_input", "at most 7")
        good(client.post("/api/v1/walk", json=WALK | {"budget": 7}))
        bad(client.post("/api/v1/find", json={"query": "twelve signs"}), 422, "bad_input", "at most 11")
        bad(client.post("/api/v1/find", json={"query": "x" * 300}), 413, "too_large", "200 bytes")
        said = client.get("/openapi.json").json()
        budget = said["components"]["schemas"]["WalkRequest"]["properties"]["budget"]
        assert budget["anyOf"][0]["maximum"] == 7
        assert said["components"]["schemas"]["FindRequest"]["properties"]["query"]["maxLength"] == 11
        assert client.get("/api/v1/health").json()["budget"] == 7


def test_a_server_that_is_busy_says_so_and_goes_on(wiki: Wiki, gate: Gate) -> None:
    app = create_app(wiki, Limits(at_once=1, waiting=1))
    lanes = app.state.api.lanes
    with serving(app) as client, ThreadPoolExecutor(4) as asking:
        for _ in range(1):
            lanes.walks.start(gate.work)
        waiting = [asking.submit(client.post, "/api/v1/walk", json=WALK) for _ in range(2)]
        while lanes.walks.taken < 2:
            time.sleep(0.001)
        for answer in (
            client.post("/api/v1/walk", json=WALK),
            client.get("/api/v1/walk/events", params=WALK),
        ):
            bad(answer, 503, "busy")
            assert answer.headers["retry-after"] == "1"
        good(client.get("/api/v1/health"))  # needs no thread
        gate.opened.set()
        for done in waiting:
            good(done.result())


def test_too_slow_is_an_answer(wiki: Wiki, gate: Gate) -> None:
    app = create_app(wiki, Limits(at_once=1, seconds=0.2))
    with serving(app) as client:
        app.state.api.lanes.walks.start(gate.work)
        bad(client.post("/api/v1/walk", json=WALK), 504, "timeout", "0.2 seconds")
        gate.opened.set()
        good(client.post("/api/v1/walk", json=WALK))


def connect(client: httpx.Client) -> socket.socket:
    url = client.base_url
    return socket.create_connection((url.host, url.port or 80), timeout=30)


def drained(connection: socket.socket) -> bytes:
    """All that comes until the other side has had enough."""
    got = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            got += part
    return got


def test_headers_have_to_come_in_time(wiki: Wiki) -> None:
    with serving(create_app(wiki, Limits(reading=0.3, idle=1))) as client:
        for begun in (b"", b"GET /api/v1/he", b"GET /api/v1/health HTTP/1.1\r\nhost: x\r\n"):
            with connect(client) as slow:
                slow.sendall(begun)
                said = drained(slow)
                assert said.startswith(b"HTTP/1.1 408 "), begun
                assert b'"type": "timeout"' in said
        with connect(client) as idle:  # a second request that never becomes whole
            idle.sendall(b"GET /api/v1/health HTTP/1.1\r\nhost: x\r\n\r\n")
            idle.recv(1)
            idle.sendall(b"GET ")
            assert b"HTTP/1.1 408 " in drained(idle)
        with connect(client) as idle:  # and none at all
            idle.sendall(b"GET /api/v1/health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert drained(idle).count(b"HTTP/1.1 ") == 1
        good(client.get("/api/v1/health"))


def test_a_slow_answer_is_no_slow_request(wiki: Wiki, gate: Gate) -> None:
    app = create_app(wiki, Limits(at_once=1, reading=0.1))
    with serving(app) as client, ThreadPoolExecutor(1) as asking:
        app.state.api.lanes.walks.start(gate.work)
        waiting = asking.submit(client.post, "/api/v1/walk", json=WALK)
        time.sleep(0.3)
        gate.opened.set()
        good(waiting.result())


def test_so_many_connections(wiki: Wiki) -> None:
    with serving(create_app(wiki, Limits(connections=3))) as client:
        held = [connect(client) for _ in range(3)]
        answer = client.get("/api/v1/health")
        bad(answer, 503, "busy", "connections")
        assert answer.headers["retry-after"] == "5"
        for connection in held:
            connection.close()
        for _ in range(100):
            if (answer := client.get("/api/v1/health")).status_code == 200:
                break
            time.sleep(0.02)
        good(answer)


def test_a_server_answers_to_its_own_name(wiki: Wiki) -> None:
    with serving(create_app(wiki, names=("localhost", "127.0.0.1", "::1"))) as client:
        good(client.get("/api/v1/health"))
        for host in ("localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"):
            good(client.get("/api/v1/health", headers={"host": host}))
        for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "[::2]", ""):
            bad(client.get("/api/v1/health", headers={"host": host}), 421, "bad_input", "another server")
    assert own_names("127.0.0.1", None) == ("localhost", "127.0.0.1", "::1", "127.0.0.1")
    assert own_names("0.0.0.0", None) == ()
    assert own_names("0.0.0.0", ["wiki.example"])[0] == "wiki.example"


def test_addresses_people_can_type() -> None:
    class Listening:
        def __init__(self, *name: object) -> None:
            self.name = name

        def getsockname(self) -> tuple[object, ...]:
            return self.name

    for name, url in (
        (("127.0.0.1", 80), "http://127.0.0.1:80"),
        (("0.0.0.0", 8000), "http://127.0.0.1:8000"),
        (("::", 8000, 0, 0), "http://[::1]:8000"),
    ):
        assert url_of(Listening(*name)) == url  # type: ignore[arg-type]
