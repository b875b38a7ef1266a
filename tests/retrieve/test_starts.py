"""The nearest blocks, exact: many at a time as one by one; starts by an index of embeddings."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from linkwalk.arrays import Float32s, Int32s
from linkwalk.errors import InputError
from linkwalk.navigate.cosine import HalfUnits, unit_rows
from linkwalk.retrieve.starts import DEPTH, fuse, nearest_many
from tests.retrieve.searching import find_starts, nearest


def units(rows: int, width: int = 6, seed: int = 0) -> Float32s:
    return unit_rows(np.random.default_rng(seed).standard_normal((rows, width)))


@pytest.mark.parametrize("rows", [1, 7, 500, 40_000])
@pytest.mark.parametrize("half", [False, True])
def test_many_are_found_as_one_by_one(rows: int, half: bool) -> None:
    vectors, meanings = units(rows), units(300, seed=1)
    table = vectors.astype(np.float16) if half else vectors
    exact = table.astype(np.float64) @ meanings.astype(np.float64).T
    found = nearest_many(table, meanings, 9)
    assert found.shape == (300, min(9, rows))
    for query in range(0, 300, 23):
        wanted = np.lexsort((np.arange(rows), -np.round(exact[:, query], 6)))[:9]
        assert found[query].tolist() == wanted.tolist()
        assert nearest(table, meanings[query], 9).tolist() == wanted.tolist()


@pytest.mark.parametrize("rows", [1, 7, 40_000])
def test_a_mapped_table_is_looked_at_row_by_row_or_widened(rows: int, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", 3 * units(rows).astype(np.float16))
    mapped = HalfUnits(np.load(tmp_path / "t.npy", mmap_mode="r"))
    meanings = units(9, seed=4)
    exact = unit_rows(np.asarray(mapped.table)).astype(np.float64) @ meanings.astype(np.float64).T
    together = nearest_many(mapped, meanings, 5)
    for query, meaning in enumerate(meanings):
        wanted = np.lexsort((np.arange(rows), -np.round(exact[:, query], 6)))[:5].tolist()
        assert together[query].tolist() == nearest(mapped, meaning, 5).tolist() == wanted


def test_equally_close_blocks_go_by_number() -> None:
    vectors = np.repeat(units(50), 900, axis=0)  # every row 900 times, over the edges of all pieces
    vectors = vectors[np.random.default_rng(2).permutation(len(vectors))]
    for count in (5, 950):
        found = nearest_many(vectors, units(20, seed=3), count)
        for query, meaning in enumerate(units(20, seed=3)):
            scores = np.round(vectors.astype(np.float64) @ meaning.astype(np.float64), 6)
            assert found[query].tolist() == np.lexsort((np.arange(len(vectors)), -scores))[:count].tolist()
            assert nearest(vectors, meaning, count).tolist() == found[query].tolist()


def test_none_are_near_where_there_are_none() -> None:
    assert nearest(units(0), units(1)[0], 5).tolist() == []
    assert nearest(units(3), units(1)[0], 0).tolist() == []
    assert nearest_many(units(3), units(0), 2).shape == (0, 2)
    assert sorted(nearest(np.zeros((40, 6), np.float32), units(1)[0], 30).tolist()) == list(range(30))


class Words:
    """Knows the word "iron" only."""

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        known = np.array([4, 2, 9], np.int32)[:count]
        return [(known, [4.0, 2.0, 1.0][: len(known)]) if q == "iron" else (known[:0], []) for q in queries]


class Index:
    """An index of embeddings that notes how much it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def nearest_many(self, meanings: Float32s, count: int) -> list[Int32s]:
        self.asked.append((len(meanings), count))
        return [np.array([7, 2, 5], np.int32)[:count] for _ in meanings]


def test_starts_by_an_index_of_embeddings() -> None:
    near, meanings, asked = Index(), units(2), ["iron", "zzz"]
    found = find_starts("dense", 2, Words(), asked, near, meanings)
    assert [(one.nodes.tolist(), one.how) for one in found] == [([7, 2], "dense")] * 2
    found = find_starts("hybrid", 2, Words(), asked, near, meanings)
    assert found[0].nodes[0] == 2, "what both know comes first"
    assert [one.how for one in found] == ["hybrid", "dense"]
    found = find_starts("bm25", 3, Words(), asked, near, meanings)
    assert [(one.nodes.tolist(), one.how) for one in found] == [([4, 2, 9], "bm25"), ([7, 2, 5], "dense")]
    assert found[0].scores.tolist() == [1, 0.5, 0.25]
    assert near.asked == [(2, 2), (2, DEPTH), (1, 3)], "where BM25 knows the words, no embedding is looked at"


def test_starts_by_all_embeddings() -> None:
    vectors = units(20)
    (found,) = find_starts("dense", 3, Words(), ["iron"], vectors, vectors[11:12])
    assert (found.nodes.tolist(), found.how) == (nearest(vectors, vectors[11], 3).tolist(), "dense")
    assert found.nodes[0] == 11
    with pytest.raises(InputError, match="need embeddings"):
        find_starts("hybrid", 3, Words(), ["iron"], None, None)
    (found,) = find_starts("bm25", 3, Words(), ["zzz"], None, None)
    assert (found.nodes.tolist(), found.how) == ([], "bm25")


def test_fused_lists_count_ranks_alone() -> None:
    lists = [np.array(rows, np.int32) for rows in ([1, 2, 3], [3, 4], [])]
    nodes, scores = fuse(*lists, count=2)
    assert nodes.tolist() == [3, 1]
    assert scores.tolist() == pytest.approx([1 / 63 + 1 / 61, 1 / 61])
    assert sorted(fuse(*lists, count=9)[0].tolist()) == [1, 2, 3, 4]
    assert fuse(count=3)[0].tolist() == fuse(count=3)[1].tolist() == []


@pytest.mark.parametrize("how", ["bm25", "dense", "hybrid"])
def test_starts_of_many_queries_as_of_one(how: str) -> None:
    vectors, meanings = units(500), units(5, seed=1)
    asked = ["iron", "zzz", "iron", "yyy", "iron"]
    many = find_starts(how, 300, Words(), asked, vectors, meanings)
    for query, meaning, found in zip(asked, meanings, many, strict=True):
        (alone,) = find_starts(how, 300, Words(), [query], vectors, meaning[None])
        assert (found.nodes.tolist(), found.how) == (alone.nodes.tolist(), alone.how)
        assert found.scores.tolist() == alone.scores.tolist()
        assert found.scores[0] == 1
        assert (np.diff(found.scores) <= 0).all()
        if how == "hybrid" or query != "iron":
            assert len(found.nodes) == 300, "as many as are wanted, however many that is"
    assert find_starts(how, 3, Words(), [], vectors, meanings[:0]) == []


class Odd:
    """Scores that are no shares of anything."""

    def search_many(self, queries: Sequence[str], count: int) -> list[tuple[Int32s, list[float]]]:
        return [(np.array([1, 2], np.int32), [0.0, -1.0]) for _ in queries]


def test_scores_without_a_best() -> None:
    (found,) = find_starts("bm25", 2, Odd(), ["iron"], None, None)
    assert found.scores.tolist() == [0, 0]
