"""A learned policy as an agent: all episodes step together, one batch of decisions per step (sec. 4.2)."""

from threading import Lock
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.arrays import Array, Bools, Bytes, Float32s, Int32s, Int64s
from linkwalk.compiled import kernel
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, owners
from linkwalk.navigate.click_weights import LIKELY, NOWHERE, ClickWeights, WaysOut
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.navigate.moves import MoveConfig
from linkwalk.policy.decisions import Decisions, actions_at, visited_targets
from linkwalk.policy.heads import NodeTable, log_softmax, trajectory_of
from linkwalk.policy.trajectory import Trajectory
from linkwalk.walks.draws import draw, key_of, pick

_NONE = -1
_REMEMBERED, _ON_GPU = 512, 8192
"""Episodes at once of a head that remembers its walks: of the paper's sizes a gigabyte, on a GPU ten."""


class PolicyWalker:
    """A trained head on one graph and its embeddings.

    The paper does not say how probabilities become clicks. By default the most probable link is taken, and pages it has
    been at only where every link leads to such a page; it may ``revisit`` them, and its clicks may be ``sampled``. With
    a back button the best unseen links of the last pages compete by their probability there, as it was when the agent
    last had to look; where all have been seen it goes back, and from the start to the page seen longest ago.
    """

    minds: ClassVar[frozenset[str]] = frozenset({"back", "sampled", "revisit"})

    def __init__(
        self,
        name: str,
        head: nn.Module,
        graph: Csr,
        kinds: Bytes,
        vectors: Array | NodeTable,
        ways: MoveConfig = MoveConfig(),  # noqa: B008 (frozen)
    ) -> None:
        if ways.back and (ways.sampled or ways.revisit):
            raise InputError(
                f"{name} with a back button takes the best unseen link of the last pages: "
                "it neither draws links nor returns to pages it has seen; leave out back, or sampled and revisit"
            )
        self.name, self.head, self.graph, self.kinds, self.ways = name, head, graph, kinds, ways
        device = str(next(head.parameters()).device)
        self.table = vectors if isinstance(vectors, NodeTable) else NodeTable.of(vectors, device)
        self._lock = Lock()  # networks serve one thread at a time

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Try each episode within ``budget`` steps; the seed matters only where links are drawn."""
        at_once = episodes.size
        if trajectory_of(self.head) is not None:
            at_once = _ON_GPU if self.table.vectors.is_cuda else _REMEMBERED
        with self._lock:
            parts = [
                _Batch(self, episodes.part(at, at + at_once), budget, seed).walk()
                for at in range(0, episodes.size, max(1, at_once))
            ]
        return (
            Journeys(*map(np.concatenate, zip(*parts, strict=True))) if parts else Journeys.blank(0, budget)
        )

    def explain(self, episodes: Episodes, journeys: Journeys, *, seed: int = 0) -> ClickWeights:
        """What decided each click of the first journey: it is walked once more, with that written down."""
        out = WaysOut(self.graph, journeys, back=self.ways.back)
        log = _ClickLog([], {})
        with self._lock:
            _Batch(self, episodes.part(0, 1), len(out.pages), seed, log).walk()
        worth = np.concatenate([np.zeros(0, np.float32), *(own for own, _ in log.worth)])
        towards = np.full(len(out.targets), NOWHERE, np.int32)
        towards[out.buttons] = [to for _, to in log.worth]
        if not self.ways.sampled:  # of several links to a page the likeliest counts, the first of equals
            owner_target = out.owner * self.graph.nodes + np.where(out.links, out.targets, -1)
            order = np.lexsort((-np.nan_to_num(worth, nan=-np.inf), owner_target))
            order = order[out.links[order]]
            worth[order[1:][owner_target[order[1:]] == owner_target[order[:-1]]]] = np.nan
        return out.by_worth(worth, LIKELY, scale=1.0, towards=towards)


class _Move(NamedTuple):
    """What some episodes do next: the number of a link or BACK, how probable that is, and the page it leads to."""

    choice: Int64s
    probability: Float32s
    taken: Int32s


class _Batch:
    """Episodes that step together; of a single one, a log may take what decided its clicks."""

    def __init__(
        self,
        agent: PolicyWalker,
        episodes: Episodes,
        budget: int,
        seed: int,
        log: "_ClickLog | None" = None,
    ) -> None:
        self.agent, self.graph, self.ways, self.seed, self.log = agent, agent.graph, agent.ways, seed, log
        self.episodes, self.journeys = episodes, Journeys.blank(episodes.size, budget)
        table = agent.table
        self.queries: Tensor | None = None  # of the goals [B, D]; None: their own vectors
        if episodes.queries is not None:
            # They have unit length; a head that was trained on vectors as they are must not see shorter ones.
            self.queries = torch.from_numpy(episodes.queries).to(table.vectors.device) * table.length
        self.stacks = _Stacks(episodes.starts, budget, self.ways.window) if self.ways.back else None
        self.walks = _Walks.of(agent.head, table, episodes.goals, self.queries, budget)

    def walk(self) -> Journeys:
        """All journeys, to their ends."""
        journeys, stacks, goals = self.journeys, self.stacks, self.episodes.goals
        journeys.nodes[:, 0] = self.episodes.starts
        journeys.success[:] = self.episodes.starts == goals
        going = np.flatnonzero(~journeys.success)
        for step in range(journeys.choices.shape[1]):
            stuck = self._degrees(journeys.nodes[going, step]) == 0
            going = going[~stuck] if stacks is None else going[~stuck | (stacks.top[going] > 0)]
            if not len(going):
                break
            if self.walks is not None:
                self.walks.see(going, journeys.nodes[going, step])
            move = self._click(going, step) if stacks is None else self._click_or_back(going, step, stacks)
            seen = (journeys.nodes[going, : step + 1] == move.taken[:, None]).any(1)
            journeys.looped[going] |= (move.choice != BACK) & seen
            journeys.choices[going, step] = move.choice
            journeys.probabilities[going, step] = move.probability
            journeys.nodes[going, step + 1] = move.taken
            journeys.steps[going] = step + 1
            arrived = move.taken == goals[going]
            journeys.success[going[arrived]] = True
            going = going[~arrived]
        return journeys

    def _degrees(self, pages: Int32s) -> Int64s:
        return self.graph.indptr[pages + 1] - self.graph.indptr[pages]

    def _click(self, going: Int64s, step: int) -> _Move:
        """One of the current page's links."""
        decisions, likely = self._look(going, self.journeys.nodes[going, step], step)
        open_ = np.ones(len(likely), np.bool_) if self.ways.revisit else ~decisions.visited
        if self.log is not None:
            self.log.add(np.where(open_ if open_.any() else ~open_, likely, np.nan))
        if self.ways.sampled:
            numbers = self.episodes.numbers[going]
            choice = _drawn(likely, open_, decisions.indptr, numbers, step, np.uint64(self.seed))
        else:
            # Pages seen before come below every new one, in the same order among themselves.
            score = likely if self.ways.revisit else likely - 1e6 * decisions.visited
            choice = _best(score, decisions.indptr)
        at = decisions.indptr[:-1] + choice
        return _Move(choice, np.exp(likely[at]), decisions.target[at])

    def _click_or_back(self, going: Int64s, step: int, stacks: "_Stacks") -> _Move:
        """The best unseen link of the last pages, or one press of the back button towards it."""
        paths = self.journeys.nodes[:, : step + 1]
        row, slot = stacks.stale(going, paths)
        pages = stacks.opened[row, slot]
        linked = self._degrees(pages) > 0
        stacks.link[row[~linked], slot[~linked]] = _NONE
        row, slot, pages = row[linked], slot[linked], pages[linked]
        if len(row):
            decisions, likely = self._look(row, pages, step)
            if self.log is not None:
                self.log.look(slot, decisions.indptr, decisions.target, likely)
            best = _best(np.where(decisions.visited, -np.inf, likely), decisions.indptr)
            at = decisions.indptr[:-1] + best
            stacks.score[row, slot] = likely[at]
            stacks.target[row, slot] = decisions.target[at]
            stacks.link[row, slot] = np.where(decisions.visited[at], _NONE, best)
        slot = stacks.best(going)
        top = stacks.top[going]
        none = slot == _NONE
        back = np.where(none, top > 0, slot < top)
        if self.log is not None:
            self.log.weigh(stacks, paths[0], int(self._degrees(paths[0, -1:])[0]))
        choice, probability = stacks.link[going, slot], np.exp(stacks.score[going, slot])
        taken = stacks.target[going, slot]
        for i in np.flatnonzero(none & ~back).tolist():  # at the start, all seen: to the one seen longest ago
            path = paths[going[i]]
            targets = self.graph.row(int(path[-1]))
            last = np.array([np.flatnonzero(path == target)[-1] for target in targets])
            choice[i], probability[i], taken[i] = int(last.argmin()), 1.0, targets[last.argmin()]
        choice[back], probability[back] = BACK, 1.0
        taken[back] = stacks.opened[going[back], top[back] - 1]
        stacks.move(going, back, taken)
        return _Move(choice, probability, taken)

    @torch.inference_mode()
    def _look(self, row: Int64s, pages: Int32s, step: int) -> tuple[Decisions, Float32s]:
        """The links of pages, one page for each episode of ``row``, and their log-probabilities."""
        indptr, target, kind = actions_at(self.graph, self.agent.kinds, pages)
        steps, none = np.full(len(row), step), np.zeros(0, np.int64)
        visited = visited_targets(self.journeys.nodes, row, steps, indptr, target)
        decisions = Decisions(pages, self.episodes.goals[row], indptr, target, kind, visited, none)
        state = None if self.walks is None else self.walks.states[torch.as_tensor(row)]
        goal = None if self.queries is None else self.queries[row]
        logits, owner = self.agent.table.logits(self.agent.head, decisions, goal, state)
        likely: Float32s = log_softmax(logits, owner, len(pages)).cpu().numpy()
        return decisions, likely


class _Walks:
    """The walks of a batch of episodes as a head remembers them; those that are over are forgotten now and then."""

    def __init__(self, walk: Trajectory, table: NodeTable, goals: Tensor, budget: int) -> None:
        self.table, self.rows = table, np.arange(len(goals))
        self.remembered = walk.begin(goals, budget)
        self.states = torch.zeros(len(goals), walk.out.out_features, device=goals.device)

    @classmethod
    @torch.inference_mode()
    def of(
        cls, head: nn.Module, table: NodeTable, goals: Int32s, queries: Tensor | None, budget: int
    ) -> "_Walks | None":
        """None for a head that looks at its page alone."""
        walk = trajectory_of(head)
        if walk is None:
            return None
        return cls(walk, table, table.rows(goals) if queries is None else queries, budget)

    @torch.inference_mode()
    def see(self, going: Int64s, pages: Int32s) -> None:
        """Every walk that goes on is at another page."""
        if 4 * len(going) < 3 * len(self.rows):
            kept = np.searchsorted(self.rows, going)
            self.rows = going
            self.remembered.keep(torch.as_tensor(kept, device=self.states.device))
        every = np.zeros(len(self.rows), np.int64)
        at = np.searchsorted(self.rows, going)
        every[at] = pages
        found = self.remembered.see(self.table.rows(every))
        self.states[torch.as_tensor(going)] = found[torch.as_tensor(at)]


class _ClickLog(NamedTuple):
    """What decided the clicks of one journey, written down as it is walked."""

    worth: list[tuple[Float32s, int]]
    """Page by page: the log-probabilities of its links and, last, of the best link behind the back button; and where
    that one leads."""
    looks: dict[int, tuple[Int32s, Float32s]]
    """By slot: the targets of the pages behind the button, and how likely they were when last looked at."""

    def add(self, likely: Float32s, back: float = np.nan, to: int = NOWHERE) -> None:
        """One page's."""
        self.worth.append((np.append(likely, np.float32(back)).astype(np.float32), to))

    def look(self, slots: Int64s, indptr: Int64s, target: Int32s, likely: Float32s) -> None:
        """Pages were looked at."""
        for slot, a, b in zip(slots.tolist(), indptr.tolist(), indptr[1:].tolist(), strict=False):
            self.looks[slot] = target[a:b], likely[a:b]

    def weigh(self, stacks: "_Stacks", path: Int32s, degree: int) -> None:
        """What was compared: the links of the page on top, and the best of those behind the button."""
        top = int(stacks.top[0])
        likely = np.full(degree, np.nan, np.float32)
        if degree:
            targets, last = self.looks[top]
            likely = np.where(np.isin(targets, path), np.float32(np.nan), last)
        slots = np.arange(top - 1, max(top - stacks.window, -1), -1)
        slots = slots[stacks.link[0, slots] != _NONE]
        if not len(slots):
            return self.add(likely)
        best = slots[stacks.score[0, slots].argmax()]
        return self.add(likely, float(stacks.score[0, best]), int(stacks.target[0, best]))


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
    order = np.lexsort((-score, owners(indptr)))
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
        choice[s] = pick(draw(key_of(seed, 0, numbers[s]), step), chances)
    return choice
