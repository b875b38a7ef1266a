"""``linkwalk walk``: one click path that a person can read."""

import textwrap
from typing import TYPE_CHECKING, Annotated

from linkwalk.cli.options import (
    AGENT_NAMES,
    Back,
    BuiltWiki,
    EmbeddingsName,
    EncoderName,
    Heads,
    Json,
    Revisit,
    Runs,
    Sampled,
    Seed,
    option,
)
from linkwalk.cli.output import is_coloured, print_json, print_missing, print_next
from linkwalk.errors import InputError
from linkwalk.navigate.moves import MoveConfig

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
    from linkwalk.wiki import Click, Walk

_DEPTH = 20
_BUDGET, _SENTENCE_BUDGET = 100, 20
_EXCERPT = 300
_AROUND = 110
_OTHERS = 3
_WAYS = {"prev": "the block before", "next": "the block after", "back": "back", "entity": "mention"}
_WAYS |= {"contents": "contents", "backlink": "a page that links here"}


def walk(
    wiki: BuiltWiki,
    start: Annotated[str, option("BLOCK", 'Where to start: "Title", or "Title (3)".', "--from")],
    goal: Annotated[str | None, option("BLOCK", "What to find, named likewise.", "--to")] = None,
    sentence: Annotated[
        str | None,
        option("TEXT", "What to find, in words of your own: the agent knows no more than these."),
    ] = None,
    agent: Annotated[
        str | None,
        option(
            "A",
            f"{AGENT_NAMES}. Depth-first search goes {_DEPTH} links deep. [default: compass, or without its "
            "embeddings, minilm-walks, a policy trained for those there are, or greedy-map]",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        option(
            "B",
            f"Steps an agent has. [default: {_BUDGET}; towards a sentence: {_SENTENCE_BUDGET}]",
            min=1,
            max=1_000_000,
        ),
    ] = None,
    back: Back = False,
    sampled: Sampled = False,
    revisit: Revisit = False,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    head: Heads = None,
    encoder: EncoderName = None,
    runs: Runs = None,
    json: Json = False,
) -> None:
    """Walk from one block to another by clicking links, and show every click beside the shortest path.

    Behind each page: what the click was worth to the agent (its cosine to the goal; for a compass and greedy-map the
    cosine less what the way costs), its probability if clicks were drawn by that, and the best of the other ways. A
    compass and greedy-map remember links; where they click their way to one further on, it says so.

    With --sentence instead of --to the goal is unknown: the agent walks all its steps towards what the sentence means,
    and the closest of the pages it saw is named.

    Example: linkwalk walk encyclopedia --from Iron --to "Ada Lovelace (1)"
    """
    from linkwalk.wiki import Wiki
    from linkwalk.wiki.agents import check_agents
    from linkwalk.wiki.answers import plain

    ways = MoveConfig(back=back, sampled=sampled, revisit=revisit, depth=_DEPTH)
    opened = Wiki.open(wiki, embeddings=embeddings)
    named, agent = agent, agent or opened.usual
    if len(check_agents([agent], wiki, ways)) != 1:
        raise InputError("one agent walks at a time: name one with --agent")
    if (goal is None) == (sentence is None):
        raise InputError("say what to find: a block with --to or words with --sentence, one of the two")
    if runs is not None and goal is None:
        raise InputError("--runs is for walks to a block: a run has a goal")
    if sentence is not None and not sentence.strip():
        raise InputError("--sentence is empty: give the words to look for")
    walked = opened.walk(start, goal, sentence=sentence, agent=agent, budget=budget, ways=ways, seed=seed)
    if runs is not None and walked.goal is not None:
        from linkwalk.games.archive import BACK_CLICK
        from linkwalk.games.runs import Header, Run, write_runs

        clicks = [BACK_CLICK if click.kind == "back" else click.to.name for click in walked.steps]
        run = Run(walked.start.name, walked.goal.name, [*clicks], bool(walked.success))
        write_runs(runs, [(Header.on(opened.graph, wiki, walked.agent, walked.budget), [run])])
    if json:
        print_json(plain(walked))
    else:
        _print(walked, opened.graph)
    print_missing(None if named else opened.without_shipped, json=json)
    if not json:
        given = [f"--agent {agent}", *(f"--{way}" for way in walked.ways.chosen)]
        given += ["--task sentence"] if sentence is not None else []
        given += [f"--embeddings {embeddings}"] if embeddings else []
        print_next(f"linkwalk eval {wiki} {' '.join(given)}")


def _print(walk: "Walk", graph: "Graph") -> None:
    steps, ways, start = walk.steps, walk.ways, walk.start.name
    what = f"«{walk.sentence}»" if walk.goal is None else walk.goal.name
    print(f"from {start}\nto   {what}, by {walk.agent}{ways.words()}\n")
    print(f"     {start}")
    for click in steps:
        _show(click, walk.measure)
    count = f"{len(steps)} step{'s' * (len(steps) != 1)}"
    if walk.optimum is not None:
        if walk.success:
            ended = f"found in {count}"
        elif walk.trapped:
            ended = f"not found: after {count} all that can be reached has been seen"
            ended += "" if ways.back else " (--back gives the agent a back button)"
        else:
            ended = f"not found within {count}"
        print(f"\n{ended}; the shortest path has {walk.distance}:")
        print("  " + " > ".join([start, *(click.to.name for click in walk.optimum)]))
    elif walk.closest is not None:
        best = walk.closest
        at = f"at step {best.step}, cosine {best.score:.2f}"
        all_seen = ", all that can be reached" if walk.trapped else ""
        print(f"\nclosest of the pages seen in {count}{all_seen}: {best.place.name}, {at}")
        print("  " + textwrap.shorten(graph.texts[best.place.node], _EXCERPT, placeholder=" …"))


def _show(click: "Click", measure: str | None) -> None:
    taken = next((choice for choice in click.choices if choice.taken), None)
    notes = (
        _WAYS.get(click.kind, ""),
        "" if click.score is None else f"{measure} {click.score:.2f}",
        "" if click.probability in (None, 1) else f"probability {click.probability:.2f}",
        "seen before" * click.seen,
        "" if taken is None or taken.towards is None else f"on the way to {taken.towards}",
    )
    said = ", ".join(filter(None, notes))
    print(f"{click.number:>3}. {click.to.name}" + (f"   {said}" if said else ""))
    if click.sentence is not None:
        before, link, after = click.sentence.before, click.sentence.link, click.sentence.after
        before = before if len(before) <= _AROUND else "…" + before[-_AROUND:]
        after = after if len(after) <= _AROUND else after[:_AROUND] + "…"
        marked = f"\x1b[1;36m{link}\x1b[0m" if is_coloured() else f"[[{link}]]"
        print(f"       {before}{marked}{after}")
    others = [choice for choice in click.choices if not choice.taken and choice.score is not None]
    if others:
        said = ", ".join(f"{o.title} ({o.block}) {o.score:.2f}{' seen' * o.seen}" for o in others[:_OTHERS])
        print(f"       other ways: {said}")
