"""The command ``linkwalk``: its verbs in the order one uses them."""

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
from linkwalk.cli.mcp import mcp
from linkwalk.cli.reproduce import reproduce
from linkwalk.cli.score import score
from linkwalk.cli.serve import serve
from linkwalk.cli.split import split
from linkwalk.cli.stats import stats
from linkwalk.cli.train import train
from linkwalk.cli.train_encoder import train_encoder
from linkwalk.cli.train_map import train_map
from linkwalk.cli.train_reader import train_reader, tune_reader
from linkwalk.cli.train_reranker import train_reranker
from linkwalk.cli.train_wikis import train_wikis
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


app.command()(demo)
app.command()(build)
app.command()(check)
app.command()(stats)
app.command()(split)
app.command()(diff)
app.command()(embed)
app.command()(train)
app.command("train-wikis")(train_wikis)
app.command("train-encoder")(train_encoder)
app.command("train-map")(train_map)
app.command("train-reader")(train_reader)
app.command("tune-reader")(tune_reader)
app.command("train-reranker")(train_reranker)
app.command("eval")(evaluate)
app.command()(walk)
app.command()(index)
app.command()(find)
app.command()(score)
app.add_typer(games, name="games")
app.command()(serve)
app.command()(mcp)
app.command()(reproduce)
