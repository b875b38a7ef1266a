"""How much of the evidence a method of retrieval finds, how many blocks it reads for it, and what sets two apart.

A benchmark is asked piece by piece: methods are given texts alone, and what is gold is looked at when they have
answered. Recall is for every data set; FEVER's own scores stand beside it where its sentences are known.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Float64s
from linkwalk.downstream.benchmark import Benchmark
from linkwalk.downstream.dataset import DEPTH, AlignedQuestion
from linkwalk.downstream.fever_submission import (
    SentenceHits,
    Submission,
    fever_numbers,
    fever_scores,
    make_submission,
)
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.records import write_records
from linkwalk.retrieve import EvidenceList

Find = Callable[[Sequence[str], int], dict[str, list[EvidenceList]]]
"""Queries and a number of sentences in; for each method, by its name, what it found for each query."""
PIECE = 64
"""Questions at a time: enough to share work among, few enough to show that it goes on."""
_RESAMPLES = 10_000
_PIECE = 1 << 22


class MethodAnswers(NamedTuple):
    """What one method found, question by question; without the click paths, of which there are many."""

    found: list[EvidenceList]
    sentences: list[SentenceHits]


class BenchmarkAnswers(NamedTuple):
    """All answers, and how long they took."""

    answers: dict[str, MethodAnswers]
    sentences: list[tuple[int, str]]
    """Every sentence among the answers, once: the block that it stands in, and its text."""
    seconds: float


def ask(
    find: Find,
    texts: Sequence[str],
    *,
    sentences: int = 0,
    piece: int = PIECE,
    progress: Progress | None = None,
) -> BenchmarkAnswers:
    """Ask everything, and keep so many sentences for each question."""
    progress = progress or Progress(quiet=True)
    answers: dict[str, MethodAnswers] = {}
    numbers: dict[tuple[int, str], int] = {}
    began = time.monotonic()
    with progress.stage("ask", len(texts), "questions") as stage:
        for at in range(0, len(texts), piece):
            some = texts[at : at + piece]
            for name, found in find(some, sentences).items():
                own = answers.setdefault(name, MethodAnswers([], []))
                for one in found:
                    blocks = (trail.pages[-1] for trail in one.trails)
                    keys = zip(blocks, one.sentences, strict=True)
                    ranked = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
                    scores = np.array(one.scores, np.float32)
                    own.sentences.append(SentenceHits(ranked, scores))
                    own.found.append(replace(one, sentences=(), scores=(), trails=()))
            stage.advance(len(some))
    return BenchmarkAnswers(answers, list(numbers), time.monotonic() - began)


class RecallScores(NamedTuple):
    """How much one method found; Q questions."""

    recall: Float64s
    """[Q, 5]: the share of what is needed among the first 1 to 5 blocks."""
    seen: Float64s
    """[Q]: the share among all blocks read; no reranker can find more."""
    blocks: Float64s
    """[Q]: blocks read, and so scored."""
    groups: tuple[str, ...]

    def parts(self) -> Iterator[tuple[str, Bools]]:
        """All questions, and the groups they fall into: the name of each, and which questions it holds."""
        for name in ("all", *sorted(set(self.groups) - {"all"})):
            part = np.array([name in ("all", own) for own in self.groups], bool)
            if part.any():
                yield name, part

    def to_json(self) -> dict[str, Any]:
        """Recall@1..5 by group, the share of questions with all they need by then, and what was read."""
        return {
            name: {
                "questions": int(part.sum()),
                "recall": _rounded(self.recall[part].mean(0)),
                "complete": _rounded((self.recall[part] >= 1).mean(0)),
                "seen": round(float(self.seen[part].mean()), 4),
                "blocks": round(float(self.blocks[part].mean()), 2),
            }
            for name, part in self.parts()
        }


def judge(
    graph: Graph,
    questions: Sequence[AlignedQuestion],
    found: Sequence[EvidenceList],
    *,
    counts_as: Callable[[Graph, Sequence[int]], list[int]] | None = None,
) -> RecallScores:
    """Answers beside what was needed."""
    recall, seen = np.zeros((len(questions), DEPTH)), np.zeros(len(questions))
    for i, (one, answer) in enumerate(zip(questions, found, strict=True)):
        ranked, read = list(answer.ranked), list(answer.read)
        if counts_as is not None:
            ranked, read = list(dict.fromkeys(counts_as(graph, ranked))), counts_as(graph, read)
        recall[i] = one.recall(graph, ranked)
        seen[i] = one.recall(graph, read, max(1, len(read)))[-1]
    blocks = np.array([len(answer.read) for answer in found], np.float64)
    return RecallScores(recall, seen, blocks, tuple(one.group for one in questions))


def compare(
    ours: RecallScores, reference: RecallScores, *, depth: int = DEPTH, seed: int = 0
) -> dict[str, Any]:
    """Recall@``depth`` of two methods on the same questions, by group: difference and ratio, with paired intervals.

    Questions are drawn again, 10,000 times, and both methods are counted on the same draw.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for name, part in ours.parts():
        a, b = ours.recall[part, depth - 1], reference.recall[part, depth - 1]
        means = np.empty((_RESAMPLES, 2))
        for at in range(0, _RESAMPLES, step := max(1, _PIECE // len(a))):
            draw = rng.integers(len(a), size=(min(step, _RESAMPLES - at), len(a)))
            means[at : at + len(draw)] = np.stack((a[draw].mean(1), b[draw].mean(1)), 1)
        ratios = means[:, 0] / np.maximum(means[:, 1], 1e-12) - 1
        found[name] = {
            "ours": round(float(a.mean()), 4),
            "reference": round(float(b.mean()), 4),
            "difference": round(float(a.mean() - b.mean()), 4),
            "difference_ci95": _interval(means[:, 0] - means[:, 1]),
            "relative": round(float(a.mean() / b.mean() - 1), 4) if b.any() else None,
            "relative_ci95": _interval(ratios) if (means[:, 1] > 0).all() else None,
        }
    return found


def _interval(values: Float64s) -> list[float]:
    return _rounded(np.quantile(values, [0.025, 0.975]))


def _rounded(values: Float64s) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


class MethodScores(NamedTuple):
    """All that is measured of one method."""

    recall: RecallScores | None
    """None where nothing can be judged: claims without labels."""
    fever: dict[str, Any] | None
    submitted: list[Submission]

    def metrics(self) -> dict[str, Any]:
        """As ``linkwalk score --json`` prints it: all questions, then by group."""
        found: dict[str, Any] = {}
        if self.recall is not None:
            groups = self.recall.to_json()
            found = {**groups.pop("all"), "groups": groups}
        return found | ({"fever": self.fever} if self.fever is not None else {})


def score_answers(
    graph: Graph, benchmark: Benchmark, outcome: BenchmarkAnswers, wiki_pages: Path | None
) -> dict[str, MethodScores]:
    """What each method found, judged."""
    numbers = None
    if benchmark.claims and wiki_pages is not None:
        titled = [(graph.title(node), text) for node, text in outcome.sentences]
        numbers = fever_numbers(wiki_pages, graph, titled)
    scored = {}
    for name, answers in outcome.answers.items():
        recall = fever = None
        submitted: list[Submission] = []
        if numbers is not None:
            each = zip(benchmark.ids, answers.sentences, strict=True)
            submitted = [make_submission(id, sentences, numbers) for id, sentences in each]
        if benchmark.judged:
            found = [answers.found[place] for place in benchmark.places]
            recall = judge(graph, benchmark.judged, found, counts_as=benchmark.counts_as)
            if submitted:
                fever = fever_scores(benchmark.claims, submitted, benchmark.tuned, benchmark.kept)
        scored[name] = MethodScores(recall=recall, fever=fever, submitted=submitted)
    return scored


def save_answers(
    path: Path,
    graph: Graph,
    benchmark: Benchmark,
    outcome: BenchmarkAnswers,
    scored: dict[str, MethodScores],
) -> None:
    """One JSON line for each question and method: its id, the blocks as they were ranked, and what was needed."""
    number_of = {place: number for number, place in enumerate(benchmark.places)}

    def lines() -> Iterator[dict[str, Any]]:
        for name, answers in outcome.answers.items():
            scores = scored[name].recall
            for place, (id, found) in enumerate(zip(benchmark.ids, answers.found, strict=True)):
                line: dict[str, Any] = {
                    "id": id,
                    "way": name,
                    "start": found.start,
                    "ranked": [graph.name(node) for node in found.ranked],
                    "nodes": list(found.ranked),
                    **dict.fromkeys(("recall", "seen", "group")),
                }
                if scores is not None and (at := number_of.get(place)) is not None:
                    line["recall"] = _rounded(scores.recall[at])
                    line["seen"] = round(float(scores.seen[at]), 4)
                    line["group"] = scores.groups[at]
                yield line

    write_records(path, lines())
