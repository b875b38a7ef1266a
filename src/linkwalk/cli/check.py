"""``linkwalk check``: everything is read once, and damage is named."""

from pathlib import Path
from typing import Annotated

from typer import Option

from linkwalk.cli.options import Json, Quiet, argument
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.errors import DamagedError
from linkwalk.progress import Progress


def check(
    wiki: Annotated[Path, argument("WIKI", "Workspace, or the folder of a split.")],
    add_checksums: Annotated[
        bool,
        Option(
            "--add-checksums",
            help="Write checksums for what an earlier version made without them, if nothing is wrong with it.",
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read everything in a workspace once and compare it with its checksums.

    Damage is named: which file of which artefact, what is wrong with it, and the command that mends it; the exit
    status is then 2. All commands look at sizes and small files whenever they open a workspace; a bit that has
    flipped in a large text is found only here.

    Example: linkwalk check WIKI
    """
    from linkwalk.wiki.check import check as run

    found = run(wiki, add_checksums=add_checksums, progress=Progress(quiet=quiet))
    damage = [(one, fault) for one in found for fault in one.faults]
    if json:
        print_json(
            {
                "workspace": str(wiki),
                "whole": not damage,
                "bytes": sum(one.bytes for one in found),
                "artefacts": [one.to_json() for one in found],
            }
        )
    else:
        print_table(
            [(one.name, f"{one.state:<16}  {one.files:,} files, {one.bytes / 1e6:,.1f} MB") for one in found]
        )
        for one, fault in damage:
            print(f"\n  {fault.path}: {fault.what}\n    {one.remedy}")
        for one in found:
            if one.stale:
                print(
                    f"\n  {one.name} was made from another graph\n    {one.remedy.removesuffix(' --force`')}`"
                )
        if any(not one.sealed for one in found) and not damage:
            print("\nWhat has no checksums was made by an earlier version; nothing wrong was seen in it.")
            print_next(f"linkwalk check {wiki} --add-checksums")
    if damage:
        (one, fault), more = damage[0], len(damage) - 1
        remedy = one.remedy + (f" ({more:,} more damaged)" if more else "")
        raise DamagedError(fault.path, fault.what, remedy)
