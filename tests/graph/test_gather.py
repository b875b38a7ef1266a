from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.graph.csr import gather_rows
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
