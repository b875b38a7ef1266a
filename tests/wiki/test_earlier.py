"""Workspaces of earlier versions, which open and answer.

One that version 0.1 made: graph, embeddings, index, dense index, two policies, no checksums anywhere. And one that was
embedded with plain MiniLM, before an encoder came with the policy that ships.
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from linkwalk.artifact import read_manifest, seal
from linkwalk.cli import main
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.errors import DamagedError
from linkwalk.graph.store import Graph
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.dense import Dense
from linkwalk.wiki import Wiki
from linkwalk.wiki.check import check

_PACKED = Path(__file__).parents[1] / "data" / "workspace-0.1.tar.xz"
RANDOM = ("--embeddings", "random")


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    with tarfile.open(_PACKED) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "workspace-0.1"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


def test_it_opens_as_it_is(wiki: Path) -> None:
    before = {path: path.read_bytes() for path in wiki.rglob("*") if path.is_file()}
    graph = Graph.open(wiki)
    assert (graph.articles, graph.nodes, graph.edges) == (10, 41, 178)
    assert (graph.addresses, graph.parents) == (None, None)
    table = Embeddings.open(wiki, "random", graph)
    assert len(Bm25.open(wiki, graph).search(graph.title(0), 3)[0])
    assert len(Dense.open(wiki, table).nearest_many(table.vectors[:1].astype("float32"), 3)[0]) == 3
    opened = Wiki.open(wiki, embeddings="random")
    assert {"ours", "paper"} <= set(opened.agents)
    page = opened.block(0)
    assert (page.place.address, page.above, page.below.total, page.linked_from.total) == ("", None, 0, 0)
    for agent in ("ours", "paper", "greedy-unvisited"):
        assert opened.walk(0, 1, agent=agent).success
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    "words",
    [
        ("stats", "WIKI", "--sources", "5"),
        ("eval", "WIKI", *RANDOM, "--agent", "ours", "--agent", "paper", "--episodes", "20", "--steps", "5"),
        ("walk", "WIKI", *RANDOM, "--agent", "ours", "--from", "0", "--to", "1"),
        ("index", "WIKI"),
        ("find", "WIKI", "river of stone", "--navigation", "none", "--rerank", "none"),
        ("split", "WIKI", "-o", "WIKI-halves"),
        ("diff", "WIKI", "WIKI"),
        ("embed", "WIKI", "--encoder", "random"),
        ("check", "WIKI"),
    ],
    ids=lambda words: words[0],
)
def test_every_verb_takes_it(wiki: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    graph = Graph.open(wiki)
    named = {"0": graph.name(0), "1": graph.name(1)}
    if words[0] == "embed":
        named["random"] = "random"
        words = (*words, "--name", "anew")
    status, _, err = run(capsys, *(named.get(word, word.replace("WIKI", str(wiki))) for word in words))
    assert (status, [line for line in err.splitlines() if line.startswith("error")]) == (0, [])


def test_a_build_leaves_it_alone(wiki: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("build", wiki.parent / "little.xml", "-o", wiki, "--workers", 1, "--quiet")
    status, _, err = run(capsys, *words)
    assert status == 2
    assert f"made by another version: `linkwalk build DUMP -o {wiki} --force` builds it anew" in err
    assert run(capsys, *words, "--force")[0] == 0
    assert read_manifest(wiki / "graph", "graph", "")["format"] == 2


def test_it_gets_checksums_in_place(wiki: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", wiki, "--quiet")
    assert (status, out.count("no checksums  "), "--add-checksums" in out) == (0, 6, True)
    before = {path: path.read_bytes() for path in wiki.rglob("*") if path.name.endswith((".npy", ".bin"))}
    status, out, _ = run(capsys, "check", wiki, "--add-checksums", "--json", "--quiet")
    assert status == 0
    assert {one["state"] for one in json.loads(out)["artefacts"]} == {"whole"}
    assert {path: path.read_bytes() for path in before} == before
    Graph.open(wiki)
    text = wiki / "graph" / "text.bin"
    text.write_bytes(text.read_bytes().replace(b"e", b"a", 1))
    with pytest.raises(DamagedError, match=r"text\.bin is damaged \(its checksum"):
        Graph.open(wiki)
    assert [fault.path for one in check(wiki) for fault in one.faults] == [text]


@pytest.mark.parametrize("name", ["out_targets", "out_indptr", "in_sources", "node_article", "text_offsets"])
def test_its_damage_is_found_without_checksums(wiki: Path, name: str) -> None:
    path = wiki / "graph" / f"{name}.npy"
    data = bytearray(path.read_bytes())
    data[-8:] = b"\xff\x7f\x00\x00\xff\xff\xff\x7f"
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=rf"{name}\.npy is damaged"):
        Graph.open(wiki)


@pytest.fixture(scope="module")
def by_minilm(indexed_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minilm") / "wiki"
    shutil.copytree(indexed_world, folder, ignore=shutil.ignore_patterns("embeddings"))
    embed(folder, EmbedConfig(encoder="minilm"), device="cpu")
    return folder


def test_on_embeddings_by_plain_minilm_the_map_walks_and_says_what_helps(
    by_minilm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = Graph.open(by_minilm)
    ends = ("--from", graph.name(0), "--to", graph.name(1))
    line = f"the policy that ships goes by other embeddings than 'minilm': run `linkwalk embed {by_minilm}`"
    for words in (
        ("eval", by_minilm, "--steps", 4, "--episodes", 20, "-q"),
        ("walk", by_minilm, *ends),
        ("find", by_minilm, graph.title(0), "--rerank", "tfidf"),
    ):
        status, out, err = run(capsys, *words)
        assert (status, err, out.count(line)) == (0, "", 1), words[0]
        assert line not in run(capsys, *words, "--agent", "greedy-map")[1]
        status, out, err = run(capsys, *words, "--json")
        assert (status, err, json.loads(out) is not None) == (0, line + "\n", True), words[0]
    opened = Wiki.open(by_minilm)
    assert (opened.usual, opened.ranks, opened.missing()) == ("greedy-map", "cross", {"policy": line})
    assert "compass" not in opened.agents


def test_where_a_wiki_is_not_in_english_nothing_else_would_help(by_minilm: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(by_minilm, tmp_path / "wiki"))
    found = json.loads((folder / "graph" / "manifest.json").read_text())
    found["snapshot"]["language"] = "ltg"
    seal(folder / "graph", found)
    opened = Wiki.open(folder)
    assert (opened.usual, opened.missing()) == ("greedy-map", {})


def test_what_helps_helps(by_minilm: Path, embedded_world: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(by_minilm, tmp_path / "wiki"))
    shutil.copytree(embedded_world / "embeddings" / "minilm-walks", folder / "embeddings" / "minilm-walks")
    opened = Wiki.open(folder)
    assert (opened.usual, opened.missing(), opened.table().name) == ("compass", {}, "minilm-walks")
    assert Wiki.open(folder, embeddings="minilm").missing() == {}, "it has been chosen"
