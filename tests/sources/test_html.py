"""A folder of HTML: what is a page's own text, where its links lead, and that every one of them is accounted for."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from linkwalk.build.build import build
from linkwalk.errors import InputError
from linkwalk.sources.documents import Document, Scan, tidy
from linkwalk.sources.formats import open_source
from linkwalk.sources.html.document import NOWHERE
from linkwalk.sources.html.folder import Html
from linkwalk.sources.html.nesting import MAX_NESTING, NESTED, flatten
from linkwalk.sources.html.text import BROKEN_BYTES, OTHER_ENCODING, HtmlPage, decode
from linkwalk.sources.markdown.folder import Markdown
from linkwalk.sources.source import ReadConfig
from tests.sources.test_markdown import clicks, folder

PROSE = "Milk is white, and many animals give it to their young. " * 5


def read(html: str, **options: Any) -> Scan:
    """A page's own text, with links as they are written."""
    page = HtmlPage(html, ReadConfig(**options), Counter())
    scan = page.read(lambda href: (href, ""))
    return tidy(
        Document(title="x", text=scan.text, links=scan.links, headings=scan.headings, counts=scan.counts)
    )


def title(html: str) -> str:
    return HtmlPage(html, ReadConfig(), Counter()).title


def documents(root: Path, damage: Counter[str] | None = None, **options: Any) -> dict[str, Document]:
    """All documents of a folder, by address or (other names) title."""
    source, damage = Html(root, ReadConfig(**options)), Counter() if damage is None else damage
    found = [d for piece, _ in source.pieces() for d in source.documents(piece, damage)]
    return {document.address or document.title: document for document in found}


def test_blocks_are_lines_and_headings_are_sections() -> None:
    scan = read(
        """<body><h1>Milk</h1><p>Milk is <b>wh</b>ite.<p>It comes from a <a href=cow.html>cow <i>or</i> two</a>.
        <h2 id=use>Uses</h2><ul><li>tea<li>butter<br>and cheese</ul>
        <div>first<br><br>second</div><dl><dt>Curd<dd>what is left</dl>"""
    )
    assert scan.text.split("\n")[:5] == [
        "Milk is white.",
        "It comes from a cow or two.",
        "tea",
        "butter and cheese",
        "first",
    ]
    assert scan.text.split("\n")[5:] == ["second", "Curd", "what is left"]
    assert [scan.text[link.start : link.end] for link in scan.links] == ["cow or two"]
    (section,) = (heading for heading in scan.headings if heading.level == 2)
    assert (section.title, section.anchor, scan.text[section.offset :][:3]) == ("Uses", "use", "tea")


@pytest.mark.parametrize(
    "around",
    [
        "<nav>menu</nav><main>{}</main><footer>foot</footer>",
        "<div id=side>menu</div><div role=main>{}</div>",
        "<a id=content></a><div>menu</div><article>{}</article>",
        "<header>menu</header><div>{}</div><aside>ads</aside><script>x()</script><div hidden>menu</div>",
        "<div>menu</div><div id=content><h1>t</h1><div id=bodyContent><div id=siteSub>menu</div>{}</div></div>",
        "<main></main><article>{}<form><select><option>menu</select><button>menu</button></form></article>",
    ],
)
def test_the_text_is_what_stands_in_the_middle(around: str) -> None:
    assert read(f"<body>{around.format('<p>The <em>text</em>.')}").text.strip() == "The text."


def test_a_page_of_two_articles_is_its_whole_body() -> None:
    assert read("<article>one</article><article>two</article><p>three").text.split() == [
        "one",
        "two",
        "three",
    ]


TABLE = "<table><tr><th>Fat<th>Water<tr><td><p>4 %<td><a href=water.html>87 %</a></table>"


def test_tables_are_rows_but_in_wikis_as_from_dumps() -> None:
    assert read(f"<main>{TABLE}</main>").text.split("\n")[:2] == ["Fat | Water", "4 % | 87 %"]
    wiki = read(f"<body class=mediawiki><p>Milk {TABLE}")
    assert (wiki.text.strip(), wiki.counts) == ("Milk", {"in table": 1})
    assert "4 % | 87 %" in read(f"<body class=mediawiki>{TABLE}", tables=True).text
    assert read(f"<main>{TABLE}</main>", tables=False).counts == {"in table": 1}
    layout = read(f"<table><tr><td><p>One.<p>Two.<td>{TABLE}</table>").text.split("\n")
    assert layout[:4] == ["One.", "Two.", "Fat | Water", "4 % | 87 %"]


def test_code_is_left_out_or_kept_line_by_line() -> None:
    page = "<main>Run <code>make</code>:<pre>a = 1\n  b = <a href=x>2</a></pre>"
    assert read(page).text.strip() == "Run make:"
    assert read(page).counts == {"in code": 1}
    assert read(page, code=True).text.split("\n")[:3] == ["Run make:", "a = 1", "b = 2"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<title>Cat - The Animals</title><h1>Cat</h1>", "Cat"),
        ("<title>The Animals | Cat</title><h1>Cat</h1>", "Cat"),
        ("<title>Cat – The Animals</title><meta property=og:title content=Cat>", "Cat"),
        ("<title>Cat - The Animals</title><h1>The Cats</h1>", "Cat - The Animals"),
        ("<title>Cats and dogs</title><h1>Cats</h1>", "Cats and dogs"),
        ("<h1>Cat<a href=#cat>¶</a></h1>", "Cat"),
        ("<meta property=og:title content=Cat>", "Cat"),
        ("<p>", ""),
    ],
)
def test_a_title_loses_a_site_name_only_where_the_page_says_so(head: str, expected: str) -> None:
    assert title(head) == expected


def test_links_without_words_and_whole_blocks_as_links() -> None:
    scan = read(
        """<main><a href=a.html><img src=a.png></a><a href=b.html></a><a href=c.html><div><h3>Card</h3>
        <p>More.</div></a><h2>Head<a href="#head">¶</a></h2><map><area href=d.html></map>"""
    )
    assert [(link.target, scan.text[link.start : link.end]) for link in scan.links] == [("c.html", "Card")]
    assert scan.counts == {"image": 2, "without words": 1, "page itself": 1}
    assert [heading.title for heading in scan.headings if heading.level == 2] == ["Head"]


def test_every_link_of_a_page_ends_in_one_place(tmp_path: Path) -> None:
    page = f"""<nav><a href=b.html>b</a></nav><main>{PROSE}<a href=b.html>b</a> <a href=gone.html>gone</a>
    <a href=mailto:a@b.c>mail</a> <a href="javascript:x()">js</a> <a href=//other.org/>ext</a> <a href=#x>here</a>
    <a href=a.html>self</a> <a href=a.html#y>self</a> <a href=pic.png>picture</a> <a href=paper.pdf>paper</a>
    <a href=../../up.html>up</a> <a href="http://[">broken</a> <a href=b.html><img></a> <a href=""> </a>
    <pre><a href=b.html>b</a></pre><h2><a href=b.html>b</a></h2><div hidden><a href=b.html>b</a></div></main>
    <footer><a href=b.html>b</a></footer>"""
    found = documents(folder(tmp_path, {"a.html": page, "b.html": PROSE}))["a.html"]
    links = len(LexborHTMLParser(page).css("a[href]"))
    assert len(found.links) + sum(found.counts.values()) == links == 19
    assert clicks(found) == [
        ("b", "b.html", ""),
        ("gone", "gone.html", ""),
        ("here", "", "x"),
        ("self", "", "y"),
        ("b", "b.html", ""),
    ]
    assert found.counts == {
        "outside the text": 3,
        "mail, script or the like": 2,
        "external": 1,
        "page itself": 1,
        "image": 2,
        "file": 1,
        "outside the folder": 1,
        "broken address": 1,
        "without words": 1,
        "in code": 1,
    }


def test_links_resolve_as_hosts_resolve_them(tmp_path: Path) -> None:
    pages = {
        "index.html": "home",
        "a/index.htm": "a",
        "a/one.html": """<a href=two>1</a> <a href=two.html?v=3#S%C3%BCd>2</a> <a href="../b/c%20d.html">3</a>
            <a href=.>4</a> <a href=/>5</a> <a href=../b/>6</a> <a href="/b/100%25.html">7</a>
            <a href="q.html?p=1">8</a>""",
        "a/two.html": "two",
        "a/q.html?p=1.html": "saved with its query",
        "b/c d.html": "c d",
        "b/100%.html": "all",
    }
    found = documents(folder(tmp_path, pages))
    assert [(target, fragment) for _, target, fragment in clicks(found["a/one.html"])] == [
        ("a/two.html", ""),
        ("a/two.html", "süd"),
        ("b/c d.html", ""),
        ("a/index.htm", ""),
        ("index.html", ""),
        ("b/", ""),
        ("b/100%.html", ""),
        ("a/q.html?p=1.html", ""),
    ]


def test_a_page_stands_below_its_folders_page_or_a_list_of_what_lies_there(tmp_path: Path) -> None:
    pages = {
        name: f"<title>{name}!</title>" for name in ("index.html", "a/index.htm", "a/x.html", "b/y.html")
    }
    found = documents(folder(tmp_path, pages))
    assert {name: document.parent for name, document in found.items()} == {
        "index.html": "",
        "a/index.htm": "index.html",
        "a/x.html": "a/index.htm",
        "b/": "index.html",
        "b/y.html": "b/",
    }
    assert found["b/"].contents
    assert clicks(found["b/"]) == [("b/y.html!", "b/y.html", "")]
    found = documents(tmp_path, contents=False)
    assert (found["b/y.html"].parent, "b/" in found) == ("index.html", False)


def test_trafilatura_finds_the_text_and_its_links_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = f"""<title>Milk</title><body><nav><a href=a.html>menu</a></nav><article><h1>Milk</h1><p>{PROSE}</p>
    <h2>Uses</h2><p>{PROSE} It goes with <a href=b.html#x>tea</a> <a href=c.html>coffee</a>. {PROSE}</p>
    <ul><li>{PROSE}<li>See <a href=http://x.org>more</a> of it.</ul></article>"""
    folder(tmp_path, {"a.html": page, "b.html": PROSE, "c.html": PROSE})
    found = documents(tmp_path, main="trafilatura")["a.html"]
    assert clicks(found) == [("tea", "b.html", "x"), ("coffee", "c.html", "")]
    assert "tea coffee." in found.text
    assert [heading.title for heading in found.headings if heading.level == 2] == ["Uses"]
    assert sum(found.counts.values()) + len(found.links) == 4
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(InputError, match=r"pip install 'linkwalk\[trafilatura\]'"):
        Html(tmp_path, ReadConfig(main="trafilatura"))


def test_trafilatura_keeps_the_links_of_short_pages_and_no_menus() -> None:
    page = """<title>Milk</title><body><div class=menu><ul><li><a href=a>Home</a></li><li><a href=b>About us</a></li>
    </ul></div><div><h1>Milk</h1><p>Milk is white. It goes with <a href=tea>tea</a> and with <a href=bread>bread</a>.
    </p></div><div class=footer><a href=c>Imprint</a></div>"""
    scan = read(page, main="trafilatura")
    assert [link.target for link in scan.links] == ["tea", "bread"]
    assert scan.counts == {"outside the text": 3}
    assert "About" not in scan.text


def test_base_canonical_and_refresh(tmp_path: Path) -> None:
    head = '<link rel=canonical href="https://site.org/docs/{}">'
    pages = {
        "a.html": head.format("a.html")
        + '<a href="https://site.org/docs/b/c">1</a> <a href=/docs/b/c.html>2</a>'
        "<a href=/blog>3</a><a href=https://other.org/docs/b/c>4</a>",
        "b/c.html": head.format("b/c") + "<base href=../>c <a href=a.html>up</a>",
        "copy.html": head.format("a.html") + "the same",
        "old.html": '<meta http-equiv=Refresh content="0; URL=b/c.html#x">',
        "clock.html": '<meta http-equiv=refresh content="300; url=b/c.html">ticks',
        "away.html": '<meta http-equiv=refresh content="0; url=https://other.org/">gone',
    }
    found = documents(folder(tmp_path, pages))
    assert clicks(found["a.html"]) == [("1", "b/c.html", ""), ("2", "b/c.html", "")]
    assert found["a.html"].counts == {"outside the folder": 1, "external": 1}
    assert clicks(found["b/c.html"]) == [("up", "a.html", "")]
    assert {name: found[name].redirect for name in pages} == {
        "a.html": None,
        "b/c.html": None,
        "copy.html": "a.html",
        "old.html": "b/c.html",
        "clock.html": None,
        "away.html": None,
    }
    assert found["old.html"].redirect_fragment == "x"


def test_the_language_is_what_most_pages_say(tmp_path: Path) -> None:
    folder(
        tmp_path, {"a.html": "<html lang=de-AT>x", "b.html": "<html lang=de>x", "c.html": "<html lang=en>x"}
    )
    assert Html(tmp_path).site.language == "de"
    assert Html(tmp_path, ReadConfig(language="fr")).site.language == "fr"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("\ufeffMüll".encode("utf-16-le"), "Müll"),
        ("\ufeffMüll".encode(), "Müll"),
        ("Müll".encode(), "Müll"),
        (b"<meta charset=iso-8859-1>M\xfcll \x93x\x94", "<meta charset=iso-8859-1>Müll “x”"),
        (
            '<?xml version="1.0" encoding="koi8-r"?>мир'.encode("koi8-r"),
            '<?xml version="1.0" encoding="koi8-r"?>мир',
        ),
        (
            '<meta content="text/html; charset=nonsense">ü'.encode(),
            '<meta content="text/html; charset=nonsense">ü',
        ),
        (b"<meta charset=rot13>abc", "<meta charset=rot13>abc"),
        (b"<meta charset=undefined>abc", "<meta charset=undefined>abc"),
        ("<meta charset=gb2312>朱镕基".encode("gb18030"), "<meta charset=gb2312>朱镕基"),
        ("<meta charset=shift_jis>①".encode("cp932"), "<meta charset=shift_jis>①"),
        ("<meta charset=euc-kr>똠".encode("cp949"), "<meta charset=euc-kr>똠"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    damage: Counter[str] = Counter()
    assert decode(data, damage) == text
    assert not damage
    assert decode("мир".encode("koi8-r"), damage, stated="koi8-r") == "мир"


def test_a_broken_byte_does_not_change_the_encoding() -> None:
    for encoding in ("utf-8", "gb18030"):
        damage: Counter[str] = Counter()
        good = "世界很大，我们很小。" * 100
        text = decode(good.encode(encoding) + b"\xff<p>" + good.encode(encoding), damage, stated=encoding)
        assert text.replace("\ufffd", "") == f"{good}<p>{good}"
        assert damage == {BROKEN_BYTES: 1}
    assert decode(b"x" * 1000 + b" M\xfcll", Counter()).endswith("Müll")


def test_a_title_is_read_from_the_beginning_of_a_page(tmp_path: Path) -> None:
    site = folder(tmp_path, {"a/x.html": "<title>ü</title><p>" + "x" * 65515 + "ü"})
    assert len((site / "a/x.html").read_bytes()[:65536].decode(errors="ignore").encode()) == 65535
    assert clicks(documents(site)["a/"]) == [("ü", "a/x.html", "")]


@pytest.mark.parametrize("hidden", ["body style=display:none", "main aria-hidden=true", "main hidden"])
def test_the_element_that_holds_the_text_is_never_left_out(hidden: str) -> None:
    assert read(f"<{hidden}>Text <span hidden>menu</span>").text.split() == ["Text"]


def test_the_sites_address_is_what_more_than_half_of_the_canonical_links_say(tmp_path: Path) -> None:
    link = "<link rel=canonical href={}>"
    pages = {name: link.format(f"https://x.org/{name}") for name in ("a.html", "b.html")}
    assert Html(folder(tmp_path, pages)).home == "https://x.org/"
    folder(tmp_path, {name: link.format("https://other.org/") for name in ("c.html", "d.html")})
    assert Html(tmp_path).home == NOWHERE
    root = folder(tmp_path / "broken", {"a.html": link.format("http:/x.org/a.html") + "<a href=b.html>b</a>"})
    assert clicks(documents(root)["a.html"]) == [("b", "b.html", "")]


def test_a_name_that_is_no_text_is_mended_and_the_page_kept(tmp_path: Path) -> None:
    site = folder(tmp_path / "site", {"b.html": f"<title>B</title>{PROSE}"})
    with open(os.fsencode(site) + b"/caf\xe9.html", "wb") as file:
        file.write(f"<title>Café</title>{PROSE} <a href=b.html>b</a>".encode())
    ledger = build([Html(site)], tmp_path / "wiki", workers=1).ledger
    assert ledger["links"]["resolved"]["total"] == 1
    assert ledger["damage"] == {"forbidden characters (mended)": 1}


def test_what_is_no_text_is_read_anyway_and_counted(tmp_path: Path) -> None:
    damage: Counter[str] = Counter()
    found = documents(folder(tmp_path, {"a.html": b"M\xfcll \xff\x00"}), damage)
    assert found["a.html"].text.startswith("Müll")
    assert damage == {OTHER_ENCODING: 1}


@pytest.mark.parametrize(
    "tags", ["<div>", "<ul><li>", "<table><tr><td>", "<b>", "<span>", "<div></x>", "<b><div></b>"]
)
def test_html_nested_without_end_is_read_in_linear_time(tags: str) -> None:
    damage: Counter[str] = Counter()
    html = f"<main><p>above</p>{tags * 100_000}deep <a href=x>link</a>"
    page = HtmlPage(html, ReadConfig(), damage)
    scan = page.read(lambda href: (href, ""))
    assert "above" in scan.text
    assert [scan.text[link.start : link.end] for link in scan.links] == ["link"]
    assert damage == {NESTED: 1}


def test_deep_blocks_stay_apart_and_ordinary_pages_stay_as_they_are() -> None:
    damage: Counter[str] = Counter()
    page = (
        "<div>" * MAX_NESTING
        + "one<div>two</div><div>three</div>"
        + "</div>" * MAX_NESTING
        + "<div>four</div>"
    )
    scan = HtmlPage(page, ReadConfig(), damage).read(lambda href: (href, ""))
    assert scan.text.split() == ["one", "two", "three", "four"]
    assert damage == {NESTED: 1}
    long = "<p><b>x</b> <span>y</span><br><div><ul><li>z</ul></div>" * 1000
    assert flatten(long, damage) is long


@pytest.mark.parametrize(
    "part",
    [
        "<script>for (i = 0; i<n; i++) x('<div>')</script>",
        "<style>/* <div> */</style>",
        "<!-- <div> -->",
        "<svg viewBox='0 0 1 1'><title>x</title><g><path d='M0'/><circle r=1 /></g></svg>",
        "<p title='<div>'>x",
        "<textarea><div></textarea>",
    ],
)
def test_what_only_looks_like_a_tag_does_not_pile_up(part: str) -> None:
    page, damage = part * 1000, Counter[str]()
    assert flatten(page, damage) is page
    assert not damage


@pytest.mark.parametrize(
    "opening",
    [
        "<!-->",
        "<!--->",
        "<p a='<!--'>",
        "<p ='>",
        "<p a=b='>",
        "<? <script>",
        "<svg><style>",
        "<title><!--</title>",
    ],
)
def test_what_only_looks_like_a_comment_hides_no_depth(opening: str) -> None:
    damage: Counter[str] = Counter()
    page = HtmlPage(opening + "<div>" * 100_000 + "deep", ReadConfig(), damage)
    assert "deep" in page.read(lambda href: (href, "")).text
    assert damage == {NESTED: 1}


def test_formatting_that_is_never_closed_does_not_multiply() -> None:
    few = "".join(f"<font color={i}>" for i in range(100))
    page = HtmlPage(f"<p>{few}</p>" + "<p>x" * 2000, ReadConfig(), Counter())
    assert len(page.tree.css("font")) < 17 * 2000
    marks = "".join(f"<font color={i}>" for i in range(1000))
    scan = HtmlPage(f"<p>{marks}</p>" + "<p>x" * 20_000, ReadConfig(), Counter()).read(
        lambda href: (href, "")
    )
    assert scan.text.split() == ["x"] * 20_000


def test_a_page_of_50_mb_is_left_out_and_counted(tmp_path: Path) -> None:
    damage: Counter[str] = Counter()
    folder(tmp_path, {"small.html": PROSE, "large.html": b""})
    os.truncate(tmp_path / "large.html", 50 << 20)
    assert list(documents(tmp_path, damage, contents=False)) == ["small.html"]
    assert damage == {"too large": 1}


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    site = folder(tmp_path / "site", {"v2/a.html": PROSE})
    folder(tmp_path / "secret", {"key.html": "secret"})
    (site / "out.html").symlink_to(tmp_path / "secret" / "key.html")
    (site / "away").symlink_to(tmp_path / "secret")
    (site / "same.html").symlink_to(site / "v2" / "a.html")
    damage: Counter[str] = Counter()
    found = documents(site, damage, contents=False)
    assert {name: document.redirect for name, document in found.items()} == {
        "v2/a.html": None,
        "same.html": "v2/a.html",
        "out.html": "",
        "away": "",
    }
    assert not damage


def test_a_folder_is_what_there_is_more_of(tmp_path: Path) -> None:
    folder(tmp_path, {"a.html": PROSE, "b.htm": PROSE, "README.md": PROSE})
    assert isinstance(open_source(tmp_path), Html)
    folder(tmp_path, {"c.md": PROSE, "d.md": PROSE})
    assert isinstance(open_source(tmp_path), Markdown)
    assert isinstance(open_source(tmp_path, "html"), Html)


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(InputError, match="no such folder"):
        Html(tmp_path / "gone")
    with pytest.raises(InputError, match="is a file"):
        Html(tmp_path / "x.txt")
    with pytest.raises(InputError, match="no pages of HTML"):
        Html(tmp_path)
    with pytest.raises(InputError, match="folder without pages"):
        open_source(tmp_path)


def test_a_site_becomes_a_graph_with_anchors(tmp_path: Path) -> None:
    pages = {
        "index.html": f"<title>Home</title><main><p>{PROSE}<p>See <a href=milk#uses>uses</a>, <a href=gone>gone</a>.",
        "milk.html": f"<title>Milk</title><main><p>{PROSE}<h2 id=uses>How it is used</h2><p>Tea. {PROSE}",
    }
    result = build([Html(folder(tmp_path / "site", pages))], tmp_path / "wiki", workers=1)
    ledger = result.ledger
    assert ledger["pages"]["kept"] == 2
    assert ledger["links"]["resolved"]["total"] == 1
    assert ledger["links"]["unresolved"] == {"total": 1, "missing page": 1}
    assert ledger["section_links"] == {"found": 1}
