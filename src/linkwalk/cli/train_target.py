"""``linkwalk train --target``: a policy learns to read sentences; its target encoder is trained (sec. 4.2)."""

from pathlib import Path

from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.train_place import METRICS, find_place, open_compass
from linkwalk.cli.training import LOWER, check_numbers, last_row, scratch


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
    from linkwalk.learn.target import TargetConfig, config_to_json
    from linkwalk.learn.target import train_target as train
    from linkwalk.policy.target import save_target
    from linkwalk.progress import Progress
    from linkwalk.recipes import with_settings

    graph = Graph.open(wiki)
    place = find_place(wiki, policy, name, force=force)
    config = with_settings(TargetConfig(), settings)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    encoder = table.encoder("cpu")  # in float32, and first of all: random features cannot read
    head = open_compass(place, wiki, table, device)
    with scratch(place.partial) as partial:
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
            "config": config_to_json(config),
            "encoder_name": table.manifest["encoder"],
            "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
        }
        save_target(partial, adapter, config.adapter, table.fingerprint, manifest)
        place.put(partial)

    last = last_row(place.final / METRICS)
    if as_json:
        print_json({"policy": str(place.final), "copied_from": place.copied_from, **manifest, "last": last})
        return
    parameters = sum(value.numel() for value in adapter.values())
    print_table(
        [
            ("policy", place.words),
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
    print_next(f"linkwalk eval {wiki} --task sentence --agent {place.name}{shown}")
