"""The paper's tables and traces, run and told: the heavy half of ``linkwalk reproduce``."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.cli.output import Columns, print_columns, print_json
from linkwalk.cli.scoring import possible_methods, score_benchmark, warn_of_damaged
from linkwalk.cli.stats import beside_paper
from linkwalk.downstream.benchmark import Benchmark, read_benchmark
from linkwalk.downstream.mining import kind_of_file
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig
from linkwalk.graph.statistics import statistics
from linkwalk.graph.store import Graph
from linkwalk.navigate.moves import MoveConfig
from linkwalk.progress import Progress
from linkwalk.reproduce import evidence
from linkwalk.reproduce.bounds import bound_lines, run_bounds, to_json
from linkwalk.reproduce.runner import Runner
from linkwalk.reproduce.tables import PaperTable, Size, cost_lines, notes, run_table, table_lines
from linkwalk.reproduce.traces import Gallery, evidence_gallery, goal_gallery
from linkwalk.retrieve import FindConfig
from linkwalk.wiki.agents import check_agents
from linkwalk.wiki.retrieval import open_finder
from linkwalk.wiki.workspace import Workspace

_SOURCES = 1000
"""Blocks from which path lengths are measured (table 3)."""


class Report(NamedTuple):
    """What is reproduced, and how it is told."""

    what: str
    quick: bool
    markdown: bool
    json: bool
    quiet: bool

    def tell(self, facts: dict[str, Any]) -> None:
        """One object, for ``--json``."""
        print_json({"what": self.what, **facts})

    def print(self, rows: Columns) -> None:
        """A table for people, on the terminal or in Markdown."""
        if not self.markdown:
            print_columns(rows)
            return
        lines = [[cell.replace(" | ", " / ") for cell in row] for row in rows]
        lines.insert(1, ["---", *("---:" for _ in lines[0][1:])])
        print("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def show(self, gallery: Gallery, **facts: Any) -> None:
        """Traces, as one object or in Markdown."""
        if self.json:
            self.tell(facts | gallery.to_json())
        else:
            print("\n".join(gallery.lines()))

    def read(self, kind: str, file: Path, graph: Graph, **how: Any) -> Benchmark:
        """The questions of a benchmark's file; the first of them alone where it shall be quick."""
        found = read_benchmark(kind, file, graph, limit=evidence.QUICK if self.quick else None, **how)
        warn_of_damaged(found, Progress(quiet=self.quiet))
        return found


def navigation_table(report: Report, runner: Runner, table: PaperTable, size: Size) -> None:
    """Tables 1, 2, 4 and 7: policies of one half of a wiki on the other."""
    cells = run_table(runner, table, size)
    if report.json:
        rows = [{"row": line[0].row.label, "cells": [cell.to_json() for cell in line]} for line in cells]
        report.tell(_facts(report, runner, size) | {"rows": rows})
        return
    print(f"{table.title}: the paper's | ours\n")
    report.print(cost_lines(cells) if report.what == "table7" else table_lines(cells))
    print("\n" + "\n".join(notes(runner, size, table, quick=report.quick)))


def bounds(report: Report, runner: Runner, size: Size, steps: int) -> None:
    """The variational bound of appendix D."""
    found = run_bounds(runner, size, steps=steps)
    if report.json:
        report.tell(_facts(report, runner, size) | {"bounds": to_json(found)})
        return
    print(f"Lower bounds on log P(goal reached within {steps} steps), in nats\n")
    report.print(bound_lines(found))
    print("\n" + "\n".join(notes(runner, size, None, quick=report.quick)))


def _facts(report: Report, runner: Runner, size: Size) -> dict[str, Any]:
    """What was run on which halves, for ``--json``."""
    halves = {"train": (runner.halves.train, runner.train), "eval": (runner.halves.eval, runner.eval)}
    return {
        "quick": report.quick,
        **asdict(size),
        "budget": runner.budget,
        "embeddings": runner.embeddings,
        "device": runner.device,
        "target": None if runner.target_folder is None else str(runner.target_folder),
        **{
            name: {"workspace": str(place), "snapshot": graph.snapshot, "nodes": graph.nodes}
            for name, (place, graph) in halves.items()
        },
    }


def sizes_table(report: Report, wikis: Sequence[Path]) -> None:
    """Table 3: the sizes of graphs, of one wiki or of two editions of it."""
    workers, progress = min(4, os.cpu_count() or 1), Progress(quiet=report.quiet)
    graphs = [Graph.open(wiki) for wiki in wikis]
    found = [statistics(g, sources=_SOURCES, workers=workers, progress=progress) for g in graphs]
    if report.json:
        report.tell({"wikis": [one.to_json() for one in found]})
        return
    named = dict(zip(("ours", "ours, later"), found, strict=False))
    print("Graph statistics: ours | the paper's\n")
    report.print(beside_paper(named))
    told = "; ".join(f"{name}: {one.snapshot}" for name, one in named.items())
    print(f"\n{told}. Path lengths from the {_SOURCES:,} most linked-to blocks.")


def evidence_table(
    report: Report,
    wiki: Path,
    file: Path | None,
    wiki_pages: Path | None,
    level: str,
    asked: FindConfig,
    names: Sequence[str],
) -> None:
    """Tables 5 and 6: methods of ``linkwalk score --rows`` beside the paper's (sec. 5.4, 5.5)."""
    table, progress = evidence.TABLES[report.what], Progress(quiet=report.quiet)
    if file is None:
        whose = "FEVER's claims" if report.what == "table5" else "Natural Questions"
        raise InputError(f"{report.what} needs a file: give {whose} with --file")
    graph = Graph.open(wiki)
    questions = report.read(table.benchmark, file, graph, wiki_pages=wiki_pages, level=level)
    cross = any(method.rerank == "cross" for method in possible_methods(wiki, graph, asked, progress))
    methods = table.choose(names, cross=cross)
    scored = score_benchmark(wiki, graph, questions, asked, methods, wiki_pages, progress)
    if report.json:
        report.tell(
            {
                "quick": report.quick,
                **scored.facts(),
                "candidates": asked.candidates,
                "rerank": scored.cross,
                "rows": evidence.table_json(table, scored.scores),
            }
        )
        return
    print(f"{table.title}: the paper's, ours beside it\n")
    scored.print_asked()
    print()
    report.print(evidence.table_lines(table, scored.scores, level))
    told = evidence.notes(
        table,
        scored.scores,
        candidates=asked.candidates,
        reranker=scored.cross,
        level=level,
        asked=len(questions.texts),
        wiki=graph.snapshot,
        weaker=questions.weaker,
        quick=report.quick,
    )
    print("\n" + "\n".join(told))


def goal_traces(
    report: Report,
    wiki: Path,
    name: str | None,
    size: Size,
    steps: int,
    budget: int,
    count: int,
    embeddings: str | None,
) -> None:
    """Walks of an agent that is shown a goal, some that found it and some that did not, as in figure 3."""
    if not (wiki / "graph").is_dir() and (wiki / "eval" / "graph").is_dir():
        wiki = wiki / "eval"  # of two halves, the one that no policy has seen
    graph = Graph.open(wiki)
    opened = Workspace(wiki, graph, embeddings)
    names = check_agents([name or opened.usual], wiki)
    if len(names) != 1:
        raise InputError("traces are of one agent: name one with --agent")
    agent = opened.agent(names[0], MoveConfig(depth=steps), opened.table_for(names))
    task = TaskConfig(steps=steps, episodes=size.episodes, seed=size.seed)
    report.show(goal_gallery(graph, agent, task, budget=budget, count=count))


def asked_traces(
    report: Report, wiki: Path, file: Path, wiki_pages: Path | None, asked: FindConfig, count: int
) -> None:
    """The same from a claim or a question of a benchmark's file to its evidence, as in figure 4."""
    graph = Graph.open(wiki)
    questions = report.read(kind_of_file(file), file, graph, wiki_pages=wiki_pages)
    judged = [one for one in questions.judged if one.gold]
    if not judged:
        raise InputError(f"{file} names no evidence that this wiki has: traces need some to lead to")
    opened = open_finder(Workspace(wiki, graph, asked.embeddings), asked)
    meant = opened.reader.meant([one.text for one in judged])
    found = evidence_gallery(graph, opened.finder, judged, *meant, count=count)
    report.show(found, agent=opened.asked.who, file=file.name)
