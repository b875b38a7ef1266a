"""Natural Questions, and multi-hop questions: HotpotQA, 2WikiMultihopQA and MuSiQue.

Natural Questions have a gold passage to find (sec. 5.5, table 6), or any block with the answer will do (NQ-open, the
weaker measure). Gold passages are those of DPR's files, which were cut from the same Wikipedia in another way. Of a
question's ``positive_ctxs`` DPR's first is the passage that people marked; the others merely hold the answer string,
which the paper's measure is meant to be free of. They count only where ``all_positives`` asks for them.

The evidence of multi-hop questions stands in several articles, and the files carry their paragraphs with them.
``write_wiki`` makes a wiki of all of them, for `linkwalk build`, which finds the links (app. A.1): an article's
paragraphs are its lines, in the order in which they first appear. A paragraph is found when any of its blocks that hold
what it is needed for is found: a supporting sentence (HotpotQA, 2Wiki), the answer to its part of the question
(MuSiQue); where none holds that whole, any of its blocks.
"""

import ast
import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.downstream.dataset import AlignedQuestion, GoldParagraph, GoldPassage, Question
from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.graph.store import Graph
from linkwalk.records import NAMES, BadLine, is_table, kind_of, own_records, text_lines
from linkwalk.sources.site import Site

PAPER_ARTICLES, PAPER_PASSAGES = 100.0, 99.3
"""Per cent of the titles and of the passages that the paper matched (app. C.2)."""
_HOPS = re.compile(r"(\d)hop")
_SITE = Site()


@dataclass
class NaturalQuestions:
    """Questions with gold passages (DPR's JSON or JSON lines) or answers alone (NQ-open's JSON lines, DPR's CSV)."""

    all_positives: bool = False
    name: str = field(default="Natural Questions", init=False)
    distance: float = field(default=5.1, init=False)
    """The paper's mean of links from BM25's first block to the evidence (sec. 4.3)."""

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """Every question; whether there are passages the first one tells."""
        passages = None
        records = _table_rows(path, damage) if is_table(path) else own_records(path, damage, "nq")
        for line, record in records:
            kind = kind_of(record)
            if kind not in ("nq", None) or "annotations" in record:
                what = "Natural Questions with whole pages" if kind == "nq" else NAMES[kind or ""]
                raise InputError(
                    f"{path} holds {what}, not Natural Questions with passages or answers (object {line})"
                )
            try:
                question = self._question(line, record, passages is not False)
                if passages is None:
                    passages = "positive_ctxs" in record
                if passages and "positive_ctxs" not in record:
                    raise ValueError("has no `positive_ctxs`")
            except (KeyError, TypeError, ValueError) as error:
                what = f"has no {error}" if isinstance(error, KeyError) else str(error)
                damage.append(BadLine(line, what))
            else:
                yield question

    def _question(self, line: int, record: dict[str, Any], with_passages: bool) -> Question:
        """One object of a file, or what is wrong with it; of its passages only what is needed is kept."""
        text = record["question"]
        answers = record["answers" if "answers" in record else "answer"]
        answers = [answers] if isinstance(answers, str) else answers
        if not isinstance(text, str) or not text.strip():
            raise TypeError("has a question that is no text")
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise TypeError("has answers that are no list of texts")
        if not any(answer.strip() for answer in answers):
            raise ValueError("has no answer")
        contexts = record.get("positive_ctxs", [])
        if not isinstance(contexts, list):
            raise TypeError("has `positive_ctxs` that are no list")
        passages = [_passage(context) for context in contexts]
        kept = passages if self.all_positives else passages[:1]
        name = next((record[key] for key in ("id", "question_id", "example_id") if key in record), line)
        return Question(
            id=str(name),
            text=text.strip(),
            answers=tuple(filter(str.strip, answers)),
            evidence=tuple((one,) for one in kept) if with_passages else (),
            left_out="without passage" if with_passages and "positive_ctxs" in record and not kept else "",
            line=line,
        )

    def tell(self, report: dict[str, Any]) -> None:
        """The paper's rates."""
        if "passages" in report:
            report["positives"] = "all" if self.all_positives else "first"
            report["articles"]["paper"] = PAPER_ARTICLES
            report["passages"]["paper"] = PAPER_PASSAGES
            report["passages_of_matched_articles"]["paper"] = PAPER_PASSAGES
        else:
            report["benchmark"] = f"{self.name}, open"


def _passage(context: Any) -> GoldPassage:
    if not isinstance(context, dict) or not all(isinstance(context.get(k), str) for k in ("title", "text")):
        raise TypeError("has a passage without `title` and `text`")
    return GoldPassage(context["title"], context["text"])


def _table_rows(path: Path, damage: list[BadLine]) -> Iterator[tuple[int, dict[str, Any]]]:
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
            damage.append(BadLine(number, "is not UTF-8"))
        except (csv.Error, ValueError) as error:
            damage.append(BadLine(number, str(error)))


def _literal(cell: str) -> Any:
    """A list in Python's spelling or in JSON's."""
    for parse in (ast.literal_eval, json.loads):
        try:
            return parse(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    raise ValueError("has answers that are no list")


class MultiHop:
    """Questions with their supporting paragraphs."""

    name = "multi-hop questions"

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """Every question, whichever of the benchmarks it is of."""
        return (question for question, _ in _questions(path, damage))


class WikiSummary(NamedTuple):
    """The wiki that was made of a file of questions."""

    articles: int
    paragraphs: int
    questions: int
    damage: list[BadLine]


class Connections(NamedTuple):
    """How many questions have evidence that links connect, and how far apart it is."""

    questions: int
    connected: int
    lengths: dict[int, int]
    """Clicks to the farthest supporting block from the best of them to begin at -> questions."""


def write_wiki(path: Path, out: Path) -> WikiSummary:
    """All paragraphs of the questions' contexts as JSON lines, one article each; the same paragraph stands there once.

    ``linkwalk build OUT -o WIKI --min-chars 1 --keep-list-pages`` keeps all of them; else short ones and lists go.
    """
    damage: list[BadLine] = []
    articles: dict[str, dict[str, None]] = {}
    questions = 0
    for _, context in _questions(path, damage):
        questions += 1
        for paragraph in context:
            text = " ".join(paragraph.text.split())
            if text:
                articles.setdefault(_SITE.normalise(paragraph.title), {})[text] = None
    lines = (
        json.dumps({"id": str(number), "title": title, "text": "\n".join(texts)}) + "\n"
        for number, (title, texts) in enumerate(articles.items(), 1)
    )
    try:
        with out.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from None
    return WikiSummary(len(articles), sum(map(len, articles.values())), questions, damage)


def connections(graph: Graph, questions: Sequence[AlignedQuestion]) -> Connections:
    """Whether links lead from one supporting block to all others, and how many clicks away the farthest is."""
    lengths: Counter[int] = Counter()
    for one in questions:
        away = {start: distances_from(graph.forward, start) for start in one.blocks}
        reach = [
            int(far.max())
            for nodes in one.gold
            for start in nodes
            if (far := away[start][np.fromiter(nodes, np.int64)]).min() >= 0
        ]
        if reach:
            lengths[min(reach)] += 1
    return Connections(len(questions), lengths.total(), dict(sorted(lengths.items())))


def _questions(path: Path, damage: list[BadLine]) -> Iterator[tuple[Question, list[GoldParagraph]]]:
    """Every question of a file and all paragraphs it comes with; what cannot be read goes to ``damage``."""
    found = False
    for number, record in own_records(path, damage, "multihop"):
        try:
            question, context = _musique(record) if "paragraphs" in record else _hotpot(record)
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            missing = isinstance(error, KeyError | InputError)
            reason = f"has no {error}" if missing else "has a field of another shape"
            damage.append(BadLine(number, reason))
            continue
        found = True
        yield question._replace(line=number), context
    if not found:
        first = damage[0]
        raise InputError(
            f"{path} holds no {MultiHop.name} with their paragraphs: object {first.line} {first.reason}"
        )


def _hotpot(record: dict[str, Any]) -> tuple[Question, list[GoldParagraph]]:
    """HotpotQA and 2Wiki, as published (lists of pairs) or as column stores give them (a list for each field)."""
    context, facts = record["context"], record["supporting_facts"]
    if isinstance(context, dict):
        sentences = context["sentences" if "sentences" in context else "content"]
        context = zip(context["title"], sentences, strict=True)
    if isinstance(facts, dict):
        facts = zip(facts["title"], facts["sent_id"], strict=True)
    by_title: dict[str, list[str]] = {title: list(sentences) for title, sentences in context}
    marks: dict[str, list[str]] = {}
    for title, sentence in facts:
        if title not in by_title:  # HotpotQA's full-wiki files give what a search found, which may lack it
            raise InputError(f"paragraph of {title!r}, which supports it")
        named = marks.setdefault(title, [])
        if 0 <= int(sentence) < len(by_title[title]):  # HotpotQA has a few facts beyond their paragraph's end
            named.append(by_title[title][int(sentence)])
    if not marks:
        raise InputError("supporting paragraph")
    # Some editions begin sentences with a blank, some do not.
    whole = {
        title: "".join(one if not i or one[:1].isspace() else f" {one}" for i, one in enumerate(sentences))
        for title, sentences in by_title.items()
    }
    question = Question(
        id=str(record["_id" if "_id" in record else "id"]),
        text=_string(record["question"]),
        group=str(record.get("type") or f"{len(marks)}hop"),
        evidence=(tuple(GoldParagraph(title, whole[title], tuple(named)) for title, named in marks.items()),),
    )
    return question, [GoldParagraph(title, text) for title, text in whole.items()]


def _musique(record: dict[str, Any]) -> tuple[Question, list[GoldParagraph]]:
    """MuSiQue: every paragraph says whether it supports; the steps say what each is needed for."""
    answers: dict[int, str] = {}
    for step in record.get("question_decomposition") or []:
        if (place := step.get("paragraph_support_idx")) is not None:
            answers[int(place)] = str(step["answer"])
    context, supporting = [], []
    for paragraph in record["paragraphs"]:
        title, text = _string(paragraph["title"]), _string(paragraph["paragraph_text"])
        context.append(GoldParagraph(title, text))
        if paragraph["is_supporting"]:
            answer = answers.get(int(paragraph["idx"]))
            supporting.append(GoldParagraph(title, text, (answer,) if answer else ()))
    hops = _HOPS.match(str(record["id"]))
    answerable = bool(record.get("answerable", True))
    if answerable and not supporting:
        raise InputError("supporting paragraph")
    question = Question(
        id=str(record["id"]),
        text=_string(record["question"]),
        group=f"{hops[1] if hops else len(supporting)}hop",
        evidence=(tuple(supporting),) if supporting else (),
        left_out="" if answerable else "unanswerable",
    )
    return question, context


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
