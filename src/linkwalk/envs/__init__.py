"""Environments for reinforcement learning: a core in numba and in torch, and Gymnasium around it where it is installed.

Importing this registers ``linkwalk/Navigate-v0`` with Gymnasium. The core does without: ``Navigation`` on a CPU,
``NavigationOnDevice`` on any device of torch's. Parts are imported when first asked for.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.envs.on_cpu import Navigation
    from linkwalk.envs.on_torch import NavigationOnDevice
    from linkwalk.envs.rules import Rules, task_of
    from linkwalk.envs.seen import Seen, Stepped
    from linkwalk.envs.single import NavigateEnv
    from linkwalk.envs.vector import NavigateVectorEnv
    from linkwalk.envs.vectors import Vectors
    from linkwalk.envs.world import World

__all__ = [
    "ID",
    "NavigateEnv",
    "NavigateVectorEnv",
    "Navigation",
    "NavigationOnDevice",
    "Rules",
    "Seen",
    "Stepped",
    "Vectors",
    "World",
    "task_of",
]

_WHERE = {
    "NavigateEnv": "single",
    "NavigateVectorEnv": "vector",
    "Navigation": "on_cpu",
    "NavigationOnDevice": "on_device",
    "Rules": "rules",
    "Seen": "seen",
    "Stepped": "seen",
    "Vectors": "vectors",
    "World": "world",
    "task_of": "rules",
}

ID = "linkwalk/Navigate-v0"

if find_spec("gymnasium") is not None:
    from gymnasium.envs.registration import register, registry

    if ID not in registry:
        register(
            ID,
            entry_point="linkwalk.envs.single:NavigateEnv",
            vector_entry_point="linkwalk.envs.vector:NavigateVectorEnv",
        )


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
