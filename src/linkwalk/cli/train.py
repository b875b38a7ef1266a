"""``linkwalk train``: a policy is cloned from random walks on a wiki."""

import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

from linkwalk.cli.agents import EmbeddingsName
from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table


def train(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace with a graph and embeddings.")],
    recipe: Annotated[
        str,
        typer.Option(metavar="NAME", help="ours (starts as the cosine, shortcut walks) or paper (app. B.2)."),
    ] = "ours",
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="POLICY", help="Name of the policy. [default: the recipe's]"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one setting of the recipe, e.g. updates=500 or head.hidden=128; may be repeated.",
        ),
    ] = None,
    embeddings: EmbeddingsName = None,
    device: Annotated[str, typer.Option(metavar="D", help="auto, cpu, cuda or mps.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace a policy of that name.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Clone a policy from random walks on a wiki, without a single label: at every step, towards the walk's end.

    A policy walks any wiki that is embedded with the same encoder. Losses go to WIKI/policies/NAME/metrics.jsonl.

    Example: linkwalk train WIKI --set updates=500; linkwalk eval WIKI --agent ours --agent greedy-unvisited
    """
    import json as jsonlib

    from linkwalk.artifact import finish
    from linkwalk.device import choose_device
    from linkwalk.embed import Embeddings
    from linkwalk.errors import InputError
    from linkwalk.graph.store import Graph
    from linkwalk.learn.clone import clone, config_to_json
    from linkwalk.policy.checkpoint import save_policy
    from linkwalk.progress import Progress
    from linkwalk.recipes import RECIPES, with_settings

    if recipe not in RECIPES:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(RECIPES)}")
    name = name or recipe
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(f"{name!r} cannot name a policy: use letters, digits, dots, dashes, underscores")
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    config = with_settings(RECIPES[recipe](table.width), settings or [])
    chosen = str(choose_device(device))
    final = wiki / "policies" / name
    if final.exists() and not force:
        raise InputError(
            f"{wiki} has a policy named {name!r}: add --force to replace it, or name another with --name"
        )
    partial = final.with_name(final.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    metrics = partial / "metrics.jsonl"
    head = clone(
        graph.forward,
        graph.reverse,
        graph.out_kinds,
        table.vectors,
        config,
        device=chosen,
        metrics=metrics,
        progress=Progress(quiet=quiet),
    )
    manifest = {
        "recipe": recipe,
        "config": config_to_json(config),
        "encoder": table.fingerprint,
        "encoder_name": table.manifest["encoder"],
        "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
    }
    save_policy(partial, head, config.head, manifest)
    last = jsonlib.loads(metrics.read_text().splitlines()[-1])
    finish(partial, final)
    if json:
        print_json({"policy": str(final), **manifest, "last": last})
        return
    parameters = sum(p.numel() for p in head.parameters())
    print_table(
        [
            ("policy", str(final)),
            ("head", f"{config.head.head}, {parameters:,} parameters"),
            ("trained", f"{last['update']:,} updates in {last['seconds']:.0f} s"),
            ("at last", f"loss {last['loss']:.3f}, same step as the walk {100 * last['accuracy']:.1f} %"),
        ]
    )
    print_next(f"linkwalk eval {wiki} --agent {name} --agent greedy-unvisited")
