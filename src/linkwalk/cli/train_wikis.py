"""``linkwalk train-wikis``: an encoder and a compass that goes by it, trained together on several wikis (sec. 5.3)."""

from pathlib import Path
from typing import Annotated

from linkwalk.cli.options import (
    CheckpointEvery,
    Device,
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
    run = training_run(device, checkpoint_every, restart, force, quiet)
    from linkwalk.trainings.encoders import train_wikis as train

    trained = train(wikis, name, encoder, settings or [], run)
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
