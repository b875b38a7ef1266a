"""What a verb prints: one JSON object, or a short summary and the next command to run."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwalk.trainings.run import TrainingOutcome


Columns = list[tuple[str, ...]]
"""Rows of cells; the first row is the head."""


def print_json(value: Any) -> None:
    """Print exactly one JSON object."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def is_coloured() -> bool:
    """Whether what is printed may have colours: on a terminal whose user does not mind."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def percent(share: float) -> str:
    """A chance as people say it."""
    return f"{100 * share:.0f} %" if share >= 0.005 or share == 0 else "under 1 %"


def print_table(rows: list[tuple[str, str]]) -> None:
    """Print two aligned columns: what, and how much."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")


def print_columns(rows: Columns) -> None:
    """Print a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        print("  " + "  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())


def print_figures(columns: Sequence[tuple[str, str]], things: Iterable[Any]) -> None:
    """Print a table with a row for each thing: of each column its head, and how ``figure`` tells it."""
    rows = [tuple(figure(form, thing) for _, form in columns) for thing in things]
    print_columns([tuple(head for head, _ in columns), *rows])


def figure(form: str, thing: Any) -> str:
    """A figure in a format such as ``{0.scores.spl:.1%}``; per cent without their sign, what is not known a dash."""
    try:
        text = form.format(thing)
    except TypeError:  # None has no such format, nor has it parts
        return "-"
    return text.replace("%", "") if "%" in form else text


_hints = True


@contextmanager
def no_hints() -> Iterator[None]:
    """Where the next command follows in any case: do not name it."""
    global _hints
    before, _hints = _hints, False
    try:
        yield
    finally:
        _hints = before


def print_missing(line: str | None, *, json: bool) -> None:
    """Say what would make more of the workspace, if anything would; beside JSON, on standard error."""
    if line is not None:
        print(line if json else f"\n{line}", file=sys.stderr if json else sys.stdout)


def print_next(command: str) -> None:
    """Name the command one would run next."""
    if _hints:
        print(f"\nnext: {command}")


def print_trained(
    trained: "TrainingOutcome",
    facts: dict[str, Any],
    rows: list[tuple[str, str]],
    command: str,
    *,
    json: bool,
    made_of: str,
    called: str = "",
) -> None:
    """Tell what came of a training: as JSON, or in rows, and by which command one sees what it is worth."""
    if json:
        print_json(facts)
        return
    print_up_to_date(trained, made_of, called)
    print_table(rows)
    print_next(command)


def print_up_to_date(trained: "TrainingOutcome", made_of: str, called: str = "") -> None:
    """Where the same training was done before, say that there was nothing to do."""
    if not trained.fresh:
        name = called or trained.folder.name
        print(f"{name} is up to date: the same {made_of} made it (--force trains it again)")


def at_last(
    last: dict[str, Any], figures: str, verb: str = "trained", early: str = ""
) -> list[tuple[str, str]]:
    """Rows with what a training reported at last, as a format of its figures; none where these cannot be read."""
    try:
        said = figures.format(**last).replace("%", " %")
        return [
            (verb, f"{last['update']:,} updates in {last['seconds']:,.0f} s{early}"),
            ("at last", said),
        ]
    except KeyError:
        return []


def selected(manifest: dict[str, Any], *keys: str) -> dict[str, Any]:
    """What ``--json`` tells of a manifest."""
    return {key: manifest[key] for key in keys if key in manifest}
