"""``linkwalk reproduce``: the paper's tables and traces, ours beside them."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from linkwalk.cli.options import (
    AGENT_NAMES,
    Budget,
    Candidates,
    Device,
    EmbeddingsName,
    FeverPages,
    Json,
    Level,
    Quiet,
    Rerank,
    Seed,
    argument,
    option,
)
from linkwalk.device import choose_device
from linkwalk.errors import InputError
from linkwalk.progress import Progress

EVIDENCE = ("table5", "table6")
WHAT = ("table1", "table2", "table3", "table4", *EVIDENCE, "table7", "bound", "traces")


def reproduce(
    what: Annotated[
        str,
        argument(
            "WHAT",
            "table1 (trajectory distributions), table2 (navigation), table3 (sizes of graphs), table4 (fixed and "
            "trained embeddings), table5 (FEVER), table6 (Natural Questions), table7 (cost), bound "
            "(the variational bound of appendix D) or traces (as in figure 3; with --file as in figure 4).",
        ),
    ],
    wiki: Annotated[
        Path,
        argument(
            "WIKI",
            "Folder that `linkwalk split` made, or a workspace, which is split into WIKI/halves; both embedded. "
            "For table5 and table6 a workspace, indexed and embedded.",
        ),
    ],
    rows: Annotated[
        list[str] | None,
        option("ROW,...", "Only these rows of a table. [default: all]"),
    ] = None,
    episodes: Annotated[
        int | None,
        option("N", "Episodes for each figure. [default: 10000]", min=1),
    ] = None,
    updates: Annotated[
        int | None,
        option("N", "Updates of each policy. [default: the paper's 50000]", min=1),
    ] = None,
    target: Annotated[
        Path | None,
        option(
            "DIR",
            "Folder of a policy whose target encoder shows sentences to policies (table2). [default: the nodes' "
            "encoder]",
        ),
    ] = None,
    later: Annotated[
        Path | None,
        option(
            "WIKI",
            "Workspace of a later edition to be tested on; all of the first is trained on then (table3, table4).",
        ),
    ] = None,
    encoder: Annotated[
        str, option("NAME", "How the encoder of table4 is trained.", "--encoder-recipe")
    ] = "spans",
    encoder_settings: Annotated[
        list[str] | None,
        option("KEY=VALUE", "Change one setting of it; may be repeated.", "--encoder-set"),
    ] = None,
    trained: Annotated[
        str | None,
        option(
            "NAME",
            "Embeddings of both wikis by an encoder trained elsewhere (table4). [default: one is trained]",
        ),
    ] = None,
    readers: Annotated[
        bool,
        Option(
            "--readers",
            help="Train a target encoder with each policy, which reads sentences for it, as the paper does (table2, "
            "table4).",
        ),
    ] = False,
    reader_settings: Annotated[
        list[str] | None,
        option("KEY=VALUE", "Change one setting of these; may be repeated.", "--reader-set"),
    ] = None,
    quick: Annotated[
        bool,
        Option(
            "--quick",
            help="For a CPU: 500 episodes, 200 updates of 64 walks; the first 200 claims or questions; 20 updates "
            "of the encoder. The table says that it is quick.",
        ),
    ] = False,
    file: Annotated[
        Path | None,
        option(
            "FILE",
            "FEVER's claims (table5), Natural Questions (table6); either, or multi-hop questions (traces).",
        ),
    ] = None,
    wiki_pages: FeverPages = None,
    level: Level = "block",
    candidates: Candidates = 20,
    rerank: Rerank = None,
    steps: Annotated[int, option("T", "T of the walks (bound, traces).", min=1, max=1000)] = 10,
    agent: Annotated[
        str | None,
        option(
            "A",
            f"Whose traces, or who finds evidence: {AGENT_NAMES}. [default: whoever `linkwalk walk` takes]",
        ),
    ] = None,
    count: Annotated[int, option("N", "Traces of either kind.", min=1)] = 4,
    budget: Budget = 100,
    seed: Seed = 0,
    embeddings: EmbeddingsName = None,
    device: Device = "auto",
    loop: Annotated[
        bool,
        Option(
            "--loop",
            help="Train and walk by the plain loops, even where a GPU could do so on its own: the same, slower.",
        ),
    ] = False,
    markdown: Annotated[
        bool, Option("--markdown", help="Print the table in Markdown; traces always are.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the rows of a table of the paper and print the paper's figures beside ours.

    Policies are trained on one half of the wiki and walk the other, which they have not seen. Policies and results are
    kept and shared between tables: a run that was stopped goes on where it was.

    Example: linkwalk reproduce table1 WIKI --quick

    Example: linkwalk reproduce table4 WIKI-2017 --later WIKI-2018

    Example: linkwalk reproduce table5 WIKI --file shared_task_dev.jsonl --wiki-pages wiki-pages

    Example: linkwalk reproduce traces WIKI > traces.md

    Example: linkwalk reproduce traces WIKI --file claims.jsonl > evidence.md
    """
    if what not in WHAT:
        raise InputError(f"there is no {what!r} to reproduce: choose one of {', '.join(WHAT)}")
    if later is not None and what not in ("table3", "table4"):
        raise InputError("--later belongs to table3 and table4: leave it out")
    traced = what == "traces" and file is not None
    if (file is not None or wiki_pages is not None) and what not in EVIDENCE and not traced:
        raise InputError("--file and --wiki-pages belong to table5, table6 and traces: leave them out")
    # Before anything that needs torch: without it, this says what to install.
    choose_device("auto" if file is not None or what == "table3" else device)
    from linkwalk.cli import reproductions as run
    from linkwalk.reproduce.halves import editions, fixed_embeddings, open_halves
    from linkwalk.reproduce.runner import Runner
    from linkwalk.reproduce.tables import QUICK, TABLES, Size, choose_rows
    from linkwalk.retrieve import FindConfig

    report = run.Report(what, quick, markdown, json, quiet)
    names = [name.strip() for part in rows or [] for name in part.split(",")]
    asked = FindConfig(candidates=candidates, rerank=rerank, agent=agent, embeddings=embeddings)
    size = QUICK if quick else Size()
    size = replace(size, seed=seed, episodes=episodes or size.episodes, updates=updates or size.updates)
    if what in EVIDENCE:
        run.evidence_table(report, wiki, file, wiki_pages, level, asked, names)
        return
    if traced and file is not None:
        run.asked_traces(report, wiki, file, wiki_pages, replace(asked, rerank="none"), count)
        return
    if what == "table3":
        run.sizes_table(report, [wiki, *([later] if later else [])])
        return
    if what == "traces":
        run.goal_traces(report, wiki, agent, size, steps, budget, count, embeddings)
        return
    table = choose_rows(TABLES[what], names) if what in TABLES else None
    progress, home = Progress(quiet=quiet), wiki / "train" if (wiki / "train").is_dir() else wiki
    name = fixed_embeddings(home, embeddings)
    runner = Runner(
        open_halves(wiki, name, progress) if later is None else editions(wiki, later, name, progress),
        embeddings=name,
        budget=budget,
        device=device,
        target=target,
        recorded=False if loop else None,
        encoder=(encoder, (*size.encoder, *(encoder_settings or []))),
        trained=trained,
        readers=(*size.reader, *(reader_settings or [])) if readers else None,
        progress=progress,
    )
    if table is None:
        run.bounds(report, runner, size, steps)
    else:
        run.navigation_table(report, runner, table, size)
