"""Writes a graph piece by piece, in the order of its blocks, then the parts that follow from the whole."""

import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from linkwalk.arrays import Int32s, Integers, UInt64s
from linkwalk.artifact import FORMAT, digest, seal
from linkwalk.errors import InputError
from linkwalk.graph.columns import ArrayWriter, Columns, StringWriter, map_array
from linkwalk.graph.csr import Csr, transpose_indptr, transpose_into
from linkwalk.graph.store import ARRAYS, KINDS, OPTIONAL_ARRAYS, OPTIONAL_STRINGS, STRINGS, name_key

MAX_NODES = (1 << 31) - 1
#: Columns that ``finish`` derives; the others are appended by the caller or by ``add_*``.
_DERIVED = {"in_indptr", "in_sources", "name_keys", "name_articles"}


def write_transpose(forward: Csr, to_indptr: Path, to_sources: Path) -> None:
    """Write a graph turned round, through the memory map."""
    indptr, edges = transpose_indptr(forward), len(forward.indices)
    np.save(to_indptr, indptr)
    if edges == 0:
        np.save(to_sources, np.zeros(0, np.int32))
        return
    sources = np.lib.format.open_memmap(to_sources, mode="w+", dtype=np.int32, shape=(edges,))
    if hasattr(os, "posix_fallocate"):  # a full disk is an error here, not a crash when the map is written to
        with to_sources.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, to_sources.stat().st_size)
    transpose_into(forward, indptr, sources)
    sources.flush()


class GraphWriter:
    """A graph being written into ``folder``; ``finish`` writes the manifest last, so an unfinished one has none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*OPTIONAL_ARRAYS, *OPTIONAL_STRINGS):  # of a graph that was here before
            for file in folder.glob(f"{name}[._]*"):
                file.unlink()
        self._columns = Columns(folder)
        self.arrays = {
            name: self._columns.array(name, dtype, width)
            for name, (dtype, width) in ARRAYS.items()
            if name not in _DERIVED
        }
        self._strings = {name: self._columns.strings(name) for name in STRINGS}
        self._addresses: StringWriter | None = None
        self._parents: ArrayWriter | None = None
        self._dates: ArrayWriter | None = None
        self._tagged: tuple[ArrayWriter, ArrayWriter] | None = None
        self.arrays["out_indptr"].append([0])
        self.arrays["sentence_indptr"].append([0])
        # Keys of names and the articles they stand for: of titles, addresses, redirects.
        self._names: tuple[list[tuple[UInt64s, Int32s]], ...] = ([], [], [])
        self.nodes = self.edges = self.sentences = self.articles = 0
        self._kinds = np.zeros(len(KINDS), np.int64)

    def add_articles(self, titles: Iterable[str], first_nodes: Integers) -> None:
        """Add articles in order, each with the node of its first block."""
        titles = list(titles)
        self._strings["titles"].append(titles)
        self.arrays["article_node"].append(first_nodes)
        self._name(0, titles, np.arange(self.articles, self.articles + len(titles)))
        self.articles += len(titles)

    def add_addresses(self, addresses: Iterable[str]) -> None:
        """Add where the articles come from, in their order, empty for none: those of all articles, or of none."""
        if self._addresses is None:
            self._addresses, self._addressed = self._columns.strings("addresses"), 0
        addresses = list(addresses)
        self._addresses.append(addresses)
        given = [i for i, address in enumerate(addresses) if address]
        names = [" ".join(addresses[i].split()) for i in given]
        self._name(1, names, np.array(given, np.int32) + self._addressed)
        self._addressed += len(addresses)

    def add_parents(self, parents: Integers) -> None:
        """Add the articles above the articles, in their order, -1 for none: those of all articles, or of none."""
        if self._parents is None:
            self._parents = self._columns.array("article_parent", *OPTIONAL_ARRAYS["article_parent"])
        self._parents.append(parents)

    def add_dates(self, days: Integers) -> None:
        """Add the days on which the articles were last changed, in their order: those of all articles, or of none."""
        if self._dates is None:
            self._dates = self._columns.array("article_date", *OPTIONAL_ARRAYS["article_date"])
        self._dates.append(days)

    def add_tags(self, names: Iterable[str]) -> None:
        """Begin the tags: all there are, each once, in the order of their bytes."""
        self._columns.strings("tags").append(names)
        indptr, tags = (
            self._columns.array(name, *OPTIONAL_ARRAYS[name])
            for name in ("article_tag_indptr", "article_tags")
        )
        indptr.append([0])
        self._tagged = indptr, tags

    def tag_articles(self, counts: Integers, tags: Integers) -> None:
        """Add which tags the next articles have, each as many as ``counts`` says: those of all articles."""
        if self._tagged is None:
            raise ValueError("the tags themselves come first")
        indptr, taggings = self._tagged
        indptr.append(taggings.rows + np.cumsum(counts, dtype=np.int64))
        taggings.append(tags)

    def add_redirects(self, titles: Iterable[str], articles: Integers) -> None:
        """Add further names of articles."""
        titles = list(titles)
        self._strings["redirects"].append(titles)
        self.arrays["redirect_articles"].append(articles)
        self._name(2, titles, articles)

    def add_sections(self, titles: Iterable[str]) -> None:
        """Add section titles, numbered in order; the first of all must be the empty one."""
        self._strings["sections"].append(titles)

    def add_blocks(
        self,
        *,
        text: bytes | memoryview,
        text_lengths: Integers,
        article: Integers,
        block: Integers,
        section: Integers,
        sentence_counts: Integers,
        sentence_ends: Integers,
    ) -> None:
        """Add blocks in order."""
        self.nodes += len(article)
        if self.nodes > MAX_NODES:
            raise InputError(
                f"more than {MAX_NODES:,} blocks: make blocks of more words, or build the dump in parts"
            )
        self._strings["text"].append_blob(text, text_lengths)
        self.arrays["node_article"].append(article)
        self.arrays["node_block"].append(block)
        self.arrays["node_section"].append(section)
        self.arrays["sentence_indptr"].append(self.sentences + np.cumsum(sentence_counts, dtype=np.int64))
        self.arrays["sentence_ends"].append(sentence_ends)
        self.sentences += len(sentence_ends)

    def add_edges(
        self,
        *,
        degrees: Integers,
        targets: Integers,
        kinds: Integers,
        spans: Integers,
    ) -> None:
        """Add the out-links of the next ``len(degrees)`` blocks."""
        self.arrays["out_indptr"].append(self.edges + np.cumsum(degrees, dtype=np.int64))
        self.arrays["out_targets"].append(targets)
        self.arrays["out_kinds"].append(kinds)
        self.arrays["out_spans"].append(spans)
        self.edges += len(targets)
        self._kinds += np.bincount(kinds, minlength=len(KINDS))

    def counts(self) -> dict[str, Any]:
        """How much of everything there is so far."""
        return {
            "articles": self.articles,
            "nodes": self.nodes,
            "edges": self.edges,
            "edges_by_kind": dict(zip(KINDS, self._kinds.tolist(), strict=True)),
            "sentences": self.sentences,
        }

    def finish(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Close the columns, derive the transpose and the name index, write the manifest; return it."""
        self._columns.__exit__(None, None, None)
        forward = Csr(map_array(self.folder / "out_indptr.npy"), map_array(self.folder / "out_targets.npy"))
        write_transpose(forward, self.folder / "in_indptr.npy", self.folder / "in_sources.npy")
        self._write_names()
        whole = {"artifact": "graph", "format": FORMAT, "counts": self.counts(), **manifest}
        whole["fingerprint"] = digest(whole)
        return seal(self.folder, whole)

    def _name(self, sort: int, names: list[str], articles: Integers) -> None:
        keys = np.fromiter(map(name_key, names), np.uint64, len(names))
        self._names[sort].append((keys, articles.astype(np.int32)))

    def _write_names(self) -> None:
        """Sort the names by key. A title wins over an address, and that over a redirect of the same name."""
        none = np.zeros(0, np.uint64), np.zeros(0, np.int32)
        keys, named = map(np.concatenate, zip(none, *itertools.chain(*self._names), strict=True))
        keys, first = np.unique(keys, return_index=True)
        np.save(self.folder / "name_keys.npy", keys)
        np.save(self.folder / "name_articles.npy", named[first])

    def __enter__(self) -> "GraphWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._columns.__exit__(kind, error, trace)
