"""The bundled encyclopedia is what it says it is: large enough, linked, connected, varied, and true to its claims."""

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from linkwalk import shipped
from linkwalk.build.build import build
from linkwalk.graph.components import strong_components
from linkwalk.graph.store import LINK, Graph
from linkwalk.sources.site import Site
from linkwalk.sources.wikitext.scanner import scan

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "encyclopedia"
SUBJECTS = sorted(p for p in SOURCES.iterdir() if (p / "redirects.tsv").exists())
SITE = Site(namespaces={"File": 6, "Template": 10, "Category": 14})


@pytest.fixture(scope="module")
def editions(encyclopedia: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Graph]:
    assert list(shipped.EDITIONS) == ["demo", "demo2"]
    path = shipped.dump_path("demo2")
    assert path is not None
    later = build([path], tmp_path_factory.mktemp("later") / "demo2").workspace
    return Graph.open(encyclopedia), Graph.open(later)


@pytest.fixture(scope="module")
def graph(editions: tuple[Graph, Graph]) -> Graph:
    return editions[0]


@pytest.fixture(scope="module")
def articles() -> dict[str, str]:
    """Title -> wikitext of every article."""
    return {p.stem.replace("_", " "): p.read_text() for s in SUBJECTS for p in sorted(s.glob("*.wiki"))}


def test_size(graph: Graph, articles: dict[str, str]) -> None:
    assert len(SUBJECTS) >= 12
    assert all(len(list(subject.glob("*.wiki"))) >= 10 for subject in SUBJECTS)
    assert len(articles) >= 200
    assert set(articles) == set(graph.titles.slice(0, graph.articles))
    assert sum(len(scan(text, SITE).text.split()) for text in articles.values()) >= 50_000


def test_articles_have_paragraphs_and_links(articles: dict[str, str]) -> None:
    degrees = []
    for title, text in articles.items():
        found = scan(text, SITE)
        paragraphs = [line for line in found.text.split("\n") if len(line.split()) > 20]
        assert 3 <= len(paragraphs) <= 12, title
        degrees.append(len({SITE.normalise(link.target) for link in found.links}))
        assert degrees[-1] >= 8, title
        assert not re.search(r"[{}\[\]]|''", found.text), title
    assert np.mean(degrees) >= 10


def test_every_link_resolves(graph: Graph) -> None:
    ledger = json.loads((graph.folder / "ledger.json").read_bytes())
    left = {"category", "file", "in table", "in template", "in reference", "list", "disambiguation"}
    assert set(ledger["links"]["unresolved"]) - {"total"} <= left
    assert not ledger["damage"]
    assert ledger["section_links"].get("not found", 0) == 0


def test_every_article_is_reachable_from_every_other(graph: Graph) -> None:
    assert strong_components(graph.forward).count == 1
    # Articles alone, over the authors' links alone.
    edges = np.flatnonzero(graph.out_kinds == LINK)
    source = graph.node_article[np.searchsorted(graph.out_indptr, edges, side="right") - 1]
    target = graph.node_article[graph.out_targets[edges]]
    for a, b in ((source, target), (target, source)):
        reached, level = {0}, {0}
        neighbours: dict[int, set[int]] = {}
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            neighbours.setdefault(x, set()).add(y)
        while level:
            level = set().union(*(neighbours.get(x, set()) for x in level)) - reached
            reached |= level
        assert len(reached) == graph.articles


def test_no_two_paragraphs_are_alike(articles: dict[str, str]) -> None:
    shingles: dict[tuple[str, ...], set[int]] = {}
    paragraphs: list[tuple[str, int]] = []
    for title, text in articles.items():
        for line in scan(text, SITE).text.split("\n"):
            words = re.findall(r"\w+", line.lower())
            if len(words) < 20:
                continue
            for i in range(len(words) - 4):
                shingles.setdefault(tuple(words[i : i + 5]), set()).add(len(paragraphs))
            paragraphs.append((title, len(words) - 4))
    shared: Counter[tuple[int, int]] = Counter()
    for where in shingles.values():
        shared.update(combinations(sorted(where), 2))
    for (a, b), count in shared.items():
        share = count / min(paragraphs[a][1], paragraphs[b][1])
        assert share < 0.2, (paragraphs[a], paragraphs[b], share)


def test_no_two_articles_begin_alike(articles: dict[str, str]) -> None:
    shapes = Counter()
    for title, text in articles.items():
        first = re.sub(
            re.escape(title.split(" (")[0]), "X", scan(text, SITE).text.split("\n")[0], flags=re.IGNORECASE
        )
        shapes[" ".join(first.split()[:7])] += 1
    assert not {shape: count for shape, count in shapes.items() if count > 2}


@pytest.mark.parametrize(
    "syntax",
    [
        r"\{\{Infobox",
        r"^\{\|",
        r"<ref",
        r"<!--",
        r"<nowiki",
        r"<math>",
        r"\[\[File:[^\]]*\|[^\]]*\[\[",
        r"&nbsp;",
        r"\[\[[^\]|]+\|",
        r"\[\[[^\]|]+\]\][a-z]",
        r"\[\[[^\]|#]+#[^\]|]+\|",
        r"^\* ",
        r"\[\[Category:",
    ],
)
def test_the_syntax_of_real_dumps_is_there(articles: dict[str, str], syntax: str) -> None:
    assert sum(bool(re.search(syntax, text, re.MULTILINE)) for text in articles.values()) >= 2


def test_pages_that_are_no_articles(graph: Graph) -> None:
    ledger = json.loads((graph.folder / "ledger.json").read_bytes())
    skipped = ledger["pages"]["skipped"]
    assert skipped["redirect"] >= 30
    assert skipped["disambiguation"] >= 2
    assert skipped["list"] >= 1
    assert skipped["category"] >= 12


def sentences(graph: Graph, title: str) -> set[str]:
    article = graph.article(title)
    assert article is not None, title
    return {s for node in graph.article_blocks(article).tolist() for s in graph.block(node).sentences}


def test_claims(graph: Graph) -> None:
    claims = shipped.claims()
    assert len(claims) >= 100
    labels = Counter(claim["label"] for claim in claims)
    assert set(labels) == {"SUPPORTS", "REFUTES"}
    assert min(labels.values()) >= 30
    for claim in claims:
        assert claim["sentence"] in sentences(graph, claim["article"]), claim
        assert claim["claim"] != claim["sentence"]
    assert len({claim["claim"] for claim in claims}) == len(claims)


def test_questions(graph: Graph) -> None:
    questions = shipped.questions()
    assert len(questions) >= 60
    assert sum(len({e["article"] for e in q["evidence"]}) > 1 for q in questions) >= 20
    for question in questions:
        for evidence in question["evidence"]:
            assert evidence["sentence"] in sentences(graph, evidence["article"]), evidence
        text = " ".join(e["sentence"] for e in question["evidence"])
        assert question["answer"].lower() in text.lower(), question


def test_the_second_edition_differs_as_snapshots_do(editions: tuple[Graph, Graph]) -> None:
    old, new = (set(g.titles.slice(0, g.articles)) for g in editions)
    assert len(new - old) >= 10
    assert len(old - new) >= 10
    assert len(old & new) >= 180
    renamed = editions[1].article("Yangtze")
    assert renamed is not None
    assert editions[1].titles[renamed] == "Yangtze River"


def test_the_packed_files_are_those_of_the_sources(tmp_path: Path) -> None:
    """Packing again gives the same bytes, so the sources and what ships cannot drift apart."""
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import pack; "
        "pack.TARGET = Path(sys.argv[2]); pack.main()"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(SOURCES), str(tmp_path)], check=True, capture_output=True
    )
    packed = sorted(tmp_path.iterdir())
    assert len(packed) == 4
    for path in packed:
        shipped = ROOT / "src" / "linkwalk" / "shipped" / path.name
        assert shipped.read_bytes() == path.read_bytes(), (
            f"run python encyclopedia/pack.py: {path.name} is stale"
        )
        assert path.stat().st_size < 400_000
