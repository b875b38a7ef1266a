"""FEVER's scores: against a plain recount, and each of the published scorer's habits by name."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linkwalk.downstream.fever_score import (
    Prediction,
    choose_threshold,
    read_predictions,
    score,
    score_submissions,
    threshold,
)
from linkwalk.errors import InputError

FEVER_DEV = Path(__file__).parents[3] / "shared" / "data" / "fever-dev.jsonl.xz"
NEI = "NOT ENOUGH INFO"


def record(
    label: str = "SUPPORTS",
    evidence: list[Any] | None = None,
    predicted: list[Any] | None = None,
    predicted_label: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A line of FEVER's file; the label is predicted rightly unless said otherwise."""
    return {
        "label": label,
        "evidence": [[[7, 8, "Apple", 0]]] if evidence is None else evidence,
        "predicted_label": label if predicted_label is None else predicted_label,
        "predicted_evidence": predicted or [],
        **more,
    }


def recount(records: list[dict[str, Any]], most: int | None) -> dict[str, float]:
    """The published description, in loops over lists: what each claim adds to each figure."""
    strict = accurate = hit_share = complete = f1 = 0.0
    verifiable = 0
    for claim in records:
        same_label = claim["label"].upper() == claim["predicted_label"].upper()
        unknown = claim["label"].upper() == NEI
        window = []
        for position, (page, line) in enumerate(claim["predicted_evidence"]):
            if most is None or position < most:
                window.append(f"{page}#{line}")
        wanted, any_group = [], False
        for group in claim["evidence"]:
            missing = 0
            for *_, page, line in group:
                if line is not None:
                    wanted.append(f"{page}#{line}")
                if f"{page}#{line}" not in window:
                    missing += 1
            any_group = any_group or missing == 0
        if same_label:
            accurate += 1
            if unknown or any_group:
                strict += 1
        if not unknown:
            verifiable += 1
            good = 0
            for name in window:
                if name in wanted:
                    good += 1
            hit_share += 1 if not window else good / len(window)
            complete += 1 if any_group or not claim["evidence"] else 0
    precision = hit_share / verifiable if verifiable else 1.0
    recall = complete / verifiable if verifiable else 0.0
    if precision or recall:
        f1 = 2.0 * precision * recall / (precision + recall)
    claims = len(records)
    return {
        "strict": strict / claims,
        "label_accuracy": accurate / claims,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }


PAGES = st.sampled_from(["Apple", "apple", "Pear_-LRB-fruit-RRB-", "Caf\u00e9", "Cafe\u0301"])
SENTENCES = st.tuples(PAGES, st.integers(0, 2)).map(list)
GOLD = st.one_of(SENTENCES, SENTENCES, st.just([None, None]), PAGES.map(lambda page: [page, None])).map(
    lambda sentence: [12, None, *sentence]
)
LABELS = st.sampled_from(["SUPPORTS", "REFUTES", NEI, "supports", "Not Enough Info", "NOTENOUGHINFO", ""])


@st.composite
def claims(draw: st.DrawFn) -> dict[str, Any]:
    """A claim whose groups are found often enough to matter."""
    evidence = draw(st.lists(st.lists(GOLD, max_size=3), max_size=3))
    known = [sentence[2:] for group in evidence for sentence in group if None not in sentence[2:]]
    sentences = st.one_of(st.sampled_from(known), SENTENCES) if known else SENTENCES
    predicted = draw(st.lists(sentences, max_size=9))
    return record(draw(LABELS), evidence, predicted, draw(LABELS))


@settings(max_examples=400, deadline=None)
@given(st.lists(claims(), min_size=1, max_size=8), st.sampled_from([5, 5, 1, 2, None]))
@example([record(predicted=[["Pear", 0]])], 5)
def test_every_figure_is_that_of_a_plain_recount(records: list[dict[str, Any]], most: int | None) -> None:
    found = score([Prediction.of(claim) for claim in records], max_evidence=most)._asdict()
    expected = recount(records, most)
    assert {name: found[name] for name in expected} == expected  # to the last digit
    assert found["strict"] <= found["partial"] <= found["label_accuracy"]
    assert json.loads(json.dumps(found)) == found


def scored(*records: dict[str, Any], **options: Any) -> Any:
    return score([Prediction.of(claim) for claim in records], **options)


def test_the_published_example() -> None:
    both = [[[None, None, "page1", 1], [None, None, "page2", 2]]]
    found = scored(
        record("REFUTES", both, [["page1", 1]]),
        record("REFUTES", both, [["page1", 1], ["page2", 2], ["page3", 3]]),
    )
    assert (found.strict, found.label_accuracy, found.recall, found.f1) == (0.5, 1.0, 0.5, 0.625)
    assert found.precision == pytest.approx((1 + 2 / 3) / 2)
    assert found.partial == 0.75  # half of the first claim's group


def test_nothing_submitted_is_a_precision_of_one() -> None:
    found = scored(record(predicted=[]), record(predicted=[["Pear", 0]]))
    assert (found.precision, found.recall) == (0.5, 0.0)
    assert (found.empty, found.submitted) == (0.5, 0.5)


def test_only_verifiable_claims_count_for_precision_and_recall() -> None:
    unknown = record(NEI, [[[5, None, None, None]]], [["Pear", 1], ["Pear", 2]])
    found = scored(record(predicted=[["Apple", 0]]), unknown, unknown)
    assert (found.precision, found.recall, found.strict, found.verifiable) == (1.0, 1.0, 1.0, 1)
    alone = scored(unknown)
    assert (alone.precision, alone.recall, alone.f1, alone.strict) == (1.0, 0.0, 0.0, 1.0)


def test_a_wrong_label_leaves_precision_and_recall_alone() -> None:
    right = record(predicted=[["Apple", 0], ["Pear", 0]])
    for predicted_label in ("REFUTES", NEI, ""):
        wrong = scored({**right, "predicted_label": predicted_label})
        assert (wrong.precision, wrong.recall, wrong.strict, wrong.label_accuracy) == (0.5, 1.0, 0.0, 0.0)


def test_evidence_is_free_for_a_claim_that_cannot_be_verified() -> None:
    assert scored(record(NEI, [], [["Pear", 0]])).strict == 1.0
    assert scored(record(NEI, [], [], "SUPPORTS")).strict == 0.0


def test_one_complete_group_is_enough_and_an_incomplete_one_nothing() -> None:
    groups = [[[1, 1, "Apple", 0], [1, 1, "Pear", 0]], [[1, 1, "Plum", 3]]]
    assert scored(record(evidence=groups, predicted=[["Plum", 3]])).recall == 1.0
    part = scored(record(evidence=groups, predicted=[["Apple", 0]]))
    assert (part.recall, part.strict, part.partial, part.precision) == (0.0, 0.0, 0.5, 1.0)
    crossed = record(
        evidence=[groups[0], [*groups[1], [1, 1, "Fig", 0]]], predicted=[["Apple", 0], ["Fig", 0]]
    )
    assert scored(crossed).recall == 0.0


def test_duplicates_count_each_time_for_precision() -> None:
    assert scored(record(predicted=[["Apple", 0], ["Apple", 0], ["Pear", 0]])).precision == pytest.approx(
        2 / 3
    )
    doubled = record(evidence=[[[1, 1, "Apple", 0], [2, 2, "Apple", 0]]], predicted=[["Apple", 0]])
    assert scored(doubled).recall == 1.0  # twice in the group, submitted once


def test_what_is_behind_the_fifth_neither_helps_nor_costs() -> None:
    noise = [["Pear", line] for line in range(5)]
    late = scored(record(predicted=[*noise, ["Apple", 0]]))
    assert (late.precision, late.recall, late.strict) == (0.0, 0.0, 0.0)
    assert scored(record(predicted=[*noise, ["Apple", 0]]), max_evidence=6).recall == 1.0
    early = scored(record(predicted=[["Apple", 0], *noise, *noise]))
    assert (early.precision, early.submitted) == (0.2, 5.0)
    assert scored(record(predicted=[["Apple", 0], *noise, *noise]), max_evidence=None).precision == 1 / 11
    # Duplicates take places away from others.
    assert scored(record(predicted=[*[["Pear", 0]] * 5, ["Apple", 0]])).recall == 0.0


def test_labels_compare_in_capitals_and_misspelt_ones_are_verifiable() -> None:
    assert scored(record("supports", predicted_label="SUPPORTS", predicted=[["Apple", 0]])).strict == 1.0
    assert scored(record("not enough info", predicted_label=NEI)).verifiable == 0
    assert scored(record("NOT_ENOUGH_INFO")).verifiable == 1


def test_no_evidence_asked_for() -> None:
    none = scored(record(evidence=[], predicted=[["Pear", 0]]))
    assert (none.recall, none.precision, none.strict, none.partial) == (1.0, 0.0, 0.0, 0.0)
    empty = scored(record(evidence=[[]], predicted=[["Pear", 0]]))
    assert (empty.recall, empty.precision, empty.strict, empty.partial) == (1.0, 0.0, 1.0, 1.0)


def test_null_pages_and_lines_are_never_found() -> None:
    nulls = record(evidence=[[[3, None, None, None]], [[3, None, "Apple", None]]], predicted=[["Apple", 0]])
    found = scored(nulls)
    assert (found.precision, found.recall, found.strict) == (0.0, 0.0, 0.0)


def test_f1_is_nought_where_both_are() -> None:
    found = scored(record(predicted=[["Pear", 0]]))
    assert (found.precision, found.recall, found.f1) == (0.0, 0.0, 0.0)


def test_page_names_compare_letter_by_letter_unless_normalised() -> None:
    accents = record(evidence=[[[1, 1, "Caf\u00e9", 0]]], predicted=[["Cafe\u0301", 0]])
    assert scored(accents).recall == 0.0
    assert scored(accents, normalise=True).recall == 1.0
    assert scored(record(predicted=[["apple", 0]]), normalise=True).recall == 0.0
    assert scored(record(NEI, [[[1, None, None, None]]]), normalise=True).strict == 1.0


def test_tuples_and_bare_pairs_are_sentences_too() -> None:
    found = scored(record(evidence=[[("Apple", 0)], [["Pear", 1]]], predicted=[("Apple", 0), ["Pear", 1]]))
    assert (found.precision, found.recall, found.strict) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    "sentence", ["Apple", ["Apple"], ["Apple", "0"], [0, 0], ["Apple", 0, 1], ["Apple", None], 3, "ab"]
)
def test_malformed_predictions_are_refused_whatever_the_label(sentence: Any) -> None:
    with pytest.raises(InputError, match=r"\[page, line\]"):
        Prediction.of(record(predicted=[sentence], predicted_label="REFUTES"))


@pytest.mark.parametrize("sentence", ["Apple", ["Apple"], [1, 2, 3, 4], [1, 2, "Apple", "0"], "abcd", None])
def test_malformed_gold_is_refused(sentence: Any) -> None:
    with pytest.raises(InputError, match="groups of"):
        Prediction.of(record(evidence=[[sentence]]))


def test_what_cannot_be_scored_is_said() -> None:
    with pytest.raises(InputError, match="no predictions"):
        score([])
    with pytest.raises(InputError, match="max_evidence=0"):
        scored(record(), max_evidence=0)
    with pytest.raises(InputError, match="'predicted_evidence'"):
        Prediction.of({"label": "SUPPORTS", "evidence": []})
    for broken in ({"evidence": None}, {"evidence": [None]}, {"predicted_evidence": 3}):
        with pytest.raises(InputError, match="no lists as FEVER has them"):
            Prediction.of(record() | broken)
    with pytest.raises(InputError, match="labels are words"):
        Prediction.of({**record(), "predicted_label": 3})
    for values, message in (
        ([0.5], "1 scores for 2"),
        ([0.1, 0.5], "best first"),
        ([0.5, math.nan], "first"),
    ):
        with pytest.raises(InputError, match=message):
            Prediction.of(record(predicted=[["Pear", 0], ["Apple", 0]], predicted_scores=values))


# Thresholds


def ranked(values: list[float], right: set[int], label: str = "SUPPORTS") -> Prediction:
    """A claim with one sentence a score, of which those at ``right`` are each enough."""
    return Prediction(
        label=label,
        evidence=tuple((("Apple", i),) for i in sorted(right)) or ((("Fig", 99),),),
        predicted_evidence=tuple(("Apple", i) for i in range(len(values))),
        scores=tuple(values),
    )


def test_a_threshold_keeps_what_reaches_it_and_the_best_in_any_case() -> None:
    predictions = [ranked([0.9, 0.5, 0.5, 0.1], {0}), ranked([0.3, 0.2], {0})]
    assert [len(p.predicted_evidence) for p in threshold(predictions, 0.5)] == [3, 1]
    assert [len(p.predicted_evidence) for p in threshold(predictions, 0.5, at_least=0)] == [3, 0]
    assert [p.scores for p in threshold(predictions, 0.91)] == [(0.9,), (0.3,)]
    assert threshold(predictions, -1.0) == predictions


def test_the_threshold_is_chosen_on_one_part_and_used_on_another() -> None:
    tuning = [ranked([0.9, 0.8, 0.2, 0.1], {1}), ranked([0.7, 0.4, 0.3], {0})]
    other = [
        ranked([0.95, 0.85, 0.5], {1}),
        ranked([0.6, 0.5, 0.4, 0.3, 0.2, 0.1], {0}),
        ranked([0.9], set(), NEI),
    ]
    found = score_submissions(tuning, other)
    assert found.threshold == 0.8
    assert found.tuning == score(threshold(tuning, 0.8))
    assert found.fixed == score(other)
    assert (found.thresholded.precision, found.thresholded.recall) == (0.75, 1.0)
    assert found.fixed.precision == pytest.approx((1 / 3 + 1 / 5) / 2)
    assert json.loads(json.dumps(found._asdict()))["threshold"] == 0.8


SCORED = st.builds(
    lambda values, right, label: ranked(sorted(values, reverse=True), right, label),
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), max_size=8),
    st.sets(st.integers(0, 7), max_size=3),
    st.sampled_from(["SUPPORTS", "REFUTES", NEI]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(SCORED, min_size=1, max_size=8), st.sampled_from([0, 1, 2]))
def test_no_other_threshold_is_better(predictions: list[Prediction], at_least: int) -> None:
    values = sorted({v for p in predictions if p.verifiable for v in p.scores[at_least:5]}, reverse=True)
    if not values:
        with pytest.raises(InputError, match="no threshold to choose"):
            choose_threshold(predictions, at_least=at_least)
        return
    figures = {value: score(threshold(predictions, value, at_least=at_least)).f1 for value in values}
    best = [value for value in values if figures[value] >= max(figures.values()) - 1e-9]
    assert choose_threshold(predictions, at_least=at_least) == best[0]


def test_a_threshold_needs_scores_and_room() -> None:
    bare = Prediction.of(record(predicted=[["Apple", 0]]))
    with pytest.raises(InputError, match="no scores"):
        threshold([bare], 0.5)
    with pytest.raises(InputError, match="no scores"):
        choose_threshold([bare])
    with pytest.raises(InputError, match="at_least=6"):
        choose_threshold([ranked([0.5], {0})], at_least=6)


# Files


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in records), encoding="utf-8")
    return path


def blind(claim: dict[str, Any]) -> dict[str, Any]:
    return {name: claim[name] for name in claim if name not in ("label", "evidence")}


def test_gold_comes_from_the_same_file_or_from_another(tmp_path: Path) -> None:
    records = [
        record(predicted=[["Apple", 0], ["Pear", 0]], id=1, predicted_scores=[2, 1]),
        record("REFUTES", id=2),
    ]
    whole = read_predictions(write(tmp_path / "whole.jsonl", records))
    apart = read_predictions(
        write(tmp_path / "blind.jsonl", [blind(claim) for claim in records]), tmp_path / "whole.jsonl"
    )
    assert whole == apart == [Prediction.of(claim) for claim in records]
    assert whole[0].scores == (2.0, 1.0)
    # A submission that brings gold of its own is not believed where there is a file of it.
    cheat = write(tmp_path / "cheat.jsonl", [{**claim, "evidence": [[]]} for claim in records])
    assert read_predictions(cheat, tmp_path / "whole.jsonl") == whole


def test_files_that_do_not_pair_or_are_damaged_are_refused(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.jsonl", [record(id=1), record(id=2)])
    cases: dict[str, list[Any]] = {
        "pair line by line": [blind(record(id=1))],
        "line 2: id 3, where": [blind(record(id=1)), blind(record(id=3))],
        r"line 2: no object but list; 1 such in all": [blind(record(id=1)), []],
        r"line 1: predicted evidence is a list of": [
            blind(record(id=1, predicted=["x"])),
            blind(record(id=2)),
        ],
        "line 2: evidence or scores": [blind(record(id=1)), blind(record(id=2, predicted_scores=["x"]))],
    }
    for message, records in cases.items():
        with pytest.raises(InputError, match=message):
            read_predictions(write(tmp_path / "blind.jsonl", records), gold)
    with pytest.raises(InputError, match="line 1: a prediction lacks 'label'"):
        read_predictions(tmp_path / "blind.jsonl")


@pytest.mark.skipif(not FEVER_DEV.exists(), reason="needs the FEVER claims in ../shared/data")
def test_the_real_claims_score_perfectly_by_their_own_evidence(tmp_path: Path) -> None:
    import lzma

    with lzma.open(FEVER_DEV, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    perfect = [
        {
            "id": claim["id"],
            "predicted_label": claim["label"],
            "predicted_evidence": [s[2:] for s in min(claim["evidence"], key=len) if s[2] is not None],
        }
        for claim in records
    ]
    found = score(read_predictions(write(tmp_path / "own.jsonl", perfect), FEVER_DEV), max_evidence=None)
    assert (found.strict, found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0, 1.0)
    assert found.claims == len(records)
    assert 0 < found.verifiable < found.claims
