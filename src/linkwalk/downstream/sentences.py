"""Sentences beside a wiki: which blocks hold them, and how much did not match (app. C.1).

A page is matched with an article by its title, a sentence with the article's blocks by token-set ratio.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.dataset import EXAMPLES, Aligned, Asked, GoldSentence, Question
from linkwalk.downstream.wiki_pages import HOW, decode, match_title
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine

THRESHOLD = 80
"""Token-set ratio from which a block holds a sentence, as in the paper."""
MAX_ALTERNATIVES = 64
"""Ways to take one block for each sentence of an evidence set; beyond, the worst matches are given up."""
_REASONS = (
    "no evidence named",
    "page not in the wiki",
    "no text of the sentence",
    "no block reaches the threshold",
)
"""How far a claim's evidence may come; the farthest of its alternatives counts."""


class SentenceMatch(NamedTuple):
    """Where in its article a sentence may stand."""

    blocks: tuple[tuple[int, float], ...]
    """Blocks and their scores, the best first; only those at or above the floor that was asked for."""
    best: float
    """The highest score of all blocks."""

    def above(self, threshold: float) -> list[int]:
        """Blocks whose score reaches the threshold, the best first."""
        return [block for block, score in self.blocks if score >= threshold]


class _Standing(NamedTuple):
    """Where the sentences of some claims stand."""

    graph: Graph
    pages: dict[str, tuple[int, str] | None]
    """Every page named: its article and how it was matched."""
    matches: dict[tuple[int, str], SentenceMatch]

    def match(self, one: GoldSentence) -> SentenceMatch | None:
        """Where a sentence stands; None if its page or its text is not known."""
        found = self.pages[one.title]
        return self.matches[found[0], one.text] if found and one.text else None


def align_sentences(
    path: Path,
    claims: Sequence[Question],
    graph: Graph,
    damage: list[BadLine],
    *,
    threshold: float = THRESHOLD,
    level: str = "block",
) -> Aligned:
    """Claims beside a wiki: what each of them needs, and a report of what did not match.

    ``level="page"`` asks for articles, each stood for by its first block, and needs no sentences: compare
    ``as_pages(graph, ranked)`` with it instead of ``ranked``.
    """
    if level not in ("block", "page") or not 0 < threshold <= 100:
        raise InputError(
            f"level={level}, threshold={threshold}: choose block or page, and a threshold up to 100"
        )
    named = dict.fromkeys(_gold(one) for claim in claims for group in claim.evidence for one in group)
    pages = {page: match_title(graph, page) for page in dict.fromkeys(one.title for one in named)}
    places = _Standing(graph, pages, {})
    if level == "block":
        if any(pages.values()) and not any(one.text for one in named):
            raise InputError(
                f"{path} names sentences by number only: give FEVER's wiki-pages, which have their text, "
                "or count pages instead of blocks (level page)"
            )
        wanted = [(found[0], one.text) for one in named if (found := pages[one.title]) and one.text]
        places = _Standing(graph, pages, match_blocks(graph, wanted, threshold))
    asked, left_out, cut = [], Counter[str](), 0
    for claim in claims:
        if claim.left_out:
            left_out[claim.left_out] += 1
            continue
        gold, reason, given_up = _alternatives(places, claim, threshold, level)
        cut += given_up
        if not gold:
            left_out[reason] += 1
            continue
        group = claim.group
        if group == "all":
            group = group_of(graph, gold) if level == "block" else _pages_needed(gold)
        asked.append(Asked(id=claim.id, text=claim.text, gold=gold, group=group))
    report: dict[str, Any] = {
        "file": path.name,
        "wiki": graph.snapshot,
        "level": level,
        "claims": len(claims),
        "damaged lines": len(damage),
        "labels": dict(Counter(claim.label or "no label" for claim in claims)),
        "asked": len(asked),
        "left out": dict(left_out),
        "groups": dict(sorted(Counter(one.group for one in asked).items())),
        "articles": _articles(pages),
    }
    if level == "block":
        report["sentences"] = _sentences({one: places.match(one) for one in named}, threshold)
        report["claims with more alternatives than are kept"] = cut
    return Aligned(asked, report, damage)


def _gold(one: Any) -> GoldSentence:
    if not isinstance(one, GoldSentence):
        raise InputError(f"evidence of several kinds in one file: sentences and {type(one).__name__}")
    return one


def _alternatives(
    places: _Standing, claim: Question, threshold: float, level: str
) -> tuple[tuple[frozenset[int], ...], str, bool]:
    """A claim's alternatives, or how far its evidence came; and whether some alternatives were given up."""
    gold: list[frozenset[int]] = []
    reached, given_up = 0, False
    for group in claim.evidence:
        found = [places.pages[one.title] for one in group]
        if None in found:
            reached = max(reached, 1)
        elif level == "page":
            gold.append(frozenset(int(places.graph.article_node[at[0]]) for at in found if at))
        else:
            matches = [places.match(_gold(one)) for one in group]
            blocks = [match.above(threshold) for match in matches if match]
            if len(blocks) == len(group) and all(blocks):
                ways, cut = combine(blocks)
                gold += ways
                given_up |= cut
            reached = max(reached, 2 if None in matches else 3)
    return smallest(gold), _REASONS[reached], given_up


def _pages_needed(gold: Sequence[frozenset[int]]) -> str:
    """The group of a claim where pages are counted."""
    return "one article" if min(map(len, gold)) == 1 else "two articles"


def _articles(pages: dict[str, tuple[int, str] | None]) -> dict[str, Any]:
    """How many of the pages named are articles here."""
    how = Counter(found[1] for found in pages.values() if found)
    return {
        "named": len(pages),
        "matched": how.total(),
        "rate": _rate(how.total(), len(pages)),
        "how": {name: how[name] for name in HOW if how[name]},
        "not matched": [page for page, found in pages.items() if not found][:EXAMPLES],
    }


def _sentences(sentences: dict[GoldSentence, SentenceMatch | None], threshold: float) -> dict[str, Any]:
    """How many of the sentences named stand in a block."""
    above = {one: match.above(threshold) for one, match in sentences.items() if match}
    counts = [len(blocks) for blocks in above.values() if blocks]
    unmatched = [
        {"page": one.title, "number": one.number, "sentence": one.text, "best": round(match.best, 1)}
        for one, match in sentences.items()
        if match and match.best < threshold
    ]
    return {
        "named": len(sentences),
        "without text": sum(one.text is None for one in sentences),
        "of articles in the wiki": len(above),
        "matched": len(counts),
        "rate": _rate(len(counts), len(sentences)),
        "rate within articles in the wiki": _rate(len(counts), len(above)),
        "threshold": threshold,
        "blocks per sentence": _rate(sum(counts), len(counts)),
        "not matched": unmatched[:EXAMPLES],
    }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


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
) -> dict[tuple[int, str], SentenceMatch]:
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
            matches[article, sentence] = SentenceMatch(tuple(blocks), float(scores_B.max()))
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
