"""A benchmark's sentences and a wiki's blocks: fuzzy matching both ways, alternatives, splits by page (app. C.1)."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import md5
from itertools import product
from math import prod
from typing import NamedTuple

from linkwalk.downstream.asked import Asked, plain
from linkwalk.downstream.wiki_pages import decode
from linkwalk.graph.store import Graph

THRESHOLD = 80
"""Token-set ratio from which a block holds a sentence, as in the paper."""
MAX_ALTERNATIVES = 64
"""Ways to take one block for each sentence of an evidence set; beyond, the worst matches are given up."""


class Match(NamedTuple):
    """Where in its article a sentence may stand."""

    blocks: tuple[tuple[int, float], ...]
    """Blocks and their scores, the best first; only those at or above the floor that was asked for."""
    best: float
    """The highest score of all blocks."""

    def above(self, threshold: float) -> list[int]:
        """Blocks whose score reaches the threshold, the best first."""
        return [block for block, score in self.blocks if score >= threshold]


def comparable(text: str) -> str:
    """Both sides alike: brackets decoded, no accents, small letters, blanks for all that is no letter or digit.

    Of FEVER's sentences, matched with a wiki ten years older, 7 % reach 80 as they stand, 22 % without punctuation and
    26 % with the brackets decoded as well.
    """
    from rapidfuzz import utils

    text = decode(text)
    if not text.isascii():  # FEVER's accents are characters of their own, and would cut words in two
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(part for part in parts if not unicodedata.combining(part))
    return utils.default_process(text)


def match_blocks(
    graph: Graph, wanted: Iterable[tuple[int, str]], floor: float = THRESHOLD
) -> dict[tuple[int, str], Match]:
    """For each (article, sentence), the blocks of that article by token-set ratio, down to ``floor``."""
    from rapidfuzz import fuzz, process

    of_article: dict[int, dict[str, None]] = defaultdict(dict)
    for article, sentence in wanted:
        of_article[article][sentence] = None
    matches = {}
    for article, sentences in of_article.items():
        nodes = graph.article_blocks(article)
        texts = [comparable(text) for text in graph.texts.slice(int(nodes[0]), int(nodes[-1]) + 1)]
        scores_SB = process.cdist([comparable(s) for s in sentences], texts, scorer=fuzz.token_set_ratio)
        for sentence, scores_B in zip(sentences, scores_SB, strict=True):
            order = (-scores_B).argsort(kind="stable")
            order = order[scores_B[order] >= floor]
            blocks = zip(nodes[order].tolist(), scores_B[order].tolist(), strict=True)
            matches[article, sentence] = Match(tuple(blocks), float(scores_B.max()))
    return matches


def nearest_sentences(
    found: Sequence[str], sentences: Sequence[str], cutoff: float
) -> list[tuple[int, float] | None]:
    """For each sentence found, which of ``sentences`` it is and its WRatio (app. C.1); None below the cut-off."""
    from rapidfuzz import fuzz, process

    if not found or not sentences:
        return [None] * len(found)
    # The tokeniser's brackets, blanks and quotes would else cost more than a wrong word.
    scores_FS = process.cdist(
        [comparable(s) for s in found], [comparable(s) for s in sentences], scorer=fuzz.WRatio
    )
    best = scores_FS.argmax(1).tolist()
    return [
        (at, float(row[at])) if row[at] >= cutoff else None for at, row in zip(best, scores_FS, strict=True)
    ]


def combine(
    sentences: Sequence[Sequence[int]], most: int = MAX_ALTERNATIVES
) -> tuple[list[frozenset[int]], bool]:
    """One block for each sentence, in every way, and whether some ways were given up to stay within ``most``.

    ``sentences`` lists for each the blocks that hold it, the best first; the longest list loses its last until it fits.
    """
    lists = [list(blocks) for blocks in sentences]
    while prod(map(len, lists)) > most:
        max(lists, key=len).pop()
    cut = sum(map(len, lists)) < sum(map(len, sentences))
    return list(dict.fromkeys(map(frozenset, product(*lists)))), cut


def smallest(alternatives: Iterable[frozenset[int]]) -> tuple[frozenset[int], ...]:
    """Without those that hold all of another: where one block is enough, finding its company is no success."""
    kept: list[frozenset[int]] = []
    for nodes in sorted(dict.fromkeys(alternatives), key=len):  # a set comes after all that it could hold
        if nodes and not any(other <= nodes for other in kept):
            kept.append(nodes)
    return tuple(kept)


def group_of(graph: Graph, gold: Iterable[frozenset[int]]) -> str:
    """``lead``: a first block alone will do; ``two articles``: no one article will; ``other``: anything else."""
    alone = [nodes for nodes in gold if len({int(graph.node_article[node]) for node in nodes}) == 1]
    if not alone:
        return "two articles"
    lead = any(
        len(nodes) == 1 and int(graph.article_node[graph.node_article[min(nodes)]]) in nodes
        for nodes in alone
    )
    return "lead" if lead else "other"


def as_pages(graph: Graph, ranked: Sequence[int]) -> list[int]:
    """Each block's article, stood for by its first block: what page recall is counted on."""
    return [int(graph.article_node[graph.node_article[node]]) for node in ranked]


def page_disjoint(asked: Sequence[Asked], graph: Graph, *, parts: int = 2) -> tuple[list[Asked], list[Asked]]:
    """Split so that no article with evidence, and no text asked, is on both sides: for tuning, and kept from it.

    One title in ``parts`` is kept, by a hash of its letters, so that neither the file's order nor the threshold for
    blocks matters. What shares an article (in any alternative) or its words stays together, and is kept only if all
    of its articles are: what is near anything that was tuned on counts as tuned on.
    """
    parent: dict[object, object] = {}

    def root(key: object) -> object:
        while (up := parent.setdefault(key, key)) != key:
            parent[key] = parent[up]
            key = up
        return key

    titles: list[set[str]] = []
    for one in asked:
        text = plain(one.text) or one.text
        nodes = [node for alternative in one.gold for node in alternative]
        titles.append({graph.title(node) for node in nodes} or {one.text})
        for node in nodes:
            parent[root(int(graph.node_article[node]))] = root(text)
    roots = [root(plain(one.text) or one.text) for one in asked]
    tuned = {
        own for own, names in zip(roots, titles, strict=True) if not all(_kept(name, parts) for name in names)
    }
    return (
        [one for own, one in zip(roots, asked, strict=True) if own in tuned],
        [one for own, one in zip(roots, asked, strict=True) if own not in tuned],
    )


def _kept(title: str, parts: int) -> bool:
    """Whether an article is kept from tuning, by a hash of its title."""
    digest = md5(title.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big") % parts == parts - 1
