"""What an environment shows, and what came of a step: arrays of numpy's or tensors of torch's, in whole batches.

Shapes: B episodes, A links padded to the most that a page has, C = A actions, or A + 1 with a back button.
"""

from typing import Any, NamedTuple


class Seen(NamedTuple):
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


class Stepped(NamedTuple):
    """What came of a step, and what is seen after it."""

    seen: Seen
    reward: Any
    """[B] float32."""
    terminated: Any
    """[B] bool: the goal is reached, or a page without a way out."""
    truncated: Any
    """[B] bool: the budget is spent."""
    illegal: Any
    """[B] bool: the action was none of the page's, and nothing but a step was taken."""
