"""``linkwalk train --target``: a policy learns to read sentences; its target encoder is trained (sec. 4.2)."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.train_place import METRICS, Place, find_place, open_compass
from linkwalk.cli.training import LOWER, check_numbers, last_row, scratch, up_to_date

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.learn.target import TargetConfig

_TOLD = ("config", "encoder_name", "trained_on")
"""What ``--json`` tells of a target encoder's manifest."""


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
    """Train the target encoder of a policy and put it beside the policy, unless the same training has.

    It goes into the workspace; ``device`` is resolved.
    """
    from linkwalk.artifact import clear, locked
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.learn.target import TargetConfig, config_to_json
    from linkwalk.policy.target import read_target
    from linkwalk.recipes import with_settings

    graph = Graph.open(wiki)
    place = find_place(wiki, policy, name)
    config = with_settings(TargetConfig(), settings)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    with locked(place.home):
        job = {
            "config": config_to_json(config),
            "encoder": table.fingerprint,
            "graph": graph.fingerprint,
            "policy": place.weights(),
        }
        manifest = None if force else place.made(job)
        if manifest is None:
            manifest = _train(place, graph, table, config, job, device=device, quiet=quiet)
        else:
            clear(place.partial)  # a training may have been killed just after it had put its policy here
            if not as_json:
                made_of = "graph, embeddings, policy and settings"
                print(up_to_date(f"the target encoder of {place.name}", made_of))
    last = last_row(place.final / METRICS)
    if as_json:
        told = {key: manifest[key] for key in _TOLD if key in manifest}
        print_json({"policy": str(place.final), "copied_from": place.copied_from, **told, "last": last})
        return
    found = read_target(place.final)
    parameters = 0 if found is None else sum(value.size for value in found[1].values())
    rows = [
        ("policy", place.words),
        ("target encoder", f"rank {config.adapter.rank}, {parameters:,} parameters"),
    ]
    if {"seconds", "loss", "accuracy", "nearest"} <= last.keys():
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            (
                "at last",
                f"loss {last['loss']:.3f}, right step {100 * last['accuracy']:.1f} %, sentence nearest to its own "
                f"block {100 * last['nearest']:.1f} %",
            ),
        ]
    print_table(rows)
    shown = f" --embeddings {embeddings}" if embeddings else ""
    print_next(f"linkwalk eval {wiki} --task sentence --agent {place.name}{shown}")


def _train(
    place: Place,
    graph: "Graph",
    table: "Embeddings",
    config: "TargetConfig",
    job: dict[str, Any],
    *,
    device: str,
    quiet: bool,
) -> dict[str, Any]:
    """Train the target encoder and let it take its place with the policy; what its manifest says."""
    from linkwalk.errors import ArtifactError, InputError
    from linkwalk.learn.target import train_target as train
    from linkwalk.policy.low_rank import save_target
    from linkwalk.progress import Progress

    encoder = table.transformer("cpu")  # in float32, and first of all: random features cannot read
    head = open_compass(place, place.wiki, table, device)
    with scratch(place.partial) as partial:
        place.copy(partial)
        try:
            adapter = train(
                graph,
                table.vectors,
                encoder,
                config,
                head=head,
                device=device,
                metrics=partial / METRICS,
                progress=Progress(quiet=quiet),
            )
        except ArtifactError:  # of the walker, who is shown queries that are not numbers
            raise InputError(LOWER) from None
        check_numbers(adapter)
        manifest = {
            "config": job["config"],
            "encoder_name": table.manifest["encoder"],
            "trained_on": {
                "snapshot": graph.snapshot,
                "graph": graph.fingerprint,
                "policy": job["policy"],
            },
        }
        save_target(partial, adapter, config.adapter, table.fingerprint, manifest)
        place.put(partial)
    return manifest
