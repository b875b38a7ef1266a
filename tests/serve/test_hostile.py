"""Requests that mean harm, at a real server: typed errors, bounded memory, and it still answers.

One server for all of them, started as a user starts it: whatever one test does to it, the next one has to live with.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.serve.conftest import Served, process
from tests.serve.test_api import bad, good
from tests.serve.test_limits import drained

MEGABYTE = 1 << 20


@pytest.fixture
def asked(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client
        good(client.get("/api/v1/health"))  # it still answers, whatever was done to it


@contextlib.contextmanager
def connection(server: Served) -> Iterator[socket.socket]:
    with socket.create_connection(server.address, timeout=60) as made:
        yield made


def send(server: Served, data: bytes) -> bytes:
    """Bytes in, bytes out."""
    with connection(server) as made:
        with contextlib.suppress(ConnectionError):  # it may have had enough before we are done
            made.sendall(data)
        return drained(made)


def typed(answer: bytes, status: int, kind: str) -> None:
    """A raw answer, of our shape."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert json.loads(body)["error"]["type"] == kind


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", "connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_bodies_that_are_too_large(server: Served, asked: httpx.Client) -> None:
    before = server.memory()
    large = b'{"query": "' + b"x" * 40 * MEGABYTE + b'"}'
    kind = {"content-type": "application/json"}
    bad(asked.post("/api/v1/find", content=b"x" * 65537, headers=kind), 413, "too_large", "65,536")
    claimed = request("POST", "/api/v1/find", "content-type: application/json", "content-length: 99999999999")
    typed(send(server, claimed), 413, "too_large")
    chunks = b"".join(b"10000\r\n" + large[at : at + 65536] + b"\r\n" for at in range(0, len(large), 65536))
    head = request("POST", "/api/v1/find", "content-type: application/json", "transfer-encoding: chunked")
    answer = send(server, head + chunks)  # of no stated length
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413 ")
    assert server.memory() - before < 30 * MEGABYTE


def test_a_chunked_body_is_refused_by_its_size(server: Served, asked: httpx.Client) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(3):
            yield b" " * 30_000

    answer = asked.post("/api/v1/find", content=parts(), headers={"content-type": "application/json"})
    bad(answer, 413, "too_large")


def test_two_lengths_are_no_request(server: Served, asked: httpx.Client) -> None:
    """What one server takes for a body another takes for a request: neither is let in."""
    both = request("POST", "/api/v1/walk", "content-length: 5", "content-length: 6", body=b"123456")
    typed(send(server, both), 400, "bad_input")
    garbled = request("POST", "/api/v1/walk", "transfer-encoding: chunked", body=b"zz\r\nabc\r\n0\r\n\r\n")
    assert send(server, garbled).startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("budget", ["-1", "0", "1001", "9" * 30, "9" * 5000, "1e3000", "NaN", '"1"', "[]"])
def test_step_counts_that_nobody_can_walk(asked: httpx.Client, budget: str) -> None:
    body = '{"start": "Star", "goal": "Sun", "budget": %s}' % budget  # noqa: UP031
    answer = asked.post("/api/v1/walk", content=body, headers={"content-type": "application/json"})
    bad(answer, 422, "bad_input")
    answer = asked.get("/api/v1/walk/events", params={"start": "Star", "goal": "Sun", "budget": budget})
    assert answer.status_code == 422 or '"bad_input"' in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/../../../../../../etc/passwd",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
        "/static/..%5c..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/....//....//etc/passwd",
        "/static/%00",
        "/static/docs.js%00.html",
        "/static/" + "a/" * 3000,
        "/static/" + "x" * 5000,
        "/static/",
        "/static",
        "//etc/passwd",
        "/..",
        "/api/v1/block/..%2f..%2fgraph",
        "/api/v1/block/0/../../../etc/passwd",
    ],
)
def test_paths_that_lead_elsewhere(server: Served, asked: httpx.Client, path: str) -> None:
    answer = send(server, request("GET", path))
    status = int(answer[9:12])
    assert status in (404, 422), answer[:300]
    typed(answer, status, "not_found" if status == 404 else "bad_input")
    assert b"root:" not in answer
    assert b"import " not in answer


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # somebody speaks TLS
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\x00b\r\n\r\n",
        b"\r\n" * 40_000,
        b"A" * 100_000,
    ],
)
def test_what_is_no_request(server: Served, asked: httpx.Client, data: bytes) -> None:
    typed(send(server, data), 400, "bad_input")


def test_headers_without_end(server: Served, asked: httpx.Client) -> None:
    before = server.memory()
    many = b"".join(b"x-%d: %b\r\n" % (i, b"y" * 100) for i in range(50_000))
    for head in (many, b"x: " + b"y" * 8 * MEGABYTE):
        answer = send(server, b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n")
        if answer:  # where the answer overtakes what was still being sent, it is lost
            typed(answer, 400, "bad_input")
    assert server.memory() - before < 20 * MEGABYTE


@pytest.mark.parametrize("query", ["q=%ff", "q=%c0%80", "q=%ed%a0%80", "%ff=1"])
def test_words_that_are_not_utf_8(server: Served, asked: httpx.Client, query: str) -> None:
    typed(send(server, request("GET", f"/api/v1/titles?{query}")), 422, "bad_input")


def test_half_a_conversation(server: Served, asked: httpx.Client) -> None:
    whole = request("GET", "/api/v1/walk/events?start=Star&goal=Sun&agent=random")
    for data in (b"", whole[:20], whole, request("POST", "/api/v1/walk", "content-length: 50", body=b"{")):
        with connection(server) as made:
            made.sendall(data)
            made.shutdown(socket.SHUT_WR)
            drained(made)
        with connection(server) as made:  # gone without a word
            made.sendall(data)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def test_slow_headers_do_not_keep_others_out(server: Served, asked: httpx.Client) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(200):
            held.enter_context(connection(server)).sendall(b"GET /api/v1/health HTTP/1.1\r\nx: ")
        good(asked.get("/api/v1/health"))
        good(asked.post("/api/v1/walk", json={"start": "Star", "goal": "Sun"}))


def test_five_hundred_at_once(server: Served, asked: httpx.Client) -> None:
    good(
        asked.post("/api/v1/walk", json={"start": "Star", "goal": "Water", "budget": 500, "agent": "random"})
    )
    before = server.memory()
    body = json.dumps({"start": "Star", "goal": "Water (1)", "budget": 500, "agent": "random"}).encode()
    data = request(
        "POST", "/api/v1/walk", "content-type: application/json", f"content-length: {len(body)}", body=body
    )

    async def one(ready: asyncio.Event) -> tuple[int, str]:
        reader, writer = await asyncio.open_connection(*server.address)
        await ready.wait()  # all are connected before the first asks
        writer.write(data)
        answer = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        await writer.wait_closed()
        status = int(answer[9:12])
        said = json.loads(answer.partition(b"\r\n\r\n")[2])
        if status == 503:
            assert b"retry-after: " in answer.lower()
        return status, said["error"]["type"] if "error" in said else ""

    async def everybody() -> list[tuple[int, str]]:
        ready = asyncio.Event()
        tasks = [asyncio.create_task(one(ready)) for _ in range(500)]
        await asyncio.sleep(0.5)
        ready.set()
        return await asyncio.gather(*tasks)

    answers = asyncio.run(everybody())
    assert set(answers) <= {(200, ""), (503, "busy")}
    assert (200, "") in answers
    assert (503, "busy") in answers, "there are places for 128 in the queue"
    assert server.memory() - before < 80 * MEGABYTE


@pytest.mark.slow
def test_several_workers_count_together_and_leave_quietly(small: object) -> None:
    with process(small, "--lazy", "--workers", 2) as served:
        answers = 0
        for _ in range(30):  # a connection each, so that both get some
            with httpx.Client(base_url=served.url, timeout=60) as client:
                good(client.get("/api/v1/block/0"))
                answers += 1
        with httpx.Client(base_url=served.url, timeout=60) as client:
            text = client.get("/metrics").text
        line = 'linkwalk_requests_total{method="GET",route="/api/v1/block/{node}",status="200"} '
        (count,) = [row.removeprefix(line) for row in text.splitlines() if row.startswith(line)]
        assert float(count) == answers
