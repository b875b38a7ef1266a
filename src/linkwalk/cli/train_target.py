"""``linkwalk train --target``: a policy learns to read sentences; its target encoder is trained (sec. 4.2).

With ``--queries`` the target encoder that is there is tuned on what people ask (sec. 4.3, app. C.1).
"""

import json
import os
import shlex
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.train import new_folder
from linkwalk.demo import POLICY, policy_path
from linkwalk.wiki.agents import policy_folder

if TYPE_CHECKING:
    from torch import Tensor

    from linkwalk.embed import Embeddings
    from linkwalk.learn.target import TargetConfig
    from linkwalk.learn.tune_target import TuneConfig
    from linkwalk.policy.target import AdapterConfig

_METRICS = "target_metrics.jsonl"
_LEAST = {"learning_rate": 0, "warmup": 0, "weight_decay": 0, "negatives": 0, "max_tokens": 3, "seed": 0}
LOWER = "the training has run away, its weights are no longer numbers: lower it with --set learning_rate=..."


def train_target(
    wiki: Path,
    policy: str,
    *,
    name: str | None,
    settings: list[str],
    embeddings: str | None,
    device: str,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train the target encoder of a policy and put it beside the policy, in the workspace; ``device`` is resolved."""
    from linkwalk.embed import Embeddings
    from linkwalk.errors import ArtifactError, InputError
    from linkwalk.graph.store import Graph
    from linkwalk.learn.target import config_to_json
    from linkwalk.learn.target import train_target as train
    from linkwalk.navigate import unit_rows
    from linkwalk.policy.checkpoint import load_policy
    from linkwalk.policy.heads import Compass
    from linkwalk.policy.target import save_target
    from linkwalk.progress import Progress

    graph = Graph.open(wiki)
    source, name, final, in_place = _places(wiki, policy, name, force=force)
    config = _configure(settings)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    encoder = table.encoder("cpu")  # in float32, and first of all: random features cannot read
    _check(source, policy, wiki, table)
    head, _ = load_policy(source, table.fingerprint, device=device)
    assert isinstance(head, Compass), "_check sees to it"
    unit_rows(table.vectors)  # vectors that are not numbers are told here, so that later it is the training

    partial = final.with_name(final.name + ".target.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        try:
            adapter = train(
                graph,
                table.vectors,
                encoder,
                config,
                head=head,
                device=device,
                metrics=partial / _METRICS,
                progress=Progress(quiet=quiet),
            )
        except ArtifactError:  # of the walker, who is shown queries that are not numbers
            raise InputError(LOWER) from None
        if not numbers(adapter):
            raise InputError(LOWER)
        manifest = {
            "config": config_to_json(config),
            "encoder_name": table.manifest["encoder"],
            "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
        }
        save_target(partial, adapter, config.adapter, table.fingerprint, manifest)
        _put(partial, source, final, in_place=in_place)
    finally:  # nothing goes on from what a stopped training leaves
        shutil.rmtree(partial, ignore_errors=True)

    last = json.loads((final / _METRICS).read_text(encoding="utf-8").splitlines()[-1])
    if as_json:
        copied = None if in_place else str(source)
        print_json({"policy": str(final), "copied_from": copied, **manifest, "last": last})
        return
    parameters = sum(value.numel() for value in adapter.values())
    print_table(
        [
            ("policy", str(final) + ("" if in_place else f", a copy of {policy}")),
            ("target encoder", f"rank {config.adapter.rank}, {parameters:,} parameters"),
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            (
                "at last",
                f"loss {last['loss']:.3f}, right step {100 * last['accuracy']:.1f} %, sentence nearest to its own "
                f"block {100 * last['nearest']:.1f} %",
            ),
        ]
    )
    shown = f" --embeddings {embeddings}" if embeddings else ""
    print_next(f"linkwalk eval {wiki} --task sentence --agent {name}{shown}")


def tune(
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
    from linkwalk.embed import Embeddings
    from linkwalk.errors import InputError
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import unit_rows
    from linkwalk.policy.checkpoint import load_policy
    from linkwalk.policy.heads import Compass
    from linkwalk.progress import Progress
    from linkwalk.wiki.retrieval import need_search

    need_search()
    from linkwalk.downstream.pairs import read_pairs
    from linkwalk.learn.tune_target import tune_target
    from linkwalk.policy.target import save_target
    from linkwalk.retrieve.bm25 import Bm25

    graph, progress = Graph.open(wiki), Progress(quiet=quiet)
    source, name, final, in_place = _places(wiki, policy, name, force=force)
    config = _configure_tuning(recipe, settings)
    bm25 = Bm25.open(wiki, graph)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    encoder = table.encoder("cpu")
    _check(source, policy, wiki, table)
    adapter, sizes, before = _adapter(source, policy, wiki, table)
    head, _ = load_policy(source, table.fingerprint, device=device)
    assert isinstance(head, Compass), "_check sees to it"
    unit_rows(table.vectors)
    pairs, report, damage = read_pairs(
        queries, graph, bm25, part=part, threshold=threshold, wiki_pages=wiki_pages, progress=progress
    )
    if damage:
        progress.warn(
            f"{queries}: damaged lines left out: {len(damage):,}, the first is line {damage[0].line} "
            f"({damage[0].reason})"
        )

    partial = final.with_name(final.name + ".target.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        tuned = tune_target(
            graph,
            table.vectors,
            encoder,
            adapter,
            sizes,
            head,
            pairs,
            config,
            device=device,
            metrics=partial / _METRICS,
            progress=progress,
        )
        if not numbers(tuned):
            raise InputError(LOWER)
        how = {"config": asdict(config), "on": report}
        manifest: dict[str, Any] = {
            **{key: before[key] for key in ("config", "encoder_name", "trained_on") if key in before},
            "tuned": {**how, "snapshot": graph.snapshot, "graph": graph.fingerprint},
        }
        save_target(partial, tuned, sizes, table.fingerprint, manifest)
        _put(partial, source, final, in_place=in_place)
    finally:  # nothing goes on from what a stopped training leaves
        shutil.rmtree(partial, ignore_errors=True)

    last = json.loads((final / _METRICS).read_text(encoding="utf-8").splitlines()[-1])
    if as_json:
        copied = None if in_place else str(source)
        print_json({"policy": str(final), "copied_from": copied, **manifest, "last": last})
        return
    labels = ", distant labels (blocks with the answer string)" if report["distant"] else ""
    print_table(
        [
            ("policy", str(final) + ("" if in_place else f", a copy of {policy}")),
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
    command = ["linkwalk", "score", report["kind"], str(wiki), str(queries), "--agent", name]
    command += ["--part", "kept"] if report["part"] == "tuned" else []
    command += ["--threshold", f"{threshold:g}"] if report["kind"] == "fever" else []
    command += ["--wiki-pages", str(wiki_pages)] if wiki_pages is not None else []
    print_next(shlex.join(command + (["--embeddings", embeddings] if embeddings else [])))


def _places(wiki: Path, policy: str, name: str | None, *, force: bool) -> tuple[Path, str, Path, bool]:
    """Where a policy is, its name to be, where it goes, and whether that is where it is."""
    from linkwalk.errors import InputError
    from linkwalk.policy.target import MANIFEST

    source = _find(wiki, policy)
    name = name or (POLICY if source == policy_path() else source.resolve().name)
    final = new_folder(wiki, name)
    in_place = source.resolve() == final.resolve()
    if not force and in_place and (final / MANIFEST).exists():
        raise InputError(
            f"the policy {name!r} has a target encoder: add --force to replace it, or train a copy's with --name"
        )
    if not force and not in_place and final.exists():
        raise InputError(
            f"{wiki} has a policy named {name!r}: add --force to replace it, or name another with --name"
        )
    return source, name, final, in_place


def _adapter(
    source: Path, policy: str, wiki: Path, table: "Embeddings"
) -> "tuple[dict[str, Tensor], AdapterConfig, dict[str, Any]]":
    """The target encoder that is there: its weights, its sizes and its manifest."""
    from safetensors.torch import load_file

    from linkwalk.errors import ArtifactError, InputError
    from linkwalk.policy.target import MANIFEST, WEIGHTS, AdapterConfig, load_target

    if (
        load_target(source, table, device="cpu") is None
    ):  # which refuses what is damaged, or another encoder's
        raise InputError(
            f"the policy {policy!r} has no target encoder to tune: train one first with `linkwalk train {wiki} "
            f"--target {policy}`"
        )
    manifest: dict[str, Any] = json.loads((source / MANIFEST).read_bytes())
    try:
        sizes = AdapterConfig(**manifest["adapter"])
    except (KeyError, TypeError):
        raise ArtifactError(f"{source / MANIFEST} does not say how large the target encoder is") from None
    return load_file(source / WEIGHTS), sizes, manifest


def _find(wiki: Path, policy: str) -> Path:
    """The policy's folder, or which policies there are."""
    from linkwalk.errors import InputError

    folder = policy_folder(wiki, policy)
    if folder is None:
        there = {POLICY, *(path.parent.name for path in (wiki / "policies").glob("*/manifest.json"))}
        raise InputError(
            f"no policy named {policy!r}: choose from {', '.join(sorted(there))}, or give a path"
        )
    return folder


def _configure(settings: list[str]) -> "TargetConfig":
    """The configuration with those settings changed, if it makes sense."""
    from linkwalk.errors import InputError
    from linkwalk.learn.target import TargetConfig
    from linkwalk.recipes import with_settings

    change: Any = with_settings  # it takes any configuration
    config: TargetConfig = change(TargetConfig(), settings)
    _sensible(config, _LEAST)
    if config.adapter.rank < 1:
        raise InputError(f"adapter.rank={config.adapter.rank}: choose 1 or more")
    return config


def _configure_tuning(recipe: str, settings: list[str]) -> "TuneConfig":
    """The recipe's configuration with those settings changed, if it makes sense."""
    from linkwalk.errors import InputError
    from linkwalk.learn.tune_target import PAPER, TuneConfig
    from linkwalk.recipes import with_settings

    recipes = {"ours": TuneConfig(), "paper": PAPER}
    if recipe not in recipes:
        raise InputError(f"no recipe named {recipe!r} for --queries: choose one of {', '.join(recipes)}")
    change: Any = with_settings  # it takes any configuration
    config: TuneConfig = change(recipes[recipe], settings)
    _sensible(config, {name: least for name, least in _LEAST.items() if name != "warmup"})
    return config


def _sensible(config: Any, smallest: dict[str, int]) -> None:
    """Refuse settings that make no sense."""
    from linkwalk.errors import InputError

    for name, least in smallest.items():
        if not getattr(config, name) >= least:
            raise InputError(f"{name}={getattr(config, name)}: choose {least} or more")
    if not config.temperature > 0:
        raise InputError(f"temperature={config.temperature:g}: choose more than 0")


def _check(source: Path, policy: str, wiki: Path, table: "Embeddings") -> None:
    """A compass for embeddings such as these; or what to do."""
    from linkwalk.errors import ArtifactError, InputError
    from linkwalk.policy.checkpoint import is_compass, read_policy

    manifest = read_policy(source)
    if not is_compass(manifest):
        raise InputError(
            f"the policy {policy!r} is no compass, and target encoders are trained for one: "
            f"name {POLICY}, or one that `linkwalk train {wiki}` makes"
        )
    if manifest.get("encoder") != table.fingerprint:
        encoder = manifest.get("encoder_name")
        what = "other options" if encoder == table.manifest["encoder"] else f"another encoder ({encoder})"
        raise ArtifactError(
            f"the policy {policy!r} was trained on embeddings with {what} than {table.name!r}: "
            "name those that it fits with --embeddings, or make them with `linkwalk embed`"
        )


def numbers(adapter: "dict[str, Tensor]") -> bool:
    """Whether all weights are numbers, in the half precision that they are kept in, too."""
    return all(bool(value.half().isfinite().all()) for value in adapter.values())


def _put(partial: Path, source: Path, final: Path, *, in_place: bool) -> None:
    """Bring the target encoder to its policy; to one elsewhere with a copy of that policy, in one step."""
    from linkwalk.artifact import finish
    from linkwalk.learn.metrics import FILE
    from linkwalk.policy import checkpoint
    from linkwalk.policy.target import MANIFEST, WEIGHTS

    if in_place:
        (final / MANIFEST).unlink(
            missing_ok=True
        )  # without it there is no target encoder; so never half of one
        for name in (WEIGHTS, _METRICS, MANIFEST):
            os.replace(partial / name, final / name)
        return
    # Not its card, which is about the target encoder that it had.
    for name in (checkpoint.WEIGHTS, FILE, "manifest.json"):
        if (source / name).is_file():
            shutil.copyfile(source / name, partial / name)
    finish(partial, final)
