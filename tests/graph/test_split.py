import json
from pathlib import Path

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.graph import split as split_module
from linkwalk.graph import subgraph
from linkwalk.graph.split import By, Half, nodes_of_half, split
from linkwalk.graph.store import KINDS, LINK, NO_DATE, Graph
from tests.graph.conftest import Page, random_graph, write_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = random_graph(tmp_path_factory.mktemp("wiki"), np.random.default_rng(3), articles=60, links=2.0)
    np.save(graph.folder / "anchors_counts.npy", np.zeros(3))  # files of others are nobody's business
    return graph


def names(graph: Graph) -> list[str]:
    return [graph.name(node) for node in range(graph.nodes)]


def expected_half(graph: Graph, by: str, parity: int) -> set[int]:
    edges = [(n, e.target) for n in range(graph.nodes) for e in graph.links(n)]
    if by == "node":
        degree = np.bincount([t for _, t in edges], minlength=graph.nodes)
        ranked = sorted(range(graph.nodes), key=lambda n: (-degree[n], n))
        return set(ranked[parity::2])
    article = graph.node_article.tolist()
    degree = np.bincount([article[t] for s, t in edges if article[s] != article[t]], minlength=graph.articles)
    ranked = sorted(range(graph.articles), key=lambda a: (-degree[a], a))
    return {n for n in range(graph.nodes) if article[n] in set(ranked[parity::2])}


def titles_above(graph: Graph, article: int) -> list[str]:
    assert graph.parents is not None
    return [graph.titles[int(up)] for up in graph.parents[article : article + 1] if up >= 0]


def day_of(graph: Graph, article: int) -> int:
    return NO_DATE if graph.dates is None else int(graph.dates[article])


def tags_of(graph: Graph, article: int) -> list[str]:
    if graph.tags is None:
        return []
    first, last = graph.article_tag_indptr[article : article + 2]
    return graph.tags.take(graph.article_tags[first:last])


def check_half(graph: Graph, half: Half) -> Graph:
    """Every block of a half is the original's, links and all, and every edge is accounted for."""
    part = Graph.open(half.workspace)
    number = {name: node for node, name in enumerate(names(graph))}
    origin = [number[name] for name in names(part)]
    assert origin == sorted(origin)
    cut = dict.fromkeys(KINDS, 0)
    for node, old in enumerate(origin):
        ours, theirs = part.block(node), graph.block(old)
        assert (ours.title, ours.block, ours.section) == (theirs.title, theirs.block, theirs.section)
        assert (ours.text, ours.sentences) == (theirs.text, theirs.sentences)
        kept = []
        for edge in graph.links(old):
            if edge.target in origin:
                kept.append((graph.name(edge.target), edge.kind, edge.start, edge.end, edge.anchor))
            else:
                cut[edge.kind] += 1
        assert [(part.name(e.target), e.kind, e.start, e.end, e.anchor) for e in part.links(node)] == kept
        assert part.find(part.title(node)) == part.article_blocks(int(part.node_article[node]))[0]
        assert part.find(part.name(node)) == node
        assert sorted(part.reverse.row(node)) == [
            source for source in range(part.nodes) for t in part.forward.row(source) if t == node
        ]
    titles = {part.titles[a] for a in range(part.articles)}
    assert part.addresses is not None
    assert graph.addresses is not None
    for article in range(part.articles):
        old = graph.article(part.titles[article])
        assert old is not None
        assert part.addresses[article] == graph.addresses[old]
        assert not part.addresses[article] or part.article(part.addresses[article]) == article
        assert day_of(part, article) == day_of(graph, old)
        assert tags_of(part, article) == tags_of(graph, old)
        assert titles_above(part, article) == [up for up in titles_above(graph, old) if up in titles]
    every = {tag for article in range(part.articles) for tag in tags_of(part, article)}
    assert ([] if part.tags is None else part.tags.slice(0, len(part.tags))) == sorted(every)
    redirects = [graph.redirects[i] for i in range(len(graph.redirects))]
    leading = [graph.titles[int(a)] for a in graph.redirect_articles]
    assert [part.redirects[i] for i in range(len(part.redirects))] == [
        r for r, title in zip(redirects, leading, strict=True) if title in titles
    ]
    for i in range(len(part.redirects)):
        to = part.article(part.redirects[i])
        assert to == int(part.redirect_articles[i])
        assert part.titles[to] == part.redirects[i].removeprefix("Other name of ")
    assert part.sections[0] == ""
    ledger = json.loads((part.folder / "ledger.json").read_bytes())
    assert ledger["edges_cut_by_kind"] == cut == half.edges_cut
    assert ledger["edges_kept"] == part.edges == half.edges
    assert ledger["edges_seen"] == sum(len(graph.links(old)) for old in origin)
    assert ledger["nodes"] == part.nodes == half.nodes
    return part


@pytest.mark.parametrize("by", ["article", "node"])
def test_halves_are_disjoint_and_nothing_is_lost(
    graph: Graph, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (split_module, subgraph):
        monkeypatch.setattr(module, "_CHUNK", 7)  # many pieces
    halves = split(graph, tmp_path / "out", by=by)  # type: ignore[arg-type]
    number = {name: node for node, name in enumerate(names(graph))}
    found = [check_half(graph, half) for half in halves]
    nodes = [{number[name] for name in names(part)} for part in found]
    assert not nodes[0] & nodes[1]
    assert len(nodes[0] | nodes[1]) == graph.nodes
    assert nodes == [expected_half(graph, by, 0), expected_half(graph, by, 1)]
    assert sum(h.edges + h.cut for h in halves) == graph.edges
    if by == "article":
        assert not {found[0].titles[a] for a in range(found[0].articles)} & {
            found[1].titles[a] for a in range(found[1].articles)
        }


def test_manifest_names_the_source(graph: Graph, tmp_path: Path) -> None:
    train, evaluation = split(graph, tmp_path / "out")
    manifest = Graph.open(train.workspace).manifest
    assert manifest["config"] == {"by": "article", "nodes": None, "half": "train"}
    assert manifest["inputs"] == [{"name": graph.snapshot, "fingerprint": graph.fingerprint}]
    assert manifest["snapshot"] == {"name": "testwiki (train half)", "date": "2018-12-20"}
    assert Graph.open(evaluation.workspace).snapshot == "testwiki (eval half) 2018-12-20"
    assert train.workspace == tmp_path / "out" / "train"


@pytest.mark.parametrize("options", [{}, {"by": "node", "nodes": 20}])
def test_the_same_input_gives_the_same_bytes(
    graph: Graph, options: dict[str, object], tmp_path: Path
) -> None:
    def contents(out: Path) -> dict[str, bytes]:
        split(graph, out, **options)  # type: ignore[arg-type]
        return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}

    first = contents(tmp_path / "a")
    assert first == contents(tmp_path / "b")
    assert first == contents(tmp_path / "a")  # over the earlier one
    assert not [name for name in first if "partial" in name or ".old" in name or "anchors" in name]


def grown(graph: Graph, by: str, parity: int, limit: int) -> set[int]:
    """The plain way: level by level, in the order of rank, whole units until there are enough nodes."""
    unit_of = graph.node_article.tolist() if by == "article" else list(range(graph.nodes))
    edges = [(n, e.target) for n in range(graph.nodes) for e in graph.links(n)]
    degree = np.zeros(max(unit_of) + 1, int)
    for source, target in edges:
        degree[unit_of[target]] += by == "node" or unit_of[source] != unit_of[target]
    ranked = sorted(range(len(degree)), key=lambda u: (-degree[u], u))
    own = ranked[parity::2]
    size = np.bincount(unit_of)
    chosen, level = [own[0]], {own[0]}
    while level and size[chosen].sum() < limit:
        reached = {unit_of[t] for s, t in edges if unit_of[s] in level}
        reached |= {unit_of[s] for s, t in edges if unit_of[t] in level}
        level = {u for u in reached if u in own and u not in chosen}
        for unit in sorted(level, key=ranked.index):
            if size[chosen].sum() < limit:
                chosen.append(unit)
    return {n for n in range(graph.nodes) if unit_of[n] in chosen}


@pytest.mark.parametrize("by", ["article", "node"])
@pytest.mark.parametrize("limit", [1, 5, 23, 60, 10_000])
def test_halves_grow_along_links(graph: Graph, by: str, limit: int, tmp_path: Path) -> None:
    halves = split(graph, tmp_path / "out", by=by, nodes=limit)  # type: ignore[arg-type]
    number = {name: node for node, name in enumerate(names(graph))}
    for parity, half in enumerate(halves):
        part = check_half(graph, half)
        assert {number[name] for name in names(part)} == grown(graph, by, parity, limit)
        assert half.exhausted == (half.nodes < limit) == part.manifest["split"]["exhausted"]
        if by == "node" and not half.exhausted:
            assert half.nodes == limit


def test_a_folder_that_holds_something_else_is_left_alone(graph: Graph, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        split(graph, out)
    assert [p.name for p in out.iterdir()] == ["thesis.txt"]
    with pytest.raises(InputError, match="holds the graph"):
        split(graph, graph.folder.parent)
    with pytest.raises(InputError, match="is a file"):
        split(graph, out / "thesis.txt")
    write_graph(tmp_path / "two" / "train", {"A": [Page("x")]})
    with pytest.raises(InputError, match="no split made"):
        split(graph, tmp_path / "two")
    train, _ = split(graph, tmp_path / "three")
    (train.workspace / "embeddings").mkdir()
    with pytest.raises(InputError, match="embeddings"):
        split(graph, tmp_path / "three")


def test_too_small_to_split(tmp_path: Path) -> None:
    one = write_graph(tmp_path / "one", {"A": [Page("x", [("A", 1, LINK)]), Page("y")]})
    with pytest.raises(InputError, match="fewer than two articles"):
        split(one, tmp_path / "out")
    with pytest.raises(InputError, match="at least one"):
        split(one, tmp_path / "out", nodes=0)
    assert [half.nodes for half in split(one, tmp_path / "out", by="node")] == [1, 1]


@pytest.mark.parametrize(("by", "nodes"), [("article", None), ("article", 30), ("node", None), ("node", 20)])
def test_a_half_knows_its_numbers_in_the_whole(
    graph: Graph, tmp_path: Path, by: By, nodes: int | None
) -> None:
    for half in split(graph, tmp_path / "halves", by=by, nodes=nodes):
        part = Graph.open(half.workspace)
        assert [graph.name(node) for node in nodes_of_half(graph, part).tolist()] == names(part)
        with pytest.raises(InputError, match="no half of"):
            nodes_of_half(part, part)
    with pytest.raises(InputError, match="no half of"):
        nodes_of_half(graph, graph)
