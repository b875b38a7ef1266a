"""What agents see of a board's articles: the embeddings of their blocks in a workspace.

An article that the workspace does not have, as a list of countries or a page about donations, is seen by its title.
"""

from collections.abc import Sequence

import numpy as np

from linkwalk.arrays import Float32s, Int64s
from linkwalk.embed import Embeddings
from linkwalk.games.archive import Board
from linkwalk.graph.store import Graph
from linkwalk.navigate.cosine import PageUnits, unit_rows
from linkwalk.wiki.titles import fold

SIGHTS = ("hubs", "blocks", "mean", "first")
"""What is seen of an article: its blocks and how many links it has; its blocks; their mean; the first alone."""
HUB = 0.05
"""What the logarithm of 1 + the links of an article adds to the cosine of its nearest block."""
MOST_ROWS = 64
"""Of an article; where there are more blocks, those next to each other share one."""
_PIECE = 1 << 16
"""Titles at a time: millions need not be in memory at once."""


def articles_of(names: Sequence[str], graph: Graph) -> Int64s:
    """The article of a workspace that each name means; -1 where there is none.

    A name means the title that it is, or else the only one that has the same letters and digits in the same order:
    archives lose colons, accents and dashes on their way through file names.
    """
    found = {name: graph.article(name) for name in names}
    alike: dict[str, list[int]] = {_letters(name): [] for name in names if found[name] is None}
    for first in range(0, graph.articles if alike else 0, _PIECE):
        titles = graph.titles.slice(first, min(first + _PIECE, graph.articles))
        for article, title in enumerate(titles, first):
            if (letters := _letters(title)) in alike:
                alike[letters].append(article)
    for name, known in found.items():
        if known is None and len(only := alike[_letters(name)]) == 1:
            found[name] = only[0]
    return np.array([-1 if found[name] is None else found[name] for name in names], np.int64)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, fold(name)))


def page_units(
    board: Board, articles: Int64s, graph: Graph, table: Embeddings, sight: str = SIGHTS[0]
) -> PageUnits:
    """Every article's rows: what it is as a whole, then its blocks, at most ``MOST_ROWS``."""
    most = MOST_ROWS if sight in ("hubs", "blocks") else 0
    known, unseen = np.flatnonzero(articles >= 0), np.flatnonzero(articles < 0)
    blocks_of = np.diff(graph.article_node, append=graph.nodes)
    longest = int(blocks_of[articles[known]].max(initial=0))
    rows = np.full((board.nodes, 1 + min(longest, most), table.vectors.shape[1] + 1), np.nan, np.float32)
    for node in known.tolist():  # a game has a few thousand articles
        blocks = graph.article_blocks(int(articles[node]))
        own = _rows(unit_rows(table.vectors[blocks[0] : blocks[-1] + 1]), sight, most)
        rows[node, : len(own), :-1] = own
    rows[unseen, 0] = 0
    if len(unseen) and table.reads:
        titles = [board.names[node] for node in unseen.tolist()]
        rows[unseen, 0, :-1] = unit_rows(table.encoder("cpu").encode(titles))
    rows[:, 0, -1] = HUB * np.log1p(board.forward.degrees()) if sight == "hubs" else 0
    return PageUnits(rows)


def _rows(blocks: Float32s, sight: str, most: int) -> Float32s:
    """The rows of one article, whose blocks are of unit length."""
    if sight == "first":
        return blocks[:1]
    mean = unit_rows(blocks.mean(0, keepdims=True))
    if sight == "mean":
        return mean
    if len(blocks) > most:
        cuts = np.linspace(0, len(blocks), most + 1).astype(np.int64)[:-1]
        blocks = unit_rows(np.add.reduceat(blocks, cuts, axis=0))
    # What an article is about stands at its beginning: half as much again of it as of the rest.
    return np.concatenate([unit_rows(mean + blocks[:1] / 2), blocks])
