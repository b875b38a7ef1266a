"""Questions as events: search results at once, what reading makes of them, and the answer in the end."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter
from starlette.types import Message

from linkwalk.serve import schema
from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Limits
from linkwalk.serve.events import stream_waves
from linkwalk.serve.work import Lane
from linkwalk.wiki import Answer, Wiki
from tests.conftest import Once
from tests.retrieve.stand_in import by_hand, stand_in
from tests.serve.conftest import serving
from tests.serve.test_api import bad, good, told
from tests.serve.test_limits import Gate, gate

__all__ = ["gate"]  # a fixture

QUESTION = "Where is the coral reef?"
EVENTS = "/api/v1/find/events"
LIGHT = {"navigation": "none", "rerank": "tfidf"}


@pytest.fixture(scope="session")
def judged(small: Path, once: Once) -> Wiki:
    """The same wiki, read by somebody who never thinks that anything settles a question."""
    folder = once("judge", lambda folder: stand_in(folder, ranking=by_hand(nothing=1.0)))
    return Wiki.open(small, rerank=str(folder))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rerank": "tfidf", "limit": 2, "offset": 1, "candidates": 6},
        LIGHT,
    ],
)
def test_hits_come_first_and_the_answer_last(client: httpx.Client, options: dict[str, Any]) -> None:
    asked = {"query": QUESTION, **options}
    answer = client.get(EVENTS, params=asked)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert re.match(r": app;dur=[\d.]+\n\n", answer.text)
    (first, hits), *waves, (last, whole) = told(answer.text)
    assert (first, last) == ("hits", "answer")
    assert whole == good(client.post("/api/v1/find", json=asked), Answer)
    assert whole["stage"] == "final"
    if whole["rerank"] in ("tfidf", "none"):  # nobody judges
        assert (waves, whole["confidence"], whole["answered"]) == ([], None, True)
    TypeAdapter(Answer).validate_python(hits)
    assert (hits["stage"], hits["blocks"], hits["milliseconds"]) == ("search", 0, {})
    assert 0 < len(hits["evidence"]) <= options.get("limit", 5)
    assert all(one["path"] == [] and one["place"] == one["start"] for one in hits["evidence"])
    assert client.get(EVENTS, params=asked).text.partition("\n\n")[2] == answer.text.partition("\n\n")[2]


def test_a_judge_is_heard_after_every_wave(judged: Wiki) -> None:
    with serving(create_app(judged)) as client:
        asked = {"query": QUESTION, "limit": 3}
        (first, hits), *waves, (last, whole) = told(client.get(EVENTS, params=asked).text)
        assert (first, {name for name, _ in waves}, last) == ("hits", {"reading"}, "answer")
        assert whole == good(client.post("/api/v1/find", json=asked), Answer)
        assert whole["rerank"] not in (str(judged.rerank), hits["query"])
        assert "/" not in whole["rerank"], "a folder of the server is nobody's business"
        assert (hits["confidence"], whole["answered"], whole["stage"]) == (None, False, "final")
        assert 0 <= whole["confidence"] <= 1
        read = [wave["blocks"] for _, wave in waves]
        assert read == sorted(read)
        assert 0 < read[0] <= whole["blocks"]
        assert {wave["stage"] for _, wave in waves} == {"reading"}


def test_questions_that_cannot_be(client: httpx.Client) -> None:
    for asked, field in (
        ({}, "query: "),
        ({"query": ""}, "query: "),
        ({"query": " ?! "}, "no words"),
        ({"query": "x" * 2001}, "at most 2,000"),
        ({"query": "sun", "limit": 0}, "limit: "),
        ({"query": "sun", "limit": "many"}, "limit: "),
        ({"query": "sun", "offset": 101}, "offset: "),
        ({"query": "sun", "candidates": 101}, "candidates: "),
        ({"query": "sun", "navigation": "fly"}, "navigation: "),
        ({"query": "sun", "rerank": "/etc"}, "rerank: "),
        ({"query": "sun", "secret": 1}, "secret: no such parameter"),
    ):
        bad(client.get(EVENTS, params=asked), 422, "bad_input", field)  # type: ignore[arg-type]
    assert client.post(EVENTS, json={"query": "sun"}).status_code == 405


def failure(answer: httpx.Response) -> dict[str, str]:
    """The only event, which says what went wrong."""
    assert answer.status_code == 200
    ((name, data),) = told(answer.text)
    assert name == "failure"
    schema.Error.model_validate(data)
    error: dict[str, str] = data["error"]
    assert "\n" not in error["message"]
    return error


def test_what_is_not_here_is_a_failure(bare: Path) -> None:
    with serving(create_app(Wiki.open(bare))) as other:
        said = failure(other.get(EVENTS, params={"query": "sun"}))
        assert (said["type"], "linkwalk index" in said["message"]) == ("not_found", True)


def test_what_breaks_on_the_way_is_a_failure(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def waves(self: Wiki, query: str, **options: Any) -> Iterator[Answer]:
        yield Answer(
            query=query,
            start="bm25",
            navigation="none",
            rerank="none",
            agent=None,
            blocks=0,
            evidence=(),
            stage="search",
        )
        raise ZeroDivisionError

    monkeypatch.setattr(Wiki, "find_waves", waves)
    with serving(create_app(wiki)) as client:
        (first, _), (last, data) = told(client.get(EVENTS, params={"query": "sun"}).text)
    assert (first, last, data["error"]["type"]) == ("hits", "failure", "internal")
    assert "ZeroDivisionError" in caplog.text


def test_hits_do_not_wait_for_those_who_read(wiki: Wiki, gate: Gate) -> None:
    """While somebody else's question is at work the search results come all the same, and the answer later."""
    app = create_app(wiki)
    with serving(app) as client:
        whole = good(client.post("/api/v1/find", json={"query": QUESTION}))
        app.state.api.lanes.torch.start(gate.work)
        with client.stream("GET", EVENTS, params={"query": QUESTION}) as answer:
            parts, text = answer.iter_text(), ""
            while "event: hits" not in text:
                text += next(parts)
            assert gate.inside == 1
            assert "event: answer" not in text
            gate.opened.set()
            text += "".join(parts)
        assert list(told(text))[-1] == ("answer", whole)


def test_too_many_and_too_slow(wiki: Wiki, gate: Gate) -> None:
    app = create_app(wiki, Limits(waiting=4, seconds=0.3))
    torch = app.state.api.lanes.torch
    with serving(app) as client:
        torch.start(gate.work)
        (first, _), (last, data) = told(
            client.get(EVENTS, params={"query": QUESTION, "rerank": "tfidf"}).text
        )
        assert (first, last, data["error"]["type"]) == ("hits", "failure", "timeout")
        torch.taken += torch.most
        bad(client.get(EVENTS, params={"query": QUESTION}), 503, "busy")
        torch.taken -= torch.most


def test_work_stops_when_the_client_leaves() -> None:
    """What is being made is made to its end; what comes after it is never begun."""
    first, others = Lane("first", 1, Limits()), Lane("others", 1, Limits())
    made: list[int] = []
    going = threading.Event()

    def begin() -> Iterator[tuple[str, Any]]:
        for number in range(1000):
            made.append(number)
            yield "reading", number
            if number == 2:
                assert going.wait(20)

    async def main() -> None:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            while len(sent) < 4:  # the headers, and three events
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        await asyncio.wait_for(stream_waves(first, others, begin)({"type": "http"}, receive, send), 20)
        assert b"data: 0\n\n" in sent[1]["body"]
        going.set()
        async with asyncio.timeout(20):
            while others.taken:
                await asyncio.sleep(0.001)

    asyncio.run(main())
    first.close()
    others.close()
    assert made == [0, 1, 2, 3]


def test_who_leaves_while_waiting_is_never_read_for(wiki: Wiki, gate: Gate) -> None:
    app = create_app(wiki)
    torch = app.state.api.lanes.torch
    with serving(app) as client:
        torch.start(gate.work)
        with client.stream("GET", EVENTS, params={"query": QUESTION}) as answer:
            parts = answer.iter_text()  # kept: the connection ends with it
            assert "event: hits" in next(parts)
            until = time.monotonic() + 20
            while not torch.taken and time.monotonic() < until:
                time.sleep(0.001)
            assert torch.taken == 1
        until = time.monotonic() + 20
        while torch.taken and time.monotonic() < until:  # the server notices that nobody listens
            time.sleep(0.001)
        assert (torch.taken, gate.inside) == (0, 1)
        gate.opened.set()
        assert "linkwalk_evidence_total 0.0" in client.get("/metrics").text


def test_questions_are_counted(wiki: Wiki) -> None:
    with serving(create_app(wiki)) as client:
        whole = list(told(client.get(EVENTS, params={"query": QUESTION, **LIGHT}).text))[-1][1]
        client.get(EVENTS, params={"query": ""})
        text = client.get("/metrics").text
    route = f'linkwalk_requests_total{{method="GET",route="{EVENTS}",status='
    assert f'{route}"200"}} 1.0' in text
    assert f'{route}"422"}} 1.0' in text
    assert f"linkwalk_evidence_total {len(whole['evidence'])}.0" in text, "the hits are not counted"


def test_the_description_has_the_limits(wiki: Wiki) -> None:
    with serving(create_app(wiki, Limits(query=11))) as client:
        bad(client.get(EVENTS, params={"query": "twelve signs"}), 422, "bad_input", "at most 11")
        said = client.get("/openapi.json").json()
    described = said["paths"][EVENTS]["get"]
    parameters = {one["name"]: one["schema"] for one in described["parameters"]}
    assert parameters["query"]["maxLength"] == 11
    assert list(parameters) == list(said["components"]["schemas"]["FindRequest"]["properties"])
    shape = described["responses"]["200"]["content"]["text/event-stream"]["schema"]
    assert shape["properties"]["event"]["enum"] == ["hits", "reading", "answer", "failure"]
