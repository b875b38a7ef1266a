"""Passages, paragraphs and answers beside a wiki: which blocks stand for them, what did not match (app. C.2)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

from linkwalk.downstream.dataset import (
    EXAMPLES,
    Aligned,
    Asked,
    GoldParagraph,
    GoldPassage,
    Question,
    holds,
    plain,
    sought,
)
from linkwalk.downstream.lines import BadLine
from linkwalk.graph.store import Graph
from linkwalk.sources.site import Site

ANSWERABLE, UNANSWERABLE = "answerable", "unanswerable"
"""Groups of questions with answers alone: some block of the wiki has an answer string, or none has."""
RATIO = 80
"""Token-set ratio from which a block is taken for a paragraph's where no sentence is the same (as in app. C.1)."""
MOST_ALTERNATIVES = 256
NO_TITLE = "title not in the wiki"
_UNLIKE = 60
"""Below this ratio a block has the answer but hardly the passage."""
_SHARED = 40
"""Letters of common sentences that make a block a paragraph's: "He died in 1950." proves nothing."""
_SITE = Site()


class Placed(NamedTuple):
    """The blocks of which any stands for a piece of evidence; none and the reason where there are none."""

    nodes: tuple[int, ...]
    ratio: float
    reason: str


class _Tally:
    """What did not match: how often for which reason, and the first of them."""

    def __init__(self) -> None:
        self.pieces = 0
        self.lost: Counter[str] = Counter()
        self.examples: list[dict[str, Any]] = []
        self.cut = 0

    def add(self, reason: str, **example: Any) -> None:
        """Count a piece of evidence."""
        self.pieces += 1
        if reason:
            self.lost[reason] += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append({**example, "reason": reason})

    def combine(self, placed: Sequence[Placed]) -> Iterable[frozenset[int]]:
        """One block for each piece, in every way that is kept; none where a piece has none."""
        self.cut += prod(len(one.nodes) for one in placed) > MOST_ALTERNATIVES
        return map(frozenset, islice(product(*(one.nodes for one in placed)), MOST_ALTERNATIVES))

    @property
    def matched(self) -> int:
        """Pieces of evidence that blocks stand for."""
        return self.pieces - self.lost.total()


def align_passages(name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine]) -> Aligned:
    """Questions with passages, each brought to the block that stands for it (app. C.2)."""
    asked: list[Asked] = []
    tally, ratios = _Tally(), list[float]()
    count = without = verbatim = 0
    for question in questions:
        count += 1
        if question.left_out:
            without += 1
            continue
        gold: dict[frozenset[int], None] = {}
        for group in question.evidence:
            placed = []
            for passage in group:
                assert isinstance(passage, GoldPassage)
                own = align_passage(graph, passage, question.answers)
                example = {"line": question.line, "question": question.text, "title": passage.title}
                tally.add(own.reason, **example, answers=list(question.answers))
                placed.append(own)
                if own.nodes:
                    ratios.append(own.ratio)
                    texts = [graph.texts[node] for node in own.nodes]
                    verbatim += any(answer in text for text in texts for answer in question.answers)
            gold.update(dict.fromkeys(tally.combine(placed)))
        if gold:
            asked.append(
                Asked(
                    id=question.id,
                    text=question.text,
                    gold=tuple(gold),
                    answers=question.answers,
                    group=question.group,
                )
            )
    located = tally.pieces - tally.lost[NO_TITLE]
    report = {
        "benchmark": name,
        "measure": "gold passage",
        "questions": count,
        "without_passage": without,
        "asked": len(asked),
        "articles": {"matched": located, "of": tally.pieces, "rate": _percent(located, tally.pieces)},
        "passages": {
            "matched": tally.matched,
            "of": tally.pieces,
            "rate": _percent(tally.matched, tally.pieces),
        },
        "passages_of_matched_articles": {"rate": _percent(tally.matched, located)},
        "answer_letter_by_letter": verbatim,
        "ratio": {
            "mean": round(sum(ratios) / max(1, len(ratios)), 1),
            f"below_{_UNLIKE}": sum(ratio < _UNLIKE for ratio in ratios),
        },
        "more_alternatives_than_kept": tally.cut,
        "unmatched": dict(tally.lost),
        "examples": tally.examples,
        "damaged": len(damage),
    }
    return Aligned(asked, report, damage)


def align_passage(graph: Graph, passage: GoldPassage, answers: Sequence[str]) -> Placed:
    """The block of the passage's article most like it of those with the answer (app. C.2); ties go to the first.

    A passage without a text may be any of those.
    """
    from rapidfuzz import fuzz, utils

    article = graph.article(_SITE.normalise(passage.title))
    if article is None:
        return Placed((), 0.0, NO_TITLE)
    wanted = sought(answers)
    nodes = [
        node
        for node in graph.article_blocks(article).tolist()
        if not answers or holds(graph.texts[node], wanted)
    ]
    if not nodes:
        return Placed((), 0.0, "no block of the article has an answer")
    if not passage.text:
        return Placed(tuple(nodes), 100.0, "")
    ratios = [
        fuzz.token_set_ratio(passage.text, graph.texts[node], processor=utils.default_process)
        for node in nodes
    ]
    best = ratios.index(max(ratios))
    return Placed((nodes[best],), ratios[best], "")


def align_answers(
    name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine], *, scan: bool = True
) -> Aligned:
    """Questions with answers alone: any block that has one will do.

    Answers are looked for in the whole wiki, to tell the questions that it can answer (``group``); that is one pass
    over all blocks, which ``scan=False`` leaves out.
    """
    kept = [one for one in questions if not one.left_out]
    groups = [one.group for one in kept]
    report: dict[str, Any] = {
        "benchmark": name,
        "measure": "answer string",
        "weaker": "a block may have the answer string and not answer the question (sec. 5.5)",
        "questions": len(kept),
        "asked": len(kept),
    }
    if scan:
        found = answerable(graph, [one.answers for one in kept])
        groups = [ANSWERABLE if hit else UNANSWERABLE for hit in found]
        missing = [one for one, hit in zip(kept, found, strict=True) if not hit]
        rate = _percent(sum(found), len(kept))
        report["answerable"] = {"matched": sum(found), "of": len(kept), "rate": rate}
        report["examples"] = [
            {"question": one.text, "answers": list(one.answers), "reason": "no block has an answer"}
            for one in missing[:EXAMPLES]
        ]
    report["damaged"] = len(damage)
    asked = [
        Asked(id=one.id, text=one.text, answers=one.answers, group=group)
        for one, group in zip(kept, groups, strict=True)
    ]
    return Aligned(asked, report, damage)


def answerable(graph: Graph, answers: Sequence[Sequence[str]]) -> list[bool]:
    """Whether any block of the wiki has one of a question's answers: one pass over the blocks for all questions.

    An answer is looked for only in blocks that have its longest word, and no more once it is found.
    """
    holders: dict[str, list[int]] = {}
    for number, own in enumerate(answers):
        for answer in own:
            if words := plain(answer):
                holders.setdefault(words, []).append(number)
    waiting: dict[str, list[str]] = {}
    for answer in holders:
        waiting.setdefault(max(answer.split(), key=len), []).append(answer)
    found = [False] * len(answers)
    for node in range(graph.nodes):
        if not waiting:
            break
        text = plain(graph.texts[node])
        for word in waiting.keys() & set(text.split()):
            left = []
            for answer in waiting[word]:
                if f" {answer} " in f" {text} ":
                    for number in holders[answer]:
                        found[number] = True
                else:
                    left.append(answer)
            if left:
                waiting[word] = left
            else:
                del waiting[word]
    return found


def align_paragraphs(
    name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine]
) -> Aligned:
    """Questions with the blocks that hold their supporting paragraphs, and what did not match."""
    asked: list[Asked] = []
    tally = _Tally()
    count = unanswerable = several = 0
    for question in questions:
        count += 1
        if question.left_out:
            unanswerable += 1
            continue
        gold: dict[frozenset[int], None] = {}
        for group in question.evidence:
            placed = []
            for paragraph in group:
                assert isinstance(paragraph, GoldParagraph)
                own = align_paragraph(graph, paragraph)
                tally.add(own.reason, id=question.id, title=paragraph.title)
                several += len(own.nodes) > 1
                placed.append(own)
            gold.update(dict.fromkeys(tally.combine(placed)))
        if gold:
            asked.append(Asked(id=question.id, text=question.text, gold=tuple(gold), group=question.group))
    report = {
        "benchmark": name,
        "measure": "gold passage",
        "questions": count,
        "unanswerable": unanswerable,
        "asked": len(asked),
        "asked_by_group": dict(sorted(Counter(one.group for one in asked).items())),
        "paragraphs": {
            "supporting": tally.pieces,
            "matched": tally.matched,
            "rate": _percent(tally.matched, tally.pieces),
            "with_several_blocks": several,
        },
        "more_alternatives_than_kept": tally.cut,
        "unmatched": dict(tally.lost),
        "examples": tally.examples,
        "damaged": len(damage),
    }
    return Aligned(asked, report, damage)


def align_paragraph(graph: Graph, paragraph: GoldParagraph) -> Placed:
    """The blocks that a paragraph became, those that hold its marks where some do; or why there are none.

    Blocks are cut at about a hundred words, so a short paragraph may share its block with another one of its article,
    and a long one may become several blocks.
    """
    article = graph.article(_SITE.normalise(paragraph.title))
    if article is None:
        return Placed((), 0.0, NO_TITLE)
    nodes: list[int] = graph.article_blocks(article).tolist()
    whole = f" {plain(paragraph.text)} "
    own = []
    for node in nodes:
        sentences = (f" {plain(sentence)} " for sentence in graph.block(node).sentences)
        shared = sum(len(sentence) for sentence in sentences if sentence in whole)
        if shared >= min(_SHARED, len(whole)):
            own.append(node)
    own = own or _alike(graph, nodes, paragraph.text)
    if not own:
        return Placed((), 0.0, "text not in the article")
    marks = sought(paragraph.marks)
    marked = [node for node in own if holds(graph.texts[node], marks)]
    return Placed(tuple(marked or own), 100.0, "")


def _alike(graph: Graph, nodes: Sequence[int], text: str) -> list[int]:
    """The block most like a paragraph, if it is like it: for a wiki of another date."""
    from rapidfuzz import fuzz, process, utils

    texts = [graph.texts[node] for node in nodes]
    best = process.extractOne(
        text, texts, scorer=fuzz.token_set_ratio, processor=utils.default_process, score_cutoff=RATIO
    )
    return [nodes[best[2]]] if best else []


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
