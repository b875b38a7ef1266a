"""What the verbs that train share: their options, a training to go on with, and how what was made takes its place."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from linkwalk.errors import InputError
from linkwalk.progress import Progress
from linkwalk.records import BadLine

if TYPE_CHECKING:
    from linkwalk.learn.state import SavedState

Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one setting; may be repeated. A wrong key lists all of them.",
    ),
]
Device = Annotated[str, Option(metavar="D", help="auto, cpu, cuda, cuda:N or mps.")]
CheckpointEvery = Annotated[
    int, Option(min=1, metavar="N", help="Updates between two saves of the training.")
]
Restart = Annotated[
    bool, Option("--restart", help="Begin anew, even if there is a stopped training to go on with.")
]
Force = Annotated[bool, Option("--force", help="Replace what has that name.")]
Part = Annotated[
    str | None,
    Option(
        metavar="P",
        help="What of a benchmark is learnt from: all, or tuned, which leaves the half that `score --part kept` "
        "reports out. [default: tuned for FEVER, all for questions]",
    ),
]
Threshold = Annotated[
    float | None,
    Option(
        min=1,
        max=100,
        metavar="N",
        help="FEVER claims: token-set ratio from which a block holds a sentence. [default: 80]",
    ),
]
WikiPages = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="FEVER claims that name sentences by number: FEVER's own Wikipedia, which has their text.",
    ),
]
WHOLE = "whole"
TRAINED_WORDS = "trained-words"
"""The recipe of `linkwalk train` with no options, and what its policy and its embeddings are called."""


def check_name(name: str, what: str) -> None:
    """Refuse what cannot name a folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name.endswith((".partial", ".old")):
        raise InputError(f"{name!r} cannot name a {what}: use letters, digits, dots, dashes, underscores")


def new_folder(wiki: Path, name: str) -> Path:
    """Where the policy goes, if it can be called that."""
    from linkwalk.navigate import BASELINES

    check_name(name, "policy")
    if name in BASELINES:
        raise InputError(f"{name} is an agent that needs no training: choose another --name")
    return wiki / "policies" / name


def stopped(
    partial: Path, job: dict[str, Any], updates: int, *, restart: bool, quiet: bool
) -> "SavedState | None":
    """The training to go on with, if there is one of the same job; says in a line what happens."""
    from linkwalk.learn.state import differences, read_state

    def say(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr)

    saved = None if restart else read_state(partial, say)
    if saved is None:
        return None
    if changed := differences(saved.job, job):
        say(f"begins anew: the training in {partial} is another ({in_short(changed)})")
        return None
    say(f"goes on after update {saved.update:,} of {updates:,}, from {partial} (--restart begins anew)")
    return saved


@contextmanager
def in_one_step(partial: Path, final: Path) -> Iterator[Path]:
    """A folder to put together what a training in ``partial`` made; then it takes its place in one step.

    Until it has, the training to go on with stays as it is: whenever this is killed, nothing is lost.
    """
    from linkwalk.artifact import clear, publish
    from linkwalk.learn.state import FILE

    whole = partial / WHOLE
    clear(whole)
    whole.mkdir(parents=True)
    yield whole
    publish(whole, final)
    for path in (partial / FILE, partial):  # never a state without its metrics
        clear(path)


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


def refuse_another(final: Path, was: dict[str, Any], job: dict[str, Any]) -> None:
    """Refuse to put a policy where one of another training is."""
    from linkwalk.learn.state import differences

    if changed := differences(was, job):
        raise InputError(
            f"{final.parent.parent} has a policy named {final.name!r} of another training ({in_short(changed)}): add "
            "--force to replace it, or name another with --name"
        )


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
