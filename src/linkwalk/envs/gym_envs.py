"""The environments as Gymnasium names things: thin wrappers of the core, registered as ``linkwalk/Navigate-v0``.

``gymnasium.make("linkwalk/Navigate-v0", wiki=...)`` plays one episode at a time, ``make_vec`` with ``num_envs`` many.
"""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from linkwalk.arrays import Array, Bools, Float32s, Integers
from linkwalk.envs.gym_core import GymCore, NavigateOptions, click_path
from linkwalk.envs.world import WikiLike
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig

_Batch = dict[str, Array]
_Result = tuple[_Batch, Float32s, Bools, Bools, dict[str, Any]]


class NavigateEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """Click from a page to another by following links; reward 1 at the goal (sec. 4.1)."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(
        self,
        wiki: "str | Path | WikiLike",
        task: str | TaskConfig = "navigation-10",
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Open a workspace for episodes of a task; ``options`` are those of ``NavigateOptions``."""
        self._gym = GymCore(wiki, task, NavigateOptions(**options), 1, autoreset=False)
        self.core, self.table = self._gym.core, self._gym.world.table
        self.observation_space, self.action_space = self._gym.spaces()
        self.render_mode, self._seeded = render_mode, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode: the next of the seed, or the one that options name (``start``, ``goal``, ``episode``)."""
        super().reset(seed=seed)
        pages = self._gym.pages_of(options)
        if seed is not None or not self._seeded:
            self.core.seeded(int(self.np_random.integers(1 << 63)) if seed is None else seed)
            self._seeded = True
        starts, goals = pages or (None, None)
        self.core.reset(starts=starts, goals=goals)
        return self._observed()

    def step(self, action: np.int64 | int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Click a link by its place among the page's, or press the back button."""
        if self.core.state.over[0]:
            raise InputError("the episode is over: reset the environment")
        _, reward, terminated, truncated, _ = self._gym.step(np.array([int(action)], np.int64))
        observation, info = self._observed()
        return observation, float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> str | None:
        """The click path so far."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() prints nothing without a mode: make the environment with render_mode='ansi'"
            )
            return None
        return click_path(self.core, 0)

    def close(self) -> None:
        """Nothing is held open."""
        self.core.close()

    def action_masks(self) -> Bools:
        """Which actions are legal now: stable-baselines3's maskable algorithms ask by this name."""
        legal: Bools = self.core.seen.action_mask[0] > 0
        return legal

    def _observed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        observation = {name: column[0] for name, column in self._gym.observation().items()}
        info = {name: column[0] for name, column in self._gym.infos().items()}
        return observation, {
            name: value.item() if isinstance(value, np.generic) else value for name, value in info.items()
        }


class NavigateVectorEnv(VectorEnv[_Batch, Integers, Array]):
    """B episodes that step together; environment ``b`` of seed ``s`` has the episodes of ``NavigateEnv`` of ``s + b``.

    All three of Gymnasium's ways to begin again are there. Without ``copy`` observations are written over by the next
    call, which spares what copying costs.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium has it)
        "render_modes": ["ansi"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        wiki: "str | Path | WikiLike",
        task: str | TaskConfig = "navigation-10",
        *,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **options: Any,
    ) -> None:
        """Open a workspace for episodes of a task; ``options`` are those of ``NavigateOptions``."""
        mode = AutoresetMode(autoreset_mode)
        self._gym = GymCore(
            wiki, task, NavigateOptions(**options), num_envs, autoreset=mode == AutoresetMode.NEXT_STEP
        )
        self.core, self.table = self._gym.core, self._gym.world.table
        self.num_envs, self.render_mode, self.copy = num_envs, render_mode, copy
        self.metadata = {**type(self).metadata, "autoreset_mode": mode}
        self._mode, self._seeded = mode, False
        self.single_observation_space, self.single_action_space = self._gym.spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[_Batch, dict[str, Any]]:
        """Begin episodes, in all environments or where ``options["reset_mask"]`` [B] says so.

        ``seed`` is for environment 0, and one more for each of the others. Options may name pages or episodes, one for
        all environments or one for each.
        """
        options = dict(options or {})
        which = self._mask(options.pop("reset_mask", None))
        pages = self._gym.pages_of(options)
        self._seed(seed, which)
        starts, goals = pages or (None, None)
        self.core.reset(which=which, starts=starts, goals=goals)
        return self._gym.observation(copied=self.copy), self._infos()

    def step(self, actions: Integers) -> _Result:
        """Click in every environment; one whose episode has ended begins the next as its mode says."""
        chosen = np.asarray(actions)
        if not np.issubdtype(chosen.dtype, np.integer) or chosen.shape != (self.num_envs,):
            raise InputError(
                f"actions of shape {chosen.shape} and type {chosen.dtype} for {self.num_envs} environments: "
                "give a whole number for each"
            )
        if not self._seeded:
            raise InputError("no episode has begun: reset the environments")
        if self._mode != AutoresetMode.NEXT_STEP and self.core.state.over.any():
            b = int(np.argmax(self.core.state.over))
            raise InputError(f"the episode of environment {b} is over: reset it")
        reward, terminated, truncated = (
            array.copy() for array in self._gym.step(chosen.astype(np.int64))[1:4]
        )
        observation, infos = self._gym.observation(copied=self.copy), self._infos()
        ended = terminated | truncated
        if self._mode == AutoresetMode.SAME_STEP and ended.any():
            last = {name: ended if name.startswith("_") else column for name, column in infos.items()}
            final = {
                "final_obs": _rows(observation, ended),
                "_final_obs": ended,
                "final_info": last,
                "_final_info": ended,
            }
            self.core.reset(which=ended)
            observation, infos = self._gym.observation(copied=self.copy), {**self._infos(), **final}
        return observation, reward, terminated, truncated, infos

    def render(self) -> tuple[str, ...] | None:
        """The click paths so far."""
        if self.render_mode is None:
            return None
        return tuple(click_path(self.core, b) for b in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads go."""
        self.core.close()

    def _seed(self, seed: int | list[int | None] | None, which: Bools) -> None:
        if isinstance(seed, list | tuple | np.ndarray):
            if len(seed) != self.num_envs:
                raise InputError(
                    f"{len(seed)} seeds for {self.num_envs} environments: give one, or one for each"
                )
        elif seed is not None:
            super().reset(seed=seed)
        elif self._seeded:
            return
        if seed is None or isinstance(seed, int | np.integer):
            first = int(self.np_random.integers(1 << 63)) if seed is None else int(seed)
            seeds: list[int | None] = [first + b for b in range(self.num_envs)]
        else:
            seeds = list(seed)
        for b in np.flatnonzero(which | (not self._seeded)).tolist():
            own = self.np_random.integers(1 << 63) if (own := seeds[b]) is None else own
            self.core.state.seed[b] = int(own) % (1 << 64)
            self.core.state.number[b] = 0
        self._seeded = True

    def _mask(self, mask: Any) -> Bools:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        which = np.asarray(mask)
        if which.shape != (self.num_envs,) or which.dtype != np.bool_ or not which.any():
            raise InputError(f"reset_mask wants {self.num_envs} booleans, one of them true at least")
        return which

    def _infos(self) -> dict[str, Any]:
        found: dict[str, Any] = dict(self._gym.infos())
        return found | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in found}


def _rows(observation: _Batch, which: Bools) -> Array:
    """The observations of some environments, each a dictionary of its own, as Gymnasium gives final ones."""
    rows = np.full(len(which), None, object)
    for b in np.flatnonzero(which).tolist():
        rows[b] = {name: column[b].copy() for name, column in observation.items()}
    return rows
