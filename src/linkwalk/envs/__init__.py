"""Environments for reinforcement learning: a core in numba and in torch, and Gymnasium around it where it is installed.

Importing this registers ``linkwalk/Navigate-v0`` with Gymnasium. The core does without: ``on_cpu`` and ``on_device``.
"""

from importlib.util import find_spec

ID = "linkwalk/Navigate-v0"

if find_spec("gymnasium") is not None:
    from gymnasium.envs.registration import register, registry

    if ID not in registry:
        register(
            ID,
            entry_point="linkwalk.envs.single:NavigateEnv",
            vector_entry_point="linkwalk.envs.vector:NavigateVectorEnv",
        )
