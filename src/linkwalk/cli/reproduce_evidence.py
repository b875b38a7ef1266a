"""``linkwalk reproduce table5`` and ``table6``: claims and questions beside the paper's (sec. 5.4, 5.5)."""

from pathlib import Path
from typing import TYPE_CHECKING

from linkwalk.cli.output import print_columns, print_json, print_table
from linkwalk.cli.score import choose_rows, facts, run, tell_damage
from linkwalk.cli.score_shown import alignment, headline
from linkwalk.errors import InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.retrieve import FindConfig


def evidence_table(
    what: str,
    wiki: Path,
    file: Path | None,
    wiki_pages: Path | None,
    level: str,
    asked: "FindConfig",
    names: list[str],
    *,
    quick: bool,
    markdown: bool,
    json: bool,
    quiet: bool,
) -> None:
    """A table's rows that ``linkwalk score --rows`` runs, beside the paper's."""
    from linkwalk.downstream.benchmark import read_benchmark
    from linkwalk.downstream.measure import score_answers
    from linkwalk.graph.store import Graph
    from linkwalk.reproduce import evidence, show

    table, progress = evidence.TABLES[what], Progress(quiet=quiet)
    if file is None:
        whose = "FEVER's claims" if what == "table5" else "Natural Questions"
        raise InputError(f"{what} needs a file: give {whose} with --file")
    graph = Graph.open(wiki)
    limit = evidence.QUICK if quick else None
    questions = read_benchmark(table.benchmark, file, graph, wiki_pages=wiki_pages, level=level, limit=limit)
    tell_damage(questions, progress)
    cross = any(row.rerank == "cross" for row in choose_rows(wiki, graph, asked, progress))
    rows = table.choose(names, cross=cross)
    outcome, rerankers = run(wiki, graph, questions, asked, rows, progress)
    scored = score_answers(graph, questions, outcome, wiki_pages)
    reranker = next((name for name in rerankers.values() if name not in ("none", "tfidf")), None)
    if json:
        shown = evidence.table_json(table, scored)
        print_json(
            {
                "what": what,
                "quick": quick,
                **facts(questions, graph),
                "candidates": asked.candidates,
                "rerank": reranker,
                "rows": shown,
            }
        )
        return
    print(f"{table.title}: the paper's, ours beside it\n")
    print(headline(questions, graph))
    print_table(alignment(questions))
    print()
    lines = evidence.table_lines(table, scored, level)
    if markdown:
        print(show.markdown(lines))
    else:
        print_columns(lines)
    told = evidence.notes(
        table,
        scored,
        candidates=asked.candidates,
        reranker=reranker,
        level=level,
        asked=len(questions.texts),
        wiki=graph.snapshot,
        weaker=questions.weaker,
        quick=quick,
    )
    print("\n" + "\n".join(told))
