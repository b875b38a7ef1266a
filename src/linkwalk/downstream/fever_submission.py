"""What is found for FEVER's claims, as its scorer reads it: by the pages and sentence numbers of FEVER (app. C.1)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.align import nearest_sentences
from linkwalk.downstream.fever_claims import LABELS, NOT_ENOUGH
from linkwalk.downstream.lines import write_records
from linkwalk.downstream.wiki_pages import WikiPages
from linkwalk.errors import InputError

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
        page = next((page for name in spellings if (page := wiki.id(name)) is not None), None)
        if page is None:
            continue
        lines = [(number, text) for number, text in wiki.sentences(page).items() if text]
        best = nearest_sentences([found[at][1] for at in places], [text for _, text in lines], cutoff)
        for at, hit in zip(places, best, strict=True):
            if hit:
                ids[at] = page, lines[hit[0]][0]
    return ids


class Submitted(NamedTuple):
    """What is submitted for one claim."""

    id: str
    evidence: Sequence[tuple[str, int]]
    """``(page, sentence number)``, the best first; the official scorer looks at five."""
    label: str = NOT_ENOUGH
    """The scorer wants one, though precision, recall and F1 of the evidence do not depend on it (table 5)."""
    scores: Sequence[float] = ()
    """One for each sentence, for a threshold chosen later; the official scorer ignores them."""


def write_submission(path: Path, predictions: Iterable[Submitted]) -> None:
    """Predictions as the official scorer reads them, one line each, in the order of the claim file."""
    write_records(path, map(_record, predictions))


def _record(one: Submitted) -> dict[str, Any]:
    """One line of a submission."""
    if one.label not in LABELS:
        raise InputError(f"claim {one.id} is labelled {one.label!r}: choose one of {', '.join(LABELS)}")
    record: dict[str, Any] = {
        "id": int(one.id) if one.id.isascii() and one.id.isdigit() else one.id,
        "predicted_label": one.label,
        "predicted_evidence": [[page, number] for page, number in one.evidence],
    }
    if one.scores:
        record["predicted_scores"] = list(one.scores)
    return record
