"""``linkwalk tune-reader``: a policy's target encoder is tuned on what people ask (sec. 4.3, app. C.1)."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from linkwalk.cli.agents import EmbeddingsName, Heads
from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table
from linkwalk.cli.reader_place import METRICS, CopyName, PolicyName, PolicyPlace, find_place, open_head
from linkwalk.cli.training import (
    CheckpointEvery,
    Device,
    Force,
    Part,
    Restart,
    Settings,
    Threshold,
    WikiPages,
    last_row,
    stopped,
    warn_of_damage,
)
from linkwalk.device import choose_device
from linkwalk.errors import InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings
    from linkwalk.embed.bert import Weights
    from linkwalk.learn.readers.tune_target import TuneConfig
    from linkwalk.policy.target import AdapterConfig

_THRESHOLD = 80.0


def tune_reader(
    wiki: Annotated[Path, Argument(metavar="WIKI", help="Workspace with graph, embeddings and index.")],
    policy: PolicyName,
    queries: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="FEVER claims, Natural Questions or multi-hop questions, with their evidence in WIKI.",
        ),
    ],
    recipe: Annotated[str, Option(metavar="NAME", help="ours, or paper (app. C.1).")] = "ours",
    part: Part = None,
    threshold: Threshold = None,
    wiki_pages: WikiPages = None,
    name: CopyName = None,
    settings: Settings = None,
    embeddings: EmbeddingsName = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 1000,
    restart: Restart = False,
    force: Force = False,
    head: Heads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tune a policy's target encoder on what people ask: for each claim or question an expert shows the way.

    The expert takes a shortest path from one of BM25's first ten blocks to the evidence (app. C.1). Of files with
    answers alone, blocks among BM25's first twenty that have the answer string stand for the evidence. Resumable, as
    `linkwalk train` is.

    Example: linkwalk tune-reader WIKI compass claims.jsonl --name asked
    """
    chosen = str(choose_device(device))
    from linkwalk.artifact import checksum, digest, locked
    from linkwalk.graph.store import Graph
    from linkwalk.wiki.workspace import Workspace, need_search

    need_search()
    from linkwalk.downstream.pairs import read_pairs
    from linkwalk.learn.readers.tune_target import tune_target
    from linkwalk.policy.target import WEIGHTS
    from linkwalk.retrieve.bm25 import Bm25

    graph, progress = Graph.open(wiki), Progress(quiet=quiet)
    place = find_place(wiki, policy, name)
    config = _configure(recipe, settings or [])
    bm25 = Bm25.open(wiki, graph)
    table = Workspace(wiki, graph, embeddings).table(policy)
    least = _THRESHOLD if threshold is None else threshold
    with locked(place.home):
        if not force:  # what is tuned goes on from what is there, so it is never the same twice
            place.refuse_another()
        encoder = table.transformer("cpu")
        policy_head = open_head(place, wiki, table, chosen)
        adapter, sizes, before = _adapter(place, wiki, table)
        pairs, report, damage = read_pairs(
            queries, graph, bm25, part=part, threshold=least, wiki_pages=wiki_pages, progress=progress
        )
        warn_of_damage(queries, damage, progress)
        how = {"config": asdict(config), "on": report}
        made_from = {
            "pairs": digest([list(pair) for pair in pairs]),
            "adapter": checksum(place.source / WEIGHTS),
        }
        job = {**how, **made_from, "policy": place.weights(), "graph": graph.fingerprint}
        tuned = tune_target(
            graph,
            table.vectors,
            encoder,
            adapter,
            sizes,
            policy_head,
            pairs,
            config,
            device=chosen,
            folder=place.partial,
            job=job,
            resume=stopped(place.partial, job, config.updates, restart=restart, quiet=quiet),
            checkpoint_every=checkpoint_every,
            progress=progress,
        )
        manifest: dict[str, Any] = {
            **{key: before[key] for key in ("config", "encoder_name", "trained_on") if key in before},
            "tuned": {**how, "snapshot": graph.snapshot, "graph": graph.fingerprint},
        }
        place.put(tuned, sizes, table.fingerprint, manifest)

    last = last_row(place.final / METRICS)
    if json:
        print_json({"policy": str(place.final), "copied_from": place.copied_from, **manifest, "last": last})
        return
    _show(place, report, last)
    command = ["linkwalk", "score", report["kind"], str(wiki), str(queries), "--agent", place.name]
    command += ["--part", "kept"] if report["part"] == "tuned" else []
    command += ["--threshold", f"{least:g}"] if report["kind"] == "fever" else []
    command += ["--wiki-pages", str(wiki_pages)] if wiki_pages is not None else []
    print_next(shlex.join(command + (["--embeddings", embeddings] if embeddings else [])))


def _show(place: PolicyPlace, report: dict[str, Any], last: dict[str, Any]) -> None:
    """Tell people what came of it."""
    labels = ", distant labels (blocks with the answer string)" if report["distant"] else ""
    print_table(
        [
            ("policy", place.words),
            ("asked", f"{report['file']}, part {report['part']}: {report['asked']:,}"),
            ("learnt from", f"{report['pairs']:,} with evidence here{labels}"),
            ("tuned", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            (
                "at last",
                f"loss {last['loss']:.3f}, the expert's step {100 * last['accuracy']:.1f} %, nearest to its evidence "
                f"{100 * last['nearest']:.1f} %",
            ),
        ]
    )


def _configure(recipe: str, settings: list[str]) -> "TuneConfig":
    """The recipe's configuration with those settings changed."""
    from linkwalk.learn.readers.tune_target import PAPER, TuneConfig
    from linkwalk.recipes import with_settings

    recipes = {"ours": TuneConfig(), "paper": PAPER}
    if recipe not in recipes:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(recipes)}")
    return with_settings(recipes[recipe], settings)


def _adapter(
    place: PolicyPlace, wiki: Path, table: "Embeddings"
) -> "tuple[Weights, AdapterConfig, dict[str, Any]]":
    """The target encoder that is there: its weights, the sizes that it is tuned with, and its manifest."""
    from linkwalk.artifact import parsing
    from linkwalk.policy.checkpoint import target_remedy
    from linkwalk.policy.target import MANIFEST, AdapterConfig, load_target, read_target

    source, policy = place.source, place.policy
    load_target(source, table, device="cpu")  # it refuses what is damaged, or another encoder's
    found = read_target(source)
    if found is None:
        raise InputError(
            f"the policy {policy!r} has no target encoder to tune: train one first with `linkwalk train-reader {wiki} "
            f"{policy}`"
        )
    manifest, adapter = found
    with parsing(source / MANIFEST, target_remedy(source)):
        sizes = AdapterConfig(**manifest["adapter"])
        ranks = {len(value) for name, value in adapter.items() if name.endswith(".down")}
        if (ranks, "turn" in adapter) != ({sizes.rank}, sizes.turn):
            raise ValueError("its sizes are those of another adapter")
    if not sizes.rank:  # it only turns what the encoder reads, as one trained with its encoder does
        sizes = replace(sizes, rank=AdapterConfig().rank)
    return adapter, sizes, manifest
