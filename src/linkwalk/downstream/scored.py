"""Answers beside what is true: recall for every benchmark, and FEVER's own scores where its sentences are known."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwalk.downstream.asking import Outcome
from linkwalk.downstream.benchmark import Questions
from linkwalk.downstream.fever_submission import Submitted, fever_numbers, fever_scores, submission
from linkwalk.downstream.lines import write_records
from linkwalk.downstream.measure import Judged, judge
from linkwalk.graph.store import Graph


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
        numbers = fever_numbers(wiki_pages, graph, outcome.sentences)
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
