"""Agents and what they do: episodes, journeys, the baselines (sec. 4.1, 5.2).

Nothing is imported before it is used: kernels take their time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.navigate.agents import Agent, Explains, Walker
    from linkwalk.navigate.baselines import BASELINES, REFERENCE, open_baseline
    from linkwalk.navigate.click_weights import ClickWeights
    from linkwalk.navigate.cosine import HalfUnits, Units, unit_rows, units_of
    from linkwalk.navigate.journeys import BACK, ENDED, Episodes, Journeys
    from linkwalk.navigate.moves import MapConfig, MoveConfig

__all__ = [
    "BACK",
    "BASELINES",
    "ENDED",
    "REFERENCE",
    "Agent",
    "ClickWeights",
    "Episodes",
    "Explains",
    "HalfUnits",
    "Journeys",
    "MapConfig",
    "MoveConfig",
    "Units",
    "Walker",
    "open_baseline",
    "unit_rows",
    "units_of",
]
_PARTS = ("moves", "journeys", "cosine", "click_weights", "agents", "baselines")
"""Each imports those before it at most."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        modules = (import_module(f"{__name__}.{part}") for part in _PARTS)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
