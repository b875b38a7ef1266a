"""Stage 3, "count": what the entity linker goes by, how often words are links and how often they only stand there."""

from pathlib import Path

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.build.entities.anchors import (
    ANY_LINK,
    ANY_MENTION,
    CONTEXTS,
    Anchors,
    context_key,
    context_words,
    foreign_pairs,
    foreign_seen,
    merge_contexts,
    merge_pairs,
)
from linkwalk.build.entities.linker import admit, neighbourhood_norms
from linkwalk.build.entities.mentions import count_surfaces, find_mentions, hash_spans, hash_table
from linkwalk.build.names import Names
from linkwalk.build.shards import Layout, ShardFiles, block_bounds, link_bounds, load, save
from linkwalk.build.tables import Arrays, Keys, find_keys, write_tables
from linkwalk.graph.csr import Csr, bounds_of, transpose, union
from linkwalk.graph.store import Graph


def pair_surfaces(shards: ShardFiles, other: Graph | None) -> None:
    """Merge which surface forms lead to which articles, here and in another wiki, and who links to whom."""
    readers = shards.readers("links")
    if other is not None:
        readers.append({"pairs": foreign_pairs(other, Names.open(shards.folder))}.__getitem__)
    merge_pairs(shards.folder, readers)
    articles = int(Layout.open(shards.folder).article_base[-1])
    source, target = shards.whole("links", "hop_from"), shards.whole("links", "hop_to")
    elsewhere = source != target
    outgoing = Csr(bounds_of(np.bincount(source[elsewhere], minlength=articles)), target[elsewhere])
    both = union(outgoing, transpose(outgoing))
    # What shares rare neighbours belongs together.
    weight = np.log(articles / np.maximum(np.bincount(both.indices, minlength=articles), 1)) ** 2
    write_tables(
        shards.folder,
        outgoing_indptr=outgoing.indptr,
        outgoing=outgoing.indices,
        neighbour_indptr=both.indptr,
        neighbours=both.indices,
        neighbour_weight=weight,
        neighbour_norm=neighbourhood_norms(both.indptr, both.indices, weight),
    )


def count_shard(folder: Path, number: int, linkless: bool) -> None:
    """How often each surface form stands in the text, and which words stand beside links and mentions."""
    shard, links, anchors = load(folder, "shard", number), load(folder, "links", number), Anchors.open(folder)
    text, bounds, keys, slots = (
        shard["block_text"],
        block_bounds(shard),
        anchors.surfaces,
        anchors.surface_slots,
    )
    seen = np.zeros(len(keys), np.int32)
    small = np.zeros(len(keys), np.int32)
    count_surfaces(text, bounds, keys, slots, seen)
    if linkless:
        count_surfaces(text, bounds, keys, slots, small, True)
    stands = np.flatnonzero(seen)

    shown = (links["article"] >= 0) & ~links["contents"]
    block, start, end = (shard[f"link_{name}"][shown].astype(np.int32) for name in ("block", "start", "end"))
    # An anchor without a word is no surface: it counts for the first one.
    surface = np.maximum(find_keys(keys, hash_spans(text, *link_bounds(shard, shown))[0]), 0)
    article, doubtful = links["article"][shown], np.flatnonzero(anchors.ambiguous[surface])
    contexts: list[Keys] = []
    for side, word in enumerate(context_words(text, bounds, block, start, end)):
        contexts += (
            context_key(word, side, surface),
            context_key(word[doubtful], side, surface[doubtful], article[doubtful]),
            context_key(word, side, ANY_LINK),
        )
    mentions, beside = _mention_contexts(folder, shard, keys, slots)
    distinct, times = np.unique(np.concatenate((*contexts, *beside)), return_counts=True)
    counted = np.zeros(len(distinct), CONTEXTS)
    counted["key"], counted["times"] = distinct, times
    save(
        folder,
        "counts",
        number,
        {
            "surface": stands.astype(np.int32),
            "seen": seen[stands],
            "small": small[stands],
            "contexts": counted,
            "contexts_of": np.array([len(block), mentions]),
        },
    )


def _mention_contexts(folder: Path, shard: Arrays, keys: Keys, slots: Int32s) -> tuple[int, list[Keys]]:
    """How many mentions, linked or not, there are in a sample of articles, and the keys of the words beside them.

    No cut of the dump changes the sample.
    """
    articles = int(Layout.open(folder).article_base[-1])
    every = np.uint64(max(1, min(64, articles // 1000)))
    drawn = np.repeat(shard["article_key"] % every == 0, shard["article_blocks"])
    lengths = shard["block_text_lengths"]
    text, bounds = shard["block_text"][np.repeat(drawn, lengths)], bounds_of(lengths[drawn])
    unmarked = np.zeros(len(text) + 2, np.uint8)
    block, start, end, _ = find_mentions(text, bounds, unmarked, keys, slots)
    words = context_words(text, bounds, block, start, end)
    return len(block), [context_key(word, side, ANY_MENTION) for side, word in enumerate(words)]


def weigh_surfaces(shards: ShardFiles, other: Graph | None, linkless: bool) -> None:
    """Link probabilities, the surfaces worth looking for, and the words beside ambiguous ones."""
    anchors = Anchors.open(shards.folder)
    seen, small = np.zeros((2, len(anchors.surfaces)), np.int64)
    for number in range(shards.count):
        counts = load(shards.folder, "counts", number)
        seen[counts["surface"]] += counts["seen"]
        small[counts["surface"]] += counts["small"]
    elsewhere: Int64s = np.zeros_like(seen) if other is None else foreign_seen(other, anchors.surfaces)
    probability, admitted = admit(anchors, seen, small, elsewhere, linkless=linkless)
    write_tables(
        shards.folder,
        surface_seen=np.minimum(seen + elsewhere, 2**32 - 1).astype(np.uint32),
        link_probability=probability,
        admitted=admitted,
        admitted_keys=anchors.surfaces[admitted],
        admitted_slots=hash_table(anchors.surfaces[admitted]),
        contexts=np.stack(list(shards.column("counts", "contexts_of"))).sum(axis=0),
    )
    merge_contexts(shards.folder, shards.readers("counts"))
