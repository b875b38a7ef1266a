"""Opening a wiki: little at once, the rest when asked for, whoever asks; and what is found in it."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from linkwalk import Wiki
from linkwalk.cli import main
from linkwalk.errors import ArtifactError, InputError
from linkwalk.wiki.answers import plain
from linkwalk.wiki.workspace import Shelf

QUESTION = "How many hearts has an octopus?"
WORDS: dict[str, Any] = {"navigation": "none", "rerank": "tfidf"}


def test_opening_loads_little() -> None:
    code = (
        "import sys, linkwalk; before = set(sys.modules)\n"
        "assert not {m.split('.')[0] for m in before} & {'numpy', 'numba', 'torch'}\n"
        "from linkwalk import Wiki; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {
        "torch",
        "transformers",
        "tantivy",
        "sklearn",
        "matplotlib",
        "rapidfuzz",
    }


def test_a_shelf_makes_each_thing_once() -> None:
    shelf, made = Shelf(), []
    together = threading.Barrier(8)

    def ask(number: int) -> object:
        together.wait()
        return shelf.get("thing", lambda: made.append(number) or object())  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(8) as pool:
        things = list(pool.map(ask, range(8)))
    assert len(made) == 1
    assert all(thing is things[0] for thing in things)


def test_what_could_not_be_made_is_tried_again() -> None:
    shelf, tries = Shelf(), iter([InputError("not yet"), None])

    def make() -> int:
        if error := next(tries):
            raise error
        return 7

    with pytest.raises(InputError):
        shelf.get("thing", make)
    assert shelf.get("thing", make) == 7
    assert shelf.get("other", lambda: shelf.get("thing", make)) == 7


def test_many_threads_at_once(world: Path) -> None:
    wiki, together = Wiki.open(world), threading.Barrier(6)
    text = wiki.graph.texts[0].split()
    jobs: list[Callable[[], Any]] = [
        lambda: wiki.walk(0, sentence=" ".join(text[:6]), budget=5),
        lambda: wiki.find(" ".join(text[:6]), rerank="tfidf"),
        lambda: wiki.find(" ".join(text[4:9]), rerank="cross"),
        lambda: wiki.titles(wiki.graph.title(0)[:3]),
        lambda: wiki.pair(1, 1, 9),
        lambda: wiki.statistics(),
    ]

    def work(job: Callable[[], Any]) -> list[Any]:
        together.wait()
        return [job() for _ in range(3)]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, jobs))
    for job, own in zip(jobs, found, strict=True):
        assert own == [job()] * 3


def test_names_of_blocks(known: Wiki) -> None:
    graph = known.graph
    assert (
        known.node("Star") == known.node("star (0)") == known.node(graph.find("Star")) == graph.find("Star")
    )
    assert known.place("Star (1)").name == "Star (1)"
    for name in ("Strr", "Star (99)", -1, graph.nodes, "", "\udcff", "Star\x00"):
        with pytest.raises(InputError):
            known.node(name)
    with pytest.raises(InputError, match="no such workspace"):
        Wiki.open("/nowhere")


def test_evidence_has_its_path(walked: Wiki) -> None:
    query = " ".join(walked.graph.texts[3].split()[:8])
    usual = walked.find(query, 6, rerank="tfidf")
    assert [usual.navigation, usual.agent, usual.start, usual.rerank] == [
        "tabs",
        "compass",
        "hybrid",
        "tfidf",
    ]
    answer = walked.find(query, 20, rerank="tfidf", navigation="walks", starts=1)
    assert any(len(one.path) > 1 for one in answer.evidence)
    for one in answer.evidence:
        assert one.sentence in " ".join(walked.graph.texts[one.place.node].split())
        at = one.start
        for click in one.path:
            assert click.at == at
            assert click.to.node in walked.graph.forward.row(at.node)
            if click.kind in ("link", "entity"):
                assert click.segment is not None
                page = walked.block(at.node)
                assert "".join(s.text for s in page.segments[click.segment :]).startswith(click.link)
            at = click.to
        assert at == one.place
    value = plain(answer)
    assert list(value) == [
        *("query", "start", "navigation", "rerank", "agent", "blocks", "evidence"),
        *("confidence", "answered", "stage", "milliseconds"),
    ]
    assert (answer.confidence, answer.answered, answer.stage) == (None, True, "final")
    assert answer.untimed == answer
    assert answer.untimed.milliseconds == {}
    assert list(value["evidence"][0]) == ["score", "sentence", "place", "start", "path"]
    assert all(click["choices"] == [] for one in value["evidence"] for click in one["path"])
    assert json.loads(json.dumps(value)) == value


def test_the_command_line_finds_the_same(known: Wiki, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["find", str(known.folder), QUESTION, "--navigation", "none", "--rerank", "tfidf", "--json"])
    told = json.loads(capsys.readouterr().out)
    answer = known.find(QUESTION, **WORDS)
    assert told == plain(answer.untimed)
    assert "three hearts" in answer.evidence[0].sentence
    both = known.find_many([QUESTION, "Who wrote the first computer program?"], **WORDS)
    assert both[0] == answer
    assert both[1] == known.find(both[1].query, **WORDS)


def test_blocks_that_have_the_words(known: Wiki) -> None:
    found = known.search("octopus hearts", 3)
    assert len(found) == 3
    assert "hearts" in known.graph.texts[found[0].node]
    assert known.search("xyzzyplugh") == []
    with pytest.raises(InputError, match="1 or more blocks"):
        known.search("octopus", 0)
    with pytest.raises(InputError, match="lone surrogate"):
        known.search("\ud800")


def test_ways_of_retrieval_by_name(known: Wiki, walked: Wiki) -> None:
    for way in ("none", "expand", "lead"):
        assert known.find(QUESTION, navigation=way, rerank="tfidf", candidates=None).navigation == way
    words = " ".join(walked.graph.texts[3].split()[:8])
    for way in ("order", "walks"):
        assert walked.find(words, navigation=way, rerank="none").navigation == way


@pytest.mark.parametrize(
    ("query", "asked", "message"),
    [
        (" ", WORDS, "the query is empty"),
        ("?!", WORDS, "has no words"),
        ("\ud800", WORDS, "lone surrogate"),
        (QUESTION, WORDS | {"navigation": "fly"}, "no navigation named 'fly': choose one of tabs"),
        (QUESTION, WORDS | {"wings": 2}, "no option named 'wings'"),
        (QUESTION, WORDS | {"candidates": 0}, "candidates=0"),
        (QUESTION, WORDS | {"start": "luck"}, "no starts named 'luck'"),
        (QUESTION, WORDS | {"rerank": "/nowhere"}, "no reranker '/nowhere'"),
        (QUESTION, WORDS | {"agent": "nobody"}, "no agent named 'nobody'"),
        (QUESTION, WORDS | {"count": 0}, "1 or more sentences"),
    ],
)
def test_what_cannot_be_asked(known: Wiki, query: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        known.find(query, **asked)


def test_what_is_missing_is_said(known: Wiki, walked: Wiki, tmp_path: Path) -> None:
    assert walked.missing() == {}
    assert list(known.missing()) == ["navigate"]
    assert "linkwalk embed" in known.missing()["navigate"]
    with pytest.raises(ArtifactError, match="linkwalk embed"):
        known.find(QUESTION)
    with pytest.raises(ArtifactError, match="linkwalk embed"):
        known.walk("Star", "Iron")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "graph").symlink_to(known.folder / "graph")
    bare = Wiki.open(tmp_path / "bare")
    assert list(bare.missing()) == ["find", "navigate"]
    assert "linkwalk index" in bare.missing()["find"]
    assert bare.agents == ["random", "random-dfs"]


def test_numbers_are_counted_once(known: Wiki) -> None:
    assert known.statistics() is known.statistics()
    assert known.statistics()["articles"] == known.graph.articles
    json.dumps(known.statistics())
