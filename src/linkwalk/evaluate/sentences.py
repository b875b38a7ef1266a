"""Sentence search: of the goal an agent is shown one random sentence, through the encoder it has for it (sec. 4.1)."""

from collections.abc import Callable

import numpy as np

from linkwalk.embed import Encoder
from linkwalk.embed.text import goal_sentences
from linkwalk.evaluate.tasks import SAMPLINGS, TaskConfig
from linkwalk.graph.store import Graph
from linkwalk.navigate import BLIND, Agent, Episodes, unit_rows
from linkwalk.navigate.journeys import Float32s

_DRAW = 1


def draw_sentences(graph: Graph, episodes: Episodes, config: TaskConfig) -> list[str]:
    """One sentence of each episode's goal: the same for the same task, whoever looks for it, the first n the same.

    Sentences come without the title and have four words or more; a block without such a one is stood for by its whole
    text.
    """
    rng = np.random.default_rng((config.seed, SAMPLINGS.index(config.sampling), config.steps, _DRAW))
    found = []
    for goal, chance in zip(episodes.goals.tolist(), rng.random(episodes.size).tolist(), strict=True):
        sentences = goal_sentences(graph, goal)
        found.append(sentences[int(chance * len(sentences))])
    return found


class SentenceQueries:
    """Shows agents the sentences of a task's goals: to each through its own target encoder, if it has one.

    ``encoder`` is the nodes' own, for agents that have none (``Agent.target``). Every sentence is read once by each
    encoder; ``advance`` hears how many are done.
    """

    def __init__(
        self,
        graph: Graph,
        config: TaskConfig,
        encoder: Encoder | None,
        advance: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.graph, self.config, self.encoder, self.advance = graph, config, encoder, advance
        self._read: dict[int, Float32s] = {}

    def __call__(self, agent: Agent, episodes: Episodes) -> Episodes:
        """The agent's episodes, with queries of unit length; one that looks at nothing gets none."""
        encoder = getattr(agent, "target", None) or self.encoder
        if encoder is None or agent.name in BLIND:
            return episodes
        if id(encoder) not in self._read:
            texts = draw_sentences(self.graph, episodes, self.config)
            distinct = list(dict.fromkeys(texts))
            rows = dict(zip(distinct, range(len(distinct)), strict=True))
            vectors = unit_rows(encoder.encode(distinct))
            self._read[id(encoder)] = vectors[[rows[text] for text in texts]]
            self.advance(episodes.size)
        return episodes._replace(queries=self._read[id(encoder)])
