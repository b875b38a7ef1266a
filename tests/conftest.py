"""Tiny wikis: pages written as a MediaWiki export, packed in every way dumps come, and built into graphs."""

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import pytest
from filelock import FileLock
from hypothesis import settings

from linkwalk import shipped
from linkwalk.artifact import checks
from linkwalk.build.build import BuildConfig, build
from linkwalk.build.read import ExtractConfig
from linkwalk.graph.store import Graph
from linkwalk.retrieve import index

# Everywhere but in continuous integration each run tries new examples; there the same ones, so that what fails is new.
# No test is timed: the first example may have a kernel to compile.
settings.register_profile("varied", deadline=None)
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady" if os.environ.get("CI") else "varied")

_WORDS = """stone river light winter garden engine market signal harbour copper meadow orbit planet village
forest glass paper window bridge valley island mountain road tower letter number story cloud summer field"""
WORDS = _WORDS.split()


@dataclass
class P:
    """One page of a tiny wiki."""

    title: str
    text: str = ""
    namespace: int = 0
    redirect: str | None = None
    """Target in an element of its own, as dumps since 2010 have it."""
    timestamp: str = "2021-03-04T05:06:07Z"
    model: str = "wikitext"

    def xml(self) -> bytes:
        redirect = f"\n    <redirect title={quoteattr(self.redirect)} />" if self.redirect else ""
        return (
            f"  <page>\n    <title>{escape(self.title)}</title>\n    <ns>{self.namespace}</ns>{redirect}\n"
            f"    <revision>\n      <timestamp>{self.timestamp}</timestamp>\n"
            f"      <model>{self.model}</model>\n"
            f'      <text xml:space="preserve">{escape(self.text)}</text>\n    </revision>\n  </page>\n'
        ).encode()


HEADER = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo>
    <sitename>Testwiki</sitename>
    <dbname>testwiki</dbname>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-2" case="first-letter">Media</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
FOOTER = b"</mediawiki>\n"


def to_xml(pages: Sequence[P]) -> bytes:
    return HEADER + b"".join(page.xml() for page in pages) + FOOTER


def multistream(pages: Sequence[P], per_stream: int = 3) -> list[bytes]:
    """The streams of a file packed as Wikimedia does: the header, some pages each, the footer."""
    groups = [pages[i : i + per_stream] for i in range(0, len(pages), per_stream)]
    bodies = [b"".join(page.xml() for page in group) for group in groups]
    return [bz2.compress(part) for part in (HEADER, *bodies, FOOTER)]


def cut_anywhere(data: bytes, streams: int, seed: int = 1) -> list[bytes]:
    """The streams of a file packed as pbzip2 does: cut at any byte, within tags and within characters."""
    rng = random.Random(seed)
    tags = [data.find(b"<page>", at) + 3 for at in rng.sample(range(len(data) * 3 // 4), 3)]
    cuts = sorted({*rng.sample(range(1, len(data)), streams - 1), *(tag for tag in tags if tag > 2)})
    return [bz2.compress(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def pack(data: bytes, path: Path) -> Path:
    """Write bytes packed as the path's last suffix says."""
    packers: dict[str, Callable[[bytes], bytes]] = {
        ".bz2": bz2.compress,
        ".gz": gzip.compress,
        ".xz": lzma.compress,
    }
    path.write_bytes(packers.get(path.suffix, bytes)(data))
    return path


def write_dump(path: Path, pages: Sequence[P]) -> Path:
    """Write pages as a MediaWiki export, or as JSON lines where the path says so."""
    if ".jsonl" in path.suffixes:
        lines = [json.dumps({"id": i, "title": p.title, "text": p.text}) for i, p in enumerate(pages)]
        return pack("\n".join(lines).encode(), path)
    return pack(to_xml(pages), path)


def prose(words: int = 60, seed: int = 0) -> str:
    """Sentences of everyday words that are no article's name."""
    rng = random.Random(seed)
    found: list[str] = []
    while len(found) < words:
        sentence = rng.choices(WORDS, k=rng.randint(5, 14))
        found += [sentence[0].capitalize(), *sentence[1:-1], sentence[-1] + "."]
    return " ".join(found)


def world(articles: int = 40, seed: int = 7) -> list[P]:
    """A wiki with something of everything: sections, redirects, ambiguous names, pages that are left out."""
    rng = random.Random(seed)
    names = [
        f"{rng.choice('BCDFGKLMNPRSTV')}{rng.choice('aeiouéø')}{word}" for word in (WORDS * 9)[:articles]
    ]
    names = [f"{name} {i}" if i % 3 else f"{name} {i} (planet)" for i, name in enumerate(names)]
    pages: list[P] = []
    for i, name in enumerate(names):
        parts = []
        for section in range(rng.randint(0, 3)):
            if section:
                parts.append(f"\n== Part {section} ==\n")
            for _paragraph in range(rng.randint(1, 4)):
                links = []
                for _ in range(rng.randint(0, 4)):
                    target = rng.choice([*names, "Nowhere", "Other " + rng.choice(names), name])
                    target += rng.choice(["", "", "#Part 1", "#Nothing"])
                    links.append(rng.choice([f"[[{target}]]", f"[[{target}|the {rng.choice(WORDS)}]]s"]))
                mentions = rng.sample(names, 2)
                begin = rng.choice(["", "(", "«", f"{name} is here. ", f"{rng.choice(names)} too. "])
                text = prose(rng.randint(10, 70), seed=rng.randint(0, 10**6))
                parts.append(f"{begin}{text} {' and '.join([*links, *mentions])}. Élan {text}\n")
        end = f"[[Category:Things]] [[category:{WORDS[i % 5]}|{i}]] [[File:x.jpg|thumb|A [[Nowhere]] view]]"
        pages.append(P(name, "\n".join([*parts, end]), timestamp=f"{2021 - i % 9}-03-04T05:06:07Z"))
        if i % 4 == 0:
            pages.append(
                P(f"Other {name}", f"#REDIRECT [[{name}{rng.choice(['', '#Part 1'])}]]", redirect=name)
            )
        if i % 9 == 0:
            again = f"{prose(80, seed=i)} [[Category:Doubles]]"  # a second page of the same title
            pages.append(P(name, again))
    pages += [
        P("Category:Things", "All of them.", 14),
        P("Talk:Things", "Well.", 1),
        P("List of things", prose(80)),
        P("Things (disambiguation)", "'''Things''' may refer to:\n* [[Nowhere]]\n" + prose(60)),
        P("Short", "Too short."),
        P("Ring", "#REDIRECT [[Ring 2]]", redirect="Ring 2"),
        P("Ring 2", "#REDIRECT [[Ring]]", redirect="Ring"),
    ]
    return pages


@pytest.fixture(autouse=True)
def nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is not told of the damage that another one has done to what it had open."""
    monkeypatch.setattr(checks, "_OPENED", {})


def graph_files(workspace: Path) -> dict[str, bytes]:
    """Every file of a graph; of the manifest only what does not name the input."""
    files = {path.name: path.read_bytes() for path in sorted((workspace / "graph").iterdir())}
    manifest = json.loads(files.pop("manifest.json"))
    for name in ("inputs", "fingerprint", "checksum"):
        del manifest[name]
    return {**files, "manifest": json.dumps(manifest, sort_keys=True).encode()}


def shown(workspace: Path) -> list[str]:
    """What a workspace holds, but for notes and locks."""
    return sorted(path.name for path in workspace.iterdir() if not path.name.startswith("."))


def assert_same_files(a: dict[str, bytes], b: dict[str, bytes]) -> None:
    """Compare file by file, so that a difference names its file."""
    assert list(a) == list(b)
    assert [name for name in a if a[name] != b[name]] == []


@dataclass
class Built:
    graph: Graph
    ledger: dict[str, Any]

    def edges(self, name: str) -> list[tuple[str, str, str]]:
        """A block's ways out: kind, target block, anchor."""
        node = self.graph.find(name)
        return [(e.kind, self.graph.name(e.target), e.anchor) for e in self.graph.links(node)]

    def linked(self, name: str, kind: str = "link") -> list[tuple[str, str]]:
        """Target block and anchor of a block's links of one kind."""
        return [(target, anchor) for found, target, anchor in self.edges(name) if found == kind]


Maker = Callable[..., Built]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """Builds pages into a graph in this process: ``make(pages, min_chars=0, entity_links=False)``."""
    made = 0

    def make(pages: Sequence[P], *, suffix: str = ".xml", **options: Any) -> Built:
        nonlocal made
        made += 1
        dump = write_dump(tmp_path / f"dump{made}{suffix}", pages)
        entity_links = options.pop("entity_links", True)
        arguments = {name: options.pop(name) for name in ("anchors", "workers", "strict") if name in options}
        config = BuildConfig(extract=ExtractConfig(**options), entity_links=entity_links)
        result = build([dump], tmp_path / f"wiki{made}", config, **arguments)
        return Built(Graph.open(result.workspace), result.ledger)

    return make


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Makes a folder once in a run, however many workers it has: ``once("world", make)``, each with its own copy.

    A copy, since whoever reads a workspace leaves notes in it, and another may be copying it.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def once(name: str, make: Callable[[Path], object]) -> Path:
        made, partial = shared / f"once-{name}", shared / f"once-{name}.partial"
        with FileLock(shared / f"once-{name}.lock"):
            if not made.exists():
                make(partial)
                partial.rename(made)
        return Path(shutil.copytree(made, tmp_path_factory.mktemp("once") / name))

    return once


@pytest.fixture(scope="session")
def encyclopedia(once: Once) -> Path:
    """The bundled encyclopedia, indexed, without embeddings; only to be read."""

    def make(folder: Path) -> None:
        dump = shipped.dump_path("demo")
        assert dump is not None
        build([dump], folder)
        index(folder, Graph.open(folder))

    return once("encyclopedia", make)


@pytest.fixture(scope="session")
def embedded_world(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of twenty blocks, embedded by MiniLM; only to be read."""

    def make(folder: Path) -> None:
        from linkwalk.embed import embed

        build([write_dump(tmp_path_factory.mktemp("dump") / "dump.xml", world(6))], folder, BuildConfig())
        embed(folder, device="cpu")

    return once("world", make)


@pytest.fixture(scope="session")
def indexed_world(embedded_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, indexed; only to be read."""
    folder = Path(shutil.copytree(embedded_world, tmp_path_factory.mktemp("indexed") / "world"))
    index(folder, Graph.open(folder))
    return folder


class DemoRun(NamedTuple):
    """What `linkwalk demo -o wiki --no-serve` made and printed."""

    wiki: Path
    out: str


@pytest.fixture(scope="session")
def demo_run(once: Once) -> DemoRun:
    """The whole bundled encyclopedia, embedded and indexed by the demo itself: half a minute; only to be read."""

    def make(folder: Path) -> None:
        folder.mkdir()
        command = [sys.executable, "-m", "linkwalk", "demo", "-o", "wiki", "--no-serve"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        (folder / "out.txt").write_text(ran.stdout, encoding="utf-8")

    made = once("demo", make)
    return DemoRun(made / "wiki", (made / "out.txt").read_text(encoding="utf-8"))
