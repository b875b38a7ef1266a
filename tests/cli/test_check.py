"""``linkwalk check`` as a user runs it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.artifact import contents
from linkwalk.build.build import build
from linkwalk.graph.store import Graph
from tests.cli.conftest import Ran
from tests.conftest import P, prose, world, write_dump

SMALL = ("--set", "updates=2", "--set", "batch=4", "--embeddings", "random", "--quiet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a graph, embeddings, an index, a dense index, a policy and halves."""
    from linkwalk.cli import main

    wiki = tmp_path_factory.mktemp("made") / "wiki"
    build([write_dump(wiki.with_name("x.xml"), world(12))], wiki)
    for words in (
        ("embed", wiki, "--encoder", "random", "-q"),
        ("index", wiki, "--dense", "--embeddings", "random", "-q"),
        ("train", wiki, "--name", "own", *SMALL),
        ("split", wiki, "-o", wiki / "halves", "-q"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        assert ended.value.code == 0
    return wiki


@pytest.fixture
def wiki(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "wiki")
    return tmp_path / "wiki"


def test_a_workspace_that_is_whole(wiki: Path, run: Callable[..., Ran]) -> None:
    before = set(wiki.rglob("*"))
    done = run("check", wiki)
    assert done.status == 0
    names = [line.split()[0] for line in done.out.splitlines() if " whole " in line]
    assert names == [
        "graph",
        "embeddings/random",
        "index",
        "index/dense",
        "policies/own",
        "halves/train/graph",
        "halves/eval/graph",
    ]
    told = run("check", wiki, "--json", "-q").json()
    assert told["whole"] is True
    assert {one["state"] for one in told["artefacts"]} == {"whole"}
    assert told["bytes"] == sum(one["bytes"] for one in told["artefacts"]) > 10_000
    assert set(wiki.rglob("*")) == before, "looking changes nothing"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("graph", "linkwalk build DUMP -o"),
        ("embeddings/random", "linkwalk embed"),
        ("index", "linkwalk index"),
        ("index/dense", "--dense --force"),
        ("policies/own", "--name own --force"),
        ("halves/eval/graph", "linkwalk split"),
    ],
)
def test_a_bit_of_any_file(wiki: Path, run: Callable[..., Ran], name: str, remedy: str) -> None:
    folder = wiki / name
    for file in [*sorted(contents(folder)), "manifest.json"]:
        path = folder / file
        whole = path.read_bytes()
        if not whole:
            continue
        data = bytearray(whole)
        data[len(data) * 2 // 3] ^= 2
        path.write_bytes(data)
        done = run("check", wiki, "--json", "-q")
        assert done.status == 2, file
        assert done.err.startswith(f"error: {path} is damaged ("), done.err
        assert remedy in done.err
        assert done.err.count("\n") == 1
        (damaged,) = (one for one in done.json()["artefacts"] if one["state"] == "damaged")
        assert (damaged["name"], [fault["file"] for fault in damaged["faults"]]) == (name, [str(path)])
        path.write_bytes(whole)
    assert run("check", wiki, "-q").status == 0


def test_all_damage_is_listed(wiki: Path, run: Callable[..., Ran]) -> None:
    (wiki / "graph" / "text.bin").write_bytes(b"")
    (wiki / "graph" / "out_targets.npy").unlink()
    (wiki / "embeddings" / "random" / "manifest.json").unlink()
    shutil.rmtree(wiki / "index" / "bm25")
    done = run("check", wiki, "-q")
    assert done.status == 2
    for named in ("text.bin: 0 bytes", "out_targets.npy: no such file", "random/manifest.json", "index/bm25"):
        assert named in done.out, done.out
    assert "more damaged" in done.err


def test_what_was_made_from_another_graph_is_not_damaged(wiki: Path, run: Callable[..., Ran]) -> None:
    build([write_dump(wiki.with_name("y.xml"), [P("A", prose(60)), P("B", prose(70))])], wiki, force=True)
    done = run("check", wiki, "--json", "-q")
    assert done.status == 0
    states = {one["name"]: one["state"] for one in done.json()["artefacts"]}
    assert states["graph"] == states["policies/own"] == "whole"
    assert states["embeddings/random"] == states["index"] == states["index/dense"] == "of another graph"
    shown = run("check", wiki, "-q").out
    assert f"run `linkwalk index {wiki}`" in shown
    assert Graph.open(wiki).articles == 2


def test_what_is_no_workspace(tmp_path: Path, run: Callable[..., Ran]) -> None:
    assert run("check", tmp_path / "nowhere").err == f"error: no such workspace: {tmp_path / 'nowhere'}\n"
    (tmp_path / "empty").mkdir()
    assert "holds nothing that linkwalk made" in run("check", tmp_path / "empty").err
