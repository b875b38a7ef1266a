"""``linkwalk index`` and ``find`` as a user runs them."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk import Wiki, shipped
from linkwalk.build.build import build
from linkwalk.graph.store import LINK, Graph
from linkwalk.retrieve import index
from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert
from tests.graph.conftest import Page, write_graph
from tests.retrieve.stand_in import by_hand, older, stand_in

Run = Callable[..., Ran]
QUESTION = "How many hearts has an octopus?"
TFIDF = ("--rerank", "tfidf")
FIELDS = [
    *("query", "start", "navigation", "rerank", "agent", "blocks", "evidence"),
    *("confidence", "answered", "stage", "milliseconds"),
]


@pytest.fixture(scope="module")
def world(indexed_world: Path) -> Path:
    """Twenty blocks, indexed and embedded; only to be read."""
    return indexed_world


@pytest.fixture(scope="module")
def query(world: Path) -> str:
    """Words that the wiki knows."""
    return " ".join(Graph.open(world).block(0).text.split()[:8])


def refused(ran: Ran, *words: str) -> None:
    """One line on standard error, and status 2."""
    assert (ran.status, ran.out) == (2, ""), ran
    assert len(ran.err.strip().splitlines()) == 1, ran.err
    for word in words:
        assert word in ran.err


def node(evidence: dict[str, Any]) -> int:
    """The block that a sentence stands in."""
    found: int = evidence["place"]["node"]
    return found


def check(wiki: Path, answer: dict[str, Any]) -> None:
    """The shape of an answer, and that its paths go along links."""
    graph = Graph.open(wiki)
    assert list(answer) == FIELDS
    assert (answer["stage"], answer["milliseconds"]) == ("final", {})
    assert answer["evidence"]
    for evidence in answer["evidence"]:
        assert list(evidence) == ["score", "sentence", "place", "start", "path"]
        assert evidence["sentence"] in graph.block(node(evidence)).text
        at = evidence["start"]["node"]
        for click in evidence["path"]:
            assert {"at", "to", "link", "kind", "probability", "sentence"} <= set(click)
            assert click["at"]["node"] == at
            assert click["to"]["node"] in graph.forward.row(at)
            at = click["to"]["node"]
        assert at == node(evidence)
    assert len({node(evidence) for evidence in answer["evidence"]}) <= answer["blocks"]


def test_a_question_is_answered(encyclopedia: Path, run: Run) -> None:
    ran = run("find", encyclopedia, QUESTION, "--navigation", "none", *TFIDF, "--json", "-k", 3)
    answer = ran.json()
    check(encyclopedia, answer)
    assert ran.err == ""
    assert len(answer["evidence"]) == 3
    facts = {name: answer[name] for name in ("query", "agent", "navigation", "start", "rerank", "blocks")}
    assert facts == {
        "query": QUESTION,
        "agent": None,
        "navigation": "none",
        "start": "bm25",
        "rerank": "tfidf",
        "blocks": 20,
    }
    assert all(e["path"] == [] and e["start"] == e["place"] for e in answer["evidence"])
    assert any(
        e["place"]["title"] == "Octopus" and "three hearts" in e["sentence"] for e in answer["evidence"]
    )
    shown = run("find", encyclopedia, QUESTION, "--navigation", "none", *TFIDF)
    assert (shown.status, shown.err) == (0, "")
    assert "  1. " in shown.out
    assert "among the search results" in shown.out
    assert "next:" not in shown.out, "nowhere was walked to"
    none = run("find", encyclopedia, "zzzzqqq", "--navigation", "none", *TFIDF)
    assert (none.status, none.err) == (0, "")
    assert "no block has any of these words" in none.out
    assert (
        run("find", encyclopedia, "zzzzqqq", "--navigation", "lead", *TFIDF, "--json").json()["evidence"]
        == []
    )


def test_the_reranker_that_ships(encyclopedia: Path, run: Run) -> None:
    asked = ("find", encyclopedia, QUESTION, "--navigation", "none", "--json", "-k", 3)
    answer = run(*asked, "--rerank", "cross").json()
    check(encyclopedia, answer)
    assert answer["rerank"] == "cross"
    assert "three hearts" in answer["evidence"][0]["sentence"]
    assert run(*asked).json() == answer, "it is what one gets unasked"


@pytest.mark.slow
def test_how_many_sentences_a_cross_encoder_of_sentences_reads(
    encyclopedia: Path, tmp_path: Path, run: Run
) -> None:
    folder = older(tmp_path / "older")
    asked = ("find", encyclopedia, QUESTION, "--navigation", "none", "--rerank", folder, "--json", "-k", 60)
    read = {}
    for top in (1, 20, 200):
        scores = [own["score"] for own in run(*asked, "--top", top).json()["evidence"]]
        read[top] = sum(score > 0 for score in scores)  # what it has not read follows far below
        assert len(scores) == 60
    assert read == {1: 1, 20: 20, 200: 60}
    refused(run(*asked, "--top", 0), "--top")


def test_one_that_reads_blocks(world: Path, query: str, tmp_path: Path, run: Run) -> None:
    folder = stand_in(tmp_path / "blocks", ranking=by_hand(nothing=0.01))
    asked = ("find", world, query, "--rerank", folder, "--candidates", 9, "-k", 3)
    answer = run(*asked, "--json").json()
    check(world, answer)
    assert (answer["blocks"], answer["answered"], answer["agent"]) == (9, True, "compass")
    assert 0 < answer["evidence"][0]["score"] <= answer["confidence"] < 1
    shown = run(*asked).out
    assert shown.startswith(f"  1. {answer['evidence'][0]['sentence']}\n")
    assert f"   {100 * answer['evidence'][0]['score']:.0f} %\n" in shown
    assert "score" not in shown
    explained = run(*asked, "--explain", "--read-all").out
    assert explained.startswith(shown.split("\n\n")[0])
    for part in ("meaning", "search", "reading", "ranking", "in all"):
        assert f"\n  {part} " in explained
    assert explained.count(" ms\n") >= 6
    assert "blocks read          9\n" in explained
    timed = run(*asked, "--explain", "--json").json()
    assert timed.pop("milliseconds").keys() >= {"meaning", "search", "reading", "ranking"}
    assert timed == {name: answer[name] for name in timed}


def test_nothing_answers_this(world: Path, query: str, tmp_path: Path, run: Run) -> None:
    folder = stand_in(tmp_path / "blocks", ranking=by_hand(nothing=1.0))
    asked = ("find", world, query, "--rerank", folder, "-k", 2)
    answer = run(*asked, "--json").json()
    assert answer["answered"] is False
    assert len(answer["evidence"]) == 2
    first = run(*asked).out.splitlines()[0]
    chance = f"{100 * answer['confidence']:.0f} %"
    assert first == f"Nothing here answers this (chance {chance}). The nearest sentences:"
    (folder / "ranking.json").write_text("{}")
    refused(run(*asked), "ranking.json is damaged")


def test_on_a_screen_the_search_results_come_first(
    world: Path, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linkwalk.cli import find

    folder = stand_in(tmp_path / "blocks", ranking=by_hand())
    waves = list(Wiki.open(world).find_waves(query, 2, rerank=str(folder)))
    assert [wave.stage for wave in waves][:2] == ["search", "reading"]
    assert find._watched(iter(waves)) is waves[-1]
    assert "score 1.00" in find._lines(waves[0])[1]
    empty = find._lines(next(Wiki.open(world).find_waves("???", 2, start="dense", rerank=str(folder))))
    assert empty == [], "nothing is said of what was not looked for"


@pytest.mark.parametrize("way", ["none", "expand", "lead"])
def test_ways_that_need_no_embeddings(way: str, encyclopedia: Path, run: Run) -> None:
    answer = run(
        *("find", encyclopedia, QUESTION, "--navigation", way, "--candidates", 9, "--starts", 2),
        *(*TFIDF, "--json", "-k", 999),
    ).json()
    check(encyclopedia, answer)
    assert (answer["navigation"], answer["agent"]) == (way, None)
    assert answer["blocks"] == 9
    lengths = {len(evidence["path"]) for evidence in answer["evidence"]}
    assert lengths == ({0, 1} if way == "expand" else {0})
    if way == "expand":
        assert len({evidence["start"]["node"] for evidence in answer["evidence"]}) <= 2
    if way == "lead":
        assert {evidence["place"]["block"] for evidence in answer["evidence"]} == {0}
    refused(
        run("find", encyclopedia, QUESTION, "--navigation", way, "--start", "dense", *TFIDF),
        f"no embeddings in {encyclopedia}",
        "run `linkwalk embed",
    )


def test_all_that_is_one_link_away(encyclopedia: Path, run: Run) -> None:
    asked = (
        "find",
        encyclopedia,
        QUESTION,
        "--navigation",
        "expand",
        "--starts",
        1,
        *TFIDF,
        "--json",
        "-k",
        1000,
    )
    answer = run(*asked, "--candidates", 0).json()
    graph = Graph.open(encyclopedia)
    (start,) = {evidence["start"]["node"] for evidence in answer["evidence"]}
    assert answer["blocks"] == len({start, *graph.forward.row(start).tolist()})


def test_the_next_command_can_be_run_as_it_stands(tmp_path: Path, run: Run) -> None:
    pages = {
        "Kepler's laws": [Page("Planets move along ellipses.", [("Newton's apple", 0, LINK)])],
        "Newton's apple": [Page("It fell down and hurt nobody.")],
    }
    index(tmp_path, write_graph(tmp_path, pages))
    shown = run("find", tmp_path, "What do planets move along?", "--navigation", "expand", *TFIDF).out
    command = shlex.split(shown.splitlines()[-1])
    assert command[:3] == ["next:", "linkwalk", "walk"]
    assert command[-4:] == ["--from", "Kepler's laws (0)", "--to", "Newton's apple (0)"]
    assert run(*command[2:], "--agent", "random", "--budget", 5).status == 0


def test_tabs_by_the_shipped_policy(world: Path, query: str, run: Run) -> None:
    ran = run("find", world, query, *TFIDF, "--candidates", 12, "--json", "-k", 1000)
    answer = ran.json()
    check(world, answer)
    assert ran.err == ""
    assert (answer["agent"], answer["navigation"], answer["blocks"]) == ("compass", "tabs", 12)
    shown = run("find", world, query, *TFIDF, "--candidates", 12, "-k", 1000).out
    assert "among the search results" in shown
    assert any(evidence["path"] for evidence in answer["evidence"])
    assert " > " in shown
    assert f"next: linkwalk walk {world} --from" in shown
    greedy = run(
        "find", world, query, *TFIDF, "--agent", "greedy", "--embeddings", "minilm-walks", "--json"
    ).json()
    check(world, greedy)
    assert (greedy["agent"], len(greedy["evidence"])) == ("greedy", 5)


def test_walks_of_the_shipped_policy_read_more_than_their_start(world: Path, query: str, run: Run) -> None:
    asked = ("find", world, query, "--navigation", "walks", "--starts", 1, "--steps", 5, *TFIDF, "-k", 1000)
    answer = run(*asked, "--json").json()
    check(world, answer)
    assert (answer["agent"], answer["navigation"]) == ("compass", "walks")
    assert len({evidence["start"]["node"] for evidence in answer["evidence"]}) == 1
    assert 1 <= max(len(evidence["path"]) for evidence in answer["evidence"]) <= 5
    shown = run(*asked).out
    assert " > " in shown
    assert f"next: linkwalk walk {world} --from" in shown
    blind = run(*asked, "--agent", "random", "--json").json()
    check(world, blind)
    assert blind["agent"] == "random"


def test_starts_by_meaning(world: Path, query: str, run: Run) -> None:
    for start in ("dense", "hybrid"):
        ran = run("find", world, query, "--start", start, "--candidates", 4, *TFIDF, "--json")
        check(world, ran.json())
        assert (ran.json()["start"], ran.json()["blocks"], ran.err) == (start, 4, "")
    found = run("find", world, "???", "--start", "dense", "--navigation", "none", *TFIDF, "--json").json()
    assert (found["start"], found["blocks"]) == ("dense", min(20, Graph.open(world).nodes))


@pytest.mark.parametrize("start", ["bm25", "hybrid"])
def test_words_of_another_script_are_begun_at_the_nearest(start: str, world: Path, run: Run) -> None:
    asked = ("find", world, "Где находится река?", "--start", start, *TFIDF)
    ran = run(*asked, "--json")
    check(world, ran.json())
    assert ran.json()["start"] == "dense"
    note = "BM25 knows none of these words: begun at the nearest embeddings\n"
    assert ran.err == note
    shown = run(*asked)
    assert (shown.status, shown.err, "  1. " in shown.out) == (0, note, True)


def test_rerankers(world: Path, query: str, tmp_path: Path, run: Run) -> None:
    asked = ("find", world, query, "--navigation", "none", "--json", "-k", 1000)
    unranked = run(*asked, "--rerank", "none").json()
    assert unranked["rerank"] == "none"
    nodes = [node(evidence) for evidence in unranked["evidence"]]
    assert nodes == sorted(nodes, key=nodes.index), "block by block"
    folder = tiny_bert(tmp_path / "hub", "BertForSequenceClassification", num_labels=1, initializer_range=0.5)
    foreign = run(*asked, "--rerank", folder).json()
    check(world, foreign)
    assert foreign["rerank"] == str(folder)
    by_words = run(*asked, *TFIDF).json()
    sentences = [
        [(node(evidence), evidence["sentence"]) for evidence in answer["evidence"]]
        for answer in (unranked, foreign, by_words)
    ]
    assert sorted(sentences[0]) == sorted(sentences[1]) == sorted(sentences[2])
    assert sentences[0] != sentences[1] != sentences[2]
    (folder / "config.json").unlink()
    refused(run(*asked, "--rerank", folder), str(folder), "holds no reranker")


@pytest.mark.parametrize(
    ("query", "options", "words"),
    [
        (" ", [], "the query is empty: give a claim or a question"),
        ("?!", [], "has no words"),
        (QUESTION, ["--start", "sparse"], "no starts named 'sparse': choose one of bm25, dense, hybrid"),
        (QUESTION, ["--rerank", "magic"], "no reranker 'magic': there are none, tfidf, cross, folders"),
        (
            QUESTION,
            ["--navigation", "fly"],
            "no navigation named 'fly': choose one of tabs, walks, expand, pagerank, order",
        ),
        (
            QUESTION,
            ["--no-navigation"],
            "--no-navigation is now --navigation none (see `linkwalk find --help`)",
        ),
        (QUESTION, ["--no-links"], "--no-links is now --navigation order"),
        (QUESTION, ["--expand"], "--expand is now --navigation expand"),
        (QUESTION, ["--walk"], "--walk is now --navigation walks"),
        (QUESTION, ["--lead"], "--lead is now --navigation lead"),
        (QUESTION, ["--candidates", 0], "choose how many blocks"),
        (QUESTION, ["--agent", "nobody"], "no agent named 'nobody'"),
        (QUESTION, ["--agent", "greedy,random"], "one agent navigates at a time"),
    ],
)
def test_bad_options(query: str, options: list[Any], words: str, encyclopedia: Path, run: Run) -> None:
    refused(run("find", encyclopedia, query, "--navigation", "none", *TFIDF, *options), words)


@pytest.mark.parametrize("agent", ["random", "random-dfs"])
def test_who_does_not_say_where_to_look(agent: str, world: Path, query: str, run: Run) -> None:
    refused(run("find", world, query, *TFIDF, "--agent", agent), f"{agent} walks, but", "let it walk")


def test_workspaces_that_lack_something(
    encyclopedia: Path, world: Path, query: str, tmp_path: Path, run: Run
) -> None:
    for way in (
        (),
        (
            "--navigation",
            "walks",
        ),
    ):
        refused(
            run("find", encyclopedia, QUESTION, *TFIDF, *way),
            f"run `linkwalk embed {encyclopedia}`",
            "or read search results alone, without navigation",
        )
    refused(
        run("find", world, query, *TFIDF, "--embeddings", "other"), "no embeddings named 'other'", "minilm"
    )
    bare = tmp_path / "bare"
    shutil.copytree(encyclopedia, bare, ignore=shutil.ignore_patterns("index"))
    refused(run("find", bare, QUESTION, "--navigation", "none", *TFIDF), f"run `linkwalk index {bare}`")
    stale = tmp_path / "stale"
    build([shipped.dump_path("demo2")], stale)
    shutil.copytree(encyclopedia / "index", stale / "index")
    refused(
        run("find", stale, QUESTION, "--navigation", "none", *TFIDF),
        f"the index is older than the graph: run `linkwalk index {stale}` again",
    )
    refused(run("find", tmp_path / "nowhere", QUESTION, *TFIDF), "nowhere")
    assert run("index", bare, "--json", "-q").json()["blocks"] == 801
    assert run("find", bare, QUESTION, "--navigation", "none", *TFIDF).status == 0
