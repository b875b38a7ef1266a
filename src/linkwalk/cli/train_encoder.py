"""``linkwalk train-encoder``: phi itself is trained, with a policy that scores links by their words (app. B.1)."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from linkwalk.cli.agents import EmbeddingsName
from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table
from linkwalk.cli.training import CheckpointEvery, Device, Force, Restart, Settings, check_name, in_short
from linkwalk.device import choose_device
from linkwalk.errors import InputError
from linkwalk.progress import Progress


def train_encoder(
    wiki: Annotated[Path, Argument(metavar="WIKI", help="Workspace with a graph.")],
    recipe: Annotated[
        str,
        Option(
            metavar="NAME",
            help="spans (ours, minutes on a GPU), paper-spans (app. B.1) or paper-spans-feedforward (sec. 4.2).",
        ),
    ] = "spans",
    encoder: Annotated[
        str,
        Option("--encoder", metavar="E", help="What to begin with: minilm, or a Hugging Face model."),
    ] = "minilm",
    name: Annotated[
        str | None, Option(metavar="NAME", help="Name of the encoder. [default: the recipe's]")
    ] = None,
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
    chosen = str(choose_device(device))
    from linkwalk.embed import Embeddings
    from linkwalk.embed.model import find_model
    from linkwalk.graph.store import Graph
    from linkwalk.learn.encoders import folder as encoders
    from linkwalk.learn.ranks import joined
    from linkwalk.learn.state import differences
    from linkwalk.recipes import ENCODERS, with_settings

    if recipe not in ENCODERS:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(ENCODERS)}")
    name = name or recipe
    check_name(name, "encoder")
    graph, folder = Graph.open(wiki), wiki / "encoders" / name
    config = with_settings(ENCODERS[recipe](width_of(find_model(encoder).path)), settings or [])
    found = encoders.read_encoder(folder)
    job = encoders.job_of(graph, encoder, config)
    if found is not None and not force and (changed := differences(found["job"], job)):
        raise InputError(
            f"{wiki} has an encoder named {name!r} of another training ({in_short(changed)}): add --force to "
            "replace it, or name another with --name"
        )
    table = Embeddings.open(wiki, embeddings, graph) if config.walks == "own" else None
    with joined(chosen) as (team, own_device):
        manifest = encoders.train_encoder(
            graph,
            folder,
            encoder,
            config,
            vectors=None if table is None else table.vectors,
            device=own_device,
            restart=restart,
            checkpoint_every=checkpoint_every,
            progress=Progress(quiet=quiet or not team.first),
        )
    if not team.first:
        return
    last = manifest["last"]
    if json:
        print_json({"encoder": str(folder), "job": manifest["job"], "last": last})
        return
    rows = [("encoder", str(folder)), ("begun with", encoder)]
    if {"update", "seconds", "loss", "accuracy"} <= last.keys():
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"),
            ("at last", f"loss {last['loss']:.3f}, same step as the walk {100 * last['accuracy']:.1f} %"),
        ]
    print_table(rows)
    tanh = " --tanh" if config.tanh else ""
    print_next(f"linkwalk embed {wiki} --encoder {folder}{tanh} --name {name}")


def width_of(model: Path) -> int:
    """D of a model in Hugging Face's form."""
    from linkwalk.artifact import read_json

    return int(
        read_json(model / "config.json", "choose another encoder", {"hidden_size": int})["hidden_size"]
    )
