"""Natural Questions: a gold passage to find (sec. 5.5, table 6), or any block with the answer (NQ-open, weaker).

Gold passages are those of DPR's files, which were cut from the same Wikipedia in another way. Of a question's
``positive_ctxs`` DPR's first is the passage that people marked; the others merely hold the answer string, which the
paper's measure is meant to be free of. They count only where ``all_positives`` asks for them.
"""

import ast
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwalk.downstream.dataset import GoldPassage, Question
from linkwalk.errors import InputError
from linkwalk.records import NAMES, BadLine, is_table, kind_of, own_records, text_lines

PAPER_ARTICLES, PAPER_PASSAGES = 100.0, 99.3
"""Per cent of the titles and of the passages that the paper matched (app. C.2)."""


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
        for line, record in _rows(path, damage) if is_table(path) else own_records(path, damage, "nq"):
            kind = kind_of(record)
            if (kind != "nq" and kind is not None) or "annotations" in record:
                what = NAMES[kind or ""] if kind != "nq" else "Natural Questions with whole pages"
                raise InputError(
                    f"{path} holds {what}, not Natural Questions with passages or answers (object {line})"
                )
            try:
                question = self._question(line, record, passages is not False)
                if passages is None:
                    passages = "positive_ctxs" in record
                if passages and "positive_ctxs" not in record:
                    raise ValueError("has no `positive_ctxs`")
            except KeyError as error:
                damage.append(BadLine(line, f"has no {error}"))
            except (TypeError, ValueError) as error:
                damage.append(BadLine(line, str(error)))
            else:
                yield question

    def _question(self, line: int, record: dict[str, Any], with_passages: bool) -> Question:
        """One object of a file, or what is wrong with it; of its passages only what is needed is kept."""
        text = record["question"]
        answers = record["answers"] if "answers" in record else record["answer"]
        answers = [answers] if isinstance(answers, str) else answers
        if not isinstance(text, str) or not text.strip():
            raise TypeError("has a question that is no text")
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise TypeError("has answers that are no list of texts")
        if not any(answer.strip() for answer in answers):
            raise ValueError("has no answer")
        if not isinstance(record.get("positive_ctxs", []), list):
            raise TypeError("has `positive_ctxs` that are no list")
        passages = [_passage(context) for context in record.get("positive_ctxs", [])]
        name = next((record[key] for key in ("id", "question_id", "example_id") if key in record), line)
        kept = passages if self.all_positives else passages[:1]
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


def _rows(path: Path, damage: list[BadLine]) -> Iterator[tuple[int, dict[str, Any]]]:
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
