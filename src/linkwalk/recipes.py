"""Recipes: a run as a function that returns its whole configuration."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from linkwalk.errors import InputError
from linkwalk.learn.clone import CloneConfig
from linkwalk.policy.heads import HeadConfig


def ours(width: int) -> CloneConfig:
    """The head that starts as the cosine, cloned from shortcut walks of up to 20 steps."""
    return CloneConfig(head=HeadConfig(head="residual", width=width))


def paper(width: int) -> CloneConfig:
    """The paper's feed-forward policy on forward walks of 20 steps (app. B.2)."""
    return CloneConfig(
        head=HeadConfig(head="feedforward", width=width),
        walks="forward",
        steps=20,
        multistep=False,
        batch=512,
        updates=50_000,
        edge_dropout=0.5,
        optimiser="rmsprop",
        learning_rate=0.01,
    )


RECIPES: dict[str, Callable[[int], CloneConfig]] = {"ours": ours, "paper": paper}


def with_settings(config: CloneConfig, settings: Sequence[str]) -> CloneConfig:
    """A configuration with some ``key=value`` changed; ``head.hidden=128`` reaches into the head's."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        path = key.strip().split(".")
        if not equals:
            raise InputError(f"--set {setting}: write it as key=value, e.g. updates=500")
        config = _replace(config, path, text.strip(), setting)
    return config


def _replace(config: Any, path: list[str], text: str, setting: str) -> Any:
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    if path[0] not in fields or (len(path) > 1) != dataclasses.is_dataclass(fields[path[0]]):
        raise InputError(f"--set {setting}: there is no such setting; there are {', '.join(fields)}")
    old = fields[path[0]]
    if len(path) > 1:
        return dataclasses.replace(config, **{path[0]: _replace(old, path[1:], text, setting)})
    try:
        value = {"true": True, "false": False}[text.lower()] if isinstance(old, bool) else type(old)(text)
    except (KeyError, ValueError):
        raise InputError(f"--set {setting}: {text!r} is no {type(old).__name__}") from None
    return dataclasses.replace(config, **{path[0]: value})
