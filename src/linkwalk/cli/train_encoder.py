"""``linkwalk train-encoder``: phi itself is trained, with a policy that scores links by their words (app. B.1)."""

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
    run = training_run(device, checkpoint_every, restart, force, quiet)
    from linkwalk.trainings.encoders import train_encoder as train

    trained = train(wiki, recipe, encoder, name or recipe, settings or [], embeddings, run)
    if trained is None:
        return
    folder, last = trained.folder, trained.last
    rows = [("encoder", str(folder)), ("begun with", encoder)]
    rows += at_last(last, "loss {loss:.3f}, same step as the walk {accuracy:.1%}")
    facts = {"encoder": str(folder), "job": trained.manifest["job"], "last": last}
    tanh = " --tanh" if trained.manifest["job"]["config"]["tanh"] else ""
    command = f"linkwalk embed {wiki} --encoder {folder}{tanh} --name {folder.name}"
    print_trained(trained, facts, rows, command, json=json, made_of="")
