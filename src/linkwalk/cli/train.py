"""``linkwalk train``: a policy for one wiki, by whichever recipe, and what came of it (sec. 3, 5.2)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from linkwalk.cli.options import (
    CheckpointEvery,
    Device,
    EmbeddedWiki,
    EmbeddingsName,
    Force,
    Json,
    Quiet,
    Restart,
    Settings,
    option,
    training_run,
)
from linkwalk.cli.output import (
    at_last,
    print_figures,
    print_json,
    print_next,
    print_table,
    print_trained,
    print_up_to_date,
    selected,
)
from linkwalk.errors import InputError

if TYPE_CHECKING:
    from linkwalk.trainings.run import TrainingOutcome

_ORIGIN = ("embeddings", "trained_on", "updates")
"""What ``--json`` tells of every policy's manifest."""
_GAINS = (
    ("", "{0[agent]}"),
    ("T", "{0[steps]}"),
    ("success %", "{0[success]:.1%}"),
    ("failure ratio", "{0[failure_ratio]:.2f}"),
    ("SPL %", "{0[spl]:.1%}"),
)
_MADE_OF = "graph, embeddings and settings"


def train(
    wiki: EmbeddedWiki,
    recipe: Annotated[
        str | None,
        option(
            "NAME",
            "trained-words (the word table of words and a compass, for this wiki), ours (a compass for the "
            "embeddings there are, on its own walks), residual (starts as the cosine, shortcut walks), paper (app. "
            "B.2; one policy per T, e.g. --set steps=5), paper-multistep, paper-reverse, paper-shortest, paper-mlp "
            "(app. B.1) or paper-transformer (app. B.3); by reward rl (app. B.2), and from a policy on "
            "rl-fine-tune (app. B.4) or rl-compass (ours). [default: trained-words; ours where embeddings or a head "
            "are named]",
            show_default=False,
        ),
    ] = None,
    name: Annotated[str | None, option("NAME", "Name of the policy. [default: the recipe's]")] = None,
    head: Annotated[
        str | None,
        option(
            "HEAD",
            "Another head than the recipe's: feedforward, transformer, mlp, residual, compass, or your own as "
            "package.module:Name.",
        ),
    ] = None,
    begins: Annotated[
        str | None,
        option("POLICY", "Policy to go on from by reward: a name or a folder (rl recipes).", "--from"),
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
    run = training_run(settings, device, checkpoint_every, restart, force, quiet)
    from linkwalk.policy.own import use_head
    from linkwalk.recipes import RECIPES, REWARDED
    from linkwalk.trainings.policies import clone_policy, reward_policy
    from linkwalk.trainings.run import new_folder
    from linkwalk.trainings.words import TRAINED_WORDS, train_words

    usual = TRAINED_WORDS if embeddings is None and head is None else "ours"
    recipe = recipe or (usual if begins is None else "rl-fine-tune")
    if recipe not in (known := (TRAINED_WORDS, *RECIPES, *REWARDED)):
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(known)}")
    if begins is not None and recipe not in REWARDED:
        raise InputError(f"{recipe} begins with nothing: --from is for {', '.join(REWARDED)}")
    final = new_folder(wiki, name or recipe)
    if recipe == TRAINED_WORDS:
        if head is not None:
            raise InputError(
                f"{recipe} trains a compass: for another head choose another recipe, such as residual"
            )
        _tell_words(train_words(final, embeddings, run), json=json)
        return
    if head:
        run = run._replace(settings=[f"head.head={use_head(head)}", *run.settings])
    if recipe in REWARDED:
        _tell_rewarded(reward_policy(final, recipe, begins, embeddings, run), json=json)
    elif cloned := clone_policy(final, recipe, embeddings, run):
        _tell_cloned(cloned, json=json)


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


def _tell_cloned(trained: "TrainingOutcome", *, json: bool) -> None:
    folder, manifest, last, more = trained.folder, trained.manifest, trained.last, trained.more
    head, updates, kept = manifest["head"]["head"], manifest["config"]["updates"], more["kept"]
    early = f", stopped early (of {updates:,})" * (last.get("update", updates) < updates)
    rows = [
        ("policy", str(folder)),
        ("head", f"{head}, {more['parameters']:,} parameters"),
        *at_last(last, "loss {loss:.3f}, same step as the walk {accuracy:.1%}", early=early),
    ]
    if {"validation_loss", "validation_accuracy", "success"} <= kept.keys():
        rows.append(
            (
                "kept",
                f"update {kept['update']:,}: on held-out articles loss {kept['validation_loss']:.3f}, same step "
                f"{100 * kept['validation_accuracy']:.1f} %, goals reached {100 * kept['success']:.1f} %",
            )
        )
    told = selected(manifest, "recipe", "config", "encoder", "encoder_name", *_ORIGIN, "kept_update")
    facts = {"policy": str(folder), **told, "resumed_at": more["resumed_at"], "last": last, "kept": kept}
    command = _comparing(folder) + f" --head {head}" * (":" in head)
    print_trained(trained, facts, rows, command, json=json, made_of=_MADE_OF)


def _tell_rewarded(trained: "TrainingOutcome", *, json: bool) -> None:
    folder, manifest, last = trained.folder, trained.manifest, trained.last
    told = selected(manifest, "recipe", "config", "encoder", *_ORIGIN[:2], "began_as", "updates")
    rows = [("policy", str(folder)), ("head", str(manifest["head"]["head"]))]
    rows += at_last(last, "goals reached {reward:.1%}, entropy {entropy:.2f} nats")
    facts = {"policy": str(folder), **told, "last": last}
    print_trained(trained, facts, rows, _comparing(folder), json=json, made_of=_MADE_OF)


def _comparing(policy: Path) -> str:
    """The command that says how good a policy is."""
    return f"linkwalk eval {policy.parent.parent} --agent {policy.name} --agent greedy-unvisited"


def _tell_words(trained: "TrainingOutcome", *, json: bool) -> None:
    folder, manifest, gains = trained.folder, trained.manifest, trained.more["gains"]
    if json:
        told = selected(manifest, "recipe", "config", "encoder", *_ORIGIN, "kept_update")
        print_json({"policy": str(folder) if manifest else None, **told, **trained.more})
        return
    print_up_to_date(trained, _MADE_OF)
    if gains:
        print(
            "goals in articles that were not trained towards; failures beside those of greedy-unvisited before:"
        )
        print_figures(_GAINS, gains)
    else:
        print("no walk ends in the articles that are withheld, so nothing can be said of what was gained")
    if not manifest:
        print("the walker before is as good: nothing was changed")
        return
    wiki = folder.parent.parent
    print_table(
        [
            ("policy", str(folder)),
            ("embeddings", str(wiki / "embeddings" / folder.name)),
            ("trained", f"{manifest['updates']:,} updates, kept {manifest['kept_update']:,}"),
        ]
    )
    print_next(f"linkwalk eval {wiki} --goals withheld")
