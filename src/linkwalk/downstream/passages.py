"""Passages, paragraphs and answers beside a wiki: which blocks stand for them, what did not match (app. C.2)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

from linkwalk.downstream.dataset import (
    EXAMPLES,
    Aligned,
    Asked,
    Gold,
    GoldParagraph,
    GoldPassage,
    Question,
    holds,
    plain,
    sought,
)
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine
from linkwalk.sources.wikitext.site import Site

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

    nodes: tuple[int, ...] = ()
    ratio: float = 0.0
    reason: str = ""
    verbatim: bool = False
    """Whether an answer stands there letter by letter."""


class _Found:
    """What became of the evidence of a file's questions."""

    def __init__(
        self, questions: Iterable[Question], kind: type, place: Callable[[Any, Sequence[str]], Placed]
    ) -> None:
        self.kind = kind
        self.questions = self.cut = 0
        self.left_out: Counter[str] = Counter()
        self.asked: list[Asked] = []
        self.pieces: list[Placed] = []
        self.examples: list[dict[str, Any]] = []
        for question in questions:
            self.questions += 1
            if question.left_out:
                self.left_out[question.left_out] += 1
                continue
            gold: dict[frozenset[int], None] = {}
            for group in filter(None, question.evidence):
                placed = [self._note(question, one, place) for one in group]
                self.cut += prod(len(one.nodes) for one in placed) > MOST_ALTERNATIVES
                ways = islice(product(*(one.nodes for one in placed)), MOST_ALTERNATIVES)
                gold.update(dict.fromkeys(map(frozenset, ways)))
            if gold:
                asked = Asked(id=question.id, text=question.text, gold=tuple(gold))
                self.asked.append(replace(asked, answers=question.answers, group=question.group))
        self.lost = Counter(one.reason for one in self.pieces if one.reason)
        self.matched = len(self.pieces) - self.lost.total()

    def _note(self, question: Question, piece: Gold, place: Callable[[Any, Sequence[str]], Placed]) -> Placed:
        """Place and count a piece of evidence; the first that have no block are shown."""
        if not isinstance(piece, self.kind):
            what = f"{self.kind.__name__} and {type(piece).__name__}"
            raise InputError(f"question {question.id} has other evidence than those before it: {what}")
        placed = place(piece, question.answers)
        self.pieces.append(placed)
        if placed.reason and len(self.examples) < EXAMPLES:
            own = {"id": question.id, "line": question.line, "question": question.text, "title": piece.title}
            self.examples.append({**own, "answers": list(question.answers), "reason": placed.reason})
        return placed

    def report(self, name: str, usual: str, damage: list[BadLine], **more: Any) -> dict[str, Any]:
        """What every report says, and ``more``; the ``usual`` reason to be left out is always told."""
        others = {reason: count for reason, count in self.left_out.items() if reason != usual}
        return {
            "benchmark": name,
            "measure": "gold passage",
            "questions": self.questions,
            usual.replace(" ", "_"): self.left_out[usual],
            **({"left out": others} if others else {}),
            "asked": len(self.asked),
            **more,
            "more_alternatives_than_kept": self.cut,
            "unmatched": dict(self.lost),
            "examples": self.examples,
            "damaged": len(damage),
        }


def align_passages(name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine]) -> Aligned:
    """Questions with passages, each brought to the block that stands for it (app. C.2)."""
    found = _Found(questions, GoldPassage, partial(align_passage, graph))
    ratios = [one.ratio for one in found.pieces if one.nodes]
    every, located = len(found.pieces), len(found.pieces) - found.lost[NO_TITLE]
    report = found.report(
        name,
        "without passage",
        damage,
        articles={"matched": located, "of": every, "rate": _percent(located, every)},
        passages={"matched": found.matched, "of": every, "rate": _percent(found.matched, every)},
        passages_of_matched_articles={"rate": _percent(found.matched, located)},
        answer_letter_by_letter=sum(one.verbatim for one in found.pieces),
        ratio={
            "mean": round(sum(ratios) / max(1, len(ratios)), 1),
            f"below_{_UNLIKE}": sum(ratio < _UNLIKE for ratio in ratios),
        },
    )
    return Aligned(found.asked, report, damage)


def align_passage(graph: Graph, passage: GoldPassage, answers: Sequence[str]) -> Placed:
    """The block of the passage's article most like it of those with the answer (app. C.2); ties go to the first.

    A passage without a text may be any of those.
    """
    from rapidfuzz import fuzz, utils

    article = graph.article(_SITE.normalise(passage.title))
    if article is None:
        return Placed(reason=NO_TITLE)
    wanted = sought(answers)
    texts = {node: graph.texts[node] for node in graph.article_blocks(article).tolist()}
    texts = {node: text for node, text in texts.items() if not answers or holds(text, wanted)}
    if not texts:
        return Placed(reason="no block of the article has an answer")
    ratio = 100.0
    if passage.text:
        ratios = {
            node: fuzz.token_set_ratio(passage.text, text, processor=utils.default_process)
            for node, text in texts.items()
        }
        best = max(ratios, key=ratios.__getitem__)
        texts, ratio = {best: texts[best]}, ratios[best]
    verbatim = any(answer in text for text in texts.values() for answer in answers)
    return Placed(tuple(texts), ratio, verbatim=verbatim)


def align_answers(
    name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine], *, scan: bool = True
) -> Aligned:
    """Questions with answers alone: any block that has one will do.

    Answers are looked for in the whole wiki, to tell the questions that it can answer (``group``); that is one pass
    over all blocks, which ``scan=False`` leaves out.
    """
    every = list(questions)
    kept = [one for one in every if not one.left_out]
    groups = [one.group for one in kept]
    report: dict[str, Any] = {
        "benchmark": name,
        "measure": "answer string",
        "weaker": "a block may have the answer string and not answer the question (sec. 5.5)",
        "questions": len(every),
        "asked": len(kept),
    }
    if left_out := Counter(one.left_out for one in every if one.left_out):
        report["left out"] = dict(left_out)
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
    found = _Found(questions, GoldParagraph, partial(align_paragraph, graph))
    report = found.report(
        name,
        "unanswerable",
        damage,
        asked_by_group=dict(sorted(Counter(one.group for one in found.asked).items())),
        paragraphs={
            "supporting": len(found.pieces),
            "matched": found.matched,
            "rate": _percent(found.matched, len(found.pieces)),
            "with_several_blocks": sum(len(one.nodes) > 1 for one in found.pieces),
        },
    )
    return Aligned(found.asked, report, damage)


def align_paragraph(graph: Graph, paragraph: GoldParagraph, answers: Sequence[str] = ()) -> Placed:
    """The blocks that a paragraph became, those that hold its marks where some do; or why there are none.

    Blocks are cut at about a hundred words, so a short paragraph may share its block with another one of its article,
    and a long one may become several blocks.
    """
    article = graph.article(_SITE.normalise(paragraph.title))
    if article is None:
        return Placed(reason=NO_TITLE)
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
        return Placed(reason="text not in the article")
    marks = sought(paragraph.marks)
    marked = [node for node in own if holds(graph.texts[node], marks)]
    return Placed(tuple(marked or own), 100.0)


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
