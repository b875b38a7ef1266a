"""Agents whose graph and embeddings are on a GPU: thousands of journeys step together, no step waits for the host."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from linkwalk.gpu.decisions import Journey, click, share_of_goal, states
from linkwalk.gpu.walks import DeviceGraph
from linkwalk.navigate.journeys import ENDED, Episodes, Journeys
from linkwalk.policy.heads import FeedForward

_LOOK_UP = 10
"""Steps between two looks at whether any journey still goes on: each look waits for the device."""


@dataclass(eq=False)
class DeviceAgent:
    """Greedy-unvisited by cosine or, with a head, the most probable link of the paper's feed-forward policy.

    Does as ``GreedyUnvisited`` (without a back button) and ``PolicyWalker`` do, up to the rounding of sums; ``vectors``
    [N, D] in any precision, of any length.
    """

    name: str
    graph: DeviceGraph
    vectors: Tensor
    head: FeedForward | None = None
    revisit: bool = False

    @torch.inference_mode()
    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps; nothing is left to chance."""
        device = self.vectors.device
        journey = _blank(episodes, budget, device)
        if episodes.queries is None:
            query = self.vectors[journey.goals].float()
        else:
            query = torch.from_numpy(episodes.queries).to(device)
        if self.head is None:
            state = normalize(query, dim=-1)
        else:
            of_goal = share_of_goal(self.head, query)
        for step in range(budget):
            here = journey.nodes[:, step]
            if step % _LOOK_UP == 0 and not ((here >= 0) & (here != journey.goals)).any():
                break
            if self.head is not None:
                state = states(self.head, self.vectors[here].float(), of_goal)
            cosine = self.head is None
            click(state, self.vectors, self.graph, journey, step, cosine=cosine, revisit=self.revisit)
        _, nodes, choices, probabilities, steps, success, looped = (x.cpu().numpy() for x in journey)
        return Journeys(nodes, choices, probabilities, steps, success.astype(bool), looped.astype(bool))


def _blank(episodes: Episodes, budget: int, device: torch.device) -> Journey:
    starts, goals = (torch.from_numpy(x).to(device) for x in (episodes.starts, episodes.goals))
    count = len(starts)
    nodes = torch.full((count, budget + 1), -1, dtype=torch.int32, device=device)
    nodes[:, 0] = starts
    return Journey(
        goals,
        nodes,
        torch.full((count, budget), ENDED, dtype=torch.int32, device=device),
        torch.zeros((count, budget), device=device),
        torch.zeros(count, dtype=torch.int32, device=device),
        (starts == goals).byte(),
        torch.zeros(count, dtype=torch.uint8, device=device),
    )
