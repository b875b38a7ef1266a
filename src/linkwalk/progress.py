"""Progress of long work on standard error: a bar with rate and ETA on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PLAIN_EVERY_S = 10.0


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Stage:
    """One stage of a job: how much is done out of how much."""

    def __init__(self, name: str, total: float, unit: str) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0.0
        self.started = time.monotonic()

    def update(self, done: float) -> None:
        """Set what is done so far."""
        self.done = done
        self._show()

    def advance(self, amount: float = 1) -> None:
        """Add to what is done."""
        self.update(self.done + amount)

    def _show(self) -> None:
        """Silent unless a subclass shows something."""

    def line(self) -> str:
        """The state in words: share done, rate, time left."""
        elapsed = max(time.monotonic() - self.started, 1e-9)
        rate = self.done / elapsed
        share = self.done / self.total if self.total else 1.0
        text = f"{self.name}: {100 * share:.0f} %, {self.done:,.0f}/{self.total:,.0f} {self.unit}"
        text += f", {rate:,.1f} {self.unit}/s"
        if 0 < share < 1:
            text += f", ETA {_duration(elapsed * (1 - share) / share)}"
        return text


class _PlainStage(Stage):
    shown = 0.0

    def _show(self) -> None:
        now = time.monotonic()
        if now - max(self.shown, self.started) >= _PLAIN_EVERY_S:
            self.shown = now
            print(self.line(), file=sys.stderr, flush=True)


class _BarStage(Stage):
    bar: object = None

    def _show(self) -> None:
        from rich.progress import Progress as RichProgress

        if isinstance(self.bar, RichProgress):
            self.bar.update(self.bar.task_ids[0], completed=self.done)


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
        """Show one stage while the block runs, and its total time at the end."""
        if self.terminal:
            from rich import progress as rp
            from rich.console import Console

            columns = (
                rp.TextColumn("{task.description:<10}"),
                rp.BarColumn(),
                rp.TextColumn("{task.completed:,.0f}/{task.total:,.0f} " + unit),
                rp.TextColumn("{task.speed:,.1f} " + unit + "/s" if False else ""),
                rp.TimeElapsedColumn(),
                rp.TextColumn("ETA"),
                rp.TimeRemainingColumn(),
            )
            with rp.Progress(*columns, console=Console(stderr=True)) as bar:
                bar.add_task(name, total=total)
                stage = _BarStage(name, total, unit)
                stage.bar = bar
                yield stage
                stage.update(stage.total)
            return
        stage_plain = Stage(name, total, unit) if self.quiet else _PlainStage(name, total, unit)
        yield stage_plain
        if not self.quiet:
            took = time.monotonic() - stage_plain.started
            rate = stage_plain.done / max(took, 1e-9)
            print(
                f"{name}: {stage_plain.done:,.0f} {unit} in {took:.1f} s ({rate:,.1f} {unit}/s)",
                file=sys.stderr,
                flush=True,
            )
