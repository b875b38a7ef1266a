"""The last stage: every block's row of the graph, of all that leads out of it.

Of several edges to one block the first kind stays: previous or next, a link, an entity, contents, a backlink. A row
has previous and next first, then what stands in the text, in its order; then what does not: the page above, the pages
below, the pages that link here.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.artifact import to_json
from linkwalk.build.contents import Contents
from linkwalk.build.shard import Arrays, load, save
from linkwalk.build.stages import Layout, find_entities, path_of
from linkwalk.graph.columns import Columns, map_array
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import BACKLINK, CONTENTS, ENTITY, LINK, NEXT, PREV
from linkwalk.graph.writer import write_transpose

_NOWHERE = 1 << 16
_COUNTED = {"links": LINK, "entities": ENTITY, "contents": CONTENTS, "backlinks": BACKLINK}


class _Edges(NamedTuple):
    """Edges of one kind: from blocks of the shard to blocks of the whole, with the words one would click."""

    block: NDArray[np.integer]
    target: NDArray[np.integer]
    kind: int
    span: NDArray[np.integer] | None = None


def link_edges(folder: Path, number: int, entity_links: bool, contents: bool, backlinks: bool) -> None:
    """Stage 4: every block's way out, of the kinds that are wanted."""
    shard, links = load(path_of(folder, "shard", number)), load(path_of(folder, "links", number))
    layout = Layout(folder)
    base = int(layout.node_base[number])
    numbers = shard["block_number"]
    last = np.zeros(len(numbers), np.bool_)
    last[np.cumsum(shard["article_blocks"]) - 1] = True
    blocks = np.arange(len(numbers), dtype=np.int32)
    found = links["node"] >= 0
    written, listed = np.flatnonzero(found & ~links["contents"]), np.flatnonzero(found & links["contents"])
    parts = [
        _Edges(blocks[numbers > 0], base + blocks[numbers > 0] - 1, PREV),
        _Edges(blocks[~last], base + blocks[~last] + 1, NEXT),
        _Edges(shard["link_block"][written], links["node"][written], LINK, shard["link_span"][written]),
    ]
    if entity_links:
        mentions = find_entities(folder, shard, int(layout.article_base[number]))
        span = np.stack((mentions.start, mentions.end), 1)
        parts.append(_Edges(mentions.block, layout.article_node[mentions.article], ENTITY, span))
    if contents:
        span = shard["link_span"][listed]
        parts.append(_Edges(shard["link_block"][listed], links["node"][listed], CONTENTS, span))
        parts += _up_and_down(folder, layout, number, blocks[numbers == 0])
    if backlinks:
        bounds = map_array(folder / "back-indptr.npy")[base : base + len(numbers) + 1]
        sources = map_array(folder / "back-sources.npy")[bounds[0] : bounds[-1]]
        parts.append(_Edges(np.repeat(blocks, np.diff(bounds)), sources, BACKLINK))
    edges, report = merge_edges(parts, base, len(numbers))
    if not contents:
        report["contents"]["left out"] = len(listed)
    save(path_of(folder, "edges", number), {**edges, "report": np.frombuffer(to_json(report), np.uint8)})


def _up_and_down(folder: Path, layout: Layout, number: int, firsts: NDArray[np.int32]) -> list[_Edges]:
    """From the first blocks of a shard's articles to those of the articles above and below."""
    table, (first, stop) = Contents(folder), layout.article_base[number : number + 2].tolist()
    return [
        _Edges(firsts[article], layout.article_node[other], CONTENTS)
        for article, other in (table.up(first, stop), table.down(first, stop))
    ]


def merge_edges(parts: list[_Edges], base: int, blocks: int) -> tuple[Arrays, dict[str, Any]]:
    """One edge per block and target, the first kind and of that the first in the text; every block's row in order."""
    block = np.concatenate([part.block for part in parts])
    target = np.concatenate([part.target for part in parts]).astype(np.int64)
    kind = np.concatenate([np.full(len(part.block), part.kind, np.uint8) for part in parts])
    span = np.concatenate(
        [np.zeros((len(part.block), 2), np.int32) if part.span is None else part.span for part in parts]
    )
    away = block + base != target
    words = np.where(
        span[:, 1] > 0, span[:, 0], _NOWHERE
    )  # a table that lists the pages below: its words are clicked
    order = np.lexsort((words, kind, target, block))
    order = order[away[order]]
    first = np.ones(len(order), np.bool_)
    first[1:] = (block[order][1:] != block[order][:-1]) | (target[order][1:] != target[order][:-1])
    stay = order[first]
    in_text = span[stay, 1] > 0
    place = np.where(in_text, LINK, kind[stay])
    given = np.where(in_text, 0, stay)  # what is above before what is below
    stay = stay[np.lexsort((given, span[stay, 0], place, block[stay]))]
    report = {}
    for name, code in _COUNTED.items():
        edges, own = int((kind[stay] == code).sum()), int((~away & (kind == code)).sum())
        merged = int((kind == code).sum()) - edges - own
        report[name] = {
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


def write_backlinks(folder: Path, shards: int) -> None:
    """Who links to each block, on disk: the links that authors set, turned round."""
    layout, edges = Layout(folder), 0
    with Columns(folder) as columns:
        indptr, targets = columns.array("links-indptr", np.int64), columns.array("links-targets", np.int32)
        indptr.append([0])
        for number in range(shards):
            links, block = (
                load(path_of(folder, "links", number)),
                load(path_of(folder, "shard", number))["link_block"],
            )
            written = (links["node"] >= 0) & ~links["contents"]
            blocks = int(layout.node_base[number + 1] - layout.node_base[number])
            indptr.append(edges + np.cumsum(np.bincount(block[written], minlength=blocks), dtype=np.int64))
            targets.append(links["node"][written])
            edges += int(written.sum())
    forward = Csr(map_array(folder / "links-indptr.npy"), map_array(folder / "links-targets.npy"))
    write_transpose(forward, folder / "back-indptr.npy", folder / "back-sources.npy")
