from pathlib import Path

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.games.tasks import draw_tasks
from linkwalk.graph.paths import distances_from
from tests.graph.conftest import random_graph


def test_tasks_are_what_they_say(tmp_path: Path) -> None:
    graph = random_graph(tmp_path / "wiki", np.random.default_rng(5), articles=60)
    header, *tasks = draw_tasks(graph, 30, 7, 25)
    assert (header["wiki"], header["budget"]) == (graph.fingerprint, 25)
    assert [header, *tasks] == list(draw_tasks(graph, 30, 7, 25))
    assert tasks != list(draw_tasks(graph, 30, 8, 25))[1:]
    assert len({(task["start"], task["goal"]) for task in tasks}) == 30
    for task in tasks:
        away = distances_from(graph.forward, graph.find(task["start"]))
        assert away[graph.find(task["goal"])] == task["optimum"]
        low, high = header["difficulties"][task["difficulty"]]
        assert 2 <= low <= task["optimum"] <= high <= 12, "at most half the budget"
    assert {task["difficulty"] for task in tasks} == {"easy", "middle", "hard"}


def test_a_wiki_may_be_too_small(tmp_path: Path) -> None:
    graph = random_graph(tmp_path / "wiki", np.random.default_rng(5), articles=5)
    with pytest.raises(InputError, match="too small for 500 tasks"):
        list(draw_tasks(graph, 500, 0, 30))
