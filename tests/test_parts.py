"""Names of one's own parts: what they may look like, and what is said where there is nothing."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linkwalk.cli import main
from linkwalk.errors import InputError
from linkwalk.graph.store import LINK, Graph
from linkwalk.parts import import_part, is_part
from linkwalk.retrieve import index
from linkwalk.wiki import Wiki
from tests.graph.conftest import Page, write_graph


@pytest.mark.parametrize("name", ["mine:Agent", "a.b.c:Name", "a:B.c"])
def test_what_names_a_part(name: str) -> None:
    assert is_part(name)


@pytest.mark.parametrize(
    "name", ["compass", "C:\\policies\\mine", "a:", ":b", "../a:b", "a b:c", "a:b-c", "", None, 3]
)
def test_what_does_not(name: object) -> None:
    assert not is_part(name)


def test_a_module_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_part_of_a_test.py").write_text("class Outer:\n    inner = 5\n")
    monkeypatch.chdir(tmp_path)
    assert import_part("own_part_of_a_test:Outer.inner", "number") == 5


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module_here:Name", "no module named 'no_such_module_here', so no agent"),
        ("json:NoSuchName", "json has no NoSuchName"),
        ("plain", "write package.module:Name"),
    ],
)
def test_one_line_where_there_is_nothing(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        import_part(name, "agent")


def test_a_module_that_misses_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part_that_misses.py").write_text("import something_nobody_has\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="part_that_misses needs something_nobody_has"):
        import_part("part_that_misses:Name", "agent")


HOSTILE = "part_that_nobody_asked_for:Agent"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that says when it is imported, by its name or as whatever else names it."""
    module, _, _ = HOSTILE.partition(":")
    sprung = tmp_path / "sprung"
    (tmp_path / f"{module}.py").write_text(f"open({str(sprung)!r}, 'w').close()\nAgent = object\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield sprung
    sys.modules.pop(module, None)


@pytest.fixture
def wiki(tmp_path: Path) -> Wiki:
    """Three blocks, each of which leads to the next, and an index of their words."""
    names = ["Here", "There", "Beyond"]
    pages = {name: [Page(f"{name} it is", [(names[i - 2], 0, LINK)])] for i, name in enumerate(names)}
    index(tmp_path / "wiki", write_graph(tmp_path / "wiki", pages))
    return Wiki.open(tmp_path / "wiki")


def requests(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any] | None]]:
    """Every endpoint once for each of its fields that takes text, with the name of a part in it."""
    schemas = description["components"]["schemas"]
    for path, operations in description["paths"].items():
        for verb, operation in operations.items():
            named = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            usual = {"start": "Here", "goal": "There", "name": "Here"}
            known = {name: usual[name] for name in named if name in usual}
            for name in named:
                yield verb, path.replace("{node}", "0"), known | {name: HOSTILE}, None
            if "requestBody" not in operation:
                continue
            body = operation["requestBody"]["content"]["application/json"]
            fields = schemas[body["schema"]["$ref"].rpartition("/")[2]]["properties"]
            for name, schema in fields.items():
                value: Any = [HOSTILE] if schema.get("type") == "array" else HOSTILE
                yield verb, path, {}, body["example"] | {name: value}


def test_nothing_is_imported_over_http(wiki: Wiki, trap: Path) -> None:
    from fastapi.testclient import TestClient

    from linkwalk.serve.app import create_app

    with TestClient(create_app(wiki)) as client:
        asked = list(requests(client.get("/openapi.json").json()))
        assert {"agent", "agents", "rerank", "sentence", "who"} <= {
            n for _, _, _, body in asked for n in body or ()
        }
        for verb, path, query, body in asked:
            said = client.request(verb, path, params=query, json=body)
            assert said.status_code < 500, said.text
            assert not trap.exists(), (verb, path, query, body)


def test_over_http_and_mcp_evidence_is_found_by_parts_that_ship_alone(wiki: Wiki, trap: Path) -> None:
    from fastapi.testclient import TestClient

    from linkwalk.serve.app import create_app
    from linkwalk.serve.mcp import WikiServer

    plain = {"query": "there it is", "navigation": "none", "rerank": "tfidf"}
    server = WikiServer(Wiki.open(wiki.folder, rerank="tfidf"))
    with TestClient(create_app(wiki)) as client:
        assert client.post("/api/v1/find", json=plain).status_code == 200
        for name in ("rerank", "agent", "embeddings", "navigation", "start"):
            assert client.post("/api/v1/find", json=plain | {name: HOSTILE}).is_client_error, name
            told: Any = asyncio.run(server.call_tool("find_evidence", {"query": "there", name: HOSTILE}))
            assert told.is_error, name
    assert not trap.exists()


def test_nothing_is_imported_over_mcp(wiki: Wiki, trap: Path) -> None:
    from linkwalk.serve.mcp import WikiServer

    server = WikiServer(wiki)
    usual = {"start": "Here", "goal": "There", "block": "Here", "words": "there", "query": "there"}
    for tool in asyncio.run(server.list_tools()):
        fields = tool.input_schema["properties"]
        for name in fields:
            arguments = {known: usual[known] for known in fields if known in usual} | {name: HOSTILE}
            asyncio.run(server.call_tool(tool.name, arguments))
            assert not trap.exists(), (tool.name, arguments)


def test_the_trap_is_one(trap: Path) -> None:
    assert import_part(HOSTILE, "agent") is object
    assert trap.exists()


def test_whoever_runs_the_program_may_name_one(wiki: Wiki, trap: Path) -> None:
    with pytest.raises(InputError, match=f"^{HOSTILE} is no reranker"):
        wiki.find("there it is", navigation="none", rerank=HOSTILE)
    assert trap.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("find", "WIKI", "Who?", "--rerank", "os:getcwd"), "os:getcwd is no reranker"),
        (("find", "WIKI", "Who?", "--rerank", "pathlib:PurePath.with_name"), "is no reranker"),
        (
            ("walk", "WIKI", "--from", "0", "--to", "1", "--agent", "threading:Lock"),
            "threading:Lock is no agent",
        ),
        (("walk", "WIKI", "--from", "0", "--to", "1", "--agent", "zipfile:BadZipFile"), "is no agent"),
        (("embed", "WIKI", "--encoder", "zipfile:ZipFile"), "zipfile:ZipFile is no encoder"),
        (("build", "WIKI", "-o", "OUT", "--format", "os:getcwd"), "os:getcwd is neither a class of sources"),
        (("score", "zipfile:ZipFile", "WIKI", "FILE"), "zipfile:ZipFile is no data set"),
    ],
)
def test_a_part_of_another_kind(
    words: tuple[str, ...], says: str, indexed_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("{}")
    places = {"WIKI": str(indexed_world), "OUT": str(tmp_path / "out"), "FILE": str(tmp_path / "file")}
    if "walk" in words:
        names = [Graph.open(indexed_world).name(node) for node in (0, 1)]
        places |= {"0": names[0], "1": names[1]}
    with pytest.raises(SystemExit) as ended:
        main([places.get(word, word) for word in words])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) == 1
