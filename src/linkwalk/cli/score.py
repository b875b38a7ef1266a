"""``linkwalk score``: a benchmark's claims or questions are asked of a wiki, and what is found is counted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from linkwalk.cli.options import (
    AgentName,
    Candidates,
    EmbeddingsName,
    EncoderName,
    IndexedWiki,
    Json,
    Navigation,
    Quiet,
    ReadAll,
    Rerank,
    Start,
    StartCount,
    StepCount,
    Top,
)
from linkwalk.cli.output import print_json, print_next
from linkwalk.cli.score_shown import print_distances, print_scores
from linkwalk.errors import InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.downstream.benchmark import Benchmark
    from linkwalk.downstream.distances import Distances
    from linkwalk.downstream.measure import BenchmarkAnswers, MethodScores
    from linkwalk.downstream.methods import Method
    from linkwalk.graph.store import Graph
    from linkwalk.retrieve import FindConfig

_DAMAGE_SHOWN = 5
_STARTS = 10
"""Of BM25, for distances."""

WikiPagesOption = Annotated[
    Path | None,
    Option(
        "--wiki-pages",
        metavar="DIR",
        help="FEVER's own Wikipedia (wiki-001.jsonl ...): evidence is matched by its sentences, and scored by FEVER's "
        "own measures.",
    ),
]

Level = Annotated[
    str,
    Option("--level", metavar="L", help="FEVER: what is to be found, block or page (needs no sentences)."),
]


def score(
    benchmark: Annotated[
        str,
        Argument(
            metavar="BENCHMARK",
            help="fever, nq, multihop or links; or a data set of your own, as package.module:Name.",
        ),
    ],
    wiki: IndexedWiki,
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="FEVER's claims; Natural Questions with passages (DPR's files) or answers alone (NQ-open); questions "
            "of HotpotQA, 2WikiMultihopQA or MuSiQue; questions made from the wiki's own links.",
        ),
    ],
    wiki_pages: WikiPagesOption = None,
    level: Level = "block",
    threshold: Annotated[
        float,
        Option(
            "--threshold",
            min=1,
            max=100,
            metavar="N",
            help="FEVER: token-set ratio from which a block holds a sentence.",
        ),
    ] = 80,
    part: Annotated[
        str,
        Option(
            "--part",
            metavar="P",
            help="all, or one of two halves without a common page: tuned (what choices were made on) or kept.",
        ),
    ] = "all",
    limit: Annotated[int | None, Option("--limit", min=1, metavar="N", help="Ask the first N alone.")] = None,
    rows: Annotated[
        bool,
        Option(
            "--rows",
            help="All ways of retrieval side by side, each reading --candidates blocks, with paired intervals.",
        ),
    ] = False,
    navigation: Navigation = "tabs",
    start: Start = None,
    starts: StartCount = 5,
    steps: StepCount = 20,
    candidates: Candidates = 20,
    read_all: ReadAll = False,
    rerank: Rerank = None,
    top: Top = 20,
    agent: AgentName = None,
    embeddings: EmbeddingsName = None,
    encoder: EncoderName = None,
    save: Annotated[
        Path | None,
        Option(
            "--save",
            metavar="FILE",
            help="Write a JSON line for each question: its id, ranked blocks, recall, group.",
        ),
    ] = None,
    submission: Annotated[
        Path | None,
        Option(
            "--submission",
            metavar="FILE",
            help="FEVER with --wiki-pages: write what was found as the official scorer reads it.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        Option("--plots", metavar="DIR", help="Draw how many links lead from BM25's blocks to the evidence."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask the claims or questions of a benchmark and count how much of their evidence is found.

    Nothing but their text is given to the finder. Recall@k is the share of what is needed among the first k blocks;
    what the wiki does not hold is not asked, and the report says how much that is. No label is predicted for claims:
    evidence alone is scored.

    Example: linkwalk score fever WIKI shared_task_dev.jsonl --wiki-pages wiki-pages --rows

    Example: linkwalk score nq WIKI nq-dev.json --start bm25 --json
    """
    from linkwalk.downstream.benchmark import read_benchmark
    from linkwalk.graph.store import Graph
    from linkwalk.retrieve import FindConfig

    asked = FindConfig(
        navigation=navigation,
        start=start,
        starts=starts,
        steps=steps,
        candidates=candidates,
        read_all=read_all,
        rerank=rerank,
        top=top,
        agent=agent,
        embeddings=embeddings,
    )
    if submission is not None and (benchmark != "fever" or wiki_pages is None or level != "block" or rows):
        raise InputError("--submission is for FEVER, by one way, with --wiki-pages and --level block")
    if rows and (asked.navigation != "tabs" or start is not None):
        raise InputError("--rows runs every start and navigation: leave the options that choose one away")
    for path in (save, submission):
        if path is not None and not path.parent.is_dir():
            raise InputError(f"{path.parent} is no folder: make it first")
    if plots is not None:
        from linkwalk.graph.plots import require

        require(plots)
    progress = Progress(quiet=quiet)
    graph = Graph.open(wiki)
    questions = read_benchmark(
        benchmark,
        file,
        graph,
        wiki_pages=wiki_pages,
        threshold=threshold,
        level=level,
        part=part,
        limit=limit,
        unlabelled=submission is not None,
    )
    if plots is not None and not any(one.gold for one in questions.judged):
        raise InputError("--plots needs questions whose gold blocks are known: NQ-open has answers alone")
    if plots is not None and questions.hidden(graph) is not None:
        raise InputError("--plots counts links in the whole wiki, and these questions hide blocks of it")
    tell_damage(questions, progress)
    chosen = choose_rows(wiki, graph, asked, progress) if rows else []
    asked = settle(wiki, graph, asked, chosen)
    outcome, names = run(wiki, graph, questions, asked, chosen, progress)
    from linkwalk.downstream.measure import save_answers, score_answers

    scored = score_answers(graph, questions, outcome, wiki_pages)
    if save is not None:
        save_answers(save, graph, questions, outcome, scored)
    if submission is not None:
        from linkwalk.downstream.fever_submission import write_submission

        write_submission(submission, next(iter(scored.values())).submitted)
    away = _distances(wiki, graph, questions, plots) if plots is not None else None
    if json:
        results = results_json(scored, asked, chosen, names, outcome, len(questions.texts))
        print_json(
            {
                "benchmark": benchmark,
                **facts(questions, graph),
                "results": results,
                "seconds": round(outcome.seconds, 2),
                **({"distances": away.to_json()} if away else {}),
            }
        )
        return
    print_scores(questions, graph, scored, asked, chosen, names, outcome)
    if away is not None:
        print_distances(away, questions.paper_distance)
    for path in (save, submission):
        if path is not None:
            print(f"\nwritten: {path}")
    if not rows:
        print_next(f"linkwalk score {benchmark} {wiki} {file} --rows")


def tell_damage(questions: "Benchmark", progress: "Progress") -> None:
    """Say which lines could not be used: how many, and the first of them."""
    if not questions.damage:
        return
    shown = [f"line {line.line}: {line.reason}" for line in questions.damage[:_DAMAGE_SHOWN]]
    more = len(questions.damage) - len(shown)
    progress.warn(
        f"{len(questions.damage):,} damaged in {questions.file}, left out: {'; '.join(shown)}"
        + (f"; and {more:,} more" if more else "")
    )


def choose_rows(wiki: Path, graph: "Graph", asked: "FindConfig", progress: "Progress") -> "list[Method]":
    """The rows that can be run: those with a cross-encoder only where there is one."""
    from linkwalk.downstream.methods import METHODS
    from linkwalk.wiki.rerankers import QUICK
    from linkwalk.wiki.workspace import Workspace

    cross = (asked.rerank or Workspace(wiki, graph, asked.embeddings).ranks) not in QUICK
    if asked.rerank is None and not cross:
        progress.warn("no cross-encoder for these embeddings: its rows are left out; name one with --rerank")
    return [row for row in METHODS if cross or row.rerank != "cross"]


def settle(wiki: Path, graph: "Graph", asked: "FindConfig", rows: "Sequence[Method]") -> "FindConfig":
    """What was asked, of one way or of many, with what was left open."""
    from linkwalk.wiki.retrieval import settled
    from linkwalk.wiki.workspace import Workspace

    navigation = {row.navigation for row in rows} or {asked.navigation}
    starts = {row.start for row in rows} or {asked.begin}
    return settled(Workspace(wiki, graph, asked.embeddings), asked, navigation, starts)[0]


def run(
    wiki: Path,
    graph: "Graph",
    questions: "Benchmark",
    asked: "FindConfig",
    rows: "list[Method]",
    progress: "Progress",
) -> "tuple[BenchmarkAnswers, dict[str, str]]":
    """Ask everything in the one way asked for, or in all of ``rows``; and who ranks in each."""
    from linkwalk.downstream.fever_submission import SENTENCES
    from linkwalk.downstream.measure import Find, ask
    from linkwalk.downstream.unanswerable import lacking, prune
    from linkwalk.wiki.retrieval import open_finder, open_rows
    from linkwalk.wiki.workspace import Workspace

    find: Find
    gone = questions.hidden(graph)
    if gone is not None:
        graph = prune(graph, gone)  # for who walks, too
    workspace = Workspace(wiki, graph, asked.embeddings)
    if rows:
        compared = open_rows(workspace, asked, rows)
        if gone is not None:
            finders = compared.ways.finders
            compared.ways.finders = {name: lacking(finder, gone) for name, finder in finders.items()}
        find = compared.find
        names = {row.name: compared.reranker if row.rerank == "cross" else row.rerank for row in rows}
    else:
        opened = open_finder(workspace, asked)
        if gone is not None:
            opened.finder = lacking(opened.finder, gone)
        way = {"none": "", "tabs": " + navigation"}.get(asked.navigation, f" + {asked.navigation}")
        name = f"{asked.begin}{way} + {opened.reranker}"

        def find(queries: Any, count: int) -> Any:
            return {name: opened.find(queries, count)}

        names = {name: opened.reranker}
    count = SENTENCES if questions.claims else 0
    return ask(find, questions.texts, sentences=count, progress=progress), names


def facts(questions: "Benchmark", graph: "Graph") -> dict[str, Any]:
    """What was asked of which wiki."""
    return {
        "file": str(questions.file),
        "wiki": graph.snapshot,
        "measure": "answer string (weaker)" if questions.weaker else f"gold {questions.level}",
        "part": questions.part,
        "limit": questions.limit,
        "asked": len(questions.texts),
        "judged": len(questions.judged),
        "alignment": questions.report,
        "damaged": len(questions.damage),
    }


def results_json(
    scored: "dict[str, MethodScores]",
    asked: "FindConfig",
    rows: "list[Method]",
    names: dict[str, str],
    outcome: "BenchmarkAnswers",
    count: int,
) -> list[dict[str, Any]]:
    """One object for each way."""
    from linkwalk.downstream.measure import compare
    from linkwalk.retrieve.config import NAVIGATED

    results = []
    ways = {row.name: row for row in rows}
    for name, own in scored.items():
        row = ways.get(name)
        start, navigation = (row.start, row.navigation) if row else (asked.begin, asked.navigation)
        result: dict[str, Any] = {
            "agent": asked.who if navigation in NAVIGATED else None,
            "way": name,
            "start": start,
            "navigation": navigation,
            "rerank": names[name],
            "candidates": asked.candidates,
            "metrics": own.metrics(),
        }
        if not rows:
            result["metrics"]["questions_per_second"] = round(count / max(outcome.seconds, 1e-9), 2)
        for what, other in (("reference", row and row.reference), ("control", row and row.control)):
            if other in scored:
                result[what] = other
                ours, theirs = own.recall, scored[other].recall
                if ours is not None and theirs is not None:
                    result[f"against_{what}"] = compare(ours, theirs)
        results.append(result)
    return results


def _distances(wiki: Path, graph: "Graph", questions: "Benchmark", folder: Path) -> "Distances":
    from linkwalk.downstream.distances import plot_distances, start_distances
    from linkwalk.retrieve import Bm25

    texts = [one.text for one in questions.judged]
    found = Bm25.open(wiki, graph).search_many(texts, _STARTS)
    away = start_distances(graph, [nodes for nodes, _ in found], questions.judged)
    title = f"{questions.data.name} on {graph.snapshot}"
    plot_distances(away, folder / f"distances_{questions.kind}.png", title, questions.paper_distance)
    return away
