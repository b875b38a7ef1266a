"""Stage 5, "write": what the shards hold goes into one graph, in their order."""

from collections.abc import Callable

import numpy as np

from linkwalk.build.names import Names
from linkwalk.build.shards import Layout, ShardFiles, block_articles, load, strings_in
from linkwalk.graph.columns import map_array
from linkwalk.graph.store import NO_DATE
from linkwalk.graph.writer import GraphWriter

_TAG_NAMES = ("tag_name", "tag_name_lengths")


def write_shards(shards: ShardFiles, writer: GraphWriter, advance: Callable[[], None]) -> None:
    """Articles, sections, blocks and edges of every shard, then the redirects of all of them."""
    folder = shards.folder
    names, layout, above = Names.open(folder), Layout.open(folder), map_array(folder / "above.npy")
    addressed, below = bool(names.address_keys.any()), bool((above >= 0).any())
    dated = any((days != NO_DATE).any() for days in shards.column("shard", "article_date"))
    tags = _all_tags(shards)
    if tags:
        writer.add_tags(tags)
    writer.add_sections([""])
    sections = 0  # of the shards before
    for number in range(shards.count):
        shard, edges = load(folder, "shard", number), load(folder, "edges", number)
        first, stop = layout.article_base[number : number + 2].tolist()
        writer.add_articles(strings_in(shard, "article_title"), layout.article_node[first:stop])
        if addressed:
            writer.add_addresses(strings_in(shard, "article_address"))
        if below:
            writer.add_parents(above[first:stop])
        if dated:
            writer.add_dates(shard["article_date"])
        if tags:
            own = np.array([tags[name] for name in strings_in(shard, "tag_name")], np.int32)
            writer.tag_articles(shard["article_tags"], own[shard["tagging_tag"]])
        writer.add_sections(strings_in(shard, "section_title"))
        section = shard["block_section"]
        writer.add_blocks(
            text=shard["block_text"].data,
            text_lengths=shard["block_text_lengths"],
            article=block_articles(shard, first),
            block=shard["block_number"],
            section=np.where(section > 0, section + sections, 0),
            sentence_counts=shard["block_sentences"],
            sentence_ends=shard["sentence_end"],
        )
        sections += len(shard["section_title_lengths"])
        writer.add_edges(**{name: edges[name] for name in ("degrees", "targets", "kinds", "spans")})
        advance()
    for number in range(shards.count):
        shard = load(folder, "shard", number)
        articles = names.look_up(shard["redirect_from"])[0]
        titles = zip(strings_in(shard, "redirect_title"), articles.tolist(), strict=True)
        writer.add_redirects([title for title, article in titles if article >= 0], articles[articles >= 0])


def _all_tags(shards: ShardFiles) -> dict[str, int]:
    """The tags of all shards, in the order of their bytes, and their numbers."""
    names = set[str]()
    for number in range(shards.count):
        names.update(strings_in(load(shards.folder, "shard", number, *_TAG_NAMES), _TAG_NAMES[0]))
    return {name: number for number, name in enumerate(sorted(names))}
