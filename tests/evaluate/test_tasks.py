"""Episodes: reachable, apart, repeatable, and of the length the task says."""

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.evaluate import SAMPLINGS, TASKS, TaskConfig, draw_episodes
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.paths import ShortestPaths
from linkwalk.navigate import Episodes
from tests.graph.conftest import csr


def draw(graph: Csr, **options: object) -> Episodes:
    return draw_episodes(graph, transpose(graph), TaskConfig(**options))  # type: ignore[arg-type]


@pytest.fixture
def graph() -> Csr:
    rng = np.random.default_rng(2)
    return csr(60, [(int(a), int(b)) for a, b in rng.integers(60, size=(150, 2))])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_goals_are_elsewhere_and_can_be_reached_in_t_steps(graph: Csr, task: str, sampling: str) -> None:
    episodes = draw(graph, task=task, sampling=sampling, steps=6, episodes=3000)
    assert episodes.size == 3000
    assert (episodes.starts != episodes.goals).all()
    distances = ShortestPaths(graph, transpose(graph)).distances(episodes.starts, episodes.goals)
    assert distances.min() >= 1
    assert distances.max() <= 6
    assert episodes.numbers.tolist() == list(range(3000))


def test_the_seed_decides_and_more_episodes_begin_with_the_same(graph: Csr) -> None:
    some, more = draw(graph, episodes=40, seed=3), draw(graph, episodes=2500, seed=3)
    assert some.starts.tolist() == more.starts[:40].tolist()
    assert some.goals.tolist() == more.goals[:40].tolist()
    for other in ({"seed": 4}, {"steps": 11}, {"task": "multistep"}, {"sampling": "reverse"}):
        changed = draw(graph, **({"episodes": 40, "seed": 3} | other))
        assert (changed.starts.tolist(), changed.goals.tolist()) != (
            some.starts.tolist(),
            some.goals.tolist(),
        )


def test_navigation_takes_all_steps_and_multistep_a_number_from_one_to_t() -> None:
    ring = csr(50, [(i, (i + 1) % 50) for i in range(50)])
    for sampling in SAMPLINGS:
        far = draw(ring, steps=8, episodes=200, sampling=sampling)
        assert set(((far.goals - far.starts) % 50).tolist()) == {8}
        any_number = draw(ring, task="multistep", steps=8, episodes=4000, sampling=sampling)
        counts = np.bincount((any_number.goals - any_number.starts) % 50, minlength=9)
        assert counts[0] == 0
        assert len(counts) == 9
        assert abs(counts[1:] / 4000 - 1 / 8).max() < 0.03


def test_which_end_is_uniform_depends_on_the_sampling() -> None:
    # All leaves link to the hub and it links to the first: forward goals are the hub, reverse goals are even.
    star = csr(9, [(i, 0) for i in range(1, 9)] + [(0, 1)])
    forward = draw(star, steps=1, episodes=4000)
    assert abs(np.bincount(forward.starts, minlength=9) / 4000 - 1 / 9).max() < 0.03
    reverse = draw(star, steps=1, episodes=4000, sampling="reverse")
    assert abs((reverse.goals == 0).mean() - 1 / 2) < 0.03


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1), (1, 0)]])
def test_a_graph_without_such_walks_is_refused(edges: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError, match="links"):
        draw(csr(2, edges), steps=2)
