"""What workers do with one shard, stage after stage. Each stage reads files and writes one file, whole or not at all.

``shard`` (a piece of a source, cut into blocks) -> ``links`` (where its links lead) -> ``counts`` (how often surface
forms stand in it) -> ``edges`` (every block's row of the graph: ``sources.edges``).
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.artifact import to_json
from linkwalk.build.entities.anchors import (
    ANY_ARTICLE,
    ANY_LINK,
    ANY_MENTION,
    Anchors,
    context_key,
    context_words,
    gather_pairs,
)
from linkwalk.build.entities.linker import Linker, Mentions, mark
from linkwalk.build.entities.mentions import CLASSES, count_surfaces, find_mentions, hash_spans
from linkwalk.build.names import OUTCOMES, Names, find_keys
from linkwalk.build.shard import Arrays, ExtractConfig, extract, load, save, shard_strings
from linkwalk.graph.columns import map_array
from linkwalk.sources.source import Source


def path_of(folder: Path, stage: str, number: int) -> Path:
    """File of one shard's stage."""
    return folder / f"{stage}-{number:06}.npz"


def extract_shard(folder: Path, number: int, source: Source, piece: Any, config: ExtractConfig) -> None:
    """Stage 1: a piece of a source becomes blocks with raw links."""
    save(path_of(folder, "shard", number), extract(source, piece, config))


class Layout:
    """Where each shard's articles and blocks stand in the whole."""

    def __init__(self, folder: Path) -> None:
        self.article_base: NDArray[np.int64] = map_array(folder / "article-base.npy")
        self.node_base: NDArray[np.int64] = map_array(folder / "node-base.npy")
        self.article_node: NDArray[np.int32] = map_array(folder / "article-node.npy")


def block_bounds(shard: Arrays) -> NDArray[np.int64]:
    """Byte offsets of a shard's blocks in its text."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(shard["text_lengths"], dtype=np.int64)))


def block_articles(shard: Arrays, base: int) -> NDArray[np.int32]:
    """Article of every block of a shard, numbered in the whole."""
    counts = shard["article_blocks"]
    return (base + np.repeat(np.arange(len(counts)), counts)).astype(np.int32)


def resolve_shard(folder: Path, number: int, hide: float = 0.0) -> None:
    """Stage 2: links get their articles and blocks; surface forms are paired with the articles they lead to.

    ``hide`` keeps that share of the links from the statistics, to see whether the linker finds them again.
    """
    shard, layout, names = load(path_of(folder, "shard", number)), Layout(folder), Names(folder)
    articles, redirected = names.look_up(shard["link_key"])
    found = articles >= 0
    nodes = np.full(len(articles), -1, np.int32)
    nodes[found] = layout.article_node[articles[found]]
    contents = np.repeat(shard["is_contents"], shard["article_blocks"])[shard["link_block"]]
    written = found & ~contents
    fragment = np.where(shard["link_fragment"] != 0, shard["link_fragment"], redirected)
    asks = np.flatnonzero(found & (fragment != 0))
    section = names.look_up_sections(articles[asks], fragment[asks])
    nodes[asks] = np.where(section >= 0, section, nodes[asks])
    asked = section[written[asks]]
    report = {
        "unresolved": _outcomes(articles[~found & ~contents]),
        "contents": {f"link: {why}": n for why, n in _outcomes(articles[~found & contents]).items()},
        "sections": {"found": int((asked >= 0).sum()), "not found": int((asked < 0).sum())},
        "redirected": int((~names.is_own(articles[written], shard["link_key"][written])).sum()),
    }

    base = int(layout.article_base[number])
    titles = shard_strings(shard, "titles")
    named = list(zip(titles, range(base, base + len(titles)), strict=True))
    redirect_article, _ = names.look_up(shard["redirect_from"])
    named += [
        (name, article)
        for name, article in zip(shard_strings(shard, "redirects"), redirect_article.tolist(), strict=True)
        if article >= 0
    ]
    surnames = [(name, base + i) for i, name in enumerate(shard_strings(shard, "surnames")) if name]
    hidden = found & (np.random.default_rng(number).random(len(found)) < hide)
    shown = written & ~hidden
    at = block_bounds(shard)[shard["link_block"][shown]]
    span = shard["link_span"][shown].astype(np.int64)
    pairs = gather_pairs(shard["text"], at + span[:, 0], at + span[:, 1], articles[shown], named, surnames)
    home = block_articles(shard, base)[shard["link_block"][shown]].astype(np.int64)
    hops = np.unique(home << 32 | articles[shown])
    save(
        path_of(folder, "links", number),
        {
            "article": articles,
            "node": nodes,
            "hidden": hidden,
            "contents": contents,
            "report": np.frombuffer(to_json(report), np.uint8),
            "hop_from": (hops >> 32).astype(np.int32),
            "hop_to": (hops & 0x7FFFFFFF).astype(np.int32),
            **pairs,
        },
    )


def _outcomes(codes: NDArray[np.int32]) -> dict[str, int]:
    """How many links came to nothing, by the reason that their codes stand for."""
    found, counts = np.unique(codes, return_counts=True)
    return {OUTCOMES[-1 - code]: n for code, n in zip(found.tolist(), counts.tolist(), strict=True)}


def count_shard(folder: Path, number: int, linkless: bool) -> None:
    """Stage 3: how often each surface form stands in the text, and which words stand beside links and mentions."""
    shard, links = load(path_of(folder, "shard", number)), load(path_of(folder, "links", number))
    anchors, slots = Anchors.open(folder), map_array(folder / "surface-slots.npy")
    bounds = block_bounds(shard)
    seen = np.zeros(len(anchors.keys), np.int32)
    small = np.zeros(len(anchors.keys) if linkless else 0, np.int32)
    count_surfaces(shard["text"], bounds, CLASSES, anchors.keys, slots, seen)
    if linkless:
        count_surfaces(shard["text"], bounds, CLASSES, anchors.keys, slots, small, True)
    ids = np.flatnonzero(seen)

    shown = (links["article"] >= 0) & ~links["hidden"] & ~links["contents"]
    block, span = shard["link_block"][shown], shard["link_span"][shown].astype(np.int32)
    at = bounds[block]
    surface, _ = find_keys(
        anchors.keys, hash_spans(shard["text"], at + span[:, 0], at + span[:, 1], CLASSES)[0]
    )
    keys = _link_contexts(folder, surface, links["article"][shown], shard["text"], bounds, block, span)
    mentions, count = _mention_contexts(folder, shard, anchors, slots)
    context, times = np.unique(np.concatenate((*keys, *mentions)), return_counts=True)
    save(
        path_of(folder, "counts", number),
        {
            "surface": ids.astype(np.int32),
            "seen": seen[ids],
            "small": small[ids] if linkless else np.zeros(0, np.int32),
            "context": context,
            "times": times.astype(np.uint32),
            "contexts": np.array([len(block), count]),
        },
    )


def _link_contexts(
    folder: Path,
    surface: NDArray[np.int64],
    article: NDArray[np.int32],
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    block: NDArray[np.int32],
    span: NDArray[np.int32],
) -> list[NDArray[np.uint64]]:
    """Keys of the words beside links: by surface, for ambiguous ones by article too, and for links as such."""
    rows = (
        np.flatnonzero(map_array(folder / "ambiguous.npy")[surface])
        if len(surface)
        else np.zeros(0, np.int64)
    )
    keys = []
    for side, word in enumerate(context_words(text, bounds, block, span[:, 0].copy(), span[:, 1].copy())):
        keys.append(context_key(surface, ANY_ARTICLE, word, side))
        keys.append(context_key(surface[rows], article[rows], word[rows], side))
        keys.append(context_key(ANY_LINK, ANY_ARTICLE, word, side))
    return keys


def _mention_contexts(
    folder: Path, shard: Arrays, anchors: Anchors, slots: NDArray[np.int32]
) -> tuple[list[NDArray[np.uint64]], int]:
    """Keys of the words beside mentions, linked or not, in a sample of articles that no cut of the dump changes."""
    articles = int(Layout(folder).article_base[-1])
    every = np.uint64(max(1, min(64, articles // 1000)))
    blocks = np.flatnonzero(np.repeat(shard["title_keys"] % every == 0, shard["article_blocks"]))
    whole = block_bounds(shard)
    lengths = shard["text_lengths"][blocks]
    bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    text = np.concatenate([shard["text"][whole[b] : whole[b + 1]] for b in blocks] or [np.zeros(0, np.uint8)])
    marks = np.zeros(len(text) + 2, np.uint8)
    block, start, end, _ = find_mentions(text, bounds, marks, CLASSES, anchors.keys, slots)
    words = context_words(text, bounds, block, start, end)
    return [context_key(ANY_MENTION, ANY_ARTICLE, word, side) for side, word in enumerate(words)], len(block)


def find_entities(
    folder: Path, shard: Arrays, article_base: int, hidden: NDArray[np.bool_] | None = None
) -> Mentions:
    """The entity links of a shard; ``hidden`` links are read as plain text, to see whether they are found again."""
    bounds = block_bounds(shard)
    shown = slice(None) if hidden is None else ~hidden
    # A link to a page that is not here is in the way, too: its words mean that page.
    block, span = shard["link_block"][shown], shard["link_span"][shown]
    marks = mark(len(shard["text"]), bounds, block, span, shard["sentence_counts"], shard["sentence_ends"])
    return Linker.open(folder).link(shard["text"], bounds, marks, block_articles(shard, article_base))
