"""Whatever one feeds it: one line and status 2 where there is nothing to keep, the good pages where there are some."""

import bz2
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk.graph.store import Graph
from tests.conftest import FOOTER, HEADER, P, multistream, pack, prose, shown, to_xml, world, write_dump

Run = Callable[..., Any]
GOOD = [P(f"Good {i}", prose(60, i)) for i in range(6)]
BOMB = b"""<?xml version="1.0"?><!DOCTYPE mediawiki [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]>
<mediawiki><siteinfo><sitename>&d;</sitename></siteinfo><page><title>&d;</title></page></mediawiki>"""


def assert_refused(ran: Any, expected: str = "") -> None:
    assert (ran.status, ran.out) == (2, ""), ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert expected in ran.err


def noise() -> bytes:
    return random.Random(1).randbytes(100_000)


REFUSED = {
    "empty": (b"", "is empty"),
    "text": (b"Dear all,\nplease find attached.\n", "is not a MediaWiki export"),
    "noise": (noise(), "is not a MediaWiki export"),
    "noise like bzip2": (b"BZh91AY&SY" + noise(), "cannot be unpacked"),
    "noise like gzip": (b"\x1f\x8b\x08\x00" + noise(), ""),
    "noise like xz": (b"\xfd7zXZ\x00" + noise(), "cannot be unpacked"),
    "noise packed": (bz2.compress(noise()), "is not a MediaWiki export"),
    "html": (b"<!DOCTYPE html><html><body>Not found</body></html>", "is not a MediaWiki export"),
    "broken header": (b"<mediawiki><siteinfo><page>", ""),
    "broken siteinfo": (HEADER.replace(b"</sitename>", b"</name>") + GOOD[0].xml(), "broken XML"),
    "no pages": (HEADER + FOOTER, "the dump has none"),
    "nothing but a broken page": (
        HEADER + b"<page><title>A</title><text>a < b</page>" + FOOTER,
        "1 × broken XML",
    ),
    "cut off in the first page": (HEADER + GOOD[0].xml()[:80], "cut off in mid-page"),
    "no article": (to_xml([P("Talk:A", "x", 1), P("B", "tiny")]), "1 other namespace, 1 short"),
    "billion laughs": (BOMB, "declares a document type"),
    "billion laughs in a page": (HEADER + b"<page><!DOCTYPE x><title>&a;</title></page>" + FOOTER, ""),
    "utf-16": (to_xml(GOOD).decode().encode("utf-16"), "is not a MediaWiki export"),
    "json without title": (b'{"a": 1}\n{"b": 2}\n', "2 × broken JSON line"),
    "json array": (b'[{"title": "A", "text": "b"}]', "is not a MediaWiki export"),
    "noise like ZIM": (b"ZIM\x04" + noise(), "cannot be read as a ZIM file"),
    "noise like WARC": (b"WARC/1.0\r\n" + noise(), "1 × damaged or truncated data"),
    "zip": (b"PK\x03\x04" + noise(), "packed with zip"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_input_without_a_good_page_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    content, expected = REFUSED[name]
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(content)
    assert_refused(run("build", path, "-o", tmp_path / "new" / "wiki", "--workers", 1, "--quiet"), expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dump.xml.bz2"]


def test_paths(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "x.xml", GOOD)
    wiki = tmp_path / "wiki"
    assert_refused(run("build", tmp_path / "missing.xml", "-o", wiki), "no such file")
    assert_refused(run("build", dump, tmp_path / "missing.xml", "-o", wiki), "no such file")
    assert_refused(run("build", tmp_path, "-o", wiki), "is a folder")
    assert_refused(run("build", dump, "-o", dump), "is a file")
    assert_refused(run("build", dump, "-o", dump / "below", "--workers", 1), "Not a directory")
    assert_refused(run("build", dump, "-o", wiki, "--anchors", tmp_path / "none"), "no such workspace")
    assert_refused(run("build", dump, "-o", wiki, "--anchors", tmp_path), "no graph in")
    assert not wiki.exists()
    wiki.mkdir()
    (wiki / "letter.txt").write_text("Dear all")
    assert_refused(run("build", dump, "-o", wiki), "holds something else")
    assert_refused(run("build", dump, "-o", wiki, "--force"), "holds something else")
    assert [path.name for path in wiki.iterdir()] == ["letter.txt"]


def test_an_empty_folder_stays_when_the_input_is_bad(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "x.xml").write_bytes(HEADER + FOOTER)
    assert_refused(run("build", tmp_path / "x.xml", "-o", tmp_path / "wiki", "--workers", 1, "-q"))
    assert list((tmp_path / "wiki").iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody may write to")
def test_a_folder_nobody_may_write_to(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "x.xml", GOOD)
    assert_refused(run("build", dump, "-o", "/proc/wiki", "--workers", 1))


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--prose-only", "--keep-tables"], "--prose-only drops what --keep-tables keeps"),
        (["--language", "german"], "'german' is no code of a language: write `de` or `pt-BR`, say"),
        (["--anchors", "x", "--no-entity-links"], "--no-entity-links turns off"),
        (["--block-words", "9"], "--block-words"),
        (["--block-words", "many"], "--block-words"),
        (["--min-chars", "-1"], "--min-chars"),
        (["--workers", "0"], "--workers"),
        (["--blok-words", "50"], "No such option: --blok-words"),
    ],
)
def test_options_that_cannot_be(run: Run, tmp_path: Path, args: list[str], expected: str) -> None:
    dump = write_dump(tmp_path / "x.xml", GOOD)
    assert_refused(run("build", dump, "-o", tmp_path / "wiki", *args), expected)
    assert not (tmp_path / "wiki").exists()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["build"], "Missing argument 'DUMP'"),
        (["build", "x.xml"], "Missing option"),
        (["biuld"], "Did you mean 'build'"),
        (["--nonsense"], "No such option"),
    ],
)
def test_commands_that_are_none(run: Run, args: list[str], expected: str) -> None:
    assert_refused(run(*args), expected)


# Damaged, but with good pages.


def corrupt_middle() -> bytes:
    streams = multistream(GOOD, per_stream=1)
    broken = bytearray(streams[3])
    broken[len(broken) // 2] ^= 0xFF
    return b"".join([*streams[:3], bytes(broken), *streams[4:]])


def with_page(page: bytes) -> bytes:
    return HEADER + GOOD[0].xml() + page + b"".join(good.xml() for good in GOOD[1:]) + FOOTER


def raw_page(text: bytes) -> bytes:
    return b"<page><title>Bad</title><ns>0</ns><revision><text>" + text + b"</text></revision></page>\n"


LONG = prose(60, 99).encode()
DAMAGED: dict[str, tuple[Callable[[], bytes], dict[str, int], int]] = {
    # name: content, damage, how many of the good pages are lost
    "cut off": (lambda: to_xml(GOOD)[:-200], {"cut off in mid-page": 1}, 1),
    "bzip2 cut off": (
        lambda: bz2.compress(to_xml(world(200)), compresslevel=1)[:-2000],
        {"damaged or truncated data": 1},
        -1,
    ),
    "bzip2 cut off between streams": (
        lambda: b"".join(bz2.compress(to_xml(GOOD)[a : a + 500]) for a in range(0, 2500, 500)),
        {"cut off in mid-page": 1},
        -1,
    ),
    "multistream with a corrupt stream": (corrupt_middle, {"damaged or truncated data": 1}, 1),
    "a broken page": (lambda: with_page(raw_page(b"a < b")), {"broken XML": 1}, 0),
    "a page never closed": (lambda: with_page(b"<page><title>Bad</title>"), {"broken XML": 1}, 0),
    "invalid utf-8": (lambda: with_page(raw_page(b"\xff\xfe " + LONG)), {"invalid UTF-8 (mended)": 1}, 0),
    "control characters": (
        lambda: with_page(raw_page(b"\x00\x01\x0b " + LONG)),
        {"forbidden characters (mended)": 1},
        0,
    ),
    "a duplicate title": (lambda: with_page(GOOD[3].xml()), {"duplicate title": 1}, 0),
    "a redirect to itself": (
        lambda: with_page(P("Self", "#REDIRECT [[Self]]", redirect="Self").xml()),
        {"redirect loop": 1},
        0,
    ),
    "a giant page": (lambda: with_page(raw_page(b"word " * 10_000_000)), {"too large": 1}, 0),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_counted_and_the_rest_kept(run: Run, tmp_path: Path, name: str) -> None:
    content, damage, lost = DAMAGED[name]
    path = tmp_path / "dump.xml"
    path.write_bytes(content())
    args = ("build", path, "-o", tmp_path / "wiki", "--workers", 1, "--quiet")
    refused = run(*args, "--strict")
    assert_refused(refused, "and the build is strict")
    assert not (tmp_path / "wiki").exists()
    ran = run(*args)
    assert ran.status == 0, ran.err
    assert ran.err.startswith("warning: ")
    assert ran.err.count("\n") == 1
    ledger = json.loads((tmp_path / "wiki" / "graph" / "ledger.json").read_text())
    for reason, count in damage.items():
        assert ledger["damage"][reason] == count
        assert reason in ran.err
        assert reason in refused.err
    graph = Graph.open(tmp_path / "wiki")
    titles = graph.titles.slice(0, graph.articles)
    if lost >= 0:
        assert len([title for title in titles if title.startswith("Good")]) == len(GOOD) - lost
    assert titles
    assert ledger["pages"]["read"] == graph.articles + sum(ledger["pages"]["skipped"].values())
    assert_refused(run(*args, "--strict"), "damaged")  # even though the graph is there


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["[[", "{{", "{|\n", "<ref>", "[[a|", "{{{", "'''", "<!--", "]]", ".", "=", "&#"]
)
def test_a_million_brackets_take_bounded_time(run: Run, tmp_path: Path, unit: str) -> None:
    page = P("Bad", prose(60) + "\n\n" + unit * (1_000_000 if unit in ("[[", "{{") else 100_000))
    path = write_dump(tmp_path / "x.xml", [GOOD[0], page, GOOD[1]])
    began = time.perf_counter()
    ran = run("build", path, "-o", tmp_path / "wiki", "--workers", 1, "--quiet", "--json")
    assert time.perf_counter() - began < 60
    assert ran.status == 0
    assert ran.json()["ledger"]["pages"]["read"] == 3
    assert Graph.open(tmp_path / "wiki").find("Good 1") > 0


def test_damaged_json_lines(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"title": page.title, "text": page.text}) for page in GOOD]
    lines[2:2] = [
        "{broken",
        "[" * 50_000,
        r'{"title": "Half \ud800", "text": "' + prose(60, 8) + r' \udfff"}',
        "7",
    ]
    path = pack("\n".join(lines).encode(), tmp_path / "x.jsonl.gz")
    ran = run("build", path, "-o", tmp_path / "wiki", "--workers", 1, "--quiet", "--json")
    assert ran.status == 0
    assert ran.json()["ledger"]["damage"] == {"broken JSON line": 3, "forbidden characters (mended)": 1}
    assert Graph.open(tmp_path / "wiki").articles == len(GOOD) + 1


# A disk that is full.


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dump(tmp_path_factory.mktemp("large") / "x.xml.bz2", world(600))


@pytest.fixture(scope="module")
def whole(large: Path) -> Path:
    assert run_apart("build", large, "-o", large.parent / "wiki", "--workers", 1).returncode == 0
    return large.parent / "wiki"


def run_apart(*args: object, limit: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, with a limit to the size of files if asked for."""
    code = "import resource, signal, sys; from linkwalk.cli import main\n"
    if limit:
        code += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        code += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    code += "main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "sizes"), [(1, (100, 900, 1800)), (2, (1400,))])
def test_a_full_disk(large: Path, whole: Path, tmp_path: Path, workers: int, sizes: tuple[int, ...]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    refused = 0
    for size in sizes:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode:
            pytest.skip("may not mount a small disk here")
        try:
            done = run_apart("build", large, "-o", disk / "wiki", "--workers", workers, "--quiet")
            if done.returncode == 0:
                continue
            refused += 1
            assert done.returncode == 2, (size, done.returncode, done.stderr)
            assert done.stderr.splitlines()[-1].startswith("error: the disk is full"), (size, done.stderr)
            assert "Traceback" not in done.stderr
            assert not (disk / "wiki" / "graph").exists()
            left = [path.name for path in disk.rglob("*")]
            assert not [
                name for name in left if name.endswith((".partial", ".bin")) and name != "graph.partial"
            ]
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            again = run_apart("build", large, "-o", disk / "wiki", "--workers", 1, "--quiet")
            assert again.returncode == 0, again.stderr
            assert shown(disk / "wiki") == ["graph"]
            for path in (whole / "graph").iterdir():
                assert (disk / "wiki" / "graph" / path.name).read_bytes() == path.read_bytes()
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    assert refused >= (len(sizes) + 1) // 2


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs limits on the size of files")
@pytest.mark.parametrize("limit", [1000, 40_000, 300_000])
def test_a_limit_on_files(large: Path, tmp_path: Path, limit: int) -> None:
    done = run_apart("build", large, "-o", tmp_path / "wiki", "--workers", 1, "--quiet", limit=limit)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "wiki" / "graph").exists()


_SNIPPETS = (
    b"<page> </page> <text> </text> &#0; &lt; [[ {{ ]] {| <!-- ]]> <![CDATA[ \xff \x00 \n==x==\n".split(b" ")
)


@pytest.mark.parametrize("seed", range(25))
def test_no_damage_crashes_it(run: Run, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(to_xml(world(8)))
    for _ in range(rng.choice([1, 5, 30])):
        at, length = rng.randrange(len(data)), rng.choice([1, 30, 500])
        data[at : at + rng.choice([0, length])] = rng.choice(
            [b"", rng.choice(_SNIPPETS), rng.randbytes(length)]
        )
    cuts = sorted(rng.sample(range(len(data)), rng.randrange(6)))
    streams = [bz2.compress(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    packed = bytearray(b"".join(streams))
    packed[rng.randrange(len(packed))] ^= rng.choice([0, 1, 64])
    path = tmp_path / "x"
    path.write_bytes(data if seed % 2 else packed)
    ran = run("build", path, "-o", tmp_path / "wiki", "--workers", 1, "--quiet", "--json", "--min-chars", 0)
    if ran.status:
        assert_refused(ran)
        assert not (tmp_path / "wiki").exists()
        return
    graph, pages = Graph.open(tmp_path / "wiki"), ran.json()["ledger"]["pages"]
    assert pages["read"] == pages["kept"] + sum(pages["skipped"].values())
    for node in range(graph.nodes):
        assert graph.block(node).text
        assert all(edge.target != node for edge in graph.links(node))
