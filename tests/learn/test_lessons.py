"""Lessons: distances are true, the right links are among those looked at, withheld pages are in none."""

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.learn.encoders.lessons import FAR, Ground, LessonConfig, Teacher
from linkwalk.learn.own_walks import NothingToDecide
from linkwalk.navigate import unit_rows
from linkwalk.navigate.moves import MoveConfig
from linkwalk.policy.compass import LinearCompass
from tests.graph.conftest import csr
from tests.learn.conftest import WIDTH, World

STRAIGHT = LinearCompass(np.zeros((WIDTH, WIDTH), np.float32), np.zeros(WIDTH, np.float32))
SMALL = LessonConfig(goals=12, steps=8, picks=3, links=2)


def ground_of(world: World, config: LessonConfig = SMALL, **more: object) -> Ground:
    return Ground(world.forward, world.reverse, world.kinds, unit_rows(world.vectors), config, **more)  # type: ignore[arg-type]


def test_every_page_has_its_distance_to_every_goal(world: World) -> None:
    lesson = ground_of(world).draw(3, STRAIGHT, MoveConfig(), np.random.default_rng(0))
    assert lesson.ground == 3
    assert len(np.unique(lesson.pages)) == len(lesson.pages)
    for goal, row in zip(lesson.goals, lesson.distance, strict=True):
        np.testing.assert_array_equal(row, distances_from(world.reverse, int(goal))[lesson.pages])
    assert np.isin(lesson.goals, lesson.pages).all()


def test_a_decision_has_the_nearest_links_and_no_more_than_wanted(world: World) -> None:
    whole = ground_of(world, LessonConfig(goals=12, steps=8, picks=3, links=50))
    for seed in range(3):
        few = ground_of(world).draw(0, STRAIGHT, MoveConfig(), np.random.default_rng(seed))
        all_ = whole.draw(0, STRAIGHT, MoveConfig(), np.random.default_rng(seed))
        assert (np.diff(few.bounds) == 2).all()
        # The same walks: the nearest of two is the nearest of all.
        nearest = [
            np.minimum.reduceat(
                lesson.distance[np.repeat(lesson.goal, np.diff(lesson.bounds)), lesson.page],
                lesson.bounds[:-1],
            )
            for lesson in (few, all_)
        ]
        np.testing.assert_array_equal(*nearest)


def test_withheld_pages_are_neither_goals_nor_wrong_answers(world: World) -> None:
    withheld = np.arange(world.forward.nodes) % 3 == 0
    ground = ground_of(world, withheld=withheld)
    rng = np.random.default_rng(0)
    for _ in range(5):
        lesson = ground.draw(0, STRAIGHT, MoveConfig(), rng)
        assert not withheld[lesson.goals].any()
        assert not withheld[lesson.pages].any()
    with pytest.raises(InputError, match="too few goals"):
        ground_of(world, withheld=np.ones(world.forward.nodes, np.bool_)).draw(0, STRAIGHT, MoveConfig(), rng)


def test_what_cannot_reach_the_goal_is_far() -> None:
    forward = csr(4, [(0, 1), (0, 2), (1, 0), (2, 3), (1, 2)])
    lonely = World(
        forward,
        csr(4, sorted((b, a) for a, b in [(0, 1), (0, 2), (1, 0), (2, 3), (1, 2)])),
        np.full(5, 2, np.uint8),
        np.eye(4, WIDTH, dtype=np.float32),
    )
    seen = [
        ground_of(lonely, LessonConfig(goals=4, steps=3)).draw(
            0, STRAIGHT, MoveConfig(), np.random.default_rng(seed)
        )
        for seed in range(4)
    ]
    away = np.concatenate(
        [
            lesson.distance[:, np.searchsorted(lesson.pages, 3)][lesson.goals != 3]
            for lesson in seen
            if 3 in lesson.pages
        ]
    )
    assert len(away)
    assert (away == FAR).all()


@pytest.mark.parametrize("ahead", [0, 64])
def test_lessons_come_from_all_grounds(world: World, ahead: int) -> None:
    grounds = [ground_of(world), ground_of(world)]
    share = np.array([0.5, 0.5])
    teacher = Teacher(
        grounds, share, lambda: STRAIGHT, MoveConfig(), np.random.default_rng(0), ahead=ahead, workers=2
    )
    try:
        assert {teacher.lesson().ground for _ in range(20)} == {0, 1}
    finally:
        teacher.close()
    assert not any(thread.is_alive() for thread in teacher._threads)


def test_what_goes_wrong_in_another_thread_is_said(world: World) -> None:
    forward = csr(2, [(0, 1), (1, 0)])
    tiny = World(forward, forward, np.full(2, 2, np.uint8), np.eye(2, WIDTH, dtype=np.float32))
    teacher = Teacher(
        [ground_of(tiny)],
        np.ones(1),
        lambda: STRAIGHT,
        MoveConfig(),
        np.random.default_rng(0),
        ahead=2,
        workers=1,
    )
    with pytest.raises(NothingToDecide):
        teacher.lesson()
    teacher.close()
