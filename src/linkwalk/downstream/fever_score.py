"""FEVER's scores, as its published scorer counts them (sec. 5.4, app. C.1; table 5).

Written from the definition, and compared with the package ``fever-scorer`` on 25,000 random files: equal to the last
digit (commits 9d9ed27, which the paper names, 4801615 of 1.2 and dff9cb6 of 2.0). What surprises is the published
scorer's own, and is kept:

- Precision and recall are means over the claims that can be verified, whatever label was predicted for them.
- Nothing submitted is a precision of 1. A sentence submitted twice counts twice for precision.
- Only the first five sentences count, for precision as for recall; what is behind them costs nothing.
- Recall is 1 for a claim as soon as one group of evidence is complete, and 0 otherwise. A claim that needs no evidence
  (no groups, or an empty one) has recall 1; but with no groups at all it is never right in the strict score.
- Labels compare in capitals. Any label but NOT ENOUGH INFO makes a claim verifiable, even a misspelt one.
- Page names compare letter by letter: ``normalise`` evens out accents, as its never released 1.3 does.

Where both precision and recall are 0, F1 is 0 (the published one divides by zero before 2.0). Malformed predictions are
errors everywhere (there: only where the label is right; else they silently match nothing).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np

from linkwalk.downstream.fever import NOT_ENOUGH
from linkwalk.errors import InputError
from linkwalk.records import read_records

MAX_EVIDENCE = 5
"""How many submitted sentences count."""

Cited = tuple[str | None, int | None]
"""A page's name and the number of a line; None in evidence that says that there is none."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A claim: what is true of it, and what was submitted."""

    label: str
    evidence: tuple[tuple[Cited, ...], ...]
    """Groups of sentences; each group is enough when all of it is submitted."""
    predicted_evidence: tuple[Cited, ...]
    """The best first."""
    predicted_label: str = ""
    """Empty where evidence alone is retrieved, as in table 5: precision, recall and F1 do not depend on it."""
    scores: tuple[float, ...] = ()
    """One for each predicted sentence, falling; only ``threshold`` needs them."""

    def __post_init__(self) -> None:
        """Refuse scores that do not belong to the sentences."""
        if self.scores and len(self.scores) != len(self.predicted_evidence):
            raise InputError(f"{len(self.scores)} scores for {len(self.predicted_evidence)} sentences")
        if any(not a >= b for a, b in zip(self.scores, self.scores[1:] or self.scores, strict=False)):
            raise InputError("predicted evidence is not in the order of its scores: put the best first")

    @classmethod
    def of(cls, record: Mapping[str, Any], gold: Mapping[str, Any] | None = None) -> "Prediction":
        """From a line of FEVER's files; label and evidence are the gold record's where there is one."""
        gold = record if gold is None else gold
        for name, where in (("predicted_evidence", record), ("label", gold), ("evidence", gold)):
            if name not in where:
                raise InputError(f"a prediction lacks {name!r}: give it, or the file with the gold evidence")
        label, predicted_label = gold["label"], record.get("predicted_label", "")
        if not isinstance(label, str) or not isinstance(predicted_label, str):
            raise InputError(f"labels are words, not {label!r} and {predicted_label!r}")
        try:
            return cls(
                label=label,
                evidence=tuple(tuple(map(_gold, group)) for group in gold["evidence"]),
                predicted_label=predicted_label,
                predicted_evidence=tuple(map(_predicted, record["predicted_evidence"])),
                scores=tuple(map(float, record.get("predicted_scores", ()))),
            )
        except (TypeError, ValueError):
            raise InputError("evidence or scores are no lists as FEVER has them") from None

    @property
    def verifiable(self) -> bool:
        """Whether evidence counts."""
        return self.label.upper() != NOT_ENOUGH

    @property
    def label_is_right(self) -> bool:
        """Whether the label is, whatever the evidence."""
        return self.label.upper() == self.predicted_label.upper()

    def best_group(self) -> float:
        """The largest share of a group of evidence that is submitted; 0 if there are no groups."""
        groups = map(frozenset, self.evidence)
        found = (
            len(group.intersection(self.predicted_evidence)) / len(group) if group else 1.0
            for group in groups
        )
        return max(found, default=0.0)

    def precision(self) -> float:
        """The share of what is submitted that stands in any group."""
        gold = {sentence for group in self.evidence for sentence in group if sentence[1] is not None}
        hits = sum(sentence in gold for sentence in self.predicted_evidence)
        return hits / len(self.predicted_evidence) if self.predicted_evidence else 1.0

    def recall(self) -> float:
        """1 if a group is complete, or none is asked for."""
        return float(not self.evidence or self.best_group() == 1)

    def first(self, count: int | None) -> "Prediction":
        """With so many sentences at most; None: all."""
        return replace(self, predicted_evidence=self.predicted_evidence[:count], scores=self.scores[:count])

    def needed_scores(self) -> tuple[float, ...]:
        """The scores, without which there can be no threshold."""
        if len(self.scores) != len(self.predicted_evidence):
            raise InputError("predicted evidence has no scores: a threshold needs one for each sentence")
        return self.scores

    def normalised(self) -> "Prediction":
        """With accents of page names written apart from their letters (NFD), as FEVER's own pages have them."""
        *evidence, predicted = (
            tuple((page and normalize("NFD", page), line) for page, line in sentences)
            for sentences in (*self.evidence, self.predicted_evidence)
        )
        return replace(self, evidence=tuple(evidence), predicted_evidence=predicted)


class FeverScore(NamedTuple):
    """A submission's figures, all between 0 and 1 but for the counts."""

    claims: int
    verifiable: int
    strict: float
    """The FEVER score: the label is right and, for a verifiable claim, a group of evidence complete."""
    partial: float
    """The same, but the share of the best group counts, not all or nothing. Ours: no published scorer has it."""
    label_accuracy: float
    precision: float
    recall: float
    f1: float
    submitted: float
    """Sentences that counted for a verifiable claim, on average."""
    empty: float
    """Share of the verifiable claims for which nothing was submitted: a precision of 1 for each of them."""


def score(
    predictions: Sequence[Prediction], *, max_evidence: int | None = MAX_EVIDENCE, normalise: bool = False
) -> FeverScore:
    """Score a submission, of which the first ``max_evidence`` sentences count for each claim (None: all)."""
    if not predictions:
        raise InputError("nothing to score: there are no predictions")
    if max_evidence is not None and max_evidence < 1:
        raise InputError(f"max_evidence={max_evidence}: choose 1 or more")
    counted = [one.first(max_evidence) for one in predictions]
    if normalise:
        counted = [one.normalised() for one in counted]
    verifiable = [one for one in counted if one.verifiable]
    groups = [one.best_group() if one.verifiable else 1.0 for one in counted if one.label_is_right]

    def mean(figure: Callable[[Prediction], float], none: float = 0.0) -> float:
        return _sum(map(figure, verifiable)) / len(verifiable) if verifiable else none

    precision, recall = mean(Prediction.precision, 1.0), mean(Prediction.recall)
    return FeverScore(
        claims=len(counted),
        verifiable=len(verifiable),
        strict=groups.count(1) / len(counted),
        partial=_sum(groups) / len(counted),
        label_accuracy=len(groups) / len(counted),
        precision=precision,
        recall=recall,
        f1=2.0 * precision * recall / (precision + recall) if precision + recall else 0.0,
        submitted=mean(lambda one: len(one.predicted_evidence)),
        empty=mean(lambda one: not one.predicted_evidence),
    )


def threshold(predictions: Iterable[Prediction], value: float, *, at_least: int = 1) -> list[Prediction]:
    """Submit only sentences whose score is ``value`` or more; the best ``at_least`` in any case.

    With 0, silence is allowed, for which the scorer gives a precision of 1.
    """
    return [
        one.first(max(at_least, sum(found >= value for found in one.needed_scores()))) for one in predictions
    ]


def choose_threshold(
    predictions: Sequence[Prediction], *, max_evidence: int = MAX_EVIDENCE, at_least: int = 1
) -> float:
    """The score from which on sentences are worth submitting: that of the best F1; of equals the highest.

    One pass: sentences join the submission in the order of their scores, and change their claim's precision and recall.
    """
    if not 0 <= at_least <= max_evidence:
        raise InputError(f"at_least={at_least}: choose 0 to max_evidence={max_evidence}")
    steps: list[tuple[float, float, float]] = []
    precision, recall, verifiable = 0.0, 0.0, 0
    for prediction in predictions:
        if not prediction.verifiable:
            continue
        count = len(prediction.needed_scores())
        cuts = range(min(at_least, count), min(max_evidence, count) + 1)
        figures = [(part.precision(), part.recall()) for part in map(prediction.first, cuts)]
        verifiable += 1
        precision, recall = precision + figures[0][0], recall + figures[0][1]
        for cut, before, after in zip(cuts[1:], figures, figures[1:], strict=False):
            steps.append((prediction.scores[cut - 1], after[0] - before[0], after[1] - before[1]))
    if not steps:
        raise InputError(
            "no threshold to choose: no verifiable claim has more sentences than are submitted anyway"
        )
    steps.sort(reverse=True)
    values, more_precision, more_recall = np.array(steps).T
    last = np.append(values[1:] != values[:-1], True)  # equal scores are submitted together
    precisions = ((precision + np.cumsum(more_precision)) / verifiable)[last]
    recalls = ((recall + np.cumsum(more_recall)) / verifiable)[last]
    f1 = 2 * precisions * recalls / np.maximum(precisions + recalls, 1e-12)
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)[0]  # sums that differ by rounding are equal
    return float(values[last][best])


class SubmissionScores(NamedTuple):
    """One retrieval, submitted in two ways; the paper does not say which is its own."""

    fixed: FeverScore
    """Five sentences for every claim."""
    thresholded: FeverScore
    """Those from the threshold on."""
    threshold: float
    tuning: FeverScore
    """The thresholded score of the claims on which the threshold was chosen."""


def score_submissions(tuning: Sequence[Prediction], predictions: Sequence[Prediction]) -> SubmissionScores:
    """Choose the threshold on claims kept for it, and score others with it and without."""
    value = choose_threshold(tuning)
    return SubmissionScores(
        fixed=score(predictions),
        thresholded=score(threshold(predictions, value)),
        threshold=value,
        tuning=score(threshold(tuning, value)),
    )


def read_predictions(path: Path, gold: Path | None = None) -> list[Prediction]:
    """A submission as FEVER takes it; gold labels and evidence from a file of their own, or from the same.

    The two are paired line by line, as the published scorer does; where both have ids, these must agree. No line may be
    damaged: what is left out would be missing from the score.
    """
    submitted = _whole(path)
    truth = submitted if gold is None else _whole(gold)
    if len(truth) != len(submitted):
        raise InputError(
            f"{path} has {len(submitted):,} predictions and {gold} {len(truth):,} claims: they pair line by line"
        )
    predictions = []
    for (number, record), (_, own) in zip(submitted, truth, strict=True):
        if "id" in own and "id" in record and own["id"] != record["id"]:
            raise InputError(f"{path}, line {number}: id {record['id']!r}, where {gold} has {own['id']!r}")
        try:
            predictions.append(Prediction.of(record, own))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    return predictions


def _whole(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """All lines of a file, of which none may be damaged."""
    records, damage = read_records(path)
    if damage:
        raise InputError(
            f"{path}, line {damage[0].line}: {damage[0].reason}; {len(damage)} such in all, mend them"
        )
    return records


def _predicted(sentence: Any) -> Cited:
    """A submitted sentence: a name and a number."""
    if isinstance(sentence, Sequence) and len(sentence) == 2:
        page, line = sentence
        if isinstance(page, str) and isinstance(line, int):
            return page, line
    raise InputError(f"predicted evidence is a list of [page, line], not {sentence!r}")


def _gold(sentence: Any) -> Cited:
    """A sentence of evidence: two numbers of the annotation, which do not count, may stand before page and line."""
    if isinstance(sentence, Sequence) and not isinstance(sentence, str) and len(sentence) in (2, 4):
        page, line = sentence[-2:]
        if isinstance(page, str | None) and isinstance(line, int | None):
            return page, line
    raise InputError(f"evidence is a list of groups of [annotation, evidence, page, line], not {sentence!r}")


def _sum(values: Iterable[float]) -> float:
    """Added one by one: ``sum`` corrects its rounding in newer Pythons, and the last digit would differ."""
    return reduce(add, values, 0.0)
