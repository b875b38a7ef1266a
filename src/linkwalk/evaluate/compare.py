"""Several agents on the same episodes of one task, each beside the reference (sec. 5.2)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linkwalk.arrays import Bools
from linkwalk.evaluate.metrics import Scores, score
from linkwalk.evaluate.tasks import TaskConfig, draw_episodes
from linkwalk.graph.csr import Csr
from linkwalk.graph.paths import ShortestPaths
from linkwalk.navigate import Agent, Episodes, Journeys

Show = Callable[[Agent, Episodes], Episodes]
"""Gives an agent's episodes the queries that it is shown."""
Keep = Callable[[Agent, Episodes, Journeys], None]
"""Hears what an agent did."""


@dataclass(frozen=True)
class Result:
    """What one agent made of one task."""

    agent: str
    task: TaskConfig
    scores: Scores

    def to_json(self) -> dict[str, Any]:
        """As ``linkwalk eval --json`` prints it."""
        return {
            "agent": self.agent,
            "task": self.task.task,
            "steps": self.task.steps,
            "sampling": self.task.sampling,
            **asdict(self.scores),
        }


def compare(
    forward: Csr,
    reverse: Csr,
    task: TaskConfig,
    agents: Sequence[Agent],
    reference: Agent | None,
    *,
    budget: int = 100,
    goals_among: Bools | None = None,
    show: Show = lambda _, episodes: episodes,
    keep: Keep = lambda *_: None,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Result]:
    """Run the agents one after the other; ``reference`` is run once, whether or not it is among them.

    ``goals_among`` [N] are the blocks that may be goals, where not all may. ``show`` says what each agent is shown of
    the goals (all of them, unless told); ``keep`` hears what the ``agents`` did, ``advance`` of finished episodes.
    """
    episodes = draw_episodes(forward, reverse, task, goals_among)
    distances = ShortestPaths(forward, reverse).distances(episodes.starts, episodes.goals)
    in_degrees = reverse.degrees()[episodes.goals]

    def run(agent: Agent) -> Journeys:
        journeys = agent.run(show(agent, episodes), budget=budget, seed=task.seed)
        advance(episodes.size)
        return journeys

    measure = None if reference is None else run(reference)
    for agent in agents:
        journeys = measure if measure is not None and agent is reference else run(agent)
        keep(agent, episodes, journeys)
        # The same resamples for every agent: their intervals differ by what the agents did alone.
        rng = np.random.default_rng((task.seed, task.steps))
        yield Result(agent.name, task, score(journeys, distances, in_degrees, measure, rng))
