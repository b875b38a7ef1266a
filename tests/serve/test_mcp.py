"""``linkwalk mcp`` as clients start it: every tool, over both transports, with good input and bad."""

import functools
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from jsonschema import validate
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Tool

from linkwalk.cli import main
from linkwalk.graph.store import Graph
from linkwalk.serve import tools
from linkwalk.wiki import Wiki
from linkwalk.wiki.answers import plain
from linkwalk.wiki.pages import read_page
from tests.graph.conftest import Page, write_graph
from tests.retrieve.stand_in import by_hand, stand_in
from tests.serve.conftest import RIGHT_TO_LEFT, SCRIPT

NAMES = ["search", "open", "links", "navigate", "find_evidence"]
Call = Callable[..., CallToolResult]


class Spoken:
    """A client that has a server to itself, for tests that know nothing of tasks."""

    def __init__(self, portal: Any, client: Client, url: str | None = None) -> None:
        self.portal, self.client, self.url = portal, client, url
        self.embedded = url is None
        self.tools: dict[str, Tool] = {tool.name: tool for tool in portal.call(client.list_tools).tools}

    def __call__(self, name: str, **arguments: Any) -> CallToolResult:
        called: CallToolResult = self.portal.call(functools.partial(self.client.call_tool, name, arguments))
        return called


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "linkwalk", "mcp", *map(str, args), "--rerank", "tfidf"]


@pytest.fixture(scope="module")
def indexed(small: Path) -> Path:
    """The wiki without embeddings."""
    folder = small.parent / "indexed"
    folder.mkdir()
    for part in ("graph", "index"):
        (folder / part).symlink_to(small / part)
    return folder


@pytest.fixture(scope="module", params=["stdio", "http"])
def call(request: pytest.FixtureRequest, small: Path, indexed: Path) -> Iterator[Spoken]:
    """The real command, spoken to by the SDK's client; over HTTP without embeddings, which are slow to open."""
    with start_blocking_portal() as portal:
        if request.param == "stdio":
            program, *args = command(small)
            with portal.wrap_async_context_manager(
                Client(StdioServerParameters(command=program, args=args, env=dict(os.environ)))
            ) as client:
                yield Spoken(portal, client)
            return
        with subprocess.Popen(command(indexed, "--http", 0), stderr=subprocess.PIPE, text=True) as started:
            assert started.stderr is not None
            assert "linkwalk embed" in started.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/mcp", started.stderr.readline())
            assert found
            with portal.wrap_async_context_manager(Client(found[0])) as client:
                yield Spoken(portal, client, found[0])
            started.terminate()
            assert started.stderr.read() == ""


def told(called: CallToolResult) -> str:
    """What a model reads."""
    (content,) = called.content
    assert content.type == "text"
    return content.text


def value(call: Spoken, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer, which its schema describes."""
    called = call(name, **arguments)
    assert not called.is_error, told(called)
    assert called.structured_content is not None
    validate(called.structured_content, call.tools[name].output_schema or {})
    return called.structured_content


def text(opened: dict[str, Any]) -> str:
    """That of a block which was opened."""
    (segment,) = opened["page"]["segments"]
    return str(segment["text"])


def refused(called: CallToolResult, *words: str) -> None:
    """A tool's error of one line."""
    assert called.is_error
    assert "\n" not in told(called)
    assert "Traceback" not in told(called)
    for word in words:
        assert word in told(called)


def test_tools_say_what_they_are_for(call: Spoken) -> None:
    assert list(call.tools) == NAMES
    for tool in call.tools.values():
        assert tool.description
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        for schema in tool.input_schema["properties"].values():
            assert schema["description"]
            assert schema["type"] in ("string", "integer")


def test_search(call: Spoken) -> None:
    found = value(call, "search", words="cor")
    assert found["results"][0]["place"]["name"] == "Coral reef (0)"
    assert found["results"][0]["by"] == "title"
    both = value(call, "search", words="coral reef", limit=4)["results"]
    assert {one["by"] for one in both} == {"title", "text"}
    assert len({one["place"]["node"] for one in both}) == len(both) == 4
    assert value(call, "search", words="coral reef", limit=2, offset=2)["results"] == both[2:]
    assert value(call, "search", words="Sea")["results"][0]["place"]["name"] == "Ocean (0)"
    assert value(call, "search", words="corel reff")["results"][0]["place"]["name"] == "Coral reef (0)"
    assert value(call, "search", words="xyzzyplugh")["results"] == []
    assert "Nothing was found" in told(call("search", words="xyzzyplugh"))


def test_open_and_links(call: Spoken, small: Path) -> None:
    graph = Graph.open(small)
    opened, page = value(call, "open", block="Star"), plain(read_page(graph, graph.find("Star")))
    whole = {"text": graph.texts[graph.find("Star")], "link": None}
    assert opened["page"] == page | {"segments": [whole]}
    assert (opened["characters_left"], opened["links_left"]) == (0, 0)
    assert text(value(call, "open", block="Star (0)", offset=10)) == text(opened)[10:]
    listed = value(call, "links", block="Star")
    assert (listed["place"], listed["links"]) == (page["place"], page["links"])
    first = value(call, "links", block="Star", limit=1)
    assert (first["links"], first["total"]) == (page["links"][:1], len(page["links"]))
    assert value(call, "links", block="Star", limit=1, offset=1)["links"] == page["links"][1:2]
    assert "Sun → Sun (0)" in told(call("open", block="Star"))


def test_navigate(call: Spoken) -> None:
    who = {} if call.embedded else {"agent": "random-dfs"}
    walked = value(call, "navigate", start="Star", goal="Ocean (1)", **who)
    walk = walked["walk"]
    assert (walk["success"], walk["goal"]["name"], walked["end"]["name"]) == (True, "Ocean (1)", "Ocean (1)")
    assert walked["clicks"] == walk["steps"][-1]["number"] >= walk["distance"]
    assert walk["steps"][-1]["to"] == walk["goal"]
    assert all(click["choices"] == [] for click in walk["steps"]), "which no model has room for"
    said = told(call("navigate", start="Star", goal="Ocean (1)", **who))
    assert "Found Ocean (1) from Star (0)" in said
    assert all(f"[[{click['link']}]]" in said for click in walk["steps"] if click["link"])
    missed = value(call, "navigate", start="Star", goal="Ocean (1)", agent="random", budget=1)
    assert (missed["walk"]["success"], missed["clicks"]) == (False, 1)
    towards = {"start": "Star", "sentence": "water of the ocean", "budget": 6}
    if call.embedded:
        walked = value(call, "navigate", **towards)
        walk = walked["walk"]
        assert (walk["success"], walk["goal"], walked["clicks"]) == (None, None, 6)
        assert walked["end"] == walk["closest"]["place"]
    else:
        refused(call("navigate", **towards), "no agent named 'compass'", "random", "linkwalk embed")
        refused(call("navigate", **towards | who), "linkwalk embed")


def test_find_evidence(call: Spoken) -> None:
    found = value(call, "find_evidence", query="What is next to the coral reef?", limit=4)
    answer = found["answer"]
    assert (answer["navigation"], len(answer["evidence"])) == ("tabs" if call.embedded else "none", 4)
    for one, paragraph in zip(answer["evidence"], found["paragraphs"], strict=True):
        assert one["sentence"] in paragraph
        assert one["sentence"] in text(value(call, "open", block=one["place"]["name"]))
        at = one["start"]
        for click in one["path"]:  # as a reader would check it
            assert click["at"] == at
            page, at = value(call, "open", block=at["name"])["page"], click["to"]
            beside = [place["node"] for place in (page["previous"], page["next"]) if place]
            assert at["node"] in [*(link["node"] for link in page["links"]), *beside]
        assert at == one["place"]


def test_what_nothing_answers_is_said_first(small: Path, tmp_path: Path) -> None:
    question = "What is next to the coral reef?"
    plain_text = told(tools.Tools(Wiki.open(small, rerank="tfidf")).find_evidence(question, 2))
    assert plain_text.startswith("1. ")
    for nothing in (0.0, 1.0):
        judge = stand_in(tmp_path / f"judge-{nothing}", ranking=by_hand(nothing=nothing))
        called = tools.Tools(Wiki.open(small, rerank=str(judge))).find_evidence(question, 2)
        assert called.structured_content is not None
        answer = called.structured_content["answer"]
        assert answer["answered"] is (nothing == 0)
        assert 0 <= answer["confidence"] <= 1
        assert len(answer["evidence"]) == 2
        first = "1. " if nothing == 0 else "Nothing here answers this (the chance that it does is "
        assert told(called).startswith(first)
        assert "\n1. " in "\n" + told(called)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search", {}, ["words", "required"]),
        ("search", {"words": " "}, ["words is empty"]),
        ("search", {"words": "x", "limit": 99}, ["limit", "20"]),
        ("search", {"words": 7}, ["words", "string"]),
        ("search", {"words": "x", "wrods": "y"}, ["no argument 'wrods'", "it has words, limit, offset"]),
        ("search", {"words": "x" * 5000}, ["words", "1000"]),
        ("open", {"block": "Strr"}, ["no article named 'Strr'", "did you mean 'Star'?"]),
        ("open", {"block": "Star (99)"}, ["'Star' has no block 99"]),
        ("open", {"block": ""}, ["no article named ''"]),
        ("open", {"block": "Star", "offset": 10**6}, ["smaller offset"]),
        ("links", {"block": "Star", "limit": 0}, ["limit", "1"]),
        ("links", {"block": "Star", "offset": 10**6}, ["smaller offset"]),
        ("navigate", {"start": "Star"}, ["goal or sentence"]),
        ("navigate", {"start": "Star", "goal": "Sun", "sentence": "x"}, ["goal or sentence"]),
        ("navigate", {"start": "Star", "goal": "Lonely", "agent": "random"}, ["no path leads", "Lonely"]),
        ("navigate", {"start": "Star", "goal": "Sun", "agent": "/etc"}, ["no agent named '/etc'", "random"]),
        ("navigate", {"start": "Star", "goal": "Sun", "budget": 10**9}, ["budget", "1000"]),
        ("find_evidence", {"query": "?"}, ["no words"]),
        ("find_evidence", {"query": "  "}, ["empty"]),
        ("find_evidence", {"query": "x", "limit": "many"}, ["limit", "integer"]),
        ("fly", {}, ["fly"]),
    ],
)
def test_bad_input_is_a_line(call: Spoken, name: str, arguments: dict[str, Any], words: list[str]) -> None:
    refused(call(name, **arguments), *words)


def test_whatever_is_said_is_answered(call: Spoken) -> None:
    nasty = [
        "\x00",
        "[1, 2]",
        "null",
        '{"a": 1}',
        "../../etc",
        "%s %n",
        "\u202e",
        "😀" * 200,
        "(0)",
        "Star (",
        "\n\n",
    ]
    for words in nasty:
        for name, argument in (
            ("search", "words"),
            ("open", "block"),
            ("links", "block"),
            ("find_evidence", "query"),
        ):
            called = call(name, **{argument: words})
            assert not called.is_error or "\n" not in told(called)
        refused(call("navigate", start="Star", goal=words))
    for title in (SCRIPT.strip("<>").capitalize(), RIGHT_TO_LEFT):
        assert value(call, "open", block=title)["page"]["place"]["name"] == f"{title} (0)"
    assert SCRIPT in text(value(call, "open", block="Moon"))


def test_only_this_machine_is_answered(call: Spoken) -> None:
    if call.url is None:
        return
    headers = {"accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert httpx.post(call.url, json=message, headers=headers | {"host": "evil.example"}).status_code == 421
    origin = {"origin": "https://evil.example"}
    assert httpx.post(call.url, json=message, headers=headers | origin).status_code == 403
    assert httpx.post(call.url, json=message | {"x": "y" * 10**6}, headers=headers).status_code == 413


@pytest.mark.slow
def test_nothing_but_the_protocol_is_printed(bare: Path) -> None:
    with subprocess.Popen(
        command(bare), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        called = {"name": "search", "arguments": {"words": "Star"}}
        for message in (
            "this is no message",
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": called},
            {
                "id": 3,
                "method": "tools/call",
                "params": {"name": "find_evidence", "arguments": {"query": "x"}},
            },
        ):
            line = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
            started.stdin.write(line + "\n")
        started.stdin.flush()
        answers = {}
        while not {1, 2, 3} <= set(answers):
            answer = json.loads(started.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            answers[answer.get("id")] = answer
        out, err = started.communicate()
    assert (out, started.returncode) == ("", 0)
    assert answers[1]["result"]["serverInfo"]["name"] == "linkwalk"
    assert not answers[2]["result"].get("isError")
    assert answers[3]["result"]["isError"]
    assert "linkwalk index" in answers[3]["result"]["content"][0]["text"]
    assert "linkwalk embed" in err


def test_answers_stay_small(tmp_path: Path) -> None:
    long, links = "word " * 5000, [(f"Page {i}", 0, 2) for i in range(60)]
    pages = {f"Page {i}": [Page(long, links)] for i in range(60)}
    pages |= {f"P{i}": [Page(long, [(f"P{i + 1}", 0, 2)])] for i in range(70)} | {"P70": [Page("end")]}
    write_graph(tmp_path / "wiki", pages)
    asked = tools.Tools(Wiki.open(tmp_path / "wiki"))
    answers = [
        asked.search("page", 20),
        asked.open("Page 1"),
        asked.links("Page 1", 30),
        asked.navigate("P0", "P70", agent="random-dfs", budget=1000),
    ]
    for answer in answers:
        assert len(told(answer)) < 9000
    opened, walked = (answer.structured_content or {} for answer in (answers[1], answers[3]))
    assert (len(text(opened)), opened["characters_left"]) == (tools.TEXT, len(long) - tools.TEXT)
    assert (len(opened["page"]["links"]), opened["links_left"]) == (tools.LINKS, 60 - tools.LINKS)
    numbers = [click["number"] for click in walked["walk"]["steps"]]
    half, last = tools.CLICKS // 2, walked["clicks"]
    assert numbers == [*range(1, half + 1), *range(last - half + 1, last + 1)]
    assert f"… {last - tools.CLICKS} more clicks …" in told(answers[3])
    rest = asked.open("Page 1", tools.TEXT).structured_content or {}
    assert text(opened) + text(rest) == long[: 2 * tools.TEXT]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["/nowhere"], "no such workspace"),
        (["WIKI", "--stdio", "--http", "0"], "choose one of them"),
        (["WIKI", "--host", "0.0.0.0"], "--host is for --http"),
        (["WIKI", "--http", "TAKEN"], "is taken: choose another with --http"),
        (["WIKI", "--http", "99999"], "--http"),
        (["WIKI", "--rerank", "nobody"], "no reranker 'nobody'"),
        (["WIKI", "--embeddings", "others"], "no embeddings named 'others'"),
    ],
)
def test_what_cannot_be_served(
    bare: Path, args: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = {"WIKI": str(bare), "TAKEN": str(taken.getsockname()[1])}
        with pytest.raises(SystemExit) as leave:
            main(["mcp", *(given.get(arg, arg) for arg in args)])
    assert leave.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err.splitlines()[-1]


def test_the_tools_need_neither_fastapi_nor_prometheus() -> None:
    hidden = "sys.modules.update({name: None for name in ('fastapi', 'prometheus_client')})"
    subprocess.run([sys.executable, "-c", f"import sys; {hidden}; import linkwalk.serve.mcp"], check=True)
