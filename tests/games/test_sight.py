from pathlib import Path

import numpy as np

from linkwalk.compiled import kernel
from linkwalk.games.sight import articles_of
from linkwalk.navigate.cosine import PageUnits, cosine, unit_rows
from tests.graph.conftest import Page, write_graph


def test_lost_signs_are_mended_and_what_is_not_certain_is_not(tmp_path: Path) -> None:
    titles = ("Star Trek: Voyager", "Déjà vu", "C.", "C!", "Bee")
    graph = write_graph(tmp_path / "wiki", {title: [Page("text")] for title in titles})
    names = ("Star Trek Voyager", "Deja vu", "C", "Bee", "List of bees")
    assert articles_of(names, graph).tolist() == [0, 1, -1, 4, -1]


@kernel
def near(pages: np.ndarray, direction: np.ndarray, found: np.ndarray) -> None:
    for i in range(pages.shape[0]):
        found[i, 0], found[i, 1] = cosine(pages[i], direction), cosine(pages[i], pages[0])


def test_a_page_is_as_near_as_the_nearest_of_its_rows() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((5, 4, 9)).astype(np.float32)
    rows[..., :-1] = unit_rows(rows[..., :-1].reshape(-1, 8)).reshape(5, 4, 8)
    rows[3, 2:] = np.nan
    pages, direction = PageUnits(rows), unit_rows(rng.standard_normal((1, 8)))[0]
    found = np.empty((5, 2), np.float32)
    near(pages.rows, direction, found)
    nearest = np.nanmax(rows[..., :-1] @ direction, axis=1) + rows[:, 0, -1]
    np.testing.assert_allclose(found[:, 0], nearest, rtol=1e-5)
    np.testing.assert_allclose(found[:, 1], pages[:] @ pages[0], rtol=1e-5, atol=1e-6)
