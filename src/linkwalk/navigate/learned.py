"""A learned policy as an agent: all episodes step together, one batch of decisions per step (sec. 4.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.graph.csr import Csr, gather_rows
from linkwalk.navigate.journeys import Episodes, Journeys
from linkwalk.policy.decisions import Decisions, visited_targets
from linkwalk.policy.heads import Table, log_softmax

_CHUNK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class LearnedConfig:
    """How the policy's probabilities become clicks."""

    revisit: bool = False
    """Whether it may go to a page it has been at; if not, it does so only where every link leads to such a page."""


class Learned:
    """The most probable link of a trained head, on one graph and its embeddings."""

    def __init__(
        self,
        name: str,
        head: nn.Module,
        graph: Csr,
        kinds: NDArray[np.uint8],
        vectors: NDArray[Any] | Table,
        config: LearnedConfig = LearnedConfig(),  # noqa: B008 (frozen)
    ) -> None:
        self.name, self.head, self.graph, self.kinds, self.config = name, head, graph, kinds, config
        device = str(next(head.parameters()).device)
        self.table = vectors if isinstance(vectors, Table) else Table.of(vectors, device)

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps; nothing is left to chance."""
        journeys = Journeys.blank(episodes.size, budget)
        nodes, queries = journeys.nodes, self._queries(episodes)
        nodes[:, 0] = episodes.starts
        going = np.flatnonzero(episodes.starts != episodes.goals)
        journeys.success[episodes.starts == episodes.goals] = True
        for step in range(budget):
            current = nodes[going, step]
            going = going[self.graph.indptr[current + 1] > self.graph.indptr[current]]  # a dead end is an end
            if not len(going):
                break
            current = nodes[going, step]
            indptr, target = gather_rows(self.graph.indptr, self.graph.indices, current)
            _, kind = gather_rows(self.graph.indptr, self.kinds, current)
            visited = visited_targets(nodes, going, np.full(len(going), step), indptr, target)
            none = np.zeros(0, np.int64)
            decisions = Decisions(current, episodes.goals[going], indptr, target, kind, visited, none)
            choice, probability = self.choose(decisions, None if queries is None else queries[going])
            taken = target[indptr[:-1] + choice]
            journeys.choices[going, step] = choice
            journeys.probabilities[going, step] = probability
            journeys.looped[going] |= visited[indptr[:-1] + choice]
            nodes[going, step + 1] = taken
            journeys.steps[going] = step + 1
            arrived = taken == episodes.goals[going]
            journeys.success[going[arrived]] = True
            going = going[~arrived]
        return journeys

    @torch.inference_mode()
    def choose(
        self, decisions: Decisions, goal: Tensor | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Which of its actions each decision takes, and how probable that was; ``goal`` [S, D] stands for the goals."""
        logits, owner = self.table.logits(self.head, decisions, goal)
        likely = log_softmax(logits, owner, len(decisions.current))
        score = likely.cpu().numpy().copy()
        if not self.config.revisit:
            score[decisions.visited] -= (
                1e6  # below every page that is new, in the same order among themselves
            )
        order = np.lexsort((-score, owner.cpu().numpy()))
        best = order[decisions.indptr[:-1]]
        return best - decisions.indptr[:-1], likely.exp().cpu().numpy()[best]

    def _queries(self, episodes: Episodes) -> Tensor | None:
        """What it is shown of the goals [B, D], as long as the table's vectors are; None: their own vectors."""
        if episodes.queries is None:
            return None
        vectors = self.table.vectors
        # Queries have unit length; a head that was trained on vectors as they are must not see shorter ones.
        starts = range(0, len(vectors), _CHUNK)
        norms = [torch.linalg.vector_norm(vectors[at : at + _CHUNK].float(), dim=-1) for at in starts]
        length = torch.cat(norms).mean()
        return torch.from_numpy(episodes.queries).to(vectors.device) * length
