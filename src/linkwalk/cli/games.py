"""``linkwalk games``: agents against people, runs scored, tasks for players from outside."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option
from typer.core import TyperGroup

from linkwalk.cli.options import (
    COMPARED,
    Agents,
    Back,
    BuiltWiki,
    EmbeddingsName,
    Heads,
    Json,
    Quiet,
    Sampled,
    Seed,
    argument,
    option,
)
from linkwalk.cli.output import Columns, figure, print_columns, print_figures, print_json, print_next
from linkwalk.errors import InputError
from linkwalk.navigate.moves import MoveConfig
from linkwalk.progress import Progress
from linkwalk.records import write_records

if TYPE_CHECKING:
    from linkwalk.games.against_people import GameScores, PeopleScores
    from linkwalk.games.archive import Archive, Board
    from linkwalk.games.run_scores import RunScores

_SHOWN = 5
"""Of what was set aside."""
_GAMES = (
    ("", "{0.agent}"),
    ("arrived %", "{0.success_30:.1%}"),
    ("clicks", "{0.mean_clicks:.2f}"),
    ("wins %", "{0.wins:.1%}"),
    ("ties %", "{0.ties:.1%}"),
    ("losses %", "{0.losses:.1%}"),
    ("wins or ties %", "{0.wins_or_ties:.1%}"),
    ("loops %", "{0.loops:.1%}"),
    ("ms a game", "{0.ms_a_game:.2f}"),
)
_RUNS = (
    ("", "{0.agent}"),
    ("runs", "{0.runs:,}"),
    ("success %", "{0.success:.1%}"),
    ("", "{0.success_ci95[0]:.1%}-{0.success_ci95[1]:.1%}"),
    ("clicks", "{0.mean_clicks:.2f}"),
    ("distance", "{0.mean_distance:.2f}"),
    ("SPL %", "{0.spl:.1%}"),
    ("loops %", "{0.loops:.1%}"),
    ("seconds a run", "{0.seconds:.3g}"),
)


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


@games.command()
def play(
    wiki: Annotated[Path, argument("WIKI", "Workspace that has the articles' texts.")],
    archive: Annotated[
        Path,
        argument(
            "GAMES", "Wikispeedia's games, a folder or a tar with articles.tsv ...; or tasks, a .jsonl file."
        ),
    ],
    agent: Agents = None,
    budget: Annotated[int, option("B", "Clicks an agent has.", min=1, max=10_000)] = 30,
    sample: Annotated[
        int | None, option("N", "Only N of the finished games, drawn by the seed.", min=1)
    ] = None,
    part: Annotated[
        Literal["all", "tuned", "kept"],
        Option(help="All pairs; the tenth that choices were made on (tuned); or all others (kept)."),
    ] = "all",
    sight: Annotated[
        Literal["hubs", "blocks", "mean", "first"],
        Option(
            help="What agents see of an article that a link leads to: its blocks, of which the nearest to the goal "
            "counts, and how many links it has (hubs); its blocks; their mean; or its first block alone."
        ),
    ] = "hubs",
    back: Back = False,
    sampled: Sampled = False,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    head: Heads = None,
    runs: Annotated[Path | None, option("FILE", "Write what people and agents did as a run file.")] = None,
    plot: Annotated[Path | None, option("FILE", "Draw a picture, a PNG file.")] = None,
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
    from linkwalk.games.against_people import (
        PlayedPairs,
        part_of,
        plot_games,
        score_games,
        score_people,
        write_games,
    )
    from linkwalk.games.against_people import sample as selected
    from linkwalk.games.archive import read_archive
    from linkwalk.games.play import perform, play_tasks
    from linkwalk.games.run_scores import score_player
    from linkwalk.games.runs import check_writable, write_runs
    from linkwalk.games.sight import articles_of, page_units
    from linkwalk.games.tasks import read_tasks
    from linkwalk.graph.plots import require
    from linkwalk.graph.store import Graph
    from linkwalk.wiki.agents import check_agents
    from linkwalk.wiki.workspace import Workspace

    if runs is not None:
        check_writable(runs)
    if plot is not None:
        require(plot.parent)
    ways = MoveConfig(back=back, sampled=sampled)
    graph = Graph.open(wiki)
    opened = Workspace(wiki, graph, embeddings)
    names = check_agents(agent or (opened.usual, *COMPARED), wiki, ways)
    if archive.suffix == ".jsonl":
        file = read_tasks(archive, graph)
        sections = play_tasks(opened, file, names, ways, seed)
        if runs is not None:
            write_runs(runs, sections)
        scores = [score_player(graph, section, file.tasks)[0] for section in sections]
        if json:
            print_json({"results": [asdict(score) for score in scores]})
            return
        print(f"{graph.snapshot}: {len(file.tasks):,} tasks, {file.budget} clicks each{ways.words()}\n")
        _print_scores(scores)
        print_next(f"linkwalk mcp {wiki}")
        return
    read = read_archive(archive)
    board = read.board
    finished, unfinished = part_of(read, part)
    finished = selected(finished, sample, seed)
    unfinished = [] if sample else unfinished
    pairs = PlayedPairs.of(board, finished, unfinished)
    table = opened.table(*names)
    articles = articles_of(board.names, graph)
    units = page_units(board, articles, graph, table, sight)
    done = []
    with Progress(quiet=quiet).stage("games", len(pairs.starts) * len(names), "games") as stage:
        for name in names:
            walker = opened.agent(name, ways, table, board, units)
            done.append(perform(walker, pairs.episodes(), budget=budget, seed=seed, board=board))
            stage.advance(len(pairs.starts))
    found = score_people(pairs, budget)
    results = [score_games(one, pairs) for one in done]
    if plot is not None:
        plot_games(found, results, graph.snapshot, plot)
    untold = [board.names[node] for node in (articles < 0).nonzero()[0].tolist()]
    if runs is not None:
        write_games(runs, board, archive, budget, (*finished, *unfinished), pairs, done)
    if json:
        options = {"budget": budget, "sight": sight, "part": part, "sample": sample, "seed": seed}
        print_json(
            {
                **asdict(found),
                "results": [asdict(result) for result in results],
                **options,
                "embeddings": table.name,
                "archive": _archive_json(read) | {"without_text": untold},
            }
        )
        return
    _print_archive(read, len(untold))
    _print_games(found, results)
    print_next(f"linkwalk games {wiki} {archive} --agent {names[0]} --plot games.png")


@games.command()
def score(
    files: Annotated[list[Path], argument("RUNS...", "Run files.")],
    wiki: Annotated[
        Path | None,
        option("PLACE", "Workspace or archive of games they are on. [default: what the files name]"),
    ] = None,
    tasks: Annotated[
        Path | None,
        option("FILE", "The tasks they are on: one without a run is a failure."),
    ] = None,
    replay: Annotated[
        str | None,
        option("URL", "Name the address of each run on the page of `linkwalk serve`, which is at URL."),
    ] = None,
    json: Json = False,
) -> None:
    """Score runs, whoever made them: every click is checked against the wiki's links.

    A run with a click that is no link is refused, and the first such click named.

    Example: linkwalk games score runs.jsonl
    """
    from linkwalk.games.archive import read_archive
    from linkwalk.games.run_scores import score_player
    from linkwalk.games.runs import read_runs
    from linkwalk.games.tasks import read_tasks
    from linkwalk.graph.store import Graph

    opened: dict[str, Graph | Board] = {}
    results: list[RunScores] = []
    replays: list[str] = []
    for file in files:
        for section in read_runs(file):
            header = section.header
            at = wiki or (Path(header.at) if header.at else None)
            if at is None:
                raise InputError(
                    f"the runs of {header.agent} do not say where their wiki is: give --wiki PLACE"
                )
            if (ground := opened.get(str(at))) is None:
                is_workspace = (at / "graph").is_dir()
                opened[str(at)] = ground = Graph.open(at) if is_workspace else read_archive(at).board
            if tasks is not None and not isinstance(ground, Graph):
                raise InputError(
                    f"--tasks is for runs on a workspace: those of {file} are on an archive of games"
                )
            wanted = read_tasks(tasks, ground).tasks if tasks and isinstance(ground, Graph) else None
            try:
                scores, checked = score_player(ground, section, wanted)
            except InputError as error:
                raise InputError(f"{file}, {error}") from None
            results.append(scores)
            if replay is not None and header.level == "block":
                replays += [replay.rstrip("/") + run.address(ground) for run in checked]
    if json:
        print_json({"results": [asdict(result) for result in results], "replays": replays})
        return
    _print_scores(results)
    for address in replays:
        print(address)


@games.command()
def tasks(
    wiki: BuiltWiki,
    output: Annotated[Path, option("FILE", "The task file to write.", "--output", "-o")],
    count: Annotated[int, option("N", "How many tasks.", min=3, max=1_000_000)] = 500,
    budget: Annotated[int, option("B", "Clicks a player has.", min=1, max=10_000)] = 30,
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


def _archive_json(read: "Archive") -> dict[str, Any]:
    """What was read, and what was set aside, for ``--json``."""
    return {
        "articles": read.board.nodes,
        "links": len(read.board.forward.indices),
        "finished": len(read.finished),
        "unfinished": len(read.unfinished),
        "start_is_goal": read.trivial,
        "unknown_articles": dict(read.unknown.most_common()),
        "games_with_unknown_articles": read.lost,
        "bad_lines": len(read.bad),
        "first_bad_lines": [bad._asdict() for bad in read.bad[:_SHOWN]],
    }


def _print_archive(read: "Archive", untold: int) -> None:
    """What was read, and what was set aside, for people."""
    board = read.board
    print(
        f"{board.snapshot}: {board.nodes:,} articles, {len(board.forward.indices):,} links, {len(read.finished):,} "
        f"finished games, {len(read.unfinished):,} given up"
    )
    notes = [f"{untold} articles are known by their title alone"] if untold else []
    if read.lost:
        named = ", ".join(f"{name} ({count})" for name, count in read.unknown.most_common(_SHOWN))
        more = ", ..." if len(read.unknown) > _SHOWN else ""
        notes.append(f"{read.lost} games name articles that the archive does not have: {named}{more}")
    if read.bad:
        where = ", ".join(f"{bad.file}:{bad.line} ({bad.reason})" for bad in read.bad[:_SHOWN])
        notes.append(f"{len(read.bad)} lines could not be read: {where}{', ...' * (len(read.bad) > _SHOWN)}")
    if read.trivial:
        notes.append(f"{read.trivial} games whose start is the goal are left out")
    for note in notes:
        print(f"  {note}")


def _print_games(found: "PeopleScores", results: "list[GameScores]") -> None:
    """Agents beside people, all games together and by distance."""
    print(f"\n{found.games:,} games on {found.pairs:,} pairs: people {found.human_mean:.2f} clicks, ", end="")
    print(f"shortest paths {found.optimal_mean:.2f}", end="")
    if found.human_success is not None:
        print(f"; people arrived in {100 * found.human_success:.1f} % of all they began", end="")
    print("\n")
    print_figures(_GAMES, results)
    print("\nby links of the shortest path: arrived %, clicks, wins or ties %\n")

    def told(scores: Iterable[Any], *forms: str) -> Iterator[str]:
        return (" ".join(figure(form, at) for form in forms) for at in scores)

    known = found.by_distance
    rows = [("", *told(known, "{0.distance}")), ("games", *told(known, "{0.games:,}"))]
    rows.append(("people", *told(known, "{0.success:.1%}", "{0.mean_clicks:.2f}")))
    for result in results:
        own = told(result.by_distance, "{0.success_30:.1%}", "{0.mean_clicks:.2f}", "{0.wins_or_ties:.1%}")
        rows.append((result.agent, *own))
    print_columns(rows)


def _print_scores(results: "list[RunScores]") -> None:
    """A line for every player."""
    print_figures(_RUNS, results)
    if any(one.by_difficulty for one in results):
        levels = [some.difficulty for some in results[0].by_difficulty]
        print("\nsuccess % by difficulty\n")
        rows: Columns = [("", *levels)]
        rows += [(one.agent, *(f"{100 * some.success:.1f}" for some in one.by_difficulty)) for one in results]
        print_columns(rows)
