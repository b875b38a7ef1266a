"""Anchor statistics: which words link where, how often, and how often they stand unlinked.

From the dump's own links come, for a surface form s and an article e, the commonness P(e | s) and the link probability
P(link | s). They are gathered per shard, as sorted runs, and merged a slice of the key space at a time, so that memory
stays bounded whatever the dump's size.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.build.entities.mentions import CLASSES, Bytes, Int32s, Int64s, Keys, hash_spans, hash_strings
from linkwalk.build.names import Names, find_keys
from linkwalk.compiled import kernel, row_of
from linkwalk.graph.columns import Columns, map_array
from linkwalk.graph.store import Graph, name_key

#: How a pair (surface, article) is known: from links alone, from a title, from a title with its capital made small, as
#: a person's last name (which means that person only where the article is about them or links to them), or from a title
#: without its qualifier (which, being qualified, is not what the bare name means first).
FROM_LINKS, FROM_TITLE, FROM_SMALL_TITLE, FROM_SURNAME, FROM_BARE_TITLE = range(5)
#: Of two candidates with as many links, which comes first.
_ORIGIN_RANK = np.array([4, 0, 1, 3, 2])
#: Of a surface with more meanings than this, the rarest are not considered.
MAX_CANDIDATES = 16
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_MERGE_ROWS = 20_000_000
_LAST = FROM_BARE_TITLE + 1
_PAIR_COLUMNS = ("pair_surface", "pair_article", "pair_links", "pair_origin", "pair_shape")

Arrays = dict[str, NDArray[Any]]


#: Tables of the linker that stay with the graph, for ``--anchors`` of another build.
ANCHOR_FILES = {
    "surface-keys": "anchors_surfaces",
    "surface-indptr": "anchors_indptr",
    "surface-links": "anchors_links",
    "surface-shapes": "anchors_shapes",
    "surface-seen": "anchors_seen",
    "candidate-articles": "anchors_articles",
    "candidate-links": "anchors_candidate_links",
}


def title_forms(title: str) -> Iterator[tuple[str, int]]:
    """How a title may stand in running text: as it is, without its qualifier, and in the middle of a sentence."""
    bare = _QUALIFIER.sub("", title)
    for form in dict.fromkeys((title, bare)):
        yield form, FROM_TITLE if form == title else FROM_BARE_TITLE
        small = form[:1].lower() + form[1:]
        if small != form and not form[1:2].isupper():
            yield small, FROM_SMALL_TITLE if form == title else FROM_BARE_TITLE


def gather_pairs(
    text: Bytes,
    starts: Int64s,
    ends: Int64s,
    articles: Int32s,
    names: Sequence[tuple[str, int]],
    surnames: Sequence[tuple[str, int]],
) -> Arrays:
    """The pairs (surface, article) of one shard with their counts, sorted: from its links and from its titles."""
    forms = [(form, article, origin) for name, article in names for form, origin in title_forms(name)]
    forms += [(name, article, FROM_SURNAME) for name, article in surnames]
    linked, linked_shape = hash_spans(text, starts, ends, CLASSES)
    named, named_shape = hash_strings([form for form, _, _ in forms])
    return _add_up(
        np.concatenate((linked, named)),
        np.concatenate((articles, np.array([article for _, article, _ in forms], np.int32))),
        np.concatenate((np.ones(len(articles), np.uint32), np.zeros(len(forms), np.uint32))),
        np.concatenate(
            (np.zeros(len(articles), np.uint8), np.array([origin for _, _, origin in forms], np.uint8))
        ),
        np.concatenate((linked_shape, named_shape)),
    )


def _add_up(surface: Keys, article: Int32s, links: NDArray[np.uint32], origin: Bytes, shape: Bytes) -> Arrays:
    """Sort pairs and add up the counts of equal ones."""
    order = np.lexsort((article, surface))
    order = order[surface[order] != 0]
    surface, article, links, origin, shape = (c[order] for c in (surface, article, links, origin, shape))
    if not len(order):
        return dict(zip(_PAIR_COLUMNS, (surface, article, links, origin, shape), strict=True))
    fresh = (surface[1:] != surface[:-1]) | (article[1:] != article[:-1])
    first = np.flatnonzero(np.concatenate(([True], fresh)))
    # A title's plain form outweighs its small one where both spell the same.
    best = np.minimum.reduceat(np.where(origin == FROM_LINKS, _LAST, origin), first)
    return {
        "pair_surface": surface[first],
        "pair_article": article[first],
        "pair_links": np.add.reduceat(links, first, dtype=np.uint32),
        "pair_origin": np.where(best == _LAST, FROM_LINKS, best).astype(np.uint8),
        "pair_shape": shape[first],
    }


def merge_pairs(folder: Path, runs: Sequence[Callable[[str], NDArray[Any]]], rows: int) -> None:
    """Merge the shards' sorted pairs into the table of surfaces and their candidate articles.

    ``runs`` give a shard's column by name. One slice of the key space is in memory at a time.
    """
    with Columns(folder) as columns:
        surfaces = columns.array("surface-keys", np.uint64)
        indptr = columns.array("surface-indptr", np.int64)
        totals = columns.array("surface-links", np.uint32)
        shapes = columns.array("surface-shapes", np.uint8)
        articles = columns.array("candidate-articles", np.int32)
        links = columns.array("candidate-links", np.uint32)
        origins = columns.array("candidate-origins", np.uint8)
        indptr.append([0])
        size = 0
        for low, high in _slices(rows):
            here = [_within(run("pair_surface"), low, high) for run in runs]
            columns_here: list[Any] = [
                np.concatenate([run(name)[part] for run, part in zip(runs, here, strict=True)])
                for name in _PAIR_COLUMNS
            ]
            merged = _add_up(*columns_here)
            key, article, count, origin, shape = (merged[name] for name in _PAIR_COLUMNS)
            # Candidates of a surface by falling count; then only the first few of each stay.
            order = np.lexsort((article, _ORIGIN_RANK[origin], -count.astype(np.int64), key))
            key, article, count, origin, shape = (c[order] for c in (key, article, count, origin, shape))
            distinct, first, degree = np.unique(key, return_index=True, return_counts=True)
            total = np.add.reduceat(count, first, dtype=np.uint32) if len(first) else np.zeros(0, np.uint32)
            rank = np.arange(len(key)) - np.repeat(first, degree)
            stay = rank < MAX_CANDIDATES
            surfaces.append(distinct)
            totals.append(total)
            shapes.append(shape[first])
            indptr.append(size + np.cumsum(np.minimum(degree, MAX_CANDIDATES)))
            size += int(stay.sum())
            articles.append(article[stay])
            links.append(count[stay])
            origins.append(origin[stay])


@dataclass(frozen=True)
class Anchors:
    """The merged table: S surfaces, each with its candidate articles, the commonest first."""

    keys: Keys
    indptr: Int64s
    links: NDArray[np.uint32]
    shapes: Bytes
    articles: Int32s
    candidate_links: NDArray[np.uint32]
    origins: NDArray[np.uint8]

    @classmethod
    def open(cls, folder: Path) -> "Anchors":
        """Map the table that ``merge_pairs`` wrote."""
        names = (
            "surface-keys",
            "surface-indptr",
            "surface-links",
            "surface-shapes",
            "candidate-articles",
            "candidate-links",
            "candidate-origins",
        )
        return cls(*(map_array(folder / f"{name}.npy") for name in names))

    def ambiguous(self) -> NDArray[np.bool_]:
        """Surfaces whose links lead to more than one article often enough to care."""
        if not len(self.keys):
            return np.zeros(0, np.bool_)
        top = self.candidate_links[self.indptr[:-1]].astype(np.float64)
        return (top < 0.98 * self.links) & (self.links > 0)


@kernel
def context_words(
    text: Bytes, bounds: Int64s, blocks: Int32s, starts: Int32s, ends: Int32s
) -> tuple[Keys, Keys]:
    """Hashes of the words before and after each mention, in small letters; what is no word hashes to its mark."""
    offset, prime = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
    before = np.empty(blocks.shape[0], np.uint64)
    after = np.empty(blocks.shape[0], np.uint64)
    for i in range(blocks.shape[0]):
        low, high = row_of(bounds, blocks[i], text.shape[0])
        key = offset
        at = low + starts[i] - 1
        if at > low and (text[at] == 32 or text[at] == 45):
            stop = at
            while at > low and (97 <= (text[at - 1] | 32) <= 122 or text[at - 1] >= 128):
                at -= 1
            for byte in text[at:stop]:
                key = (key ^ np.uint64(byte | 32)) * prime
        before[i] = key
        key = offset
        at = low + ends[i]
        if at < high and (text[at] == 32 or text[at] == 45):
            at += 1
            while at < high and (97 <= (text[at] | 32) <= 122 or text[at] >= 128):
                key = (key ^ np.uint64(text[at] | 32)) * prime
                at += 1
        elif at < high:
            key = (key ^ np.uint64(text[at])) * prime
        after[i] = key
    return before, after


#: Stand for "any link" and "any mention" in place of a surface, and for "any article" in place of an article.
ANY_LINK, ANY_MENTION = -2, -3
ANY_ARTICLE = -1


def context_key(surface: NDArray[np.integer] | int, article: Int32s | int, word: Keys, side: int) -> Keys:
    """Key of "this surface led to this article next to this word"."""
    key = np.asarray(surface, np.int64).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    key = key ^ (np.asarray(article, np.int64) + 2).astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    key = key ^ (word + np.uint64(side)) * np.uint64(0x165667B19E3779F9)
    return key ^ (key >> np.uint64(31))


def merge_contexts(folder: Path, runs: Sequence[Callable[[str], NDArray[Any]]], rows: int) -> None:
    """Merge the shards' sorted context counts, a slice of the key space at a time."""
    with Columns(folder) as columns:
        keys, counts = columns.array("context-keys", np.uint64), columns.array("context-counts", np.uint32)
        for low, high in _slices(rows):
            here = [_within(run("context"), low, high) for run in runs]
            found, times = (
                np.concatenate([run(name)[part] for run, part in zip(runs, here, strict=True)])
                for name in ("context", "times")
            )
            merged, place = np.unique(found, return_inverse=True)
            keys.append(merged)
            counts.append(np.bincount(place, times, minlength=len(merged)))


def _slices(rows: int) -> list[tuple[int, int]]:
    """Cut the 64-bit key space so that a slice holds some twenty million of the rows."""
    count = max(1, rows // _MERGE_ROWS)
    bounds = [(2**64 * i) // count for i in range(count + 1)]
    return list(pairwise(bounds))


def _within(keys: Keys, low: int, high: int) -> slice:
    """Where a slice of the key space stands in sorted keys."""
    start = int(np.searchsorted(keys, np.uint64(low)))
    return slice(start, len(keys) if high == 2**64 else int(np.searchsorted(keys, np.uint64(high))))


def foreign_pairs(other: Graph, names: Names) -> Arrays:
    """Anchor statistics of another wiki, its articles found here by title; those that are not here fall out."""
    keys = np.array([name_key(title) for title in other.titles.slice(0, other.articles)], np.uint64)
    local, _ = names.look_up(keys)
    surface, indptr, shape = (
        map_array(other.folder / f"anchors_{n}.npy") for n in ("surfaces", "indptr", "shapes")
    )
    degree = np.diff(indptr)
    article = local[map_array(other.folder / "anchors_articles.npy")]
    here = article >= 0
    return {
        "pair_surface": np.repeat(surface, degree)[here],
        "pair_article": article[here],
        "pair_links": map_array(other.folder / "anchors_candidate_links.npy")[here],
        "pair_origin": np.zeros(int(here.sum()), np.uint8),
        "pair_shape": np.repeat(shape, degree)[here],
    }


def add_foreign_seen(other: Graph, keys: NDArray[np.uint64], seen: NDArray[np.int64]) -> None:
    """Add how often the other wiki's text has each surface, so that its link probabilities carry over."""
    at, found = find_keys(map_array(other.folder / "anchors_surfaces.npy"), keys)
    seen[found] += map_array(other.folder / "anchors_seen.npy")[at[found]]
