"""``linkwalk train-reranker``: a cross-encoder learns which sentences bear on a query (sec. 4.3)."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table
from linkwalk.cli.training import (
    CheckpointEvery,
    Device,
    Force,
    Part,
    Restart,
    Settings,
    Threshold,
    WikiPages,
    check_name,
    in_one_step,
    last_row,
    stopped,
    up_to_date,
)
from linkwalk.device import choose_device
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.cli.reranker_lists import RerankerConfig

NAME = "ours"
METRICS = "metrics.jsonl"


def train_reranker(
    wiki: Annotated[
        Path, Argument(metavar="WIKI", help="Workspace with a graph, and an index to mine lists.")
    ],
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...",
            help="Lists (a query, positives, negatives a line), or FEVER claims or Natural Questions, from which lists "
            "are mined in WIKI.",
        ),
    ],
    part: Part = None,
    threshold: Threshold = None,
    wiki_pages: WikiPages = None,
    name: Annotated[str, Option(metavar="NAME", help="Name of the reranker.")] = NAME,
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
    chosen = str(choose_device(device))

    from linkwalk.artifact import clear, digest, locked
    from linkwalk.cli import reranker_lists as lists_of
    from linkwalk.embed.model import find_model
    from linkwalk.graph.store import Graph
    from linkwalk.learn.readers.cross import train_cross
    from linkwalk.learn.state import FILE as STATE
    from linkwalk.policy.checkpoint import link_files
    from linkwalk.recipes import with_settings
    from linkwalk.retrieve.cross_model import save_cross

    graph, progress = Graph.open(wiki), Progress(quiet=quiet)
    check_name(name, "reranker")
    final = wiki / "rerankers" / name
    partial = final.with_name(final.name + ".partial")
    config = with_settings(lists_of.RerankerConfig(), settings or [])
    encoder = find_model(config.model.encoder).fingerprint  # first: mining takes long
    choice = lists_of.LearntFrom(part=part, threshold=threshold, wiki_pages=wiki_pages)
    kinds = lists_of.check(files, choice)
    manifest = {
        "training": lists_of.settings_of(config),
        "made_from": lists_of.made_from(wiki, files, kinds, choice),
        "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
    }
    job = lists_of.job_of({"config": asdict(config.model), "model": encoder, **manifest})
    query = "a claim or a question"
    with locked(final):
        made = None if force else lists_of.already(wiki, final, job)
        if made is None:
            lists, data = lists_of.gather(wiki, graph, files, kinds, config, choice, progress)
            query = next(one.query for one in lists if lists_of.use(one, config) == "used")
            job["lists"] = digest([list(one) for one in lists])
            weights = train_cross(
                lists,
                config.model,
                config,
                device=chosen,
                folder=partial,
                job=job,
                resume=stopped(partial, job, config.updates, restart=restart, quiet=quiet),
                checkpoint_every=checkpoint_every,
                progress=progress,
            )
            with in_one_step(partial, final) as whole:
                link_files(partial, whole, leave=(whole.name, STATE))
                made = save_cross(whole, weights, config.model, encoder, manifest | {"data": data})
        else:
            clear(partial)  # a training may have been killed just after it had put its reranker here
            if not json:
                print(up_to_date(name, "graph, files and settings"))
    last = last_row(final / METRICS)
    if json:
        told = {key: made[key] for key in ("config", "training", "made_from", "data", "trained_on")}
        print_json({"reranker": str(final), **told, "last": last})
        return
    _show(final, config, made["data"], last)
    print_next(shlex.join(["linkwalk", "find", str(wiki), query, "--rerank", str(final)]))


def _show(
    final: Path, config: "RerankerConfig", data: Sequence[dict[str, Any]], last: dict[str, Any]
) -> None:
    """Tell people what came of it."""
    from linkwalk.cli.reranker_lists import said
    from linkwalk.retrieve.cross import read_cross

    parameters = sum(value.size for value in read_cross(final)[2].values())
    rows = [
        ("reranker", str(final)),
        ("cross-encoder", f"{config.model.encoder}, rank {config.model.rank}, {parameters:,} parameters"),
        *(("lists", said(row)) for row in data),
    ]
    if {"seconds", "loss", "first", "first_by_cosine"} <= last.keys():
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            (
                "at last",
                f"loss {last['loss']:.3f}, evidence first {100 * last['first']:.1f} %, by the cosine alone "
                f"{100 * last['first_by_cosine']:.1f} %",
            ),
        ]
    print_table(rows + _held_out(last))


def _held_out(last: dict[str, Any]) -> list[tuple[str, str]]:
    """Which weights were kept, where queries were held out."""
    if not {"best", "held_out_loss", "held_out_first"} <= last.keys():
        return []
    figures = f"loss {last['held_out_loss']:.3f}, evidence first {100 * last['held_out_first']:.1f} %"
    return [("held out", f"{figures} at last; the weights of update {last['best']:,} were best and are kept")]
