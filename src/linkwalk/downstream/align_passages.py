"""Passages, paragraphs and answers beside a wiki: which blocks stand for them, what did not match (app. C.2)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

from linkwalk.downstream.dataset import (
    EXAMPLES,
    AlignedQuestion,
    Alignment,
    GoldParagraph,
    GoldPassage,
    Question,
    answer_phrases,
    holds,
    plain,
)
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine
from linkwalk.sources.site import Site

ANSWERABLE, UNANSWERABLE = "answerable", "unanswerable"
"""Groups of questions with answers alone: some block of the wiki has an answer string, or none has."""
_RATIO = 80
"""Token-set ratio from which a block is taken for a paragraph's where no sentence is the same (as in app. C.1)."""
_MOST_ALTERNATIVES = 256
_NO_TITLE = "title not in the wiki"
_UNLIKE = 60
"""Below this ratio a block has the answer but hardly the passage."""
_SHARED = 40
"""Letters of common sentences that make a block a paragraph's: "He died in 1950." proves nothing."""
_SITE = Site()


class Placement(NamedTuple):
    """The blocks of which any stands for a piece of evidence; none and the reason where there are none."""

    nodes: tuple[int, ...] = ()
    ratio: float = 0.0
    reason: str = ""
    verbatim: bool = False
    """Whether an answer stands there letter by letter."""


class _Evidence:
    """What became of the evidence of a file's questions; ``place`` finds the blocks of a piece of it."""

    def __init__(
        self, questions: Iterable[Question], kind: type, place: Callable[[Any, Sequence[str]], Placement]
    ) -> None:
        self.total = self.cut = 0
        self.left_out: Counter[str] = Counter()
        self.aligned: list[AlignedQuestion] = []
        self.placements: list[Placement] = []
        self.examples: list[dict[str, Any]] = []
        for question in questions:
            self.total += 1
            if question.left_out:
                self.left_out[question.left_out] += 1
                continue
            gold: dict[frozenset[int], None] = {}
            for group in filter(None, question.evidence):
                nodes = []
                for piece in group:
                    if not isinstance(piece, kind):
                        what = f"{kind.__name__} and {type(piece).__name__}"
                        raise InputError(
                            f"question {question.id} has other evidence than those before it: {what}"
                        )
                    placed = place(piece, question.answers)
                    nodes.append(placed.nodes)
                    self.placements.append(placed)
                    if placed.reason and len(self.examples) < EXAMPLES:
                        example = {"id": question.id, "line": question.line, "question": question.text}
                        example |= {"title": piece.title, "answers": list(question.answers)}
                        self.examples.append(example | {"reason": placed.reason})
                self.cut += prod(map(len, nodes)) > _MOST_ALTERNATIVES
                ways = islice(product(*nodes), _MOST_ALTERNATIVES)
                gold.update(dict.fromkeys(map(frozenset, ways)))
            if gold:
                self.aligned.append(_aligned(question, question.group, tuple(gold)))
        self.lost = Counter(one.reason for one in self.placements if one.reason)
        self.matched = len(self.placements) - self.lost.total()

    def alignment(self, name: str, usual: str, damage: list[BadLine], **more: Any) -> Alignment:
        """What every report says, and ``more``; how many are left out for the ``usual`` reason is always told."""
        others = {reason: count for reason, count in self.left_out.items() if reason != usual}
        report = {
            "benchmark": name,
            "measure": "gold passage",
            "questions": self.total,
            usual.replace(" ", "_"): self.left_out[usual],
            **({"left out": others} if others else {}),
            "asked": len(self.aligned),
            **more,
            "more_alternatives_than_kept": self.cut,
            "unmatched": dict(self.lost),
            "examples": self.examples,
            "damaged": len(damage),
        }
        return Alignment(self.aligned, report, damage)


def align_passages(
    name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine]
) -> Alignment:
    """Questions with passages, each brought to the block that stands for it (app. C.2)."""
    found = _Evidence(questions, GoldPassage, partial(align_passage, graph))
    ratios = [one.ratio for one in found.placements if one.nodes]
    every, located = len(found.placements), len(found.placements) - found.lost[_NO_TITLE]
    return found.alignment(
        name,
        "without passage",
        damage,
        articles=_matched(located, every),
        passages=_matched(found.matched, every),
        passages_of_matched_articles={"rate": _percent(found.matched, located)},
        answer_letter_by_letter=sum(one.verbatim for one in found.placements),
        ratio={
            "mean": round(sum(ratios) / max(1, len(ratios)), 1),
            f"below_{_UNLIKE}": sum(ratio < _UNLIKE for ratio in ratios),
        },
    )


def align_passage(graph: Graph, passage: GoldPassage, answers: Sequence[str]) -> Placement:
    """The block of the passage's article most like it of those with the answer (app. C.2); ties go to the first.

    A passage without a text may be any of those.
    """
    from rapidfuzz import fuzz, utils

    nodes = _blocks(graph, passage.title)
    if nodes is None:
        return Placement(reason=_NO_TITLE)
    phrases = answer_phrases(answers)
    texts = {node: graph.texts[node] for node in nodes}
    texts = {node: text for node, text in texts.items() if not answers or holds(text, phrases)}
    if not texts:
        return Placement(reason="no block of the article has an answer")
    ratio = 100.0
    if passage.text:
        ratios = {
            node: fuzz.token_set_ratio(passage.text, text, processor=utils.default_process)
            for node, text in texts.items()
        }
        best = max(ratios, key=ratios.__getitem__)
        texts, ratio = {best: texts[best]}, ratios[best]
    verbatim = any(answer in text for text in texts.values() for answer in answers)
    return Placement(tuple(texts), ratio, verbatim=verbatim)


def align_paragraphs(
    name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine]
) -> Alignment:
    """Questions with the blocks that hold their supporting paragraphs, and what did not match."""
    found = _Evidence(questions, GoldParagraph, partial(align_paragraph, graph))
    every = len(found.placements)
    return found.alignment(
        name,
        "unanswerable",
        damage,
        asked_by_group=dict(sorted(Counter(one.group for one in found.aligned).items())),
        paragraphs={
            "supporting": every,
            "matched": found.matched,
            "rate": _percent(found.matched, every),
            "with_several_blocks": sum(len(one.nodes) > 1 for one in found.placements),
        },
    )


def align_paragraph(graph: Graph, paragraph: GoldParagraph, answers: Sequence[str] = ()) -> Placement:
    """The blocks that a paragraph became, those that hold its marks where some do; or why there are none.

    Blocks are cut at about a hundred words, so a short paragraph may share its block with another one of its article,
    and a long one may become several blocks. In a wiki of another date the block most like the paragraph is taken, if
    it is like it.
    """
    from rapidfuzz import fuzz, process, utils

    nodes = _blocks(graph, paragraph.title)
    if nodes is None:
        return Placement(reason=_NO_TITLE)
    whole = f" {plain(paragraph.text)} "
    own = []
    for node in nodes:
        sentences = (f" {plain(sentence)} " for sentence in graph.block(node).sentences)
        shared = sum(len(sentence) for sentence in sentences if sentence in whole)
        if shared >= min(_SHARED, len(whole)):
            own.append(node)
    if not own:
        best = process.extractOne(
            paragraph.text,
            [graph.texts[node] for node in nodes],
            scorer=fuzz.token_set_ratio,
            processor=utils.default_process,
            score_cutoff=_RATIO,
        )
        if best is None:
            return Placement(reason="text not in the article")
        own = [nodes[best[2]]]
    marks = answer_phrases(paragraph.marks)
    marked = [node for node in own if holds(graph.texts[node], marks)]
    return Placement(tuple(marked or own), 100.0)


def _blocks(graph: Graph, title: str) -> list[int] | None:
    """The blocks of the article that a title means; None where there is none."""
    article = graph.article(_SITE.normalise(title))
    return None if article is None else graph.article_blocks(article).tolist()


def align_answers(
    name: str, questions: Iterable[Question], graph: Graph, damage: list[BadLine], *, scan: bool = True
) -> Alignment:
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
        report["answerable"] = _matched(sum(found), len(kept))
        missing = [one for one, hit in zip(kept, found, strict=True) if not hit]
        report["examples"] = [
            {"question": one.text, "answers": list(one.answers), "reason": "no block has an answer"}
            for one in missing[:EXAMPLES]
        ]
    report["damaged"] = len(damage)
    return Alignment([*map(_aligned, kept, groups)], report, damage)


def answerable(graph: Graph, answers: Sequence[Sequence[str]]) -> list[bool]:
    """Whether any block of the wiki has one of a question's answers: one pass over the blocks for all questions.

    An answer is looked for only in blocks that have its longest word, and no more once it is found.
    """
    holders: dict[str, list[int]] = {}
    for number, own in enumerate(answers):
        for phrase in answer_phrases(own):
            holders.setdefault(phrase, []).append(number)
    waiting: dict[str, list[str]] = {}
    for phrase in holders:
        waiting.setdefault(max(phrase.split(), key=len), []).append(phrase)
    found = [False] * len(answers)
    for node in range(graph.nodes):
        if not waiting:
            break
        text = f" {plain(graph.texts[node])} "
        for word in waiting.keys() & set(text.split()):
            for phrase in [phrase for phrase in waiting[word] if phrase in text]:
                waiting[word].remove(phrase)
                for number in holders[phrase]:
                    found[number] = True
            if not waiting[word]:
                del waiting[word]
    return found


def _aligned(question: Question, group: str, gold: tuple[frozenset[int], ...] = ()) -> AlignedQuestion:
    return AlignedQuestion(
        id=question.id, text=question.text, gold=gold, answers=question.answers, group=group
    )


def _matched(part: int, whole: int) -> dict[str, Any]:
    return {"matched": part, "of": whole, "rate": _percent(part, whole)}


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
