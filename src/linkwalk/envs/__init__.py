"""Environments for reinforcement learning: a core in numba and in torch, and Gymnasium around it where it is installed.

Importing this registers ``linkwalk/Navigate-v0`` with Gymnasium. The core does without: ``Navigation`` on a CPU,
``NavigationOnDevice`` on any device of torch's. Parts are imported when first asked for.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.envs.gym_envs import NavigateEnv, NavigateVectorEnv
    from linkwalk.envs.on_cpu import Navigation, Vectors
    from linkwalk.envs.on_torch import NavigationOnDevice
    from linkwalk.envs.world import Observation, Rules, StepResult, World, task_of

__all__ = [
    "ID",
    "NavigateEnv",
    "NavigateVectorEnv",
    "Navigation",
    "NavigationOnDevice",
    "Observation",
    "Rules",
    "StepResult",
    "Vectors",
    "World",
    "task_of",
]
_PARTS = {
    "NavigateEnv": "gym_envs",
    "NavigateVectorEnv": "gym_envs",
    "Navigation": "on_cpu",
    "NavigationOnDevice": "on_torch",
    "Vectors": "on_cpu",
}
"""Who is not in ``world``, where the others are."""

ID = "linkwalk/Navigate-v0"

if find_spec("gymnasium") is not None:
    from gymnasium.envs.registration import register, registry

    if ID not in registry:
        register(
            ID,
            entry_point="linkwalk.envs.gym_envs:NavigateEnv",
            vector_entry_point="linkwalk.envs.gym_envs:NavigateVectorEnv",
        )


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_PARTS.get(name, 'world')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
