"""JSON lines: links as spans or in the text's own markup, and what is wrong with them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.embed.text import choose_encoder
from linkwalk.graph.store import Graph
from linkwalk.retrieve.stems import stem_for
from linkwalk.sources.documents import Document
from linkwalk.sources.formats import open_source
from linkwalk.sources.jsonlines import JsonLines
from linkwalk.sources.source import ReadConfig
from tests.sources.test_markdown import clicks

PROSE = "Milk is white, and many animals give it to their young. " * 5


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


def read(folder: Path, *records: Any, damage: Counter[str] | None = None, **options: Any) -> list[Document]:
    source = JsonLines(write(folder / "x.jsonl", list(records)), ReadConfig(**options))
    damage = Counter() if damage is None else damage
    return [d for piece, _ in source.pieces() for d in source.documents(piece, damage)]


def span(text: str, words: str, target: Any = "Milk", **more: Any) -> dict[str, Any]:
    start = text.index(words)
    return {"start": start, "end": start + len(words), "target": target, **more}


def test_links_as_spans(tmp_path: Path) -> None:
    text = "A 𝔟𝔞𝔯 of butter is made\nof cream, see uses."
    links = [span(text, "uses", "Milk", fragment="Uses"), span(text, "butter", "/butter")]
    (page,) = read(tmp_path, {"title": "x", "text": text, "links": links, "url": "/x", "parent": "Food"})
    assert clicks(page) == [("uses", "Milk", "Uses"), ("butter", "/butter", "")]
    assert (page.address, page.parent) == ("/x", "Food")


def test_text_in_markup_of_its_own(tmp_path: Path) -> None:
    wiki = "'''Butter''' is made of [[milk|cream]] and [[salt]]s. [[File:x.png]]\n== Use ==\nOn [[bread#Rye|rye]]."
    mark = "**Butter** is made of [cream](Milk) and [[Salt]].\n\n## Use\n\nOn [rye](Bread#rye), [no](https://x.org)."
    (page,) = read(tmp_path, {"title": "Butter", "text": wiki, "markup": "wikitext"})
    assert clicks(page) == [("cream", "milk", ""), ("salts", "salt", ""), ("rye", "bread", "Rye")]
    assert [heading.title for heading in page.headings] == ["Use"]
    assert page.counts == {"file": 1}
    (page,) = read(tmp_path, {"title": "Butter", "text": mark, "markup": "markdown"})
    assert clicks(page) == [("cream", "Milk", ""), ("Salt", "Salt", ""), ("rye", "Bread", "rye")]
    assert page.counts == {"external": 1}


def test_the_files_markup_is_stated_and_never_guessed(tmp_path: Path) -> None:
    pages = [
        {"title": "a", "text": "[[Milk]]"},
        {"title": "b", "text": "[[Milk]] and [[Salt]]", "markup": "plain"},
    ]
    first, second = read(tmp_path, *pages)
    assert (first.text, first.links, first.counts) == ("[[Milk]]", [], {"double brackets in plain text": 1})
    assert second.counts == {"double brackets in plain text": 2}
    first, second = read(tmp_path, *pages, markup="wikitext")
    assert clicks(first) == [("Milk", "Milk", "")]
    assert second.text == "[[Milk]] and [[Salt]]"


def at(start: Any, end: Any, target: Any = "x", **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, "target": target, **more}


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ([at(0, 99), at(-1, 2), at(2, 2), at(3, 2), at(10**30, 10**31)], "span out of the text"),
        ([None, 7, [], {}, at("0", 1), at(True, 2), at(0, 1.0)], "broken entry of `links`"),
        ([at(0, 1, None), at(0, 1, ["x"]), at(0, 1, fragment=3)], "broken entry of `links`"),
    ],
)
def test_links_that_are_none_are_counted_and_the_page_is_kept(
    tmp_path: Path, links: list[Any], reason: str
) -> None:
    (page,) = read(tmp_path, {"title": "x", "text": "One two three", "links": [*links, at(4, 7, "Milk")]})
    assert clicks(page) == [("two", "Milk", "")]
    assert page.counts == {reason: len(links)}


def test_wrong_types_are_counted_and_the_page_is_kept(tmp_path: Path) -> None:
    damage: Counter[str] = Counter()
    wrong = {
        "title": "x",
        "text": "y",
        "links": {},
        "url": 3,
        "parent": [],
        "redirect": 5,
        "markup": "troff",
        "language": 7,
    }
    beside = {
        "title": "z",
        "text": "y",
        "markup": "markdown",
        "links": [{"start": 0, "end": 1, "target": "x"}],
    }
    first, second = read(tmp_path, wrong, beside, damage=damage)
    assert (first.title, first.text, first.address, first.redirect) == ("x", "y", "", None)
    assert second.counts == {"beside markup": 1}
    assert damage == {
        "`links` that are no list (ignored)": 1,
        "`url` that is no text (ignored)": 1,
        "`parent` that is no text (ignored)": 1,
        "`redirect` that is no text (ignored)": 1,
        "unknown markup (read as plain text)": 1,
        "`links` beside markup (ignored)": 1,
    }


def test_redirects_and_the_language(tmp_path: Path) -> None:
    pages = read(
        tmp_path,
        {"title": "Cream", "redirect": "Milk#Uses", "language": "de"},
        {"title": "Curd", "text": "#REDIRECT [[Cheese]]", "markup": "wikitext", "language": "de"},
        {"title": "Milk", "text": "x", "language": "en"},
    )
    redirects = [(page.redirect, page.redirect_fragment) for page in pages]
    assert redirects == [("Milk", "Uses"), ("Cheese", ""), (None, "")]
    assert open_source(tmp_path / "x.jsonl").site.language == "de"
    assert JsonLines(tmp_path / "x.jsonl", ReadConfig(language="fr")).site.language == "fr"


def test_where_no_line_states_a_language_the_text_is_judged(tmp_path: Path) -> None:
    text = "Milch ist weiß, und viele Tiere geben sie ihren Jungen. " * 5
    lines = write(tmp_path / "x.jsonl", [{"title": "Milch", "text": text}, {"title": "Kuh", "text": text}])
    build([lines], tmp_path / "wiki")
    graph = Graph.open(tmp_path / "wiki")
    assert (graph.language, choose_encoder(graph)[0], stem_for(graph)) == ("", "words", "none")


def test_a_page_may_be_called_like_a_file(tmp_path: Path) -> None:
    text = "See [node](Node.js), [setup](Setup.py#use) and [this](x.png)."
    (page,) = read(tmp_path, {"title": "x", "text": text, "markup": "markdown"})
    assert clicks(page) == [("node", "Node.js", ""), ("setup", "Setup.py", "use")]
    assert page.counts == {"image": 1}


def test_lines_become_a_graph_whose_books_balance(tmp_path: Path) -> None:
    text = f"Butter is made of cream. {PROSE} It goes on bread, out of here."
    links = [span(text, "cream", "Cream"), span(text, "bread", "/bread"), span(text, "here", "Nowhere")]
    links += [
        at(5000, 5001),
        "x",
        span(text, "is made", "Milk"),
        span(text, "made of", "Milk"),
    ]
    records = [
        {"title": "Butter", "text": text, "links": links},
        {"title": "Milk", "text": PROSE + "[[Butter]] comes of it.", "markup": "wikitext"},
        {"title": "Cream", "redirect": "Milk"},
        {"title": "Bread", "text": PROSE, "url": "/bread"},
    ]
    config = BuildConfig(extract=ExtractConfig(), entity_links=False)
    ledger = build([write(tmp_path / "x.jsonl", records)], tmp_path / "wiki", config).ledger["links"]
    assert ledger["seen"] == len(links) + 1
    assert ledger["resolved"]["total"] == 4
    assert ledger["unresolved"] == {
        "total": 4,
        "missing page": 1,
        "span out of the text": 1,
        "broken entry of `links`": 1,
        "invalid": 1,
    }
