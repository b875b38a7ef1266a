"""The files of docs/extending.md, written down and run as a reader would."""

import importlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwalk import Wiki
from linkwalk.cli import main
from linkwalk.downstream.benchmark import read_benchmark
from linkwalk.downstream.measure import judge
from linkwalk.embed import Embeddings, embed
from linkwalk.embed.encoder import OWN
from linkwalk.embed.text import node_texts
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.navigate import unit_rows
from linkwalk.parts import import_part
from linkwalk.retrieve import FindConfig
from linkwalk.wiki.answers import plain
from tests.conftest import graph_files, prose
from tests.embed.conftest import pages
from tests.graph.conftest import write_graph

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
LONGEST = 40


def files() -> dict[str, str]:
    """The Python files of the page, each under its name: the comment in its first line."""
    blocks = re.findall(
        r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return {name: f"# {name}\n{text}" for name, text in blocks}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with all of them, which one is in."""
    known = set(sys.modules)
    for name, text in files().items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - known:  # the next test writes its own
        if name in {Path(file).stem for file in files()}:
            del sys.modules[name]


@pytest.mark.parametrize("name", files())
def test_a_part_is_one_short_file(name: str) -> None:
    assert len(files()[name].splitlines()) < LONGEST


def linkwalk(*words: str) -> object:
    """Run a command; its exit status."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_an_agent(folder: Path, embedded_world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wiki = Wiki.open(embedded_world)
    start, goal, _ = wiki.pair(0, 2, 6)
    ends = ("--from", start.name, "--to", goal.name)
    capsys.readouterr()
    assert linkwalk("walk", str(embedded_world), *ends, "--agent", "my_agent:Restless", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["agent"] == "restless"
    assert len(told["steps"]) >= told["distance"] >= 2
    vectors = unit_rows(Embeddings.open(embedded_world).vectors)
    agent = import_part("my_agent:Restless", "agent")(wiki.graph, vectors)
    assert json.loads(json.dumps(plain(wiki.walk(start.node, goal.node, agent=agent)))) == told

    options = ("--agent", "my_agent:Restless", "--steps", "3", "--episodes", "40", "--quiet", "--json")
    assert linkwalk("eval", str(embedded_world), *options) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["agent"], row["success"] > 0.3) == ("restless", True)
    assert linkwalk("walk", str(embedded_world), *ends, "--agent", "my_agent:Nobody") == 2
    assert "my_agent has no Nobody" in capsys.readouterr().err
    assert linkwalk("walk", str(embedded_world), *ends, "--agent", "my_agent:np") == 2
    assert "is no agent: it needs" in capsys.readouterr().err


def test_an_encoder(folder: Path, encyclopedia: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Trigrams = import_part("my_encoder:Trigrams", "encoder")
    shutil.copytree(encyclopedia, "wiki")
    name = "my_encoder:Trigrams"
    assert linkwalk("embed", "wiki", "--encoder", name, "--quiet") == 0
    graph = Graph.open("wiki")
    table = Embeddings.open("wiki", "Trigrams", graph)
    assert table.manifest["encoder"] == name
    assert np.array_equal(table.vectors[3:9], Trigrams().encode(node_texts(graph, 3, 9)).astype(np.float16))
    assert linkwalk("embed", "wiki", "--encoder", name, "--quiet") == 0
    assert "up to date" in capsys.readouterr().out

    evaluate = ("eval", "wiki", "--embeddings", "Trigrams", "--agent", "greedy-map", "--agent", "random")
    options = ("--steps", "5", "--episodes", "200", "--budget", "20", "--json", "--quiet")
    assert linkwalk(*evaluate, *options) == 0, "from block to block nothing is read"
    told = json.loads(capsys.readouterr().out)["results"]
    assert told[0]["success"] > told[1]["success"], "better than chance"

    OWN.clear()  # as in another process
    assert linkwalk(*evaluate, "--task", "sentence", *options) == 2
    said = capsys.readouterr().err
    assert name in said
    assert said.count("\n") == 1
    assert linkwalk(*evaluate, "--task", "sentence", "--encoder", name, *options) == 0
    told = json.loads(capsys.readouterr().out)["results"]
    assert told[0]["success"] > told[1]["success"]

    OWN.clear()
    opened = Wiki.open("wiki", embeddings="Trigrams", encoder=Trigrams())
    block = graph.block(5)
    walk = opened.walk(5, sentence=block.text, agent="greedy-map", budget=3)
    assert walk.closest is not None
    assert walk.closest.place.node == 5
    assert walk.closest.score > 0.8


class Odd:
    """An encoder that does not keep its word."""

    width = 8

    def __init__(self, rows: object) -> None:
        self.rows = rows

    def encode(self, texts: list[str]) -> object:
        return self.rows


@pytest.mark.parametrize("rows", [np.zeros((1, 3)), np.full((20, 8), np.nan), np.zeros(8)])
def test_an_encoder_that_does_not_keep_its_word(rows: NDArray[np.float64], tmp_path: Path) -> None:
    write_graph(tmp_path / "wiki", pages())
    with pytest.raises(
        InputError, match=r"test_extending:Odd gave (an array of|values that are not numbers)"
    ):
        embed(tmp_path / "wiki", encoder=Odd(rows))


def test_what_is_no_encoder(folder: Path, encyclopedia: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("my_encoder:crc32", "my_encoder:nobody", "nowhere:Trigrams"):
        assert linkwalk("embed", str(encyclopedia), "--encoder", name) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_an_encoder_that_has_changed(tmp_path: Path) -> None:
    write_graph(tmp_path / "wiki", pages())
    odd = Odd(np.ones((20, 8)))
    embed(tmp_path / "wiki", encoder=odd)
    table = Embeddings.open(tmp_path / "wiki", "Odd")
    assert np.array_equal(table.encoder().encode(["text"] * 20), odd.rows)
    odd.version = "2"  # type: ignore[attr-defined]
    with pytest.raises(ArtifactError, match="not as it was"):
        table.encoder()
    with pytest.raises(InputError, match="another encoder"):
        embed(tmp_path / "wiki", encoder=odd)


def test_a_source(folder: Path) -> None:
    (folder / "notes").mkdir()
    for title, text in {
        "Comet": f"Seen  from [[Mars]] and\t[[Nowhere]].\n\n{prose(50)}",
        "Mars": f"A planet. {prose(50)}\nNear the [[comet]] caf\udce9.",
        "Short": "Nothing.",
    }.items():
        (folder / "notes" / f"{title}.txt").write_bytes(text.encode(errors="surrogateescape"))
    options = ("--format", "my_source:Notes", "--no-entity-links", "--quiet")
    assert linkwalk("build", "notes", "-o", "wiki", *options, "--workers", "1") == 0
    graph = Graph.open(folder / "wiki")
    assert graph.titles.slice(0, graph.articles) == ["Comet", "Mars"]
    assert graph.block(0).text == f"Seen from Mars and Nowhere.\n{prose(50)}"
    links = [(edge.anchor, graph.name(edge.target)) for node in (0, 1) for edge in graph.links(node)]
    assert links == [("Mars", "Mars (0)"), ("comet", "Comet (0)")]
    assert graph.snapshot.startswith("notes")
    ledger = json.loads((folder / "wiki" / "graph" / "ledger.json").read_text())
    assert ledger["pages"] == {"read": 3, "kept": 2, "skipped": {"short": 1}}
    assert ledger["damage"] == {"letters that are not UTF-8": 1}
    assert [entry["version"] for entry in graph.manifest["inputs"]] == ["notes 1"]

    assert linkwalk("build", "notes", "-o", "again", *options, "--workers", "2") == 0
    assert graph_files(folder / "again") == graph_files(folder / "wiki")
    assert linkwalk("build", "notes", "-o", "again") == 2  # what a graph says of its source runs nothing


def test_a_reranker(folder: Path, encyclopedia: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question, few = "How many hearts has an octopus?", ("--navigation", "none", "-k", "1000", "--json")

    def ranked(rerank: str) -> dict[str, Any]:
        assert linkwalk("find", str(encyclopedia), question, *few, "--rerank", rerank) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    words, answer = ranked("tfidf"), ranked("my_reranker:Numbers")
    assert answer["rerank"] == "my_reranker:Numbers"
    assert "three hearts" in answer["evidence"][0]["sentence"]
    own: Any = importlib.import_module("my_reranker")
    before, after = (
        {(one["place"]["node"], one["sentence"]): one["score"] for one in told["evidence"]}
        for told in (words, answer)
    )
    gained = {place: 0.5 * bool(own.NUMBER.search(place[1])) for place in before}
    assert after == pytest.approx({place: before[place] + gained[place] for place in before}, abs=1e-6)
    assert set(gained.values()) == {0, 0.5}

    wiki = Wiki.open(encyclopedia, rerank=own.Numbers())
    given = wiki.find(question, 1000, navigation="none")
    assert (given.rerank, plain(given)["evidence"]) == ("Numbers", answer["evidence"])
    assert wiki.find(question, rerank="tfidf", navigation="none").rerank == "tfidf"


def test_a_data_set(folder: Path, encyclopedia: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiz = folder / "quiz.tsv"
    rows = [
        "How many hearts has an octopus?\tthree\tOctopus",
        "Which metal is in its blood?\tcopper\tOctopus",
        "no answer",
        "Who?\tnobody at all\tOctopus",
        "What?\tthree\tNowhere",
    ]
    quiz.write_text("\n".join(rows), "utf-8")

    def score(*options: str) -> tuple[object, str, str]:
        given = ("--navigation", "none", "--rerank", "tfidf", *options)
        with pytest.raises(SystemExit) as leave:
            main(["score", "quiz:Quiz", str(encyclopedia), str(quiz), *given])
        return leave.value.code, *capsys.readouterr()

    code, out, err = score("--json")
    found = json.loads(out)
    assert (code, found["benchmark"], found["measure"]) == (0, "quiz:Quiz", "gold block")
    assert (found["asked"], found["damaged"], found["alignment"]["questions"]) == (2, 1, 4)
    assert found["alignment"]["unmatched"] == {
        "no block of the article has an answer": 1,
        "title not in the wiki": 1,
    }
    assert found["results"][0]["metrics"]["questions"] == 2
    assert "line 3: has 1 cells, not three" in err
    code, out, _ = score("-q")
    assert (code, "the quiz: quiz.tsv" in out, "passages matched  2 of 4 (50.0 %)" in out) == (0, True, True)

    wiki = Wiki.open(encyclopedia)
    graph, asked = wiki.graph, read_benchmark(sys.modules["quiz"].Quiz(), quiz, wiki.graph)
    same = wiki.finder(FindConfig(navigation="none", rerank="tfidf")).find(asked.texts, 0)
    recall = judge(graph, asked.judged, same).to_json()["all"]["recall"]
    assert recall == found["results"][0]["metrics"]["recall"] != [0] * 5
    for one, answer in zip(asked.judged, ("three", "copper"), strict=True):
        blocks = graph.article_blocks(graph.article("Octopus") or 0).tolist()
        assert {frozenset((n,)) for n in blocks if answer in graph.texts[n].lower().split()} <= set(one.gold)
        assert set(one.gold) <= {frozenset((n,)) for n in blocks if answer in graph.texts[n].lower()}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quiz:Quizz", "quiz has no Quizz"),
        ("quiz:csv", "is no data set: it needs a name and read(path, damage)"),
        ("nothing_there:Quiz", "no module named 'nothing_there'"),
        ("quiz.Quiz", "choose one of fever, nq, multihop, links, or your own as package.module:Name"),
    ],
)
def test_what_is_no_data_set(
    folder: Path, encyclopedia: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    with pytest.raises(SystemExit) as leave:
        main(["score", name, str(encyclopedia), str(folder / "missing.tsv")])
    err = capsys.readouterr().err
    assert (leave.value.code, message in err, len(err.splitlines())) == (2, True, 1), err


def test_a_head_is_trained_and_measured(
    folder: Path, embedded_world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from linkwalk.policy.own import OWN

    def run(*words: object) -> tuple[object, str, str]:
        return linkwalk(*map(str, words)), *capsys.readouterr()

    wiki = Path(shutil.copytree(embedded_world, folder / "wiki"))
    quick = ("--set", "updates=3", "--set", "batch=8", "--device", "cpu", "-q")
    named = ("--head", "weighed:Weighed")
    status, shown, _ = run("train", wiki, "--recipe", "residual", *named, "--name", "weighed", *quick)
    assert status == 0
    assert "weighed:Weighed, 390 parameters" in shown
    manifest = json.loads((wiki / "policies" / "weighed" / "manifest.json").read_bytes())
    assert manifest["head"]["head"] == "weighed:Weighed"
    OWN.clear()
    measure = ("eval", wiki, "--agent", "weighed", "--steps", "3", "--episodes", "20", "-q")
    status, _, error = run(*measure)
    assert status == 2
    assert "the policy 'weighed' has a head of one's own, weighed:Weighed: name that head as well" in error
    status, shown, _ = run(*measure, *named, "--json")
    assert status == 0
    assert json.loads(shown)["results"][0]["agent"] == "weighed"
    OWN.clear()
