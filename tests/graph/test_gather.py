from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.compiled import OUTSIDE
from linkwalk.graph.csr import Csr, gather_rows, transpose
from tests.graph.conftest import csr, random_graph


@given(st.lists(st.lists(st.integers(0, 255), max_size=5), min_size=1, max_size=8), st.data())
@settings(deadline=None)
def test_rows_come_in_the_order_asked_for(rows: list[list[int]], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=12))
    indptr = np.cumsum([0, *map(len, rows)])
    values = np.array([v for row in rows for v in row], np.uint8)
    indptr.flags.writeable = values.flags.writeable = False
    bounds, gathered = gather_rows(indptr, values, np.array(wanted, np.int32))
    assert gathered.dtype == np.uint8
    assert [gathered[a:b].tolist() for a, b in pairwise(bounds)] == [rows[i] for i in wanted]


def test_neighbour_lists_are_a_small_graph() -> None:
    graph = csr(4, [(0, 1), (0, 3), (2, 2)])
    part = graph.gather(np.array([2, 0, 1, 0]))
    assert [part.row(i).tolist() for i in range(part.nodes)] == [[2], [1, 3], [], [1, 3]]


def test_strings_are_gathered_and_taken(tmp_path: Path) -> None:
    graph = random_graph(tmp_path, np.random.default_rng(0))
    rows = np.random.default_rng(1).integers(graph.nodes, size=30)
    expected = [graph.texts[int(i)] for i in rows]
    assert graph.texts.take(rows) == expected
    blob, lengths = graph.texts.gather(rows)
    assert blob.decode() == "".join(expected)
    assert lengths.tolist() == [len(t.encode()) for t in expected]
    assert graph.texts.gather(rows[:0])[0] == b""


@pytest.mark.parametrize("row", [-1, 3, 2**40, -(2**63)])
def test_a_row_that_is_not_there(row: int) -> None:
    graph = csr(3, [(0, 1), (2, 0)])
    with pytest.raises(IndexError, match=OUTSIDE):
        graph.gather(np.array([0, row]))


@pytest.mark.parametrize("bound", [-1, 3, 2**40, 2**63 - 1, -(2**63)])
def test_rows_that_lead_outside(bound: int) -> None:
    """No sizes are made of such bounds, and nothing is read there."""
    for place in (1, 2):
        indptr = np.array([0, 1, 2])
        indptr[place] = bound
        with pytest.raises(IndexError, match=OUTSIDE):
            gather_rows(indptr, np.zeros(2, np.uint8), np.arange(2))


@pytest.mark.parametrize("indptr", [[0, 1, 1], [1, 2, 2], [0, 2, 1], [0, 0, 3]])
def test_a_transpose_is_whole(indptr: list[int]) -> None:
    """Edges that no row has would stay as they were found in memory."""
    graph = Csr(np.array(indptr), np.zeros(2, np.int32))
    with pytest.raises(IndexError, match=OUTSIDE):
        transpose(graph)
