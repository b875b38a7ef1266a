"""``gymnasium.make("linkwalk/Navigate-v0", wiki=...)``: one episode at a time, a thin wrapper of the core."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from linkwalk.arrays import Array, Bools, Int64s
from linkwalk.envs.told import click_path
from linkwalk.envs.world import Workspaced
from linkwalk.envs.wrapped import NavigateOptions, Wrapped
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig


class NavigateEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """Click from a page to another by following links; reward 1 at the goal (sec. 4.1)."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(
        self,
        wiki: "str | Path | Workspaced",
        task: str | TaskConfig = "navigation-10",
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Open a workspace for episodes of a task; ``options`` are those of ``NavigateOptions``."""
        self._wrapped = Wrapped(wiki, task, NavigateOptions(**options), 1, autoreset=False)
        self.core, self.table = self._wrapped.core, self._wrapped.world.table
        self.observation_space, self.action_space = self._wrapped.spaces()
        self.render_mode, self._seeded = render_mode, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode: the next of the seed, or the one that options name (``start``, ``goal``, ``episode``)."""
        super().reset(seed=seed)
        pages = self._wrapped.pages_of(options)
        if seed is not None or not self._seeded:
            self.core.seeded(int(self.np_random.integers(1 << 63)) if seed is None else seed)
            self._seeded = True
        if pages is None:
            self.core.reset()
        else:
            self.core.reset(starts=pages[0], goals=pages[1])
        return self._observed()

    def step(self, action: np.int64 | int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Click a link by its place among the page's, or press the back button."""
        if self.core.state.over[0]:
            raise InputError("the episode is over: reset the environment")
        chosen: Int64s = np.array([int(action)], np.int64)
        stepped = self._wrapped.step(chosen)
        observation, info = self._observed()
        return (
            observation,
            float(stepped.reward[0]),
            bool(stepped.terminated[0]),
            bool(stepped.truncated[0]),
            info,
        )

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
        rows = ({name: column[0] for name, column in found.items()} for found in self._found())
        observation, info = rows
        return observation, {
            name: value.item() if isinstance(value, np.generic) else value for name, value in info.items()
        }

    def _found(self) -> tuple[dict[str, Array], dict[str, Array]]:
        return self._wrapped.observation(), self._wrapped.infos()
