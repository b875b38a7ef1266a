"""Multi-hop questions: HotpotQA, 2WikiMultihopQA and MuSiQue, whose evidence stands in several articles.

The files carry their paragraphs with them. ``write_wiki`` makes a wiki of all of them, for `linkwalk build`, which
finds the links (app. A.1): an article's paragraphs are its lines, in the order in which they first appear. A paragraph
is found when any of its blocks that hold what it is needed for is found: a supporting sentence (HotpotQA, 2Wiki), the
answer to its part of the question (MuSiQue); where none holds that whole, any of its blocks.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.downstream.dataset import Asked, GoldParagraph, Question
from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine, own_records
from linkwalk.sources.wikitext.site import Site

_HOPS = re.compile(r"(\d)hop")
_SITE = Site()


class MultiHop:
    """Questions with their supporting paragraphs."""

    name = "multi-hop questions"

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """Every question, whichever of the benchmarks it is of."""
        return (question for question, _ in _questions(path, damage))


class Written(NamedTuple):
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


def write_wiki(path: Path, out: Path) -> Written:
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
    try:
        with out.open("w", encoding="utf-8") as file:
            for number, (title, texts) in enumerate(articles.items(), 1):
                line = {"id": str(number), "title": title, "text": "\n".join(texts)}
                file.write(json.dumps(line) + "\n")
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from None
    return Written(len(articles), sum(map(len, articles.values())), questions, damage)


def connections(graph: Graph, asked: Sequence[Asked]) -> Connections:
    """Whether links lead from one supporting block to all others, and how many clicks away the farthest is."""
    lengths: Counter[int] = Counter()
    for one in asked:
        starts = sorted({node for nodes in one.gold for node in nodes})
        away = {start: distances_from(graph.forward, start) for start in starts}
        reach = [
            int(far.max())
            for nodes in one.gold
            for start in nodes
            if (far := away[start][np.fromiter(nodes, np.int64)]).min() >= 0
        ]
        if reach:
            lengths[min(reach)] += 1
    return Connections(len(asked), lengths.total(), dict(sorted(lengths.items())))


def _questions(path: Path, damage: list[BadLine]) -> Iterator[tuple[Question, list[GoldParagraph]]]:
    """Every question of a file and all paragraphs it comes with; what cannot be read goes to ``damage``."""
    found = False
    for number, record in own_records(path, damage, "multihop"):
        try:
            question, context = _musique(record) if "paragraphs" in record else _hotpot(record)
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            reason = "has a field of another shape"
            if isinstance(error, KeyError | InputError):
                reason = f"has no {error}"
            damage.append(BadLine(number, reason))
            continue
        found = True
        yield replace(question, line=number), context
    if not found:
        first = damage[0]
        raise InputError(
            f"{path} holds no {MultiHop.name} with their paragraphs: object {first.line} {first.reason}"
        )


def _hotpot(record: dict[str, Any]) -> tuple[Question, list[GoldParagraph]]:
    """HotpotQA and 2Wiki, as published (lists of pairs) or as column stores give them (a list for each field)."""
    context, facts = record["context"], record["supporting_facts"]
    if isinstance(context, dict):
        sentences = context["sentences"] if "sentences" in context else context["content"]
        context = list(zip(context["title"], sentences, strict=True))
    if isinstance(facts, dict):
        facts = list(zip(facts["title"], facts["sent_id"], strict=True))
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
    whole = {title: "".join(_spaced(sentences)) for title, sentences in by_title.items()}
    question = Question(
        id=str(record["_id"] if "_id" in record else record["id"]),
        text=_string(record["question"]),
        group=str(record.get("type") or f"{len(marks)}hop"),
        evidence=(tuple(GoldParagraph(title, whole[title], tuple(named)) for title, named in marks.items()),),
    )
    return question, [GoldParagraph(title, text) for title, text in whole.items()]


def _spaced(sentences: Sequence[str]) -> Iterator[str]:
    """Sentences to be joined: some editions begin them with a blank, some do not."""
    for number, sentence in enumerate(sentences):
        yield sentence if not number or sentence[:1].isspace() else f" {sentence}"


def _musique(record: dict[str, Any]) -> tuple[Question, list[GoldParagraph]]:
    """MuSiQue: every paragraph says whether it supports; the steps say what each is needed for."""
    answers: dict[int, str] = {}
    for step in record.get("question_decomposition") or []:
        if step.get("paragraph_support_idx") is not None:
            answers[int(step["paragraph_support_idx"])] = str(step["answer"])
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
