"""Limits of settings. What is beyond them is refused in one line that says what to choose instead."""

from collections.abc import Iterable

from linkwalk.errors import InputError


def at_least(settings: object, **least: int) -> None:
    """Refuse what is below its least, or no number: ``at_least(self, updates=1, seed=0)``."""
    for name, smallest in least.items():
        if not getattr(settings, name) >= smallest:
            raise InputError(f"{name}={getattr(settings, name)}: choose {smallest} or more")


def above_zero(settings: object, *names: str) -> None:
    """Refuse what is zero or less, or no number."""
    for name in names:
        if not getattr(settings, name) > 0:
            raise InputError(f"{name}={getattr(settings, name):g}: choose more than 0")


def one_of(settings: object, **choices: Iterable[str]) -> None:
    """Refuse what is none of the choices."""
    for name, among in choices.items():
        if getattr(settings, name) not in among:
            raise InputError(f"{name}={getattr(settings, name)}: choose one of {', '.join(among)}")


def shares(settings: object, *names: str) -> None:
    """Refuse what is no share of a whole."""
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise InputError(f"{name}={getattr(settings, name)}: choose 0 to 1")
