"""``linkwalk index`` as a user runs it."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk import shipped
from linkwalk.artifact import faults
from linkwalk.build.build import build
from linkwalk.graph.store import Graph
from linkwalk.retrieve import Bm25
from tests.cli.conftest import Ran
from tests.retrieve.test_damaged_index import flip


@pytest.fixture
def edition(encyclopedia: Path, tmp_path: Path) -> Path:
    """The bundled encyclopedia, not indexed yet."""
    return Path(shutil.copytree(encyclopedia, tmp_path / "demo", ignore=shutil.ignore_patterns("index")))


def test_a_newer_edition_is_indexed_where_it_differs(edition: Path, run: Callable[..., Ran]) -> None:
    wiki = edition
    first = run("index", wiki, "--json", "-q").json()
    assert (first["whole"], first["added"], first["blocks"]) == (True, 801, 801)
    same = run("index", wiki)
    assert (same.status, "nothing to do" in same.out) == (0, True)
    build([shipped.dump_path("demo2")], wiki, force=True)
    stale = run("find", wiki, "iron", "--navigation", "none")
    assert (stale.status, f"run `linkwalk index {wiki}` again" in stale.err) == (2, True)
    newer = run("index", wiki, "--json", "-q").json()
    assert not newer["whole"]
    assert newer["blocks"] == 801 + newer["added"] - newer["removed"]
    assert 0 < newer["added"] < 200
    assert run("index", wiki, "--force", "--json", "-q").json()["whole"]
    graph = Graph.open(wiki)
    found, _ = Bm25.open(wiki, graph).search("How many hearts has an octopus?", 5)
    assert any("three hearts" in graph.texts[node] for node in found.tolist())


def test_the_language_is_kept(wiki: Path, run: Callable[..., Ran]) -> None:
    assert run("index", wiki, "--stem", "russian", "--json", "-q").json()["whole"]
    assert not run("index", wiki, "--json", "-q").json()["whole"]
    assert run("index", wiki, "--stem", "none", "--json", "-q").json()["whole"]


def test_stems_are_those_of_the_language_stated(tmp_path: Path, run: Callable[..., Ran]) -> None:
    pages = {"Москва": "Москва окружена городами. " * 20, "Железо": "Железо это металл серого цвета. " * 20}
    lines = [json.dumps({"title": title, "text": text}) for title, text in pages.items()]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    wiki = tmp_path / "wiki"
    assert run("build", tmp_path / "pages.jsonl", "-o", wiki, "--language", "ru", "-q").status == 0
    made = run("index", wiki, "-q")
    assert "cut to stems of Russian; the wiki says that it is in 'ru'" in made.out
    graph = Graph.open(wiki)
    found, _ = Bm25.open(wiki, graph).search("город", 5)
    assert [graph.title(node) for node in found.tolist()] == ["Москва"]


def test_embeddings_are_indexed(embedded_world: Path, tmp_path: Path, run: Callable[..., Ran]) -> None:
    wiki = tmp_path / "wiki"
    shutil.copytree(embedded_world, wiki)
    ran = run("index", wiki, "--dense", "--json", "-q")
    made = ran.json()
    assert made["dense"]["added"] == made["blocks"]
    assert "look at all embeddings" in ran.err, "so small a wiki does not need it"
    again = run("index", wiki, "--dense", "-q")
    assert (again.status, "nothing to do" in again.out, "0 embeddings" in again.out) == (0, True, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--stem", "klingon"), "no stems of 'klingon'"),
        (("--dense",), "linkwalk embed"),
        (("--embeddings", "minilm"), "give both or neither"),
    ],
)
def test_bad_options(wiki: Path, run: Callable[..., Ran], options: tuple[str, ...], words: str) -> None:
    ran = run("index", wiki, *options)
    assert (ran.status, len(ran.err.strip().splitlines()), words in ran.err) == (2, 1, True)
    assert not (wiki / "index").exists()


@pytest.mark.parametrize(("library", "options"), [("tantivy", ()), ("usearch", ("--dense",))])
def test_a_library_is_missing(
    wiki: Path,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    options: tuple[str, ...],
) -> None:
    for name in (library, f"{library}.index"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = run("index", wiki, *options)
    assert (ran.status, len(ran.err.strip().splitlines())) == (2, 1)
    assert f"{library} is not installed: pip install 'linkwalk[find]'" in ran.err


def test_a_damaged_index(wiki: Path, run: Callable[..., Ran]) -> None:
    run("index", wiki, "-q")
    (wiki / "index" / "bm25" / "meta.json").write_text("{}")
    ran = run("find", wiki, "river", "--navigation", "none")
    assert (ran.status, len(ran.err.strip().splitlines())) == (2, 1)
    assert f"run `linkwalk index {wiki} --force`" in ran.err
    assert run("index", wiki, "--json", "-q").json()["whole"], "what cannot be opened is made anew"


@pytest.mark.slow
def test_two_at_once(edition: Path) -> None:
    wiki = edition
    command = [sys.executable, "-m", "linkwalk", "index", str(wiki), "--force", "-q"]
    graph, statuses = Graph.open(wiki), []
    for number in range(5):
        pair = []
        for _ in range(2):
            pair.append(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            )
            time.sleep(0.05 * number)
        for ran in pair:
            _, said = ran.communicate()
            statuses.append(ran.returncode)
            assert (ran.returncode, said) == (0, "") or (
                ran.returncode == 2
                and said
                == f"error: another process is writing {wiki}/index at this moment: "
                "wait until it has ended, then run this again\n"
            )
        assert not list(faults(wiki / "index", "index"))
        assert len(Bm25.open(wiki, graph).search("How many hearts has an octopus?", 5)[0]) == 5
        assert sorted(path.name for path in wiki.iterdir() if path.name[0] != ".") == ["graph", "index"]
    assert 0 in statuses


@pytest.mark.parametrize("file", ["bm25/meta.json", "nodes.npy", "manifest.json"])
def test_a_flipped_bit(wiki: Path, run: Callable[..., Ran], file: str) -> None:
    run("index", wiki, "-q")
    flip(wiki / "index" / file)
    ran = run("find", wiki, "river", "--navigation", "none", "--rerank", "tfidf")
    assert (ran.status, len(ran.err.strip().splitlines())) == (2, 1)
    assert f"{wiki}/index/{file} is damaged (" in ran.err
    assert run("index", wiki, "--json", "-q").json()["whole"], "what is damaged is made anew"
    assert run("find", wiki, "river", "--navigation", "none", "--rerank", "tfidf").status == 0
