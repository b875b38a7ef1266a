"""Tags and dates: what each format says of them, and what the graph keeps."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.build.build import build
from linkwalk.graph.store import NO_DATE, Graph
from linkwalk.sources.labels import date_of, day_of, distinct_tags, inline_tags
from tests.conftest import HEADER, Maker, P, prose

Labels = dict[str, tuple[str, list[str]]]


def labels(graph: Graph) -> Labels:
    """Every article's date and tags."""
    found = {}
    for article in range(graph.articles):
        day = NO_DATE if graph.dates is None else int(graph.dates[article])
        tags = list[str]()
        if graph.tags is not None:
            first, last = graph.article_tag_indptr[article : article + 2]
            tags = graph.tags.take(graph.article_tags[first:last])
        found[graph.titles[article]] = date_of(day), tags
    return found


def built(path: Path) -> Labels:
    workspace = path.parent / "wiki"
    build([path], workspace)
    return labels(Graph.open(workspace))


@given(st.dates())
def test_days_and_dates_are_each_others_way_back(day: date) -> None:
    assert day_of(day.isoformat()) == (day - date(1970, 1, 1)).days
    assert date_of(day_of(day.isoformat())) == day.isoformat()
    assert date.fromisoformat(date_of(day_of(f"{day.isoformat()}T23:59:59Z"))) == day


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("1970-01-02", 1),
        ("1970-1-2 10:00:00 +0200", 1),
        (" 1969/12/31", -1),
        ("2024-02-30", NO_DATE),
        ("2024-02-301", NO_DATE),
        ("0000-01-01", NO_DATE),
        ("May 1, 2024", NO_DATE),
        ("2024", NO_DATE),
        ("", NO_DATE),
    ],
)
def test_what_begins_with_a_date_is_one(written: str, day: int) -> None:
    assert day_of(written) == day


def test_tags_are_tidy_and_distinct() -> None:
    written = [" two  words ", "#two words", "Two words", "", "#", "x" * 201, "e\u0301", "\u00e9"]
    assert distinct_tags(written) == ["two words", "Two words", "\u00e9"]


def test_inline_tags_as_obsidian_has_them() -> None:
    text = (
        "#one and #two/three, (#four) but not x#five, #123, # six or https://e.org/#seven. #2024-plan #東京"
    )
    assert inline_tags(text) == ["one", "two/three", "four", "2024-plan", "東京"]


def test_categories_of_wikitext_and_the_revisions_date(make: Maker) -> None:
    pages = [
        P(
            "One",
            f"{prose()} [[Category:Milk_and cheese]] [[category:butter|One]] [[:Category:Shown]]\n"
            "<!-- [[Category:Hidden]] --> {{box|[[Category:Of a template]]}} [[Category:Butter]] [[Category:]]",
            timestamp="2019-05-06T07:08:09Z",
        ),
        P("Two", prose(), timestamp=""),
    ]
    found = labels(make(pages).graph)
    assert found == {"One": ("2019-05-06", ["Milk and cheese", "Butter"]), "Two": ("", [])}


def test_categories_by_the_sites_own_name_for_them(tmp_path: Path) -> None:
    header = HEADER.replace(b">Category<", b">Kategoreja<")
    page = P("One", f"{prose()} [[Kategoreja:Piens]] [[Category:Butter]]").xml()
    (tmp_path / "dump.xml").write_bytes(header + page + b"</mediawiki>")
    assert built(tmp_path / "dump.xml") == {"One": ("2021-03-04", ["Piens", "Butter"])}


def test_what_nobody_has_is_no_file(make: Maker) -> None:
    graph = make([P("One", prose(), timestamp="")]).graph
    assert (graph.dates, graph.tags) == (None, None)
    names = {file.name for file in graph.folder.iterdir()}
    assert not {name for name in names if name.startswith(("tags", "article_tag", "article_date"))}
    dated = make([P("One", prose())]).graph
    assert dated.dates is not None
    assert dated.tags is None


def test_a_tag_that_only_a_dropped_page_has_is_none(make: Maker) -> None:
    pages = [P("One", f"{prose()} [[Category:Milk]]"), P("One", f"{prose(seed=1)} [[Category:Gone]]")]
    graph = make([*pages, P("Two", f"{prose(seed=2)} [[Category:Alps]]")]).graph
    assert labels(graph) == {"One": ("2021-03-04", ["Milk"]), "Two": ("2021-03-04", ["Alps"])}
    assert graph.tags is not None
    assert graph.tags.slice(0, len(graph.tags)) == ["Alps", "Milk"]


def test_front_matter(tmp_path: Path) -> None:
    heads = {
        "a.md": "---\ntags: [one, two words]\ncategories: three\nkeywords: four, one\ndate: 2020-01-02\n---",
        "b.md": "---\ndate: 2020-01-02\nlastmod: 2021-03-04T05:06:07Z\ntags:\n  - '#five'\n---",
        "c.md": "+++\ndate = 2020-01-02T03:04:05Z\ntags = ['six']\n+++",
        "d.md": "---\ndate: Thursday\n---",
        "e.md": "#seven is no tag here",
    }
    (tmp_path / "notes").mkdir()
    for name, head in heads.items():
        (tmp_path / "notes" / name).write_text(f"{head}\n\n{prose()}\n")
    found = built(tmp_path / "notes")
    del found["notes"]
    assert found == {
        "a": ("2020-01-02", ["one", "two words", "three", "four"]),
        "b": ("2021-03-04", ["five"]),
        "c": ("2020-01-02", ["six"]),
        "d": ("", []),
        "e": ("", []),
    }


def test_inline_tags_where_obsidian_keeps_the_folder(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    text = f"---\ntags: one\n---\n\n{prose()} It is #two/three and\n#four.\n\n```\n#five\n```\n"
    (tmp_path / "vault" / "a.md").write_text(text)
    assert built(tmp_path / "vault")["a"] == ("", ["one", "two/three", "four"])


HTML = """<html><head><title>One</title><meta name="Keywords" content="milk, cheese ,">
<meta property="article:tag" content="alps"><meta property="article:tag" content="milk">
<meta property="article:published_time" content="2020-01-02T03:04:05Z">{}</head><body><p>{}</p></body></html>"""


@pytest.mark.parametrize(
    ("more", "day"),
    [("", "2020-01-02"), ('<meta property="article:modified_time" content="2021-03-04">', "2021-03-04")],
)
def test_what_pages_of_html_say_of_themselves(tmp_path: Path, more: str, day: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "one.html").write_text(HTML.format(more, prose()))
    assert built(tmp_path / "site")["One"] == (day, ["milk", "cheese", "alps"])


@pytest.mark.parametrize(
    ("record", "label"),
    [
        ({"tags": ["a", "b c", 3], "date": "2020-01-02"}, ("2020-01-02", ["a", "b c"])),
        ({"tags": "a, b c", "timestamp": "2020-01-02T03:04:05Z"}, ("2020-01-02", ["a", "b c"])),
        ({"tags": {"a": 1}, "date": 3, "timestamp": "2020-01-02"}, ("", [])),
        ({"tags": None, "date": None}, ("", [])),
        ({"tags": ["a"], "text": f"{prose()} [[Category:B]]", "markup": "wikitext"}, ("", ["a", "B"])),
    ],
)
def test_json_lines(tmp_path: Path, record: dict[str, object], label: tuple[str, list[str]]) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(json.dumps({"title": "One", "text": prose(), **record}))
    assert built(path) == {"One": label}


def test_archives(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")
    pytest.importorskip("libzim")
    from tests.sources.test_zim_and_warc import plain, response, write_zim

    own = '<meta property="article:modified_time" content="2015-03-04">'
    pages = {"index.html": HTML.format(own, prose()), "two.html": f"<title>Two</title><p>{prose(seed=1)}</p>"}
    makers: dict[str, Callable[[Path], Path]] = {
        "x.zim": lambda path: write_zim(path, {**pages, "a/butter.html": "<title>B</title>"}),
        "x.warc": lambda path: plain(path, [response(name, html) for name, html in pages.items()]),
    }
    days = {"x.zim": "", "x.warc": "2020-01-02"}
    for name, make in makers.items():
        (tmp_path / name).mkdir()
        found = built(make(tmp_path / name / name))
        assert found["One"] == ("2015-03-04", ["milk", "cheese", "alps"])
        assert found["Two"] == (days[name], [])
