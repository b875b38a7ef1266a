"""How many walks a second does the server answer, and how long does each take: `linkwalk serve` on one wiki.

python bench/serve.py WIKI [--seconds 8] [--workers 1,2] [--json OUT]

WIKI is indexed and embedded. Server and clients are processes of their own on the same machine. Clients keep their
connection and ask again as soon as they have an answer, so that 64 clients are 64 requests at any time. The peer is a
bare FastAPI application on the same server settings, whose one endpoint answers a constant: what is left of a
latency without it is ours. Walks are the compass's, 100 steps at most, between articles 2 to 6 clicks apart; titles are
asked for by the first 1 to 8 letters of one, and every fifth with a letter wrong; find's queries are sentences of
the wiki.

Several workers take connections from one socket as they find time to, so that a few clients that come at once may all
be one worker's; 64 are shared out.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.graph.store import Graph
from report import hardware

CLIENTS = (1, 8, 64)
PEER = "peer: a constant"


class Asked(NamedTuple):
    """What is measured: requests, and by how many clients at once."""

    name: str
    requests: list[bytes]
    clients: tuple[int, ...]
    beside: list[bytes] | None = None
    """What eight other clients ask for at the same time."""


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


def post(path: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


async def client(
    address: tuple[str, int], requests: list[bytes], first: int, end: float
) -> tuple[list[float], dict[int, int], int]:
    """Ask until the end: milliseconds of each answer, how many of each status, and bytes."""
    reader, writer = await asyncio.open_connection(*address, limit=1 << 24)
    took: list[float] = []
    statuses: dict[int, int] = {}
    size, at = 0, first
    while time.perf_counter() < end:
        began = time.perf_counter()
        writer.write(requests[at % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
        body = await reader.readexactly(length)
        took.append(1000 * (time.perf_counter() - began))
        status = int(head[9:12])
        statuses[status] = statuses.get(status, 0) + 1
        size += len(body)
        at += 1
    writer.close()
    return took, statuses, size


def ask(address: tuple[str, int], requests: list[bytes], clients: int, seconds: float, pipe: Any) -> None:
    """All clients of one measurement, in a process of their own."""

    async def everybody() -> list[tuple[list[float], dict[int, int], int]]:
        end = time.perf_counter() + seconds
        parts = len(requests) // clients
        return await asyncio.gather(*(client(address, requests, i * parts, end) for i in range(clients)))

    began = time.perf_counter()
    found = asyncio.run(everybody())
    if pipe is not None:
        pipe.send((found, time.perf_counter() - began))  # the last answers come after the end


def measure(
    address: tuple[str, int],
    requests: list[bytes],
    clients: int,
    seconds: float,
    beside: list[bytes] | None = None,
) -> dict[str, Any]:
    """Answers a second, and how long they took."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=ask, args=(address, requests, clients, seconds, theirs))
    other = context.Process(target=ask, args=(address, beside, 8, seconds + 1, None))
    if beside:
        other.start()
        time.sleep(0.5)
    process.start()
    found, lasted = ours.recv()
    process.join()
    if beside:
        other.join()
    took = np.array([ms for part, _, _ in found for ms in part])
    statuses: dict[int, int] = {}
    for _, counts, _ in found:
        for status, count in counts.items():
            statuses[status] = statuses.get(status, 0) + count
    p50, p95, p99 = np.quantile(took, [0.5, 0.95, 0.99])
    return {
        "clients": clients,
        "requests": len(took),
        "per_s": round(len(took) / lasted, 1),
        "p50_ms": round(float(p50), 2),
        "p95_ms": round(float(p95), 2),
        "p99_ms": round(float(p99), 2),
        "max_ms": round(float(took.max()), 2),
        "kB": round(sum(size for _, _, size in found) / len(took) / 1000, 2),
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
    }


@contextmanager
def started(command: list[str]) -> Iterator[tuple[str, int]]:
    """A server's process; its address is in what it prints."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.match(r"http://([\d.]+):(\d+)", line):
                yield found[1], int(found[2])
                break
        else:
            raise SystemExit("the server did not start")
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()


def floor(workers: int) -> None:
    """The peer: the same server, whose application does nothing."""
    from uvicorn import Server
    from uvicorn.supervisors import Multiprocess

    from linkwalk.serve.boundary import Limits
    from linkwalk.serve.listening import listen, url_of
    from linkwalk.serve.server import configure

    listening = listen("127.0.0.1", 0)
    print(url_of(listening), flush=True)
    config = configure("serve:bare", Limits(), workers=workers)

    try:
        if workers == 1:
            Server(config).run([listening])
        else:
            Multiprocess(config, [listening]).run()
    except KeyboardInterrupt:
        pass


def bare() -> Any:
    """One endpoint, a constant answer."""
    from types import SimpleNamespace

    from fastapi import FastAPI

    from linkwalk.serve.boundary import Limits

    app = FastAPI()
    app.state.api = SimpleNamespace(limits=Limits())

    @app.get("/")
    async def constant() -> dict[str, str]:
        return {"status": "ok"}

    return app


def questions(wiki: Path, address: tuple[str, int], rng: np.random.Generator) -> list[Asked]:
    """What is asked of the server."""
    graph = Graph.open(wiki)
    nodes = rng.integers(graph.nodes, size=4096).tolist()
    words = []
    for i, article in enumerate(rng.integers(graph.articles, size=2048).tolist()):
        typed = graph.titles[article][: 1 + i % 8]
        if i % 5 == 4 and len(typed) > 3:
            typed = typed[:2] + "q" + typed[3:]
        words.append(get(f"/api/v1/titles?q={urllib.parse.quote(typed)}"))
    pairs = []
    for seed in range(512):
        with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/api/v1/pair?seed={seed}") as answer:
            pair = json.load(answer)
        pairs.append({"start": pair["start"]["node"], "goal": pair["goal"]["node"], "budget": 100})
    sentences: list[str] = []
    for node in nodes:
        found = [one for one in graph.block(node).sentences if 40 < len(one) < 200]
        sentences += found[:1]

    def find(**options: Any) -> list[bytes]:
        return [post("/api/v1/find", {"query": query, **options}) for query in sentences[:512]]

    blocks = [get(f"/api/v1/block/{node}") for node in nodes]
    walks = [post("/api/v1/walk", pair) for pair in pairs]
    return [
        Asked("a block", blocks, CLIENTS),
        Asked("a block, beside 8 walkers", blocks, (1, 8), walks),
        Asked("titles as one types", words, CLIENTS),
        Asked("titles, beside 8 walkers", words, (1, 8), walks),
        Asked("a walk", walks, CLIENTS),
        Asked("a walk, random agent", [post("/api/v1/walk", p | {"agent": "random"}) for p in pairs], (1, 8)),
        Asked("find, TF-IDF, search alone", find(navigation="none", rerank="tfidf"), (1, 8)),
        Asked("find, TF-IDF", find(rerank="tfidf"), (1, 8)),
        Asked("find, cross-encoder", find(rerank="cross"), (1, 8)),
    ]


def show(row: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """One line; the last column is the answers a second beside the peer's with as many clients and workers."""
    same = [one for one in rows if one["name"] == PEER and one["workers"] == row["workers"]]
    row["of_peer"] = next(
        (round(row["per_s"] / one["per_s"], 3) for one in same if one["clients"] == row["clients"]), 1.0
    )
    rows.append(row)
    odd = {status: count for status, count in row["statuses"].items() if status != "200"}
    print(
        f"{row['name']:28} {row['workers']:>3} {row['clients']:>4} {row['per_s']:>9,.1f} {row['p50_ms']:>8.2f} "
        f"{row['p95_ms']:>8.2f} {row['p99_ms']:>8.2f} {row['kB']:>8.1f} {row['of_peer']:>8.3f}  {odd or ''}",
        flush=True,
    )


def main() -> None:
    """Start, warm up, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--workers", default="1", help="numbers of workers to try, such as 1,2")
    parser.add_argument("--only", default="", help="only what has these words in its name")
    parser.add_argument("--floor", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.floor:
        floor(arguments.floor)
        return
    rows: list[dict[str, Any]] = []
    print(f"{'':28} wkr clnt  answers/s   p50 ms   p95 ms   p99 ms       kB  of peer")
    for workers in map(int, arguments.workers.split(",")):
        with started([sys.executable, __file__, "--floor", str(workers)]) as address:
            measure(address, [get("/")], 1, 1.0)
            for clients in CLIENTS:
                row = measure(address, [get("/")], clients, arguments.seconds / 2)
                show({"name": PEER, "workers": workers, **row}, rows)
        command = [sys.executable, "-m", "linkwalk", "serve", str(arguments.wiki), "--port", "0"]
        with started([*command, "--workers", str(workers)]) as address:
            asked = questions(arguments.wiki, address, np.random.default_rng(0))
            for _ in range(2 * workers):  # every worker has read its models when it has answered
                measure(address, asked[-1].requests[:8], 4 * workers, 1.0)
            for one in asked:
                if arguments.only not in one.name:
                    continue
                for _ in range(workers):
                    measure(address, one.requests[-64:], 4 * workers, 2.0)
                for clients in one.clients:
                    row = measure(address, one.requests, clients, arguments.seconds, one.beside)
                    show({"name": one.name, "workers": workers, **row}, rows)
    if arguments.json:
        graph = Graph.open(arguments.wiki)
        record = {"hardware": hardware(), "wiki": graph.snapshot, "blocks": graph.nodes, "rows": rows}
        arguments.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
