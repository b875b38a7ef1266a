"""Settings: dataclasses whose types say which values make sense, and ``key=value`` to change some of them.

A value beyond its limit is refused in one line that says what to choose instead.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from linkwalk.errors import InputError


class Limit(NamedTuple):
    """What a value must be, and what is said of one that is not; it is shown in the given format."""

    holds: Callable[[Any], bool]
    advice: str
    shown: str = ""


def at_least(least: float) -> Limit:
    """So much or more, which no NaN is."""
    return Limit(lambda value: value >= least, f"choose {least} or more")


def one_of(*choices: str) -> Limit:
    """One of some names."""
    return Limit(lambda value: value in choices, f"choose one of {', '.join(choices)}")


Count = Annotated[int, at_least(1)]
CountOrNone = Annotated[int, at_least(0)]
NotNegative = Annotated[float, Limit(lambda value: 0 <= value < float("inf"), "choose 0 or more")]
Positive = Annotated[float, Limit(lambda value: value > 0, "choose more than 0", "g")]
Share = Annotated[float, Limit(lambda value: 0 <= value <= 1, "choose 0 to 1")]


class CheckedSettings:
    """Base of a frozen dataclass whose fields are checked against the limits in their types."""

    def __post_init__(self) -> None:
        """Refuse a value beyond its limit."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            for limit in getattr(field.type, "__metadata__", ()):
                if not limit.holds(value):
                    raise InputError(f"{field.name}={value:{limit.shown}}: {limit.advice}")


Config = TypeVar("Config")


def with_settings(config: Config, settings: Sequence[str]) -> Config:
    """A configuration with some ``key=value`` changed; ``head.hidden=128`` reaches into the head's.

    All at once: what makes sense together may not one by one.
    """
    changes: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"{setting}: write it as key=value, e.g. updates=500")
        *groups, name = key.strip().split(".")
        place: Any = config
        among = changes
        for group in groups:
            place, among = _look_up(place, group, setting, group=True), among.setdefault(group, {})
        among[name] = _value(text.strip(), type(_look_up(place, name, setting, group=False)), setting)
    changed: Config = _replace(config, changes)
    return changed


def _look_up(config: Any, name: str, setting: str, *, group: bool) -> Any:
    """What a configuration has under that name: a group of settings, or one."""
    names = [field.name for field in dataclasses.fields(config)]
    if name not in names or dataclasses.is_dataclass(getattr(config, name)) != group:
        raise InputError(f"{setting}: there is no such setting; there are {', '.join(names)}")
    return getattr(config, name)


def _value(text: str, kind: type, setting: str) -> Any:
    try:
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise InputError(f"{setting}: {text!r} is no {kind.__name__}") from None


def _replace(config: Any, changes: dict[str, Any]) -> Any:
    """A configuration with some values changed, and some values of those within it."""
    values = {
        name: _replace(getattr(config, name), change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return dataclasses.replace(config, **values)
