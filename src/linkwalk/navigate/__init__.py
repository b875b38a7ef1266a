"""Agents and what they do: episodes, journeys, the baselines, the click path (sec. 4.1, 5.2)."""

from linkwalk.navigate.agents import BASELINES, BLIND, REFERENCE, Agent, Baseline, BaselineConfig
from linkwalk.navigate.clickpath import Step, click_path, path_steps
from linkwalk.navigate.cosine import HalfUnits, Units, unit_rows, units_of
from linkwalk.navigate.journeys import BACK, ENDED, Episodes, Journeys

__all__ = [
    "BACK",
    "BASELINES",
    "BLIND",
    "ENDED",
    "REFERENCE",
    "Agent",
    "Baseline",
    "BaselineConfig",
    "Episodes",
    "HalfUnits",
    "Journeys",
    "Step",
    "Units",
    "click_path",
    "path_steps",
    "unit_rows",
    "units_of",
]
