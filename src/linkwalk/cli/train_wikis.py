"""``linkwalk train-wikis``: an encoder and a compass that goes by it, trained together on several wikis (sec. 5.3)."""

import shutil
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table
from linkwalk.cli.training import (
    CheckpointEvery,
    Device,
    Force,
    Restart,
    Settings,
    in_one_step,
    last_row,
    new_folder,
    refuse_another,
    stopped,
    trained_on,
    up_to_date,
)
from linkwalk.device import choose_device
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
    from linkwalk.learn.encoders.joint import JointConfig


def train_wikis(
    wikis: Annotated[
        list[Path], Argument(metavar="WIKI...", help="Workspaces; what is trained goes to the first.")
    ],
    name: Annotated[str, Option(metavar="NAME", help="Name of the policy.")] = "walks",
    encoder: Annotated[
        str,
        Option("--encoder", metavar="E", help="What to begin with: minilm, or a BERT in a folder."),
    ] = "minilm",
    settings: Settings = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 100,
    restart: Restart = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train an encoder and a compass together on the walks of several wikis, without a single label.

    The encoder learns to read pages so that those near a goal, click by click, look like it; what it learns on many
    wikis carries over to others. WIKI/policies/NAME holds both: any wiki can be embedded with that folder, and the
    policy walks there. It wants a GPU: minutes there; on a CPU lessons are smaller, and it takes hours
    (--set updates=20 to try). Resumable, as `linkwalk train` is; with several GPUs, `torchrun --nproc-per-node N -m
    linkwalk train-wikis ...`.

    Example: linkwalk train-wikis WIKI OTHER THIRD --set seed=1 --name mine

    Example: linkwalk embed FOURTH --encoder WIKI/policies/mine
    """
    chosen = str(choose_device(device))
    from linkwalk.artifact import locked
    from linkwalk.embed.model import find_model
    from linkwalk.graph.store import Graph
    from linkwalk.learn.encoders.joint import JointConfig
    from linkwalk.learn.encoders.lessons import LessonConfig
    from linkwalk.learn.ranks import joined
    from linkwalk.recipes import with_settings

    final = new_folder(wikis[0], name)
    graphs = [Graph.open(wiki) for wiki in wikis]
    # On a CPU what follows the gradient fills the memory: smaller lessons there.
    usual = JointConfig(lessons=1, lesson=LessonConfig(goals=8)) if chosen == "cpu" else JointConfig()
    config = with_settings(usual, settings or [])
    job = _job(graphs, find_model(encoder).fingerprint, config)
    with joined(chosen) as (team, own_device), locked(final) if team.first else nullcontext():
        made = None if force else _made(final, job)
        fresh = made is None
        if made is None:
            made = _train(
                final,
                graphs,
                encoder,
                config,
                job,
                own_device,
                checkpoint_every,
                restart=restart,
                quiet=quiet or not team.first,
            )
    if not team.first:
        return
    last = last_row(final / "metrics.jsonl")
    if json:
        print_json({"policy": str(final), "trained_on": made["trained_on"], "last": last, "fresh": fresh})
        return
    if not fresh:
        print(up_to_date(name, "graphs and settings"))
    rows = [
        ("policy", str(final)),
        ("wikis", f"{len(graphs)}, {sum(graph.nodes for graph in graphs):,} blocks"),
    ]
    if {"update", "seconds", "loss", "accuracy"} <= last.keys():
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            ("at last", f"loss {last['loss']:.3f}, the right link {100 * last['accuracy']:.1f} %"),
        ]
    print_table(rows)
    print_next(f"linkwalk embed {wikis[0]} --encoder {final}")


def _job(graphs: "list[Graph]", base: str, config: "JointConfig") -> dict[str, Any]:
    """What a policy follows from."""
    return {"config": asdict(config), "graphs": [graph.fingerprint for graph in graphs], "base": base}


def _made(final: Path, job: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the policy that is there, if the same training made it; another one is an error."""
    from linkwalk.policy.checkpoint import read_policy

    if not final.exists():
        return None
    manifest = read_policy(final)
    was = trained_on(manifest)
    before = {"config": manifest.get("config"), "graphs": was.get("graphs"), "base": was.get("base")}
    refuse_another(final, before, job)
    return manifest


def _train(
    final: Path,
    graphs: "list[Graph]",
    encoder: str,
    config: "JointConfig",
    job: dict[str, Any],
    device: str,
    checkpoint_every: int,
    *,
    restart: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Train, from where it was stopped, and put what comes of it in its place."""
    from linkwalk.learn.encoders.wikis import save_joint, train_on_wikis
    from linkwalk.learn.ranks import ranks

    partial = final.with_name(final.name + ".partial")
    resume = stopped(partial, job, config.updates, restart=restart, quiet=quiet)
    ranks().wait()  # before the first of several processes changes anything there
    joint = train_on_wikis(
        graphs,
        encoder,
        config,
        device=device,
        folder=partial,
        job=job,
        resume=resume,
        checkpoint_every=checkpoint_every,
        progress=Progress(quiet=quiet),
    )
    if not ranks().first:
        return {}
    snapshots = [graph.snapshot for graph in graphs]
    about = {"snapshots": snapshots, "graphs": job["graphs"], "base": job["base"]}
    with in_one_step(partial, final) as whole:
        # Beside the encoder, so that the manifest seals it.
        if (partial / "metrics.jsonl").exists():
            shutil.copyfile(partial / "metrics.jsonl", whole / "metrics.jsonl")
        return save_joint(whole, joint, encoder, {"trained_on": about}, name=str(final.resolve()))
