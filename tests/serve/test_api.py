"""What the endpoints answer."""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from linkwalk import shipped
from linkwalk.cli import main
from linkwalk.errors import InputError
from linkwalk.games.run_scores import check_runs
from linkwalk.games.runs import read_runs
from linkwalk.serve import schema
from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Limits
from linkwalk.serve.errors import ApiError
from linkwalk.serve.pages import FOLDER
from linkwalk.serve.runs import append, check_steps
from linkwalk.serve.schema import SHAPES
from linkwalk.wiki import Answer, Click, MoveConfig, Page, Walk, Wiki
from linkwalk.wiki.answers import plain
from tests.serve.conftest import HOSTILE, RIGHT_TO_LEFT, SCRIPT, serving


def good(answer: httpx.Response, shape: type | None = None) -> Any:
    """The JSON of an answer that is what its description says."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    if shape is not None:
        TypeAdapter(shape).validate_json(answer.content)
    return answer.json()


def bad(answer: httpx.Response, status: int, kind: str, *words: str) -> str:
    """The message of an answer that is an error."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    schema.Error.model_validate_json(answer.content)
    error = answer.json()["error"]
    message = str(error["message"])
    assert error["type"] == kind, message
    assert message
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


def test_health_says_what_is_here(client: httpx.Client, wiki: Wiki) -> None:
    said = good(client.get("/api/v1/health"), schema.Health)
    assert said["wiki"]["blocks"] == wiki.graph.nodes
    assert [agent["name"] for agent in said["agents"]] == wiki.agents
    assert (said["find"], said["navigate"], said["missing"]) == (True, True, {})
    assert said["rerank"] == "cross"


def test_a_bare_graph_says_what_would_make_more_of_it(bare: Path) -> None:
    with serving(create_app(Wiki.open(bare))) as client:
        said = good(client.get("/api/v1/health"), schema.Health)
        assert (said["find"], said["navigate"]) == (False, False)
        assert f"linkwalk index {bare}" in said["missing"]["find"]
        assert f"linkwalk embed {bare}" in said["missing"]["navigate"]
        assert {agent["name"] for agent in said["agents"]} == {"random", "random-dfs"}
        bad(client.post("/api/v1/find", json={"query": "water"}), 404, "not_found", "linkwalk index")
        bad(client.post("/api/v1/walk", json={"start": 0, "goal": 1}), 404, "not_found", "linkwalk embed")
        asked = {"start": "Star", "sentence": "water", "agent": "random"}
        bad(client.post("/api/v1/walk", json=asked), 404, "not_found", "linkwalk embed")
        walked = {"start": "Star", "goal": "Ocean", "agent": "random"}
        assert good(client.post("/api/v1/walk", json=walked), Walk)["steps"][0]["score"] is None


def test_titles(client: httpx.Client, wiki: Wiki) -> None:
    said = good(client.get("/api/v1/titles", params={"q": "st", "limit": 3}), schema.Suggestions)
    assert said["titles"] == plain(wiki.titles("st", 3))
    assert said["titles"][0]["title"] == "Star"
    rest = good(client.get("/api/v1/titles", params={"q": "st", "limit": 3, "offset": 1}))["titles"]
    assert rest == plain(wiki.titles("st", 4)[1:])
    assert good(client.get("/api/v1/titles"), schema.Suggestions)["titles"] == []
    bad(client.get("/api/v1/titles", params={"q": "x" * 301}), 422, "bad_input", "q: ")
    bad(client.get("/api/v1/titles", params={"q": "x", "limit": 0}), 422, "bad_input", "limit: ")


def test_blocks_by_number_and_by_name(client: httpx.Client, wiki: Wiki) -> None:
    node = wiki.node("Coral reef (1)")
    by_number = good(client.get(f"/api/v1/block/{node}"), Page)
    assert by_number == good(client.get("/api/v1/block", params={"name": "Coral reef (1)"}))
    assert by_number == plain(wiki.block(node))
    assert "".join(part["text"] for part in by_number["segments"]) == wiki.graph.texts[node]
    assert good(client.get("/api/v1/block", params={"name": "Sea"}))["place"]["title"] == "Ocean"
    bad(client.get("/api/v1/block", params={"name": "Strar"}), 404, "not_found", "did you mean", "Star")
    bad(client.get(f"/api/v1/block/{wiki.graph.nodes}"), 404, "not_found", str(wiki.graph.nodes))
    bad(client.get("/api/v1/block/-1"), 422, "bad_input", "node: ")
    bad(client.get("/api/v1/block/9999999999"), 422, "bad_input", "node: ")
    bad(client.get("/api/v1/block/one"), 422, "bad_input", "node: ")
    bad(client.get("/api/v1/block"), 422, "bad_input", "name: ")


def test_links_a_part_at_a_time(client: httpx.Client, wiki: Wiki) -> None:
    page = wiki.block("Star")
    url = f"/api/v1/block/{page.place.node}/links"
    said = good(client.get(url), schema.Links)
    assert said == {"place": plain(page.place), "links": plain(page.links), "offset": 0, "total": 2}
    assert good(client.get(url, params={"limit": 1, "offset": 1}))["links"] == plain(page.links[1:])
    assert good(client.get(url, params={"offset": 9}))["links"] == []
    bad(client.get(url, params={"limit": 0}), 422, "bad_input", "limit: ")


def test_a_block_is_sent_once(client: httpx.Client) -> None:
    first = client.get("/api/v1/block/0")
    again = client.get("/api/v1/block/0", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    other = client.get("/api/v1/block/1", headers={"if-none-match": first.headers["etag"]})
    assert other.status_code == 200


def test_pairs(client: httpx.Client, wiki: Wiki) -> None:
    said = good(client.get("/api/v1/pair", params={"seed": 3, "least": 2, "most": 4}), schema.Game)
    assert said == good(client.get("/api/v1/pair", params={"seed": 3, "least": 2, "most": 4}))
    assert 2 <= said["distance"] <= 4
    walk = wiki.walk(said["start"]["node"], said["goal"]["node"], agent="random", budget=1)
    assert walk.distance == said["distance"]
    bad(client.get("/api/v1/pair", params={"seed": 0, "least": 20, "most": 20}), 404, "not_found")
    bad(client.get("/api/v1/pair", params={"seed": -1}), 422, "bad_input", "seed: ")


def test_the_graph_in_numbers(client: httpx.Client, wiki: Wiki) -> None:
    said = good(client.get("/api/v1/graph"), schema.GraphStatistics)
    graph = wiki.graph
    assert sum(said["links"].values()) == graph.edges
    for way in ("out", "in"):
        assert sum(count for _, count in said["degree"][way]) == graph.nodes
        assert sum(value * count for value, count in said["degree"][way]) == graph.edges
    lengths = said["path_lengths"]
    assert sum(share for _, share in lengths["histogram"]) == pytest.approx(1)
    mean = sum(length * share for length, share in lengths["histogram"])
    assert mean == pytest.approx(lengths["mean"])
    assert 0 < lengths["reachable"] <= 1
    assert lengths["pairs"] == lengths["sources"] * (graph.nodes - 1)


@pytest.mark.parametrize("agent", ["compass", "greedy-unvisited", "random"])
def test_a_walk_is_the_facade_s(client: httpx.Client, wiki: Wiki, agent: str) -> None:
    asked = {
        "start": "Star",
        "goal": wiki.node("Water (1)"),
        "agent": agent,
        "budget": 30,
        "seed": 4,
        "back": True,
    }
    said = good(client.post("/api/v1/walk", json=asked), Walk)
    own = wiki.walk("Star", "Water (1)", agent=agent, budget=30, seed=4, ways=MoveConfig(back=True))
    assert said == plain(own)


def test_a_walk_is_what_the_command_prints(
    client: httpx.Client, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for asked, goal in (
        ({"goal": "Water (1)"}, ["--to", "Water (1)"]),
        ({"sentence": "a reef"}, ["--sentence", "a reef"]),
    ):
        for agent in ("compass", "greedy-unvisited", "random"):
            body = {"start": "Star", "agent": agent, "budget": 9, "seed": 3, "back": True, **asked}
            options = ["--agent", agent, "--budget", "9", "--seed", "3", "--back", "--json"]
            with contextlib.suppress(SystemExit):
                main(["walk", str(small), "--from", "Star", *goal, *options])
            assert json.loads(capsys.readouterr().out) == good(client.post("/api/v1/walk", json=body), Walk)


def test_a_walk_towards_words(client: httpx.Client) -> None:
    asked = {"start": "Star", "sentence": "a reef of coral in the ocean", "budget": 6}
    said = good(client.post("/api/v1/walk", json=asked), Walk)
    assert (said["goal"], said["success"], len(said["steps"])) == (None, None, 6)
    assert said["closest"]["place"]["title"]


def test_walks_that_cannot_be(client: httpx.Client) -> None:
    walk = "/api/v1/walk"
    bad(client.post(walk, json={"start": "Star"}), 422, "bad_input", "one of the two")
    both = {"start": "Star", "goal": "Sun", "sentence": "a"}
    bad(client.post(walk, json=both), 422, "bad_input", "one of the two")
    bad(client.post(walk, json={"start": "Strar", "goal": "Sun"}), 404, "not_found", "did you mean")
    bad(client.post(walk, json={"start": "Star", "goal": "Lonely"}), 404, "not_found", "nothing links to")
    bad(
        client.post(walk, json={"start": "Star", "goal": "Sun", "agent": "nobody"}),
        404,
        "not_found",
        "compass",
    )
    empty = {"start": "Star", "sentence": "  "}
    bad(client.post(walk, json=empty), 422, "bad_input", "sentence")
    long = {"start": "Star", "sentence": "x" * 2001}
    bad(client.post(walk, json=long), 422, "bad_input", "sentence: ", "2,000")
    for budget in (0, -1, 1001, 10**30, True, "5", 1.5, None):
        answer = client.post(walk, json={"start": "Star", "goal": "Sun", "budget": budget})
        if budget is None:
            good(answer, Walk)
        else:
            bad(answer, 422, "bad_input", "budget: ")


def test_nobody_names_a_folder_of_the_server(client: httpx.Client) -> None:
    """On the command line an agent or a reranker may be a path; somebody else's server is not to open any."""
    folder = str(shipped.policy_path())
    asked = {"start": "Star", "goal": "Sun", "agent": folder}
    bad(client.post("/api/v1/walk", json=asked), 404, "not_found", "no agent")
    bad(client.post("/api/v1/compare", json=asked | {"agents": [folder]} | {"agent": None}), 422, "bad_input")
    bad(client.post("/api/v1/compare", json={"start": 0, "goal": 1, "agents": [folder]}), 404, "not_found")
    bad(
        client.post("/api/v1/find", json={"query": "a", "rerank": str(shipped.reranker_path())}),
        422,
        "bad_input",
        "rerank: ",
    )
    events = client.get("/api/v1/walk/events", params=asked)
    assert [name for name, _ in told(events.text)] == ["failure"]


def told(text: str) -> Iterator[tuple[str, Any]]:
    """Server-sent events, read as a browser reads them."""
    for block in text.split("\n\n")[:-1]:
        if block.startswith(":"):  # a comment
            continue
        name, data = block.split("\n")
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_walk_click_by_click(client: httpx.Client) -> None:
    asked = {"start": "Star", "goal": "Water (1)", "agent": "compass", "budget": 30}
    whole = good(client.post("/api/v1/walk", json=asked))
    answer = client.get("/api/v1/walk/events", params=asked)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    events = list(told(answer.text))
    assert [name for name, _ in events] == ["start", *["click"] * len(whole["steps"]), "end"]
    for name, data in events:
        TypeAdapter(Click if name == "click" else Walk).validate_python(data)
    assert [data for name, data in events if name == "click"] == whole["steps"]
    end = events[-1][1]
    assert end | {"steps": whole["steps"]} == whole
    known = {name: value for name, value in whole.items() if events[0][1][name] == value}
    assert set(whole) - set(known) == {"success", "distance", "steps", "optimum"}, "what the end tells"
    assert re.match(r": app;dur=[\d.]+\n\n", answer.text)


def test_events_say_what_went_wrong(client: httpx.Client) -> None:
    for asked, kind in (
        ({"start": "Strar", "goal": "Sun"}, "not_found"),
        ({"start": "Star"}, "bad_input"),
        ({"start": "Star", "goal": "Sun", "agent": "nobody"}, "not_found"),
    ):
        answer = client.get("/api/v1/walk/events", params=asked)  # type: ignore[arg-type]
        assert answer.status_code == 200
        ((name, data),) = told(answer.text)
        assert name == "failure"
        schema.Error.model_validate(data)
        assert data["error"]["type"] == kind
    bad(
        client.get("/api/v1/walk/events", params={"start": "Star", "budget": 0}), 422, "bad_input", "budget: "
    )


def test_what_the_description_rules_out_is_no_event(client: httpx.Client) -> None:
    for asked, field in (
        ({"goal": "Sun", "budget": 10**9}, "budget: "),
        ({"budget": 10**9}, "budget: "),
        ({"sentence": "word " * 500}, "sentence: "),
    ):
        answer = client.get("/api/v1/walk/events", params={"start": "Star", **asked})  # type: ignore[dict-item]
        bad(answer, 422, "bad_input", field)


def test_events_that_break_are_logged(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(wiki)
    with serving(app) as client:
        monkeypatch.setattr(app.state.api, "check_walk", lambda asked: 1 / 0)
        answer = client.get("/api/v1/walk/events", params={"start": "Star", "goal": "Sun"})
    ((name, data),) = told(answer.text)
    assert (name, data["error"]["type"]) == ("failure", "internal")
    assert "ZeroDivisionError" in caplog.text


def test_agents_side_by_side(client: httpx.Client) -> None:
    agents = ["compass", "random", "compass"]
    asked = {"start": "Star", "goal": "Water (1)", "agents": agents, "budget": 20}
    said = good(client.post("/api/v1/compare", json=asked), schema.Comparison)
    assert [walk["agent"] for walk in said["walks"]] == ["compass", "random"]
    one = good(client.post("/api/v1/walk", json={"start": "Star", "goal": "Water (1)", "budget": 20}))
    assert said["walks"][0] == one
    for agents in ([], ["random"] * 7, ["nobody"]):
        answer = client.post("/api/v1/compare", json={"start": "Star", "goal": "Sun", "agents": agents})
        assert answer.status_code == (404 if agents == ["nobody"] else 422)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rerank": "tfidf"},
        {"navigation": "none", "rerank": "none"},
        {"navigation": "expand", "rerank": "tfidf"},
    ],
)
def test_evidence(client: httpx.Client, wiki: Wiki, options: dict[str, str]) -> None:
    asked = {"query": "Where is the coral reef?", "limit": 3, "candidates": 6, **options}
    said = good(client.post("/api/v1/find", json=asked), Answer)
    own = wiki.find("Where is the coral reef?", 3, candidates=6, **options)
    assert said == plain(own.untimed)
    assert said["evidence"]
    rest = good(client.post("/api/v1/find", json=asked | {"limit": 2, "offset": 1}))
    assert rest["evidence"] == said["evidence"][1:]


def test_an_answer_is_what_the_command_prints(
    client: httpx.Client, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for navigation in ("tabs", "none"):
        for rerank in ("cross", "tfidf"):
            asked = {
                "query": "Where is the coral reef?",
                "limit": 3,
                "navigation": navigation,
                "rerank": rerank,
            }
            options = ["-k", "3", "--navigation", navigation, "--rerank", rerank, "--json"]
            with contextlib.suppress(SystemExit):
                main(["find", str(small), "Where is the coral reef?", *options])
            assert json.loads(capsys.readouterr().out) == good(
                client.post("/api/v1/find", json=asked), Answer
            )


def test_questions_that_cannot_be(client: httpx.Client) -> None:
    bad(client.post("/api/v1/find", json={"query": ""}), 422, "bad_input", "query: ")
    bad(client.post("/api/v1/find", json={"query": " ?! "}), 422, "bad_input", "no words")
    bad(client.post("/api/v1/find", json={"query": "x" * 2001}), 422, "bad_input", "query: ", "2,000")
    for name, values in {
        "limit": (0, 21),
        "offset": (-1, 101),
        "candidates": (0, 101),
        "navigation": ("fly",),
    }.items():
        for value in values:
            bad(
                client.post("/api/v1/find", json={"query": "sun", name: value}), 422, "bad_input", f"{name}: "
            )


def game(wiki: Wiki, *names: str) -> dict[str, Any]:
    steps = [wiki.node(name) for name in names[1:]]
    return {"who": "Ada", "start": names[0], "goal": names[-1], "steps": steps, "seconds": 3.5, "won": True}


def test_a_game_is_kept(client: httpx.Client, wiki: Wiki, runs: Path) -> None:
    asked = game(wiki, "Star", "Sun", "Star", "Moon", "Coral reef")
    said = good(client.post("/api/v1/runs", json=asked), schema.StoredRun)
    assert (said["won"], said["clicks"], said["distance"], said["stored"]) == (True, 4, 2, True)
    assert said["optimum"][-1] == wiki.node("Coral reef")
    assert [said["start"], said["goal"]] == ["Star (0)", "Coral reef (0)"]
    kept = json.loads(runs.read_text().splitlines()[-1])
    assert kept == said["run"]
    (section,) = (one for one in read_runs(runs) if one.header.agent == "Ada")
    assert section.runs[-1].clicks == ["Sun (0)", "<", "Moon (0)", "Coral reef (0)"]
    assert check_runs(wiki.graph, section)[-1][2:4] == (4, True)


def test_a_game_is_checked(client: httpx.Client, wiki: Wiki, runs: Path) -> None:
    before = runs.read_bytes() if runs.exists() else b""
    jumped = game(wiki, "Star", "Sun", "Water")
    bad(client.post("/api/v1/runs", json=jumped), 404, "not_found", "step 2", "Sun (0)", "Water (0)")
    bad(client.post("/api/v1/runs", json=jumped | {"steps": [10**6]}), 404, "not_found", "step 1")
    bad(client.post("/api/v1/runs", json=jumped | {"steps": [0] * 1001}), 422, "bad_input", "steps: ")
    bad(client.post("/api/v1/runs", json=jumped | {"who": ""}), 422, "bad_input", "who: ")
    bad(client.post("/api/v1/runs", json=jumped | {"seconds": -1}), 422, "bad_input", "seconds: ")
    assert (runs.read_bytes() if runs.exists() else b"") == before
    lost = good(client.post("/api/v1/runs", json=game(wiki, "Star", "Sun") | {"goal": "Water"}))
    assert lost["won"] is False, "whatever the player claims"


def test_back_is_where_one_came_from(wiki: Wiki) -> None:
    node = wiki.node
    star, sun, moon, reef = (node(name) for name in ("Star", "Sun", "Moon", "Coral reef"))
    assert star not in wiki.graph.forward.row(sun)
    check_steps(wiki.graph, star, [sun, star, moon, star])
    check_steps(wiki.graph, star, [sun, moon, reef, moon, sun, star])
    with pytest.raises(ApiError, match="step 3"):  # two pages back at once
        check_steps(wiki.graph, star, [sun, moon, star])
    with pytest.raises(ApiError, match="step 1"):
        check_steps(wiki.graph, star, [star])


def test_a_server_without_a_file_keeps_nothing(wiki: Wiki) -> None:
    with serving(create_app(wiki)) as client:
        said = good(client.post("/api/v1/runs", json=game(wiki, "Star", "Sun")), schema.StoredRun)
    assert said["stored"] is False


def _append(path: Path, who: int) -> None:
    for number in range(200):
        append(path, {"who": who, "number": number, "filler": "x" * 3000}, 1 << 30)


@pytest.mark.slow
def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    workers = [get_context("spawn").Process(target=_append, args=(path, who)) for who in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((line["who"], line["number"]) for line in lines) == [
        (w, n) for w in range(2) for n in range(200)
    ]


def test_the_file_of_games_has_an_end(wiki: Wiki, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with serving(create_app(wiki, Limits(run_file=600), path)) as client:
        asked = game(wiki, "Star", "Sun")
        while (answer := client.post("/api/v1/runs", json=asked)).status_code == 200:
            pass
        bad(answer, 413, "too_large", "full")
    assert 0 < path.stat().st_size <= 600


def test_metrics_count(client: httpx.Client) -> None:
    def count(name: str) -> float:
        text = client.get("/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    walks = 'linkwalk_walks_total{agent="random",success="true"}'
    errors = 'linkwalk_requests_total{method="GET",route="/api/v1/block/{node}",status="422"}'
    nowhere = 'linkwalk_requests_total{method="GET",route="none",status="404"}'
    before = count(walks), count(errors), count(nowhere)
    good(
        client.post("/api/v1/walk", json={"start": "Star", "goal": "Sun", "agent": "random", "budget": 1000})
    )
    client.get("/api/v1/block/-1")
    client.get("/made-up-1")
    client.get("/made-up-2")
    assert (count(walks), count(errors), count(nowhere)) == (before[0] + 1, before[1] + 1, before[2] + 2)
    text = client.get("/metrics").text
    assert "made-up" not in text, "a client does not make up series"
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")
    assert count("linkwalk_requests_open") == 1, "this one"


def test_errors_are_of_one_shape(client: httpx.Client) -> None:
    bad(client.get("/nothing"), 404, "not_found", "/nothing")
    bad(client.get("/api/v1/health/"), 404, "not_found")
    wrong = client.put("/api/v1/walk", json={})
    bad(wrong, 405, "method_not_allowed", "POST")
    assert wrong.headers["allow"] == "POST"
    bad(client.post("/api/v1/health"), 405, "method_not_allowed", "GET")
    bad(client.delete("/static/style.css"), 405, "method_not_allowed")

    def send(body: bytes | str, kind: str = "application/json") -> httpx.Response:
        return client.post("/api/v1/walk", content=body, headers={"content-type": kind})

    bad(send(""), 422, "bad_input", "body")
    bad(send("{"), 422, "bad_input", "not JSON")
    bad(send(b"\xff\xfe{}"), 422, "bad_input", "body")
    bad(send("[]"), 422, "bad_input", "JSON object")
    bad(send("null"), 422, "bad_input", "body")
    bad(send('"text"'), 422, "bad_input", "JSON object")
    bad(send("[" * 20_000), 422, "bad_input")
    bad(send('{"start": "Star", "goal": "Sun"}', "text/plain"), 422, "bad_input", "application/json")
    bad(send('{"start": "Star", "goal": "Sun", "secret": 1}'), 422, "bad_input", "secret")
    bad(send('{"start": "Star", "goal": "Sun", "seed": ' + "9" * 5000 + "}"), 422, "bad_input")
    bad(send('{"start": "Star", "goal": "Sun", "seed": ' + "9" * 50 + "}"), 422, "bad_input", "seed: ")
    bad(send('{"start": "Star", "goal": "Sun", "seed": NaN}'), 422, "bad_input", "seed: ")
    bad(send('{"start": "Star", "goal": "Sun", "seed": 1e400}'), 422, "bad_input", "seed: ")
    bad(send('{"start": "\\ud800", "goal": "Sun"}'), 422, "bad_input", "start")
    bad(send('{"start": "a\\u0000b", "goal": "Sun"}'), 404, "not_found")
    bad(send('{"start": "line\\nbreak", "goal": "Sun"}'), 404, "not_found")
    bad(
        send('{"start": true, "goal": "Sun"}'),
        422,
        "bad_input",
        "start: should be a title or a block's number",
    )
    bad(send('{"start": "", "goal": "Sun"}'), 422, "bad_input", "start: should have at least 1")
    bad(send('{"start": 0, "goal": 0, "seed": -1, "budget": -1}'), 422, "bad_input", "budget: ")
    run = '{"who": "a", "start": 0, "goal": 1, "steps": [], "seconds": Infinity, "won": true}'
    answer = client.post("/api/v1/runs", content=run, headers={"content-type": "application/json"})
    bad(answer, 422, "bad_input", "seconds: ")


def test_our_own_mistakes_are_answered_too(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(wiki)

    def broken() -> None:
        raise ZeroDivisionError("secret")

    app.add_api_route("/broken", broken)
    with serving(app) as client:
        answer = client.get("/broken")
        assert "secret" not in bad(answer, 500, "internal")
        assert answer.headers["x-content-type-options"] == "nosniff"
        good(client.get("/api/v1/health"))
    assert "ZeroDivisionError" in caplog.text, "the log has it"


def test_every_answer_keeps_browsers_safe(client: httpx.Client) -> None:
    for path in (
        "/",
        "/docs",
        "/static/docs.js",
        "/api/v1/health",
        "/nothing",
        "/api/v1/block/-1",
        "/openapi.json",
        "/metrics",
    ):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    assert client.get("/api/v1/health").headers["cache-control"] == "no-store"


def test_parameters_nobody_knows_are_refused(client: httpx.Client) -> None:
    for path, verb in (
        (path, verb)
        for path, operations in client.get("/openapi.json").json()["paths"].items()
        for verb in operations
        if path.startswith("/api/")
    ):
        url = path.replace("{node}", "0")
        bad(client.request(verb, url, params={"secret": "1"}), 422, "bad_input", "secret: no such parameter")
    bad(client.get("/api/v1/titles?q=st&count=3"), 422, "bad_input", "count: ", "q, limit, offset")


def test_time_is_no_part_of_an_answer(client: httpx.Client) -> None:
    for path, asked in (
        ("walk", {"start": "Star", "goal": "Sun"}),
        ("compare", {"start": "Star", "goal": "Sun", "agents": ["random"]}),
        ("find", {"query": "coral", "rerank": "tfidf"}),
    ):
        first, again = (client.post(f"/api/v1/{path}", json=asked) for _ in range(2))
        assert first.content == again.content
        assert re.fullmatch(r"app;dur=\d+\.\d", first.headers["server-timing"])


def test_pages_are_of_this_server_alone(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    wanted = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert wanted
    for path in wanted:
        assert not re.match(r"\w+:|//", path)
        if not path.startswith("#"):
            assert client.get("/" + path.removeprefix("./")).status_code == 200, path
    assert "<style" not in page.text
    assert not re.search(r"<script(?![^>]*src=)", page.text)
    assert not re.search(r"\son\w+=", page.text)
    assert client.head("/").status_code == 200
    assert client.get("/static/").status_code == 404, "no listing"
    for file in FOLDER.glob("docs.*"):
        assert not re.search(r"https?://", file.read_text()), file


def test_the_description_is_whole(client: httpx.Client) -> None:
    shapes = {
        next(iter(schema.known_names({"$defs": {shape.__name__: 0}})["$defs"])): shape for shape in SHAPES
    }
    said = client.get("/openapi.json").json()
    models = {
        name: TypeAdapter(getattr(schema, name, None) or shapes[name])
        for name in said["components"]["schemas"]
    }
    for path, operations in said["paths"].items():
        for verb, operation in operations.items():
            where = f"{verb} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            for parameter in operation.get("parameters", ()):
                assert parameter.get("description"), f"{where} {parameter['name']}"
            for status, answer in operation["responses"].items():
                if status == "304":
                    continue
                (kind, content), *rest = answer["content"].items()
                assert not rest
                if status != "200":
                    assert content["schema"]["$ref"].endswith("/Error"), where
                    schema.Error.model_validate(content["example"])
                elif kind == "application/json" and path != "/api/v1/graph":
                    models[content["schema"]["$ref"].rpartition("/")[2]].validate_python(content["example"])
            if verb == "post":
                body = operation["requestBody"]["content"]["application/json"]
                models[body["schema"]["$ref"].rpartition("/")[2]].validate_python(body["example"])


def test_the_examples_are_of_this_wiki(client: httpx.Client) -> None:
    said = client.get("/openapi.json").json()["paths"]
    for path, operations in said.items():
        for verb, operation in operations.items():
            named = {p["name"]: p["example"] for p in operation.get("parameters", ()) if "example" in p}
            url = path.replace("{node}", str(named.pop("node", "")))
            body = (
                operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            )
            answer = client.request(verb, url, params=named, json=body)
            assert answer.status_code == 200, (path, answer.text)
            assert '"error"' not in answer.text[:20]


def test_hostile_content_is_data(client: httpx.Client, wiki: Wiki) -> None:
    block = client.get("/api/v1/block", params={"name": "Moon"})
    assert HOSTILE in "".join(part["text"] for part in good(block)["segments"])
    assert block.headers["content-type"] == "application/json"
    assert block.headers["x-content-type-options"] == "nosniff"
    title = SCRIPT.strip("<>")
    found = good(client.get("/api/v1/titles", params={"q": "script"}))["titles"][0]["title"]
    assert found.lower() == title.lower()
    assert (
        good(client.get("/api/v1/block", params={"name": RIGHT_TO_LEFT}))["place"]["title"] == RIGHT_TO_LEFT
    )
    events = client.get(
        "/api/v1/walk/events", params={"start": "Star", "goal": RIGHT_TO_LEFT, "agent": "random"}
    )
    assert all(name in ("start", "click", "end") for name, _ in told(events.text))
    message = bad(
        client.get("/api/v1/block", params={"name": "<script>\r\nevent: end\r\n"}), 404, "not_found"
    )
    assert "<script>" in message


@pytest.mark.slow
def test_warm_servers_have_opened_what_they_need(small: Path) -> None:
    wiki = Wiki.open(small)
    app = create_app(wiki, warm=True)
    with serving(app) as client:
        good(client.get("/api/v1/health"))
        deadline = time.monotonic() + 120
        while app.openapi_schema is None and time.monotonic() < deadline:
            time.sleep(0.05)
        good(client.post("/api/v1/find", json={"query": "coral reef"}))
    assert app.openapi_schema is not None
    with pytest.raises(InputError):
        wiki.node("nothing of that name")
