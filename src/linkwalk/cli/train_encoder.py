"""``linkwalk train-encoder`` and ``train-wikis``: trainings of phi, alone or with a compass (app. B.1, sec. 5.3)."""

from pathlib import Path
from typing import Annotated

from linkwalk.cli.options import (
    CheckpointEvery,
    Device,
    EmbeddingsName,
    Force,
    Json,
    Quiet,
    Restart,
    Settings,
    argument,
    option,
    training_run,
)
from linkwalk.cli.output import at_last, print_trained


def train_encoder(
    wiki: Annotated[Path, argument("WIKI", "Workspace with a graph.")],
    recipe: Annotated[
        str,
        option(
            "NAME",
            "spans (ours, minutes on a GPU), paper-spans (app. B.1) or paper-spans-feedforward (sec. 4.2).",
        ),
    ] = "spans",
    encoder: Annotated[
        str,
        option("E", "What to begin with: minilm, or a Hugging Face model."),
    ] = "minilm",
    name: Annotated[str | None, option("NAME", "Name of the encoder. [default: the recipe's]")] = None,
    settings: Settings = None,
    embeddings: EmbeddingsName = None,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 1000,
    restart: Restart = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train an encoder on a wiki's walks: it learns to read so that links tell by their words where they lead.

    One pass over a block scores all its links, each by the mean of its anchor's tokens. What comes of it goes to
    WIKI/encoders/NAME, and any wiki can be embedded with it. Resumable, as `linkwalk train` is; with several GPUs,
    `torchrun --nproc-per-node N -m linkwalk train-encoder ...`. For a CPU: --set batch=16 --set updates=20.

    Example: linkwalk train-encoder WIKI --set updates=2000 --name mine
    """
    run = training_run(settings, device, checkpoint_every, restart, force, quiet)
    from linkwalk.trainings import encoders

    trained = encoders.train_encoder(wiki, recipe, encoder, name or recipe, embeddings, run)
    if trained is None:
        return
    folder, last = trained.folder, trained.last
    rows = [("encoder", str(folder)), ("begun with", encoder)]
    rows += at_last(last, "loss {loss:.3f}, same step as the walk {accuracy:.1%}")
    facts = {"encoder": str(folder), "job": trained.manifest["job"], "last": last}
    tanh = " --tanh" if trained.manifest["job"]["config"]["tanh"] else ""
    command = f"linkwalk embed {wiki} --encoder {folder}{tanh} --name {folder.name}"
    print_trained(trained, facts, rows, command, json=json, made_of="")


def train_wikis(
    wikis: Annotated[list[Path], argument("WIKI...", "Workspaces; what is trained goes to the first.")],
    name: Annotated[str, option("NAME", "Name of the policy.")] = "walks",
    encoder: Annotated[
        str,
        option("E", "What to begin with: minilm, or a BERT in a folder."),
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
    run = training_run(settings, device, checkpoint_every, restart, force, quiet)
    from linkwalk.trainings import encoders

    trained = encoders.train_wikis(wikis, name, encoder, run)
    if trained is None:
        return
    folder, last = trained.folder, trained.last
    rows = [("policy", str(folder)), ("wikis", f"{len(wikis)}, {trained.more['blocks']:,} blocks")]
    rows += at_last(last, "loss {loss:.3f}, the right link {accuracy:.1%}")
    facts = {
        "policy": str(folder),
        "trained_on": trained.manifest["trained_on"],
        "last": last,
        "fresh": trained.fresh,
    }
    command = f"linkwalk embed {wikis[0]} --encoder {folder}"
    print_trained(trained, facts, rows, command, json=json, made_of="graphs and settings")
