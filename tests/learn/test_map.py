"""A map's lessons and its training, in a tiny world."""

import numpy as np
import pytest
import torch

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.paths import UNREACHABLE, distances_from
from linkwalk.learn.maps.fit import MapTrainingConfig, fit_weights, labels, ranges_of
from linkwalk.learn.maps.training import longest_articles, train_map
from linkwalk.learn.maps.walks import NEVER, Lessons, MapWalks
from linkwalk.navigate import Episodes, unit_rows
from linkwalk.navigate.map_sights import OF_LINKS, SIGHTS
from linkwalk.navigate.trained_map import CLICKS
from linkwalk.progress import Progress
from tests.walks.conftest import unsorted_graph

SMALL = MapTrainingConfig(rounds=2, walks=20, trials=30, hidden=4, epochs=2, batch=32)

BLANK = np.zeros(len(OF_LINKS), np.float32)


def world(seed: int = 0, nodes: int = 120) -> MapWalks:
    rng = np.random.default_rng(seed)
    graph = unsorted_graph(rng, nodes=nodes, links=3)
    return MapWalks(graph, transpose(graph), unit_rows(rng.normal(size=(nodes, 6))), workers=1)


def draw(walks: MapWalks, count: int = 60) -> Lessons:
    return walks.draw(count, np.random.default_rng(1), BLANK, picks=4, links=9)


def test_lessons_tell_what_led_to_the_goal() -> None:
    lessons = draw(world())
    found, there = lessons.to_go != NEVER, lessons.clicks != UNREACHABLE
    assert len(found) > 60
    assert found.any()
    np.testing.assert_array_equal(there.any(axis=1), found)  # whoever found the goal went by a link it knew
    clicks = np.where(there, lessons.clicks, np.iinfo(np.int32).max)
    assert (clicks.min(axis=1) <= lessons.to_go)[found].all()
    assert (clicks > lessons.sights[:, :, SIGHTS.index("detour")]).all()
    assert (lessons.sights[:, 0, SIGHTS.index("step")] == np.log1p(lessons.steps.astype(np.float32))).all()


def test_clicks_are_those_between_pages_the_walk_came_to() -> None:
    # 0 leads to 1, 2 and 3; 1 leads to the goal 4 by way of 5 and 6; 2 straight, but nobody goes there.
    rows = [[1, 2, 3], [5], [4], [], [], [6], [4]]
    graph = Csr(np.cumsum([0, *map(len, rows)]), np.array([i for row in rows for i in row], np.int32))
    vectors = unit_rows(np.array([[0, 1], [3, 1], [-1, 0], [-1, 0], [1, 0], [4, 1], [5, 1]], np.float32))
    walks = MapWalks(graph, transpose(graph), vectors, workers=1)
    episodes, rng = Episodes.of([0], [4]), np.random.default_rng(0)
    lessons = walks.lessons(episodes, 1, rng, BLANK, picks=20, links=9)
    start = lessons.some(lessons.steps == 0)
    assert start.to_go.tolist() == [4]
    assert start.clicks[0].tolist() == [4] + [UNREACHABLE] * 8
    assert distances_from(graph, 0)[4] == 2


def test_labels_and_ranges() -> None:
    found = labels(torch.tensor([[2, 3, UNREACHABLE], [5, 5, 9]], dtype=torch.int32))
    assert found[0].tolist() == pytest.approx([1 / (1 + np.exp(-3)), np.exp(-3) / (1 + np.exp(-3)), 0])
    assert found[1].tolist() == pytest.approx([0.5, 0.5, 0], abs=1e-4)
    assert ranges_of(np.array([1, 4, 40, 41, NEVER], np.int32)).tolist() == [
        0,
        3,
        7,
        len(CLICKS),
        len(CLICKS),
    ]


def test_the_same_seed_gives_the_same_map() -> None:
    def make(seed: int) -> dict[str, object]:
        config = MapTrainingConfig(**{**vars(SMALL), "seed": seed})
        return train_map([world], [1.0], config, {"on": []}, Progress(quiet=True)).to_json()

    first = make(0)
    assert first == make(0)
    assert first["worth"] != make(1)["worth"]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="rounds=0: choose 1 or more"):
        MapTrainingConfig(rounds=0)
    with pytest.raises(InputError, match="seed=-1: choose 0 or more"):
        MapTrainingConfig(seed=-1)


def test_where_the_map_is_held_the_constants_decide() -> None:
    lessons = draw(world(), 120)
    plain = lessons._replace(clicks=np.where(lessons.worth == lessons.worth.min(1, keepdims=True), 2, 9))
    config = MapTrainingConfig(epochs=20, batch=64, learning_rate=0.02, weight_decay=0.0)

    def agreement(held: bool) -> float:
        weights, _ = fit_weights([plain], [1.0], [held], config)
        there = np.arange(plain.worth.shape[1]) < plain.counts[:, None]
        added = plain.sights[:, :, : len(OF_LINKS)] @ weights
        worth = np.where(there, plain.worth + added, -np.inf)
        return float((worth.argmax(1) == np.where(there, plain.worth, -np.inf).argmax(1)).mean())

    assert agreement(True) > 0.9 > agreement(False) + 0.1


def test_a_map_that_fails_more_is_found_out() -> None:
    walks, away = world(), BLANK.copy()
    away[OF_LINKS.index("cosine")] = -5  # goes for whatever is least like the goal
    worse, constants = walks.failures(300, np.random.default_rng(0), away)
    assert worse > constants
    assert walks.failures(300, np.random.default_rng(0), BLANK) == (constants, constants)


def test_a_map_is_used_up_to_the_length_of_articles_where_it_is_better() -> None:
    assert longest_articles([8, 2, 32], [True, True, False]) == 16
    # One disagrees either way: the constants, then.
    assert longest_articles([1, 2, 4, 16], [True, True, False, True]) == pytest.approx(8**0.5)
    assert longest_articles([1, 2, 9, 16], [True, False, False, False]) == pytest.approx(2**0.5)
    assert longest_articles([3, 5, 5, 9], [True, True, False, False]) == pytest.approx(
        15**0.5
    )  # one wiki, two tables
    assert longest_articles([3, 4], [False, False]) == 0
    assert longest_articles([], []) == 0
    assert longest_articles([3, 4], [True, True]) == float("inf")
