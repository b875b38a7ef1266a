"""``linkwalk score``: a benchmark's claims or questions are asked of a wiki, and what is found is counted."""

from pathlib import Path
from typing import Annotated

from typer import Option

from linkwalk.cli.options import (
    AgentName,
    Candidates,
    EmbeddingsName,
    EncoderName,
    FeverPages,
    IndexedWiki,
    Json,
    Level,
    Navigation,
    Quiet,
    ReadAll,
    Rerank,
    Start,
    StartCount,
    StepCount,
    Top,
    argument,
    option,
)
from linkwalk.cli.output import print_json, print_next
from linkwalk.errors import InputError
from linkwalk.progress import Progress


def score(
    benchmark: Annotated[
        str,
        argument(
            "BENCHMARK", "fever, nq, multihop or links; or a data set of your own, as package.module:Name."
        ),
    ],
    wiki: IndexedWiki,
    file: Annotated[
        Path,
        argument(
            "FILE",
            "FEVER's claims; Natural Questions with passages (DPR's files) or answers alone (NQ-open); questions "
            "of HotpotQA, 2WikiMultihopQA or MuSiQue; questions made from the wiki's own links.",
        ),
    ],
    wiki_pages: FeverPages = None,
    level: Level = "block",
    threshold: Annotated[
        float,
        option("N", "FEVER: token-set ratio from which a block holds a sentence.", min=1, max=100),
    ] = 80,
    part: Annotated[
        str,
        option(
            "P",
            "all, or one of two halves without a common page: tuned (what choices were made on) or kept.",
        ),
    ] = "all",
    limit: Annotated[int | None, option("N", "Ask the first N alone.", min=1)] = None,
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
        option("FILE", "Write a JSON line for each question: its id, ranked blocks, recall, group."),
    ] = None,
    submission: Annotated[
        Path | None,
        option(
            "FILE",
            "FEVER with --wiki-pages: write what was found as the official scorer reads it.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        option("DIR", "Draw how many links lead from BM25's blocks to the evidence."),
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
    from linkwalk.cli.scoring import (
        draw_distances,
        possible_methods,
        print_distances,
        print_scores,
        score_benchmark,
        warn_of_damaged,
    )
    from linkwalk.downstream.benchmark import read_benchmark
    from linkwalk.downstream.fever_submission import write_submission
    from linkwalk.downstream.measure import save_answers
    from linkwalk.graph.plots import require
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
    warn_of_damaged(questions, progress)
    methods = possible_methods(wiki, graph, asked, progress) if rows else []
    scored = score_benchmark(wiki, graph, questions, asked, methods, wiki_pages, progress)
    if save is not None:
        save_answers(save, graph, questions, scored.answers, scored.scores)
    if submission is not None:
        write_submission(submission, next(iter(scored.scores.values())).submitted)
    away = draw_distances(wiki, graph, questions, plots) if plots is not None else None
    if json:
        print_json(
            {
                "benchmark": benchmark,
                **scored.facts(),
                "results": list(scored.results()),
                "seconds": round(scored.answers.seconds, 2),
                **({"distances": away.to_json()} if away else {}),
            }
        )
        return
    print_scores(scored)
    if away is not None:
        print_distances(away, questions.paper_distance)
    for path in (save, submission):
        if path is not None:
            print(f"\nwritten: {path}")
    if not rows:
        print_next(f"linkwalk score {benchmark} {wiki} {file} --rows")
