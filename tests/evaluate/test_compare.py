"""Agents beside each other."""

import numpy as np

from linkwalk.evaluate import TaskConfig, compare, draw_episodes
from linkwalk.graph.csr import transpose
from linkwalk.graph.paths import ShortestPaths
from linkwalk.navigate import BASELINES, REFERENCE, Episodes, Journeys, Walker, open_baseline, unit_rows
from tests.graph.conftest import csr

RNG = np.random.default_rng(8)
GRAPH = csr(80, [(int(a), int(b)) for a, b in RNG.integers(80, size=(240, 2))])
VECTORS = unit_rows(RNG.normal(size=(80, 5)))
TASK = TaskConfig(steps=5, episodes=150, seed=1)


def agents(*names: str) -> list[Walker]:
    return [open_baseline(name, GRAPH, VECTORS) for name in names]


class Oracle:
    """Takes the shortest path."""

    name = "oracle"

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        journeys = Journeys.blank(episodes.size, budget)
        journeys.steps[:] = ShortestPaths(GRAPH, transpose(GRAPH)).distances(episodes.starts, episodes.goals)
        journeys.success[:] = True
        return journeys


def test_the_company_changes_nothing() -> None:
    everyone = agents(*BASELINES)
    together = list(compare(GRAPH, transpose(GRAPH), TASK, everyone, everyone[2], budget=15))
    assert [result.agent for result in together] == list(BASELINES)
    for agent, result in zip(everyone, together, strict=True):
        alone = list(compare(GRAPH, transpose(GRAPH), TASK, [agent], agents(REFERENCE)[0], budget=15))
        assert alone == [result]
    assert together[2].scores.failure_ratio == 1


def test_figures_are_those_of_the_journeys() -> None:
    (agent,) = agents("greedy-unvisited")
    (result,) = compare(GRAPH, transpose(GRAPH), TASK, [agent], None, budget=9)
    episodes = draw_episodes(GRAPH, transpose(GRAPH), TASK)
    journeys = agent.run(episodes, budget=9, seed=1)
    assert 0 < result.scores.success == journeys.success.mean() < 1
    assert result.scores.failure_ratio is None
    assert sum(share.episodes for share in result.scores.by_distance) == 150
    assert sum(share.episodes for share in result.scores.by_in_degree) == 150


def test_any_agent_may_come_and_the_optimum_has_spl_one() -> None:
    finished: list[int] = []
    (result,) = compare(
        GRAPH, transpose(GRAPH), TASK, [Oracle()], agents(REFERENCE)[0], budget=5, advance=finished.append
    )
    assert result.scores.spl == result.scores.success == 1
    assert result.scores.mean_steps == result.scores.mean_distance
    assert result.scores.failure_ratio == 0
    assert finished == [150, 150]
    assert list(result.to_json())[:6] == ["agent", "task", "steps", "sampling", "episodes", "success"]
