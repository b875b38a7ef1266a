"""FEVER (app. C.1): its claims, aligned with a wiki's blocks, and what was found in the form its scorer reads.

Claim files come in the official form, evidence as ``[[[annotation, evidence, page, sentence number], ...], ...]``: any
inner list is enough, all of its sentences are needed. Two shorter forms are read too: ``[page, sentence number]``, and
``evidence_sentence``, the text, which makes FEVER's own Wikipedia unnecessary.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.align import (
    THRESHOLD,
    Match,
    combine,
    group_of,
    match_blocks,
    nearest_sentences,
    smallest,
)
from linkwalk.downstream.asked import Asked, Benchmark
from linkwalk.downstream.lines import Damage, read_records
from linkwalk.downstream.wiki_pages import HOW, WikiPages, match_title
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph

NOT_ENOUGH = "NOT ENOUGH INFO"
LABELS = ("SUPPORTS", "REFUTES", NOT_ENOUGH)
PAPER_ARTICLES, PAPER_SENTENCES = 0.995, 0.931
"""What the paper matched of FEVER's articles and evidence sentences (app. C.1)."""
SAME_SENTENCE = 86
"""WRatio from which a sentence of ours is one of FEVER's; the paper does not say where it cut. Sentences of unequal
length that share a word reach 85.5 (100 times 0.95 times 0.9), so a cut at or below that takes nearly any."""
THRESHOLDS = (60, 65, 70, 75, 80, 85, 90)
_EXAMPLES = 10
_REASONS = (
    "no evidence named",
    "page not in the wiki",
    "no text of the sentence",
    "no block reaches the threshold",
)


class Named(NamedTuple):
    """A sentence as evidence names it."""

    page: str
    number: int | None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One line of a claim file."""

    id: str
    text: str
    label: str | None
    """None in files without labels."""
    evidence: tuple[tuple[Named, ...], ...]
    """Alternatives; all sentences of one are needed."""
    sentence: str | None = None
    """The text of the one sentence named, where the file has it."""


def read_claim_file(path: Path) -> tuple[list[Claim], list[Damage]]:
    """All claims of a file, whether they can be aligned or not; what is malformed is listed with its line."""
    records, damage = read_records(path)
    claims, lines = [], dict[str, int]()
    for line, record in records:
        try:
            claim = _claim(record, line)
            if (first := lines.setdefault(claim.id, line)) != line:
                raise ValueError(f"id {claim.id} a second time, first in line {first}")
        except ValueError as error:
            damage.append(Damage(line, str(error)))
        else:
            claims.append(claim)
    damage.sort()
    if not claims:
        raise InputError(
            f"{path} has no claim of FEVER's: line {damage[0].line} has {damage[0].reason}; "
            "give a file with id, claim, label and evidence"
        )
    return claims, damage


def _claim(record: Mapping[str, Any], line: int) -> Claim:
    text = _text(record.get("claim"), "claim")
    number = record.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str | None):
        raise ValueError("an id that is neither number nor text")
    label = record.get("label")
    if label is not None and label not in LABELS:
        raise ValueError(f"a label that is none of {', '.join(LABELS)}")
    sentence = record.get("evidence_sentence")
    evidence = _evidence(record.get("evidence"))
    if sentence is not None:
        sentence = _text(sentence, "evidence_sentence")
        if len({named for group in evidence for named in group}) > 1:
            raise ValueError("an evidence_sentence, but several sentences that it could be")
    return Claim(
        id=f"line {line}" if number is None else str(number),
        text=text,
        label=label,
        evidence=evidence,
        sentence=sentence,
    )


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text as {name}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half a character (a lone surrogate) in {name}") from None
    return value


def _evidence(value: Any) -> tuple[tuple[Named, ...], ...]:
    """Sets that name pages; those of NOT ENOUGH INFO name none, and are left out."""
    if value is None:
        return ()
    groups: dict[tuple[Named, ...], None] = {}
    if not isinstance(value, list) or not all(isinstance(group, list) for group in value):
        raise ValueError("evidence that is no list of lists")
    for group in value:
        named: dict[Named, None] = {}
        whole = bool(group)
        for entry in group:
            if not isinstance(entry, list) or len(entry) not in (2, 4):
                raise ValueError(
                    "evidence that is neither [annotation, evidence, page, sentence] nor [page, sentence]"
                )
            page, number = entry[-2:]
            if page is None:
                whole = False
                continue
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                raise ValueError("a sentence number that is no number")
            named[Named(_text(page, "a page of the evidence"), number)] = None
        if whole:
            groups[tuple(named)] = None
    return tuple(groups)  # annotators often name the same set


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
                f"{path} names sentences by number only: give FEVER's wiki-pages, which have their text "
                "(--wiki-pages), or count pages instead of blocks (--level page)"
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
    return "one article" if min(map(len, gold)) == 1 else "two articles"


def _articles(aligned: _Aligned) -> dict[str, Any]:
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


def sentence_ids(
    wiki: WikiPages,
    found: Sequence[tuple[str, str]],
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    cutoff: float = SAME_SENTENCE,
) -> list[tuple[str, int] | None]:
    """For (title, sentence) of ours, which sentence of FEVER's page that is, as ``(page, number)``; None if none is.

    ``names`` (see ``names_of``) adds the other names of an article, for pages that moved between the two.
    """
    ids: list[tuple[str, int] | None] = [None] * len(found)
    of_title: dict[str, list[int]] = defaultdict(list)
    for at, (title, _) in enumerate(found):
        of_title[title].append(at)
    for title, places in of_title.items():
        spellings = (names or {}).get(title, [title])
        page = next((page for name in spellings if (page := wiki.id(name)) is not None), None)
        if page is None:
            continue
        lines = [(number, text) for number, text in wiki.sentences(page).items() if text]
        best = nearest_sentences([found[at][1] for at in places], [text for _, text in lines], cutoff)
        for at, hit in zip(places, best, strict=True):
            if hit:
                ids[at] = page, lines[hit[0]][0]
    return ids


class Submitted(NamedTuple):
    """What is submitted for one claim."""

    id: str
    evidence: Sequence[tuple[str, int]]
    """``(page, sentence number)``, the best first; the official scorer looks at five."""
    label: str = NOT_ENOUGH
    """The scorer wants one, though precision, recall and F1 of the evidence do not depend on it (table 5)."""
    scores: Sequence[float] = ()
    """One for each sentence, for a threshold chosen later; the official scorer ignores them."""


def write_submission(path: Path, predictions: Iterable[Submitted]) -> None:
    """Predictions as the official scorer reads them, one line each, in the order of the claim file."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            for one in predictions:
                if one.label not in LABELS:
                    raise InputError(
                        f"claim {one.id} is labelled {one.label!r}: choose one of {', '.join(LABELS)}"
                    )
                line: dict[str, Any] = {
                    "id": int(one.id) if one.id.isascii() and one.id.isdigit() else one.id,
                    "predicted_label": one.label,
                    "predicted_evidence": [[page, number] for page, number in one.evidence],
                }
                if one.scores:
                    line["predicted_scores"] = list(one.scores)
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
