"""``linkwalk train-reranker``: a cross-encoder learns which sentences bear on a query (sec. 4.3)."""

import shlex
from pathlib import Path
from typing import Annotated

from linkwalk.cli.options import (
    CheckpointEvery,
    Device,
    Force,
    Json,
    Part,
    Quiet,
    Restart,
    Settings,
    Threshold,
    WikiPages,
    argument,
    option,
    training_run,
)
from linkwalk.cli.output import at_last, print_trained, selected


def train_reranker(
    wiki: Annotated[Path, argument("WIKI", "Workspace with a graph, and an index to mine lists.")],
    files: Annotated[
        list[Path],
        argument(
            "FILE...",
            "Lists (a query, positives, negatives a line), or FEVER claims or Natural Questions, from which lists "
            "are mined in WIKI.",
        ),
    ],
    part: Part = None,
    threshold: Threshold = None,
    wiki_pages: WikiPages = None,
    name: Annotated[str, option("NAME", "Name of the reranker.")] = "ours",
    settings: Settings = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 1000,
    restart: Restart = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a cross-encoder that puts sentences first that bear on a query, for `find --rerank` and `score --rerank`.

    It goes into WIKI/rerankers/NAME. Resumable, as `linkwalk train` is. Lists with fewer negatives than it wants
    (--set negatives=7) are left out, and counted. With --set held_out=200 so many queries are not trained on, and the
    weights that are best there are kept.

    Example: linkwalk train-reranker WIKI claims.jsonl questions.jsonl --name mine
    """
    run = training_run(settings, device, checkpoint_every, restart, force, quiet)
    from linkwalk.trainings import rerankers
    from linkwalk.trainings.run import BenchmarkChoice

    choice = BenchmarkChoice(part, threshold, wiki_pages)
    trained = rerankers.train_reranker(wiki, files, choice, name, run)
    folder, made, last = trained.folder, trained.manifest, trained.last
    model = made["config"]
    rows = [
        ("reranker", str(folder)),
        (
            "cross-encoder",
            f"{model['encoder']}, rank {model['rank']}, {trained.more['parameters']:,} parameters",
        ),
        *(("lists", rerankers.lists_line(row)) for row in made["data"]),
        *at_last(
            last, "loss {loss:.3f}, evidence first {first:.1%}, by the cosine alone {first_by_cosine:.1%}"
        ),
    ]
    if {"best", "held_out_loss", "held_out_first"} <= last.keys():
        figures = f"loss {last['held_out_loss']:.3f}, evidence first {100 * last['held_out_first']:.1f} %"
        kept = f"the weights of update {last['best']:,} were best and are kept"
        rows.append(("held out", f"{figures} at last; {kept}"))
    told = selected(made, "config", "training", "made_from", "data", "trained_on")
    facts = {"reranker": str(folder), **told, "last": last}
    command = shlex.join(["linkwalk", "find", str(wiki), trained.more["query"], "--rerank", str(folder)])
    print_trained(trained, facts, rows, command, json=json, made_of="graph, files and settings")
