import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.errors import InputError
from linkwalk.graph.store import TYPES, Graph
from linkwalk.sources import packed
from linkwalk.sources.wikitext import mediawiki
from tests.conftest import (
    Maker,
    P,
    assert_same_files,
    cut_anywhere,
    graph_files,
    multistream,
    prose,
    to_xml,
    world,
    write_dump,
)


@pytest.fixture(scope="module")
def pages() -> list[P]:
    return world()


@pytest.fixture(scope="module")
def expected(pages: list[P], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("plain")
    build([write_dump(folder / "x.xml", pages)], folder / "wiki")
    return graph_files(folder / "wiki")


def test_the_world_has_something_of_everything(expected: dict[str, bytes]) -> None:
    ledger, counts = json.loads(expected["ledger.json"]), json.loads(expected["manifest"])["counts"]
    assert all(counts["edges_by_kind"][kind] > 0 for kind in TYPES)
    assert counts["nodes"] > counts["articles"]
    assert set(ledger["pages"]["skipped"]) == {
        "redirect",
        "category",
        "other namespace",
        "disambiguation",
        "list",
        "short",
        "duplicate title",
    }
    assert ledger["section_links"]["found"] > 0
    assert ledger["redirects"]["redirect loop"] == 2


@pytest.mark.parametrize("suffix", [".xml.bz2", ".xml.gz", ".xml.xz"])
def test_the_same_graph_whatever_the_packing(
    tmp_path: Path, pages: list[P], expected: dict[str, bytes], suffix: str
) -> None:
    build([write_dump(tmp_path / f"x{suffix}", pages)], tmp_path / "wiki")
    assert_same_files(graph_files(tmp_path / "wiki"), expected)


@pytest.mark.parametrize("anywhere", [False, True])
def test_the_same_graph_from_many_streams(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pages: list[P],
    expected: dict[str, bytes],
    anywhere: bool,
) -> None:
    monkeypatch.setattr(mediawiki, "RANGE_BYTES", 3000)
    streams = cut_anywhere(to_xml(pages), 17) if anywhere else multistream(pages)
    (tmp_path / "x.xml.bz2").write_bytes(b"".join(streams))
    build([tmp_path / "x.xml.bz2"], tmp_path / "wiki")
    assert_same_files(graph_files(tmp_path / "wiki"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("chunk_bytes", [1, 4000, 30_000])
def test_the_same_graph_wherever_the_dump_is_cut(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pages: list[P],
    expected: dict[str, bytes],
    chunk_bytes: int,
) -> None:
    monkeypatch.setattr(packed, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(packed, "READ_BYTES", 3000)
    build([write_dump(tmp_path / "x.xml", pages)], tmp_path / "wiki")
    assert_same_files(graph_files(tmp_path / "wiki"), expected)


def test_the_same_graph_from_several_files(
    tmp_path: Path, pages: list[P], expected: dict[str, bytes]
) -> None:
    parts = [
        write_dump(tmp_path / "a.xml.bz2", pages[:11]),
        write_dump(tmp_path / "b.xml", pages[11:12]),
        write_dump(tmp_path / "c.xml.gz", pages[12:]),
    ]
    build(parts, tmp_path / "wiki")
    assert_same_files(graph_files(tmp_path / "wiki"), expected)


@pytest.mark.slow
def test_the_same_graph_from_two_workers(tmp_path: Path, pages: list[P], expected: dict[str, bytes]) -> None:
    parts = [write_dump(tmp_path / f"{i}.xml", pages[i::1][:9]) for i in range(0, len(pages), 9)]
    build(parts, tmp_path / "wiki", workers=2)
    assert_same_files(graph_files(tmp_path / "wiki"), expected)


def test_a_block_that_begins_with_a_bracket_is_linked_alike_in_any_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [P("Emu", prose(50))]
    pages += [P(f"Link {i}", f"[[Emu|running bird]] {prose(50, seed=i)}") for i in range(3)]
    pages += [P(f"Page {i}", f"(Running bird) {prose(50, seed=i)}") for i in range(6)]
    path = write_dump(tmp_path / "x.xml", pages)
    build([path], tmp_path / "one")
    monkeypatch.setattr(packed, "CHUNK_BYTES", 1)
    monkeypatch.setattr(packed, "READ_BYTES", 200)
    build([path], tmp_path / "many")
    assert_same_files(graph_files(tmp_path / "many"), graph_files(tmp_path / "one"))


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz"])
def test_json_lines_give_edges_from_titles_alone(make: Maker, suffix: str) -> None:
    built = make(
        [
            P("Mercury", f"Mercury is near. {prose(50)}\n\n{prose(30)} Then came Venus Express."),
            P("Venus Express", f"It left for Mercury. {prose(50)}"),
            P("Stub", "Tiny."),
        ],
        suffix=suffix,
    )
    assert built.linked("Venus Express", "entity") == [("Mercury (0)", "Mercury")]
    assert ("Venus Express (0)", "Venus Express") in built.linked("Mercury", "entity")
    assert built.ledger["pages"] == {"read": 3, "kept": 2, "skipped": {"short": 1}}
    assert built.graph.manifest["counts"]["edges_by_kind"]["link"] == 0
    text = built.graph.block(built.graph.find("Mercury")).text
    assert text.count("\n") == 1


def test_json_lines_with_anchors_of_another_wiki(make: Maker) -> None:
    teacher = [P("Moon", prose(60)), P("Apollo 11", prose(60))]
    teacher += [P(f"Page {i}", f"{prose(40, i)} They saw [[Moon|our satellite]] rise.") for i in range(9)]
    learnt = make(teacher)
    plain = [P("Moon", prose(60)), P("Story", f"{prose(60)} They saw our satellite rise.")]
    assert make(plain, suffix=".jsonl").linked("Story", "entity") == []
    built = make(plain, suffix=".jsonl", anchors=learnt.graph.folder.parent)
    assert built.linked("Story", "entity") == [("Moon (0)", "our satellite")]
    inputs = built.graph.manifest["inputs"]
    assert inputs[-1]["fingerprint"] == learnt.graph.fingerprint


def test_anchors_need_a_wiki_that_has_them(make: Maker) -> None:
    learnt = make([P("Moon", prose(60))], entity_links=False)
    with pytest.raises(InputError, match="has no anchor statistics"):
        make([P("Moon", prose(60))], anchors=learnt.graph.folder.parent)


# Edges.


def test_blocks_of_an_article_are_a_chain(make: Maker) -> None:
    built = make([P("Long", prose(450)), P("Next", prose(150))], entity_links=False)
    graph = built.graph
    long, after = graph.article_blocks(0), graph.article_blocks(1)
    assert len(long) > 3
    for blocks in (long, after):
        for i, node in enumerate(blocks.tolist()):
            row = [(e.kind, e.target, e.start, e.end, e.anchor) for e in graph.links(node)]
            before = [("prev", node - 1, 0, 0, "")] if i else []
            assert row == before + ([("next", node + 1, 0, 0, "")] if i + 1 < len(blocks) else [])
    assert graph.node_block.tolist() == [*range(len(long)), *range(len(after))]


def test_links_lead_to_the_first_block_or_the_section_asked_for(make: Maker) -> None:
    target = f"{prose(250)}\n== Über uns ==\n{prose(150, 1)}\n=== Deep ===\n{prose(60, 2)}"
    target += f"\n== Last ==\n{prose(50, 3)}"
    links = (
        "[[Target]] [[target#Über_uns|a]] [[Target#über uns|again]] [[Target#Deep|b]] [[Target#Last|end]] "
        "[[Target#No such|c]] [[Alias|d]] [[Alias#Deep|e]]"
    )
    built = make(
        [
            P("Target", target),
            P("Source", f"{links} {prose(40)}"),
            P("Alias", "#REDIRECT [[Target#Über uns]]", redirect="Target"),
        ],
        entity_links=False,
    )
    graph = built.graph
    blocks = graph.article_blocks(0)
    section = [graph.block(int(node)).section for node in blocks]
    uber = f"Target ({section.index('Über uns')})"
    deep = next(edge[0] for edge in built.linked("Source") if edge[1] == "b")
    assert built.linked("Source") == [
        ("Target (0)", "Target"),
        (uber, "a"),
        (deep, "b"),
        (f"Target ({section.index('Last')})", "end"),
    ]
    assert prose(60, 2)[:40] in graph.block(graph.find(deep)).text
    assert built.ledger["section_links"] == {"found": 6, "not found": 1}
    assert built.ledger["links"]["resolved"] == {
        "total": 8,
        "edges": 4,
        "merged with another edge of the block": 4,
    }


def test_a_span_is_the_anchor_as_shown(make: Maker) -> None:
    text = "Été «[[Déjà vu|''déjà'' vu]]» 東京 [[comet]]s, [[Naïve (art)|]], [[Comet]] 😀 [[déjà vu]]. "
    built = make(
        [
            P("Déjà vu", prose(50)),
            P("Comet", prose(50)),
            P("Naïve (art)", prose(50)),
            P("S", text + prose(40)),
        ],
        entity_links=False,
    )
    assert built.linked("S") == [
        ("Déjà vu (0)", "déjà vu"),
        ("Comet (0)", "comets"),
        ("Naïve (art) (0)", "Naïve"),
    ]
    graph = built.graph
    block = graph.block(graph.find("S"))
    for edge in graph.links(block.node):
        assert block.text[edge.start : edge.end] == edge.anchor


def test_links_to_the_own_block_are_no_edges(make: Maker) -> None:
    text = f"[[Self]] and [[#Later|below]]. {prose(120)}\n== Later ==\n{prose(220)} [[Self|up]]"
    built = make([P("Self", text)], entity_links=False)
    assert built.edges("Self")[0] == ("next", "Self (1)", "")
    assert built.ledger["links"]["resolved"]["to its own block"] == 1
    last = built.graph.name(built.graph.nodes - 1)
    assert built.linked(last) == [("Self (0)", "up")]


def test_a_link_to_the_next_block_is_one_edge(make: Maker) -> None:
    text = f"See [[#Later|below]]. {prose(60)}\n== Later ==\n{prose(60)}"
    built = make([P("Self", text)], entity_links=False)
    assert built.edges("Self") == [("next", "Self (1)", "")]
    assert built.ledger["links"]["resolved"]["merged with another edge of the block"] == 1


def test_what_an_article_links_once_is_linked_where_it_is_mentioned_again(make: Maker) -> None:
    far = f"{prose(150, 3)} The probe met Deimos again. {prose(40, 4)}"
    built = make(
        [
            P("Deimos", prose(60)),
            P("Mars", f"Its moon is [[Deimos]]. {prose(150)}\n== Probes ==\n{far}"),
            P("Bread", f"{prose(60)} Nobody knows."),
        ]
    )
    graph = built.graph
    mars = [graph.name(int(node)) for node in graph.article_blocks(1)]
    assert built.linked(mars[0]) == [("Deimos (0)", "Deimos")]
    carried = [edge for name in mars[1:] for edge in built.linked(name, "entity")]
    assert carried == [("Deimos (0)", "Deimos")]
    assert make([P("Deimos", prose(60)), P("Mars", far)], entity_links=False).ledger["entity_links"] == {}


def test_titles_are_found_by_any_spelling(make: Maker) -> None:
    built = make(
        [
            P("Comet", prose(60)),
            P("École normale", prose(60)),
            P("AT&T", prose(60)),
            P("Hairy star", "#REDIRECT [[Comet]]", redirect="Comet"),
            P("Old", "#REDIRECT [[Hairy star]]", redirect="Hairy star"),
            P("Lost", "#REDIRECT [[Gone]]", redirect="Gone"),
        ]
    )
    graph = built.graph
    for name in ("Comet", "comet", " Comet ", "hairy_star", "Old", "Comet (0)"):
        assert graph.find(name) == 0
    assert graph.name(graph.find("école  normale")) == "École normale (0)"
    assert graph.name(graph.find("AT&T")) == "AT&T (0)"
    with pytest.raises(InputError, match="did you mean 'Comet'"):
        graph.find("Commet")
    with pytest.raises(InputError, match="no article named 'Lost'"):
        graph.find("Lost")
    with pytest.raises(InputError, match="has no block 7"):
        graph.find("Comet (7)")


def test_in_links_are_the_out_links_turned_round(make: Maker, pages: list[P]) -> None:
    graph = make(pages).graph
    incoming: list[list[int]] = [[] for _ in range(graph.nodes)]
    for node in range(graph.nodes):
        for edge in graph.links(node):
            incoming[edge.target].append(node)
    assert [graph.reverse.row(node).tolist() for node in range(graph.nodes)] == incoming


def test_every_block_is_sound(make: Maker, pages: list[P]) -> None:
    graph = make(pages).graph
    for node in range(graph.nodes):
        block = graph.block(node)
        assert "".join(block.text.split()) == "".join("".join(block.sentences).split())
        targets = [edge.target for edge in graph.links(node)]
        assert len(targets) == len(set(targets))
        assert node not in targets
        starts = [edge.start for edge in graph.links(node) if edge.kind in ("link", "entity")]
        assert starts == sorted(starts)


# The books.

_TITLES = ["Alpha", "Beta", "Gamma", "List of x", "Category:C", "Delta (disambiguation)", "", "Alpha"]
_LINKS = """[[Alpha]] · [[beta|b]] · [[Gamma#S|g]] · [[Nowhere]] · [[:Category:C]] · [[Category:C]] · [[List of x]] ·
[[File:a.jpg|[[Beta]]]] · {{t|[[Alpha]]}} · <!-- [[Beta]] --> · [[de:Alpha]] · [[]] · [[Alpha · x"""
_LINK = st.sampled_from([link.strip() for link in _LINKS.split("·")])
_TEXT = st.lists(_LINK, max_size=6).map(" ".join)
_PAGE = st.builds(
    P,
    title=st.sampled_from(_TITLES),
    text=st.one_of(
        _TEXT,
        _TEXT.map(lambda text: f"{text} {prose(30)}\n== S ==\n{text}"),
        st.sampled_from(_TITLES).map(lambda title: f"#REDIRECT [[{title}]]"),
    ),
    namespace=st.sampled_from([0, 0, 0, 0, 1, 14]),
    model=st.sampled_from(["wikitext", "wikitext", "wikitext", "css"]),
)


@settings(max_examples=40, deadline=None)
@given(pages=st.lists(_PAGE, max_size=8), entity_links=st.booleans())
def test_the_books_balance(pages: list[P], entity_links: bool) -> None:
    pages = [*pages, P("Kept", prose(60) + " [[Alpha]] [[Beta]]")]
    with tempfile.TemporaryDirectory() as folder:
        path = write_dump(Path(folder) / "x.xml", pages)
        ledger = build([path], Path(folder) / "wiki", BuildConfig(entity_links=entity_links)).ledger
        graph = Graph.open(Path(folder) / "wiki")
        counts = graph.manifest["counts"]
        titles = graph.titles.slice(0, graph.articles)
    skipped = sum(ledger["pages"]["skipped"].values())
    assert ledger["pages"]["read"] == len(pages) == ledger["pages"]["kept"] + skipped
    assert ledger["pages"]["kept"] == counts["articles"] == len(set(titles))
    links = ledger["links"]
    for side in ("resolved", "unresolved"):
        assert links[side]["total"] == sum(n for name, n in links[side].items() if name != "total")
    assert links["seen"] == links["resolved"]["total"] + links["unresolved"]["total"]
    assert links["resolved"].get("edges", 0) == counts["edges_by_kind"]["link"]
    assert ledger["entity_links"].get("edges", 0) == counts["edges_by_kind"]["entity"]


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(_TEXT, min_size=1, max_size=5))
def test_no_link_is_lost(texts: list[str]) -> None:
    pages = [P(f"Page {i}", f"{prose(40)}\n\n{text}\n\n{prose(10)}") for i, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        path = write_dump(Path(folder) / "x.xml", pages)
        ledger = build([path], Path(folder) / "wiki", BuildConfig(entity_links=False)).ledger
    written = sum(len(re.findall(r"\[\[[^\[\]]+(?:\[\[[^\[\]]*\]\])?\]\]", page.text)) for page in pages)
    nested = sum(page.text.count("[[File:a.jpg|[[Beta]]]]") for page in pages)
    assert ledger["links"]["seen"] == written + nested


def test_the_ledger_knows_every_reason(make: Maker) -> None:
    links = (
        "[[Alpha]] [[Ring]] [[Dead]] [[Nowhere]] [[Tiny]] [[To tiny]] [[Many (disambiguation)]] [[de:X]] "
        "[[wikt:word]] [[Category:C]] [[:Category:C|c]] <ref>[[Alpha]]</ref> {{box|[[Alpha]]}} [[List of x]]"
    )
    built = make(
        [
            P("Alpha", prose(60)),
            P("Beta", f"{links} {prose(60)}"),
            P("Ring", "#REDIRECT [[Ring]]", redirect="Ring"),
            P("Dead", "#REDIRECT [[Nowhere]]", redirect="Nowhere"),
            P("Tiny", "Tiny."),
            P("To tiny", "#REDIRECT [[Tiny]]", redirect="Tiny"),
            P("Many (disambiguation)", prose(60)),
            P("List of x", prose(60)),
        ],
        entity_links=False,
    )
    unresolved = built.ledger["links"]["unresolved"]
    for reason in (
        "redirect loop",
        "redirect to a missing page",
        "missing page",
        "short",
        "redirect to a page left out",
        "disambiguation",
        "list",
        "interlanguage",
        "interwiki",
        "category",
        "namespace",
        "in template",
    ):
        assert unresolved.pop(reason) == 1, reason
    assert unresolved.pop("total") == 12 + sum(unresolved.values())
    assert sum(unresolved.values()) == 1  # the one in the reference
    assert built.ledger["links"]["resolved"]["total"] == 1
    redirects = built.ledger["redirects"]
    assert redirects["redirect loop"] == redirects["redirect to a missing page"] == 1
    assert redirects["redirect to a page left out"] == 1
    assert built.ledger["damage"] == {"redirect loop": 1}


def test_the_manifest_names_options_input_and_snapshot(make: Maker) -> None:
    manifest = make(
        [P("A", prose(60)), P("B", prose(60), timestamp="2022-11-12T00:00:00Z")], block_words=50
    ).graph.manifest
    assert manifest["snapshot"] == {"name": "Testwiki", "language": "en", "date": "2022-11-12"}
    assert manifest["config"]["extract"]["block_words"] == 50
    assert [set(entry) for entry in manifest["inputs"]] == [{"name", "bytes", "fingerprint"}]
    assert len(manifest["fingerprint"]) == 32


def test_pages_without_a_word_are_no_articles(make: Maker) -> None:
    built = make(
        [P("Empty", ""), P("Hidden", "{{x}}<!-- y -->"), P("A", "One."), P("B", "[[Empty]] [[A]]")],
        min_chars=0,
    )
    assert built.ledger["pages"] == {"read": 4, "kept": 2, "skipped": {"short": 2}}
    assert built.linked("B") == [("A (0)", "A")]
    assert np.diff(np.append(built.graph.article_node, built.graph.nodes)).min() > 0


def test_keep_tables_and_prose_only_change_the_text(make: Maker) -> None:
    page = P("A", prose(60) + "\n* An item.\n{|\n| cell one || cell two\n|}\n")
    texts = {
        name: make([page], **options).graph.block(0).text
        for name, options in (("", {}), ("tables", {"keep_tables": True}), ("prose", {"prose_only": True}))
    }
    assert ("An item." in texts[""], "cell one" in texts[""]) == (True, False)
    assert "cell one" in texts["tables"]
    assert "An item." not in texts["prose"]


def test_several_dumps_keep_the_first_of_two_pages(tmp_path: Path) -> None:
    first = write_dump(tmp_path / "1.xml", [P("A", "First. " + prose(60)), P("B", prose(60))])
    second = write_dump(tmp_path / "2.xml", [P("A", "Second. " + prose(60)), P("C", prose(60))])
    config = BuildConfig(extract=ExtractConfig())
    result = build([first, second], tmp_path / "wiki", config)
    graph = Graph.open(tmp_path / "wiki")
    assert graph.titles.slice(0, 3) == ["A", "B", "C"]
    assert graph.block(0).text.startswith("First.")
    assert result.ledger["damage"] == {"duplicate title": 1}
    assert [entry["name"] for entry in result.manifest["inputs"]] == ["1.xml", "2.xml"]
