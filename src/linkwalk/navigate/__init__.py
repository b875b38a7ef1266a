"""Agents and what they do: episodes, journeys, the baselines (sec. 4.1, 5.2).

Nothing is imported before it is used: kernels take their time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.navigate.agents import BASELINES, REFERENCE, Agent, Explains, open_baseline
    from linkwalk.navigate.cosine import HalfUnits, Units, unit_rows, units_of
    from linkwalk.navigate.journeys import BACK, ENDED, Episodes, Journeys
    from linkwalk.navigate.walker import Walker
    from linkwalk.navigate.ways import MapConfig, Ways
    from linkwalk.navigate.weights import Weights

__all__ = [
    "BACK",
    "BASELINES",
    "ENDED",
    "REFERENCE",
    "Agent",
    "Episodes",
    "Explains",
    "HalfUnits",
    "Journeys",
    "MapConfig",
    "Units",
    "Walker",
    "Ways",
    "Weights",
    "open_baseline",
    "unit_rows",
    "units_of",
]

_WHERE = {
    "BACK": "journeys",
    "BASELINES": "agents",
    "ENDED": "journeys",
    "REFERENCE": "agents",
    "Agent": "agents",
    "Episodes": "journeys",
    "Explains": "agents",
    "HalfUnits": "cosine",
    "Journeys": "journeys",
    "MapConfig": "ways",
    "Units": "cosine",
    "Walker": "walker",
    "Ways": "ways",
    "Weights": "weights",
    "open_baseline": "agents",
    "unit_rows": "cosine",
    "units_of": "cosine",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
