"""``linkwalk walk``: one click path that a person can read."""

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwalk.cli.agents import NAMES, Back, EmbeddingsName, Revisit, Sampled, Seed
from linkwalk.cli.output import Json, print_json, print_next
from linkwalk.demo import POLICY
from linkwalk.wiki.agents import Ways, check_agents, has_map

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Step
    from linkwalk.wiki import Place, Walk

_DEPTH = 20
_BUDGET, _SENTENCE_BUDGET = 100, 20
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
    from linkwalk.wiki import Wiki

    ways = Ways(back=back, sampled=sampled, revisit=revisit, depth=_DEPTH)
    if len(check_agents([agent], wiki, ways)) != 1:
        raise InputError("one agent walks at a time: name one with --agent")
    if (goal is None) == (sentence is None):
        raise InputError("say what to find: a block with --to or words with --sentence, one of the two")
    if sentence is not None and not sentence.strip():
        raise InputError("--sentence is empty: give the words to look for")
    opened = Wiki.open(wiki, embeddings=embeddings)
    walked = opened.walk(start, goal, sentence=sentence, agent=agent, budget=budget, ways=ways, seed=seed)
    if json:
        print_json(_json(walked))
    else:
        _print(walked, opened.graph, wiki, embeddings)


def _json(walk: "Walk") -> dict[str, object]:
    closest = walk.closest
    return {
        "success": walk.success,
        "steps": [click.step.to_json() for click in walk.steps],
        "distance": walk.distance,
        "agent": walk.agent,
        **walk.ways.to_json(),
        "budget": walk.budget,
        "seed": walk.seed,
        "start": _place(walk.start),
        "goal": walk.goal and _place(walk.goal),
        "optimum": None if walk.optimum is None else [click.step.to_json() for click in walk.optimum],
        "sentence": walk.sentence,
        "best": closest and _place(closest.place) | {"step": closest.step, "score": closest.score},
    }


def _print(walk: "Walk", graph: "Graph", wiki: Path, embeddings: str | None) -> None:
    steps, ways, start = [click.step for click in walk.steps], walk.ways, walk.start.name
    what = f"«{walk.sentence}»" if walk.goal is None else walk.goal.name
    print(f"from {start}\nto   {what}, by {walk.agent}{ways.words()}\n")
    print(f"     {start}")
    remembers = has_map(walk.agent, wiki)
    for number, step in enumerate(steps, 1):
        known = _known(steps[number - 1 :]) if remembers and step.seen and step.kind != "back" else ""
        _show(number, step, walk.measure, known)
    count = f"{len(steps)} step{'s' * (len(steps) != 1)}"
    if walk.optimum is not None:
        if walk.success:
            ended = f"found in {count}"
        elif len(steps) < walk.budget:
            ended = f"not found: no way leads on after {count}"
        else:
            ended = f"not found within {count}"
        print(f"\n{ended}; the shortest path has {walk.distance}:")
        print("  " + " > ".join([start, *(click.to.name for click in walk.optimum)]))
    elif walk.closest is not None:
        best = walk.closest
        at = f"at step {best.step}, cosine {best.score:.2f}"
        print(f"\nclosest of the pages seen in {count}: {best.place.name}, {at}")
        print("  " + textwrap.shorten(graph.texts[best.place.node], _EXCERPT, placeholder=" …"))
    command = (
        f"linkwalk eval {wiki} --agent {walk.agent}{ways.options()}",
        "" if walk.sentence is None else "--task sentence",
        f"--embeddings {embeddings}" if embeddings else "",
    )
    print_next(" ".join(filter(None, command)))


def _place(place: "Place") -> dict[str, object]:
    return {"node": place.node, "title": place.title, "block": place.block}


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
