"""Agents with a stopwatch: what a step costs is told beside what it brings (table 7)."""

import time
from collections.abc import Callable
from functools import cached_property

from linkwalk.embed.encoder import TellingEncoder
from linkwalk.navigate import Agent, Episodes, Journeys

_WARM = 4


class Timed:
    """An agent with a stopwatch, opened when its turn comes: then its policy is trained, if it has to be."""

    def __init__(self, open_agent: Callable[[], Agent], open_reader: Callable[[], TellingEncoder]) -> None:
        self._open, self._open_reader = open_agent, open_reader
        self.seconds, self.steps = 0.0, 0

    @cached_property
    def _agent(self) -> Agent:
        return self._open()

    @cached_property
    def reader(self) -> TellingEncoder:
        """What it sees sentences through."""
        return self._open_reader()

    @property
    def name(self) -> str:
        """What the agent is called."""
        return self._agent.name

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Run the agent, and note how long it took and how many steps it made."""
        self._agent.run(episodes.part(0, _WARM), budget=budget, seed=seed)  # what is compiled is compiled now
        started = time.perf_counter()
        journeys = self._agent.run(episodes, budget=budget, seed=seed)
        self.seconds = time.perf_counter() - started
        self.steps = int(journeys.steps.sum())
        return journeys
