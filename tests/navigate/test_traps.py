"""Where a walk is trapped: beside all that can be reached, counted out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.graph.csr import Csr
from linkwalk.navigate.journeys import trapped_at

Rows = list[list[int]]


def csr(rows: Rows) -> Csr:
    indptr = np.cumsum([0, *map(len, rows)])
    return Csr(indptr.astype(np.int64), np.array([to for row in rows for to in row], np.int32))


@st.composite
def walked(draw: st.DrawFn) -> tuple[Rows, list[int]]:
    """A sparse graph, and a walk along its links."""
    count = draw(st.integers(1, 7))
    rows = [draw(st.lists(st.integers(0, count - 1), max_size=2)) for _ in range(count)]
    path = [draw(st.integers(0, count - 1))]
    for turn in draw(st.lists(st.integers(0, 1), max_size=20)):
        if row := rows[path[-1]]:
            path.append(row[turn % len(row)])
    return rows, path


def reachable(rows: Rows) -> np.ndarray:
    """Which page leads to which, by powers of the matrix of links."""
    links = np.eye(len(rows), dtype=bool)
    for node, row in enumerate(rows):
        links[node, row] = True
    for _ in rows:
        links = (links.astype(int) @ links.astype(int)) > 0
    return links


@given(walked(), st.booleans())
def test_a_walk_is_trapped_from_the_first_step_on_that_leads_to_nothing_new(
    world: tuple[Rows, list[int]], back: bool
) -> None:
    rows, path = world
    leads = reachable(rows)
    wanted = None
    for step in range(len(path)):
        seen = path[: step + 1]
        if set(np.flatnonzero(leads[seen if back else [path[step]]].any(0))) <= set(seen):
            wanted = step
            break
    assert trapped_at(csr(rows), path, back=back) == wanted


def test_to_and_fro_between_two_blocks_is_one_step() -> None:
    rows = [[1], [0], [0]]
    assert trapped_at(csr(rows), [0, 1, 0, 1, 0, 1], back=False) == 1
    assert trapped_at(csr([[1, 2], [0], []]), [0, 1, 0, 1], back=False) is None
