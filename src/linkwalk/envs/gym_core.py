"""What the two environments for Gymnasium share: options, spaces, observations, infos and texts, in batches.

Shapes: B environments, A links padded, C actions, D the width of the embeddings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.logger import warn

from linkwalk.arrays import Array, Int32s, Int64s
from linkwalk.envs.on_cpu import Navigation, Vectors
from linkwalk.envs.world import Rules, StepResult, WikiLike, World, task_of
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig, draw_episodes
from linkwalk.graph.store import LINK, TYPES
from linkwalk.navigate import Episodes

OBSERVATIONS = ("vectors", "indices")
_MOST_EPISODES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class NavigateOptions:
    """What ``gymnasium.make`` takes besides the wiki and the task."""

    embeddings: str | None = None
    """Which of the workspace's, by name; unsaid, those of an opened ``Wiki``, or what ``Embeddings.open`` chooses."""
    budget: int = 100
    back: bool = False
    step_cost: float = 0.0
    max_links: int | None = None
    """Links that a page keeps; unsaid, all, and what is seen is padded to the page that has most."""
    observation: Literal["vectors", "indices"] = "vectors"
    """Whether pages are embeddings, or numbers that are rows of ``env.unwrapped.table``."""
    text: bool = False
    """Whether infos have the texts of page, goal and links."""
    strict: bool = False
    """Whether an illegal action is an error; else it takes a step, leads nowhere and warns."""


class GymCore:
    """The core with B environments, and how Gymnasium wants to be told of it."""

    def __init__(
        self,
        wiki: "str | Path | WikiLike",
        task: str | TaskConfig,
        options: NavigateOptions,
        count: int,
        *,
        autoreset: bool,
    ) -> None:
        if options.observation not in OBSERVATIONS:
            raise InputError(f"observation={options.observation!r}: choose 'vectors' or 'indices'")
        sees = options.observation == "vectors"
        self.world = World.open(wiki, embeddings=options.embeddings, max_links=options.max_links, sees=sees)
        rules = Rules(
            task=task_of(task), budget=options.budget, back=options.back, step_cost=options.step_cost
        )
        self.options = options
        self.core = Navigation(self.world, rules, count, autoreset=autoreset)
        self.vectors = Vectors(self.core) if sees else None
        self._episodes, self._warned = Episodes.of([], []), False

    def spaces(self) -> tuple[spaces.Dict, spaces.Discrete]:
        """What one environment shows, and takes."""
        links, actions = self.core.links, self.core.actions
        if self.vectors is None or self.world.table is None:
            most = self.world.graph.nodes
            pages: dict[str, spaces.Space[Any]] = {
                "current": spaces.Discrete(most),
                "goal": spaces.Discrete(most),
                "links": spaces.Box(-1, most - 1, (links,), np.int32),
            }
        else:
            width, largest = self.world.table.shape[1], float(np.finfo(self.world.table.dtype).max)
            pages = {
                name: spaces.Box(-largest, largest, shape, np.float32)
                for name, shape in (("current", (width,)), ("goal", (width,)), ("links", (links, width)))
            }
        traits = {
            "kinds": spaces.Box(0, len(TYPES) - 1, (links,), np.uint8),
            "visited": spaces.MultiBinary(links),
            "action_mask": spaces.MultiBinary(actions),
        }
        return spaces.Dict({**pages, **traits}), spaces.Discrete(actions)

    def observation(self, *, copied: bool = True) -> dict[str, Array]:
        """What is seen now, of all environments."""
        seen = self.core.seen
        columns = {"kinds": seen.kinds, "visited": seen.visited, "action_mask": seen.action_mask}
        if self.vectors is None:
            columns["links"] = seen.links
            pages = {"current": seen.current.astype(np.int64), "goal": seen.goal.astype(np.int64)}
        else:
            pages = dict(self.vectors.look(fresh=copied)._asdict())
        return pages | {name: column.copy() if copied else column for name, column in columns.items()}

    def infos(self) -> dict[str, Array]:
        """What is known besides, of all environments."""
        seen = self.core.seen
        found: dict[str, Array] = {
            "action_mask": seen.action_mask.copy(),
            "node": seen.current.astype(np.int64),
            "goal_node": seen.goal.astype(np.int64),
            "success": seen.current == seen.goal,
            "illegal": self.core.illegal.copy(),
        }
        if self.options.text:
            told: dict[str, list[Any]] = {
                "text": [page_text(self.world, node) for node in seen.current.tolist()],
                "goal_text": [page_text(self.world, node) for node in seen.goal.tolist()],
                "link_texts": [link_texts(self.world, node) for node in seen.current.tolist()],
            }
            for name, values in told.items():
                column = np.empty(len(values), object)
                column[:] = values
                found[name] = column
        return found

    def step(self, actions: Int64s) -> StepResult:
        """Take a step; illegal actions are refused where that is wanted, else the first that is met is warned of."""
        if self.options.strict:
            inside = (actions >= 0) & (actions < self.core.actions)
            mask = self.core.seen.action_mask[np.arange(self.core.count), np.where(inside, actions, 0)]
            wrong = ~(inside & (mask > 0)) & ~self.core.state.over
            if wrong.any():
                raise InputError(self._why_illegal(int(wrong.argmax()), actions))
        stepped = self.core.step(actions)
        if not self._warned and self.core.illegal.any():
            # Once: whoever draws actions without the mask would be told at every step.
            said = self._why_illegal(int(self.core.illegal.argmax()), actions).replace("%", "%%")
            warn(
                f"{said}; it takes a step and leads nowhere (later ones too: see info['illegal'])",
                stacklevel=3,
            )
            self._warned = True
        return stepped

    def _why_illegal(self, b: int, actions: Int64s) -> str:
        """What is wrong with the action of an environment, which still stands where it was taken."""
        where = f" in environment {b}" if self.core.count > 1 else ""
        name, links = self.world.graph.name(int(self.core.seen.current[b])), int(self.core.state.shown[b])
        if self.options.back and actions[b] == self.core.links:
            return f"there is no page to go back to from {name!r}{where}"
        return (
            f"action {int(actions[b])} is no link of {name!r}{where}: its {links} links are 0 to {links - 1}"
        )

    def pages_of(self, options: Mapping[str, Any] | None) -> tuple[Int32s, Int32s] | None:
        """Starts and goals [B] that the options of a reset name; None where the task draws them."""
        named = dict(options or {})
        if unknown := set(named) - {"start", "goal", "episode"}:
            raise InputError(f"no option {min(unknown)!r}: give 'start' and 'goal', or 'episode'")
        if not named:
            return None
        if "episode" in named:
            if len(named) > 1:
                raise InputError("an episode has its start and goal: give 'episode' alone")
            numbers = self._numbers(named["episode"])
            self._draw(int(numbers.max()) + 1)
            return self._episodes.starts[numbers], self._episodes.goals[numbers]
        if len(named) < 2:
            raise InputError("one of start and goal is missing: give both")
        return self._nodes(named["start"]), self._nodes(named["goal"])

    def _nodes(self, names: Any) -> Int32s:
        one = isinstance(names, str | int | np.integer)
        found = [names] * self.core.count if one else list(names)
        if len(found) != self.core.count:
            raise InputError(
                f"{len(found)} pages for {self.core.count} environments: give one, or one for each"
            )
        return np.array(
            [self.world.node(name if isinstance(name, str) else int(name)) for name in found], np.int32
        )

    def _numbers(self, numbers: Any) -> Int64s:
        """Numbers of episodes: those given, or as many from one on as there are environments."""
        found = np.asarray(numbers, np.int64)
        found = found + np.arange(self.core.count) if found.ndim == 0 else found
        if found.shape != (self.core.count,) or found.min() < 0 or found.max() >= _MOST_EPISODES:
            raise InputError(
                f"episodes are numbered from 0 to {_MOST_EPISODES - 1}: give one number, or one each"
            )
        return found

    def _draw(self, count: int) -> None:
        """Have the task's first episodes at hand: those that ``linkwalk eval`` tries, whatever their number."""
        if self._episodes.size < count:
            wanted = replace(self.core.rules.task, episodes=max(count, 2 * self._episodes.size))
            self._episodes = draw_episodes(self.world.forward, self.world.reverse, wanted)


def page_text(world: World, node: int) -> str:
    """A page's name and text."""
    return f"{world.graph.name(node)}\n{world.graph.texts[node]}"


def link_texts(world: World, node: int) -> tuple[str, ...]:
    """What each link of a page is called and where it leads, in the order of actions."""
    edges = world.graph.links(node)[: len(world.forward.row(node))]
    return tuple(
        f"{edge.anchor or (edge.kind if edge.kind in TYPES else TYPES[LINK])}: {world.graph.name(edge.target)}"
        for edge in edges
    )


def click_path(core: Navigation, b: int) -> str:
    """An episode as lines: its goal, the pages stood on, and how it stands."""
    name, state = core.world.graph.name, core.state
    if state.current[b] < 0:
        return "no episode has begun"
    steps, goal = int(state.steps[b]), int(state.goal[b])
    pages = [f"{step:>4}  {name(node)}" for step, node in enumerate(state.path[b, : steps + 1].tolist())]
    taken = f"{steps} step{'s' * (steps != 1)}"
    if state.current[b] == goal:
        stands = f"reached in {taken}"
    elif state.over[b]:
        stands = f"not reached in {taken}"
    else:
        stands = f"{taken} of {core.rules.budget}"
    return "\n".join((f"goal  {name(goal)}", *pages, stands))
