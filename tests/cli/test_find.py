"""``linkwalk index`` and ``find`` as a user runs them."""

from collections.abc import Callable
from pathlib import Path

from linkwalk import demo
from linkwalk.graph.store import Graph
from linkwalk.sources.build import build
from tests.cli.conftest import Ran

QUESTION = "How many hearts has an octopus?"


def test_a_question_is_answered(tmp_path: Path, run: Callable[..., Ran]) -> None:
    wiki = tmp_path / "demo"
    build([demo.dump_path("demo")], wiki)
    none = run("find", wiki, "iron", "--no-navigation")
    assert (none.status, "run `linkwalk index" in none.err) == (2, True)
    assert run("index", wiki, "--json", "-q").json()["blocks"] == 801
    answer = run("find", wiki, QUESTION, "--no-navigation", "--json", "-k", "3").json()
    assert len(answer["evidence"]) == 3
    assert all(e["path"] == [] and e["start"] == e["node"] for e in answer["evidence"])
    assert any(e["title"] == "Octopus" and "three hearts" in e["sentence"] for e in answer["evidence"])
    assert "among the starts" in run("find", wiki, QUESTION, "--no-navigation").out
    assert "no block has any of these words" in run("find", wiki, "zzzzqqq", "--no-navigation").out


def test_bad_queries(tmp_path: Path, run: Callable[..., Ran]) -> None:
    wiki = tmp_path / "demo"
    build([demo.dump_path("demo")], wiki)
    run("index", wiki, "-q")
    for query, words in ((" ", "empty"), ("?!", "no words")):
        ran = run("find", wiki, query, "--no-navigation")
        assert (ran.status, len(ran.err.strip().splitlines()), words in ran.err) == (2, 1, True)
    for options, words in (
        (("--start", "sparse"), "no starts named"),
        (("--rerank", "cross"), "no reranker named"),
        (("--expand",), "choose one of the two"),
    ):
        ran = run("find", wiki, QUESTION, "--no-navigation", *options)
        assert (ran.status, len(ran.err.strip().splitlines()), words in ran.err) == (2, 1, True)
    unread = run("find", wiki, QUESTION)
    assert (unread.status, "linkwalk embed" in unread.err) == (2, True)


def test_walks_of_the_shipped_policy_find_more(embedded_world: Path, run: Callable[..., Ran]) -> None:
    graph = Graph.open(embedded_world)
    run("index", embedded_world, "-q")
    query = " ".join(graph.block(0).text.split()[:8])
    ran = run("find", embedded_world, query, "--starts", 1, "--steps", 5, "--json", "-k", 1000)
    evidence = ran.json()["evidence"]
    assert len({e["start"] for e in evidence}) == 1
    assert any(e["path"] for e in evidence), "the walk has read more than its start"
    for e in evidence:
        assert (e["path"][-1]["node"] if e["path"] else e["start"]) == e["node"]
    unknown = run("find", embedded_world, "zzzzqqq", "--json")
    assert unknown.json()["start"] == "dense"
    assert "BM25 knows none of these words" in unknown.err
    few = run("find", embedded_world, query, "--start", "hybrid", "--candidates", 4, "--json").json()
    assert (few["start"], few["blocks"]) == ("hybrid", 4)
    one = run("find", embedded_world, query, "--expand", "--json", "-k", 1000).json()["evidence"]
    assert {len(e["path"]) for e in one} == {0, 1}
    path = next(e["path"] for e in evidence if e["path"])
    assert " > " in run("find", embedded_world, query, "--starts", 1, "-k", 1000).out
    assert {"node", "title", "block", "link", "kind", "probability"} <= set(path[0])
