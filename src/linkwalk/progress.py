"""Progress of long work on standard error: a bar with rate and ETA on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PLAIN_EVERY_S = 10.0

Advance = Callable[[float], None]
"""Hears how much has been done since it last heard."""


def unheard(_: float) -> None:
    """Hear of no progress."""


class Stage:
    """One stage of a job: how much is done out of how much."""

    def __init__(
        self, name: str, total: float, unit: str, show: Callable[["Stage"], None] | None = None
    ) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0.0
        self.started = time.monotonic()
        self._show = show

    def update(self, done: float) -> None:
        """Set what is done so far."""
        self.done = done
        if self._show is not None:
            self._show(self)

    def advance(self, amount: float = 1) -> None:
        """Add to what is done."""
        self.update(self.done + amount)

    @property
    def elapsed(self) -> float:
        """Seconds since the stage began."""
        return max(time.monotonic() - self.started, 1e-9)

    def rate(self) -> str:
        """What is done per second, in words."""
        return f"{self.done / self.elapsed:,.1f} {self.unit}/s"

    def line(self) -> str:
        """The state in words: share done, rate, time left."""
        share = self.done / self.total if self.total else 1.0
        text = (
            f"{self.name}: {100 * share:.0f} %, {self.done:,.0f}/{self.total:,.0f} {self.unit}, {self.rate()}"
        )
        if 0 < share < 1:
            text += f", ETA {_duration(self.elapsed * (1 - share) / share)}"
        return text

    def summary(self) -> str:
        """What was done and how long it took."""
        return f"{self.name}: {self.done:,.0f} {self.unit} in {self.elapsed:.1f} s ({self.rate()})"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """Shows stages one after the other; ``quiet`` shows nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.terminal = not quiet and sys.stderr.isatty()

    def warn(self, message: str) -> None:
        """Say something on standard error that the user should know, whatever else is shown."""
        print(f"warning: {message}", file=sys.stderr, flush=True)

    @contextmanager
    def stage(self, name: str, total: float, unit: str) -> Iterator[Stage]:
        """Show one stage while the block runs, and how long it took at the end."""
        if self.quiet:
            yield Stage(name, total, unit)
        elif self.terminal:
            with _bar(name, total, unit) as stage:
                yield stage
        else:
            stage = Stage(name, total, unit, _plain_lines())
            yield stage
            print(stage.summary(), file=sys.stderr, flush=True)


def _plain_lines() -> Callable[[Stage], None]:
    """Print a line now and then: a log does not want more."""
    shown = time.monotonic()

    def show(stage: Stage) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= _PLAIN_EVERY_S:
            shown = now
            print(stage.line(), file=sys.stderr, flush=True)

    return show


@contextmanager
def _bar(name: str, total: float, unit: str) -> Iterator[Stage]:
    """A bar on the terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + unit),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=total, rate="")
        stage = Stage(name, total, unit, lambda s: bar.update(task, completed=s.done, rate=s.rate()))
        yield stage
        stage.update(stage.total)
