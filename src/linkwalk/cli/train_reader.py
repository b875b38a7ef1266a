"""``linkwalk train-reader``: a policy learns to read sentences; its target encoder is trained (sec. 4.2)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from linkwalk.cli.agents import EmbeddingsName, Heads
from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table
from linkwalk.cli.reader_place import METRICS, CopyName, PolicyName, PolicyPlace, find_place, open_head
from linkwalk.cli.training import (
    CheckpointEvery,
    Device,
    Force,
    Restart,
    Settings,
    last_row,
    stopped,
    up_to_date,
)
from linkwalk.device import choose_device
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.learn.loop import RunOptions
    from linkwalk.learn.readers.target import TargetConfig

_TOLD = ("config", "encoder_name", "trained_on")
"""What ``--json`` tells of a target encoder's manifest."""


def train_reader(
    wiki: Annotated[Path, Argument(metavar="WIKI", help="Workspace with a graph and embeddings.")],
    policy: PolicyName,
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
    """Teach a policy to read: train the target encoder that reads sentences for it, while it stays as it is.

    The target encoder, a small change of the encoder that made the embeddings, is trained so that one sentence of a
    goal leads the policy where the goal itself would. It goes into WIKI/policies/NAME, with a copy of the policy if
    that is elsewhere, and `eval --task sentence` and `walk --sentence` read with it. Minutes on a GPU, a day or more on
    a few CPU cores (to try it there: --set batch=32 --set updates=50). Resumable, as `linkwalk train` is.

    Example: linkwalk train-reader WIKI compass --name mine
    """
    chosen = str(choose_device(device))
    from linkwalk.artifact import clear, locked
    from linkwalk.graph.store import Graph
    from linkwalk.learn.readers.target import TargetConfig, config_to_json
    from linkwalk.policy.checkpoint import is_compass, read_policy
    from linkwalk.policy.target import read_target
    from linkwalk.recipes import with_settings
    from linkwalk.wiki.workspace import Workspace

    graph = Graph.open(wiki)
    place = find_place(wiki, policy, name)
    walks = "own" if is_compass(read_policy(place.source)) else "shortcut"
    config = with_settings(TargetConfig(walks=walks), settings or [])
    table = Workspace(wiki, graph, embeddings).table(policy)
    with locked(place.home):
        job = {
            "config": config_to_json(config),
            "encoder": table.fingerprint,
            "graph": graph.fingerprint,
            "policy": place.weights(),
        }
        manifest = None if force else place.made(job)
        if manifest is None:
            kept: RunOptions = {
                "folder": place.partial,
                "job": job,
                "resume": stopped(place.partial, job, config.updates, restart=restart, quiet=quiet),
                "checkpoint_every": checkpoint_every,
                "progress": Progress(quiet=quiet),
            }
            adapter = _train(place, graph, table, config, chosen, kept)
            manifest = {
                "config": job["config"],
                "encoder_name": table.manifest["encoder"],
                "trained_on": {
                    "snapshot": graph.snapshot,
                    "graph": graph.fingerprint,
                    "policy": job["policy"],
                },
            }
            place.put(adapter, config.adapter, table.fingerprint, manifest)
        else:
            clear(place.partial)  # a training may have been killed just after it had put its policy here
            if not json:
                made_of = "graph, embeddings, policy and settings"
                print(up_to_date(f"the target encoder of {place.name}", made_of))
    last = last_row(place.final / METRICS)
    if json:
        told = {key: manifest[key] for key in _TOLD if key in manifest}
        print_json({"policy": str(place.final), "copied_from": place.copied_from, **told, "last": last})
        return
    found = read_target(place.final)
    _show(place, config, 0 if found is None else sum(value.size for value in found[1].values()), last)
    shown = f" --embeddings {embeddings}" if embeddings else ""
    print_next(f"linkwalk eval {wiki} --task sentence --agent {place.name}{shown}")


def _train(
    place: PolicyPlace,
    graph: "Graph",
    table: "Embeddings",
    config: "TargetConfig",
    device: str,
    kept: "RunOptions",
) -> "dict[str, Tensor]":
    """Train the target encoder."""
    from linkwalk.learn.readers.target import train_target
    from linkwalk.navigate.ways import Ways
    from linkwalk.policy.checkpoint import read_policy
    from linkwalk.wiki.agents import with_its_map

    encoder = table.transformer("cpu")  # in float32, and first of all: random features cannot read
    head = open_head(place, place.wiki, table, device)
    ways = with_its_map(Ways(), place.source, read_policy(place.source))
    return train_target(graph, table.vectors, encoder, config, head=head, ways=ways, device=device, **kept)


def _show(place: PolicyPlace, config: "TargetConfig", parameters: int, last: dict[str, Any]) -> None:
    """Tell people what came of it."""
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
