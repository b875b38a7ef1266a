"""Titles as one types them, held to looking at every name."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk import Wiki
from linkwalk.artifact import faults, locked
from linkwalk.errors import InputError
from linkwalk.graph.store import LINK, Graph
from linkwalk.wiki import titles
from linkwalk.wiki.titles import Titles, fold
from tests.graph.conftest import Page, write_graph
from tests.retrieve.test_bm25 import unseal
from tests.retrieve.test_damaged_index import flip
from tests.wiki.conftest import HOSTILE


def brute(graph: Graph, words: str, count: int) -> list[int]:
    """Every name, one by one; of equal weight, what comes first in 32 bytes of the alphabet."""
    typed = fold(words.replace("\n", " "))
    names = [(graph.titles[a], a, 1) for a in range(graph.articles)]
    names += [(graph.redirects[r], int(graph.redirect_articles[r]), 2) for r in range(len(graph.redirects))]
    folded = [fold(name.replace("\n", " ")) for name, _, _ in names]
    text = "".join(f"{name}\n" for name in folded)
    tiers: list[list[tuple[int, bytes, int, int]]] = [[], [], []]
    at = 0
    for name, (_, article, part) in zip(folded, names, strict=True):
        weight = (len(graph.reverse.row(int(graph.article_node[article]))) + 1) // part
        for start in {0, *(m.start() for m in WORD.finditer(name))}:
            if name[start:].startswith(typed):
                tier = 2 if start else 0 if name == typed else 1
                tiers[tier].append((-weight, text[at + start :].encode()[:32], at + start, article))
        at += len(name) + 1
    return list(dict.fromkeys(article for tier in tiers for *_, article in sorted(tier)))[:count]


WORD = re.compile(r"(?<![0-9a-z\x80-\U0010ffff])[0-9a-z\x80-\U0010ffff]")
PARTS = [
    "new",
    "York",
    "Zürich",
    "ab",
    "a",
    "b",
    "(band)",
    "O'Neil",
    "AC/DC",
    "–",
    "東京",
    "x" * 40,
    "ß",
    "İ",
    "N–S",
]
ONE = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map(" ".join)
NAMES = st.lists(ONE, min_size=1, max_size=12, unique=True)


@settings(max_examples=60, deadline=None)
@given(NAMES, st.data())
def test_found_as_by_looking_at_every_name(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("titles")
    own = names[: max(1, len(names) * 2 // 3)]
    links = [data.draw(st.lists(st.sampled_from(own), max_size=3)) for _ in own]
    pages = {
        name: [Page("abcdefghij" * 4, [(to, 0, LINK) for to in targets])]
        for name, targets in zip(own, links, strict=True)
    }
    graph = write_graph(folder, pages, redirects=dict.fromkeys(names[len(own) :], own[0]))
    name = data.draw(st.sampled_from(names))
    start = data.draw(st.integers(0, len(name)))
    words = name[start : data.draw(st.integers(start, len(name)))]
    found = list(Titles.of(graph).find(words, 3))
    if not fold(words):
        assert found == []
    elif expected := brute(graph, words, 3):  # and else what looks alike
        assert found == expected
    shutil.rmtree(folder)


def test_what_people_type(known: Wiki) -> None:
    def titles(words: str, count: int = 8) -> list[str]:
        return [place.title for place in known.titles(words, count)]

    assert titles("star")[0] == "Star"
    assert titles("coral")[0] == titles("CORAL REEF")[0] == titles("Córal  reef ")[0] == "Coral reef"
    assert titles("Coral reef (2)") == titles("Coral reef (") == ["Coral reef"]
    assert titles("lovel") == ["Ada Lovelace"]
    assert titles("adda lovlace")[0] == titles("Lovlace, Ada")[0] == "Ada Lovelace"
    assert known.titles("adda lovlace", alike=False) == []
    assert titles("") == titles(" \n") == titles("qqqqqqq") == titles("(") == []
    assert len(titles("s", 5)) == 5
    assert all(place.block == 0 for place in known.titles("c", 50))
    assert known.titles("c", 3) == known.titles("c", 50)[:3]
    with pytest.raises(InputError, match="1 or more"):
        known.titles("c", 0)


def test_redirects_lead_to_their_article_once(known: Wiki) -> None:
    graph = known.graph
    for number in range(len(graph.redirects)):
        found = known.titles(graph.redirects[number])
        assert found[0].node == graph.article_node[graph.redirect_articles[number]]
        assert len({place.title for place in found}) == len(found)


def test_of_equals_the_more_linked_to_comes_first(known: Wiki) -> None:
    counts = [len(known.graph.reverse.row(place.node)) for place in known.titles("m", 8)]
    begin = [place.title.lower().startswith("m") for place in known.titles("m", 8)]
    assert all(begin)
    assert counts == sorted(counts, reverse=True)


def test_hostile_titles_are_found_as_they_are(hostile: Wiki) -> None:
    for node, title in enumerate(HOSTILE):
        assert hostile.titles(title)[0].node == node, title
        assert hostile.titles(title)[0].title == title
    for words in ("\ud800", "\x00", "%", "\\", "a" * 10_000, ".*", "‮"):
        assert isinstance(hostile.titles(words), list)


def test_what_is_long_to_make_is_kept(
    encyclopedia: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "_WORTH_KEEPING", 1)
    wiki = Path(shutil.copytree(encyclopedia, tmp_path / "wiki"))
    graph = Graph.open(wiki)
    made = Titles.open(wiki, graph)
    files = {path: path.stat().st_mtime_ns for path in (wiki / "titles").iterdir()}
    kept = Titles.open(wiki, graph)
    assert {path: path.stat().st_mtime_ns for path in (wiki / "titles").iterdir()} == files
    assert not list(wiki.glob("*.partial"))
    for words in ("c", "coral", "sea", "adda lovlace"):
        assert made.find(words, 9) == kept.find(words, 9) == Titles.of(graph).find(words, 9)
    for damage in (
        lambda: (wiki / "titles" / "text.npy").write_bytes(b""),
        lambda: graph.manifest.update(fingerprint="other"),
    ):
        damage()
        assert Titles.open(wiki, graph).find("coral", 9) == made.find("coral", 9)
    shutil.rmtree(wiki / "titles")
    (wiki / "titles").write_text("in the way")
    wiki.chmod(0o555)
    try:
        assert Titles.open(wiki, graph).find("coral", 9) == made.find("coral", 9)
    finally:
        wiki.chmod(0o755)


def test_slips_among_many_are_looked_for_near_what_was_typed(
    known: Wiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "_SMALL", 0)
    index = Titles.of(known.graph)
    assert index.find("q w e r t y " * 5000, 1) == ()
    for words in ("adda lovelace", "ada lovlace", "coarl reef"):
        assert index.find(words, 1), words
        expected = "Ada Lovelace" if "ad" in words else "Coral reef"
        assert known.graph.titles[index.find(words, 1)[0]] == expected


def test_folding_many_at_once_is_folding_each() -> None:
    names = ["Ærø", "ZÜRICH", " a  b ", "´x", "Ⅷ", "ﬁ", "İstanbul", "ẞ", "naïve\u00a0x", "²"]
    assert fold("\n".join(names)).split("\n") == [fold(name) for name in names]
    assert [fold(name) for name in names[:3]] == ["aero", "zurich", "a b"]
    assert np.all([fold(fold(name)) == fold(name) for name in names])


@pytest.fixture
def kept(encyclopedia: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that keeps its titles."""
    monkeypatch.setattr(titles, "_WORTH_KEEPING", 1)
    wiki = Path(shutil.copytree(encyclopedia, tmp_path / "wiki"))
    Titles.open(wiki, Graph.open(wiki))
    return wiki


def beyond(path: Path) -> None:
    values = np.load(path)
    values[len(values) // 2] = -1 if values.dtype.kind == "i" else 99
    np.save(path, values)


@pytest.mark.parametrize(
    "damage",
    [
        flip,
        beyond,
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: np.save(path, np.zeros(5)),
        lambda path: np.save(path, np.load(path)[:-1]),
    ],
)
@pytest.mark.parametrize("sealed", [True, False])
def test_damaged_titles_are_made_anew(kept: Path, damage: Callable[[Path], object], sealed: bool) -> None:
    graph, folder = Graph.open(kept), kept / "titles"
    expected = [Titles.of(graph).find(words, 9) for words in ("coral", "c", "adda lovlace")]
    for name in ("text", "bounds", "firsts_starts", "firsts_names", "others_starts", "others_names"):
        before = Path(shutil.copytree(folder, kept / "before"))
        damage(folder / f"{name}.npy")
        if not sealed:
            unseal(folder)
        opened = Titles.open(kept, graph)
        found = [opened.find(words, 9) for words in ("coral", "c", "adda lovlace")]
        if sealed or damage not in (flip, beyond):
            assert found == expected, name
            assert not list(faults(folder, "titles"))
            assert (folder / f"{name}.npy").read_bytes() == (before / f"{name}.npy").read_bytes()
        shutil.rmtree(folder)
        before.rename(folder)


def test_titles_that_another_process_keeps_are_made_in_memory(kept: Path) -> None:
    graph = Graph.open(kept)
    shutil.rmtree(kept / "titles")
    with locked(kept / "titles"):
        assert Titles.open(kept, graph).find("coral", 9) == Titles.of(graph).find("coral", 9)
        assert not (kept / "titles").exists()
    Titles.open(kept, graph)
    assert not list(faults(kept / "titles", "titles"))


def test_titles_of_the_version_before(kept: Path) -> None:
    graph = Graph.open(kept)
    unseal(kept / "titles")
    before = (kept / "titles" / "manifest.json").read_bytes()
    assert Titles.open(kept, graph).find("coral", 9) == Titles.of(graph).find("coral", 9)
    assert (kept / "titles" / "manifest.json").read_bytes() == before
