"""Embeddings that stay mapped in half precision: agents do what they do with a copy in float32."""

from pathlib import Path

import numpy as np
import pytest

from linkwalk.errors import ArtifactError
from linkwalk.graph.store import Graph
from linkwalk.navigate import BASELINES, Episodes, HalfUnits, MoveConfig, open_baseline, unit_rows, units_of
from linkwalk.navigate import cosine as cosine_module
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.tabs import Hits, read_tabs
from linkwalk.policy.compass import LinearCompass
from linkwalk.retrieve.starts import nearest_many
from tests.graph.conftest import random_graph

WIDTH = 24


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    random_graph(tmp_path / "wiki", np.random.default_rng(3), articles=60)
    return Graph.open(tmp_path / "wiki")


@pytest.fixture
def table(graph: Graph, tmp_path: Path) -> np.ndarray:
    """Rows of all lengths, one of them zero, mapped."""
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((graph.nodes, WIDTH)) * rng.uniform(0.01, 20, (graph.nodes, 1))
    rows[7] = 0
    np.save(tmp_path / "table.npy", rows.astype(np.float16))
    mapped: np.ndarray = np.load(tmp_path / "table.npy", mmap_mode="r")
    return mapped


def episodes(graph: Graph, count: int = 40) -> Episodes:
    rng = np.random.default_rng(5)
    return Episodes.of(*(rng.integers(0, graph.nodes, count).tolist() for _ in range(2)))


def test_rows_are_those_of_the_copy(table: np.ndarray) -> None:
    halves, copy = HalfUnits(table), unit_rows(table)
    assert len(halves) == len(copy)
    assert halves.shape == copy.shape
    for nodes in (3, 7, slice(2, 9), np.array([5, 1, 5]), [4]):
        assert np.array_equal(halves[nodes], copy[nodes])
        assert halves[nodes].dtype == np.float32


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("name", [name for name in BASELINES if name.startswith("greedy")])
def test_baselines_go_the_same_ways(graph: Graph, table: np.ndarray, name: str, back: bool) -> None:
    ways = [
        open_baseline(name, graph.forward, vectors, MoveConfig(back=back, depth=5)).run(
            episodes(graph), budget=30
        )
        for vectors in (HalfUnits(table), unit_rows(table))
    ]
    for ours, theirs in zip(*ways, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("back", [False, True])
def test_a_compass_goes_the_same_way(graph: Graph, table: np.ndarray, back: bool) -> None:
    rng = np.random.default_rng(6)
    weight = (0.1 * rng.standard_normal((WIDTH, WIDTH))).astype(np.float32)
    direction = LinearCompass(weight, np.zeros(WIDTH, np.float32))
    ways = [
        CompassWalker("compass", direction, graph.forward, vectors, MoveConfig(back=back)).run(
            episodes(graph), budget=30
        )
        for vectors in (HalfUnits(table), unit_rows(table))
    ]
    for ours, theirs in zip(*ways, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_tabs_and_the_nearest_are_the_same(graph: Graph, table: np.ndarray) -> None:
    halves, copy = HalfUnits(table), unit_rows(table)
    directions = copy[[1, 2, 3]]
    assert np.array_equal(nearest_many(halves, directions, 9), nearest_many(copy, directions, 9))
    scores = np.linspace(1, 0.5, 5).astype(np.float32)
    hits = Hits.of([(np.arange(5, dtype=np.int32), scores)] * 3)
    ours, theirs = (
        read_tabs(graph.forward, graph.out_kinds, vectors, directions, hits, 12) for vectors in (halves, copy)
    )
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, abs=1e-5)


def test_only_large_tables_stay_mapped(table: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(units_of(table), np.ndarray)
    monkeypatch.setattr(cosine_module, "MAPPED", 2 * table.nbytes - 1)
    assert isinstance(units_of(table), HalfUnits)
    assert isinstance(units_of(table.astype(np.float32)), np.ndarray)


def test_what_is_not_a_number_is_told_when_it_is_read(table: np.ndarray) -> None:
    broken = np.array(table)
    broken[3, 0] = np.nan
    with pytest.raises(ArtifactError, match="not a number"):
        HalfUnits(broken)[3]
