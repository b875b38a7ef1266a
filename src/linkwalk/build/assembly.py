"""The last stage of a build: what the shards hold goes into one graph, in their order."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from linkwalk.build.names import Names
from linkwalk.build.shard import Arrays, load, shard_strings
from linkwalk.build.stages import block_articles, path_of
from linkwalk.graph.columns import map_array
from linkwalk.graph.writer import GraphWriter


def write_shards(folder: Path, shards: int, writer: GraphWriter, advance: Callable[[], None]) -> None:
    """Articles, sections, blocks and edges of every shard, then the redirects of all of them."""
    names = Names(folder)
    article_base = map_array(folder / "article-base.npy")
    article_node = map_array(folder / "article-node.npy")
    above = map_array(folder / "above.npy")
    addressed, below = bool(names.address_keys.any()), bool((above >= 0).any())
    writer.add_sections([""])
    sections = 1
    for number in range(shards):
        shard, edges = load(path_of(folder, "shard", number)), load(path_of(folder, "edges", number))
        first = int(article_base[number])
        titles = shard_strings(shard, "titles")
        writer.add_articles(titles, article_node[first : first + len(titles)])
        if addressed:
            writer.add_addresses(shard_strings(shard, "addresses"))
        if below:
            writer.add_parents(above[first : first + len(titles)])
        writer.add_sections(shard_strings(shard, "sections"))
        _write_blocks(shard, first, sections, writer)
        sections += len(shard["sections_lengths"])
        writer.add_edges(**{name: edges[name] for name in ("degrees", "targets", "kinds", "spans")})
        advance()
    for shard in (load(path_of(folder, "shard", number)) for number in range(shards)):
        articles, _ = names.look_up(shard["redirect_from"])
        redirects = shard_strings(shard, "redirects")
        kept = [(title, a) for title, a in zip(redirects, articles.tolist(), strict=True) if a >= 0]
        writer.add_redirects([title for title, _ in kept], np.array([a for _, a in kept], np.int32))


def _write_blocks(shard: Arrays, first: int, sections: int, writer: GraphWriter) -> None:
    """The blocks of a shard, whose articles and sections are numbered from these on."""
    section = shard["block_section"]
    writer.add_blocks(
        text=shard["text"].data,
        text_lengths=shard["text_lengths"],
        article=block_articles(shard, first),
        block=shard["block_number"],
        section=np.where(section > 0, section + sections - 1, 0),
        sentence_counts=shard["sentence_counts"],
        sentence_ends=shard["sentence_ends"],
    )
