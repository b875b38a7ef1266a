"""Sentence search: of the goal an agent is shown one random sentence, through the encoder it has for it (sec. 4.1)."""

from collections.abc import Callable, Mapping

import numpy as np

from linkwalk.embed.encoder import TellingEncoder
from linkwalk.embed.text import goal_sentences
from linkwalk.evaluate.tasks import SAMPLINGS, TaskConfig, draw_episodes
from linkwalk.graph.store import Graph
from linkwalk.navigate import Agent, Episodes, unit_rows

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
