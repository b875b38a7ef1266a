"""The graph that some nodes of another one span: these nodes with their articles, and the edges between them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.artifact import write_json
from linkwalk.compiled import OUTSIDE
from linkwalk.graph.csr import bounds_of, gather_rows
from linkwalk.graph.store import KINDS, NO_DATE, Graph
from linkwalk.graph.writer import GraphWriter
from linkwalk.progress import Stage

_CHUNK = 1 << 16


Ledger = Callable[[dict[str, Any], dict[str, int]], dict[str, Any]]


def write_subgraph(
    graph: Graph, chosen: Int64s, folder: Path, facts: Mapping[str, Any], stage: Stage, ledger: Ledger
) -> tuple[dict[str, Any], dict[str, int]]:
    """Write the subgraph of the nodes ``chosen``, ascending, into ``folder``; ``facts`` go into its manifest.

    Returns the manifest's counts and, by kind, how many edges of these nodes led to others and are left out; of these
    ``ledger`` makes the ledger.
    """
    new_node = _numbers(chosen, graph.nodes)
    owners = graph.node_article[chosen]
    articles, firsts = np.unique(owners, return_index=True)
    new_article = _numbers(articles, graph.articles)
    used = np.zeros(max(len(graph.sections), 1), np.bool_)
    used[0] = True  # the lead section is number 0 in every graph
    used[graph.node_section[chosen]] = True
    sections = np.flatnonzero(used)
    new_section = _numbers(sections, len(used))

    dated = graph.dates is not None and bool((graph.dates[articles] != NO_DATE).any())
    tags, new_tag = _tags(graph, articles)
    cut = np.zeros(len(KINDS), np.int64)
    with GraphWriter(folder) as writer:
        if graph.tags is not None and len(tags):
            writer.add_tags(graph.tags.take(tags))
        for part, first in zip(_chunks(articles), _chunks(firsts), strict=True):
            writer.add_articles(graph.titles.take(part), first)
            if graph.addresses is not None:
                writer.add_addresses(graph.addresses.take(part))
            if graph.parents is not None:
                above = graph.parents[part]
                writer.add_parents(np.where(above >= 0, new_article[above], -1))
            if dated:
                writer.add_dates(graph.article_date[part])
            if len(tags):
                bounds, taggings = gather_rows(graph.article_tag_indptr, graph.article_tags, part)
                writer.tag_articles(np.diff(bounds), new_tag[taggings])
        for part in _chunks(sections[: len(graph.sections)]):
            writer.add_sections(graph.sections.take(part))
        for start in range(0, len(graph.redirects), _CHUNK):
            owner = new_article[graph.redirect_articles[start : start + _CHUNK]]
            kept = np.flatnonzero(owner >= 0)
            writer.add_redirects(graph.redirects.take(start + kept), owner[kept])
        for part in _chunks(chosen):
            _add_blocks(graph, writer, part, new_article, new_section)
            _add_edges(graph, writer, part, new_node, cut)
            stage.advance(len(part))
        counts, left_out = writer.counts(), dict(zip(KINDS, cut.tolist(), strict=True))
        write_json(folder / "ledger.json", ledger(counts, left_out))
        writer.finish(dict(facts))
    return counts, left_out


def _chunks(array: Int64s) -> Iterator[Int64s]:
    for at in range(0, len(array), _CHUNK):
        yield array[at : at + _CHUNK]


def _numbers(kept: Int64s, total: int) -> Int32s:
    """New numbers of what is kept, -1 for the rest."""
    numbers = np.full(total, -1, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    return numbers


def _tags(graph: Graph, articles: Int64s) -> tuple[Int64s, Int32s]:
    """The tags that some articles have, and their new numbers."""
    if graph.tags is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int32)
    used = np.zeros(len(graph.tags), np.bool_)
    for part in _chunks(articles):
        used[gather_rows(graph.article_tag_indptr, graph.article_tags, part)[1]] = True
    tags = np.flatnonzero(used)
    return tags, _numbers(tags, len(used))


def _add_blocks(
    graph: Graph, writer: GraphWriter, nodes: Int64s, new_article: Int32s, new_section: Int32s
) -> None:
    """Copy blocks; a block keeps its number within the article."""
    text, lengths = graph.texts.gather(nodes)
    bounds, ends = gather_rows(graph.sentence_indptr, graph.sentence_ends, nodes)
    writer.add_blocks(
        text=text,
        text_lengths=lengths,
        article=new_article[graph.node_article[nodes]],
        block=graph.node_block[nodes],
        section=new_section[graph.node_section[nodes]],
        sentence_counts=np.diff(bounds),
        sentence_ends=ends,
    )


def _add_edges(graph: Graph, writer: GraphWriter, nodes: Int64s, new_node: Int32s, cut: Int64s) -> None:
    """Copy the edges whose other end is kept, in their order; count the others by kind."""
    indptr, spans = graph.out_indptr, graph.out_spans.view(np.uint32).ravel()
    bounds, targets = gather_rows(indptr, graph.out_targets, nodes)
    kinds, spans = (gather_rows(indptr, column, nodes)[1] for column in (graph.out_kinds, spans))
    if len(targets) and targets.min() < 0:
        raise IndexError(OUTSIDE)
    targets = new_node[targets]
    kept = targets >= 0
    np.add.at(cut, kinds[~kept], 1)
    writer.add_edges(
        degrees=np.diff(bounds_of(kept)[bounds]),
        targets=targets[kept],
        kinds=kinds[kept],
        spans=spans[kept].view(np.uint16).reshape(-1, 2),
    )
