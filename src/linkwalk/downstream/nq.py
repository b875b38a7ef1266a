"""Natural Questions: a gold passage to find (sec. 5.5, table 6), or any block with the answer (NQ-open, weaker).

Gold passages are those of DPR's files, which were cut from the same Wikipedia in another way. Appendix C.2 gives each
the block that stands for it: the article is known by its title; its blocks are ranked by fuzzy match with the passage;
the highest with the answer string is the gold block. Answers compare as in ``Asked.recall``: case, accents,
punctuation and articles do not count, only whole words do.

Of a question's ``positive_ctxs`` DPR's first is the passage that people marked; the others merely hold the answer
string, which the paper's measure is meant to be free of. They count only where ``all_positives`` asks for them.
"""

import ast
import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.asked import Asked, Benchmark, holds, plain, sought
from linkwalk.downstream.lines import Damage, is_table, kind_of, stream_records, text_lines
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.sources.site import Site

PAPER_ARTICLES, PAPER_PASSAGES = 100.0, 99.3
"""Per cent of the titles and of the passages that the paper matched (app. C.2)."""
ANSWERABLE, UNANSWERABLE = "answerable", "unanswerable"
"""Groups of NQ-open: some block of the wiki has an answer string, or none has."""
EXAMPLES = 10
_UNLIKE = 60
"""Below this ratio a block has the answer but hardly the passage."""
_SITE = Site()


class Passage(NamedTuple):
    """A gold passage as the file has it."""

    title: str
    text: str


class Aligned(NamedTuple):
    """The block that stands for a passage; -1 and the reason where there is none."""

    node: int
    ratio: float
    reason: str


def read_questions(path: Path, graph: Graph, *, all_positives: bool = False, scan: bool = True) -> Benchmark:
    """Questions with gold passages (DPR's JSON or JSON lines) or with answers alone (NQ-open's JSON lines, DPR's CSV).

    Answers alone are looked for in the whole wiki, to tell the questions that it can answer (``group``); that is one
    pass over all blocks, which ``scan=False`` leaves out.
    """
    damage: list[Damage] = []
    records = _records(path, damage)
    first = next(records, None)
    if first is None:
        where = f": line {damage[0].line} {damage[0].reason}" if damage else ""
        raise InputError(f"{path} holds no questions with answers{where}")
    if first.passages is None:
        return _open_questions(first, records, graph, damage, scan)
    return _gold_questions(first, records, graph, damage, all_positives)


def align_passage(graph: Graph, passage: Passage, answers: Sequence[str]) -> Aligned:
    """The block of the passage's article most like it of those with the answer (app. C.2); ties go to the first."""
    from rapidfuzz import fuzz, utils

    article = graph.article(_SITE.normalise(passage.title))
    if article is None:
        return Aligned(-1, 0.0, "title not in the wiki")
    wanted = sought(answers)
    best, ratio = -1, -1.0
    for node in graph.article_blocks(article).tolist():
        text = graph.texts[node]
        if holds(text, wanted):
            likeness = fuzz.token_set_ratio(passage.text, text, processor=utils.default_process)
            if likeness > ratio:
                best, ratio = node, likeness
    return (
        Aligned(best, ratio, "") if best >= 0 else Aligned(-1, 0.0, "no block of the article has an answer")
    )


def answerable(graph: Graph, asked: Sequence[Asked]) -> list[bool]:
    """Whether any block of the wiki has one of a question's answers: one pass over the blocks for all questions.

    An answer is looked for only in blocks that have its longest word, and no more once it is found.
    """
    holders: dict[str, list[int]] = {}
    for number, one in enumerate(asked):
        for answer in one.answers:
            if words := plain(answer):
                holders.setdefault(words, []).append(number)
    waiting: dict[str, list[str]] = {}
    for answer in holders:
        waiting.setdefault(max(answer.split(), key=len), []).append(answer)
    found = [False] * len(asked)
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


class _Question(NamedTuple):
    """A question as its file has it."""

    line: int
    id: str
    text: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...] | None
    """None where the file gives no passages at all."""


def _gold_questions(
    first: _Question, records: Iterator[_Question], graph: Graph, damage: list[Damage], all_positives: bool
) -> Benchmark:
    """Questions with passages, each brought to the block that stands for it (app. C.2)."""
    asked: list[Asked] = []
    lost: Counter[str] = Counter()
    examples: list[dict[str, Any]] = []
    ratios: list[float] = []
    questions = without = verbatim = 0
    for question in chain([first], records):
        questions += 1
        if question.passages is None:
            damage.append(Damage(question.line, "has no `positive_ctxs`"))
            continue
        if not question.passages:
            without += 1
            continue
        nodes: dict[int, None] = {}
        for passage in question.passages if all_positives else question.passages[:1]:
            node, ratio, reason = align_passage(graph, passage, question.answers)
            if reason:
                lost[reason] += 1
                if len(examples) < EXAMPLES:
                    example = {"line": question.line, "question": question.text, "title": passage.title}
                    examples.append({**example, "answers": list(question.answers), "reason": reason})
                continue
            nodes[node] = None
            ratios.append(ratio)
            verbatim += any(answer in graph.texts[node] for answer in question.answers)
        if nodes:
            gold = tuple(frozenset((node,)) for node in nodes)
            asked.append(Asked(id=question.id, text=question.text, gold=gold, answers=question.answers))
    passages = len(ratios) + lost.total()
    located = passages - lost["title not in the wiki"]
    report = {
        "benchmark": "Natural Questions",
        "measure": "gold passage",
        "positives": "all" if all_positives else "first",
        "questions": questions,
        "without_passage": without,
        "asked": len(asked),
        "articles": {"matched": located, "of": passages, **_rate(located, passages, PAPER_ARTICLES)},
        "passages": {"matched": len(ratios), "of": passages, **_rate(len(ratios), passages, PAPER_PASSAGES)},
        "passages_of_matched_articles": _rate(len(ratios), located, PAPER_PASSAGES),
        "answer_letter_by_letter": verbatim,
        "ratio": {
            "mean": round(sum(ratios) / max(1, len(ratios)), 1),
            f"below_{_UNLIKE}": sum(ratio < _UNLIKE for ratio in ratios),
        },
        "unmatched": dict(lost),
        "examples": examples,
        "damaged": len(damage),
    }
    return Benchmark(asked, report, damage)


def _open_questions(
    first: _Question, records: Iterator[_Question], graph: Graph, damage: list[Damage], scan: bool
) -> Benchmark:
    """Questions with answers alone: any block that has one will do."""
    asked = [Asked(id=q.id, text=q.text, answers=q.answers) for q in chain([first], records)]
    report: dict[str, Any] = {
        "benchmark": "Natural Questions, open",
        "measure": "answer string",
        "weaker": "a block may have the answer string and not answer the question (sec. 5.5)",
        "questions": len(asked),
        "asked": len(asked),
    }
    if scan:
        found = answerable(graph, asked)
        asked = [
            Asked(id=q.id, text=q.text, answers=q.answers, group=ANSWERABLE if hit else UNANSWERABLE)
            for q, hit in zip(asked, found, strict=True)
        ]
        missing = [q for q in asked if q.group == UNANSWERABLE]
        report["answerable"] = {"matched": sum(found), "of": len(asked), **_rate(sum(found), len(asked))}
        report["examples"] = [
            {"question": q.text, "answers": list(q.answers), "reason": "no block has an answer"}
            for q in missing[:EXAMPLES]
        ]
    report["damaged"] = len(damage)
    return Benchmark(asked, report, damage)


def _rate(part: int, whole: int, paper: float | None = None) -> dict[str, float]:
    """Per cent, beside the paper's where it has one."""
    rate = {"rate": round(100 * part / whole, 1) if whole else 0.0}
    return rate if paper is None else {**rate, "paper": paper}


def _records(path: Path, damage: list[Damage]) -> Iterator[_Question]:
    """Every question of a file; only what is needed of it is kept, not its hundred negative passages."""
    for number, record in _rows(path, damage) if is_table(path) else stream_records(path, damage):
        kind = kind_of(record)
        if kind in ("FEVER claims", "multi-hop questions", "Natural Questions with whole pages"):
            raise InputError(
                f"{path} holds {kind}, not Natural Questions with passages or answers (object {number})"
            )
        try:
            yield _question(number, record)
        except KeyError as error:
            damage.append(Damage(number, f"has no {error}"))
        except (TypeError, ValueError) as error:
            damage.append(Damage(number, str(error)))


def _question(number: int, record: dict[str, Any]) -> _Question:
    """One object of a file, or what is wrong with it."""
    text = record["question"]
    answers = record["answers"] if "answers" in record else record["answer"]
    answers = [answers] if isinstance(answers, str) else answers
    if not isinstance(text, str) or not text.strip():
        raise TypeError("has a question that is no text")
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise TypeError("has answers that are no list of texts")
    if not any(answer.strip() for answer in answers):
        raise ValueError("has no answer")
    passages = None
    if "positive_ctxs" in record:
        if not isinstance(record["positive_ctxs"], list):
            raise TypeError("has `positive_ctxs` that are no list")
        passages = tuple(_passage(context) for context in record["positive_ctxs"])
    name = next((record[key] for key in ("id", "question_id", "example_id") if key in record), number)
    return _Question(number, str(name), text.strip(), tuple(filter(str.strip, answers)), passages)


def _passage(context: Any) -> Passage:
    if not isinstance(context, dict) or not all(isinstance(context.get(k), str) for k in ("title", "text")):
        raise TypeError("has a passage without `title` and `text`")
    return Passage(context["title"], context["text"])


def _rows(path: Path, damage: list[Damage]) -> Iterator[tuple[int, dict[str, Any]]]:
    """A table's rows: the question, a tab (or comma), the answers as a list in Python's or JSON's spelling.

    Each line is a row by itself, so that a stray quotation mark costs one row and not all that follow.
    """
    delimiter = ""
    for number, raw in text_lines(path):
        try:
            line = raw.decode().rstrip("\r\n")
            delimiter = delimiter or ("\t" if "\t" in line else ",")
            cells = next(csv.reader([line], delimiter=delimiter, strict=True))
            if len(cells) != 2:
                raise ValueError(f"has {len(cells)} cells, not question and answers")
            question, answers = cells
            if number == 1 and question.strip().lower() == "question":
                continue  # a header
            yield number, {"question": question, "answer": _literal(answers)}
        except UnicodeDecodeError:
            damage.append(Damage(number, "is not UTF-8"))
        except (csv.Error, ValueError) as error:
            damage.append(Damage(number, str(error)))


def _literal(cell: str) -> Any:
    """A list in Python's spelling or in JSON's."""
    for parse in (ast.literal_eval, json.loads):
        try:
            return parse(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    raise ValueError("has answers that are no list")
