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

import numpy as np

from linkwalk.arrays import Array, Bools, Bytes, Int32s, Int64s, UInt32s
from linkwalk.build.entities.mentions import (
    hash_spans,
    hash_strings,
    hash_table,
)
from linkwalk.build.names import Names
from linkwalk.build.tables import Keys, Tables, find_keys, starts_run, write_tables
from linkwalk.compiled import kernel, row_of
from linkwalk.graph.columns import Columns, map_array
from linkwalk.graph.hashes import FNV_BASIS, FNV_PRIME, GOLDEN
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
PAIRS = np.dtype([("surface", "u8"), ("article", "i4"), ("links", "u4"), ("origin", "u1"), ("shape", "u1")])
CONTEXTS = np.dtype([("key", "u8"), ("times", "u4")])
#: Dates of birth and death, or of birth alone, in the brackets that follow a name.
_LIFE = re.compile(
    r"\((?:[^()]|\([^()]*\)){0,160}?"
    r"(?:\bborn\b|\bb\. |\d{3,4}(?: (?:BC|AD|CE|BCE))?\s*[–—-]\s*[^()\n]{0,40}?\d{3,4})"
)
_NAME = re.compile(r"(?:[^\W\d_][\w.'’-]* ){1,3}((?:Mc|Mac|O'|D')?[A-ZÀ-Þ][^\W\d_A-Z]['’\w-]+)$")
_NO_NAME = re.compile(r"\b(?:of|the|and|in|for|on)\b", re.IGNORECASE)
_LEAD_CHARS = 300
#: Tables that stay with the graph, for ``--anchors`` of another build, and what they are called there.
ANCHOR_FILES = {
    "surfaces": "anchors_surfaces",
    "surface_indptr": "anchors_indptr",
    "surface_links": "anchors_links",
    "surface_shapes": "anchors_shapes",
    "surface_seen": "anchors_seen",
    "candidate_articles": "anchors_articles",
    "candidate_links": "anchors_candidate_links",
}

_TABLES = {
    "surfaces": np.uint64,
    "surface_indptr": np.int64,
    "surface_links": np.uint32,
    "surface_shapes": np.uint8,
    "ambiguous": np.bool_,
    "candidate_articles": np.int32,
    "candidate_links": np.uint32,
    "candidate_origins": np.uint8,
}

Reader = Callable[[str], Array]
"""Reads a column of a shard by its name."""


def title_forms(title: str) -> Iterator[tuple[str, int]]:
    """How a title may stand in running text: as it is, without its qualifier, and in the middle of a sentence."""
    bare = _QUALIFIER.sub("", title)
    for form in dict.fromkeys((title, bare)):
        yield form, FROM_TITLE if form == title else FROM_BARE_TITLE
        small = form[:1].lower() + form[1:]
        if small != form and not form[1:2].isupper():
            yield small, FROM_SMALL_TITLE if form == title else FROM_BARE_TITLE


def surname(title: str, lead: str) -> str | None:
    """The last name of the person an article is about, going by its title and first lines; None for other articles.

    After the first mention a text says "Euler", not "Leonhard Euler".
    """
    title = _QUALIFIER.sub("", title)
    match = _NAME.match(title)
    if match is None or _NO_NAME.search(title) or not _LIFE.search(lead[:_LEAD_CHARS]):
        return None
    return match[1]


def gather_pairs(
    text: Bytes,
    starts: Int64s,
    ends: Int64s,
    articles: Int32s,
    names: Sequence[tuple[str, int]],
    surnames: Sequence[tuple[str, int]],
) -> Array:
    """The pairs (surface, article) of one shard with their counts, sorted: from its links and from its titles."""
    forms = [(form, article, origin) for name, article in names for form, origin in title_forms(name)]
    forms += [(name, article, FROM_SURNAME) for name, article in surnames]
    linked, named = np.zeros(len(articles), PAIRS), np.zeros(len(forms), PAIRS)
    linked["surface"], linked["shape"] = hash_spans(text, starts, ends)
    linked["article"], linked["links"] = articles, 1
    named["surface"], named["shape"] = hash_strings([form for form, _, _ in forms])
    named["article"] = [article for _, article, _ in forms]
    named["origin"] = [origin for _, _, origin in forms]
    return _add_up(np.concatenate((linked, named)))


def _add_up(pairs: Array) -> Array:
    """Sort pairs and add up the counts of equal ones."""
    pairs = pairs[pairs["surface"] != 0]
    pairs = pairs[np.lexsort((pairs["article"], pairs["surface"]))]
    first = np.flatnonzero(starts_run(pairs["surface"], pairs["article"]))
    added = pairs[first]
    added["links"] = np.add.reduceat(pairs["links"], first, dtype=np.uint32)
    # A title's plain form outweighs its small one where both spell the same; links alone come last.
    last = FROM_BARE_TITLE + 1
    best = np.minimum.reduceat(np.where(pairs["origin"] == FROM_LINKS, last, pairs["origin"]), first)
    added["origin"] = np.where(best == last, FROM_LINKS, best)
    return added


def merge_pairs(folder: Path, shards: Sequence[Reader]) -> None:
    """Merge the shards' sorted pairs into the table of surfaces and their candidate articles."""
    with Columns(folder) as columns:
        tables = {name: columns.array(name, dtype) for name, dtype in _TABLES.items()}
        tables["surface_indptr"].append([0])
        size = 0
        for pairs in _slices(shards, "pairs", "surface"):
            pairs = _add_up(pairs)
            # Candidates of a surface by falling count; then only the first few of each stay.
            rank = _ORIGIN_RANK[pairs["origin"]]
            order = (pairs["article"], rank, -pairs["links"].astype(np.int64), pairs["surface"])
            pairs = pairs[np.lexsort(order)]
            surfaces, first, degree = np.unique(pairs["surface"], return_index=True, return_counts=True)
            total = np.add.reduceat(pairs["links"], first, dtype=np.uint32)
            candidates = pairs[np.arange(len(pairs)) - np.repeat(first, degree) < MAX_CANDIDATES]
            for name, values in {
                "surfaces": surfaces,
                "surface_indptr": size + np.cumsum(np.minimum(degree, MAX_CANDIDATES)),
                "surface_links": total,
                "surface_shapes": pairs["shape"][first],
                "ambiguous": (pairs["links"][first] < 0.98 * total) & (total > 0),
                "candidate_articles": candidates["article"],
                "candidate_links": candidates["links"],
                "candidate_origins": candidates["origin"],
            }.items():
                tables[name].append(values)
            size += len(candidates)
    write_tables(folder, surface_slots=hash_table(map_array(folder / "surfaces.npy")))


@dataclass(frozen=True)
class Anchors(Tables):
    """What ``merge_pairs`` writes: the surfaces, each with its candidate articles, the commonest first."""

    surfaces: Keys
    surface_slots: Int32s
    """Hash table over the surfaces."""
    surface_indptr: Int64s
    surface_links: UInt32s
    surface_shapes: Bytes
    ambiguous: Bools
    """Surfaces whose links lead to more than one article often enough to care."""
    candidate_articles: Int32s
    candidate_links: UInt32s
    candidate_origins: Bytes


@kernel
def context_words(
    text: Bytes, bounds: Int64s, blocks: Int32s, starts: Int32s, ends: Int32s
) -> tuple[Keys, Keys]:
    """Hashes of the words before and after each mention, in small letters; what is no word hashes to its mark."""
    before = np.empty(blocks.shape[0], np.uint64)
    after = np.empty(blocks.shape[0], np.uint64)
    for i in range(blocks.shape[0]):
        low, high = row_of(bounds, blocks[i], text.shape[0])
        key = FNV_BASIS
        at = low + starts[i] - 1
        if at > low and (text[at] == 32 or text[at] == 45):
            stop = at
            while at > low and (97 <= (text[at - 1] | 32) <= 122 or text[at - 1] >= 128):
                at -= 1
            for byte in text[at:stop]:
                key = (key ^ np.uint64(byte | 32)) * FNV_PRIME
        before[i] = key
        key = FNV_BASIS
        at = low + ends[i]
        if at < high and (text[at] == 32 or text[at] == 45):
            at += 1
            while at < high and (97 <= (text[at] | 32) <= 122 or text[at] >= 128):
                key = (key ^ np.uint64(text[at] | 32)) * FNV_PRIME
                at += 1
        elif at < high:
            key = (key ^ np.uint64(text[at])) * FNV_PRIME
        after[i] = key
    return before, after


#: Stand for "any link" and "any mention" in place of a surface, and for "any article" in place of an article.
ANY_LINK, ANY_MENTION = -2, -3
ANY_ARTICLE = -1


def context_key(
    word: Keys, side: int, surface: Int64s | Int32s | int, article: Int32s | int = ANY_ARTICLE
) -> Keys:
    """Key of "this surface led to this article next to this word"."""
    key = np.asarray(surface, np.int64).astype(np.uint64) * GOLDEN
    key = key ^ (np.asarray(article, np.int64) + 2).astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    key = key ^ (word + np.uint64(side)) * np.uint64(0x165667B19E3779F9)
    return key ^ (key >> np.uint64(31))


def merge_contexts(folder: Path, shards: Sequence[Reader]) -> None:
    """Merge the shards' sorted counts of contexts; the last count, 0, is for contexts that there are none of."""
    with Columns(folder) as columns:
        keys, counts = columns.array("context_keys", np.uint64), columns.array("context_counts", np.uint32)
        for contexts in _slices(shards, "contexts", "key"):
            merged, place = np.unique(contexts["key"], return_inverse=True)
            keys.append(merged)
            counts.append(np.bincount(place, contexts["times"], minlength=len(merged)))
        counts.append([0])


def _slices(shards: Sequence[Reader], name: str, key: str) -> Iterator[Array]:
    """A column of all shards together, whose rows are sorted by key, a slice of the key space at a time."""
    count = max(1, sum(len(read(name)) for read in shards) // _MERGE_ROWS)
    for low, high in pairwise(2**64 * i // count for i in range(count + 1)):
        here = []
        for rows in (read(name) for read in shards):
            start = np.searchsorted(rows[key], np.uint64(low))
            here.append(rows[start : np.searchsorted(rows[key], np.uint64(high - 1), "right")].copy())
        yield np.concatenate(here)


def foreign_pairs(other: Graph, names: Names) -> Array:
    """Anchor statistics of another wiki, its articles found here by title; those that are not here fall out."""
    keys = np.array([name_key(title) for title in other.titles.slice(0, other.articles)], np.uint64)
    surfaces, indptr, shapes, articles, links = (
        map_array(other.folder / f"anchors_{name}.npy")
        for name in "surfaces indptr shapes articles candidate_links".split()
    )
    pairs = np.zeros(len(articles), PAIRS)
    pairs["surface"], pairs["shape"] = (
        np.repeat(surfaces, np.diff(indptr)),
        np.repeat(shapes, np.diff(indptr)),
    )
    pairs["article"], pairs["links"] = names.look_up(keys)[0][articles], links
    return pairs[pairs["article"] >= 0]


def foreign_seen(other: Graph, keys: Keys) -> Int64s:
    """How often the other wiki's text has each surface, so that its link probabilities carry over."""
    at = find_keys(map_array(other.folder / "anchors_surfaces.npy"), keys)
    seen = np.zeros(len(keys), np.int64)
    seen[at >= 0] = map_array(other.folder / "anchors_seen.npy")[at[at >= 0]]
    return seen
