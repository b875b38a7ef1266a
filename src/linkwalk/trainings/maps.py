"""What an unseen link is worth, learned on several wikis at once: a map is one file, wherever one likes."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from linkwalk.artifact import MANIFEST, replacing, seal
from linkwalk.embed import Embeddings
from linkwalk.embed.store import names
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.maps import training
from linkwalk.learn.maps.fit import MapTrainingConfig
from linkwalk.learn.maps.walks import MapWalks
from linkwalk.navigate import units_of
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.trained_map import MAP, TrainedMap
from linkwalk.policy.checkpoint import load_compass, read_policy
from linkwalk.progress import Progress
from linkwalk.settings import with_settings
from linkwalk.wiki.agents import with_its_map


def train_map(
    wikis: Sequence[Path],
    out: Path,
    embeddings: list[str] | None,
    policy: Path | None,
    settings: Sequence[str],
    force: bool,
    progress: Progress,
) -> TrainedMap:
    """Train a map on some wikis with some of their embeddings, or with those that fit the compass ``policy``."""
    if out.suffix != ".json":
        raise InputError(f"{out}: a map's file ends in .json")
    if out.exists() and not force:
        raise InputError(f"{out} is there already: add --force to replace it")
    config = with_settings(MapTrainingConfig(), settings)
    worlds: list[Callable[[], MapWalks]] = []
    shares, told = [], []
    for wiki in wikis:
        found = _tables(wiki, embeddings, policy)
        worlds += [partial(_open_walks, wiki, name, policy) for name in found]  # each when it is its turn
        shares += [1 / len(found)] * len(found)
        told.append({"wiki": wiki.resolve().name, "embeddings": found})
    trained = training.train_map(worlds, shares, config, {"on": told}, progress)
    with replacing(out) as file:
        file.write(trained.to_bytes())
    if out.name == MAP and (out.parent / MANIFEST).exists():  # the policy's own from now on
        seal(out.parent, read_policy(out.parent))
    return trained


def _tables(wiki: Path, asked: list[str] | None, policy: Path | None) -> list[str]:
    """The embeddings of a workspace that are trained on."""
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


def _open_walks(wiki: Path, name: str, policy: Path | None) -> MapWalks:
    """Walks on a wiki with one of its tables."""
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, name, graph)
    compass = None if policy is None else load_compass(policy, table.fingerprint)
    ways = MoveConfig() if policy is None else with_its_map(MoveConfig(), policy, read_policy(policy))
    units, length = units_of(table.vectors), graph.article_length
    return MapWalks(graph.forward, graph.reverse, units, compass, ways=ways, length=length)
