"""The graph on disk, opened through the memory map: milliseconds at any size, shared between processes.

Shapes: N blocks (the paper's nodes), E edges, A articles. Offsets within a block count UTF-8 bytes; a block's text is
always shorter than 64 KiB, so they fit 16 bits. docs/format.md lists every file.
"""

import os
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Array, Bytes, Int32s, Int64s
from linkwalk.artifact import look_at, read_manifest, steady
from linkwalk.errors import InputError
from linkwalk.graph.columns import Strings, map_array
from linkwalk.graph.csr import Csr
from linkwalk.graph.sound import check_columns, check_lengths, check_texts

PREV, NEXT, LINK, ENTITY, CONTENTS, BACKLINK = range(6)
KINDS = ("prev", "next", "link", "entity", "contents", "backlink")
TYPES = KINDS[: ENTITY + 1]
"""The kinds that policies tell apart: to them the others are links, which lead to pages of their own."""
MAX_BLOCK_BYTES = (1 << 16) - 1

#: Columns of the store: name -> (dtype, width). N + 1 entries for the ``indptr``s, N, E or A for the rest.
ARRAYS: dict[str, tuple[str, int]] = {
    "out_indptr": ("int64", 0),
    "out_targets": ("int32", 0),
    "out_kinds": ("uint8", 0),
    "out_spans": ("uint16", 2),
    "in_indptr": ("int64", 0),
    "in_sources": ("int32", 0),
    "sentence_indptr": ("int64", 0),
    "sentence_ends": ("uint16", 0),
    "node_article": ("int32", 0),
    "node_block": ("int32", 0),
    "node_section": ("int32", 0),
    "article_node": ("int32", 0),
    "redirect_articles": ("int32", 0),
    "name_keys": ("uint64", 0),
    "name_articles": ("int32", 0),
}
STRINGS = ("text", "titles", "sections", "redirects")
OPTIONAL_ARRAYS: dict[str, tuple[str, int]] = {
    "article_parent": ("int32", 0),
    "article_date": ("int32", 0),
    "article_tag_indptr": ("int64", 0),
    "article_tags": ("int32", 0),
}
OPTIONAL_STRINGS = ("addresses", "tags")
"""Columns of a graph whose articles have them: the article above, or -1; the day it was last changed; tags; origin."""
NO_DATE = -(1 << 31)
"""The day of an article of which none is known; days count from 1970."""
FIELDS = {"fingerprint": str, "snapshot": dict, "counts": dict}
"""What its manifest must have."""


def types_of(kinds: Bytes) -> Bytes:
    """What edges of some kinds are to a policy, one of ``TYPES``."""
    return np.where((kinds == CONTENTS) | (kinds == BACKLINK), np.uint8(LINK), kinds)


def name_key(name: str) -> int:
    """64-bit key of an article's name; the chance that two of 17M names share one is about 1 in 100,000."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def spellings(name: str) -> list[str]:
    """What may be meant by a name: itself, with blanks for underscores, and with a capital; composed, too (NFC)."""
    blanks = " ".join(name.replace("_", " ").split())
    found = (" ".join(name.split()), blanks, blanks[:1].upper() + blanks[1:])
    return list(dict.fromkeys((*found, *map(nfc, found))))


def nfc(name: str) -> str:
    """A name in Unicode's composed form: file names that Macs wrote, say, have accents of their own."""
    return unicodedata.normalize("NFC", name)


@dataclass(frozen=True, slots=True)
class Edge:
    """One way out of a block: where to, of what kind, and the words one would click."""

    target: int
    kind: str
    start: int
    """Characters into the block's text where the anchor begins (0 for what does not stand in it)."""
    end: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Block:
    """One node n_i with its text s_i, the title and section it stands in, and its sentences."""

    node: int
    title: str
    block: int
    section: str
    text: str
    sentences: tuple[str, ...]

    @property
    def name(self) -> str:
        """How people and the command line name a block: ``Title (block)``."""
        return f"{self.title} ({self.block})"


@dataclass(frozen=True)
class Sentence:
    """The sentence a link stands in, cut where the link begins and ends."""

    before: str
    link: str
    after: str


class Graph:
    """W = {N, L}: blocks and their links (sec. 4.1), read-only."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder, self.manifest = folder, manifest
        self.arrays: dict[str, Array] = {}
        self.strings: dict[str, Strings] = {}

    @classmethod
    def open(cls, workspace: Path | str) -> "Graph":
        """Open the graph of a workspace."""
        workspace = Path(workspace)
        if not workspace.is_dir():
            raise InputError(
                f"no such workspace: {workspace} (make one with `linkwalk build DUMP -o {workspace}`)"
            )
        return steady(workspace / "graph", lambda: cls._open(workspace))

    @classmethod
    def _open(cls, workspace: Path) -> "Graph":
        graph = cls.map(workspace)
        # The look is remembered for when something fails: it maps the files anew, and keeps no graph from closing.
        look_at(graph.folder, graph.manifest, graph.remedy, structure=lambda: cls.map(workspace).check())
        check_lengths(graph)
        return graph

    @classmethod
    def map(cls, workspace: Path) -> "Graph":
        """Map a graph's files; what they hold has not been looked at."""
        folder = workspace / "graph"
        graph = cls(folder, read_manifest(folder, "graph", f"linkwalk build DUMP -o {workspace}", FIELDS))
        # Everything is mapped here and now: what is open stays whole, though a new graph takes its place on disk.
        for name, kind in (ARRAYS | OPTIONAL_ARRAYS).items():
            path = folder / f"{name}.npy"
            if name in ARRAYS or path.exists():
                graph.arrays[name] = map_array(path, graph.remedy, *kind)
        for name in (*STRINGS, *OPTIONAL_STRINGS):
            if name in STRINGS or (folder / f"{name}.bin").exists():
                graph.strings[name] = Strings.open(folder, name, graph.remedy)
        return graph

    def changed(self, **arrays: Array) -> "Graph":
        """The same graph with other columns of these names, in memory."""
        other = type(self)(self.folder, self.manifest)
        other.arrays, other.strings = {**self.arrays, **arrays}, self.strings
        return other

    @property
    def remedy(self) -> str:
        """What mends a damaged graph."""
        if "half" in self.manifest.get("config", {}):
            return f"run `linkwalk split WIKI -o {self.folder.parents[1]}` again"
        return f"run `linkwalk build DUMP -o {self.folder.parent} --force`"

    def check(self, *, texts: bool = False) -> None:
        """Look at what the columns hold, and at every string if wanted; what cannot be right is an error."""
        check_lengths(self)
        check_columns(self)
        if texts:
            check_texts(self)

    def __getattr__(self, name: str) -> Array:
        try:
            return self.__dict__["arrays"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return (
            f"Graph({self.snapshot}: {self.articles:,} articles, {self.nodes:,} blocks, {self.edges:,} edges)"
        )

    @property
    def nodes(self) -> int:
        """N, the number of blocks."""
        return len(self.node_article)

    @property
    def edges(self) -> int:
        """E, the number of links."""
        return len(self.out_targets)

    @property
    def articles(self) -> int:
        """A, the number of articles."""
        return len(self.article_node)

    @property
    def article_length(self) -> float:
        """Blocks of an article, on average; 0 of an empty graph."""
        return self.nodes / max(1, self.articles)

    @property
    def snapshot(self) -> str:
        """The wiki's name and the date of its newest page."""
        snapshot = self.manifest["snapshot"]
        return f"{snapshot['name']} {snapshot['date']}".strip()

    @property
    def language(self) -> str:
        """The code of the language that its source states, such as ``de``; empty where it states none."""
        return str(self.manifest["snapshot"].get("language", ""))

    @property
    def fingerprint(self) -> str:
        """What an artefact made from this graph records, to notice when the graph has changed."""
        return str(self.manifest["fingerprint"])

    @cached_property
    def forward(self) -> Csr:
        """Out-links."""
        return Csr(self.out_indptr, self.out_targets)

    @cached_property
    def reverse(self) -> Csr:
        """In-links: the transposed graph."""
        return Csr(self.in_indptr, self.in_sources)

    @property
    def texts(self) -> Strings:
        """Every block's text."""
        return self.strings["text"]

    @property
    def titles(self) -> Strings:
        """Every article's title."""
        return self.strings["titles"]

    @property
    def sections(self) -> Strings:
        """Section titles; number 0 is the lead's, empty."""
        return self.strings["sections"]

    @property
    def redirects(self) -> Strings:
        """Titles that redirect to an article (``redirect_articles`` says which)."""
        return self.strings["redirects"]

    @property
    def addresses(self) -> Strings | None:
        """Every article's file or URL, empty where it has none; None where no article has one."""
        return self.strings.get("addresses")

    @property
    def parents(self) -> Int32s | None:
        """The article above every article in the contents, -1 for none; None where no article has one."""
        return self.arrays.get("article_parent")

    @property
    def dates(self) -> Int32s | None:
        """The day every article was last changed, ``NO_DATE`` where nobody says; None where no article has one."""
        return self.arrays.get("article_date")

    @property
    def tags(self) -> Strings | None:
        """All tags, in the order of their bytes; None where no article has one."""
        return self.strings.get("tags")

    def title(self, node: int) -> str:
        """Title of the article a block belongs to."""
        return self.titles[int(self.node_article[node])]

    def name(self, node: int) -> str:
        """``Title (block)``."""
        return f"{self.title(node)} ({int(self.node_block[node])})"

    def block(self, node: int) -> Block:
        """One block, decoded."""
        raw = self.texts.bytes(node)
        ends = self.sentence_bounds(node)
        sentences = tuple(raw[a:b].decode().strip() for a, b in zip([0, *ends[:-1]], ends, strict=True))
        section = self.sections[int(self.node_section[node])]
        return Block(node, self.title(node), int(self.node_block[node]), section, raw.decode(), sentences)

    def sentence_bounds(self, node: int) -> list[int]:
        """Where the sentences of a block end, in bytes."""
        first, last = self.sentence_indptr[node : node + 2]
        ends: list[int] = self.sentence_ends[first:last].tolist()
        return ends

    def links(self, node: int) -> list[Edge]:
        """Every way out of a block, in the order of its row: previous, next, as they stand in the text, the others."""
        first, last = self.out_indptr[node : node + 2]
        row, raw, edges = slice(first, last), self.texts.bytes(node), []
        columns = (column[row].tolist() for column in (self.out_targets, self.out_kinds, self.out_spans))
        for target, kind, (start, end) in zip(*columns, strict=True):
            anchor = raw[start:end].decode()
            begin = len(raw[:start].decode())
            edges.append(Edge(target, KINDS[kind], begin, begin + len(anchor), anchor))
        return edges

    def article(self, name: str) -> int | None:
        """The article of that title or address, or the one a redirect of that title leads to; None if there is none."""
        for spelling in spellings(name):
            key = np.uint64(name_key(spelling))
            at = int(np.searchsorted(self.name_keys, key))
            if at < len(self.name_keys) and self.name_keys[at] == key:
                return int(self.name_articles[at])
        return None

    def article_blocks(self, article: int) -> Int64s:
        """The blocks of one article, in order; they stand next to each other."""
        first = int(self.article_node[article])
        last = int(self.article_node[article + 1]) if article + 1 < self.articles else self.nodes
        return np.arange(first, last)

    def find(self, name: str, suggest: Callable[[str], list[str]] | None = None) -> int:
        """The block that ``"Title"`` (its first) or ``"Title (3)"`` names; an unknown one is an error that suggests.

        Where no article has the name, it may be a file's without its ending.

        ``suggest`` says what may have been meant where looking at all titles takes too long.
        """
        match = re.fullmatch(r"(.*\S)\s*\((\d+)\)", name.strip())
        for look_up in (self.article, self._article_in_file):
            if (article := look_up(name)) is not None:
                return int(self.article_node[article])
            if match and (article := look_up(match[1])) is not None:
                return self._block(article, int(match[2]))
        near = (suggest or self.suggest)(name)
        hint = f": did you mean {', '.join(map(repr, near))}?" if near else ""
        raise InputError(f"no article named {name!r} in {self.snapshot}{hint}")

    def _block(self, article: int, number: int) -> int:
        blocks = self.article_blocks(article)
        numbers = self.node_block[blocks]
        if not len(hit := blocks[numbers == number]):
            raise InputError(
                f"{self.titles[article]!r} has no block {number}: its blocks are {numbers[0]} to {numbers[-1]}"
            )
        return int(hit[0])

    def _article_in_file(self, name: str) -> int | None:
        """The only article whose address ends in a name and an ending: ``Roses`` for ``projects/Roses.md``."""
        if self.addresses is None or not (name := nfc(name.strip())):
            return None
        hits = re.finditer(re.escape(f"{name}.".encode()), self.addresses.blob)  # type: ignore[call-overload]
        starts = np.fromiter((hit.start() for hit in hits), np.int64)
        rows = np.unique(np.searchsorted(self.addresses.offsets, starts, side="right") - 1)
        stems = (f"/{os.path.splitext(address)[0]}" for address in self.addresses.take(rows))
        found = [row for row, stem in zip(rows.tolist(), stems, strict=True) if stem.endswith(f"/{name}")]
        return found[0] if len(found) == 1 else None

    def suggest(self, name: str, limit: int = 3) -> list[str]:
        """Titles that look like ``name``, best first."""
        from rapidfuzz import fuzz, process, utils

        found: list[tuple[float, str]] = []
        for start in range(0, self.articles, 1 << 18):  # in pieces: 5M titles need not be in memory at once
            titles = self.titles.slice(start, min(start + (1 << 18), self.articles))
            best = process.extract(
                name,
                titles,
                scorer=fuzz.WRatio,
                processor=utils.default_process,
                limit=32 * limit,
                score_cutoff=70,
            )
            # Beside a long name any short title looks like a part of it.
            found += [(-score, title) for title, score, _ in best if 5 * len(title) >= 3 * len(name)]
        return [title for _, title in sorted(found)[:limit]]


def find_sentence(graph: Graph, node: int, edge: int) -> Sentence:
    """The sentence of a block in which one of its links begins."""
    raw = graph.texts.bytes(node)
    start, end = graph.out_spans[edge].tolist()
    ends = graph.sentence_bounds(node)
    which = bisect_right(ends, start)
    begin = ends[which - 1] if which else 0
    stop = max(end, ends[which]) if which < len(ends) else len(raw)
    return Sentence(
        raw[begin:start].decode().lstrip(), raw[start:end].decode(), raw[end:stop].decode().rstrip()
    )
