"""``linkwalk train-map``: what an unseen link is worth, learned on several wikis at once."""

import math
from pathlib import Path
from typing import Annotated

from linkwalk.cli.options import Force, Json, Quiet, Settings, argument, option
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.device import choose_device
from linkwalk.progress import Progress


def train_map(
    wikis: Annotated[
        list[Path],
        argument("WIKI...", "Workspaces with a graph and embeddings; one that is named twice counts twice."),
    ],
    out: Annotated[Path, option("FILE", "Where the map goes, a .json file.", "-o", "--out")],
    embeddings: Annotated[
        list[str] | None,
        option("NAME", "Embeddings to train on; may be repeated. [default: all there are]"),
    ] = None,
    policy: Annotated[
        Path | None,
        option(
            "DIR",
            "Folder of a compass, which then says where to look, on embeddings that fit it. The map is for it: as "
            "map.json in its folder, it walks by it.",
        ),
    ] = None,
    settings: Settings = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the map that agents keep of the links they have seen: which to go for, and how many clicks it will take.

    A map looks at cosines and counts alone, so one trained on some wikis walks any other, with any embeddings. The one
    that ships is the agent learned-map. Minutes on a CPU; the same wikis, settings and seed give the same map.

    Example: linkwalk train-map WIKI OTHER -o map.json --set seed=1
    """
    choose_device("cpu")  # before anything that needs torch: without it, this says what to install
    from linkwalk.trainings.maps import train_map as train

    trained = train(wikis, out, embeddings, policy, settings or [], force, Progress(quiet=quiet))
    if json:
        longest = None if math.isinf(trained.longest) else trained.longest
        print_json({"map": str(out), "longest": longest, **trained.trained})
        return
    truth = trained.trained["forecast"]
    print_table(
        [
            ("map", f"{out}, {len(trained.weights)} weights"),
            ("used", _used(trained.longest)),
            ("trained", f"{trained.trained['rounds'][-1]['steps']:,} steps of walks on {len(wikis)} wikis"),
            (
                "forecast",
                f"loss {truth['loss']:.2f}, {truth['loss_of_shares']:.2f} if it said the same at every step; "
                f"within 8 clicks it is {100 * truth['off']['8']:.1f} % off",
            ),
        ]
    )
    print_next(f"linkwalk eval {wikis[0]} --agent {out},greedy-map")


def _used(longest: float) -> str:
    """For people: where the weights are walked by."""
    if math.isinf(longest):
        return "on all wikis"
    if not longest:
        return "nowhere: the constants are as good on every wiki that it was trained on"
    return f"on wikis whose articles have up to {longest:.1f} blocks on average, the constants on others"
