"""``linkwalk train --target --queries``: a policy's target encoder is tuned on what people ask (sec. 4.3, app. C.1)."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.train_place import METRICS, Place, find_place, open_compass
from linkwalk.cli.training import check_numbers, last_row, scratch, warn_of_damage

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings
    from linkwalk.embed.bert import Weights
    from linkwalk.learn.tune_target import TuneConfig
    from linkwalk.policy.target import AdapterConfig


def tune_target(
    wiki: Path,
    policy: str,
    queries: Path,
    *,
    recipe: str,
    part: str | None,
    threshold: float,
    wiki_pages: Path | None,
    name: str | None,
    settings: list[str],
    embeddings: str | None,
    device: str,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tune the target encoder of a policy on a benchmark's claims or questions; ``device`` is resolved."""
    from linkwalk.artifact import locked
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.progress import Progress
    from linkwalk.wiki.retrieval import need_search

    need_search()
    from linkwalk.downstream.pairs import read_pairs
    from linkwalk.learn.tune_target import tune_target as tune
    from linkwalk.policy.low_rank import save_target
    from linkwalk.retrieve.bm25 import Bm25

    graph, progress = Graph.open(wiki), Progress(quiet=quiet)
    place = find_place(wiki, policy, name)
    config = _configure(recipe, settings)
    bm25 = Bm25.open(wiki, graph)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    with locked(place.home):
        if not force:  # what is tuned goes on from what is there, so it is never the same twice
            place.refuse_another()
        encoder = table.transformer("cpu")
        head = open_compass(place, wiki, table, device)
        adapter, sizes, before = _adapter(place, wiki, table)
        pairs, report, damage = read_pairs(
            queries, graph, bm25, part=part, threshold=threshold, wiki_pages=wiki_pages, progress=progress
        )
        warn_of_damage(queries, damage, progress)
        with scratch(place.partial) as partial:
            place.copy(partial)
            tuned = tune(
                graph,
                table.vectors,
                encoder,
                adapter,
                sizes,
                head,
                pairs,
                config,
                device=device,
                metrics=partial / METRICS,
                progress=progress,
            )
            check_numbers(tuned)
            how = {"config": asdict(config), "on": report}
            manifest: dict[str, Any] = {
                **{key: before[key] for key in ("config", "encoder_name", "trained_on") if key in before},
                "tuned": {**how, "snapshot": graph.snapshot, "graph": graph.fingerprint},
            }
            save_target(partial, tuned, sizes, table.fingerprint, manifest)
            place.put(partial)

    last = last_row(place.final / METRICS)
    if as_json:
        print_json({"policy": str(place.final), "copied_from": place.copied_from, **manifest, "last": last})
        return
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
    command = ["linkwalk", "score", report["kind"], str(wiki), str(queries), "--agent", place.name]
    command += ["--part", "kept"] if report["part"] == "tuned" else []
    command += ["--threshold", f"{threshold:g}"] if report["kind"] == "fever" else []
    command += ["--wiki-pages", str(wiki_pages)] if wiki_pages is not None else []
    print_next(shlex.join(command + (["--embeddings", embeddings] if embeddings else [])))


def _configure(recipe: str, settings: list[str]) -> "TuneConfig":
    """The recipe's configuration with those settings changed."""
    from linkwalk.errors import InputError
    from linkwalk.learn.tune_target import PAPER, TuneConfig
    from linkwalk.recipes import with_settings

    recipes = {"ours": TuneConfig(), "paper": PAPER}
    if recipe not in recipes:
        raise InputError(f"no recipe named {recipe!r} for --queries: choose one of {', '.join(recipes)}")
    return with_settings(recipes[recipe], settings)


def _adapter(
    place: Place, wiki: Path, table: "Embeddings"
) -> "tuple[Weights, AdapterConfig, dict[str, Any]]":
    """The target encoder that is there: its weights, its sizes and its manifest."""
    from linkwalk.artifact import parsing
    from linkwalk.errors import InputError
    from linkwalk.policy.checkpoint import target_remedy
    from linkwalk.policy.target import MANIFEST, AdapterConfig, load_target, read_target

    source, policy = place.source, place.policy
    load_target(source, table, device="cpu")  # it refuses what is damaged, or another encoder's
    found = read_target(source)
    if found is None:
        raise InputError(
            f"the policy {policy!r} has no target encoder to tune: train one first with `linkwalk train {wiki} "
            f"--target {policy}`"
        )
    manifest, adapter = found
    with parsing(source / MANIFEST, target_remedy(source)):
        sizes = AdapterConfig(**manifest["adapter"])
        ranks = {len(value) for name, value in adapter.items() if name.endswith(".down")}
        if (ranks, "turn" in adapter) != ({sizes.rank}, sizes.turn):
            raise ValueError("its sizes are those of another adapter")
    return adapter, sizes, manifest
