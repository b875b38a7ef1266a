"""``linkwalk eval``: agents on the same episodes, beside each other."""

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from linkwalk.cli.options import (
    COMPARED,
    Agents,
    Back,
    Budget,
    BuiltWiki,
    EmbeddingsName,
    EncoderName,
    Heads,
    Json,
    Quiet,
    Revisit,
    Runs,
    Sampled,
    Seed,
    option,
)
from linkwalk.cli.output import print_figures, print_json, print_missing, print_next
from linkwalk.errors import InputError
from linkwalk.navigate.moves import MoveConfig
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.evaluate import Result
    from linkwalk.navigate import Agent, Episodes, Journeys


_COLUMNS = (
    ("", "{0.agent}"),
    ("T", "{0.task.steps}"),
    ("success %", "{0.scores.success:.1%}"),
    ("", "{0.scores.success_ci95[0]:.1%}-{0.scores.success_ci95[1]:.1%}"),
    ("SPL %", "{0.scores.spl:.1%}"),
    ("steps", "{0.scores.mean_steps:.1f}"),
    ("distance", "{0.scores.mean_distance:.1f}"),
    ("loops %", "{0.scores.loop_rate:.1%}"),
    ("failure ratio", "{0.scores.failure_ratio:.2f}"),
    ("", "{0.scores.failure_ratio_ci95[0]:.2f}-{0.scores.failure_ratio_ci95[1]:.2f}"),
)


def evaluate(
    wiki: BuiltWiki,
    agent: Agents = None,
    task: Annotated[
        Literal["navigation", "multistep", "sentence"],
        Option(
            help="Walks of T steps, walks of a number of steps drawn from 1 to T, or walks of T steps of whose goal "
            "agents see one random sentence."
        ),
    ] = "navigation",
    steps: Annotated[
        str | None,
        option("T,...", "T, one or several. [default: 5,10,20; multistep: 20]"),
    ] = None,
    sampling: Annotated[
        Literal["forward", "reverse"],
        Option(help="Walk from a random start to the goal, or from a random goal back to the start."),
    ] = "forward",
    goals: Annotated[
        Literal["all", "withheld"],
        Option(
            help="All blocks, or those of the tenth of the articles that `linkwalk train WIKI` never trains towards."
        ),
    ] = "all",
    episodes: Annotated[int, option("N", "Episodes for each T.", min=1)] = 1000,
    budget: Budget = 100,
    back: Back = False,
    sampled: Sampled = False,
    revisit: Revisit = False,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    head: Heads = None,
    encoder: EncoderName = None,
    runs: Runs = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how well agents find their way: start and goal are the ends of a random walk of T steps.

    All agents get the same episodes. The failure ratio compares an agent's failures with those of greedy-unvisited with
    the same privileges: below 1 is better. Intervals are at 95 %. In sentence search a policy reads the sentence with
    its own target encoder, if it has one, every other agent with the encoder that made the embeddings.

    Example: linkwalk eval WIKI --agent random --agent greedy-unvisited --steps 5,10
    """
    from linkwalk.evaluate import SentenceQueries, TaskConfig, compare, draw_episodes, draw_sentences
    from linkwalk.games.runs import Header, PlayerRuns, check_writable, runs_of, write_runs
    from linkwalk.graph.held_out import WITHHELD, held_out_nodes
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import BASELINES, REFERENCE
    from linkwalk.wiki.agents import check_agents
    from linkwalk.wiki.workspace import Workspace

    ways = MoveConfig(back=back, sampled=sampled, revisit=revisit)
    if runs is not None:
        check_writable(runs)
    opened = Workspace(wiki, Graph.open(wiki), embeddings)
    names = check_agents(agent or (opened.usual, *COMPARED), wiki, ways)
    lengths = _lengths(("20" if task == "multistep" else "5,10,20") if steps is None else steps)
    graph = opened.graph
    table = opened.table_for(names)
    measured = table is not None and (table.reads or task != "sentence")
    extra = [REFERENCE] if measured and REFERENCE not in names else []
    results: list[Result] = []
    configs = [
        TaskConfig(task=task, steps=length, sampling=sampling, episodes=episodes, seed=seed)
        for length in lengths
    ]
    progress, queries = Progress(quiet=quiet), {}
    if task == "sentence" and (
        looking := [name for name in names + extra if name not in BASELINES or not BASELINES[name].blind]
    ):
        assert table is not None, "table_for sees to it"
        encoders = {name: opened.encoder(table, name) for name in looking}
        count = episodes * len(lengths) * len(set(encoders.values()))
        with progress.stage("read", count, "sentences") as stage:
            for config in configs:
                queries[config.steps] = SentenceQueries(graph, config, encoders, stage.advance)
    among = held_out_nodes(graph, WITHHELD) if goals == "withheld" else None
    if among is not None and task == "sentence":
        raise InputError("--goals withheld is for navigation and multistep: sentences are of all goals")
    kept: list[PlayerRuns] = []

    def keep(agent: "Agent", played: "Episodes", journeys: "Journeys") -> None:
        if runs is not None:
            header = Header.on(graph, wiki, agent.name, budget)
            kept.append(PlayerRuns(header, list(runs_of(graph, played, journeys))))

    total = episodes * len(lengths) * len(names + extra)
    with progress.stage("eval", total, "episodes") as stage:
        for config in configs:
            made = {
                name: opened.agent(name, replace(ways, depth=config.steps), table) for name in names + extra
            }
            results += compare(
                graph.forward,
                graph.reverse,
                config,
                [made[name] for name in names],
                made.get(REFERENCE),
                budget=budget,
                goals_among=among,
                show=queries.get(config.steps, lambda _, episodes: episodes),
                keep=keep,
                advance=stage.advance,
            )
    missing = None if agent else opened.without_shipped
    if runs is not None:
        write_runs(runs, kept)
    if json:
        options = {
            **{name: getattr(ways, name) for name in ("back", "sampled", "revisit")},
            "budget": budget,
            "seed": seed,
            "goals": goals,
        }
        print_json(
            {
                "results": [result.to_json() | options for result in results],
                "embeddings": table and table.name,
            }
        )
        print_missing(missing, json=True)
        return
    search = " search" * (task == "sentence")
    print(
        f"{graph.snapshot}: {task}{search} by {sampling} walks, {episodes:,} episodes each, {budget} steps"
        + ways.words()
        + (f", embeddings {table.name}" if table else "")
        + ", goals in withheld articles" * (among is not None)
    )
    print_figures(_COLUMNS, results)
    if not measured:
        print(f"\nno failure ratio: greedy-unvisited needs embeddings (`linkwalk embed {wiki}`)")
    print_missing(missing, json=False)
    one = replace(results[0].task, episodes=1)
    first = draw_episodes(graph.forward, graph.reverse, one, among)
    start, goal = (graph.name(int(nodes[0])) for nodes in (first.starts, first.goals))
    to = f"--to {shlex.quote(goal)}"
    if task == "sentence":
        to = f"--sentence {shlex.quote(draw_sentences(graph, first, one)[0])}"
    named = f" --embeddings {embeddings}" if embeddings else ""
    print_next(f"linkwalk walk {wiki} --from {shlex.quote(start)} {to}{named}")


def _lengths(text: str) -> list[int]:

    try:
        lengths = list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        lengths = [0]
    if min(lengths) < 1 or max(lengths) > 100_000:
        raise InputError(f"--steps {text!r} is not a list of numbers from 1 to 100000, as in 5,10,20")
    return lengths
