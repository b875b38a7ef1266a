"""Stage 2, "resolve": articles and blocks are numbered and named, and every link gets the block that it leads to."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from linkwalk.arrays import Bools
from linkwalk.build.contents import write_contents
from linkwalk.build.entities.anchors import gather_pairs
from linkwalk.build.ledger import Ledger
from linkwalk.build.names import Names, count_outcomes, first_of_each, write_names
from linkwalk.build.read import drop_articles, tell_apart
from linkwalk.build.shards import (
    Layout,
    ShardFiles,
    block_articles,
    link_bounds,
    load,
    report_column,
    save,
    strings_in,
)
from linkwalk.build.tables import Arrays, write_tables
from linkwalk.graph.csr import bounds_of

_MERGED = """article_key article_address_key article_blocks article_parent redirect_from redirect_to redirect_fragment
    skipped_key skipped_reason skipped_parent anchor_article anchor_key anchor_block""".split()


def name_articles(shards: ShardFiles, ledger: Ledger, contents: bool) -> None:
    """Number articles and blocks; index titles, redirects and sections of the whole; say which page is above which."""
    _drop_duplicates(shards, ledger)
    whole = {name: shards.whole("shard", name) for name in _MERGED}
    articles, anchors = (
        [len(column) for column in shards.column("shard", name)] for name in ("article_key", "anchor_key")
    )
    layout = Layout(bounds_of(articles), bounds_of(whole["article_blocks"]).astype(np.int32))
    whole["anchor_article"] += np.repeat(layout.article_base[:-1], anchors).astype(np.int32)
    whole["anchor_block"] += np.repeat(layout.article_node[layout.article_base[:-1]], anchors)
    write_tables(shards.folder, **vars(layout))
    ledger["redirects"].update(write_names(shards.folder, whole))
    if not contents:
        whole["article_parent"][:] = 0
    ledger["contents"].update(write_contents(shards.folder, whole))


def _drop_duplicates(shards: ShardFiles, ledger: Ledger) -> None:
    """Of several articles with one title only the first stays. Dropping is done in the shards, once."""
    titles, addresses = shards.whole("shard", "article_key"), shards.whole("shard", "article_address_key")
    first = first_of_each(titles)
    stay = first_of_each(np.where(addresses != 0, addresses, titles)) & (first | (addresses != 0))
    if not stay.all():
        _change(shards, ~stay, lambda shard, gone: drop_articles(shard, ~gone))
        dropped = int((~stay).sum())
        ledger["pages"].update({"kept": -dropped, "duplicate title": dropped})
    shared = (~first)[stay]
    if shared.any():  # those with addresses of their own: another look at the new titles
        _change(shards, shared, tell_apart)
        _drop_duplicates(shards, ledger)


def _change(shards: ShardFiles, marked: Bools, change: Callable[[Arrays, Bools], Arrays]) -> None:
    """Write those shards anew that hold a marked article."""
    at = 0
    for number, keys in enumerate(list(shards.column("shard", "article_key"))):
        here = marked[at : at + len(keys)]
        at += len(keys)
        if here.any():
            save(shards.folder, "shard", number, change(load(shards.folder, "shard", number), here))


def resolve_shard(folder: Path, number: int) -> None:
    """Links get their articles and blocks; surface forms are paired with the articles they lead to."""
    shard, layout, names = load(folder, "shard", number), Layout.open(folder), Names.open(folder)
    articles, redirected = names.look_up(shard["link_key"])
    found = articles >= 0
    nodes = np.full(len(articles), -1, np.int32)
    nodes[found] = layout.article_node[articles[found]]
    contents = np.repeat(shard["article_is_contents"], shard["article_blocks"])[shard["link_block"]]
    written = found & ~contents
    fragment = np.where(shard["link_fragment"] != 0, shard["link_fragment"], redirected)
    asks = np.flatnonzero(found & (fragment != 0))
    section = names.look_up_sections(articles[asks], fragment[asks])
    nodes[asks] = np.where(section >= 0, section, nodes[asks])
    asked = section[written[asks]]
    through_redirects = ~names.is_own(articles[written], shard["link_key"][written])
    report = {
        "unresolved": count_outcomes(articles[~found & ~contents]),
        "contents": count_outcomes(articles[~found & contents], "link: "),
        "sections": {"found": int((asked >= 0).sum()), "not found": int((asked < 0).sum())},
        "redirects": {"links that go through one": int(through_redirects.sum())},
    }

    base = int(layout.article_base[number])
    titled = enumerate(strings_in(shard, "article_title"), base)
    redirects = zip(
        names.look_up(shard["redirect_from"])[0].tolist(), strings_in(shard, "redirect_title"), strict=True
    )
    named = [(name, article) for article, name in (*titled, *redirects) if article >= 0]
    surnames = [(name, base + i) for i, name in enumerate(strings_in(shard, "article_surname")) if name]
    start, end = link_bounds(shard, written)
    pairs = gather_pairs(shard["block_text"], start, end, articles[written], named, surnames)
    home = block_articles(shard, base)[shard["link_block"][written]].astype(np.int64)
    hops = np.unique(home << 32 | articles[written])
    save(
        folder,
        "links",
        number,
        {
            "article": articles,
            "node": nodes,
            "contents": contents,
            "report": report_column(report),
            "hop_from": (hops >> 32).astype(np.int32),
            "hop_to": (hops & 0x7FFFFFFF).astype(np.int32),
            "pairs": pairs,
        },
    )
