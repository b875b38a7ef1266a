"""``linkwalk train``: a policy is cloned from random walks, from where it was stopped (sec. 3)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Argument, Option

from linkwalk.cli.agents import EmbeddingsName
from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table
from linkwalk.cli.training import (
    TRAINED_WORDS,
    CheckpointEvery,
    Device,
    Force,
    Restart,
    Settings,
    new_folder,
    refuse_another,
    stopped,
    trained_on,
    up_to_date,
)
from linkwalk.device import choose_device
from linkwalk.errors import InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from torch import nn

    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.learn.clone import CloneConfig

_TOLD = ("recipe", "config", "encoder", "encoder_name", "embeddings", "trained_on", "updates", "kept_update")
"""What ``--json`` tells of a policy's manifest."""


class _Trained(NamedTuple):
    """A policy in its place, trained now or before."""

    head: "nn.Module"
    manifest: dict[str, Any]
    last: dict[str, Any]
    """The row that the training reported at last."""
    kept: dict[str, Any]
    """The row of the weights that were kept."""
    resumed_at: int | None = None
    fresh: bool = True


def train(
    wiki: Annotated[Path, Argument(metavar="WIKI", help="Workspace with a graph and embeddings.")],
    recipe: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="trained-words (the word table of words and a compass, for this wiki), ours (a compass for the "
            "embeddings there are, on its own walks), residual (starts as the cosine, shortcut walks), paper (app. "
            "B.2; one policy per T, e.g. --set steps=5), paper-multistep, paper-reverse, paper-shortest, paper-mlp "
            "(app. B.1) or paper-transformer (app. B.3); by reward rl (app. B.2), and from a policy on "
            "rl-fine-tune (app. B.4) or rl-compass (ours). [default: trained-words; ours where embeddings or a head "
            "are named]",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, Option(metavar="NAME", help="Name of the policy. [default: the recipe's]")
    ] = None,
    head: Annotated[
        str | None,
        Option(
            metavar="HEAD",
            help="Another head than the recipe's: feedforward, transformer, mlp, residual, compass, or your own as "
            "package.module:Name.",
        ),
    ] = None,
    begins: Annotated[
        str | None,
        Option(
            "--from",
            metavar="POLICY",
            help="Policy to go on from by reward: a name or a folder (rl recipes).",
        ),
    ] = None,
    settings: Settings = None,
    embeddings: EmbeddingsName = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 1000,
    restart: Restart = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    target: Annotated[str | None, Option(hidden=True)] = None,
    queries: Annotated[str | None, Option(hidden=True)] = None,
    reranker: Annotated[list[str] | None, Option(hidden=True)] = None,
) -> None:
    """Train an encoder and a walker for this very wiki, without a single label; or a policy by another recipe.

    With no options a table of the wiki's words and a compass learn together from the walker's own walks, in minutes on
    a CPU. They are WIKI/embeddings/trained-words and WIKI/policies/trained-words, and are used from then on by all that
    walks or finds here. Goals in a tenth of the articles are withheld, and what was gained there is printed at the end;
    where nothing is gained, nothing is changed. Other recipes clone a policy for the embeddings there are.

    A policy walks any wiki that is embedded with the same encoder. Resumable: if it is stopped, the same command goes
    on from the last save (Ctrl-C saves first) and ends as if it had not been stopped.

    Losses go to WIKI/policies/NAME/metrics.jsonl and to TensorBoard (tensorboard --logdir WIKI/policies).

    Example: linkwalk train WIKI

    Example: linkwalk train WIKI --recipe ours --set updates=500

    Example: linkwalk train WIKI --recipe paper --set steps=5 --name paper-5

    Example: linkwalk train WIKI --recipe residual --head mine:Head --name mine

    Example: linkwalk train WIKI --recipe rl-fine-tune --from paper-5 --set steps=5
    """
    _moved(wiki, target, queries, reranker)
    # Before anything that needs torch: without it, this says what to install.
    chosen = str(choose_device(device))
    from linkwalk.artifact import locked
    from linkwalk.cli.train_rl import train_by_reward
    from linkwalk.cli.train_words import train_words
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.learn.ranks import joined
    from linkwalk.policy.own import use_head
    from linkwalk.recipes import RECIPES, REWARDED, with_settings

    usual = TRAINED_WORDS if embeddings is None and head is None else "ours"
    recipe = recipe or (usual if begins is None else "rl-fine-tune")
    if recipe not in (known := (TRAINED_WORDS, *RECIPES, *REWARDED)):
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(known)}")
    if begins is not None and recipe not in REWARDED:
        raise InputError(f"{recipe} begins with nothing: --from is for {', '.join(REWARDED)}")
    name = name or recipe
    final = new_folder(wiki, name)
    if recipe in REWARDED:
        own = [f"head.head={use_head(head)}"] if head else []
        train_by_reward(
            final,
            recipe,
            begins,
            [*own, *(settings or [])],
            embeddings,
            device=chosen,
            checkpoint_every=checkpoint_every,
            restart=restart,
            force=force,
            json=json,
            quiet=quiet,
        )
        return
    if recipe == TRAINED_WORDS:
        if head is not None:
            raise InputError(
                f"{recipe} trains a compass: for another head choose another recipe, such as residual"
            )
        train_words(
            final,
            settings or [],
            embeddings,
            checkpoint_every=checkpoint_every,
            restart=restart,
            force=force,
            json=json,
            quiet=quiet,
        )
        return
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, embeddings, graph)
    own = [f"head.head={use_head(head)}"] if head else []
    config = with_settings(RECIPES[recipe](table.width), [*own, *(settings or [])])
    training = _Training(final, recipe, config, graph, table)
    with joined(chosen) as (team, own_device):
        if not team.first:
            training.follow(own_device, restart=restart, force=force)
            return
        with locked(final):
            trained = None if force else training.made()
            if trained is None:
                trained = training.run(
                    own_device, checkpoint_every=checkpoint_every, restart=restart, quiet=quiet
                )
    if json:
        told = {key: trained.manifest[key] for key in _TOLD if key in trained.manifest}
        rows = {"resumed_at": trained.resumed_at, "last": trained.last, "kept": trained.kept}
        print_json({"policy": str(final), **told, **rows})
        return
    if not trained.fresh:
        print(up_to_date(name, "graph, embeddings and settings"))
    _show(final, trained, config)
    named = f" --head {config.head.head}" if ":" in config.head.head else ""
    print_next(f"linkwalk eval {wiki} --agent {name} --agent greedy-unvisited{named}")


def _moved(wiki: Path, target: str | None, queries: str | None, reranker: list[str] | None) -> None:
    """Say where the jobs are that were options of this verb."""
    if reranker:
        raise InputError(
            f"rerankers have a verb of their own: run `linkwalk train-reranker {wiki} {' '.join(reranker)}`"
        )
    if queries is not None:
        raise InputError(
            f"readers have verbs of their own: run `linkwalk tune-reader {wiki} {target or 'POLICY'} {queries}`"
        )
    if target is not None:
        raise InputError(f"readers have verbs of their own: run `linkwalk train-reader {wiki} {target}`")


class _Training:
    """What is to be trained, and where it goes."""

    def __init__(
        self, final: Path, recipe: str, config: "CloneConfig", graph: "Graph", table: "Embeddings"
    ) -> None:
        from linkwalk.learn.clone import config_to_json

        self.final, self.recipe, self.config, self.graph, self.table = final, recipe, config, graph, table
        self.partial = final.with_name(final.name + ".partial")
        self.job = {
            "config": config_to_json(config),
            "graph": graph.fingerprint,
            "encoder": table.fingerprint,
        }

    def made(self) -> _Trained | None:
        """The policy that is there, if the same training made it; another one is an error."""
        from linkwalk.artifact import clear
        from linkwalk.learn.metrics import read_rows
        from linkwalk.learn.state import read_state
        from linkwalk.policy.checkpoint import load_policy, read_policy

        if not self.final.exists():
            return None
        manifest = read_policy(self.final)
        was = {
            "config": manifest.get("config"),
            "graph": trained_on(manifest).get("graph"),
            "encoder": manifest["encoder"],
        }
        refuse_another(self.final, was, self.job)
        head, manifest = load_policy(self.final, self.table.fingerprint)
        # What a training left that was killed just after it had put its policy here; not what another one left.
        saved = read_state(self.partial)
        if saved is None or saved.job == self.job:
            clear(self.partial)
        rows = read_rows(self.final)
        kept = [row for row in rows if row["update"] == manifest.get("kept_update")]
        return _Trained(head, manifest, (rows or [{}])[-1], (kept or [{}])[-1], fresh=False)

    def follow(self, device: str, *, restart: bool, force: bool) -> None:
        """Do one's part in what the first of several processes trains and writes."""
        from linkwalk.graph.held_out import held_out_nodes
        from linkwalk.learn.clone import clone
        from linkwalk.learn.ranks import ranks

        if not force and self.final.exists():
            return
        config, graph = self.config, self.graph
        resume = stopped(self.partial, self.job, config.updates, restart=restart, quiet=True)
        ranks().wait()
        clone(
            graph.forward,
            graph.reverse,
            graph.out_kinds,
            self.table.vectors,
            config,
            held_out=held_out_nodes(graph, config.validation) if config.validation else None,
            device=device,
            resume=resume,
        )

    def run(self, device: str, *, checkpoint_every: int, restart: bool, quiet: bool) -> _Trained:
        """Train the policy, from where it was stopped, and put it in its place."""
        from linkwalk.graph.held_out import held_out_nodes
        from linkwalk.learn.clone import clone
        from linkwalk.learn.metrics import read_rows
        from linkwalk.learn.ranks import ranks
        from linkwalk.learn.state import FILE
        from linkwalk.policy.checkpoint import put_policy

        config, graph, table = self.config, self.graph, self.table
        resume = stopped(self.partial, self.job, config.updates, restart=restart, quiet=quiet)
        ranks().wait()  # before the first of several processes changes anything there
        head = clone(
            graph.forward,
            graph.reverse,
            graph.out_kinds,
            table.vectors,
            config,
            held_out=held_out_nodes(graph, config.validation) if config.validation else None,
            device=device,
            folder=self.partial,
            job=self.job,
            resume=resume,
            checkpoint_every=checkpoint_every,
            progress=Progress(quiet=quiet),
        )
        # A training that was over already has no row but those on the disk, and these may have been damaged.
        rows = read_rows(self.partial) or [{"update": config.updates}]
        kept = _kept(rows)
        manifest = {
            "recipe": self.recipe,
            "config": self.job["config"],
            "encoder": table.fingerprint,
            "encoder_name": table.manifest["encoder"],
            "embeddings": table.name,
            "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
            "updates": rows[-1]["update"],
            "kept_update": kept["update"],
        }
        sealed = put_policy(self.partial, self.final, head, config.head, manifest, leave=(FILE,))
        return _Trained(head, sealed, rows[-1], kept, resume.update if resume else None)


def _kept(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of the weights that are kept: the best on held-out articles, or the last."""
    best = rows[-1].get("best", rows[-1]["update"])
    return next((row for row in rows if row["update"] == best), rows[-1])


def _show(final: Path, trained: _Trained, config: "CloneConfig") -> None:
    """Tell people what came of it."""
    parameters, last, kept = sum(p.numel() for p in trained.head.parameters()), trained.last, trained.kept
    rows = [("policy", str(final)), ("head", f"{config.head.head}, {parameters:,} parameters")]
    if {"seconds", "loss", "accuracy"} <= last.keys():
        early = f", stopped early (of {config.updates:,})" if last["update"] < config.updates else ""
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s{early}"),
            ("at last", f"loss {last['loss']:.3f}, same step as the walk {100 * last['accuracy']:.1f} %"),
        ]
    if {"validation_loss", "validation_accuracy", "success"} <= kept.keys():
        rows.append(
            (
                "kept",
                f"update {kept['update']:,}: on held-out articles loss {kept['validation_loss']:.3f}, same step "
                f"{100 * kept['validation_accuracy']:.1f} %, goals reached {100 * kept['success']:.1f} %",
            )
        )
    print_table(rows)
