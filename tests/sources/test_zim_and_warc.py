"""One site three times, as a folder, a ZIM file and a web archive: the same articles, the same links."""

import gzip
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libzim.writer import Creator, Hint, Item, StringProvider

from linkwalk.build.build import build
from linkwalk.errors import InputError
from linkwalk.graph.store import LINK, Graph
from linkwalk.sources import packed
from linkwalk.sources.documents import Document
from linkwalk.sources.formats import open_source
from linkwalk.sources.html.folder import Html
from linkwalk.sources.source import ReadConfig, Source
from linkwalk.sources.warc import Warc, address_of
from linkwalk.sources.zim import Zim
from tests.sources.test_html import PROSE, folder

SITE = {
    "index.html": f"<html lang=de><title>Home</title><main>{PROSE} <a href=a/milk.html#uses>milk</a>, "
    "<a href=a/old.html>butter</a>, <a href=gone.html>gone</a>, <a href=pic.png>picture</a>",
    "a/milk.html": f"<html lang=de><title>Milk</title><main><p>{PROSE}<h2 id=uses>Uses</h2><p>Tea. {PROSE}"
    "<a href=butter.html>butter</a> <a href=../index.html>home</a> <a href=#uses>here</a>",
    "a/butter.html": f"<html lang=de><title>Butter</title><main>{PROSE} Made of "
    "<a href='caf%C3%A9%20au%20lait.html'>x</a>",
    "a/café au lait.html": f"<html lang=de><title>Café</title><main>{PROSE} With <a href=milk.html>milk</a>.",
    "a/old.html": "<meta http-equiv=refresh content='0; url=butter.html'>",
}


class Entry(Item):  # type: ignore[misc]
    def __init__(self, path: str, title: str, kind: str, content: str) -> None:
        super().__init__()
        self.entry = path, title, kind, content

    def get_path(self) -> str:
        return self.entry[0]

    def get_title(self) -> str:
        return self.entry[1]

    def get_mimetype(self) -> str:
        return self.entry[2]

    def get_contentprovider(self) -> Any:
        return StringProvider(self.entry[3])

    def get_hints(self) -> dict[Any, Any]:
        return {Hint.FRONT_ARTICLE: True}


def write_zim(path: Path, pages: dict[str, str], clusters: int = 1 << 20) -> Path:
    with Creator(str(path)).config_indexing(False, "eng").config_clustersize(clusters) as creator:
        creator.set_mainpath("index.html")
        for name, html in pages.items():
            if name != "a/old.html":
                creator.add_item(Entry(name, "", "text/html", html))
        creator.add_item(Entry("style.css", "", "text/css", "p {}"))
        creator.add_redirection("a/old.html", "Old", "a/butter.html", {})
        creator.add_metadata("Title", "Dairy")
        creator.add_metadata("Language", "fra")
    return path


def response(
    name: str,
    html: str | bytes,
    date: str = "2020-01-02T03:04:05Z",
    status: str = "200 OK",
    head: str = "Content-Type: text/html; charset=utf-8",
) -> bytes:
    """One record."""
    body = html.encode() if isinstance(html, str) else html
    http = f"HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    url = "https://Dairy.org/" + name.replace(" ", "%20")
    about = f"WARC-Record-ID: <urn:uuid:{'0' * 8}-0000-0000-0000-{'0' * 12}>\r\nContent-Length: {len(http)}"
    return (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"Content-Type: application/http; msgtype=response\r\n{about}\r\n\r\n"
    ).encode() + http + b"\r\n\r\n"  # fmt: skip


def records() -> list[bytes]:
    found = [
        b"WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    ]
    found += [response(name, html) for name, html in SITE.items() if name != "a/old.html"]
    found.append(response("a/old.html", "", status="301 Moved", head="Location: butter.html"))
    found.append(response("style.css", "p {}", head="Content-Type: text/css"))
    return [*found, response("gone.html", "nothing here", status="404 Not Found")]


def plain(path: Path, parts: list[bytes]) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def zipped(path: Path, parts: list[bytes]) -> Path:
    return plain(path, [gzip.compress(part, mtime=0) for part in parts])


def documents(source: Source, damage: Counter[str] | None = None) -> list[Document]:
    damage = Counter() if damage is None else damage
    found = [d for piece, _ in source.pieces() for d in source.documents(piece, damage)]
    assert all(isinstance(document, Document) for document in found)
    return found  # type: ignore[return-value]


def article_graph(source: Source, folder: Path) -> tuple[set[str], set[tuple[str, str, str]], dict[str, Any]]:
    """Titles, links by title and section, and the books."""
    result = build([source], folder, workers=1)
    graph = Graph.open(folder)
    edges = np.flatnonzero(graph.out_kinds == LINK)
    homes = np.repeat(np.arange(graph.nodes), np.diff(graph.out_indptr))[edges]
    ways = zip(homes.tolist(), graph.out_targets[edges].tolist(), strict=True)
    links = {(graph.title(a), graph.title(b), graph.block(b).section) for a, b in ways}
    return {graph.titles[i] for i in range(graph.articles)}, links, result.ledger


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[tuple[str, str, str]], Any]:
    root = tmp_path_factory.mktemp("site")
    found = article_graph(Html(folder(root / "site", SITE), ReadConfig(contents=False)), root / "wiki")
    assert found[0] == {"Home", "Milk", "Butter", "Café"}
    assert ("Home", "Milk", "Uses") in found[1]
    assert ("Home", "Butter", "") in found[1]
    return found


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("site.zim", lambda path: write_zim(path, SITE)),
        ("site.warc", lambda path: plain(path, records())),
        ("site.warc.gz", lambda path: zipped(path, records())),
    ],
)
def test_the_same_graph_as_from_a_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: tuple[set[str], set[tuple[str, str, str]], Any],
    name: str,
    write: Callable[[Path], Path],
) -> None:
    monkeypatch.setattr(packed, "CHUNK_BYTES", 1000)
    source = open_source(write(tmp_path / name))
    assert source.site.language == "de"
    titles, links, ledger = article_graph(source, tmp_path / "wiki")
    assert (titles, links) == expected[:2]
    for book in ("links", "section_links"):
        assert ledger[book] == expected[2][book]
    assert not ledger["damage"]


def test_what_a_zim_file_says_of_itself(tmp_path: Path) -> None:
    source = Zim(write_zim(tmp_path / "x.zim", {"index.html": f"<p>{PROSE}", "a/butter.html": f"<p>{PROSE}"}))
    assert (source.site.name, source.site.language) == ("Dairy", "fr")


def test_a_truncated_zim_file_is_refused_in_a_line(tmp_path: Path) -> None:
    data = write_zim(tmp_path / "x.zim", SITE).read_bytes()
    for size in (5, 60, len(data) // 2, len(data) - 1):
        (tmp_path / "x.zim").write_bytes(data[:size])
        with pytest.raises(InputError, match=r"cannot be read as a ZIM file .*: download it again"):
            open_source(tmp_path / "x.zim")


def test_damaged_entries_are_counted_and_the_others_are_kept(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(1 << 18).hex()  # more than fits into one cluster with the rest
    pages = {**SITE, "b.html": f"<p>{noise[: 1 << 17]}", "c.html": f"<p>{noise[1 << 17 :]}"}
    path = write_zim(tmp_path / "x.zim", pages, clusters=1 << 16)
    data = bytearray(path.read_bytes())
    at = data.index(b"\x28\xb5\x2f\xfd") + 20  # in the first of several streams of zstd
    data[at : at + 200] = b"#" * 200
    path.write_bytes(data)
    damage: Counter[str] = Counter()
    found = documents(Zim(path), damage)
    assert set(damage) == {"entry that cannot be read"}
    assert len(found) == len(pages) - damage.total() > 1


def test_a_page_may_be_called_like_a_file(tmp_path: Path) -> None:
    links = "".join(f"<a href={name}>{name}</a>, " for name in ("Node.js", "File.png", "style.css", "x.pdf"))
    pages = {"index.html": PROSE + links, "Node.js": PROSE, "File.png": PROSE, "a/butter.html": PROSE}
    found = {page.address: page for page in documents(Zim(write_zim(tmp_path / "x.zim", pages)))}
    assert [link.target for link in found["index.html"].links] == ["Node.js", "File.png"]
    assert found["index.html"].counts == {"file": 2}
    (page,) = documents(Warc(plain(tmp_path / "x.warc", [response("x", links)])))
    assert [link.target.partition("/")[2] for link in page.links] == ["Node.js", "style.css", "x.pdf"]
    assert page.counts == {"image": 1}


@pytest.mark.parametrize("write", [plain, zipped])
def test_large_pages_are_read_whole(tmp_path: Path, write: Any) -> None:
    noise = np.random.default_rng(0).bytes(150_000).hex()
    parts = [response(name, f"<title>{name}</title>{noise} end") for name in "ab"]
    damage: Counter[str] = Counter()
    found = documents(Warc(write(tmp_path / "x.warc", parts)), damage)
    assert [(page.title, page.text.split()[-1]) for page in found] == [("a", "end"), ("b", "end")]
    assert not +damage


def test_an_answer_that_leads_to_its_own_address_is_no_capture_of_it(tmp_path: Path) -> None:
    parts = [
        response("x", "<title>page</title>text", "2020-01-01T00:00:00Z"),
        response("x", "", "2021-01-01T00:00:00Z", "301 Moved", "Location: http://dairy.org/x"),
    ]
    found = documents(Warc(plain(tmp_path / "x.warc", parts)))
    assert [(page.title, page.redirect) for page in found] == [("page", None)]


def test_the_end_of_an_archive_is_looked_for_in_bounded_memory(tmp_path: Path) -> None:
    size = 64 << 20
    head = f"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: {size}\r\n\r\n".encode()
    rest = head + bytes(size) + b"\r\n\r\n"
    path = zipped(tmp_path / "x.warc.gz", [response("x", PROSE), rest])
    source = Warc(path, ReadConfig(language="en"))
    damage: Counter[str] = Counter()
    tracemalloc.start()
    try:
        assert len(documents(source, damage)) == 1
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert not +damage


def test_the_newest_capture_counts(tmp_path: Path) -> None:
    parts = [
        response("x", "<title>new</title>b", "2021-01-01T00:00:00Z"),
        response("x", "<title>old</title>a", "2020-01-01T00:00:00Z"),
        response("y", "<title>why</title>c", "2020-01-01T00:00:00Z"),
    ]
    damage: Counter[str] = Counter()
    found = documents(Warc(plain(tmp_path / "x.warc", parts)), damage)
    assert [(d.title, d.address, d.timestamp) for d in found] == [
        ("new", "dairy.org/x", "2021-01-01T00:00:00Z"),
        ("why", "dairy.org/y", "2020-01-01T00:00:00Z"),
    ]
    assert damage == {"older capture of a page (left out)": 1}


def test_answers_are_unpacked_and_read_in_the_encoding_that_they_state(tmp_path: Path) -> None:
    head = "Content-Type: text/html; charset=koi8-r\r\nContent-Encoding: gzip"
    part = response("x", gzip.compress("<title>мир</title>".encode("koi8-r")), head=head)
    assert [d.title for d in documents(Warc(plain(tmp_path / "x.warc", [part])))] == ["мир"]


@pytest.mark.parametrize("write", [plain, zipped])
@pytest.mark.parametrize("left", [0.8, 0.5, 0.1, 0.02, 0.001])
def test_a_truncated_archive_keeps_what_can_be_read(tmp_path: Path, write: Any, left: float) -> None:
    parts = [response(f"{i}", f"<title>{i}</title>" + PROSE * 20) for i in range(4)]
    path = write(tmp_path / "x.warc", parts)
    whole = write(tmp_path / "y.warc", parts[:3]).stat().st_size
    path.write_bytes(path.read_bytes()[: whole + 1 + int(left * (path.stat().st_size - whole))])
    damage: Counter[str] = Counter()
    titles = [d.title for d in documents(Warc(path), damage)]
    assert titles[:3] == ["0", "1", "2"]
    assert +damage
    assert set(damage) <= {"file cut short", "damaged or truncated data"}


@pytest.mark.parametrize("write", [plain, zipped])
def test_reading_goes_on_behind_damage(tmp_path: Path, write: Any) -> None:
    parts = [response(f"{i}", f"<title>{i}</title>" + PROSE * 20) for i in range(4)]
    path = write(tmp_path / "x.warc", parts)
    data = bytearray(path.read_bytes())
    at = len(data) // 4 if write is plain else len(gzip.compress(parts[0], mtime=0))
    at = len(parts[0]) if write is plain else at
    data[at : at + 40] = b"#" * 40
    path.write_bytes(data)
    damage: Counter[str] = Counter()
    assert [d.title for d in documents(Warc(path), damage)] == ["0", "2", "3"]
    assert damage == {"damaged or truncated data": 1}


def test_archives_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one stream of gzip"):
        Warc(plain(tmp_path / "x.warc.gz", [gzip.compress(b"".join(records()))]))
    with pytest.raises(InputError, match="one stream of gzip"):
        documents(Warc(tmp_path / "x.warc.gz", ReadConfig(language="en")))
    with pytest.raises(InputError, match="no web archive"):
        Warc(plain(tmp_path / "x.warc", [b"nothing"]))
    with pytest.raises(InputError, match="no ZIM file"):
        Zim(plain(tmp_path / "x.zim", [b"nothing"]))
    with pytest.raises(InputError, match="no such file"):
        Zim(tmp_path / "gone.zim")


def test_without_the_extras_a_line_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zim, archive = write_zim(tmp_path / "x.zim", SITE), plain(tmp_path / "x.warc", records())
    for module in ("libzim.reader", "fastwarc.warc"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(InputError, match=r"pip install 'linkwalk\[zim\]'"):
        open_source(zim)
    with pytest.raises(InputError, match=r"pip install 'linkwalk\[warc\]'"):
        open_source(archive)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("HTTP://A.org", "a.org/"),
        ("https://a.org:443/b%20c?d=%20", "a.org/b c?d=%20"),
        ("http://a.org:8080/", "a.org:8080/"),
        ("http://[bad", ""),
        ("http://a.org:x/", ""),
        ("ftp://a.org/", ""),
        ("urn:x", ""),
    ],
)
def test_addresses_of_the_web(url: str, address: str) -> None:
    assert address_of(url) == address


def test_every_link_of_an_archived_page_ends_in_one_place(tmp_path: Path) -> None:
    html = """<a href=y>1</a> <a href=http://other.org/>2</a> <a href=mailto:x@y>3</a> <a href=#z>4</a> <a href=x>5</a>
    <a href=a.png>6</a> <a href=http://[>7</a> <a href=http://a:b/>8</a> <nav><a href=n>9</a></nav>"""
    (found,) = documents(Warc(plain(tmp_path / "x.warc", [response("x", html)])))
    assert [link.target for link in found.links] == ["dairy.org/y", "other.org/", ""]
    assert sum(found.counts.values()) + len(found.links) == 9
    assert found.counts["broken address"] == 2
