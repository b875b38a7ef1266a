"""``linkwalk walk``: one click path that a person can read."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwalk.cli.agents import Back, Budget, EmbeddingsName, Seed, check_agents, open_agent, open_vectors
from linkwalk.cli.output import Json, print_json, print_next

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Step

_DEPTH = 20
_AROUND = 110
_WAYS = {"prev": "the block before", "next": "the block after", "back": "back", "entity": "mention"}


def walk(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace that `linkwalk build` made.")],
    start: Annotated[
        str, typer.Option("--from", metavar="BLOCK", help='Where to start: "Title", or "Title (3)".')
    ],
    goal: Annotated[str, typer.Option("--to", metavar="BLOCK", help="What to find, named likewise.")],
    agent: Annotated[
        str,
        typer.Option(
            metavar="A",
            help="random, greedy, greedy-unvisited, random-dfs, greedy-dfs, or a policy by name or path "
            f"(depth-first search goes {_DEPTH} links deep).",
        ),
    ] = "greedy-unvisited",
    budget: Budget = 100,
    back: Back = False,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    json: Json = False,
) -> None:
    """Walk from one block to another by clicking links, and show every click beside the shortest path.

    Example: linkwalk walk encyclopedia --from Iron --to "Ada Lovelace (1)"
    """
    from linkwalk.errors import InputError
    from linkwalk.graph.paths import ShortestPaths
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import BaselineConfig, Episodes, click_path, path_steps

    names = check_agents([agent], wiki, back=back)
    if len(names) != 1:
        raise InputError("one agent walks at a time: name one with --agent")
    graph = Graph.open(wiki)
    a, b = graph.find(start), graph.find(goal)
    best = ShortestPaths(graph.forward, graph.reverse).path(a, b)
    if best.distance < 0:
        raise InputError(_why_not(graph, a, b))
    vectors = open_vectors(wiki, graph, names, embeddings)
    config = BaselineConfig(name="greedy-unvisited", back=back, depth=_DEPTH)
    walker = open_agent(names[0], wiki, graph, vectors, config, embeddings)
    journeys = walker.run(Episodes.of([a], [b]), budget=budget, seed=seed)
    steps = click_path(graph, journeys, vectors=vectors, query=None if vectors is None else vectors[b])
    optimum = path_steps(graph, best.nodes)
    success = bool(journeys.success[0])
    if json:
        print_json(
            {
                "success": success,
                "steps": [step.to_json() for step in steps],
                "distance": best.distance,
                "agent": names[0],
                "back": back,
                "budget": budget,
                "seed": seed,
                "start": _place(graph, a),
                "goal": _place(graph, b),
                "optimum": [step.to_json() for step in optimum],
            }
        )
        return
    print(f"from {graph.name(a)}\nto   {graph.name(b)}, by {names[0]}{' with a back button' * back}\n")
    print(f"     {graph.name(a)}")
    for number, step in enumerate(steps, 1):
        _show(number, step)
    count = f"{len(steps)} step{'s' * (len(steps) != 1)}"
    if success:
        ended = f"found in {count}"
    elif len(steps) < budget:
        ended = f"not found: no way leads on after {count}"
    else:
        ended = f"not found within {count}"
    print(f"\n{ended}; the shortest path has {best.distance}:")
    print("  " + " > ".join([graph.name(a), *(f"{step.title} ({step.block})" for step in optimum)]))
    same = f"--embeddings {embeddings}" if embeddings else ""
    print_next(" ".join(filter(None, (f"linkwalk eval {wiki} --agent {names[0]}", "--back" * back, same))))


def _place(graph: "Graph", node: int) -> dict[str, object]:
    return {"node": node, "title": graph.title(node), "block": int(graph.node_block[node])}


def _why_not(graph: "Graph", start: int, goal: int) -> str:
    """One line on why no path leads there."""
    from linkwalk.graph.paths import distances_from

    a, b = graph.name(start), graph.name(goal)
    if not len(graph.forward.row(start)):
        return f"{a} has no links, so no path leads anywhere: start elsewhere"
    if not len(graph.reverse.row(goal)):
        return f"nothing links to {b}, so no path leads there: choose another goal"
    out, into = (
        int((distances_from(*ends) >= 0).sum()) - 1
        for ends in ((graph.forward, start), (graph.reverse, goal))
    )
    return (
        f"no path leads from {a} to {b}: {out:,} other block{'s' * (out != 1)} can be reached from the first, "
        f"{into:,} lead{'s' * (into == 1)} to the second"
    )


def _show(number: int, step: "Step") -> None:
    how = _WAYS.get(step.kind, "")
    score = "" if step.score is None else f"cosine {step.score:.2f}"
    chance = "" if step.probability == 1 else f"probability {step.probability:.2f}"
    notes = ", ".join(filter(None, (how, score, chance)))
    print(f"{number:>3}. {step.title} ({step.block})" + (f"   {notes}" if notes else ""))
    if step.sentence is not None:
        before, link, after = step.sentence
        before = before if len(before) <= _AROUND else "…" + before[-_AROUND:]
        after = after if len(after) <= _AROUND else after[:_AROUND] + "…"
        print(f"       {before}{_mark(link)}{after}")
    if step.runners_up:
        others = ", ".join(
            f"{other.title} ({other.block}) {other.score:.2f}{' seen' * other.seen}"
            for other in step.runners_up
        )
        print(f"       other links: {others}")


def _mark(link: str) -> str:
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\x1b[1;36m{link}\x1b[0m" if coloured else f"[[{link}]]"
