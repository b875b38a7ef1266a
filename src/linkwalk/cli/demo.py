"""``linkwalk demo``: the bundled encyclopedia end to end, from its dump to a page in the browser."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from linkwalk.cli.options import NewWiki, OpenPage, option
from linkwalk.cli.output import is_coloured, no_hints
from linkwalk.errors import InputError

QUESTION = "In which year did the country whose invading army was beaten at Adwa vote to become a republic?"
_FROM, _TO = "Piano", "Transistor (1)"


def demo(
    output: NewWiki = Path("linkwalk-demo"),
    no_serve: Annotated[
        bool, Option("--no-serve", help="Stop before the page is served: for scripts.")
    ] = False,
    port: Annotated[int, option("N", "Of the page; if it is taken, any other.", min=0, max=65535)] = 8000,
    open_page: OpenPage = False,
) -> None:
    """Show everything on the bundled encyclopedia: its graph, agents compared, a click path, a question, the page.

    Each step is a command of its own and is shown as one types it. Nothing is loaded from the network. A second run is
    fast: what is there is used again.

    Example: linkwalk demo --open
    """
    wiki = str(output)
    _look(output)
    _step("219 articles become a graph of paragraphs", "build", "demo", "-o", wiki, "--force", "-q")
    _step("Every paragraph gets a vector (MiniLM; half a minute on two cores)", "embed", wiki)
    _step(
        "How often do agents find a paragraph 5 or 20 random clicks away? All get the same goals, and 100 clicks each",
        *("eval", wiki, "--steps", "5,20", "-q"),
    )
    _step("One click path, beside the shortest", "walk", wiki, "--from", _FROM, "--to", _TO)
    _step("Paragraphs are indexed, so that questions can be asked", "index", wiki, "-q")
    _step(
        "Sentences that answer a question, each with the path that led to it",
        "find",
        wiki,
        "-k",
        "3",
        QUESTION,
    )
    serving = ["serve", wiki, "--port", str(port if no_serve else _free(port)), *["--open"] * open_page]
    if no_serve:
        print(f"\nThe page where agents click and people play: {shlex.join(['linkwalk', *serving])}")
        return
    _step("The page: watch agents walk, ask, play against them", *serving)


def _look(output: Path) -> None:
    """Refuse a workspace of another wiki: the demo would replace it."""
    from linkwalk.graph.store import Graph

    if not (output / "graph").is_dir():
        return
    snapshot = Graph.open(output).snapshot
    if not snapshot.startswith("Linkwalk Encyclopedia"):
        raise InputError(
            f"{output} holds another wiki ({snapshot}): give the demo a folder of its own with -o"
        )


def _step(title: str, *command: str) -> None:
    """Run a command as it would be typed."""
    from linkwalk.cli.app import app

    bold, dim, plain = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if is_coloured() else ("", "", "")
    shown = [word for word in command if word not in ("-q", "--force")]
    print(f"\n{bold}{title}{plain}\n{dim}$ {shlex.join(['linkwalk', *shown])}{plain}\n", flush=True)
    with no_hints():
        status = app(list(command), prog_name="linkwalk", standalone_mode=False)
    if status:
        raise typer.Exit(status)


def _free(port: int) -> int:
    """The port, or 0, which stands for any, if something listens there."""
    import socket

    with socket.socket() as there:
        there.settimeout(1)
        return 0 if port and there.connect_ex(("127.0.0.1", port)) == 0 else port
