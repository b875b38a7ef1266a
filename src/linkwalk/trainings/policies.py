"""Policies for the embeddings that a wiki has: cloned from walks (sec. 3), or trained by reward (sec. 5.2, app. B)."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from linkwalk.artifact import locked
from linkwalk.embed import Embeddings
from linkwalk.envs.world import World
from linkwalk.errors import InputError
from linkwalk.graph.held_out import held_out_nodes
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import clone, config_to_json
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.ranks import joined
from linkwalk.learn.rewards.impala import reinforce
from linkwalk.learn.state import FILE
from linkwalk.policy.checkpoint import load_policy, put_policy
from linkwalk.policy.heads import HeadConfig
from linkwalk.recipes import RECIPES, REWARDED
from linkwalk.trainings.run import TrainingOutcome, TrainingRun, made_before, partial_of
from linkwalk.wiki.agents import policy_folder


def clone_policy(
    final: Path, recipe: str, embeddings: str | None, run: TrainingRun
) -> TrainingOutcome | None:
    """Clone a policy from random walks; None in all but the first of several processes that train together."""
    wiki, partial = final.parent.parent, partial_of(final)
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, embeddings, graph)
    config = run.configured(RECIPES[recipe](table.width))
    job = {
        "config": config_to_json(config),
        "graph": graph.fingerprint,
        "encoder": table.fingerprint,
    }
    resumed_at = None
    with joined(run.device) as (team, device), locked(final) if team.first else nullcontext():
        found = None if run.force else made_before(final, job)
        if found is not None:
            head, manifest = load_policy(final, table.fingerprint)
        else:
            kept = run._replace(quiet=run.quiet or not team.first).kept(partial, job, config.updates)
            head = clone(
                graph.forward,
                graph.reverse,
                graph.out_kinds,
                table.vectors,
                config,
                held_out=held_out_nodes(graph, config.validation) if config.validation else None,
                device=device,
                **kept,
            )
            if not team.first:
                return None
            # A training that was over already has no row but those on the disk, and these may have been damaged.
            last = (read_rows(partial) or [{"update": config.updates}])[-1]
            manifest = {
                **_about(recipe, job, graph, table),
                "updates": last["update"],
                "kept_update": last.get("best", last["update"]),
            }
            manifest = put_policy(partial, final, head, config.head, manifest, leave=(FILE,))
            resumed_at = kept["resume"].update if kept["resume"] else None
    if not team.first:
        return None
    rows = read_rows(final) or [{}]
    more = {
        "parameters": sum(weights.numel() for weights in head.parameters()),
        "resumed_at": resumed_at,
        "kept": next((row for row in rows if row.get("update") == manifest.get("kept_update")), {}),
    }
    return TrainingOutcome(final, manifest, found is None, rows[-1], more)


def reward_policy(
    final: Path,
    recipe: str,
    begins: str | None,
    embeddings: str | None,
    run: TrainingRun,
) -> TrainingOutcome:
    """Train a policy by reward, from one that is there where ``begins`` names it."""
    wiki, partial = final.parent.parent, partial_of(final)
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, embeddings, graph)
    config = REWARDED[recipe](table.width)
    start, began = _begin(final, recipe, begins, table)
    if start is not None:
        config = replace(config, head=HeadConfig(**began["head"]))
    config = run.configured(config)
    job = {
        "config": config_to_json(config),
        "graph": graph.fingerprint,
        "encoder": table.fingerprint,
        "began_as": began.get("checksum"),
    }
    with locked(final):
        found = None if run.force else made_before(final, job)
        if found is not None:
            _, manifest = load_policy(final, table.fingerprint)
        else:
            kept = run.kept(partial, job, config.updates)
            world = World.open(wiki, sees=False)
            head = reinforce(world, table.vectors, config, start=start, device=run.device, **kept)
            manifest = _about(recipe, job, graph, table) | {"updates": config.updates}
            manifest |= {key: began[key] for key in ("map",) if key in began}
            manifest["began_as"] = job["began_as"]
            manifest = put_policy(partial, final, head, config.head, manifest, leave=(FILE,))
    return TrainingOutcome(final, manifest, found is None, (read_rows(final) or [{}])[-1])


def _begin(
    final: Path, recipe: str, name: str | None, table: Embeddings
) -> tuple[nn.Module | None, dict[str, Any]]:
    """The policy to go on from, and its manifest; none where it begins with nothing."""
    if name is None:
        if recipe != "rl":
            raise InputError(f"{recipe} goes on from a policy: name one with --from POLICY")
        return None, {}
    folder = policy_folder(final.parent.parent, name)
    if folder is None:
        raise InputError(f"no policy named {name!r} to go on from: train one first, or name a folder")
    if folder == final:
        raise InputError(f"{name} would take its own place: name the new policy with --name")
    return load_policy(folder, table.fingerprint)


def _about(recipe: str, job: dict[str, Any], graph: Graph, table: Embeddings) -> dict[str, Any]:
    """What a policy's manifest says of where it comes from."""
    return {
        "recipe": recipe,
        "config": job["config"],
        "encoder": table.fingerprint,
        "encoder_name": table.manifest["encoder"],
        "embeddings": table.name,
        "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
    }
