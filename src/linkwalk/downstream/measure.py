"""How much of the evidence a way of retrieval finds, how many blocks it reads for it, and what sets two ways apart.

Recall is for every data set; FEVER's own scores stand beside it where its sentences are known. The finder is given
texts alone; what is gold is looked at when it has answered.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.downstream.asking import Outcome
from linkwalk.downstream.benchmark import Questions
from linkwalk.downstream.dataset import DEPTH, Asked
from linkwalk.downstream.fever_submission import Submitted, fever_numbers, fever_scores, submission
from linkwalk.graph.store import Graph
from linkwalk.records import write_records
from linkwalk.retrieve import Found

Float64s = NDArray[np.float64]
_RESAMPLES = 10_000
_PIECE = 1 << 22


@dataclass(frozen=True)
class Judged:
    """What one way of retrieval found; Q questions."""

    recall: Float64s
    """[Q, 5]: the share of what is needed among the first 1 to 5 blocks."""
    seen: Float64s
    """[Q]: the share among all blocks read; no reranker can find more."""
    blocks: Float64s
    """[Q]: blocks read, and so scored."""
    groups: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """All questions, and the groups they fall into."""
        return ["all", *sorted(set(self.groups) - {"all"})]

    def part(self, group: str) -> NDArray[np.bool_]:
        """Which questions a group holds."""
        return np.array([group in ("all", own) for own in self.groups], bool)

    def to_json(self) -> dict[str, Any]:
        """Recall@1..5 by group, the share of questions with all they need by then, and what was read."""
        found = {}
        for group in self.names:
            part = self.part(group)
            if not part.any():
                continue
            found[group] = {
                "questions": int(part.sum()),
                "recall": [round(float(x), 4) for x in self.recall[part].mean(0)],
                "complete": [round(float(x), 4) for x in (self.recall[part] >= 1).mean(0)],
                "seen": round(float(self.seen[part].mean()), 4),
                "blocks": round(float(self.blocks[part].mean()), 2),
            }
        return found


def judge(
    graph: Graph,
    asked: Sequence[Asked],
    found: Sequence[Found],
    *,
    counts_as: Callable[[Graph, Sequence[int]], list[int]] | None = None,
) -> Judged:
    """Answers beside what was needed."""
    recall, seen = np.zeros((len(asked), DEPTH)), np.zeros(len(asked))
    for i, (one, answer) in enumerate(zip(asked, found, strict=True)):
        ranked, read = list(answer.ranked), list(answer.read)
        if counts_as is not None:
            ranked, read = list(dict.fromkeys(counts_as(graph, ranked))), counts_as(graph, read)
        recall[i] = one.recall(graph, ranked)
        seen[i] = one.recall(graph, read, max(1, len(read)))[-1]
    blocks = np.array([len(answer.read) for answer in found], np.float64)
    return Judged(recall, seen, blocks, tuple(one.group for one in asked))


def compare(ours: Judged, reference: Judged, *, depth: int = DEPTH, seed: int = 0) -> dict[str, Any]:
    """Recall@``depth`` of two ways on the same questions, by group: difference and ratio, with paired intervals.

    Questions are drawn again, 10,000 times, and both ways are counted on the same draw.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for group in ours.names:
        part = ours.part(group)
        if not part.any():
            continue
        a, b = ours.recall[part, depth - 1], reference.recall[part, depth - 1]
        means = np.empty((_RESAMPLES, 2))
        for at in range(0, _RESAMPLES, step := max(1, _PIECE // len(a))):
            draw = rng.integers(len(a), size=(min(step, _RESAMPLES - at), len(a)))
            means[at : at + len(draw)] = np.stack((a[draw].mean(1), b[draw].mean(1)), 1)
        ratios = means[:, 0] / np.maximum(means[:, 1], 1e-12) - 1
        found[group] = {
            "ours": round(float(a.mean()), 4),
            "reference": round(float(b.mean()), 4),
            "difference": round(float(a.mean() - b.mean()), 4),
            "difference_ci95": _interval(means[:, 0] - means[:, 1]),
            "relative": round(float(a.mean() / b.mean() - 1), 4) if b.any() else None,
            "relative_ci95": _interval(ratios) if (means[:, 1] > 0).all() else None,
        }
    return found


def _interval(values: Float64s) -> list[float]:
    return [round(float(x), 4) for x in np.quantile(values, [0.025, 0.975])]


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One way of retrieval."""

    measured: Judged | None
    """None where nothing can be judged: claims without labels."""
    fever: dict[str, Any] | None
    submitted: list[Submitted]

    def metrics(self) -> dict[str, Any]:
        """As ``linkwalk score --json`` prints it: all questions, then by group."""
        found: dict[str, Any] = {}
        if self.measured is not None:
            groups = self.measured.to_json()
            found = {**groups.pop("all"), "groups": groups}
        return found | ({"fever": self.fever} if self.fever is not None else {})


def score_answers(
    graph: Graph, questions: Questions, outcome: Outcome, wiki_pages: Path | None
) -> dict[str, Scored]:
    """What each way found, judged."""
    numbers = None
    if questions.claims and wiki_pages is not None:
        titled = [(graph.title(node), text) for node, text in outcome.sentences]
        numbers = fever_numbers(wiki_pages, graph, titled)
    scored = {}
    for name, answers in outcome.answers.items():
        submitted: list[Submitted] = []
        if numbers is not None:
            each = zip(questions.ids, answers.sentences, strict=True)
            submitted = [submission(id, sentences, numbers) for id, sentences in each]
        found = [answers.found[place] for place in questions.places]
        judged = questions.judged
        scored[name] = Scored(
            measured=judge(graph, judged, found, counts_as=questions.counts_as) if judged else None,
            fever=fever_scores(questions.claims, submitted, questions.tuned, questions.kept)
            if submitted and judged
            else None,
            submitted=submitted,
        )
    return scored


def save_answers(
    path: Path, graph: Graph, questions: Questions, outcome: Outcome, scored: dict[str, Scored]
) -> None:
    """One JSON line for each question and way: its id, the blocks as they were ranked, and what of them was needed."""
    write_records(path, _lines(graph, questions, outcome, scored))


def _lines(
    graph: Graph, questions: Questions, outcome: Outcome, scored: dict[str, Scored]
) -> Iterator[dict[str, Any]]:
    """The lines of ``save_answers``."""
    at = {place: number for number, place in enumerate(questions.places)}
    for name, answers in outcome.answers.items():
        measured = scored[name].measured
        for place, (id, found) in enumerate(zip(questions.ids, answers.found, strict=True)):
            line: dict[str, Any] = {
                "id": id,
                "way": name,
                "start": found.start,
                "ranked": [graph.name(node) for node in found.ranked],
                "nodes": list(found.ranked),
                "recall": None,
                "seen": None,
                "group": None,
            }
            if measured is not None and place in at:
                number = at[place]
                line["recall"] = [round(float(x), 4) for x in measured.recall[number]]
                line["seen"] = round(float(measured.seen[number]), 4)
                line["group"] = measured.groups[number]
            yield line
