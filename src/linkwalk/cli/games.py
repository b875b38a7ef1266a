"""``linkwalk games``: agents against people, runs scored, tasks for players from outside."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from linkwalk.cli.games_shown import print_games, print_read, print_scores_of_runs, told
from linkwalk.cli.games_tasks import play_tasks
from linkwalk.cli.options import (
    COMPARED,
    NAMES,
    Back,
    BuiltWiki,
    EmbeddingsName,
    Heads,
    Json,
    Quiet,
    Sampled,
    Seed,
)
from linkwalk.cli.output import print_json, print_next
from linkwalk.errors import InputError
from linkwalk.navigate.ways import Ways
from linkwalk.progress import Progress
from linkwalk.records import write_records

if TYPE_CHECKING:
    from linkwalk.games.archive import PlayedGame
    from linkwalk.games.board import Board
    from linkwalk.games.checked import RunScores
    from linkwalk.games.play import Performance, PlayedPairs
    from linkwalk.games.runs import Header, Wikis


class _Games(TyperGroup):
    """A group whose first command need not be named: ``linkwalk games WIKI GAMES`` plays."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["play", *args]
        return super().parse_args(ctx, args)


games = typer.Typer(
    cls=_Games,
    help="Against people: `linkwalk games WIKI GAMES` plays their games, score scores runs, tasks makes tasks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Sight(StrEnum):
    """What agents see of an article."""

    HUBS = "hubs"
    BLOCKS = "blocks"
    MEAN = "mean"
    FIRST = "first"


class WhichPairs(StrEnum):
    """Which pairs."""

    ALL = "all"
    TUNED = "tuned"
    KEPT = "kept"


@games.command()
def play(
    wiki: Annotated[Path, Argument(metavar="WIKI", help="Workspace that has the articles' texts.")],
    archive: Annotated[
        Path,
        Argument(
            metavar="GAMES",
            help="Wikispeedia's games, a folder or a tar with articles.tsv ...; or tasks, a .jsonl file.",
        ),
    ],
    agent: Annotated[
        list[str] | None,
        Option(
            metavar="A",
            help=f"{NAMES}; may be repeated. [default: whoever `linkwalk walk` takes, {', '.join(COMPARED)}]",
        ),
    ] = None,
    budget: Annotated[int, Option(min=1, max=10_000, metavar="B", help="Clicks an agent has.")] = 30,
    sample: Annotated[
        int | None, Option(min=1, metavar="N", help="Only N of the finished games, drawn by the seed.")
    ] = None,
    part: Annotated[
        WhichPairs,
        Option(help="All pairs; the tenth that choices were made on (tuned); or all others (kept)."),
    ] = WhichPairs.ALL,
    sight: Annotated[
        Sight,
        Option(
            help="What agents see of an article that a link leads to: its blocks, of which the nearest to the goal "
            "counts, and how many links it has (hubs); its blocks; their mean; or its first block alone."
        ),
    ] = Sight.HUBS,
    back: Back = False,
    sampled: Sampled = False,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    head: Heads = None,
    runs: Annotated[
        Path | None, Option(metavar="FILE", help="Write what people and agents did as a run file.")
    ] = None,
    plot: Annotated[Path | None, Option(metavar="FILE", help="Draw a picture, a PNG file.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let agents play the games that people played, from article to article by the links that these had.

    A person's clicks are those of the path that led to the goal; what was undone with the back button does not count.
    An agent wins a game by fewer clicks than the person, and ties by as many; if it does not arrive within its budget
    it loses. Of what the workspace has no text of, agents know the title.

    With a file that `linkwalk games tasks` wrote instead of games, agents walk from block to block, and are scored as
    other players' runs are.

    Example: linkwalk games WIKI wikispeedia_paths-and-graph.tar.gz

    Example: linkwalk games play WIKI tasks.jsonl --agent greedy-map --runs runs.jsonl
    """
    from linkwalk.games.archive import read_archive
    from linkwalk.games.play import PlayedPairs, part_of, perform
    from linkwalk.games.play import sample as some_of
    from linkwalk.games.runs import check_writable
    from linkwalk.games.scores import people, score_games
    from linkwalk.games.texts import articles_of, page_units
    from linkwalk.graph.plots import require
    from linkwalk.graph.store import Graph
    from linkwalk.wiki.agents import check_agents
    from linkwalk.wiki.workspace import Workspace

    if runs is not None:
        check_writable(runs)
    if plot is not None:
        require(plot.parent)
    ways = Ways(back=back, sampled=sampled)
    opened = Workspace(wiki, Graph.open(wiki), embeddings)
    names = check_agents(agent or (opened.usual, *COMPARED), wiki, ways)
    if archive.suffix == ".jsonl":
        play_tasks(opened, archive, names, ways, seed, runs, json)
        return
    read = read_archive(archive)
    finished, unfinished = part_of(read, part.value)
    finished = some_of(finished, sample, seed)
    unfinished = [] if sample else unfinished
    pairs = PlayedPairs.of(read.board, finished, unfinished)
    table = opened.table(*names)
    articles = articles_of(read.board.names, opened.graph)
    units = page_units(read.board, articles, opened.graph, table, sight.value)
    done = []
    with Progress(quiet=quiet).stage("games", len(pairs.starts) * len(names), "games") as stage:
        for name in names:
            walker = opened.agent(name, ways, table, read.board, units)
            done.append(perform(walker, read.board, pairs, budget=budget, seed=seed))
            stage.advance(len(pairs.starts))
    found = people(finished, unfinished, pairs, budget)
    results = [score_games(one, finished, unfinished, pairs) for one in done]
    if plot is not None:
        from linkwalk.games.plots import plot_games

        plot_games(found, results, opened.graph.snapshot, plot)
    untold = [read.board.names[node] for node in (articles < 0).nonzero()[0].tolist()]
    if runs is not None:
        _write(runs, read.board, str(archive), budget, (*finished, *unfinished), pairs, done)
    if json:
        read_in = told(read) | {"without_text": untold}
        options = {"budget": budget, "sight": sight.value, "part": part.value, "sample": sample, "seed": seed}
        options["embeddings"] = table.name
        scored = [result.to_json() for result in results]
        print_json({**found.to_json(), "results": scored, **options, "archive": read_in})
        return
    print_read(read, len(untold))
    print_games(found, results)
    print_next(f"linkwalk games {wiki} {archive} --agent {names[0]} --plot games.png")


def _write(
    path: Path,
    board: "Board",
    at: str,
    budget: int,
    games: "Sequence[PlayedGame]",
    pairs: "PlayedPairs",
    done: "Sequence[Performance]",
) -> None:
    """People's games and agents' as runs, a header for each."""
    from linkwalk.games.runs import Header, Run, runs_of, write_runs

    def header(agent: str, budget: int) -> Header:
        return Header(
            wiki=board.fingerprint,
            snapshot=board.snapshot,
            agent=agent,
            budget=budget,
            level="article",
            at=at,
        )

    def of_person(game: "PlayedGame") -> Run:
        clicks: list[str | int] = [board.name(node) for node in game.path[1:]]
        return Run(board.name(game.start), board.name(game.goal), clicks, game.finished, game.seconds)

    agents = (
        (
            header(one.agent, budget),
            runs_of(board, pairs.episodes(), one.journeys, one.seconds / max(1, len(pairs.starts))),
        )
        for one in done
    )
    write_runs(path, [(header("people", 0), map(of_person, games)), *agents])


@games.command()
def score(
    files: Annotated[list[Path], Argument(metavar="RUNS...", help="Run files.")],
    wiki: Annotated[
        Path | None,
        Option(
            metavar="PLACE", help="Workspace or archive of games they are on. [default: what the files name]"
        ),
    ] = None,
    tasks: Annotated[
        Path | None,
        Option(metavar="FILE", help="The tasks they are on: one without a run is a failure."),
    ] = None,
    replay: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Name the address of each run on the page of `linkwalk serve`, which is at URL.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score runs, whoever made them: every click is checked against the wiki's links.

    A run with a click that is no link is refused, and the first such click named.

    Example: linkwalk games score runs.jsonl
    """
    from linkwalk.games.checked import check_section, on_tasks, score_runs
    from linkwalk.games.runs import read_runs
    from linkwalk.games.tasks import read_tasks
    from linkwalk.graph.store import Graph

    opened: dict[str, Wikis] = {}
    results: list[RunScores] = []
    replays: list[str] = []
    for file in files:
        for section in read_runs(file):
            ground = _ground(section.header, wiki, opened)
            if tasks is not None and not isinstance(ground, Graph):
                raise InputError(
                    f"--tasks is for runs on a workspace: those of {file} are on an archive of games"
                )
            wanted = (
                read_tasks(tasks, ground).tasks if tasks is not None and isinstance(ground, Graph) else []
            )
            try:
                checked = check_section(ground, section)
                checked = on_tasks(ground, checked, wanted) if tasks is not None else checked
            except InputError as error:
                raise InputError(f"{file}, {error}") from None
            results.append(score_runs(ground, section.header, checked, wanted))
            if replay is not None and section.header.level == "block":
                replays += [replay.rstrip("/") + run.address(ground) for run in checked]
    if json:
        print_json({"results": [result.to_json() for result in results], "replays": replays})
        return
    print_scores_of_runs(results)
    for address in replays:
        print(address)


def _ground(header: "Header", place: Path | None, opened: "dict[str, Wikis]") -> "Wikis":
    """What runs are on: a workspace's blocks, or an archive's articles; opened once."""
    from linkwalk.games.archive import read_archive
    from linkwalk.graph.store import Graph

    at = place or (Path(header.at) if header.at else None)
    if at is None:
        raise InputError(f"the runs of {header.agent} do not say where their wiki is: give --wiki PLACE")
    if str(at) not in opened:
        is_workspace = (at / "graph").is_dir()
        opened[str(at)] = Graph.open(at) if is_workspace else read_archive(at).board
    return opened[str(at)]


@games.command()
def tasks(
    wiki: BuiltWiki,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="The task file to write.")],
    count: Annotated[int, Option(min=3, max=1_000_000, metavar="N", help="How many tasks.")] = 500,
    budget: Annotated[int, Option(min=1, max=10_000, metavar="B", help="Clicks a player has.")] = 30,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write tasks for players from outside, such as language models: start, goal, optimum, in three difficulties.

    Example: linkwalk games tasks encyclopedia -o tasks.jsonl
    """
    from linkwalk.games.tasks import draw_tasks
    from linkwalk.graph.store import Graph

    graph = Graph.open(wiki)
    lines = list(draw_tasks(graph, count, seed, budget))
    write_records(output, lines)
    difficulties = lines[0]["difficulties"]
    if json:
        print_json({"file": str(output), "tasks": len(lines) - 1, "difficulties": difficulties})
        return
    said = ", ".join(f"{level} {low} to {high} clicks" for level, (low, high) in difficulties.items())
    print(f"wrote {len(lines) - 1} tasks to {output}: {said}")
    print_next(f"linkwalk games {wiki} {output}")
