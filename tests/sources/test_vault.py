"""The encyclopedia as a vault of notes is the encyclopedia: the same articles, names and links between articles."""

from pathlib import Path

import numpy as np

from linkwalk.build.build import BuildConfig, build
from linkwalk.graph.store import KINDS, Graph
from linkwalk.shipped import dump_path
from linkwalk.sources.formats import open_source
from linkwalk.sources.source import ReadConfig
from tests.sources.as_vault import write_vault


def article_links(graph: Graph) -> set[tuple[str, str]]:
    """Which article links which."""
    link = np.asarray(graph.out_kinds) == KINDS.index("link")
    blocks = np.repeat(np.arange(graph.nodes), np.diff(graph.out_indptr))
    articles = np.asarray(graph.node_article)
    pairs = np.unique(np.stack((articles[blocks[link]], articles[graph.out_targets[link]]), 1), axis=0)
    return {(graph.titles[a], graph.titles[b]) for a, b in pairs.tolist() if a != b}


def test_the_encyclopedia_as_a_vault_has_the_same_graph(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault")
    dump = dump_path("demo")
    assert dump is not None
    config, reading = BuildConfig(entity_links=False), ReadConfig(contents=False)
    build([open_source(dump)], tmp_path / "dump", config)
    result = build([open_source(tmp_path / "vault", config=reading)], tmp_path / "notes", config)
    old, new = Graph.open(tmp_path / "dump"), Graph.open(tmp_path / "notes")
    assert sorted(new.titles) == sorted(old.titles)
    links = article_links(old)
    assert len(links) > 3000
    assert article_links(new) == links
    names = {name: old.titles[old.article(name) or 0] for name in old.redirects}
    assert {name: new.titles[new.article(name) or 0] for name in new.redirects} == names
    assert len(list((tmp_path / "vault").rglob("Mercury.md"))) == 2
    text = "".join(note.read_text() for note in (tmp_path / "vault").rglob("*.md"))
    assert all(mark in text for mark in ("[[", "![[", "|", "](../", "aliases:"))
    assert result.ledger["damage"] == {}
