"""Encoders that are not MiniLM, each the only one of a wiki, through every verb: nothing is named but the wiki."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.encoder import OWN
from linkwalk.graph.store import LINK, Graph
from linkwalk.retrieve import index
from linkwalk.serve.app import create_app
from linkwalk.serve.boundary import Limits
from linkwalk.serve.tools import Tools
from linkwalk.serve.workers import Settings
from linkwalk.wiki import Wiki
from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert
from tests.graph.conftest import Page, write_graph
from tests.serve.conftest import serving

Run = Callable[..., Ran]
TITLES = ("Iron", "Ore", "Mine", "Star", "Sun", "Planet", "Sea", "Harbour", "Ship", "Iron age")
TRAIN = (
    "--recipe",
    "ours",
    "--set",
    "updates=3",
    "--set",
    "batch=8",
    "--set",
    "steps=3",
    "--device",
    "cpu",
    "-q",
)


def pages() -> dict[str, list[Page]]:
    """Articles in a ring, each with a block that leads on two ways and one that tells more."""
    count = len(TITLES)
    return {
        title: [
            Page(
                f"{title} is known to be near {TITLES[(i + 1) % count]} and {TITLES[(i + 3) % count]} in this book.",
                [(TITLES[(i + 1) % count], 0, LINK), (TITLES[(i + 3) % count], 0, LINK)],
            ),
            Page(f"More is said of {title} here, by number {i}, than of anything else."),
        ]
        for i, title in enumerate(TITLES)
    }


class Letters:
    """An encoder of one's own: how often each letter is there."""

    width = 26

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        letters = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[text.lower().count(letter) for letter in letters] for text in texts], np.float32)


@pytest.fixture(scope="module", params=["words", "bert"])
def wiki(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wiki with one table of embeddings, by ``words`` or by a Hugging Face model in a folder, 24 or 48 wide."""
    folder = tmp_path_factory.mktemp(request.param)
    graph = write_graph(folder / "wiki", pages())
    if request.param == "words":
        embed(folder / "wiki", EmbedConfig(encoder="words", width=24))
    else:
        model = tiny_bert(folder / "wide-bert", hidden_size=48, num_hidden_layers=2)
        embed(folder / "wiki", EmbedConfig(encoder=str(model)), device="cpu")
    index(folder / "wiki", graph)
    return folder / "wiki"


@pytest.fixture
def name(wiki: Path) -> str:
    (found,) = (path.name for path in (wiki / "embeddings").iterdir() if path.is_dir())
    return found


def test_walk(run: Run, wiki: Path) -> None:
    found = run("walk", wiki, "--from", "Iron", "--to", "Ship", "--json")
    assert (found.status, found.json()["agent"]) == (0, "greedy-map")
    shown = run("walk", wiki, "--from", "Iron", "--sentence", "ships in a harbour by the sea").out
    assert "closest of the pages seen" in shown
    assert "by greedy-map" in shown
    assert "--agent greedy-map --task sentence" in shown.splitlines()[-1]
    refused = run("walk", wiki, "--from", "Iron", "--to", "Ship", "--agent", "compass")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "the policy 'compass' was trained on embeddings of another encoder (minilm-walks)" in refused.err


def test_eval(run: Run, wiki: Path, name: str) -> None:
    for task in ("navigation", "sentence"):
        ran = run("eval", wiki, "--steps", 3, "--episodes", 20, "--task", task, "--json", "-q")
        found = ran.json()
        assert found["embeddings"] == name
        assert [row["agent"] for row in found["results"]] == ["greedy-map", "greedy-unvisited", "random"]


def test_find(run: Run, wiki: Path) -> None:
    ran = run("find", wiki, "Which ship is said to be near iron?", "--json")
    answer = ran.json()
    assert (answer["agent"], answer["rerank"], answer["navigation"]) == ("greedy-map", "tfidf", "tabs")
    assert answer["evidence"]
    assert run("find", wiki, "zzz qqq", "--start", "dense", "--json").status == 0


def test_score(run: Run, wiki: Path, tmp_path: Path) -> None:
    graph = Graph.open(wiki)
    questions = [
        {
            "question": f"What is said of {title}?",
            "answers": [title],
            "positive_ctxs": [{"title": title, "text": graph.texts[graph.find(title)]}],
        }
        for title in TITLES[:3]
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in questions))
    one = run("score", "nq", wiki, file, "--json", "-q").json()["results"][0]
    assert (one["agent"], one["rerank"]) == ("greedy-map", "tfidf")
    rows = run("score", "nq", wiki, file, "--rows", "--json", "-q")
    assert rows.err == (
        "warning: no cross-encoder for these embeddings: its rows are left out; name one with --rerank\n"
    )
    assert {row["rerank"] for row in rows.json()["results"]} == {"tfidf", "none"}


def test_dense_index(run: Run, wiki: Path, name: str) -> None:
    made = run("index", wiki, "--dense", "--json", "-q").json()
    assert made["dense"]["embeddings"] == name
    assert run("check", wiki, "-q").status == 0


def test_over_http(wiki: Path, name: str) -> None:
    with serving(create_app(Wiki.open(wiki), Limits(), None, warm=False, names=())) as client:
        health = client.get("/api/v1/health").json()
        assert (health["navigate"], health["find"], health["missing"]) == (True, True, {})
        assert (health["embeddings"], health["rerank"]) == (name, "tfidf")
        assert health["agents"][0]["name"] == "greedy-map"
        walk = client.post("/api/v1/walk", json={"start": "Iron", "goal": "Ship"})
        assert (walk.status_code, walk.json()["agent"]) == (200, "greedy-map")
        words = client.post("/api/v1/walk", json={"start": "Iron", "sentence": "ships at sea"})
        assert (words.status_code, words.json()["agent"]) == (200, "greedy-map")
        told = client.get("/api/v1/walk/events", params={"start": "Iron", "goal": "Ship"}).text
        assert re.search(r'event: start\ndata: \{"agent":"greedy-map"', told)
        answer = client.post("/api/v1/find", json={"query": "Which ship is near iron?"})
        assert (answer.status_code, answer.json()["agent"]) == (200, "greedy-map")
        refused = client.post("/api/v1/walk", json={"start": "Iron", "goal": "Ship", "agent": "compass"})
        assert refused.status_code == 404
        assert "of another encoder" in refused.json()["error"]["message"]


def test_for_a_language_model(wiki: Path) -> None:
    tools = Tools(Wiki.open(wiki))
    for goal in ({"goal": "Ship"}, {"sentence": "ships at sea"}):
        told = tools.navigate("Iron", **goal).structured_content
        assert told["walk"]["agent"] == "greedy-map"  # type: ignore[index]
    proof = tools.find_evidence("Which ship is near iron?").structured_content
    assert proof["answer"]["agent"] == "greedy-map"  # type: ignore[index]
    assert proof["answer"]["evidence"]  # type: ignore[index]


def test_a_policy_that_is_trained_takes_over(run: Run, wiki: Path, name: str) -> None:
    made = run("train", wiki, *TRAIN, "--json")
    assert made.status == 0, made.err
    head = json.loads((wiki / "policies" / "ours" / "manifest.json").read_bytes())["head"]
    assert head["width"] == Embeddings.open(wiki, name).width
    found = run("walk", wiki, "--from", "Iron", "--to", "Ship", "--json").json()
    assert found["agent"] == "ours"
    assert run("find", wiki, "Which ship is near iron?", "--json").json()["agent"] == "ours"
    rows = run("eval", wiki, "--steps", 3, "--episodes", 20, "--json", "-q").json()["results"]
    assert [row["agent"] for row in rows] == ["ours", "greedy-unvisited", "random"]


def test_what_cannot_read_is_said(tmp_path: Path) -> None:
    graph = write_graph(tmp_path, pages())
    embed(tmp_path, EmbedConfig(encoder="random", width=16))
    index(tmp_path, graph)
    wiki = Wiki.open(tmp_path)
    line = f"cannot read text: run `linkwalk embed {tmp_path}` for some that can"
    assert wiki.missing()["read"].endswith(line)
    assert list(wiki.missing()) == ["read"]
    with serving(create_app(wiki, Limits(), None, warm=False, names=())) as client:
        assert line in client.get("/api/v1/health").json()["missing"]["read"]
        assert line in client.post("/api/v1/find", json={"query": "Which ship?"}).json()["error"]["message"]
    proof = Tools(wiki).find_evidence("Which ship is near iron?").structured_content
    assert (proof["answer"]["navigation"], len(proof["answer"]["evidence"])) == ("none", 3)  # type: ignore[index]


def test_an_encoder_of_ones_own_is_named_to_the_server(tmp_path: Path) -> None:
    part = f"{__name__}:Letters"
    graph = write_graph(tmp_path, pages())
    embed(tmp_path, EmbedConfig(encoder=part))
    index(tmp_path, graph)
    del OWN[part]  # as in a process that has not made them
    asked = {"query": "Which ship is near iron?"}
    with serving(Settings(wiki=str(tmp_path), warm=False).app()) as client:
        assert "give that encoder as well" in client.get("/api/v1/health").json()["missing"]["read"]
        assert client.post("/api/v1/find", json=asked).status_code == 404
    with serving(Settings(wiki=str(tmp_path), encoder=part, warm=False).app()) as client:
        health = client.get("/api/v1/health").json()
        assert (health["missing"], health["embeddings"]) == ({}, "Letters")
        assert client.post("/api/v1/find", json=asked).json()["agent"] == "greedy-map"
