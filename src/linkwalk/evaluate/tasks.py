"""What agents are tested on: T-step and multistep navigation, and sentence search (sec. 4.1)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkwalk.arrays import Bools
from linkwalk.embed.encoder import TellingEncoder
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, unit_rows
from linkwalk.walks import ForwardWalks, ReverseWalks

TASKS = ("navigation", "multistep", "sentence")
SAMPLINGS = ("forward", "reverse")
_CHUNK = 1024
_FRUITLESS = 32
_SENTENCES = 1
"""What sets the draw of sentences apart from that of episodes."""


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """A task: walks of T steps, or of Uniform(1, T) steps, whose last node is the goal.

    Sentence search is navigation in which agents are shown one sentence of the goal (``SentenceQueries``).
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
    found, fruitless = [np.zeros((0, 2), np.int32)], 0
    while sum(map(len, found)) < config.episodes:
        walks = sampler.sample(_CHUNK, rng)
        starts, goals = walks.starts, walks.goals
        apart = starts != goals
        if goals_among is not None:
            apart &= goals_among[goals]
        found.append(np.stack((starts, goals), axis=1)[apart])
        fruitless = 0 if apart.any() else fruitless + 1
        if fruitless == _FRUITLESS:
            where = "elsewhere than it began" if goals_among is None else "at such a goal"
            raise InputError(f"no walk of {config.steps} steps ends {where}: the graph has too few links")
    return Episodes.of(*np.concatenate(found)[: config.episodes].T)


def draw_sentences(graph: Graph, episodes: Episodes, config: TaskConfig) -> list[str]:
    """One sentence of each episode's goal: the same for the same task, whoever looks for it, the first n the same.

    Sentences come without the title and have four words or more; a block without such a one is stood for by its whole
    text.
    """
    rng = np.random.default_rng((config.seed, SAMPLINGS.index(config.sampling), config.steps, _SENTENCES))
    found = []
    for goal, chance in zip(episodes.goals.tolist(), rng.random(episodes.size).tolist(), strict=True):
        sentences = goal_sentences(graph, goal)
        found.append(sentences[int(chance * len(sentences))])
    return found


class SentenceQueries:
    """What agents are shown in one task of sentence search: to each the sentences as its own encoder reads them.

    ``encoders`` are the agents', by name: a policy's target encoder, or the one that made the nodes' embeddings. An
    agent that has none is shown the goals themselves (or nothing, as one that looks at nothing needs none). Each
    encoder reads each sentence once; ``advance`` hears how many are done.
    """

    def __init__(
        self,
        graph: Graph,
        config: TaskConfig,
        encoders: Mapping[str, TellingEncoder],
        advance: Callable[[float], None] = lambda _: None,
    ) -> None:
        episodes = draw_episodes(graph.forward, graph.reverse, config)
        self.sentences = draw_sentences(graph, episodes, config)
        distinct = list(dict.fromkeys(self.sentences))
        rows = dict(zip(distinct, range(len(distinct)), strict=True))
        which = [rows[sentence] for sentence in self.sentences]
        read = {
            encoder: unit_rows(encoder.encode(distinct, advance))[which]
            for encoder in dict.fromkeys(encoders.values())
        }
        self.queries = {name: read[encoder] for name, encoder in encoders.items()}

    def __call__(self, agent: Agent, episodes: Episodes) -> Episodes:
        """The agent's episodes, with its queries, of unit length."""
        return episodes._replace(queries=self.queries.get(agent.name))
