"""Tables 5 and 6: the paper's figures agree with one another, and ours stand beside the right ones."""

import numpy as np
import pytest

from linkwalk.downstream.measure import MethodScores, RecallScores
from linkwalk.downstream.methods import METHODS
from linkwalk.errors import InputError
from linkwalk.evaluate import paper
from linkwalk.reproduce.evidence import TABLES, gains, notes, table_json, table_lines


def scored(recall: float, fever: bool = False) -> MethodScores:
    """Ten questions, of which a share is found at any depth."""
    hits = (np.arange(10) < 10 * recall).astype(float)
    measured = RecallScores(np.repeat(hits[:, None], 5, 1), hits, np.full(10, 20.0), ("all",) * 10)
    figures = {"precision": 0.5, "recall": recall, "f1": 0.4}
    own = {"all": figures, "thresholded": {"kept": {**figures, "precision": 0.9}}}
    return MethodScores(recall=measured, fever=own if fever else None, submitted=[])


def test_the_figures_of_table_5_are_one_another_s_f1() -> None:
    for precision, recall, f1 in paper.TABLE5.values():
        assert 2 * precision * recall / (precision + recall) == pytest.approx(f1, abs=0.011)


def test_the_improvement_of_table_6_is_that_of_its_rows() -> None:
    rows = paper.TABLE6
    each = zip(rows["BM25 + RFBC + BigBird"], rows["BM25 + BigBird"], rows["Improvement"], strict=True)
    for ours, theirs, improvement in each:
        assert 100 * (ours / theirs - 1) == pytest.approx(improvement, abs=0.15)


def test_every_row_of_ours_can_be_run_and_of_the_papers_is_known() -> None:
    names = {row.name: row for row in METHODS}
    for table in TABLES.values():
        for beside in table.rows:
            assert beside.paper is None or beside.paper in table.figures
            for name in beside.ours:
                row = names[name]
                walks = row.navigation in ("walks", "tabs")
                assert walks == ("RFBC" in (beside.paper or "")), name
                assert ("BigBird" in (beside.paper or "")) <= (row.rerank == "cross")
                if row.reference is not None:
                    assert any(row.reference in other.ours for other in table.rows), "else nothing is gained"


def test_table_6_sets_navigation_against_the_same_ranking() -> None:
    table = TABLES["table6"]
    found = {
        "BM25": scored(0.2),
        "BM25 + cross-encoder": scored(0.4),
        "BM25 + navigation + cross-encoder": scored(0.6),
    }
    lines = {line[0]: line[1:] for line in table_lines(table, found)}
    assert lines["BM25"] == ("11.1", "17.3", "21.8", "24.9", "27.3")
    assert lines["  ours: BM25"] == ("20.0",) * 5
    names = [line[0] for line in table_lines(table, found)]
    assert names.index("  ours: BM25 + cross-encoder") == names.index("BM25 + BigBird") + 1
    assert names[-2:] == ["Improvement", "  ours: BM25 + navigation + cross-encoder"]
    assert table_lines(table, found)[-2][1] == "+42.3 %"
    assert all(cell.startswith("+50.0 %") for cell in table_lines(table, found)[-1][1:])
    assert gains("BM25", found) is None
    shown = {row["row"]: row for row in table_json(table, found)}
    assert shown["RocketQA"] == {"row": "RocketQA", "paper": [32.7, 43.8, 51.7, 58.3, 62.5], "ours": []}
    (ours,) = shown["BM25 + RFBC + BigBird"]["ours"]
    assert [gain["difference"] for gain in ours["gained"]] == [0.2] * 5


def test_table_5_gives_fevers_scores_or_says_that_it_counts_blocks() -> None:
    table = TABLES["table5"]
    options = {"candidates": 20, "level": "block", "asked": 10, "wiki": "W", "weaker": False, "quick": True}
    with_pages = {"BM25 + TF-IDF": scored(0.4, fever=True)}
    lines = {line[0]: line[1:] for line in table_lines(table, with_pages)}
    assert lines["BM25 + TF-IDF"][:3] == ("0.33", "0.40", "0.36")
    assert lines["  ours: BM25 + TF-IDF"] == ("0.50", "0.40", "0.40", "0.90", "0.40", "0.40")
    told = " ".join(notes(table, with_pages, reranker=None, **options))  # type: ignore[arg-type]
    assert "shares no page" in told
    assert "No cross-encoder was at hand" in told
    assert "the first 200 alone" in told
    without = {"BM25 + TF-IDF": scored(0.4)}
    lines = {line[0]: line[1:] for line in table_lines(table, without, "page")}
    assert lines["the paper's / ours"][3] == "page recall@5"
    assert lines["  ours: BM25 + TF-IDF"] == ("–", "–", "–", "0.40", "0.40", "0.40")
    told = " ".join(notes(table, without, reranker="cross", **options))  # type: ignore[arg-type]
    assert "Without --wiki-pages" in told
    assert "a cross-encoder that is smaller (cross)" in told


def test_rows_are_chosen_by_name() -> None:
    table = TABLES["table6"]
    assert [row.name for row in table.choose(["BM25"])] == ["BM25"]
    assert [row.name for row in table.choose([], cross=False)] == ["BM25"]
    with pytest.raises(InputError, match="no row 'dense': choose from BM25, BM25 \\+ cross-encoder"):
        table.choose(["dense"])
    with pytest.raises(InputError, match="need a cross-encoder"):
        table.choose(["BM25 + cross-encoder"], cross=False)
