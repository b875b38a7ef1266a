"""A folder of Markdown: what its pages say, where their links lead, and what stands above them."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.sources.documents import Document
from linkwalk.sources.formats import open_source
from linkwalk.sources.markdown.folder import Markdown
from linkwalk.sources.markdown.front_matter import split
from linkwalk.sources.markdown.text import read_markdown
from linkwalk.sources.page_text import PageText
from linkwalk.sources.source import ReadConfig

PROSE = "Here are some words, more than a title has."


def folder(root: Path, pages: dict[str, str | bytes]) -> Path:
    """Write pages to a folder."""
    for name, text in pages.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def documents(root: Path, damage: Counter[str] | None = None, **options: Any) -> dict[str, Document]:
    """All documents of a folder, by address or (other names) title."""
    source, damage = Markdown(root, ReadConfig(**options)), Counter() if damage is None else damage
    found = [d for piece, _ in source.pieces() for d in source.documents(piece, damage)]
    return {document.address or document.title: document for document in found}


def one(root: Path, text: str, **options: Any) -> Document:
    """A page of its own."""
    return documents(folder(root, {"page.md": text}), **options)["page.md"]


def clicks(document: Document) -> list[tuple[str, str, str]]:
    """A document's links: what is shown, where it leads, which section it asks for."""
    return [(document.text[x.start : x.end], x.target, x.fragment) for x in document.links]


def test_text_links_and_headings(tmp_path: Path) -> None:
    page = one(
        tmp_path,
        """---
title: "Milk: a *drink*"
---
# Milk

Milk is **white** and comes from
a [cow](cow.md "Bos") or a [goat][g]. See <https://example.org>.

## Uses {#use}

- as [butter](food/butter.md#how-to)
- ![glass](glass.png) in `tea`

### How

> [!NOTE]
> Keep it cold.

| what | where |
| --- | --- |
| cream | [jug](jug.md) |

```
[code](cow.md)
```

[g]: goat.md
""",
    )
    assert page.title == "Milk: a *drink*"
    assert page.text.splitlines() == [
        "Milk is white and comes from a cow or a goat. See https://example.org.",
        "as butter",
        "in tea",
        "Keep it cold.",
        "what | where",
        "cream | jug",
    ]
    assert clicks(page) == [
        ("cow", "/cow", ""),
        ("goat", "/goat", ""),
        ("butter", "/food/butter", "how-to"),
        ("jug", "/jug", ""),
    ]
    assert page.counts == {"external": 1, "image": 1}
    assert [(h.level, h.title, h.anchor, page.text[h.offset :][:8]) for h in page.headings] == [
        (7, "", "milk", "Milk is "),
        (2, "Uses", "use", "as butte"),
        (3, "How", "how", "Keep it "),
    ]


def test_html_in_markdown(tmp_path: Path) -> None:
    page = one(
        tmp_path,
        """<table class="x">
<tr><th>Name</th><td><a href="cow.md#legs">a
cow</a></td></tr>
<tr>
<td>

[goat](goat.md) and

</td>
<td>[sheep](sheep.md)</td>
</tr></table>
<!-- [gone](gone.md) -->
<script>var x = "<a href='gone.md'>";</script>

<dl><dt>Cow</dt><dd>An <a id="here" href='ox.md'>ox</a></dd></dl>

Inline <a href="ewe.md">e<b>w</b>e</a> &amp; <img src="x.png" alt="x"> <a href="pig.md"><img alt="pig"></a>
""",
    )
    assert [" ".join(line.split()) for line in page.text.splitlines()] == [
        "Name | a cow",
        "goat and | sheep",
        "Cow",
        "An ox",
        "Inline ewe & pig",
    ]
    assert [(" ".join(shown.split()), to, part) for shown, to, part in clicks(page)] == [
        ("a cow", "/cow", "legs"),
        ("goat", "/goat", ""),
        ("sheep", "/sheep", ""),
        ("ox", "/ox", ""),
        ("ewe", "/ewe", ""),
        ("pig", "/pig", ""),
    ]
    assert page.counts == {"image": 2}
    assert "here" in [h.anchor for h in page.headings]


def test_tables_and_code_as_asked(tmp_path: Path) -> None:
    text = (
        "a [x](x.md)\n\n| a |\n| --- |\n| [y](y.md) |\n\n"
        "<table><tr><td>[z](z.md)</td></tr></table>\n\n```\nprint()\n```\n"
    )
    page = one(tmp_path, text, tables=False, code=True)
    assert (page.text.split(), page.counts) == (["a", "x", "print()"], {"in table": 2})
    assert clicks(page) == [("x", "/x", "")]


PATHS = {
    "index.md": "root",
    "guide/README.md": "guide",
    "guide/Set Up.md": "set up",
    "guide/intro.md": "intro",
    "api/v1.2.md": "one",
    "Über.md": "over",
    "deep/er/x.md": "x",
}


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("intro.md", "guide/intro.md"),
        ("intro", "guide/intro.md"),
        ("intro.html#top", "guide/intro.md"),
        ("intro/", "guide/intro.md"),
        ("./intro.md?x=1", "guide/intro.md"),
        ("INTRO.md", "guide/intro.md"),
        ("Set%20Up.md", "guide/Set Up.md"),
        ("../setup/../Set Up.md", "/Set Up"),
        ("../intro/", "guide/intro.md"),
        ("../%C3%9Cber.md", "Über.md"),
        ("/guide/intro.md", "guide/intro.md"),
        ("/guide/", "guide/README.md"),
        ("..", "index.md"),
        ("../api/v1.2", "api/v1.2.md"),
        ("../deep/", "deep/"),
        ("../deep/index.html", "deep/"),
        ("/", "index.md"),
        ("nowhere.md", "/guide/nowhere"),
    ],
)
def test_paths_as_sites_write_them(tmp_path: Path, href: str, target: str) -> None:
    pages = {**PATHS, "guide/here.md": f"[x](<{href}>)"}
    assert clicks(documents(folder(tmp_path, pages))["guide/here.md"]) == [
        ("x", target, "top" if "#" in href else "")
    ]


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("https://example.org/guide/intro.md", "external"),
        ("//example.org/x", "external"),
        ("mailto:x@example.org", "external"),
        ("javascript:void(0)", "external"),
        ("../../x.md", "outside the folder"),
        ("x.png", "image"),
        ("/files/x.pdf", "file"),
        ("#", "page itself"),
        ("", "page itself"),
    ],
)
def test_links_that_lead_to_no_page(tmp_path: Path, href: str, reason: str) -> None:
    page = documents(folder(tmp_path, {**PATHS, "guide/here.md": f"[x](<{href}>)"}))["guide/here.md"]
    assert (list(page.links), page.counts) == ([], {reason: 1})


VAULT = {
    "Milk.md": "milk",
    "food/Milk.md": "milk to drink",
    "food/Butter.md": "butter",
    "farm/animals/Cow.md": "cow",
    "farm/Goat.md": "goat",
    "zoo/Goat.md": "goat",
    "a/b.c.md": "dots",
}


@pytest.mark.parametrize(
    ("written", "shown", "target", "fragment"),
    [
        ("[[Butter]]", "Butter", "food/Butter.md", ""),
        ("[[butter.md]]", "butter.md", "food/Butter.md", ""),
        ("[[Cow|the *cow*]]", "the *cow*", "farm/animals/Cow.md", ""),
        ("[[animals/cow]]", "animals/cow", "farm/animals/Cow.md", ""),
        ("[[Milk]]", "Milk", "food/Milk.md", ""),  # the same folder first
        ("[[/Milk]]", "/Milk", "Milk.md", ""),
        ("[[../Milk]]", "../Milk", "Milk.md", ""),
        ("[[Goat]]", "Goat", "zoo/Goat.md", ""),  # the shortest path
        ("[[b.c]]", "b.c", "a/b.c.md", ""),
        ("[[Cow#Long Legs]]", "Cow > Long Legs", "farm/animals/Cow.md", "long-legs"),
        ("[[Cow#A#B]]", "Cow > B", "farm/animals/Cow.md", "b"),
        ("[[Cow#^id-1|x]]", "x", "farm/animals/Cow.md", "id-1"),
        ("[[#Top]]", "Top", "", "top"),
        ("![[Cow]]", "Cow", "farm/animals/Cow.md", ""),
        ("[[Nobody]]", "Nobody", "Nobody", ""),
        ("| x |\n| --- |\n| [[Cow\\|c]] |", "c", "farm/animals/Cow.md", ""),
    ],
)
def test_names_as_obsidian_reads_them(
    tmp_path: Path, written: str, shown: str, target: str, fragment: str
) -> None:
    page = documents(folder(tmp_path, {**VAULT, "food/here.md": written}))["food/here.md"]
    assert clicks(page) == [(shown, target, fragment)]


def test_pictures_and_lookalikes_of_wikilinks(tmp_path: Path) -> None:
    page = one(tmp_path, "![[x.png|100]] [[y.pdf]] [[1]](z.md) `[[code]]` [[]]")
    assert page.text == "y.pdf [1] [[code]] [[]]"
    assert (clicks(page), page.counts) == ([("[1]", "/z", "")], {"image": 1, "file": 1})


def test_in_obsidians_folders_paths_are_names_too(tmp_path: Path) -> None:
    pages = {**VAULT, "here.md": "[x](Cow.md)"}
    assert clicks(documents(folder(tmp_path / "a", pages))["here.md"]) == [("x", "/Cow", "")]
    (folder(tmp_path / "b", pages) / ".obsidian").mkdir()
    assert clicks(documents(tmp_path / "b")["here.md"]) == [("x", "farm/animals/Cow.md", "")]


def test_anchors_are_found_however_they_are_written(tmp_path: Path) -> None:
    text = (
        "## A & B\n\none\n\n## C++_x\n\ntwo\n\n## A & B\n\nthree ^mark\n\n"
        "### [x](page.md) `y()`\n\n<a name=Z></a>four"
    )
    page = one(tmp_path, text)
    assert [(h.title, h.anchor) for h in page.headings] == [
        ("A & B", "a-b"),
        ("C++_x", "c-x"),
        ("A & B", "a-b-1"),
        ("A & B", "mark"),
        ("x y()", "x-y"),
        ("x y()", "z"),
    ]
    assert page.text.splitlines() == ["one", "two", "three", "x y()", "four"]
    for written in ("A & B", "a--b", "a-b", "A_%26_B"):
        assert (
            documents(folder(tmp_path, {"l.md": f"[x](<page.md#{written}>)"}))["l.md"].links[0].fragment
            == "a-b"
        )


def test_definitions_stand_below_their_terms(tmp_path: Path) -> None:
    page = one(
        tmp_path,
        "## H\n\nCow\n: An animal\n: Food\n\n- `pull up` _Optional_\n  - : What [x](x.md) does\n\na: b",
    )
    lines = [line.strip() for line in page.text.splitlines()]
    assert lines == ["Cow", "An animal", "Food", "pull up Optional", "What x does", "a: b"]
    places = [(h.anchor, page.text[h.offset :].split("\n")[0].strip(), h.title) for h in page.headings[1:]]
    assert ("cow", "Cow", "H") in places
    assert ("pull", "pull up Optional", "H") in places
    assert clicks(page) == [("x", "/x", "")]


def test_front_matter(tmp_path: Path) -> None:
    found = documents(
        folder(
            tmp_path,
            {
                "a.md": "---\ntitle: Ay\naliases: [First, /old/a/]\nredirect_from:\n  - /older/a.html\n---\ntext",
                "b.md": "+++\ntitle = 'Bee'\n+++\ntext",
                "c.md": "---\nredirect_to: a.md#part\n---\n",
                "d.md": "---\ntitle: x: y\n---\n[a](/old/a) [[first]] [[Ay]]",
                "e.md": "text\n\nHeading\n=======\n",
                "f.md": "```\n# no\n```\n# `F` [x](a.md)\n",
                "g-h.md": "---\n\nno front matter\n\n---\n",
                "i.md": "---\ntitle: 1.10\naliases:\n---\n",
                "j.md": "---\n- [\ntitle: 'J'\n---\n# # K # #\n",
            },
        ),
        damage := Counter(),
    )
    titles = {name: document.title for name, document in found.items() if document.redirect is None}
    assert titles == {"/": tmp_path.name, "a.md": "Ay", "b.md": "Bee", "d.md": "x: y", "e.md": "Heading"} | {
        "f.md": "F x",
        "g-h.md": "g-h",
        "i.md": "1.10",
        "j.md": "J",
    }
    redirects = {name: document.redirect for name, document in found.items() if document.redirect}
    assert redirects == {"First": "a.md", "/old/a": "a.md", "/older/a": "a.md", "c.md": "a.md"}
    assert found["c.md"].redirect_fragment == "part"
    assert [target for _, target, _ in clicks(found["d.md"])] == ["/old/a", "a.md", "Ay"]
    assert (damage, found["g-h.md"].text) == ({"broken front matter": 2}, "no front matter")


@pytest.mark.parametrize(
    "written",
    [
        "[" * 30_000,
        '"\\UFFFFFFFF"',
        "%YAML " + "1" * 5000 + ".1",
        "&a [*a]",
        "? [x]\n: y",
        "!!python/object:os.system x",
        "\0",
    ],
)
@pytest.mark.parametrize("mark", ["---", "+++"])
def test_no_front_matter_is_too_hard(mark: str, written: str) -> None:
    front, text = split(f"{mark}\ntitle: {written}\n{mark}\ntext", damage := Counter())
    assert text.endswith("text")
    assert damage["broken front matter"] <= 1
    assert len(front.title) < 40_000


def test_what_stands_above_a_page(tmp_path: Path) -> None:
    pages = [
        "index.md",
        "a/x.md",
        "a/_index.md",
        "b/x.md",
        "b/c/y.md",
        "d/d.md",
        "d/z.md",
        "e.md",
        "e/w.md",
        "e/f/v.md",
    ]
    found = documents(folder(tmp_path, dict.fromkeys(pages, "# T\n")))
    assert {name: document.parent for name, document in found.items()} == {
        "index.md": "",
        "a/_index.md": "index.md",
        "a/x.md": "a/_index.md",
        "b/": "index.md",
        "b/x.md": "b/",
        "b/c/": "b/",
        "b/c/y.md": "b/c/",
        "d/d.md": "index.md",
        "d/z.md": "d/d.md",
        "e.md": "index.md",
        "e/w.md": "e.md",
        "e/f/": "e.md",
        "e/f/v.md": "e/f/",
    }
    without = documents(tmp_path, contents=False)
    assert without["b/c/y.md"].parent == without["b/x.md"].parent == "index.md"
    assert set(without) == set(pages)


def test_a_folder_without_a_page_lists_what_lies_in_it(tmp_path: Path) -> None:
    pages = {"b/x.md": "# Ex\n", "b/c.md": "# Sea\n", "b/c/y.md": "# Why\n", "d/z.md": "# Zet\n"}
    found = documents(folder(tmp_path / "site", pages))
    assert (found["/"].title, found["/"].contents, found["/"].parent) == ("site", True, "")
    assert clicks(found["/"]) == [("b", "b/", ""), ("d", "d/", "")]
    assert clicks(found["b/"]) == [("Sea", "b/c.md", ""), ("Ex", "b/x.md", "")]


def test_a_folders_page_without_a_word_is_such_a_list(tmp_path: Path) -> None:
    pages = {
        "index.md": "---\ntitle: Top\n---\n",
        "b/_index.md": "# Bee\n",
        "b/x.md": "# Ex\n",
        "c.md": "",
        "c/y.md": "y",
    }
    found = documents(folder(tmp_path, pages))
    assert clicks(found["index.md"]) == [("Bee", "b/_index.md", ""), ("c", "c.md", "")]
    assert [(found[name].title, found[name].contents) for name in ("b/_index.md", "c.md")] == [
        ("Bee", True),
        ("c", True),
    ]
    assert (clicks(found["c.md"]), found["c.md"].parent) == ([("y", "c/y.md", "")], "index.md")
    result = build([Markdown(tmp_path)], tmp_path / ".wiki", BuildConfig(entity_links=False))
    assert result.ledger["pages"] == {
        "read": 5,
        "kept": 3,
        "skipped": {"short": 2},
    }  # lists are never too short


def test_every_link_is_resolved_or_has_one_reason(tmp_path: Path) -> None:
    words = "word " * 50
    links = (
        "[a](b.md) [b](x.md) [c](http://x.y) ![d](e.png) [f](g.zip) [h](../i.md) "
        "[j](#) [k](#l) [[b]] [[q]] [m](b.md#n)"
    )
    root = folder(tmp_path / "in", {"a.md": f"{words} {links}", "b.md": f"# B\n\n## N\n\n{words}"})
    config = BuildConfig(extract=ExtractConfig(min_chars=1), entity_links=False)
    ledger = build([Markdown(root)], tmp_path / "wiki", config).ledger
    seen = ledger["links"]
    assert seen["seen"] == 11 == seen["resolved"]["total"] + seen["unresolved"]["total"]
    assert seen["unresolved"] == {"total": 7, "missing page": 2} | dict.fromkeys(
        ("external", "image", "file", "outside the folder", "page itself"), 1
    )
    assert ledger["section_links"] == {"found": 1, "not found": 1}


def test_names_that_differ_little_are_two_pages(tmp_path: Path) -> None:
    names = ["a_b.md", "a b.md", "A_b.md", "file:x.md", "50%25.md", "50%.md", "de:y.md"]
    links = " ".join(f"[to](<{name.replace('%', '%25')}>)" for name in names)
    root = folder(
        tmp_path / "in", dict.fromkeys(names, "word " * 50) | {"index.md": f"{links} {'word ' * 50}"}
    )
    result = build([Markdown(root)], tmp_path / "wiki", BuildConfig(entity_links=False))
    assert result.ledger["pages"] == {"read": 8, "kept": 8, "skipped": {}}
    assert result.ledger["links"]["resolved"]["edges"] == 7


def test_hidden_folders_and_links_out_of_the_folder(tmp_path: Path) -> None:
    folder(tmp_path, {"out/secret.md": "secret", "out/more/x.md": "x"})
    root = folder(
        tmp_path / "in", {"a.md": "a", ".git/b.md": "b", "node_modules/c/README.md": "c", "d.txt": "d"}
    )
    for link, target in (
        ("s.md", "../out/secret.md"),
        ("more", "../out/more"),
        ("again.md", "a.md"),
        ("in", "."),
    ):
        os.symlink(target, root / link)
    os.symlink("missing.png", root / "p.png")
    found = documents(root, damage := Counter())
    assert {name: document.redirect for name, document in found.items()} == {
        "/": None,
        "a.md": None,
        "again.md": "a.md",
        "s.md": "",
        "more": "",
        "in": "",
    }
    assert not damage
    built = build([Markdown(root)], tmp_path / "wiki", BuildConfig(extract=ExtractConfig(min_chars=1)))
    assert built.ledger["redirects"] == {"redirect to a missing page": 3, "to an article": 1}
    assert built.ledger["damage"] == {}


def test_links_to_symbolic_links(tmp_path: Path) -> None:
    root = folder(
        tmp_path, {"b/real.md": "x", "z.md": "[1](alias.md) [2](Alias) [[alias]] [[./alias.md]] [3](gone.md)"}
    )
    os.symlink("b/real.md", root / "alias.md")
    os.symlink("/etc/hosts", root / "gone.md")
    found = [target for _, target, _ in clicks(documents(root)["z.md"])]
    assert found == ["b/real.md"] * 4 + ["/gone"]


def test_accents_of_their_own(tmp_path: Path) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    pages = {
        f"{apart}/{apart}.md": f"{PROSE}",
        f"{composed}.md": PROSE,
        f"{apart}.md": PROSE,
        "z.md": f"{PROSE} [1]({composed}/{composed}.md) [2]({apart}/{composed}) [[{apart}/{composed}]]",
    }
    found = documents(root := folder(tmp_path / "in", pages))
    address = f"{composed}/{composed}.md"
    assert {address, f"{composed}.md", f"{apart}.md"} <= set(found)
    assert [target for _, target, _ in clicks(found["z.md"])] == [address] * 3
    build([Markdown(root)], tmp_path / "wiki", BuildConfig(entity_links=False))
    graph = Graph.open(tmp_path / "wiki")
    assert graph.find(f"{apart}/{apart}.md") == graph.find(address)


def test_a_note_is_named_by_its_file(tmp_path: Path) -> None:
    pages = {
        "projects/Roses.md": f"# Growing Roses\n\n{PROSE}",
        "a/Twice.md": f"# One\n\n{PROSE}",
        "b/Twice.md": f"# Two\n\n{PROSE}",
        "c/One.md": f"# Three\n\n{PROSE}",
        "Primroses.md": f"# Four\n\n{PROSE}",
    }
    build([Markdown(folder(tmp_path / "in", pages))], tmp_path / "wiki", BuildConfig(entity_links=False))
    graph = Graph.open(tmp_path / "wiki")
    for name in ("Roses", "projects/Roses", "Roses (0)"):
        assert graph.title(graph.find(name)) == "Growing Roses"
    assert graph.title(graph.find("b/Twice")) == "Two"
    assert graph.title(graph.find("One")) == "One"
    for name in ("Twice", "roses", "oses", ""):
        with pytest.raises(InputError, match="no article named"):
            graph.find(name)


def test_damaged_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwalk.sources.packed.MAX_PAGE_BYTES", 1000)
    pages = {
        "latin.md": b"caf\xe9 [x](y.md)",
        "large.md": "x" * 1001,
        "bom.md": "\ufeff# Title\n",
        "nul.md": "a\0b\r\nc",
    }
    found = documents(folder(tmp_path, pages), damage := Counter())
    assert set(found) == {"/", "latin.md", "bom.md", "nul.md"}
    assert (found["latin.md"].text, found["bom.md"].title) == ("caf\ufffd x", "Title")
    assert damage == {"invalid UTF-8 (mended)": 1, "too large": 1}


def test_names_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9\n x.md")
    root = folder(tmp_path / "in", {name: "word " * 50, "b.md": "word " * 50})
    result = build([Markdown(root)], tmp_path / "wiki", BuildConfig(entity_links=False))
    assert result.ledger["damage"] == {"forbidden characters (mended)": 2}
    assert "caf\ufffd x" in list(Graph.open(tmp_path / "wiki").titles)


def test_redirects_in_a_ring_are_in_the_ledger(tmp_path: Path) -> None:
    pages = {
        "a.md": "---\nredirect_to: b.md\naliases: [B]\n---\n",
        "b.md": "---\nredirect_to: a.md\naliases: [A]\n---\n",
        "c.md": f"---\naliases: [d]\n---\n[x](a.md) [[d]] {'word ' * 50}",
        "d.md": f"---\naliases: [c]\n---\n[[c]] {'word ' * 50}",
    }
    ledger = build([Markdown(folder(tmp_path / "in", pages))], tmp_path / "wiki").ledger
    assert ledger["damage"] == {"redirect loop": 4}  # each by title and by address
    assert ledger["links"]["unresolved"] == {"total": 1, "redirect loop": 1}
    assert ledger["links"]["resolved"]["edges"] == 2


@pytest.mark.parametrize("sign", "[ > * `a <a - _a ]( | <div> & [a]( <".split())
def test_no_page_is_too_hard(tmp_path: Path, sign: str) -> None:
    page = one(tmp_path, f"{sign} " * 10 + sign * (100_000 // len(sign)) + "\n\nthe end\n")
    assert page.text.splitlines()[-1].endswith("the end")


@pytest.mark.parametrize("sign", "![ [[ [^ [^a".split())
def test_no_bracket_is_too_hard(tmp_path: Path, sign: str) -> None:
    assert one(tmp_path, sign * 5000 + "\n\nthe end\n").text.endswith("\nthe end")


def test_long_lines_are_no_harder(tmp_path: Path) -> None:
    letters, blanks = "a" * 100_000, " " * 60_000
    page = one(
        tmp_path, f"# a{blanks}b\n\n## {{#{letters}\n\n<a {letters} x=y>\n\nthe <a {letters} x=y>end\n"
    )
    assert page.text == "the end"


_SNIPPETS = st.sampled_from(
    "[ ] ( ) [[ ]] | ! # * _ ` ``` > - : + = ~ & ^ \\ \n \n\n \t --- <a> <a_href=b.md> </a> <b> <table> <tr> "
    "<td> </td> </table> <pre> </pre> <script> <!-- --> <h2> </h2> <li> b.md b #c [b](b.md) [[b]] ![[b]] [b]: word "
    "é 漢 \0 \u2028 &amp; ^x [^1]".split(" ")
)


@given(st.lists(_SNIPPETS, max_size=40))
def test_any_text_is_a_page(snippets: list[str]) -> None:
    seen: list[str] = []

    def resolve(href: str) -> tuple[str, str] | str:
        seen.append(href)
        return ("b.md", "") if "b" in href else "external"

    text = " ".join(snippets).replace("<a_", "<a ")
    scan = read_markdown(text, resolve, resolve, ReadConfig(), Counter())
    others = scan.counts.get("image", 0) + scan.counts.get("in a link", 0)
    assert len(scan.links) + sum(scan.counts.values()) - others == len(seen)
    assert all(0 <= link.start <= link.end <= len(scan.text) for link in scan.links)
    assert all("\n" not in scan.text[link.start : link.end] for link in scan.links)


def test_what_is_nested_too_deep_is_counted(tmp_path: Path) -> None:
    documents(folder(tmp_path, {"a.md": "> " * 200 + "x"}), damage := Counter())
    assert damage == {"nested too deep (left out)": 1}


def test_folders_are_recognised(tmp_path: Path) -> None:
    assert isinstance(open_source(folder(tmp_path / "a", {"x/y.MD": "x"})), Markdown)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="without pages"):
        open_source(tmp_path / "empty")
    with pytest.raises(InputError, match="no pages of Markdown"):
        open_source(tmp_path / "empty", "markdown")
    with pytest.raises(InputError, match="name a folder"):
        open_source(tmp_path / "a" / "x" / "y.MD", "markdown")
    with pytest.raises(InputError, match="no such folder"):
        open_source(tmp_path / "b", "markdown")


def test_how_it_is_read_is_in_the_version(tmp_path: Path) -> None:
    root = folder(tmp_path, {"a.md": "x"})
    assert Markdown(root).version == "markdown 3"
    asked = ReadConfig(language="de", tables=False, code=True, contents=False)
    assert Markdown(root, asked).version == "markdown 3, language de, tables False, code True, contents False"


def test_a_path_is_no_title_of_another_page(tmp_path: Path) -> None:
    pages = {
        "AGENTS.md": f"# Rules\n\n{PROSE}",
        "about.md": f"# AGENTS.md\n\n{PROSE}",
        "z.md": f"{PROSE} [rules](AGENTS.md)",
    }
    build([Markdown(folder(tmp_path / "in", pages))], tmp_path / "wiki", BuildConfig(entity_links=False))
    graph = Graph.open(tmp_path / "wiki")
    links = [edge.target for edge in graph.links(graph.find("z")) if edge.kind == "link"]
    assert [graph.title(node) for node in links] == ["Rules"]


def test_headings_are_not_looked_through_for_every_heading() -> None:
    class Headings(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("looked through")

    page = PageText(lambda href: (href, ""))
    page.headings = Headings()
    for _ in range(3):
        page.begin_heading(1)
        page.say("x")
        page.end_heading()
    assert [page.headings[i].level for i in range(3)] == [7, 7, 7]


def test_redirects_to_addresses_with_a_hash(tmp_path: Path) -> None:
    pages = {
        "C#.md": f"---\naliases: [Sharp]\n---\n{PROSE}\n\n## Uses\n\n{PROSE}",
        "old.md": "---\nredirect_to: C%23.md#uses\n---\n",
        "z.md": f"{PROSE} [old](old.md)",
    }
    built = build(
        [Markdown(folder(tmp_path / "in", pages))], tmp_path / "wiki", BuildConfig(entity_links=False)
    )
    graph = Graph.open(tmp_path / "wiki")
    assert graph.title(graph.find("Sharp")) == "C#"
    assert built.ledger["redirects"]["to an article"] == 3
    assert built.ledger["section_links"] == {"found": 1}


def test_links_in_front_matter_are_counted(tmp_path: Path) -> None:
    front = 'up: "[[Note]]"\nrelated: ["[[Other]]", "[[A|b]]"]\nloose: [[x]]\nmatrix: [[1, 2], [3, 4]]'
    assert one(tmp_path, f"---\n{front}\n---\ntext").counts == {"in front matter": 4}
    assert one(tmp_path, "+++\n[[menu]]\nname = 'x'\n+++\ntext").counts == {}
