"""Whether a graph's columns can be right: lengths at every open, ranges and order once, every string when asked.

A pass over the columns costs what reading them costs: 0.1 s for 100 million edges. numpy in pieces that stay in the
cache, on two threads; nothing has to be compiled for it.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.arrays import Array, Int64s
from linkwalk.errors import DamagedError

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph

_PIECE = 1 << 15
_STRINGS = 1 << 14
_THREADS = 2


def check_lengths(graph: "Graph") -> None:
    """Every column is as long as the others say, and as the manifest does."""
    nodes, edges, articles = graph.nodes, graph.edges, graph.articles
    wanted = {
        **dict.fromkeys(("out_indptr", "in_indptr", "sentence_indptr", "text_offsets"), nodes + 1),
        **dict.fromkeys(("node_block", "node_section"), nodes),
        **dict.fromkeys(("out_kinds", "out_spans", "in_sources"), edges),
        **dict.fromkeys(("titles_offsets", "addresses_offsets"), articles + 1),
        "redirects_offsets": len(graph.redirect_articles) + 1,
        "name_articles": len(graph.name_keys),
        **dict.fromkeys(("article_parent", "article_date"), articles),
        "article_tag_indptr": articles + 1,
    }
    offsets = {f"{name}_offsets": strings.offsets for name, strings in graph.strings.items()}
    for name, column in (graph.arrays | offsets).items():
        if len(column) != wanted.get(name, len(column)):
            raise _damaged(graph, name, f"{len(column):,} entries instead of {wanted[name]:,}")
    if len(graph.sections.offsets) < 2:
        raise _damaged(graph, "sections_offsets", "no section, not even the lead")
    counts = graph.manifest["counts"]
    for name, counted, key in (
        ("node_article", nodes, "nodes"),
        ("out_targets", edges, "edges"),
        ("article_node", articles, "articles"),
    ):
        if counts.get(key) != counted:
            raise _damaged(graph, name, f"{counted:,} entries, and the manifest says {counts.get(key)}")


def check_columns(graph: "Graph") -> None:
    """Every number stays inside what it points into, every row of offsets ascends: one pass over the columns."""
    from linkwalk.graph.store import KINDS

    nodes, articles = graph.nodes, graph.articles
    limits = {
        **dict.fromkeys(("out_targets", "in_sources", "article_node"), nodes),
        **dict.fromkeys(("node_article", "redirect_articles", "name_articles"), articles),
        "out_kinds": len(KINDS),
        "node_section": len(graph.sections),
        "node_block": 1 << 31,
    }
    bounds: dict[str, tuple[Array, int]] = {
        "out_indptr": (graph.out_indptr, graph.edges),
        "in_indptr": (graph.in_indptr, graph.edges),
        "sentence_indptr": (graph.sentence_indptr, len(graph.sentence_ends)),
    }
    if graph.tags is not None:
        limits["article_tags"] = len(graph.tags)
        bounds["article_tag_indptr"] = graph.article_tag_indptr, len(graph.article_tags)
    for name, strings in graph.strings.items():
        bounds[f"{name}_offsets"] = strings.offsets, len(strings.blob)
    looks = [
        *(partial(_below, graph, name, limit) for name, limit in limits.items()),
        *(partial(_ascending, graph, name, *rows) for name, rows in bounds.items()),
        partial(_are_parents, graph),
        *(
            partial(_ordered, graph, name, graph.arrays[name])
            for name in ("name_keys", "node_article", "article_node")
        ),
    ]
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(lambda look: look(), looks):
            pass


def check_texts(graph: "Graph") -> None:
    """Every string is UTF-8; sentences and anchors lie inside of their blocks."""
    for name, strings in graph.strings.items():
        for start in range(0, len(strings), _STRINGS):
            try:
                strings.slice(start, min(start + _STRINGS, len(strings)))
            except UnicodeDecodeError:
                raise DamagedError(graph.folder / f"{name}.bin", "it is not UTF-8", graph.remedy) from None
    sizes = np.diff(graph.texts.offsets)
    _inside(graph, "sentence_ends", graph.sentence_indptr, graph.sentence_ends, sizes)
    _inside(graph, "out_spans", graph.out_indptr, graph.out_spans[:, 1], sizes)


def _damaged(graph: "Graph", name: str, what: str) -> DamagedError:
    return DamagedError(Path(graph.folder, f"{name}.npy"), what, graph.remedy)


def _below(graph: "Graph", name: str, limit: int) -> None:
    """All of a column lies in 0 .. limit - 1."""
    column = graph.arrays[name]
    plain = column.view(f"u{column.itemsize}")  # what is negative becomes too large
    if len(plain) and int(plain.max()) >= limit:
        at = int(np.argmax(plain))
        raise _damaged(graph, name, f"entry {at:,} is {column[at]}, not one of 0 to {limit - 1:,}")


def _are_parents(graph: "Graph") -> None:
    """Every article stands below an article, or none."""
    parents = graph.parents
    if parents is not None and len(parents):
        outside = (parents < -1) | (parents >= graph.articles)
        if outside.any():
            at = int(np.argmax(outside))
            raise _damaged(graph, "article_parent", f"entry {at:,} is {parents[at]}, not an article")


def _ascending(graph: "Graph", name: str, bounds: Array, size: int) -> None:
    """Bounds of rows begin at 0, never fall, and end where what they bound does."""
    if int(bounds[0]) != 0 or int(bounds[-1]) != size:
        raise _damaged(graph, name, f"it leads from {bounds[0]} to {bounds[-1]}, not from 0 to {size:,}")
    _ordered(graph, name, bounds)


def _ordered(graph: "Graph", name: str, column: Array) -> None:
    for start in range(0, len(column) - 1, _PIECE):
        piece = column[start : start + _PIECE + 1]
        falls = piece[1:] < piece[:-1]
        if falls.any():
            at = start + int(np.argmax(falls)) + 1
            raise _damaged(graph, name, f"entry {at:,} is {column[at]}, after {column[at - 1]}")


def _inside(graph: "Graph", name: str, indptr: Any, ends: Any, sizes: Int64s) -> None:
    """What a row's entries end at is inside of the row's text."""
    for start in range(0, graph.nodes, _PIECE):
        stop = min(start + _PIECE, graph.nodes)
        limits = np.repeat(sizes[start:stop], np.diff(indptr[start : stop + 1]))
        if (ends[indptr[start] : indptr[stop]] > limits).any():
            raise _damaged(graph, name, "it leads out of a block's text")
