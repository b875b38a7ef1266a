"""What an environment is made of: a wiki to walk on, the rules of the game, its episodes, and what is seen (sec. 4.1).

Shapes: B episodes, A links padded to the most that a page has, C = A actions, or A + 1 with a back button. What is seen
are arrays of numpy's or tensors of torch's, in whole batches.
"""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwalk.arrays import Bytes, Float16s, Int32s, Int64s
from linkwalk.compiled import OUTSIDE, guarded, row_of, within
from linkwalk.embed import Embeddings
from linkwalk.embed.store import names
from linkwalk.errors import InputError
from linkwalk.evaluate import SAMPLINGS, TaskConfig
from linkwalk.graph.csr import Csr, bounds_of, transpose
from linkwalk.graph.store import KINDS, Graph, types_of
from linkwalk.walks.draws import FIRST_STEP_DRAW, LENGTH_DRAW, START_DRAW, below, draw, key_of
from linkwalk.walks.sampler import linked_nodes

ATTEMPTS = 1000
MOST_STEPS = 1_000_000
_ID = re.compile(r"(navigation|multistep)-(\d{1,4})(?:-(forward|reverse))?")


class WikiLike(Protocol):
    """Whatever has a graph, the folder it was opened from and embeddings by name, as ``Wiki`` does."""

    folder: Path
    graph: Graph
    embeddings: str | None


@dataclass(frozen=True)
class World:
    """The links that can be clicked, N pages and E links, and the table of embeddings where one looks at it."""

    graph: Graph
    """For names and texts."""
    forward: Csr
    kinds: Bytes
    """The type of every link [E], as policies tell them apart (``graph.store.TYPES``)."""
    table: Float16s | None
    """Embeddings [N, D] as they are stored, mapped."""

    @classmethod
    def open(
        cls,
        wiki: "str | Path | WikiLike",
        *,
        embeddings: str | None = None,
        max_links: int | None = None,
        sees: bool = True,
    ) -> "World":
        """Open a workspace; without ``sees`` it need not have embeddings.

        With ``max_links`` a page keeps the first of its links only. The others are not there for whoever draws episodes
        either, so that every goal can be reached.
        """
        if isinstance(wiki, str | Path):
            folder, graph = Path(wiki), Graph.open(wiki)
        else:
            folder, graph, embeddings = wiki.folder, wiki.graph, embeddings or wiki.embeddings
        kinds = graph.out_kinds
        if len(kinds) and kinds.max() >= len(KINDS):
            raise IndexError(OUTSIDE)
        forward, kinds = _first_links(graph.forward, types_of(kinds), max_links)
        sees = sees or embeddings is not None or bool(names(folder))
        table = Embeddings.open(folder, embeddings, graph).vectors if sees else None
        return cls(graph, forward, kinds, table)

    @cached_property
    def reverse(self) -> Csr:
        """In-links."""
        cut = len(self.forward.indices) < self.graph.edges
        return fixed(transpose(self.forward)) if cut else self.graph.reverse

    @cached_property
    def most_links(self) -> int:
        """A, the links of the page that has most."""
        return int(self.forward.degrees().max(initial=1))

    def check_ends(self, starts: Int32s, goals: Int32s) -> None:
        """Refuse episodes that cannot be played."""
        ends = np.concatenate((starts, goals))
        for node in ends[(ends < 0) | (ends >= self.graph.nodes)].tolist():
            self.node(node)
        if len(same := starts[starts == goals]):
            raise InputError(f"{self.graph.name(int(same[0]))!r} is both start and goal: choose two pages")
        indptr = self.forward.indptr
        if len(stuck := starts[indptr[starts + 1] == indptr[starts]]):
            raise InputError(f"no link leads out of {self.graph.name(int(stuck[0]))!r}: choose another start")

    def node(self, name: str | int) -> int:
        """The number of a page that is named by its title, ``"Title (3)"`` or the number itself."""
        if isinstance(name, str):
            return self.graph.find(name)
        if not 0 <= name < self.graph.nodes:
            raise InputError(
                f"no block {name}: the blocks of {self.graph.snapshot} are 0 to {self.graph.nodes - 1}"
            )
        return int(name)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What holds for every episode."""

    task: TaskConfig = field(default_factory=TaskConfig)
    """How start and goal are drawn; its seed and number of episodes are those of ``linkwalk eval``."""
    budget: int = 100
    """Steps after which an episode is cut off."""
    back: bool = False
    """Whether there is a back button: the last action. It takes one step, as a click does."""
    step_cost: float = 0.0
    """What is taken off the reward at every step; standing on the goal adds 1."""

    def __post_init__(self) -> None:
        """Episodes end, and have a goal to click one's way to."""
        if not 1 <= self.budget <= MOST_STEPS:
            raise InputError(f"budget={self.budget}: choose 1 to {MOST_STEPS:,} steps")
        if not math.isfinite(self.step_cost):
            raise InputError(f"step_cost={self.step_cost} is no number")
        if self.task.task == "sentence":
            raise InputError("the environment has no sentence search: choose navigation or multistep")
        if self.task.steps < 1:
            raise InputError(f"a task of {self.task.steps} steps leads nowhere: choose 1 or more")


def task_of(name: str | TaskConfig, *, seed: int = 0) -> TaskConfig:
    """The task of an id such as ``navigation-10``, ``multistep-20`` or ``navigation-5-reverse``."""
    if isinstance(name, TaskConfig):
        return name
    match = _ID.fullmatch(name)
    if match is None or int(match[2]) < 1:
        raise InputError(
            f"no task {name!r}: give one such as 'navigation-10', 'multistep-20' or 'navigation-5-reverse'"
        )
    task = "navigation" if match[1] == "navigation" else "multistep"
    sampling = "reverse" if match[3] == SAMPLINGS[1] else "forward"
    return TaskConfig(task=task, steps=int(match[2]), sampling=sampling, seed=seed)  # type: ignore[arg-type]


class Observation(NamedTuple):
    """Pages by their numbers, the native form of an observation; embeddings are rows of a table by these numbers."""

    current: Any
    """n_t [B] int32."""
    goal: Any
    """n_g [B] int32."""
    links: Any
    """Where the current page's links lead [B, A] int32, -1 behind the last."""
    kinds: Any
    """Their types [B, A] uint8, 0 behind the last (``graph.store.TYPES``)."""
    visited: Any
    """Whether the episode has been there [B, A] int8 (app. B.2)."""
    action_mask: Any
    """Which actions are legal [B, C] int8; the last is the back button, where there is one."""


class StepResult(NamedTuple):
    """What came of a step, and what is seen after it."""

    seen: Observation
    reward: Any
    """[B] float32."""
    terminated: Any
    """[B] bool: the goal is reached, or a page without a way out."""
    truncated: Any
    """[B] bool: the budget is spent."""
    illegal: Any
    """[B] bool: the action was none of the page's, and nothing but a step was taken."""


class EpisodeBatch:
    """B episodes of one world under the same rules, which step together on a CPU or another device.

    An episode that has ended begins anew at the next step, whose action is ignored (Gymnasium's next-step mode), unless
    ``autoreset`` is off: then it stands still until it is reset.
    """

    def __init__(self, world: World, rules: Rules, count: int, *, autoreset: bool = True) -> None:
        if count < 1:
            raise InputError(f"{count} environments take no step: choose 1 or more")
        self.world, self.rules, self.count, self.autoreset = world, rules, count, autoreset
        self.links, self.actions = world.most_links, world.most_links + rules.back


class EpisodeSource(NamedTuple):
    """What a kernel needs to draw episodes of a task: the graph walked on, which is the transposed one in reverse.

    Episodes go by counter: episode ``k`` of a seed is walk ``k`` of that seed, whoever draws it and when (sec. 4.1). A
    walk that ends where it began is no episode and is drawn again, as ``ForwardWalks`` does with ``apart``. Every
    environment has a seed and counts its own episodes, so that they depend neither on how many there are beside it nor
    on how fast these get ahead.
    """

    indptr: Int64s
    indices: Int32s
    begins: Int32s
    """Where a walk may begin."""
    steps: int
    multistep: bool
    reverse: bool

    @classmethod
    def of(cls, world: World, task: TaskConfig) -> "EpisodeSource":
        """Where a task's episodes come from."""
        reverse = task.sampling == "reverse"
        graph = world.reverse if reverse else world.forward
        begins = linked_nodes(graph)
        return cls(graph.indptr, graph.indices, begins, task.steps, task.task == "multistep", reverse)


def none_found(steps: int) -> InputError:
    """The error that walks lead nowhere."""
    return InputError(f"no walk of {steps} steps ends elsewhere than it began: the graph has too few links")


@guarded
def draw_episode(source: EpisodeSource, seed: np.uint64, number: int) -> tuple[int, int]:
    """Start and goal of an episode; -1 and -1 where none is found."""
    size = source.indptr.shape[0] - 1
    for attempt in range(ATTEMPTS):
        key = key_of(seed, attempt, number)
        begin = within(source.begins[below(draw(key, START_DRAW), source.begins.shape[0])], size)
        length = np.int64(source.steps)
        if source.multistep:
            length = 1 + below(draw(key, LENGTH_DRAW), source.steps)
        here = begin
        for step in range(1, length + 1):
            first, last = row_of(source.indptr, here, source.indices.shape[0])
            if first == last:
                break
            link = first + below(draw(key, FIRST_STEP_DRAW + step), last - first)
            here = within(source.indices[link], size)
        if here != begin:
            return (here, begin) if source.reverse else (begin, here)
    return -1, -1


def _first_links(graph: Csr, kinds: Bytes, most: int | None) -> tuple[Csr, Bytes]:
    """The first links of every row and their kinds."""
    if most is None:
        return graph, kinds
    if most < 1:
        raise InputError(f"max_links={most}: choose 1 or more")
    degrees = graph.degrees()
    kept = np.arange(len(graph.indices)) - np.repeat(graph.indptr[:-1], degrees) < most
    return fixed(Csr(bounds_of(np.minimum(degrees, most)), graph.indices[kept])), kinds[kept]


def fixed(graph: Csr) -> Csr:
    """A graph that nobody can write to, as mapped ones are: kernels are compiled for these alone."""
    for array in graph:
        array.flags.writeable = False
    return graph
