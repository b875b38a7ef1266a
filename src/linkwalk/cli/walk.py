"""``linkwalk walk``: one click path that a person can read."""

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwalk.cli.agents import (
    NAMES,
    Back,
    EmbeddingsName,
    Revisit,
    Sampled,
    Seed,
    Ways,
    check_agents,
    has_map,
    open_agent,
    open_encoders,
    open_vectors,
)
from linkwalk.cli.output import Json, print_json, print_next
from linkwalk.demo import POLICY

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Step
    from linkwalk.navigate.journeys import Float32s

_DEPTH = 20
_BUDGET, _SENTENCE_BUDGET = 100, 20
_UNKNOWN = -1  # the goal's number, where only a sentence is known of it: no page has it
_EXCERPT = 300
_AROUND = 110
_WAYS = {"prev": "the block before", "next": "the block after", "back": "back", "entity": "mention"}


def walk(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace that `linkwalk build` made.")],
    start: Annotated[
        str, typer.Option("--from", metavar="BLOCK", help='Where to start: "Title", or "Title (3)".')
    ],
    goal: Annotated[
        str | None, typer.Option("--to", metavar="BLOCK", help="What to find, named likewise.")
    ] = None,
    sentence: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="What to find, in words of your own: the agent knows no more than these."
        ),
    ] = None,
    agent: Annotated[
        str,
        typer.Option(
            metavar="A",
            help=f"{NAMES}. Depth-first search goes {_DEPTH} links deep.",
        ),
    ] = POLICY,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="B",
            help=f"Steps an agent has. [default: {_BUDGET}; towards a sentence: {_SENTENCE_BUDGET}]",
        ),
    ] = None,
    back: Back = False,
    sampled: Sampled = False,
    revisit: Revisit = False,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    json: Json = False,
) -> None:
    """Walk from one block to another by clicking links, and show every click beside the shortest path.

    Behind each page: its cosine to the goal (for a compass its score, the inner product with the direction looked in),
    the probability of the click, and the best of the other links. A compass and greedy-map remember links; where they
    return to a page for one, it says so.

    With --sentence instead of --to the goal is unknown: the agent walks all its steps towards what the sentence means,
    and the closest of the pages it saw is named.

    Example: linkwalk walk encyclopedia --from Iron --to "Ada Lovelace (1)"
    """
    from linkwalk.errors import InputError
    from linkwalk.graph.paths import ShortestPaths
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Episodes, click_path, path_steps
    from linkwalk.navigate.guided import Guided

    ways = Ways(back=back, sampled=sampled, revisit=revisit, depth=_DEPTH)
    names = check_agents([agent], wiki, ways)
    if len(names) != 1:
        raise InputError("one agent walks at a time: name one with --agent")
    if (goal is None) == (sentence is None):
        raise InputError("say what to find: a block with --to or words with --sentence, one of the two")
    budget = budget or (_BUDGET if sentence is None else _SENTENCE_BUDGET)
    graph = Graph.open(wiki)
    a, b = graph.find(start), _UNKNOWN if goal is None else graph.find(goal)
    optimum, query = None, None
    if sentence is None:
        optimum = ShortestPaths(graph.forward, graph.reverse).path(a, b)
        if optimum.distance < 0:
            raise InputError(_why_not(graph, a, b))
    elif not len(graph.forward.row(a)):
        raise InputError(_nowhere(graph, a))
    else:
        query = _read(wiki, graph, names[0], sentence, embeddings)
    vectors = open_vectors(wiki, graph, names, embeddings)
    walker = open_agent(names[0], wiki, graph, vectors, ways, embeddings)
    episodes = Episodes.of([a], [b])
    if query is not None:
        episodes = episodes._replace(queries=query[None])
    elif vectors is not None:
        query = vectors[b]
    journeys = walker.run(episodes, budget=budget, seed=seed)
    looked_for, measure = query, "cosine"
    if query is not None and isinstance(walker, Guided):
        looked_for, measure = walker.guide.directions(query[None])[0], "score"
    steps = click_path(graph, journeys, vectors=vectors, query=looked_for)
    shortest = [] if optimum is None else path_steps(graph, optimum.nodes)
    success = None if optimum is None else bool(journeys.success[0])
    closest = None
    if sentence is not None and vectors is not None and query is not None:
        path = journeys.path(0)
        at = int((vectors[path] @ query).argmax())
        closest = (at, int(path[at]), float(vectors[path[at]] @ query))
    if json:
        print_json(
            {
                "success": success,
                "steps": [step.to_json() for step in steps],
                "distance": None if optimum is None else optimum.distance,
                "agent": names[0],
                **ways.to_json(),
                "budget": budget,
                "seed": seed,
                "start": _place(graph, a),
                "goal": None if optimum is None else _place(graph, b),
                "optimum": None if optimum is None else [step.to_json() for step in shortest],
                "sentence": sentence,
                "best": closest and _place(graph, closest[1]) | {"step": closest[0], "score": closest[2]},
            }
        )
        return
    what = f"«{sentence}»" if optimum is None else graph.name(b)
    print(f"from {graph.name(a)}\nto   {what}, by {names[0]}{ways.words()}\n")
    print(f"     {graph.name(a)}")
    remembers = has_map(names[0], wiki)
    for number, step in enumerate(steps, 1):
        known = _known(steps[number - 1 :]) if remembers and step.seen and step.kind != "back" else ""
        _show(number, step, measure, known)
    count = f"{len(steps)} step{'s' * (len(steps) != 1)}"
    if optimum is not None:
        if success:
            ended = f"found in {count}"
        elif len(steps) < budget:
            ended = f"not found: no way leads on after {count}"
        else:
            ended = f"not found within {count}"
        print(f"\n{ended}; the shortest path has {optimum.distance}:")
        print("  " + " > ".join([graph.name(a), *(f"{step.title} ({step.block})" for step in shortest)]))
    elif closest is not None:
        at, node, score = closest
        print(f"\nclosest of the pages seen in {count}: {graph.name(node)}, at step {at}, cosine {score:.2f}")
        print("  " + textwrap.shorten(graph.texts[node], _EXCERPT, placeholder=" …"))
    command = (
        f"linkwalk eval {wiki} --agent {names[0]}{ways.options()}",
        "" if sentence is None else "--task sentence",
        f"--embeddings {embeddings}" if embeddings else "",
    )
    print_next(" ".join(filter(None, command)))


def _read(wiki: Path, graph: "Graph", agent: str, sentence: str, embeddings: str | None) -> "Float32s":
    """What the agent is shown of the words to look for: a vector of unit length."""
    from linkwalk.embed import Embeddings
    from linkwalk.errors import InputError
    from linkwalk.navigate import unit_rows

    if not sentence.strip():
        raise InputError("--sentence is empty: give the words to look for")
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    (encoder,) = open_encoders(wiki, [agent], table).values()
    query: Float32s = unit_rows(encoder.encode([sentence]))[0]
    return query


def _place(graph: "Graph", node: int) -> dict[str, object]:
    return {"node": node, "title": graph.title(node), "block": int(graph.node_block[node])}


def _why_not(graph: "Graph", start: int, goal: int) -> str:
    """One line on why no path leads there."""
    from linkwalk.graph.paths import distances_from

    a, b = graph.name(start), graph.name(goal)
    if not len(graph.forward.row(start)):
        return _nowhere(graph, start)
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


def _nowhere(graph: "Graph", start: int) -> str:
    return f"{graph.name(start)} has no links, so no path leads anywhere: start elsewhere"


def _known(ahead: list["Step"]) -> str:
    """What a walker with a map goes to a page for that it knows: the next one it does not."""
    new = next((step for step in ahead if not step.seen), None)
    return "seen before" + ("" if new is None else f", on the way to {new.title} ({new.block})")


def _show(number: int, step: "Step", measure: str, known: str) -> None:
    how = _WAYS.get(step.kind, "")
    score = "" if step.score is None else f"{measure} {step.score:.2f}"
    chance = "" if step.probability == 1 else f"probability {step.probability:.2f}"
    notes = ", ".join(filter(None, (how, score, chance, known)))
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
