"""``linkwalk train``: a policy is cloned from random walks on a wiki, or, with ``--target``, learns to read."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwalk.cli.agents import EmbeddingsName
from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table

if TYPE_CHECKING:
    from linkwalk.learn.state import Saved


def train(
    context: typer.Context,
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace with a graph and embeddings.")],
    recipe: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="ours (a compass, on its own walks), residual (starts as the cosine, shortcut walks), paper (app. "
            "B.2; one policy per T, e.g. --set steps=5), paper-multistep, paper-reverse, paper-shortest or paper-mlp "
            "(app. B.1).",
        ),
    ] = "ours",
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="POLICY",
            help="Train no policy but the target encoder of one, which reads sentences for it: its name in the "
            "workspace, its path, or compass (the policy that ships). It must be a compass, and stays as it is.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="POLICY",
            help="Name of the policy; with --target, of the copy that the target encoder goes to. [default: the "
            "recipe's, or that of the policy]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one setting of the recipe, e.g. updates=500, head.hidden=128 or validation=0.1, or of the "
            "target encoder, e.g. updates=500 or adapter.rank=8; may be repeated. A wrong key lists all of them.",
        ),
    ] = None,
    embeddings: EmbeddingsName = None,
    device: Annotated[str, typer.Option(metavar="D", help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    checkpoint_every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Updates between two saves of the training.")
    ] = 1000,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew, even if there is a stopped training to go on with.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a policy of that name, or its target encoder.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Clone a policy from random walks on a wiki, without a single label: at every step, towards the walk's end.

    A policy walks any wiki that is embedded with the same encoder. Resumable: if it is stopped, the same command goes
    on from the last save (Ctrl-C saves first) and ends as if it had not been stopped.

    Losses go to WIKI/policies/NAME/metrics.jsonl and to TensorBoard (tensorboard --logdir WIKI/policies). With
    --set validation=0.1 a tenth of the articles is held out: training stops when it no longer gets better there, and
    the best weights are kept.

    With --target a policy that is there learns to read: its target encoder, a small change of the encoder that made the
    embeddings, is trained so that one sentence of a goal leads the policy where the goal itself would. It goes into
    WIKI/policies/NAME, with a copy of the policy if that is elsewhere, and `eval --task sentence` and `walk --sentence`
    read with it. Minutes on a GPU, a day or more on a few CPU cores (to try it there: --set batch=32 --set updates=50).
    If it is stopped, it begins anew.

    Example: linkwalk train WIKI --set updates=500

    Example: linkwalk train WIKI --recipe paper --set steps=5 --name paper-5

    Example: linkwalk train WIKI --target compass --name mine
    """
    from linkwalk.artifact import finish
    from linkwalk.device import choose_device
    from linkwalk.embed import Embeddings
    from linkwalk.errors import InputError
    from linkwalk.graph.store import Graph
    from linkwalk.progress import Progress

    if target is not None:
        _only_for_policies(context)
    chosen = str(
        choose_device(device)
    )  # before anything that needs torch: without it, this says what to install
    if target is not None:
        from linkwalk.cli.train_target import train_target

        train_target(
            wiki,
            target,
            name=name,
            settings=settings or [],
            embeddings=embeddings,
            device=chosen,
            force=force,
            as_json=json,
            quiet=quiet,
        )
        return

    from linkwalk.learn.clone import clone, config_to_json
    from linkwalk.learn.metrics import read_rows
    from linkwalk.learn.state import forget_state
    from linkwalk.learn.validation import held_out_nodes
    from linkwalk.policy.checkpoint import save_policy
    from linkwalk.recipes import RECIPES, with_settings

    if recipe not in RECIPES:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(RECIPES)}")
    name = name or recipe
    final = new_folder(wiki, name)
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    config = with_settings(RECIPES[recipe](table.width), settings or [])
    if final.exists() and not force:
        raise InputError(
            f"{wiki} has a policy named {name!r}: add --force to replace it, or name another with --name"
        )
    partial = final.with_name(final.name + ".partial")
    job = {"config": config_to_json(config), "graph": graph.fingerprint, "encoder": table.fingerprint}
    resume = None if restart else _resume(partial, job, quiet=quiet)
    head = clone(
        graph.forward,
        graph.reverse,
        graph.out_kinds,
        table.vectors,
        config,
        held_out=held_out_nodes(graph, config.validation) if config.validation else None,
        device=chosen,
        folder=partial,
        job=job,
        resume=resume,
        checkpoint_every=checkpoint_every,
        progress=Progress(quiet=quiet),
    )
    rows = read_rows(partial)
    kept = _kept(rows, config.criterion)
    manifest = {
        "recipe": recipe,
        "config": config_to_json(config),
        "encoder": table.fingerprint,
        "encoder_name": table.manifest["encoder"],
        "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
        "updates": rows[-1]["update"],
        "kept_update": kept["update"],
    }
    save_policy(partial, head, config.head, manifest)
    forget_state(partial)
    finish(partial, final)
    if json:
        resumed = resume.update if resume else None
        print_json({"policy": str(final), **manifest, "resumed_at": resumed, "last": rows[-1], "kept": kept})
        return
    parameters = sum(p.numel() for p in head.parameters())
    _show(final, f"{config.head.head}, {parameters:,} parameters", config.updates, rows[-1], kept)
    print_next(f"linkwalk eval {wiki} --agent {name} --agent greedy-unvisited")


def _only_for_policies(context: typer.Context) -> None:
    """Refuse options that would change nothing for a target encoder."""
    from linkwalk.errors import InputError

    for name in ("recipe", "checkpoint_every", "restart"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"--{name.replace('_', '-')} is for training a policy, --target for a target encoder: "
                "leave one of the two away"
            )


def new_folder(wiki: Path, name: str) -> Path:
    """Where the policy goes, if it can be called that."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name.endswith((".partial", ".old")):
        raise InputError(f"{name!r} cannot name a policy: use letters, digits, dots, dashes, underscores")
    if name in BASELINES:
        raise InputError(f"{name} is an agent that needs no training: choose another --name")
    return wiki / "policies" / name


def _resume(partial: Path, job: dict[str, Any], *, quiet: bool) -> "Saved | None":
    """The training to go on with, if there is one of the same job; says in a line what happens."""
    from linkwalk.learn.state import differences, read_state

    saved = read_state(partial)
    if saved is None:
        return None
    changed = differences(saved.job, job)
    done, of = f"{saved.update:,}", f"{job['config']['updates']:,}"
    if not quiet and changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        print(
            f"begins anew: the training in {partial} is another ({', '.join(changed[:3])}{more})",
            file=sys.stderr,
        )
    elif not quiet:
        print(f"goes on after update {done} of {of}, from {partial} (--restart begins anew)", file=sys.stderr)
    return None if changed else saved


def _kept(rows: list[dict[str, Any]], criterion: str) -> dict[str, Any]:
    """The row of the weights that are kept: the best on held-out articles, or the last."""
    looks = [row for row in rows if "validation_loss" in row]
    if not looks:
        return rows[-1]
    if criterion == "success":
        return max(looks, key=lambda row: float(row["success"]))
    return min(looks, key=lambda row: float(row["validation_loss"]))


def _show(final: Path, head: str, updates: int, last: dict[str, Any], kept: dict[str, Any]) -> None:
    early = f", stopped early (of {updates:,})" if last["update"] < updates else ""
    rows = [
        ("policy", str(final)),
        ("head", head),
        ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s{early}"),
        ("at last", f"loss {last['loss']:.3f}, same step as the walk {100 * last['accuracy']:.1f} %"),
    ]
    if "validation_loss" in kept:
        rows.append(
            (
                "kept",
                f"update {kept['update']:,}: on held-out articles loss {kept['validation_loss']:.3f}, same step "
                f"{100 * kept['validation_accuracy']:.1f} %, goals reached {100 * kept['success']:.1f} %",
            )
        )
    print_table(rows)
