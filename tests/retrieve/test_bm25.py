"""BM25's scores, order and languages; an index that is brought up to date; an index that cannot be used."""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from linkwalk.artifact import read_manifest, seal, write_json
from linkwalk.errors import ArtifactError, InputError
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress, Stage
from linkwalk.retrieve import Bm25, index
from linkwalk.retrieve.bm25 import K1, MOST_TIED, TITLE_WEIGHT, B
from linkwalk.retrieve.keys import Keys, block_keys
from linkwalk.retrieve.stems import stem_for, stem_of
from tests.graph.conftest import Page, write_graph

WORDS = (
    "stone river light winter garden engine market signal harbour copper meadow orbit planet village".split()
)
QUERIES = [*WORDS, "stone river", "copper engine garden orbit", "number 3 winter", "river river light"]


def pages(seed: int, articles: int = 60) -> dict[str, list[str]]:
    """Titles and the texts of their blocks."""
    rng = np.random.default_rng(seed)
    return {
        f"Number {article}": [
            " ".join(rng.choice(WORDS, int(rng.integers(3, 30)))) for _ in range(rng.integers(1, 4))
        ]
        for article in range(articles)
    }


def write(workspace: Path, wiki: dict[str, list[str]], name: str = "testwiki") -> Graph:
    return write_graph(workspace, {t: [Page(text) for text in texts] for t, texts in wiki.items()}, name=name)


def unseal(folder: Path, **changes: object) -> None:
    """Turn an artefact into one of the version before, whose manifests have no checksums."""
    manifest = read_manifest(folder, folder.name, "")
    kept = {name: value for name, value in manifest.items() if name not in ("files", "checksum")}
    write_json(folder / "manifest.json", kept | {"format": 1} | changes)


def answers(bm25: Bm25, graph: Graph, count: int) -> list[list[str]]:
    return [[graph.name(node) for node in bm25.search(query, count)[0].tolist()] for query in QUERIES]


def test_scores_are_those_of_the_formula(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(0))
    index(tmp_path, graph, stem="none")
    bm25 = Bm25.open(tmp_path, graph)
    blocks = [(graph.title(node).lower().split(), graph.texts[node].split()) for node in range(graph.nodes)]
    for query in QUERIES:
        scores = np.zeros(len(blocks))
        for field, weight in ((0, TITLE_WEIGHT), (1, 1.0)):
            counts = [Counter(block[field]) for block in blocks]
            mean = np.mean([len(block[field]) for block in blocks])
            for word in query.split():
                known = sum(word in count for count in counts)
                rare = math.log(1 + (len(blocks) - known + 0.5) / (known + 0.5))
                for node, count in enumerate(counts):
                    long = 1 - B + B * len(blocks[node][field]) / mean
                    scores[node] += weight * rare * count[word] * (K1 + 1) / (count[word] + K1 * long)
        nodes, found = bm25.search(query, graph.nodes)
        assert len(nodes) == np.count_nonzero(scores)
        np.testing.assert_allclose(found, scores[nodes], atol=2e-4)
        assert found == sorted(found, reverse=True)


def test_ties_go_by_number_whatever_the_threads(tmp_path: Path) -> None:
    wiki = {f"Page{n}": ["the same words stand here"] for n in range(700)}
    found = []
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        graph = write(folder, wiki)
        index(folder, graph, threads=threads)
        found.append(Bm25.open(folder, graph).search("words here", 40)[0].tolist())
    assert found == [list(range(40))] * 2


def test_thousands_of_ties_are_not_all_fetched(tmp_path: Path) -> None:
    """Every block has the word once among as many others: all tie, and a search looks at a bounded number of them."""
    tied = {f"Number {number}": [f"stone {number}"] for number in range(3 * MOST_TIED)}
    graph = write(tmp_path, tied | {"Quarry": ["stone stone"]})
    index(tmp_path, graph, stem="none", threads=1)
    bm25 = Bm25.open(tmp_path, graph)
    nodes, scores = bm25.search("stone", 10)
    assert nodes.tolist() == [graph.find("Quarry"), *range(9)]
    assert scores[0] > scores[1] == scores[9]
    assert len(bm25._hits(bm25._query(Counter(["stone"])), 10)) == 10 + MOST_TIED
    assert bm25.search("stone 17", 1)[0].tolist() == [17]


def test_blocks_that_say_the_same_are_all_found(tmp_path: Path) -> None:
    graph = write(tmp_path, {"A": ["iron ore", "copper", "iron ore"], "B": ["iron ore"], "C": ["tin"]})
    index(tmp_path, graph)
    nodes, scores = Bm25.open(tmp_path, graph).search("iron", 9)
    assert nodes.tolist() == [0, 2, 3]
    assert len(set(scores)) == 1
    assert Bm25.open(tmp_path, graph).search("iron", 2)[0].tolist() == [0, 2]
    assert Bm25.open(tmp_path, graph).search("iron", 0)[0].tolist() == []


def test_many_queries_at_once(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(1))
    index(tmp_path, graph)
    bm25 = Bm25.open(tmp_path, graph)
    for threads in (1, 4, None):
        for query, (nodes, scores) in zip(
            QUERIES * 5, bm25.search_many(QUERIES * 5, 7, threads=threads), strict=True
        ):
            alone = bm25.search(query, 7)
            assert (nodes.tolist(), scores) == (alone[0].tolist(), alone[1])
    assert bm25.search_many([], 3) == []
    (_, scores), (none, _) = bm25.search_many([QUERIES[0], "?!"], 3)
    assert (len(scores), len(none)) == (3, 0)


def test_only_what_changed_is_indexed(tmp_path: Path) -> None:
    old, new = pages(2), pages(2)
    first = write(tmp_path / "a", old)
    assert index(tmp_path / "a", first).whole
    texts = len({(t, text) for t, blocks in old.items() for text in blocks})
    new["Number 5"] = ["a text of words never seen, zeppelin", *new["Number 5"]]  # all later blocks move
    gone = new.pop("Number 9")
    moved = new.pop("Number 11")
    new["Number 11"] = moved
    graph = write(tmp_path / "a", new, name="newer")
    made = index(tmp_path / "a", graph)
    assert (made.whole, made.added, made.removed) == (False, 1, len(set(gone)))
    again = write(tmp_path / "b", new)
    assert index(tmp_path / "b", again).added == texts + 1 - len(set(gone))
    updated, whole = Bm25.open(tmp_path / "a", graph), Bm25.open(tmp_path / "b", again)
    for have, want in zip(answers(updated, graph, 999), answers(whole, again, 999), strict=True):
        assert sorted(have) == sorted(want)
    assert graph.name(int(updated.search("zeppelin", 1)[0][0])) == "Number 5 (0)"
    for node in range(graph.nodes):
        best, _ = updated.search(f"{graph.title(node)} {graph.texts[node]}", 5)
        assert graph.name(node) in [graph.name(n) for n in best.tolist()]


def test_many_updates_come_to_the_same_as_one_index(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    wiki, put_by = pages(12, 150), {}
    index(tmp_path / "a", write(tmp_path / "a", wiki))
    for number in range(4):
        wiki |= put_by  # what went comes back
        put_by = {title: wiki.pop(title) for title in rng.choice(list(wiki), 4, replace=False).tolist()}
        title = str(rng.choice(list(wiki)))
        wiki[title] = [*wiki[title][1:], f"{WORDS[number]} zeppelin"]
        graph, again = write(tmp_path / "a", wiki, name=f"{number}"), write(tmp_path / f"{number}", wiki)
        assert not index(tmp_path / "a", graph, threads=1 + number % 3).whole
        index(tmp_path / f"{number}", again)
        updated, whole = Bm25.open(tmp_path / "a", graph), Bm25.open(tmp_path / f"{number}", again)
        for query in [*QUERIES, "zeppelin"]:
            assert sorted(updated.search(query, 999)[0]) == sorted(whole.search(query, 999)[0])


def test_the_same_blocks_in_another_order(tmp_path: Path) -> None:
    wiki = pages(3)
    graph = write(tmp_path, wiki)
    index(tmp_path, graph)
    before = answers(Bm25.open(tmp_path, graph), graph, 999)
    graph = write(tmp_path, dict(reversed(wiki.items())), name="turned")
    made = index(tmp_path, graph)
    assert (made.added, made.removed, made.whole, made.changed) == (0, 0, False, False)
    for have, want in zip(answers(Bm25.open(tmp_path, graph), graph, 999), before, strict=True):
        assert sorted(have) == sorted(want)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_nothing_to_do_does_nothing(tmp_path: Path) -> None:
    graph = write(tmp_path, pages(4))
    index(tmp_path, graph)
    before = [(p, p.stat().st_mtime_ns) for p in sorted((tmp_path / "index").rglob("*"))]
    assert not index(tmp_path, graph).changed
    assert [(p, p.stat().st_mtime_ns) for p in sorted((tmp_path / "index").rglob("*"))] == before
    assert index(tmp_path, graph, force=True).whole


class Stop(Exception):
    """Stands for a kill."""


class Stopping(Progress):
    """Ends the work when all is written but not yet in its place."""

    def __init__(self) -> None:
        super().__init__(quiet=True)

    @contextmanager
    def stage(self, name: str, total: float, unit: str) -> Iterator[Stage]:
        yield Stage(name, total, unit)
        if name == "index":
            raise Stop


def test_an_interrupted_update_leaves_the_old_index(tmp_path: Path) -> None:
    wiki = pages(5)
    graph = write(tmp_path, wiki)
    index(tmp_path, graph)
    before, answered = contents(tmp_path / "index"), answers(Bm25.open(tmp_path, graph), graph, 5)
    wiki["Number 1"] = ["zeppelin"]
    newer = write(tmp_path, wiki, name="newer")
    with pytest.raises(Stop):
        index(tmp_path, newer, progress=Stopping())
    assert contents(tmp_path / "index") == before
    assert answers(Bm25.open(tmp_path, graph), graph, 5) == answered
    made = index(tmp_path, newer)
    assert (made.added, made.whole) == (1, False)
    assert not (tmp_path / "index.partial").exists()
    assert len(Bm25.open(tmp_path, newer).search("zeppelin", 5)[0]) == 1


@pytest.mark.parametrize("change", [{"layout": 1}, {"engine": "tantivy 0.1"}, {"bm25": {}}, {"format": 0}])
def test_an_index_of_another_kind_is_made_whole(tmp_path: Path, change: dict[str, object]) -> None:
    wiki = pages(6)
    index(tmp_path, write(tmp_path, wiki))
    unseal(tmp_path / "index", **change)
    wiki["Number 1"] = ["zeppelin"]
    assert index(tmp_path, write(tmp_path, wiki, name="newer")).whole


def test_too_much_change_makes_it_whole(tmp_path: Path) -> None:
    wiki = pages(7)
    index(tmp_path, write(tmp_path, wiki))
    whole = []
    for number in range(6):  # each a tenth of the articles: changes add up over updates
        wiki |= {f"Number {number * 6 + i}": [f"zeppelin {i} {number}"] for i in range(6)}
        made = index(tmp_path, write(tmp_path, wiki, name=f"newer {number}"))
        whole.append(made.whole)
    assert not whole[0]
    assert any(whole[1:])


@pytest.mark.parametrize(
    ("stem", "text", "query"),
    [
        ("english", "The cafés were naïve.", "cafe naive"),
        ("english", "Москва большой город", "москва"),
        ("russian", "Москва окружена городами", "город"),
        ("german", "Die Häuser der Größten", "haus"),
        ("french", "les châteaux étaient beaux", "château"),
        ("arabic", "المدينة الكبيرة", "مدينة"),
        ("cjk", "北京是中国的首都，历史悠久而且人口众多的大城市", "首都"),
        ("cjk", "東京タワーは1958年に Minato で", "minato"),
        ("none", "Running foxes", "running"),
    ],
)
def test_languages(tmp_path: Path, stem: str, text: str, query: str) -> None:
    graph = write(tmp_path, {"A": ["iron"], "B": [text], "C": ["copper"]})
    index(tmp_path, graph, stem=stem)
    assert Bm25.open(tmp_path, graph).search(query, 5)[0].tolist() == [1]


@pytest.mark.parametrize(
    ("language", "stem"),
    [
        *(
            ("en", "english"),
            ("simple", "english"),
            ("de", "german"),
            ("pt-BR", "portuguese"),
            ("nn", "norwegian"),
        ),
        *(
            ("zh", "cjk"),
            ("zh_TW", "cjk"),
            ("ja", "cjk"),
            ("th", "cjk"),
            ("ltg", "none"),
            ("ko", "none"),
        ),
    ],
)
def test_stems_of_a_language(language: str, stem: str) -> None:
    assert stem_of(language) == stem


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("The river flows from the mountains and is known by this name.", "english"),
        ("北京是中国的首都，历史悠久。", "cjk"),
        ("Upe tak nu kolnim i ir pazeistama ar itū vuordu.", "none"),
    ],
)
def test_a_wiki_that_states_no_language_is_read(tmp_path: Path, text: str, stem: str) -> None:
    graph = write(tmp_path, {"A": [text]})
    graph.manifest["snapshot"]["language"] = ""
    assert stem_for(graph) == stem


def test_what_stems_do_not_do(tmp_path: Path) -> None:
    graph = write(tmp_path, {"A": ["running foxes"], "B": ["北京是中国的首都"]})
    index(tmp_path, graph, stem="none")
    bm25 = Bm25.open(tmp_path, graph)
    assert len(bm25.search("run fox", 5)[0]) == 0
    assert len(bm25.search("首都", 5)[0]) == 0, "without blanks a clause is one word"
    assert len(bm25.search("北京是中国的首都", 5)[0]) == 1


def test_an_index_keeps_its_language(tmp_path: Path) -> None:
    wiki = pages(8) | {"Москва": ["Москва окружена городами"]}
    index(tmp_path, write(tmp_path, wiki), stem="russian")
    wiki["Тула"] = ["город оружейников"]
    graph = write(tmp_path, wiki, name="newer")
    assert not index(tmp_path, graph).whole
    assert len(Bm25.open(tmp_path, graph).search("города", 5)[0]) == 2
    assert index(tmp_path, graph, stem="english").whole
    with pytest.raises(InputError, match="no stems of 'klingon': choose one of arabic, "):
        index(tmp_path, graph, stem="klingon")


def test_an_index_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = write(tmp_path, pages(10))
    with pytest.raises(ArtifactError, match=f"no index in {tmp_path}: run `linkwalk index {tmp_path}` first"):
        Bm25.open(tmp_path, graph)
    index(tmp_path, graph)
    manifest = read_manifest(tmp_path / "index", "index", "")
    seal(tmp_path / "index", manifest | {"layout": 1})
    with pytest.raises(ArtifactError, match="is of an older version: run `linkwalk index "):
        Bm25.open(tmp_path, graph)
    seal(tmp_path / "index", manifest)
    newer = write(tmp_path, pages(11), name="newer")
    with pytest.raises(ArtifactError, match=f"older than the graph: run `linkwalk index {tmp_path}` again"):
        Bm25.open(tmp_path, newer)
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(InputError, match=r"tantivy is not installed: pip install 'linkwalk\[find\]'"):
        Bm25.open(tmp_path, graph)


def test_keys_are_sorted_whole_and_tell_blocks_apart(tmp_path: Path) -> None:
    graph = write(tmp_path, {"A": ["x", "y", "x"], "B": ["x"], "AB": ["y"], "C": ["", "Bx"]})
    keys = block_keys(graph, Progress(quiet=True))
    assert len(set(keys.tolist())) == graph.nodes - 1
    assert keys[0] == keys[2]
    found = Keys.write(tmp_path, keys)
    assert found.keys.tolist() == sorted(keys.tolist())
    for node in range(graph.nodes):
        assert node in found.blocks(keys[node : node + 1])[0]
    nodes, which = found.blocks(np.array([keys[3], 12345, keys[0]], np.uint64))
    assert (nodes.tolist(), which.tolist()) == ([3, 0, 2], [0, 2, 2])
    other = Keys(np.sort(keys[3:]), np.arange(3, graph.nodes, dtype=np.int32))
    ((came, first),) = found.missing_from(other)
    assert sorted(came.tolist()) == sorted({int(keys[0]), int(keys[1])})
    assert sorted(first.tolist()) == [0, 1]
