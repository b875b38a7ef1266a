"""``linkwalk train-map``: what an unseen link is worth, learned on several wikis at once."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from linkwalk.cli.options import Force, Json, Quiet, Settings, argument, option
from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.device import choose_device
from linkwalk.errors import InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.learn.maps.walks import MapWalks


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
    from linkwalk.artifact import MANIFEST, replacing, seal
    from linkwalk.learn.maps.training import MapTrainingConfig
    from linkwalk.learn.maps.training import train_map as train
    from linkwalk.navigate.trained_map import MAP
    from linkwalk.policy.checkpoint import read_policy
    from linkwalk.settings import with_settings

    if out.suffix != ".json":
        raise InputError(f"{out}: a map's file ends in .json")
    if out.exists() and not force:
        raise InputError(f"{out} is there already: add --force to replace it")
    config = with_settings(MapTrainingConfig(), settings or [])
    worlds: list[Callable[[], MapWalks]] = []
    shares, told = [], []
    for wiki in wikis:
        found = _tables(wiki, embeddings, policy)
        worlds += [_opening(wiki, name, policy) for name in found]
        shares += [1 / len(found)] * len(found)
        told.append({"wiki": wiki.resolve().name, "embeddings": found})
    trained = train(worlds, shares, config, {"on": told}, Progress(quiet=quiet))
    with replacing(out) as file:
        file.write(trained.to_bytes())
    if out.name == MAP and (out.parent / MANIFEST).exists():  # the policy's own from now on
        seal(out.parent, read_policy(out.parent))
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


def _tables(wiki: Path, asked: list[str] | None, policy: Path | None) -> list[str]:
    """The embeddings of a workspace that are trained on."""
    from linkwalk.embed import Embeddings
    from linkwalk.embed.store import names
    from linkwalk.graph.store import Graph
    from linkwalk.policy.checkpoint import read_policy

    graph = Graph.open(wiki)
    found = asked or names(wiki)
    if not found:
        raise InputError(f"{wiki} has no embeddings: run `linkwalk embed {wiki}` first")
    fingerprints = [Embeddings.open(wiki, name, graph).fingerprint for name in found]
    if policy is None:
        return found
    fits = read_policy(policy)["encoder"]
    if not (found := [name for name, own in zip(found, fingerprints, strict=True) if own == fits]):
        raise InputError(f"no embeddings of {wiki} fit {policy}: embed it with the policy's encoder")
    return found


def _opening(wiki: Path, name: str, policy: Path | None) -> "Callable[[], MapWalks]":
    """Opens a wiki with a table when it is its turn."""

    def opened() -> "MapWalks":
        from linkwalk.embed import Embeddings
        from linkwalk.graph.store import Graph
        from linkwalk.learn.maps.walks import MapWalks
        from linkwalk.navigate import units_of
        from linkwalk.navigate.moves import MoveConfig
        from linkwalk.policy.checkpoint import load_compass, read_policy
        from linkwalk.wiki.agents import with_its_map

        graph = Graph.open(wiki)
        table = Embeddings.open(wiki, name, graph)
        compass = None if policy is None else load_compass(policy, table.fingerprint)
        ways = MoveConfig() if policy is None else with_its_map(MoveConfig(), policy, read_policy(policy))
        units, length = units_of(table.vectors), graph.article_length
        return MapWalks(graph.forward, graph.reverse, units, compass, ways=ways, length=length)

    return opened
