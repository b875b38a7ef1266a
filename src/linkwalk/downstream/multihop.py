"""Multi-hop questions: HotpotQA, 2WikiMultihopQA and MuSiQue, whose evidence stands in several articles.

The files carry their paragraphs with them. ``write_wiki`` makes a wiki of all of them, for `linkwalk build`, which
finds the links (app. A.1); ``read_multihop`` says which of its blocks each question needs.

An article's paragraphs are its lines, in the order in which they first appear. Blocks are cut at about a hundred words,
so a short paragraph may share its block with another one of its article, and a long one may become several blocks. A
paragraph is found when any of its blocks that hold what it is needed for is found: a supporting sentence (HotpotQA,
2Wiki), the answer to its part of the question (MuSiQue); where none holds that whole, any of its blocks.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.downstream.asked import Asked, Benchmark, holds, plain, sought
from linkwalk.downstream.lines import Damage, kind_of, stream_records
from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.graph.store import Graph
from linkwalk.sources.site import Site

KIND = "multi-hop questions"
RATIO = 80
"""Token-set ratio from which a block is taken for a paragraph's where no sentence is the same (as in app. C.1)."""
EXAMPLES = 10
_SHARED = 40
"""Letters of common sentences that make a block a paragraph's: "He died in 1950." proves nothing."""
_MOST_ALTERNATIVES = 256
_HOPS = re.compile(r"(\d)hop")
_SITE = Site()


class Paragraph(NamedTuple):
    """A paragraph of a question's context."""

    title: str
    text: str
    marks: tuple[str, ...] = ()
    """What it is needed for: supporting sentences or the answer of a step; empty if only the whole is known."""


class Question(NamedTuple):
    """A question of any of the three benchmarks."""

    id: str
    text: str
    group: str
    """The benchmark's own type, ``bridge`` or ``comparison``, or the number of hops: ``2hop``."""
    context: list[Paragraph]
    supporting: list[Paragraph]
    answerable: bool = True


class Written(NamedTuple):
    """The wiki that was made of a file of questions."""

    articles: int
    paragraphs: int
    questions: int
    damage: list[Damage]


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
    damage: list[Damage] = []
    articles: dict[str, dict[str, None]] = {}
    questions = 0
    for question in _questions(path, damage):
        questions += 1
        for paragraph in question.context:
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


def read_multihop(path: Path, graph: Graph) -> Benchmark:
    """The questions of a file with the blocks that hold their supporting paragraphs, and what did not match."""
    damage: list[Damage] = []
    asked: list[Asked] = []
    groups: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    examples: list[dict[str, str]] = []
    questions = unanswerable = supporting = matched = several = 0
    for question in _questions(path, damage):
        questions += 1
        if not question.answerable:
            unanswerable += 1
            continue
        places: list[list[int]] = []
        for paragraph in question.supporting:
            nodes, reason = _blocks_of(graph, paragraph)
            supporting += 1
            matched += bool(nodes)
            several += len(nodes) > 1
            places.append(nodes)
            if reason:
                lost[reason] += 1
                if len(examples) < EXAMPLES:
                    examples.append({"id": question.id, "title": paragraph.title, "reason": reason})
        if all(places):
            gold = dict.fromkeys(map(frozenset, islice(product(*places), _MOST_ALTERNATIVES)))
            asked.append(Asked(id=question.id, text=question.text, gold=tuple(gold), group=question.group))
            groups[question.group] += 1
    report = {
        "benchmark": KIND,
        "measure": "gold passage",
        "questions": questions,
        "unanswerable": unanswerable,
        "asked": len(asked),
        "asked_by_group": dict(sorted(groups.items())),
        "paragraphs": {
            "supporting": supporting,
            "matched": matched,
            "rate": round(100 * matched / supporting, 1) if supporting else 0.0,
            "with_several_blocks": several,
        },
        "unmatched": dict(lost),
        "examples": examples,
        "damaged": len(damage),
    }
    return Benchmark(asked, report, damage)


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


def _blocks_of(graph: Graph, paragraph: Paragraph) -> tuple[list[int], str]:
    """The blocks that a paragraph became, those that hold its marks where some do; or why there are none."""
    article = graph.article(_SITE.normalise(paragraph.title))
    if article is None:
        return [], "title not in the wiki"
    nodes: list[int] = graph.article_blocks(article).tolist()
    whole = f" {plain(paragraph.text)} "
    own = []
    for node in nodes:
        sentences = (f" {plain(sentence)} " for sentence in graph.block(node).sentences)
        shared = sum(len(sentence) for sentence in sentences if sentence in whole)
        if shared >= min(_SHARED, len(whole)):
            own.append(node)
    if not own:
        own = _alike(graph, nodes, paragraph.text)
    if not own:
        return [], "text not in the article"
    marks = sought(paragraph.marks)
    marked = [node for node in own if holds(graph.texts[node], marks)]
    return marked or own, ""


def _alike(graph: Graph, nodes: Sequence[int], text: str) -> list[int]:
    """The block most like a paragraph, if it is like it: for a wiki of another date."""
    from rapidfuzz import fuzz, process, utils

    texts = [graph.texts[node] for node in nodes]
    best = process.extractOne(
        text, texts, scorer=fuzz.token_set_ratio, processor=utils.default_process, score_cutoff=RATIO
    )
    return [nodes[best[2]]] if best else []


def _questions(path: Path, damage: list[Damage]) -> Iterator[Question]:
    """Every question of a file, whichever of the benchmarks it is of; what cannot be read goes to ``damage``."""
    found = False
    for number, record in stream_records(path, damage):
        kind = kind_of(record)
        if not found and kind is not None and kind != KIND:
            raise InputError(f"{path} holds {kind}, not {KIND} with their paragraphs")
        try:
            question = _musique(record) if "paragraphs" in record else _hotpot(record)
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            reason = "has a field of another shape"
            if isinstance(error, KeyError | InputError):
                reason = f"has no {error}"
            damage.append(Damage(number, reason))
            continue
        found = True
        yield question
    if not found:
        first = damage[0]
        raise InputError(f"{path} holds no {KIND} with their paragraphs: object {first.line} {first.reason}")


def _hotpot(record: dict[str, Any]) -> Question:
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
    return Question(
        id=str(record["_id"] if "_id" in record else record["id"]),
        text=_string(record["question"]),
        group=str(record.get("type") or f"{len(marks)}hop"),
        context=[Paragraph(title, "".join(_spaced(sentences))) for title, sentences in by_title.items()],
        supporting=[
            Paragraph(title, "".join(_spaced(by_title[title])), tuple(named))
            for title, named in marks.items()
        ],
    )


def _spaced(sentences: Sequence[str]) -> Iterator[str]:
    """Sentences to be joined: some editions begin them with a blank, some do not."""
    for number, sentence in enumerate(sentences):
        yield sentence if not number or sentence[:1].isspace() else f" {sentence}"


def _musique(record: dict[str, Any]) -> Question:
    """MuSiQue: every paragraph says whether it supports; the steps say what each is needed for."""
    answers: dict[int, str] = {}
    for step in record.get("question_decomposition") or []:
        if step.get("paragraph_support_idx") is not None:
            answers[int(step["paragraph_support_idx"])] = str(step["answer"])
    context, supporting = [], []
    for paragraph in record["paragraphs"]:
        title, text = _string(paragraph["title"]), _string(paragraph["paragraph_text"])
        context.append(Paragraph(title, text))
        if paragraph["is_supporting"]:
            answer = answers.get(int(paragraph["idx"]))
            supporting.append(Paragraph(title, text, (answer,) if answer else ()))
    hops = _HOPS.match(str(record["id"]))
    answerable = bool(record.get("answerable", True))
    if answerable and not supporting:
        raise InputError("supporting paragraph")
    return Question(
        id=str(record["id"]),
        text=_string(record["question"]),
        group=f"{hops[1] if hops else len(supporting)}hop",
        context=context,
        supporting=supporting,
        answerable=answerable,
    )


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
