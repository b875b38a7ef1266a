"""FEVER (app. C.1): its claims beside a wiki, each with the blocks that it needs, and how much of them matched.

A page is matched with an article by its title, a sentence with the article's blocks by token-set ratio.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.align import THRESHOLD, Match, combine, group_of, match_blocks, smallest
from linkwalk.downstream.asked import Asked, Benchmark
from linkwalk.downstream.fever_claims import NOT_ENOUGH, Claim, Named, read_claim_file
from linkwalk.downstream.lines import Damage
from linkwalk.downstream.wiki_pages import HOW, WikiPages, match_title
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph

PAPER_ARTICLES, PAPER_SENTENCES = 0.995, 0.931
"""What the paper matched of FEVER's articles and evidence sentences (app. C.1)."""
THRESHOLDS = (60, 65, 70, 75, 80, 85, 90)
_EXAMPLES = 10
_REASONS = (
    "no evidence named",
    "page not in the wiki",
    "no text of the sentence",
    "no block reaches the threshold",
)
"""How far a claim's evidence may come; the farthest of its alternatives counts."""


class _Aligned(NamedTuple):
    """A claim file beside a wiki, before a threshold is chosen."""

    path: Path
    graph: Graph
    claims: list[Claim]
    damage: list[Damage]
    pages: dict[str, tuple[int, str] | None]
    """Every page named: its article and how it was matched."""
    texts: dict[Named, str]
    """From FEVER's Wikipedia."""
    matches: dict[tuple[int, str], Match]
    missing: list[str]
    """Pages that FEVER's Wikipedia does not have."""

    @classmethod
    def of(cls, path: Path, graph: Graph, wiki_pages: Path | None, floor: float | None) -> "_Aligned":
        """Read, match titles and, unless ``floor`` is None, match sentences to blocks."""
        claims, damage = read_claim_file(path)
        named = list(dict.fromkeys(one for claim in claims for group in claim.evidence for one in group))
        pages = {page: match_title(graph, page) for page in dict.fromkeys(one.page for one in named)}
        texts: dict[Named, str] = {}
        missing: list[str] = []
        if floor is not None and wiki_pages is not None:
            wiki = WikiPages.open(wiki_pages, pages)
            damage, missing = damage + wiki.damage, wiki.missing
            for one in sorted(named, key=lambda one: one.page):
                text = wiki.sentence(one.page, one.number) if one.number is not None else None
                if text:
                    texts[one] = text
        aligned = cls(path, graph, claims, damage, pages, texts, {}, missing)
        if floor is None:
            return aligned
        wanted = [
            (found[0], text)
            for claim in claims
            for group in claim.evidence
            for one in group
            if (found := pages[one.page]) and (text := aligned.text(claim, one))
        ]
        if any(pages.values()) and not any(
            aligned.text(c, one) for c in claims for g in c.evidence for one in g
        ):
            raise InputError(
                f"{path} names sentences by number only: give FEVER's wiki-pages, which have their text, "
                "or count pages instead of blocks (level page)"
                if wiki_pages is None
                else f"none of the sentences that {path} names is in {wiki_pages}: is it the whole of wiki-pages.zip?"
            )
        return aligned._replace(matches=match_blocks(graph, wanted, floor))

    def text(self, claim: Claim, one: Named) -> str | None:
        """What a sentence says, if that is known."""
        return claim.sentence or self.texts.get(one)

    def match(self, claim: Claim, one: Named) -> Match | None:
        """Where a sentence stands; None if its page or its text is not known."""
        found, text = self.pages[one.page], self.text(claim, one)
        return self.matches[found[0], text] if found and text else None

    def sentences(self) -> dict[tuple[Named, str | None], Match | None]:
        """Every sentence named, once, and where it stands."""
        return {
            (one, self.text(claim, one)): self.match(claim, one)
            for claim in self.claims
            for group in claim.evidence
            for one in group
        }


def read_claims(
    path: Path,
    graph: Graph,
    *,
    wiki_pages: Path | None = None,
    threshold: float = THRESHOLD,
    level: str = "block",
) -> Benchmark:
    """A claim file beside a wiki: what each claim needs, and a report of what did not match.

    ``level="page"`` asks for articles, each stood for by its first block, and needs no sentences: compare
    ``as_pages(graph, ranked)`` with it instead of ``ranked``.
    """
    if level not in ("block", "page") or not 0 < threshold <= 100:
        raise InputError(
            f"level={level}, threshold={threshold}: choose block or page, and a threshold up to 100"
        )
    aligned = _Aligned.of(path, graph, wiki_pages, threshold if level == "block" else None)
    asked, left_out, cut = [], Counter[str](), 0
    for claim in aligned.claims:
        if claim.label is None or claim.label == NOT_ENOUGH:
            left_out[claim.label or "no label"] += 1
            continue
        gold, reason, given_up = _gold(aligned, claim, threshold, level)
        cut += given_up
        if not gold:
            left_out[reason] += 1
            continue
        group = group_of(graph, gold) if level == "block" else _pages_needed(gold)
        asked.append(Asked(id=claim.id, text=claim.text, gold=gold, group=group))
    report: dict[str, Any] = {
        "file": path.name,
        "wiki": graph.snapshot,
        "level": level,
        "claims": len(aligned.claims),
        "damaged lines": len(aligned.damage),
        "labels": dict(Counter(claim.label or "no label" for claim in aligned.claims)),
        "asked": len(asked),
        "left out": dict(left_out),
        "groups": dict(sorted(Counter(one.group for one in asked).items())),
        "articles": _articles(aligned),
    }
    if level == "block":
        report["sentences"] = _sentences(aligned, threshold)
        report["claims with more alternatives than are kept"] = cut
    return Benchmark(asked, report, aligned.damage)


def _gold(
    aligned: _Aligned, claim: Claim, threshold: float, level: str
) -> tuple[tuple[frozenset[int], ...], str, bool]:
    """A claim's alternatives, or how far its evidence came; and whether some alternatives were given up."""
    gold: list[frozenset[int]] = []
    reached, given_up = 0, False
    for group in claim.evidence:
        found = [aligned.pages[one.page] for one in group]
        if None in found:
            reached = max(reached, 1)
        elif level == "page":
            gold.append(frozenset(int(aligned.graph.article_node[at[0]]) for at in found if at))
        else:
            matches = [aligned.match(claim, one) for one in group]
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


def _articles(aligned: _Aligned) -> dict[str, Any]:
    """How many of the pages named are articles here, beside the paper's rate."""
    how = Counter(found[1] for found in aligned.pages.values() if found)
    unmatched = [page for page, found in aligned.pages.items() if not found]
    return {
        "named": len(aligned.pages),
        "matched": how.total(),
        "rate": _rate(how.total(), len(aligned.pages)),
        "paper": PAPER_ARTICLES,
        "how": {name: how[name] for name in HOW if how[name]},
        "not matched": unmatched[:_EXAMPLES],
    }


def _sentences(aligned: _Aligned, threshold: float) -> dict[str, Any]:
    """How many of the sentences named stand in a block, beside the paper's rate."""
    sentences = aligned.sentences()
    above = {key: match.above(threshold) for key, match in sentences.items() if match}
    counts = [len(blocks) for blocks in above.values() if blocks]
    unmatched = [
        {"page": one.page, "number": one.number, "sentence": text, "best": round(match.best, 1)}
        for (one, text), match in sentences.items()
        if match and match.best < threshold
    ]
    return {
        "named": len(sentences),
        "without text": sum(text is None for _, text in sentences),
        "of articles in the wiki": len(above),
        "matched": len(counts),
        "rate": _rate(len(counts), len(sentences)),
        "rate within articles in the wiki": _rate(len(counts), len(above)),
        "paper": PAPER_SENTENCES,
        "threshold": threshold,
        "blocks per sentence": _rate(sum(counts), len(counts)),
        "not matched": unmatched[:_EXAMPLES],
        "pages not among FEVER's": aligned.missing[:_EXAMPLES],
    }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def sweep(
    path: Path, graph: Graph, *, wiki_pages: Path | None = None, thresholds: Sequence[float] = THRESHOLDS
) -> list[dict[str, Any]]:
    """What each threshold would match, how ambiguously, and how many claims could be asked: to choose one by."""
    aligned = _Aligned.of(path, graph, wiki_pages, min(thresholds))
    sentences = [match for match in aligned.sentences().values() if match]
    claims = [claim for claim in aligned.claims if claim.label not in (None, NOT_ENOUGH)]
    rows = []
    for threshold in thresholds:
        counts = [len(blocks) for match in sentences if (blocks := match.above(threshold))]
        gold = [gold for claim in claims if (gold := _gold(aligned, claim, threshold, "block")[0])]
        rows.append(
            {
                "threshold": threshold,
                "sentences": len(sentences),
                "matched": len(counts),
                "rate": _rate(len(counts), len(sentences)),
                "blocks per sentence": _rate(sum(counts), len(counts)),
                "in one block": _rate(sum(count == 1 for count in counts), len(counts)),
                "claims asked": len(gold),
                "share of claims": _rate(len(gold), len(claims)),
            }
        )
    return rows
