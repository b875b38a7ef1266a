"""``linkwalk reproduce``: the paper's tables and traces, ours beside them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwalk.cli.agents import (
    NAMES,
    Budget,
    EmbeddingsName,
    Seed,
    Ways,
    check_agents,
    open_agent,
    open_vectors,
)
from linkwalk.cli.output import Json, Quiet, print_columns, print_json
from linkwalk.demo import POLICY

if TYPE_CHECKING:
    from linkwalk.reproduce.runner import Runner
    from linkwalk.reproduce.tables import Size

TABLES = ("table1", "table2", "table7")
WHAT = (*TABLES, "bound", "traces")
_ELSEWHERE = {
    "table3": "table 3 is `linkwalk stats WIKI`",
    "table4": "table 4 needs encoders trained with the policy, which are still to come",
    "table5": "table 5 needs the evidence finder, which is still to come",
    "table6": "table 6 needs the evidence finder, which is still to come",
}


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="table1 (trajectory distributions), table2 (navigation), table7 (cost), bound (the variational bound "
            "of appendix D) or traces (as in figure 3).",
        ),
    ],
    wiki: Annotated[
        Path,
        typer.Argument(
            metavar="WIKI",
            help="Folder that `linkwalk split` made, or a workspace, which is split into WIKI/halves. Both embedded.",
        ),
    ],
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", metavar="ROW,...", help="Only these rows of a table. [default: all]"),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", min=1, metavar="N", help="Episodes for each figure. [default: 10000]"),
    ] = None,
    updates: Annotated[
        int | None,
        typer.Option(
            "--updates", min=1, metavar="N", help="Updates of each policy. [default: the paper's 50000]"
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--target",
            metavar="DIR",
            help="Folder of a policy whose target encoder shows sentences to policies (table2). [default: the nodes' "
            "encoder]",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="For a CPU: 500 episodes, 200 updates of 64 walks. The table says that it is quick.",
        ),
    ] = False,
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=1000, metavar="T", help="T of the walks (bound, traces).")
    ] = 10,
    agent: Annotated[
        str,
        typer.Option("--agent", metavar="A", help=f"Whose traces: {NAMES}."),
    ] = POLICY,
    count: Annotated[int, typer.Option("--count", min=1, metavar="N", help="Traces of either kind.")] = 4,
    budget: Budget = 100,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    device: Annotated[
        str, typer.Option("--device", metavar="D", help="auto, cpu, cuda, cuda:N or mps.")
    ] = "auto",
    loop: Annotated[
        bool,
        typer.Option(
            "--loop",
            help="Train and walk by the plain loops, even where a GPU could do so on its own: the same, slower.",
        ),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table in Markdown; traces always are.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the rows of a table of the paper and print the paper's figures beside ours.

    Policies are trained on one half of the wiki and walk the other, which they have not seen. Policies and results are
    kept and shared between tables: a run that was stopped goes on where it was. Reinforcement learning is still to
    come; its rows say so.

    Example: linkwalk reproduce table1 WIKI --quick

    Example: linkwalk reproduce traces WIKI > traces.md
    """
    from linkwalk.errors import InputError

    if what not in WHAT:
        why = _ELSEWHERE.get(what, f"there is no {what!r} to reproduce")
        raise InputError(f"{why}: choose one of {', '.join(WHAT)}")
    from linkwalk.device import choose_device

    choose_device(device)  # before anything that needs torch: without it, this says what to install
    if what == "traces":
        _traces(
            wiki, agent, _size(quick, episodes, updates, seed), steps, budget, count, embeddings, json=json
        )
        return

    from linkwalk.progress import Progress
    from linkwalk.reproduce import show
    from linkwalk.reproduce.bounds import run_bounds, to_json
    from linkwalk.reproduce.halves import open_halves
    from linkwalk.reproduce.runner import Runner
    from linkwalk.reproduce.tables import TABLES as RUN
    from linkwalk.reproduce.tables import choose_rows, run_table

    size = _size(quick, episodes, updates, seed)
    names = [name for part in rows or [] for name in part.split(",")]
    table = choose_rows(RUN[what], names) if what in RUN else None
    progress, name = Progress(quiet=quiet), embeddings or "minilm"
    runner = Runner(
        open_halves(wiki, name, progress),
        embeddings=name,
        budget=budget,
        device=device,
        target=target,
        recorded=False if loop else None,
        progress=progress,
    )
    facts = _facts(runner, size, quick)
    if table is None:
        found = run_bounds(runner, size, steps=steps)
        if json:
            print_json({"what": what, **facts, "bounds": to_json(found)})
            return
        title, lines = (
            f"Lower bounds on log P(goal reached within {steps} steps), in nats",
            show.bound_lines(found),
        )
    else:
        cells = run_table(runner, table, size)
        if json:
            print_json({"what": what, **facts, "rows": [_row(line) for line in cells]})
            return
        lines = show.cost_lines(cells) if what == "table7" else show.table_lines(cells)
        title = f"{table.title}: the paper's | ours"
    print(f"{title}\n")
    if markdown:
        print(show.markdown(lines))
    else:
        print_columns(lines)
    print("\n" + "\n".join(show.notes(runner, size, table, quick=quick)))


def _size(quick: bool, episodes: int | None, updates: int | None, seed: int) -> "Size":
    from dataclasses import replace

    from linkwalk.reproduce.tables import QUICK, Size

    size = replace(QUICK if quick else Size(), seed=seed)
    size = size if episodes is None else replace(size, episodes=episodes)
    return size if updates is None else replace(size, updates=updates)


def _facts(runner: "Runner", size: "Size", quick: bool) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "quick": quick,
        **asdict(size),
        "budget": runner.budget,
        "embeddings": runner.embeddings,
        "device": runner.device,
        "target": None if runner.target_folder is None else str(runner.target_folder),
        "train": {
            "workspace": str(runner.halves.train),
            "snapshot": runner.train.snapshot,
            "nodes": runner.train.nodes,
        },
        "eval": {
            "workspace": str(runner.halves.eval),
            "snapshot": runner.eval.snapshot,
            "nodes": runner.eval.nodes,
        },
    }


def _row(line: Sequence[Any]) -> dict[str, Any]:
    row = line[0].row
    return {"row": row.label, "later": row.later, "cells": [cell.to_json() for cell in line]}


def _traces(
    wiki: Path,
    name: str,
    size: "Size",
    steps: int,
    budget: int,
    count: int,
    embeddings: str | None,
    *,
    json: bool,
) -> None:
    from linkwalk.errors import InputError
    from linkwalk.evaluate import TaskConfig
    from linkwalk.graph.store import Graph
    from linkwalk.reproduce.traces import gallery, lines

    if not (wiki / "graph").is_dir() and (wiki / "eval" / "graph").is_dir():
        wiki = wiki / "eval"  # of two halves, the one that no policy has seen
    names = check_agents([name], wiki)
    if len(names) != 1:
        raise InputError("traces are of one agent: name one with --agent")
    graph = Graph.open(wiki)
    vectors = open_vectors(wiki, graph, names, embeddings)
    agent = open_agent(names[0], wiki, graph, vectors, Ways(depth=steps), embeddings)
    task = TaskConfig(steps=steps, episodes=size.episodes, seed=size.seed)
    shown = gallery(graph, agent, task, budget=budget, count=count)
    if not json:
        print("\n".join(lines(graph, shown)))
        return
    print_json(
        {
            "what": "traces",
            "agent": shown.agent,
            "steps": steps,
            "episodes": task.episodes,
            "seed": task.seed,
            "budget": budget,
            "success": shown.success,
            "found": [one.to_json(graph) for one in shown.found],
            "missed": [one.to_json(graph) for one in shown.missed],
        }
    )
