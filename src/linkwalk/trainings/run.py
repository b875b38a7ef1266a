"""What all trainings share: how they are run, where they go, and whether the same one made what is there."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.artifact import clear
from linkwalk.errors import InputError
from linkwalk.learn.loop import RunOptions
from linkwalk.learn.metrics import rows_of
from linkwalk.learn.ranks import ranks
from linkwalk.learn.state import differences, read_state
from linkwalk.navigate import BASELINES
from linkwalk.policy.checkpoint import read_policy
from linkwalk.progress import Progress
from linkwalk.records import BadLine
from linkwalk.settings import Config, with_settings


class TrainingRun(NamedTuple):
    """How a training is run, whatever it trains."""

    settings: Sequence[str]
    """Those that are not as the recipe has them, as ``key=value``."""
    device: str
    checkpoint_every: int
    restart: bool
    """Begin anew, even if there is a stopped training to go on with."""
    force: bool
    """Replace what is there."""
    quiet: bool

    @property
    def progress(self) -> Progress:
        """Where it says how far it is."""
        return Progress(quiet=self.quiet)

    def configured(self, config: Config) -> Config:
        """The configuration with its settings changed."""
        return with_settings(config, self.settings)

    def kept(self, partial: Path, job: dict[str, Any], updates: int) -> RunOptions:
        """Where a training is kept while it runs, and what it goes on from: one of the same job that was stopped."""

        def say(line: str) -> None:
            if not self.quiet:
                print(line, file=sys.stderr)

        saved = None if self.restart else read_state(partial, say)
        if saved is not None and (changed := differences(saved.job, job)):
            say(f"begins anew: the training in {partial} is another ({_in_short(changed)})")
            saved = None
        elif saved is not None:
            said = f"goes on after update {saved.update:,} of {updates:,}, from {partial}"
            say(f"{said} (--restart begins anew)")
        ranks().wait()  # before the first of several processes changes anything there
        return {
            "folder": partial,
            "job": job,
            "resume": saved,
            "checkpoint_every": self.checkpoint_every,
            "progress": self.progress,
        }


class BenchmarkChoice(NamedTuple):
    """What of a benchmark is learnt from; None where nothing was said."""

    part: str | None = None
    threshold: float | None = None
    wiki_pages: Path | None = None


class TrainingOutcome(NamedTuple):
    """What a training made, now or before."""

    folder: Path
    manifest: dict[str, Any]
    fresh: bool
    """Whether it was made now."""
    last: dict[str, Any]
    """The row that the training reported at last; empty where its file cannot be read."""
    more: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    """What there is to tell of this kind of training alone."""


def partial_of(final: Path) -> Path:
    """Where a training is kept until what it made takes its place."""
    return final.with_name(final.name + ".partial")


def last_row(metrics: Path) -> dict[str, Any]:
    """What a training reported at last; of a file that cannot be read, nothing."""
    return (rows_of(metrics) or [{}])[-1]


def check_name(name: str, what: str) -> None:
    """Refuse what cannot name a folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name.endswith((".partial", ".old")):
        raise InputError(f"{name!r} cannot name a {what}: use letters, digits, dots, dashes, underscores")


def new_folder(wiki: Path, name: str) -> Path:
    """Where a policy goes, if it can be called that."""
    check_name(name, "policy")
    if name in BASELINES:
        raise InputError(f"{name} is an agent that needs no training: choose another --name")
    return wiki / "policies" / name


def trained_on(manifest: dict[str, Any]) -> dict[str, Any]:
    """What something was trained on, as far as its manifest says so."""
    found = manifest.get("trained_on")
    return found if isinstance(found, dict) else {}


def job_in(manifest: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """What a manifest says of the things that a job follows from."""
    said = {**trained_on(manifest), **manifest}
    return {key: said.get(key) for key in job}


def made_before(final: Path, job: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the policy that is there, if the same job made it; one of another is an error."""
    if not final.exists():
        return None
    manifest = read_policy(final)
    if changed := differences(job_in(manifest, job), job):
        raise name_taken("a policy", final, changed)
    if ranks().first:
        clear_after(partial_of(final), job)
    return manifest


def clear_after(partial: Path, job: dict[str, Any]) -> None:
    """Remove what a training left that was killed just when it had put things in their place; no other's."""
    saved = read_state(partial)
    if saved is None or saved.job == job:
        clear(partial)


def name_taken(what: str, final: Path, changed: Sequence[str] = ()) -> InputError:
    """What to do where something of that name, of another training, is in the way."""
    return InputError(
        f"{final.parent.parent} has {what} named {final.name!r}{of_another_training(changed)}: add --force to replace "
        "it, or name another with --name"
    )


def of_another_training(changed: Sequence[str]) -> str:
    """How the training that made something differs; nothing where that is not known."""
    return f" of another training ({_in_short(changed)})" if changed else ""


def _in_short(changed: Sequence[str]) -> str:
    """What differs between two trainings, the first three things of it."""
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return ", ".join(changed[:3]) + more


def warn_of_damage(path: Path, damage: Sequence[BadLine], progress: Progress) -> None:
    """Say how many lines of a file could not be used, and which is the first."""
    if damage:
        progress.warn(
            f"{path}: damaged lines left out: {len(damage):,}, the first is line {damage[0].line} "
            f"({damage[0].reason})"
        )
