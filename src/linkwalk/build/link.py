"""Stage 4, "link": every block's row of the graph, of all that leads out of it.

Of several edges to one block the first kind stays: previous or next, a link, an entity, contents, a backlink. A row
has previous and next first, then what stands in the text, in its order; then what does not: the page above, the pages
below, the pages that link here.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Array, Bools, Integers
from linkwalk.build.contents import Contents
from linkwalk.build.entities.linker import Linker, Mentions, mark
from linkwalk.build.shards import (
    Layout,
    ShardFiles,
    block_articles,
    block_bounds,
    link_bounds,
    load,
    report_column,
    save,
)
from linkwalk.build.tables import Arrays, starts_run
from linkwalk.graph.columns import Columns, map_array
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import BACKLINK, CONTENTS, ENTITY, LINK, NEXT, PREV
from linkwalk.graph.writer import write_transpose

_NOWHERE = 1 << 16
_ACCOUNTS = {"resolved": LINK, "entities": ENTITY, "contents": CONTENTS, "backlinks": BACKLINK}


class _Edges(NamedTuple):
    """Edges of one kind: from blocks of the shard to blocks of the whole, with the words one would click."""

    block: Integers
    target: Integers
    kind: int
    span: Array | None = None


def link_shard(folder: Path, number: int, entity_links: bool, contents: bool, backlinks: bool) -> None:
    """Write the edges of every block of a shard, of the kinds that are wanted."""
    shard, links, layout = load(folder, "shard", number), load(folder, "links", number), Layout.open(folder)
    first, stop = layout.article_base[number : number + 2].tolist()
    base = int(layout.article_node[first])
    numbers = shard["block_number"]
    blocks = np.arange(len(numbers), dtype=np.int32)
    later, earlier = blocks[numbers > 0], blocks[np.roll(numbers, -1) > 0]
    found = links["node"] >= 0
    spans = np.stack((shard["link_start"], shard["link_end"]), 1)

    def authored(chosen: Bools, kind: int) -> _Edges:
        return _Edges(shard["link_block"][chosen], links["node"][chosen], kind, spans[chosen])

    listed = found & links["contents"]
    parts = [
        _Edges(later, base + later - 1, PREV),
        _Edges(earlier, base + earlier + 1, NEXT),
        authored(found & ~links["contents"], LINK),
    ]
    if entity_links:
        mentions = find_entities(folder, shard, first)
        span = np.stack((mentions.start, mentions.end), 1)
        parts.append(_Edges(mentions.block, layout.article_node[mentions.article], ENTITY, span))
    if contents:
        parts.append(authored(listed, CONTENTS))
        table, firsts = Contents.open(folder), blocks[numbers == 0]
        above = table.above[first:stop]
        bounds = table.children_indptr[first : stop + 1]
        children = table.children[bounds[0] : bounds[-1]]
        parts += (
            _Edges(firsts[above >= 0], layout.article_node[above[above >= 0]], CONTENTS),
            _Edges(np.repeat(firsts, np.diff(bounds)), layout.article_node[children], CONTENTS),
        )
    if backlinks:
        bounds = map_array(folder / "back_indptr.npy")[base : base + len(numbers) + 1]
        sources = map_array(folder / "back_sources.npy")[bounds[0] : bounds[-1]]
        parts.append(_Edges(np.repeat(blocks, np.diff(bounds)), sources, BACKLINK))
    edges, report = merge_edges(parts, base, len(numbers))
    if not contents:
        report["contents"]["left out"] = int(listed.sum())
    save(folder, "edges", number, {**edges, "report": report_column(report)})


def find_entities(folder: Path, shard: Arrays, article_base: int) -> Mentions:
    """The entity links of a shard."""
    text, bounds = shard["block_text"], block_bounds(shard)
    # A link to a page that is not here is in the way, too: its words mean that page.
    starts, ends = link_bounds(shard, np.s_[:])
    marks = mark(len(text), bounds, starts, ends, shard["block_sentences"], shard["sentence_end"])
    return Linker.open(folder).link(text, bounds, marks, block_articles(shard, article_base))


def merge_edges(parts: list[_Edges], base: int, blocks: int) -> tuple[Arrays, dict[str, Any]]:
    """One edge per block and target, the first kind and of that the first in the text; every block's row in order."""
    block = np.concatenate([part.block for part in parts])
    target = np.concatenate([part.target for part in parts]).astype(np.int64)
    kind = np.repeat([part.kind for part in parts], [len(part.block) for part in parts]).astype(np.uint8)
    span = np.concatenate(
        [np.zeros((len(part.block), 2), np.int32) if part.span is None else part.span for part in parts]
    )
    away = block + base != target
    # A table that lists the pages below: its words are clicked.
    words = np.where(span[:, 1] > 0, span[:, 0], _NOWHERE)
    order = np.lexsort((words, kind, target, block))
    order = order[away[order]]
    stay = order[starts_run(block[order], target[order])]
    in_text = span[stay, 1] > 0
    place = np.where(in_text, LINK, kind[stay])
    given = np.where(in_text, 0, stay)  # what is above before what is below
    stay = stay[np.lexsort((given, span[stay, 0], place, block[stay]))]
    report = {}
    for account, code in _ACCOUNTS.items():
        edges, own = int((kind[stay] == code).sum()), int((~away & (kind == code)).sum())
        merged = int((kind == code).sum()) - edges - own
        report[account] = {
            "edges": edges,
            "to its own block": own,
            "merged with another edge of the block": merged,
        }
    return {
        "degrees": np.bincount(block[stay], minlength=blocks).astype(np.int32),
        "targets": target[stay].astype(np.int32),
        "kinds": kind[stay],
        "spans": span[stay].astype(np.uint16),
    }, report


def write_backlinks(shards: ShardFiles) -> None:
    """Who links to each block, on disk: the links that authors set, turned round."""
    folder, edges = shards.folder, 0
    layout = Layout.open(folder)
    nodes = np.diff(layout.article_node[layout.article_base]).tolist()
    with Columns(folder) as columns:
        indptr, targets = columns.array("links_indptr", np.int64), columns.array("links_targets", np.int32)
        indptr.append([0])
        for number, block in enumerate(shards.column("shard", "link_block")):
            links = load(folder, "links", number)
            written = (links["node"] >= 0) & ~links["contents"]
            counts = np.bincount(block[written], minlength=nodes[number])
            indptr.append(edges + np.cumsum(counts, dtype=np.int64))
            targets.append(links["node"][written])
            edges += int(written.sum())
    forward = Csr(map_array(folder / "links_indptr.npy"), map_array(folder / "links_targets.npy"))
    write_transpose(forward, folder / "back_indptr.npy", folder / "back_sources.npy")
