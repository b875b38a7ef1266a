"""Distances from starts to evidence: against a plain search, and what cannot be measured counted apart."""

import json
from pathlib import Path
from statistics import mean, median

import numpy as np
import pytest

from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.downstream.distances import NOT_MEASURED, EvidenceLengths, plot_distances, start_distances
from linkwalk.errors import InputError
from linkwalk.graph.store import LINK, Graph
from tests.graph.conftest import Page, random_graph, write_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return random_graph(tmp_path_factory.mktemp("wiki"), np.random.default_rng(3), articles=40, links=0.6)


def clicks(graph: Graph, start: int) -> dict[int, int]:
    """How many clicks each block needs, found by clicking everything."""
    needed, edge = {start: 0}, [start]
    while edge:
        edge = [
            t for node in edge for t in dict.fromkeys(e.target for e in graph.links(node)) if t not in needed
        ]
        edge = list(dict.fromkeys(edge))
        needed |= dict.fromkeys(edge, max(needed.values()) + 1)
    return needed


def asked_of(
    graph: Graph, rng: np.random.Generator, count: int
) -> tuple[list[AlignedQuestion], list[list[int]]]:
    asked, starts = [], []
    for number in range(count):
        gold = tuple(
            frozenset(rng.integers(graph.nodes, size=rng.integers(1, 4)).tolist())
            for _ in range(rng.integers(0, 4))
        )
        asked.append(AlignedQuestion(id=str(number), text="?", gold=gold, group=["lead", "two"][number % 2]))
        starts.append(rng.permutation(graph.nodes)[: rng.integers(0, 13)].tolist())
    return asked, starts


def test_every_distance_is_that_of_a_plain_search(graph: Graph) -> None:
    asked, starts = asked_of(graph, np.random.default_rng(0), 80)
    found = start_distances(graph, [np.array(own, np.int32) for own in starts], asked)
    away = {node: clicks(graph, node) for node in range(graph.nodes)}
    plain: dict[tuple[str, int], list[int]] = {}
    for number, (one, own) in enumerate(zip(asked, starts, strict=True)):
        for top in (1, 5, 10):
            if not one.gold or not own:
                assert found.each[top][number] == NOT_MEASURED
                continue
            ways = []
            for blocks in one.gold:
                per_block = [[away[s][node] for s in own[:top] if node in away[s]] for node in blocks]
                if all(per_block):
                    ways.append(max(min(lengths) for lengths in per_block))
            distance = min(ways, default=-1)
            assert found.each[top][number] == distance
            for group in ("all", one.group):
                plain.setdefault((group, top), []).append(distance)
    assert found.no_gold == sum(not one.gold for one in asked) > 0
    assert (
        found.no_start == sum(bool(one.gold) and not own for one, own in zip(asked, starts, strict=True)) > 0
    )
    assert list(found.groups) == ["all", "lead", "two"]
    told = found.to_json()
    assert json.loads(json.dumps(told)) == told
    for (group, top), distances in plain.items():
        reached = [d for d in distances if d >= 0]
        figures = told["groups"][group][f"top_{top}"]
        assert figures["measured"] == len(distances)
        assert figures["unreachable"] == distances.count(-1)
        assert figures["mean"] == pytest.approx(mean(reached))
        assert figures["median"] == median(reached)
        assert figures["share_at_0"] == distances.count(0) / len(distances)
        assert figures["counts"] == [distances.count(d) for d in range(max(reached) + 1)]
        assert figures["cumulative"][-1] == pytest.approx(len(reached) / len(distances))
    assert any(-1 in distances for distances in plain.values())  # else unreachable blocks were not tried


@pytest.fixture
def chain(tmp_path: Path) -> Graph:
    """Three blocks of one article; another page links to the first of them, and nothing links there."""
    return write_graph(
        tmp_path, {"Long": [Page("one"), Page("two"), Page("three")], "Far": [Page("x", [("Long", 0, LINK)])]}
    )


def nodes(*blocks: int) -> frozenset[int]:
    return frozenset(blocks)


def test_direction_counts_and_the_farthest_of_an_alternative(chain: Graph) -> None:
    def one(*gold: frozenset[int], start: list[int], tops: tuple[int, ...] = (1,)) -> list[int]:
        found = start_distances(chain, [start], [AlignedQuestion(id="1", text="?", gold=gold)], tops=tops)
        return [int(distances[0]) for distances in found.each.values()]

    assert one(nodes(2), start=[3]) == [3]
    assert one(nodes(3), start=[2]) == [-1]  # along links, not against them
    assert one(nodes(2), start=[2]) == [0]
    assert one(nodes(0, 2), start=[3]) == [3]  # complete only with the farthest
    assert one(nodes(0, 3), start=[1]) == [-1]  # one of its blocks is out of reach
    assert one(nodes(2), nodes(0), start=[3]) == [1]  # the nearest alternative
    assert one(nodes(0, 3), start=[1, 3], tops=(2, 1)) == [-1, 1]  # each block from its best start


def test_alternatives_of_no_blocks_are_no_evidence(chain: Graph) -> None:
    asked = [
        AlignedQuestion(id="1", text="?", gold=(nodes(), nodes(2))),
        AlignedQuestion(id="2", text="?", answers=("x",)),
    ]
    found = start_distances(chain, [[0], [0]], asked)
    assert found.each[1].tolist() == [2, NOT_MEASURED]
    assert (found.no_gold, found.no_start) == (1, 0)
    assert list(found.groups) == ["all"]


def test_nothing_measured_has_no_mean() -> None:
    for distances in ([], [-1, -1]):
        told = EvidenceLengths.of(np.array(distances, np.int32)).to_json()
        assert (told["mean"], told["median"], told["share_at_0"]) == (None, None, 0.0)
        assert (told["measured"], told["unreachable"]) == (len(distances), len(distances))


def test_what_does_not_pair_is_refused(chain: Graph) -> None:
    asked = [AlignedQuestion(id="1", text="?", gold=(nodes(2),))]
    with pytest.raises(InputError, match="do not pair"):
        start_distances(chain, [], asked)
    with pytest.raises(InputError, match="choose 1 or more"):
        start_distances(chain, [[0]], asked, tops=(0,))
    with pytest.raises(InputError, match="no such node"):
        start_distances(chain, [[99]], asked)


def marked(picture: np.ndarray) -> tuple[int, int]:
    """How many pixels of the left and the right half have the colour of the paper's mean."""
    close = np.abs(picture[..., :3] - np.array([0xC8, 0x55, 0x3D]) / 255).max(-1) < 0.02
    middle = picture.shape[1] // 2
    return int(close[:, :middle].sum()), int(close[:, middle:].sum())


def test_the_picture_has_two_panels_a_group_and_marks_the_papers_mean(graph: Graph, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    from matplotlib.image import imread

    asked, starts = asked_of(graph, np.random.default_rng(1), 40)
    whole = start_distances(graph, starts, asked)
    alone = start_distances(
        graph, starts, [AlignedQuestion(id=one.id, text="?", gold=one.gold) for one in asked]
    )
    none = start_distances(graph, [[]], [AlignedQuestion(id="1", text="?", gold=asked[0].gold)])
    three = imread(plot_distances(whole, tmp_path / "new" / "three.png", "Three groups", 4.3))
    one = imread(plot_distances(alone, tmp_path / "one.png", "One group", 4.3))
    bare = imread(plot_distances(none, tmp_path / "bare.png", "Nothing measured"))
    assert three.shape[:2] == (3 * one.shape[0], one.shape[1])
    left, right = marked(one)
    assert left > 100
    assert right > 100
    assert marked(bare) == (0, 0)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        plot_distances(alone, tmp_path / "file" / "x.png", "One group")
