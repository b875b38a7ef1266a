"""What the trainings of ``linkwalk train`` share: names, a folder to work in, and what is told at the end."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from linkwalk.downstream.lines import BadLine
    from linkwalk.progress import Progress

LOWER = "the training has run away, its weights are no longer numbers: lower it with --set learning_rate=..."


def check_name(name: str, what: str) -> None:
    """Refuse what cannot name a folder."""
    from linkwalk.errors import InputError

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name.endswith((".partial", ".old")):
        raise InputError(f"{name!r} cannot name a {what}: use letters, digits, dots, dashes, underscores")


def new_folder(wiki: Path, name: str) -> Path:
    """Where the policy goes, if it can be called that."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES

    check_name(name, "policy")
    if name in BASELINES:
        raise InputError(f"{name} is an agent that needs no training: choose another --name")
    return wiki / "policies" / name


@contextmanager
def scratch(partial: Path) -> Iterator[Path]:
    """An empty folder to train in, for trainings that begin anew: nothing goes on from what a stopped one leaves."""
    from linkwalk.artifact import clear

    clear(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
    finally:
        clear(partial)


def check_numbers(weights: "dict[str, Tensor]") -> None:
    """Refuse weights that are not all numbers, in the half precision that they are kept in, too."""
    from linkwalk.errors import InputError

    if not all(bool(value.half().isfinite().all()) for value in weights.values()):
        raise InputError(LOWER)


def last_row(metrics: Path) -> dict[str, Any]:
    """What a training reported at last; of a file that cannot be read, nothing."""
    from linkwalk.learn.metrics import rows_of

    return (rows_of(metrics) or [{}])[-1]


def trained_on(manifest: dict[str, Any]) -> dict[str, Any]:
    """What something was trained on, as far as its manifest says so."""
    found = manifest.get("trained_on")
    return found if isinstance(found, dict) else {}


def in_short(changed: Sequence[str]) -> str:
    """What differs between two trainings, the first three things of it."""
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return ", ".join(changed[:3]) + more


def up_to_date(name: str, made_of: str) -> str:
    """For people: there is nothing to do."""
    return f"{name} is up to date: the same {made_of} made it (--force trains it again)"


def warn_of_damage(path: Path, damage: "Sequence[BadLine]", progress: "Progress") -> None:
    """Say how many lines of a file could not be used, and which is the first."""
    if damage:
        progress.warn(
            f"{path}: damaged lines left out: {len(damage):,}, the first is line {damage[0].line} "
            f"({damage[0].reason})"
        )
