"""Policies that learn from reward, for the rows of tables 2 and 7 (sec. 5.2, app. B.2 and B.4)."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import nn

from linkwalk.envs.world import World
from linkwalk.learn.rewards.impala import ImpalaConfig, reinforce
from linkwalk.learn.state import read_state
from linkwalk.progress import Progress

_SAVE_EVERY = 500


def reinforced(
    workspace: Path,
    vectors: NDArray[Any],
    config: ImpalaConfig,
    start: nn.Module | None,
    *,
    folder: Path,
    job: dict[str, Any],
    device: str,
    progress: Progress,
) -> nn.Module:
    """Train a policy by reward on a workspace's graph, from where the same training was stopped."""
    saved = read_state(folder)
    return reinforce(
        World.open(workspace, sees=False),
        vectors,
        config,
        start=start,
        device=device,
        folder=folder,
        job=job,
        resume=saved if saved is not None and saved.job == job else None,
        checkpoint_every=_SAVE_EVERY,
        progress=progress,
    )
