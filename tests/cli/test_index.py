"""``linkwalk index`` as a user runs it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk import demo
from linkwalk.graph.store import Graph
from linkwalk.retrieve import Bm25
from linkwalk.sources.build import build
from tests.cli.conftest import Ran


def test_a_newer_edition_is_indexed_where_it_differs(tmp_path: Path, run: Callable[..., Ran]) -> None:
    wiki = tmp_path / "demo"
    build([demo.dump_path("demo")], wiki)
    first = run("index", wiki, "--json", "-q").json()
    assert (first["whole"], first["added"], first["blocks"]) == (True, 801, 801)
    same = run("index", wiki)
    assert (same.status, "nothing to do" in same.out) == (0, True)
    build([demo.dump_path("demo2")], wiki, force=True)
    stale = run("find", wiki, "iron", "--no-navigation")
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
    ran = run("find", wiki, "river", "--no-navigation")
    assert (ran.status, len(ran.err.strip().splitlines())) == (2, 1)
    assert f"run `linkwalk index {wiki} --force`" in ran.err
    assert run("index", wiki, "--json", "-q").json()["whole"], "what cannot be opened is made anew"
