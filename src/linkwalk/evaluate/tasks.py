"""What agents are tested on: T-step and multistep navigation, and sentence search (sec. 4.1)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkwalk.arrays import Bools
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate import Episodes
from linkwalk.walks import ForwardWalks, ReverseWalks

TASKS = ("navigation", "multistep", "sentence")
SAMPLINGS = ("forward", "reverse")
_CHUNK = 1024
_FRUITLESS = 32


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """A task: walks of T steps, or of Uniform(1, T) steps, whose last node is the goal.

    Sentence search is navigation in which agents are shown one sentence of the goal (``sentences.py``).
    """

    task: Literal["navigation", "multistep", "sentence"] = "navigation"
    steps: int = 10
    """T."""
    sampling: Literal["forward", "reverse"] = "forward"
    """Whether the start is uniform and the goal walked to, or the goal uniform and the start walked back to."""
    episodes: int = 1000
    seed: int = 0


def draw_episodes(
    forward: Csr, reverse: Csr, config: TaskConfig, goals_among: Bools | None = None
) -> Episodes:
    """Draw the task's episodes: the same for the same configuration, and the first n the same for any number.

    A walk that ends where it began is no episode, and another is drawn; so is one whose goal is not ``goals_among``
    [N], where these are given. The goal can be reached, since the walk did.
    """
    multistep = config.task == "multistep"
    sampler = (
        ForwardWalks(forward, steps=config.steps, multistep=multistep)
        if config.sampling == "forward"
        else ReverseWalks(forward, reverse, steps=config.steps, multistep=multistep)
    )
    key = (config.seed, TASKS.index(config.task), SAMPLINGS.index(config.sampling), config.steps)
    rng = np.random.default_rng(key)
    starts, goals = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    found = fruitless = 0
    while found < config.episodes:
        walks = sampler.sample(_CHUNK, rng)
        start, goal = walks.nodes[:, 0], walks.nodes[np.arange(_CHUNK), walks.lengths]
        apart = start != goal
        if goals_among is not None:
            apart &= goals_among[goal]
        starts.append(start[apart])
        goals.append(goal[apart])
        found += int(apart.sum())
        fruitless = 0 if apart.any() else fruitless + 1
        if fruitless == _FRUITLESS:
            where = "elsewhere than it began" if goals_among is None else "at such a goal"
            raise InputError(f"no walk of {config.steps} steps ends {where}: the graph has too few links")
    return Episodes.of(np.concatenate(starts)[: config.episodes], np.concatenate(goals)[: config.episodes])
