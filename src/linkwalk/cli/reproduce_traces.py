"""``linkwalk reproduce traces``: walks to read, some that found what they were sent for and some that did not.

Without a file as in figure 3, an agent that is shown a goal; with one as in figure 4, from a claim or a question to its
evidence.
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from linkwalk.cli.output import print_json
from linkwalk.cli.score import tell_damage
from linkwalk.errors import InputError
from linkwalk.navigate.ways import Ways
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.reproduce.tables import Size
    from linkwalk.retrieve import FindConfig


def goal_traces(
    wiki: Path,
    name: str | None,
    size: "Size",
    steps: int,
    budget: int,
    count: int,
    embeddings: str | None,
    *,
    json: bool,
) -> None:
    """Traces of one agent on its way to goals."""
    from linkwalk.evaluate import TaskConfig
    from linkwalk.graph.store import Graph
    from linkwalk.reproduce.traces import gallery, lines
    from linkwalk.wiki.agents import check_agents
    from linkwalk.wiki.workspace import Workspace

    if not (wiki / "graph").is_dir() and (wiki / "eval" / "graph").is_dir():
        wiki = wiki / "eval"  # of two halves, the one that no policy has seen
    graph = Graph.open(wiki)
    opened = Workspace(wiki, graph, embeddings)
    names = check_agents([name or opened.usual], wiki)
    if len(names) != 1:
        raise InputError("traces are of one agent: name one with --agent")
    agent = opened.agent(names[0], Ways(depth=steps), opened.table_for(names))
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


def asked_traces(
    wiki: Path,
    file: Path,
    wiki_pages: Path | None,
    asked: "FindConfig",
    count: int,
    *,
    quick: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Traces towards the evidence of a benchmark's file."""
    from linkwalk.downstream.benchmark import read_benchmark
    from linkwalk.downstream.mining import kind_of_file
    from linkwalk.graph.store import Graph
    from linkwalk.reproduce import evidence
    from linkwalk.reproduce.asked_traces import asked_gallery, asked_lines
    from linkwalk.wiki.retrieval import open_finder
    from linkwalk.wiki.workspace import Workspace

    graph, progress = Graph.open(wiki), Progress(quiet=quiet)
    limit = evidence.QUICK if quick else None
    questions = read_benchmark(kind_of_file(file), file, graph, wiki_pages=wiki_pages, limit=limit)
    tell_damage(questions, progress)
    judged = [one for one in questions.judged if one.gold]
    if not judged:
        raise InputError(f"{file} names no evidence that this wiki has: traces need some to lead to")
    opened = open_finder(Workspace(wiki, graph, asked.embeddings), asked)
    meant = opened.reader.meant([one.text for one in judged])
    shown = asked_gallery(graph, opened.finder, judged, *meant, count=count)
    if not json:
        print("\n".join(asked_lines(graph, shown, opened.asked.who, asked.candidates)))
        return
    facts = {key: value for key, value in asdict(shown).items() if key not in ("found", "missed")}
    print_json(
        {
            "what": "traces",
            "agent": opened.asked.who,
            "file": file.name,
            "candidates": asked.candidates,
            **facts,
            "found": [one.to_json(graph) for one in shown.found],
            "missed": [one.to_json(graph) for one in shown.missed],
        }
    )
