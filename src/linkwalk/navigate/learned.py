"""A learned policy as an agent: all episodes step together, one batch of decisions per step (sec. 4.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.compiled import kernel
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, Int32s, Int64s
from linkwalk.navigate.journeys import BACK, Bools, Episodes, Float32s, Journeys
from linkwalk.policy.decisions import Decisions, actions_at, visited_targets
from linkwalk.policy.heads import Table, log_softmax
from linkwalk.walks.draws import draw, key_of

_CHUNK = 1 << 16
_NONE = -1
_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class LearnedConfig:
    """How the policy's probabilities become clicks; the paper does not say, so tables name which."""

    revisit: bool = False
    """Whether it may go to a page it has been at; if not, it does so only where every link leads to such a page."""
    sampled: bool = False
    """Whether a link is drawn by its probability; otherwise the most probable one is taken."""
    back: bool = False
    """Whether it has a back button: the best unseen links of the last pages compete by their probability there, as it
    was when the agent last had to look. Where all have been seen it goes back, and from the start to the page seen
    longest ago."""
    window: int = 16
    """How many pages compete, the current one among them."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.window < 1:
            raise InputError(f"window={self.window}: choose 1 or more pages")
        if self.back and (self.sampled or self.revisit):
            raise InputError(
                "a policy with a back button takes the best unseen link of the last pages: "
                "it neither draws links nor returns to pages it has seen"
            )


class Learned:
    """A trained head on one graph and its embeddings."""

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
        """Try each episode within ``budget`` steps; the seed matters only where links are drawn."""
        journeys = Journeys.blank(episodes.size, budget)
        queries = self._queries(episodes)
        journeys.nodes[:, 0] = episodes.starts
        journeys.success[:] = episodes.starts == episodes.goals
        going = np.flatnonzero(~journeys.success)
        stacks = _Stacks(episodes.starts, budget, self.config.window) if self.config.back else None
        for step in range(budget):
            current = journeys.nodes[going, step]
            stuck = self.graph.indptr[current + 1] == self.graph.indptr[current]
            going = going[~stuck] if stacks is None else going[~stuck | (stacks.top[going] > 0)]
            if not len(going):
                break
            if stacks is None:
                choice, probability, taken = self._click(episodes, journeys, queries, going, step, seed)
            else:
                choice, probability, taken = self._click_or_back(
                    episodes, journeys, queries, going, step, stacks
                )
            clicked = choice != BACK
            seen = (journeys.nodes[going, : step + 1] == taken[:, None]).any(1)
            journeys.looped[going] |= clicked & seen
            journeys.choices[going, step] = choice
            journeys.probabilities[going, step] = probability
            journeys.nodes[going, step + 1] = taken
            journeys.steps[going] = step + 1
            arrived = taken == episodes.goals[going]
            journeys.success[going[arrived]] = True
            going = going[~arrived]
        return journeys

    def _click(
        self,
        episodes: Episodes,
        journeys: Journeys,
        queries: Tensor | None,
        going: Int64s,
        step: int,
        seed: int,
    ) -> tuple[Int64s, Float32s, Int32s]:
        """One of the current page's links: its number, its probability, its target."""
        decisions, likely = self._look(
            episodes, journeys, queries, going, journeys.nodes[going, step], np.full(len(going), step)
        )
        if self.config.sampled:
            open_ = np.ones(len(likely), np.bool_) if self.config.revisit else ~decisions.visited
            choice = _drawn(likely, open_, decisions.indptr, episodes.numbers[going], step, np.uint64(seed))
        else:
            # Pages seen before come below every new one, in the same order among themselves.
            score = likely if self.config.revisit else likely - 1e6 * decisions.visited
            choice = _best(score, decisions.indptr)
        at = decisions.indptr[:-1] + choice
        return choice, np.exp(likely[at]), decisions.target[at]

    def _click_or_back(
        self,
        episodes: Episodes,
        journeys: Journeys,
        queries: Tensor | None,
        going: Int64s,
        step: int,
        stacks: "_Stacks",
    ) -> tuple[Int64s, Float32s, Int32s]:
        """The best unseen link of the last pages, or one press of the back button towards it."""
        row, slot = stacks.stale(going, journeys.nodes[:, : step + 1])
        pages = stacks.opened[row, slot]
        linked = self.graph.indptr[pages + 1] > self.graph.indptr[pages]
        stacks.link[row[~linked], slot[~linked]] = _NONE
        row, slot, pages = row[linked], slot[linked], pages[linked]
        if len(row):
            decisions, likely = self._look(
                episodes, journeys, queries, row, pages, np.full(len(row), step, np.int64)
            )
            choice = _best(np.where(decisions.visited, -np.inf, likely), decisions.indptr)
            at = decisions.indptr[:-1] + choice
            stacks.score[row, slot] = likely[at]
            stacks.target[row, slot] = decisions.target[at]
            stacks.link[row, slot] = np.where(decisions.visited[at], _NONE, choice)
        slot = stacks.best(going)
        top = stacks.top[going]
        none = slot == _NONE
        back = np.where(none, top > 0, slot < top)
        choice, probability = stacks.link[going, slot], np.exp(stacks.score[going, slot])
        taken = stacks.target[going, slot].copy()
        for i in np.flatnonzero(
            none & ~back
        ).tolist():  # at the start, all seen: to the page seen longest ago
            targets = self.graph.row(int(journeys.nodes[going[i], step]))
            path = journeys.nodes[going[i], : step + 1]
            last = np.array([np.flatnonzero(path == target)[-1] for target in targets])
            choice[i], probability[i], taken[i] = int(last.argmin()), 1.0, targets[last.argmin()]
        choice[back], probability[back] = BACK, 1.0
        taken[back] = stacks.opened[going[back], top[back] - 1]
        stacks.move(going, back, taken)
        return choice, probability, taken

    @torch.inference_mode()
    def _look(
        self,
        episodes: Episodes,
        journeys: Journeys,
        queries: Tensor | None,
        row: Int64s,
        pages: Int32s,
        step: Int64s,
    ) -> tuple[Decisions, Float32s]:
        """The links of pages, one page for each episode of ``row``, and their log-probabilities."""
        indptr, target, kind = actions_at(self.graph, self.kinds, pages)
        visited = visited_targets(journeys.nodes, row, step, indptr, target)
        none = np.zeros(0, np.int64)
        decisions = Decisions(pages, episodes.goals[row], indptr, target, kind, visited, none)
        logits, owner = self.table.logits(self.head, decisions, None if queries is None else queries[row])
        likely: Float32s = log_softmax(logits, owner, len(pages)).cpu().numpy()
        return decisions, likely

    def look(self, episodes: Episodes, journeys: Journeys, episode: int = 0) -> tuple[Int64s, Float32s]:
        """What the head says of the pages of one journey: log-probabilities of each page's links, and their bounds."""
        pages = journeys.path(episode)[:-1]
        degrees = self.graph.indptr[pages + 1] - self.graph.indptr[pages]
        steps = np.flatnonzero(degrees)
        row = np.full(len(steps), episode, np.int64)
        likely = np.zeros(0, np.float32)
        if len(steps):
            likely = self._look(episodes, journeys, self._queries(episodes), row, pages[steps], steps)[1]
        return np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)]), likely

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


class _Stacks:
    """The pages behind every episode's back button [B, T + 1], each with its best unseen link."""

    def __init__(self, starts: Int32s, budget: int, window: int) -> None:
        shape = (len(starts), budget + 1)
        self.window = window
        self.opened, self.top = np.full(shape, -1, np.int32), np.zeros(len(starts), np.int64)
        self.link, self.target = np.full(shape, _NONE, np.int64), np.full(shape, -1, np.int32)
        self.score = np.zeros(shape, np.float32)
        self.opened[:, 0] = starts
        self.fresh = np.zeros(shape, np.bool_)
        self.fresh[:, 0] = True

    def _slots(self, going: Int64s) -> tuple[Int64s, Bools]:
        """The slots that compete [G, W], the current page first, and which of them there are."""
        slots = self.top[going][:, None] - np.arange(self.window)
        return np.maximum(slots, 0), slots >= 0

    def stale(self, going: Int64s, paths: Int32s) -> tuple[Int64s, Int64s]:
        """Pages, by row and slot, that are new or whose best link has been seen since."""
        slots, there = self._slots(going)
        rows = np.broadcast_to(going[:, None], slots.shape)
        seen = (paths[going][:, None, :] == self.target[rows, slots][:, :, None]).any(-1)
        stale = there & (self.fresh[rows, slots] | ((self.link[rows, slots] != _NONE) & seen))
        self.fresh[rows[stale], slots[stale]] = False
        return rows[stale], slots[stale]

    def best(self, going: Int64s) -> Int64s:
        """The slot of each episode's best link, the latest of equals; NONE where all links have been seen."""
        slots, there = self._slots(going)
        rows = going[:, None]
        score = np.where(there & (self.link[rows, slots] != _NONE), self.score[rows, slots], -np.inf)
        at = score.argmax(1)
        some = np.isfinite(score[np.arange(len(going)), at])
        return np.where(some, slots[np.arange(len(going)), at], _NONE)

    def move(self, going: Int64s, back: Bools, taken: Int32s) -> None:
        """Close the page on top, or open another."""
        self.top[going] += np.where(back, -1, 1)
        on = going[~back]
        self.opened[on, self.top[on]] = taken[~back]
        self.fresh[on, self.top[on]] = True


def _best(score: NDArray[np.floating], indptr: Int64s) -> Int64s:
    """Which of its actions is each decision's best, the first of equals."""
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((-score, owner))
    first: Int64s = order[indptr[:-1]] - indptr[:-1]
    return first


@kernel
def _drawn(
    likely: Float32s, allowed: Bools, indptr: Int64s, numbers: Int64s, step: int, seed: np.uint64
) -> Int64s:
    """Draw an action of each decision by its log-probability, among those allowed, or among all if none is."""
    choice = np.zeros(numbers.shape[0], np.int64)
    for s in range(numbers.shape[0]):
        row = slice(indptr[s], indptr[s + 1])
        open_ = allowed[row] if allowed[row].any() else ~allowed[row]
        # Beside the likeliest of them: all of them together may be too improbable for a float.
        top = -np.inf
        for at in range(open_.shape[0]):
            if open_[at]:
                top = max(top, likely[indptr[s] + at])
        chances = np.where(open_, np.exp(likely[row] - top), 0.0)
        left = np.float64(draw(key_of(seed, 0, numbers[s]), step) >> np.uint64(11)) * _UNIT * chances.sum()
        for at in range(open_.shape[0]):
            if chances[at] > 0:
                choice[s] = at
                left -= chances[at]
                if left < 0:
                    break
    return choice
