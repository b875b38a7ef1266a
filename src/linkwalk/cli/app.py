"""The command ``linkwalk``: its verbs in the order one uses them."""

from collections.abc import Callable

import typer
from typer import Option

from linkwalk import __version__
from linkwalk.cli.build import build
from linkwalk.cli.check import check
from linkwalk.cli.demo import demo
from linkwalk.cli.diff import diff
from linkwalk.cli.embed import embed
from linkwalk.cli.evaluate import evaluate
from linkwalk.cli.find import find
from linkwalk.cli.games import games
from linkwalk.cli.index import index
from linkwalk.cli.reproduce import reproduce
from linkwalk.cli.score import score
from linkwalk.cli.serve import mcp, serve
from linkwalk.cli.split import split
from linkwalk.cli.stats import stats
from linkwalk.cli.train import train
from linkwalk.cli.train_encoder import train_encoder, train_wikis
from linkwalk.cli.train_map import train_map
from linkwalk.cli.train_reader import train_reader, tune_reader
from linkwalk.cli.train_reranker import train_reranker
from linkwalk.cli.walk import walk

app = typer.Typer(
    name="linkwalk",
    help="Learn to find things by following links: a wiki becomes a graph, walks on it a policy, the policy an agent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(show: bool) -> None:
    if show:
        print(f"linkwalk {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


VERBS: tuple[Callable[..., None], ...] = (
    *(demo, build, check, stats, split, diff, embed),
    *(train, train_wikis, train_encoder, train_map, train_reader, tune_reader, train_reranker),
    *(evaluate, walk, index, find, score, serve, mcp, reproduce),
)
for verb in VERBS:
    app.command("eval" if verb is evaluate else None)(verb)
app.add_typer(games, name="games")
