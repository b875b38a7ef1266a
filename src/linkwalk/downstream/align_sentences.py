"""Sentences beside a wiki: which blocks hold them, and how much did not match (app. C.1).

A page is matched with an article by its title, a sentence with the article's blocks by token-set ratio.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.dataset import (
    EXAMPLES,
    AlignedQuestion,
    Alignment,
    GoldSentence,
    Question,
    without_accents,
)
from linkwalk.downstream.fever import HOW, decode, match_title
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


def align_sentences(
    path: Path,
    claims: Sequence[Question],
    graph: Graph,
    damage: list[BadLine],
    *,
    threshold: float = THRESHOLD,
    level: str = "block",
) -> Alignment:
    """Claims beside a wiki: what each of them needs, and a report of what did not match.

    ``level="page"`` asks for articles, each stood for by its first block, and needs no sentences: compare
    ``as_pages(graph, ranked)`` with it instead of ``ranked``.
    """
    if level not in ("block", "page") or not 0 < threshold <= 100:
        raise InputError(
            f"level={level}, threshold={threshold}: choose block or page, and a threshold up to 100"
        )
    by_block = level == "block"
    sentences: dict[GoldSentence, SentenceMatch | None] = {}
    for one in (one for claim in claims for group in claim.evidence for one in group):
        if not isinstance(one, GoldSentence):
            raise InputError(f"evidence of several kinds in one file: sentences and {type(one).__name__}")
        sentences[one] = None
    pages = {page: match_title(graph, page) for page in dict.fromkeys(one.title for one in sentences)}
    if by_block:
        if any(pages.values()) and not any(one.text for one in sentences):
            raise InputError(
                f"{path} names sentences by number only: give FEVER's wiki-pages, which have their text, "
                "or count pages instead of blocks (level page)"
            )
        keys = {one: (page[0], one.text) for one in sentences if (page := pages[one.title]) and one.text}
        matches = match_blocks(graph, keys.values(), threshold)
        sentences |= {one: matches[key] for one, key in keys.items()}

    def alternatives(claim: Question) -> tuple[tuple[frozenset[int], ...], str, bool]:
        """What is enough, or how far the evidence came; and whether some alternatives were given up."""
        gold: list[frozenset[int]] = []
        reached, given_up = 0, False
        for group in claim.evidence:
            articles = [page[0] for one in group if (page := pages[one.title])]
            if len(articles) < len(group):
                reached = max(reached, 1)
            elif not by_block:
                gold.append(frozenset(graph.article_node[articles].tolist()))
            else:
                own = [sentences[one] for one in group]  # type: ignore[index]  # they are all sentences
                blocks = [match.above(threshold) for match in own if match]
                if len(blocks) == len(group) and all(blocks):
                    ways, cut = combine(blocks)
                    gold += ways
                    given_up |= cut
                reached = max(reached, 2 if None in own else 3)
        return smallest(gold), _REASONS[reached], given_up

    aligned, left_out, cut = [], Counter[str](), 0
    for claim in claims:
        gold, reason, given_up = ((), claim.left_out, False) if claim.left_out else alternatives(claim)
        cut += given_up
        if not gold:
            left_out[reason] += 1
            continue
        group = claim.group
        if group == "all" and by_block:
            group = group_of(graph, gold)
        elif group == "all":
            group = "one article" if min(map(len, gold)) == 1 else "two articles"
        aligned.append(AlignedQuestion(id=claim.id, text=claim.text, gold=gold, group=group))
    how = Counter(found[1] for found in pages.values() if found)
    report: dict[str, Any] = {
        "file": path.name,
        "wiki": graph.snapshot,
        "level": level,
        "claims": len(claims),
        "damaged lines": len(damage),
        "labels": dict(Counter(claim.label or "no label" for claim in claims)),
        "asked": len(aligned),
        "left out": dict(left_out),
        "groups": dict(sorted(Counter(one.group for one in aligned).items())),
        "articles": {
            "named": len(pages),
            "matched": how.total(),
            "rate": _rate(how.total(), len(pages)),
            "how": {name: how[name] for name in HOW if how[name]},
            "not matched": [page for page, found in pages.items() if not found][:EXAMPLES],
        },
    }
    if by_block:
        report["sentences"] = _sentences_report(sentences, threshold)
        report["claims with more alternatives than are kept"] = cut
    return Alignment(aligned, report, damage, claims)


def _sentences_report(
    sentences: dict[GoldSentence, SentenceMatch | None], threshold: float
) -> dict[str, Any]:
    """How many of the sentences named stand in a block."""
    within = {one: match for one, match in sentences.items() if match}
    counts = [len(blocks) for match in within.values() if (blocks := match.above(threshold))]
    unmatched = [
        {"page": one.title, "number": one.number, "sentence": one.text, "best": round(match.best, 1)}
        for one, match in within.items()
        if match.best < threshold
    ]
    return {
        "named": len(sentences),
        "without text": sum(one.text is None for one in sentences),
        "of articles in the wiki": len(within),
        "matched": len(counts),
        "rate": _rate(len(counts), len(sentences)),
        "rate within articles in the wiki": _rate(len(counts), len(within)),
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

    return utils.default_process(without_accents(decode(text)))  # accents of their own would cut words in two


def similarities(texts: Iterable[str], others: Iterable[str], scorer: str = "token_set_ratio") -> Any:
    """How alike texts are [T, O], from 0 to 100, by one of rapidfuzz's measures."""
    from rapidfuzz import fuzz, process

    scorer_of = getattr(fuzz, scorer)
    return process.cdist([*map(comparable, texts)], [*map(comparable, others)], scorer=scorer_of)


def match_blocks(
    graph: Graph, sentences: Iterable[tuple[int, str]], floor: float = THRESHOLD
) -> dict[tuple[int, str], SentenceMatch]:
    """For each (article, sentence), the blocks of that article by token-set ratio, down to ``floor``."""
    of_article: dict[int, dict[str, None]] = defaultdict(dict)
    for article, sentence in sentences:
        of_article[article][sentence] = None
    matches = {}
    for article, own in of_article.items():
        nodes = graph.article_blocks(article)
        scores_SB = similarities(own, graph.texts.slice(int(nodes[0]), int(nodes[-1]) + 1))
        for sentence, scores_B in zip(own, scores_SB, strict=True):
            order = (-scores_B).argsort(kind="stable")
            order = order[scores_B[order] >= floor]
            blocks = zip(nodes[order].tolist(), scores_B[order].tolist(), strict=True)
            matches[article, sentence] = SentenceMatch(tuple(blocks), float(scores_B.max()))
    return matches


def nearest_sentences(found: Sequence[str], sentences: Sequence[str], cutoff: float) -> list[int | None]:
    """For each sentence found, which of ``sentences`` it is by WRatio (app. C.1); None below the cut-off."""
    if not found or not sentences:
        return [None] * len(found)
    scores_FS = similarities(found, sentences, "WRatio")
    return [int(row.argmax()) if row.max() >= cutoff else None for row in scores_FS]


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
    alone = [nodes for nodes in gold if len(set(graph.node_article[list(nodes)].tolist())) == 1]
    if not alone:
        return "two articles"
    lead = any(graph.article_node[graph.node_article[[*nodes]]].tolist() == [*nodes] for nodes in alone)
    return "lead" if lead else "other"
