"""Actors: B episodes walked side by side by a policy that draws its links, and the look back at what was done.

What is kept of a step is where it was taken, not what was seen there: links, their embeddings and the visited bits are
looked up again by whoever learns, so an unroll is small however many links a page has.

Shapes: T steps of an unroll, B episodes, P pages that an episode can stand on; A links of S pages, ragged.
"""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from linkwalk.gpu.decisions import (
    OutLinks,
    figures_of,
    first_of,
    fits_shares,
    has_states,
    last_seen,
    out_links,
    shares_of_states,
    sizes_of,
    states_of,
)
from linkwalk.gpu.walks import DeviceGraph, runs_kernels
from linkwalk.graph.store import TYPES
from linkwalk.policy.heads import CompassHead, highest, log_softmax

if TYPE_CHECKING:
    from linkwalk.envs.on_torch import NavigationOnDevice


class Unroll(NamedTuple):
    """T steps of B episodes; one that ends is followed by the next in the same column."""

    current: Tensor
    """n_t [T, B] int32."""
    goal: Tensor
    """n_g [T, B] int32."""
    landed: Tensor
    """Where the step led [T, B] int32, before any new episode began."""
    path: Tensor
    """Pages stood on in this episode [T, B, P] int32, -1 behind the last."""
    steps: Tensor
    """How many steps of its episode came before [T, B]."""
    action: Tensor
    """Which of its page's links was clicked [T, B]."""
    log_mu: Tensor
    """How likely that was to the policy that acted, as a logarithm [T, B]."""
    reward: Tensor
    terminated: Tensor
    truncated: Tensor

    @classmethod
    def blank(cls, length: int, count: int, pages: int, device: torch.device) -> "Unroll":
        """One whose steps are still to be taken."""
        dtypes = [torch.int32] * 4 + [torch.int64] * 2 + [torch.float32] * 2 + [torch.bool] * 2
        columns = [torch.empty((length, count), dtype=dtype, device=device) for dtype in dtypes]
        return cls(*columns)._replace(path=columns[3].new_empty((length, count, pages)))

    def places(self, part: slice) -> "Places":
        """Some of the pages that were stood on, one after another."""
        columns = self.current, self.goal, self.path, self.steps
        return Places(*(column.flatten(0, 1)[part] for column in columns))


class Places(NamedTuple):
    """S pages to choose a link of, each in its episode."""

    current: Tensor
    goal: Tensor
    path: Tensor
    steps: Tensor


def likelihoods(
    head: nn.Module, vectors: Tensor, graph: DeviceGraph, places: Places
) -> tuple[OutLinks, Tensor]:
    """The links of S pages, and how likely a policy is to click each [A]; ``vectors`` [N, D] in any precision."""
    links = out_links(graph, places.current)
    visited = last_seen(places.path, places.steps, links) >= 0
    traits = torch.cat((one_hot(links.kind.long(), len(TYPES)), visited[:, None]), -1).float()
    current, goal, target = (vectors[x].float() for x in (places.current, places.goal, links.target))
    logits: Tensor = head(current, goal, target, traits, links.owner)
    return links, log_softmax(logits, links.owner, len(current))


class Hindsight(NamedTuple):
    """What a policy thinks now of S steps that were taken."""

    log_pi: Tensor
    """How likely it is to do the same, as a logarithm [S]."""
    entropy: Tensor
    """[S]"""


def sees_at_once(head: nn.Module, device: torch.device) -> bool:
    """Whether ``look_back`` reads the links of all steps in one kernel, with nothing of their size in memory."""
    return runs_kernels(device) and has_states(head)


def look_back(
    head: nn.Module, vectors: Tensor, graph: DeviceGraph, places: Places, action: Tensor
) -> Hindsight:
    """What a policy thinks of the links that were clicked, with gradients."""
    if sees_at_once(head, vectors.device):
        current, goal = (vectors[x].float() for x in (places.current, places.goal))

        def launch(state: Tensor) -> tuple[list[Tensor], list[Tensor]]:
            from linkwalk.gpu import acting_kernels

            figures = [state.new_empty(len(state)) for _ in range(2)]
            gradients = [torch.empty_like(state) for _ in range(2)]
            pages = places.path.shape[1]
            acting_kernels.look_back[(len(state),)](
                state,
                vectors,
                *graph,
                places.current,
                places.path,
                places.steps,
                action,
                *figures,
                *gradients,
                PAGES=pages,
                COSINE=isinstance(head, CompassHead),
                **sizes_of(vectors, pages),
            )
            return figures, gradients

        return Hindsight(*figures_of(states_of(head, current, goal), launch))
    links, log_pi = likelihoods(head, vectors, graph, places)
    entropy = torch.zeros(len(action), device=log_pi.device)
    entropy = entropy.scatter_add(0, links.owner, -log_pi.exp() * log_pi)
    return Hindsight(taken(log_pi, links, action), entropy)


class Actors(NamedTuple):
    """Episodes of an environment that begins no episode by itself (``autoreset`` off)."""

    environment: "NavigationOnDevice"
    vectors: Tensor

    def at_once(self, head: nn.Module) -> bool:
        """Whether an unroll is one kernel: it then takes its episodes from the environment's stock."""
        return sees_at_once(head, self.vectors.device) and fits_shares(self.vectors)

    @torch.no_grad()
    def act(self, head: nn.Module, length: int) -> Unroll:
        """Go on for ``length`` steps; chance is torch's."""
        core = self.environment
        unroll = Unroll.blank(length, core.count, core.path.shape[1], core.device)
        if length <= core.store and self.at_once(head):
            return self._act_at_once(head, unroll)
        for t in range(length):
            unroll.current[t], unroll.goal[t] = core.current, core.goal
            unroll.path[t], unroll.steps[t] = core.path, core.steps
            here = unroll.places(slice(t * core.count, (t + 1) * core.count))
            unroll.action[t], unroll.log_mu[t] = self._draw(head, here)
            unroll.reward[t], _ = core.move(unroll.action[t])
            unroll.landed[t] = core.current
            unroll.terminated[t], unroll.truncated[t] = core.terminated, core.truncated
            core.renew()
        return unroll

    def _act_at_once(self, head: nn.Module, unroll: Unroll) -> Unroll:
        """The same in one kernel, by other draws of the same chances."""
        from linkwalk.gpu.acting_kernels import act

        core = self.environment
        seed = torch.randint(1 << 62, (1,), device=core.device)
        flags = (x.view(torch.uint8) for x in (unroll.terminated, unroll.truncated))
        act[(core.count,)](
            *shares_of_states(head, self.vectors),
            self.vectors,
            *core.graph,
            core.stock(len(unroll.current)),
            seed,
            *(core.current, core.goal, core.steps, core.path, core.taken),
            *unroll[:-2],
            *flags,
            core.count,
            len(unroll.current),
            BUDGET=core.rules.budget,
            STORE=core.store,
            COSINE=isinstance(head, CompassHead),
            **sizes_of(self.vectors, core.rules.budget + 1),
        )
        return unroll

    def _draw(self, head: nn.Module, places: Places) -> tuple[Tensor, Tensor]:
        """A link of each page [B], drawn as likely as the policy thinks, and how likely that was [B]."""
        links, log_pi = likelihoods(head, self.vectors, self.environment.graph, places)
        # The largest of log-probabilities with Gumbel noise is distributed as the policy is.
        noisy = log_pi - torch.empty_like(log_pi).exponential_().log()
        count = len(places.current)
        best = highest(noisy, links.owner, count)
        action = first_of(noisy == best[links.owner], links, count)
        return action, taken(log_pi, links, action)


def taken(values: Tensor, links: OutLinks, action: Tensor) -> Tensor:
    """What links have [A], of the one that each page's episode clicked [S]."""
    count = torch.zeros_like(action).scatter_add(0, links.owner, torch.ones_like(links.owner))
    return values.index_select(0, count.cumsum(0) - count + action)
