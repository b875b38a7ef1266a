"""FEVER by its own sentence numbers: what was found becomes a submission, and that a score (app. C.1, table 5).

The way is one: sentences found -> FEVER's sentences -> submission -> score. Gold comes in at the last step alone.
Sentences that FEVER's Wikipedia does not have (it ends with the introductions) are passed over, as the paper matches
what was visited before it ranks. No label is predicted: as in table 5, evidence alone is scored.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.arrays import Float32s, Int32s
from linkwalk.downstream.align_sentences import nearest_sentences
from linkwalk.downstream.dataset import GoldSentence, Question
from linkwalk.downstream.fever import LABELS, NOT_ENOUGH, WikiPages, names_of
from linkwalk.downstream.fever_score import MAX_EVIDENCE, FeverScore, Prediction, score, score_submissions
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import write_records

SENTENCES = 100
"""How far down the ranking sentences are looked at to submit five."""
SAME_SENTENCE = 86
"""WRatio from which a sentence of ours is one of FEVER's; the paper does not say where it cut. Sentences of unequal
length that share a word reach 85.5 (100 times 0.95 times 0.9), so a cut at or below that takes nearly any."""


def sentence_ids(
    wiki: WikiPages,
    found: Sequence[tuple[str, str]],
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    cutoff: float = SAME_SENTENCE,
) -> list[tuple[str, int] | None]:
    """For (title, sentence) of ours, which sentence of FEVER's page that is, as ``(page, number)``; None if none is.

    ``names`` (see ``names_of``) adds the other names of an article, for pages that moved between the two.
    """
    ids: list[tuple[str, int] | None] = [None] * len(found)
    of_title: dict[str, list[int]] = defaultdict(list)
    for at, (title, _) in enumerate(found):
        of_title[title].append(at)
    for title, places in of_title.items():
        spellings = (names or {}).get(title, [title])
        if page := next(filter(None, map(wiki.id, spellings)), None):
            lines = {number: text for number, text in wiki.sentences(page).items() if text}
            best = nearest_sentences([found[at][1] for at in places], list(lines.values()), cutoff)
            for at, hit in zip(places, best, strict=True):
                if hit is not None:
                    ids[at] = page, list(lines)[hit]
    return ids


class SentenceHits(NamedTuple):
    """What was found for one question, the best first; numbers, since many methods find the same sentences."""

    numbers: Int32s
    """Which ones of ``BenchmarkAnswers.sentences``."""
    scores: Float32s


class Submission(NamedTuple):
    """What is submitted for one claim."""

    id: str
    evidence: Sequence[tuple[str, int]]
    """``(page, sentence number)``, the best first; the official scorer looks at five."""
    label: str = NOT_ENOUGH
    """The scorer wants one, though precision, recall and F1 of the evidence do not depend on it (table 5)."""
    scores: Sequence[float] = ()
    """One for each sentence, for a threshold chosen later; the official scorer ignores them."""


def write_submission(path: Path, submissions: Iterable[Submission]) -> None:
    """Submissions as the official scorer reads them, one line each, in the order of the claim file."""
    write_records(path, map(_record, submissions))


def _record(one: Submission) -> dict[str, Any]:
    """One line of a submission."""
    if one.label not in LABELS:
        raise InputError(f"claim {one.id} is labelled {one.label!r}: choose one of {', '.join(LABELS)}")
    return {
        "id": int(one.id) if one.id.isascii() and one.id.isdigit() else one.id,
        "predicted_label": one.label,
        "predicted_evidence": [list(sentence) for sentence in one.evidence],
        **({"predicted_scores": list(one.scores)} if one.scores else {}),
    }


def fever_numbers(
    folder: Path, graph: Graph, sentences: Sequence[tuple[str, str]]
) -> list[tuple[str, int] | None]:
    """Which of FEVER's each sentence (title, text) is; pages are looked for under all names they have here."""
    names = names_of(graph, dict.fromkeys(title for title, _ in sentences))
    wiki = WikiPages.open(folder, [name for own in names.values() for name in own])
    return sentence_ids(wiki, sentences, names=names)


def make_submission(id: str, found: SentenceHits, numbers: Sequence[tuple[str, int] | None]) -> Submission:
    """The first sentences that FEVER has, each once."""
    best: dict[tuple[str, int], float] = {}
    for number, value in zip(found.numbers.tolist(), found.scores.tolist(), strict=True):
        own = numbers[number]
        if own is not None and len(best) < MAX_EVIDENCE:
            best.setdefault(own, value)
    return Submission(id, tuple(best), scores=tuple(best.values()))


def fever_scores(
    claims: Sequence[Question],
    submitted: Sequence[Submission],
    tuned: frozenset[str],
    kept: frozenset[str],
) -> dict[str, Any]:
    """Precision, recall and F1 of the evidence: five sentences for all claims, and from a threshold on.

    The threshold is chosen on the claims of ``tuned`` and scored on those of ``kept``.
    """
    predictions = {
        claim.id: Prediction(
            label=claim.label,
            evidence=tuple(
                tuple((one.title, one.number) for one in group if isinstance(one, GoldSentence))
                for group in claim.evidence
            ),
            predicted_evidence=tuple(own.evidence),
            scores=tuple(own.scores),
        )
        for claim, own in zip(claims, submitted, strict=True)
        if claim.label is not None
    }

    def of(ids: Iterable[str]) -> list[Prediction]:
        return [one for id, one in predictions.items() if id in ids]

    everything, inside, half = of(predictions), of(tuned | kept), of(kept)
    found: dict[str, Any] = {
        "labels": "none predicted: evidence alone is scored, as in the paper's table 5",
        "all": _figures(score(everything), everything) if everything else None,
        "pages_in_wiki": _figures(score(inside), inside) if inside else None,
    }
    try:
        both = score_submissions(of(tuned), half)
    except InputError as error:
        return found | {"thresholded": None, "no_threshold": str(error)}
    return found | {
        "thresholded": {
            "threshold": both.threshold,
            "kept": _figures(both.thresholded),
            "kept_fixed": _figures(both.fixed, half),
            "tuned": _figures(both.tuning),
        }
    }


def _figures(found: FeverScore, predicted: Sequence[Prediction] = ()) -> dict[str, Any]:
    """What no label changes. Recall is strict, a whole set of evidence; ``partial`` is the best set's share."""
    figures: dict[str, Any] = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in found._asdict().items()
        if name not in ("strict", "partial", "label_accuracy")
    }
    shares = [one.first(MAX_EVIDENCE).best_group() for one in predicted if one.verifiable]
    if shares:
        figures["partial"] = round(sum(shares) / len(shares), 4)
    return figures
