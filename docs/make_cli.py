"""Writes docs/cli.md from the command line's own help: ``python docs/make_cli.py``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from linkwalk.cli.app import app

PAGE = Path(__file__).with_name("cli.md")
_INTRODUCTION = """# The command line

Every verb prints a short summary and the next command to run. With `--json` it prints exactly one JSON object on
standard output and nothing else; progress and warnings go to standard error. An error is one line on standard error,
with exit status 2. Written by `python docs/make_cli.py` from the help of each verb; do not edit.
"""


def verbs(command: Any = None, parent: Any = None, name: str = "linkwalk") -> Iterator[tuple[str, Any, Any]]:
    """Every command with its name and context, the root first."""
    command = command or get_command(app)
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=100)
    yield context.command_path, command, context
    for verb in getattr(command, "commands", {}):
        yield from verbs(command.get_command(context, verb), context, verb)


def render() -> str:
    """The page as it should be."""
    parts = [_INTRODUCTION]
    for name, command, context in verbs():
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts.append(f"## `{name}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE}")
