"""A policy's reader, its target encoder: trained (sec. 4.2), or tuned on what people ask (sec. 4.3, app. C.1).

The policy stays as it is. The reader goes into its folder, or, with a copy of the policy, into a new one.
"""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from linkwalk.artifact import MANIFEST as OF_POLICY
from linkwalk.artifact import checksum, digest, in_one_step, locked, parsing, seal, steady
from linkwalk.downstream.mining import read_pairs
from linkwalk.embed import Embeddings
from linkwalk.embed.bert import Weights
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.metrics import FILE
from linkwalk.learn.readers.target import TargetConfig, train_target
from linkwalk.learn.readers.tune_target import PAPER, TuneConfig, tune_target
from linkwalk.learn.state import FILE as STATE
from linkwalk.learn.state import differences
from linkwalk.navigate import unit_rows
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.trained_map import MAP
from linkwalk.policy import checkpoint
from linkwalk.policy.checkpoint import is_compass, load_policy, read_policy
from linkwalk.policy.low_rank import save_target
from linkwalk.policy.target import MANIFEST, WEIGHTS, AdapterConfig, load_target, read_target
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.shipped import POLICY, policy_path
from linkwalk.trainings.run import (
    BenchmarkChoice,
    TrainingOutcome,
    TrainingRun,
    clear_after,
    job_in,
    last_row,
    name_taken,
    new_folder,
    of_another_training,
    warn_of_damage,
)
from linkwalk.wiki.agents import fitting_manifest, policy_folder, policy_names, with_its_map
from linkwalk.wiki.workspace import Workspace

METRICS = "target_metrics.jsonl"
BOARD = "target"
"""Where TensorBoard finds the curves of the target encoder's training, beside those of the policy's."""


class PolicyPlace(NamedTuple):
    """Where a policy is, and where it goes with its new reader."""

    policy: str
    """As it was named."""
    source: Path
    final: Path
    in_place: bool
    """Whether it is there already; else a copy goes there."""

    @classmethod
    def of(cls, wiki: Path, policy: str, name: str | None) -> "PolicyPlace":
        """Where a policy is and goes; ``name`` is that of the copy."""
        source = policy_folder(wiki, policy)
        if source is None:
            there = ", ".join(policy_names(wiki))
            raise InputError(f"no policy named {policy!r}: choose from {there}, or give a path")
        final = new_folder(wiki, name or (POLICY if source == policy_path() else source.resolve().name))
        return cls(policy, source, final, source.resolve() == final.resolve())

    @property
    def home(self) -> Path:
        """The folder that is written: the policy's own, though it may be a link to elsewhere."""
        return self.final.resolve()

    @property
    def partial(self) -> Path:
        """Where the target encoder is trained; no policy is called that, so no policy's training goes on from there."""
        return self.home.with_name(self.home.name + "+target.partial")

    def weights(self) -> str:
        """Which weights the policy has: their checksum."""
        remedy = checkpoint.look_at_policy(self.source, read_policy(self.source))
        with parsing(self.source / checkpoint.WEIGHTS, remedy):
            return checksum(self.source / checkpoint.WEIGHTS)

    def refuse_another(self, changed: Sequence[str] = ()) -> None:
        """Refuse to replace a target encoder, or a policy elsewhere."""
        if self.in_place and (self.final / MANIFEST).exists():
            raise InputError(
                f"the policy {self.final.name!r} has a target encoder{of_another_training(changed)}: add --force to "
                "replace it, or train a copy's with --name"
            )
        if not self.in_place and self.final.exists():
            raise name_taken("a policy", self.final, changed)

    def made(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The manifest of the target encoder that is there, if the same training made it; another one is an error."""
        if not self.final.exists() or (found := read_target(self.final)) is None:
            self.refuse_another()
            return None
        manifest, _ = found
        was = job_in(manifest, job)
        if isinstance(
            was["config"], dict
        ):  # a setting that an earlier version did not have was as it is by default
            was["config"] = asdict(TargetConfig()) | was["config"]
        # Nothing can be known of one that was tuned since, or trained for a policy that nobody noted.
        known = "tuned" not in manifest and was["policy"] is not None
        if not known or checksum(self.final / checkpoint.WEIGHTS) != job["policy"]:
            self.refuse_another()
        if changed := differences(was, job):
            self.refuse_another(changed)
        clear_after(self.partial, job)
        return manifest

    def put(
        self, adapter: dict[str, Tensor], sizes: AdapterConfig, encoder: str, manifest: dict[str, Any]
    ) -> None:
        """Let the policy with its new target encoder take its place in one step, with all else in its folder.

        Of a policy elsewhere a copy does; not of its card, which is about the target encoder that it had.
        """
        with in_one_step(self.partial, self.home, STATE) as whole:

            def copy() -> None:
                for name in (checkpoint.WEIGHTS, MAP, FILE, OF_POLICY):
                    if (self.source / name).is_file():
                        shutil.copyfile(self.source / name, whole / name)

            if self.in_place:
                checkpoint.link_files(self.home, whole, leave=(WEIGHTS, METRICS, MANIFEST, BOARD))
            else:
                steady(self.source, copy)
            for events in self.partial.glob("events.*"):
                (whole / BOARD).mkdir(exist_ok=True)
                shutil.copyfile(events, whole / BOARD / events.name)
            shutil.copyfile(self.partial / FILE, whole / METRICS)
            save_target(whole, adapter, sizes, encoder, manifest)
            seal(whole, read_policy(whole))

    def open_head(self, wiki: Path, table: Embeddings, device: str) -> nn.Module:
        """The policy, for embeddings such as these; or what to do."""
        fitting_manifest(self.source, self.policy, wiki, table, "name those that it fits with --embeddings")
        head, _ = load_policy(self.source, table.fingerprint, device=device)
        unit_rows(
            table.vectors
        )  # vectors that are not numbers are told here, so that later it is the training
        return head

    def trained(self, manifest: dict[str, Any], fresh: bool, more: dict[str, Any]) -> TrainingOutcome:
        """What there is to tell: of a copy, too, what it is a copy of."""
        copied = {"copied_from": None if self.in_place else str(self.source), "policy": self.policy}
        return TrainingOutcome(self.final, manifest, fresh, last_row(self.final / METRICS), copied | more)


def train_reader(
    wiki: Path,
    policy: str,
    name: str | None,
    embeddings: str | None,
    run: TrainingRun,
) -> TrainingOutcome:
    """Train a target encoder, so that one sentence of a goal leads the policy where the goal itself would."""
    graph, place = Graph.open(wiki), PolicyPlace.of(wiki, policy, name)
    manifest = read_policy(place.source)
    walks = "own" if is_compass(manifest) else "shortcut"
    config = run.configured(TargetConfig(walks=walks))
    table = Workspace(wiki, graph, embeddings).table(policy)
    with locked(place.home):
        origin = {"graph": graph.fingerprint, "policy": place.weights()}
        job = {"config": asdict(config), "encoder": table.fingerprint, **origin}
        made = None if run.force else place.made(job)
        if made is None:
            kept = run.kept(place.partial, job, config.updates)
            encoder = table.transformer("cpu")  # in float32, and first of all: random features cannot read
            adapter = train_target(
                graph,
                table.vectors,
                encoder,
                config,
                head=place.open_head(wiki, table, run.device),
                ways=with_its_map(MoveConfig(), place.source, manifest),
                device=run.device,
                **kept,
            )
            about = {
                "config": job["config"],
                "encoder_name": table.manifest["encoder"],
                "trained_on": {"snapshot": graph.snapshot, **origin},
            }
            place.put(adapter, config.adapter, table.fingerprint, about)
    found = read_target(place.final)
    parameters = 0 if found is None else sum(value.size for value in found[1].values())
    more = {"rank": config.adapter.rank, "parameters": parameters}
    return place.trained(made or about, made is None, more)


def tune_reader(
    wiki: Path,
    policy: str,
    queries: Path,
    recipe: str,
    choice: BenchmarkChoice,
    name: str | None,
    embeddings: str | None,
    run: TrainingRun,
) -> TrainingOutcome:
    """Tune a target encoder: an expert shows the way to the evidence of each query in a file."""
    graph, place = Graph.open(wiki), PolicyPlace.of(wiki, policy, name)
    recipes = {"ours": TuneConfig(), "paper": PAPER}
    if recipe not in recipes:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(recipes)}")
    config = run.configured(recipes[recipe])
    bm25 = Bm25.open(wiki, graph)
    table = Workspace(wiki, graph, embeddings).table(policy)
    with locked(place.home):
        if not run.force:  # what is tuned goes on from what is there, so it is never the same twice
            place.refuse_another()
        encoder = table.transformer("cpu")
        policy_head = place.open_head(wiki, table, run.device)
        adapter, sizes, before = _adapter(place, wiki, table)
        pairs, report, damage = read_pairs(queries, graph, bm25, progress=run.progress, **choice._asdict())
        warn_of_damage(queries, damage, run.progress)
        how = {"config": asdict(config), "on": report}
        job = {
            **how,
            "pairs": digest([list(pair) for pair in pairs]),
            "adapter": checksum(place.source / WEIGHTS),
            "policy": place.weights(),
            "graph": graph.fingerprint,
        }
        tuned = tune_target(
            graph,
            table.vectors,
            encoder,
            adapter,
            sizes,
            policy_head,
            pairs,
            config,
            device=run.device,
            **run.kept(place.partial, job, config.updates),
        )
        said: tuple[str, ...] = ("config", "encoder_name", "trained_on")
        manifest = {key: before[key] for key in said if key in before}
        manifest["tuned"] = {**how, "snapshot": graph.snapshot, "graph": graph.fingerprint}
        place.put(tuned, sizes, table.fingerprint, manifest)
    return place.trained(manifest, True, {"report": report})


def _adapter(
    place: PolicyPlace, wiki: Path, table: Embeddings
) -> tuple[Weights, AdapterConfig, dict[str, Any]]:
    """The target encoder that is there: its weights, the sizes that it is tuned with, and its manifest."""
    source, policy = place.source, place.policy
    load_target(source, table, device="cpu")  # it refuses what is damaged, or another encoder's
    found = read_target(source)
    if found is None:
        raise InputError(
            f"the policy {policy!r} has no target encoder to tune: train one first with `linkwalk train-reader {wiki} "
            f"{policy}`"
        )
    manifest, adapter = found
    with parsing(source / MANIFEST, checkpoint.target_remedy(source)):
        sizes = AdapterConfig(**manifest["adapter"])
        ranks = {len(value) for name, value in adapter.items() if name.endswith(".down")}
        if (ranks, "turn" in adapter) != ({sizes.rank}, sizes.turn):
            raise ValueError("its sizes are those of another adapter")
    if not sizes.rank:  # it only turns what the encoder reads, as one trained with its encoder does
        sizes = replace(sizes, rank=AdapterConfig().rank)
    return adapter, sizes, manifest
