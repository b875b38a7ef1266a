"""Agents by name: the baselines, maps, policies of a workspace or elsewhere, and parts of one's own."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Float32s
from linkwalk.artifact import MANIFEST, parsing
from linkwalk.embed import Embeddings
from linkwalk.embed.model import MINILM, MINILM_WALKS
from linkwalk.embed.text import choose_encoder
from linkwalk.errors import ArtifactError, InputError, LinkwalkError
from linkwalk.graph.csr import Csr
from linkwalk.graph.store import Graph
from linkwalk.navigate import BASELINES, Agent, Units
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.navigate.trained_map import MAP, read_map
from linkwalk.parts import import_part, is_part, make_part
from linkwalk.policy.checkpoint import can_open, is_compass, look_at_policy, read_policy
from linkwalk.shipped import POLICY, policy_path

UNTRAINED = "greedy-map"
"""Who walks where no policy fits the embeddings."""
LEARNED_MAP = "learned-map"
_FOR = {
    "back": "baselines and policies",
    "sampled": "policies, greedy-map and learned-map",
    "revisit": "policies other than a compass, as `linkwalk train WIKI --recipe paper` makes",
}


class Walkable(Protocol):
    """What agents walk on: the blocks of a wiki, or what else has nodes and links."""

    @property
    def forward(self) -> Csr:
        """Out-links."""

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def article_length(self) -> float:
        """How many of them an article has, on average."""

    @property
    def out_kinds(self) -> NDArray[np.uint8]:
        """What kind each link is of."""


def check_agents(names: Iterable[str], wiki: Path, ways: MoveConfig = MoveConfig()) -> list[str]:  # noqa: B008 (frozen)
    """The agents named, each once: baselines, policies of the workspace or elsewhere, or parts of one's own.

    A way of moving that changes nothing for any of them is refused.
    """
    agents = list(dict.fromkeys(name.strip() for part in names for name in part.split(",")))
    for name in agents:
        if not (name in BASELINES or is_map(name) or policy_folder(wiki, name) or is_part(name)):
            there = [*BASELINES, *policy_names(wiki)]
            raise InputError(f"no agent named {name!r}: choose from {', '.join(there)}")
    for way in ways.chosen:
        if not any(way in _minds(name, wiki) for name in agents):
            raise InputError(f"{way} changes nothing for {', '.join(agents)}: it is for {_FOR[way]}")
    return agents


def _minds(name: str, wiki: Path) -> frozenset[str]:
    """Which ways of moving mean something to the agent of that name."""
    if name in BASELINES or is_map(name):
        return BASELINES.get(name, BASELINES[LEARNED_MAP]).minds
    folder = policy_folder(wiki, name)
    if folder is None:
        return getattr(import_part(name, "agent"), "minds", frozenset())
    return (
        CompassWalker.minds if is_compass(read_policy(folder)) else frozenset({"back", "sampled", "revisit"})
    )


def is_blind(agent: str) -> bool:
    """Whether the agent of that name does without embeddings."""
    kind = BASELINES.get(agent) or (import_part(agent, "agent") if is_part(agent) else None)
    return bool(getattr(kind, "blind", False))


def is_map(name: str) -> bool:
    """Whether a name is that of a file which `linkwalk train-map` made: such a map is an agent."""
    return name.endswith(".json") and Path(name).is_file()


def policy_folder(wiki: Path, name: str) -> Path | None:
    """Where the policy of that name or path is, those of the workspace first; None if there is none."""
    for folder in (wiki / "policies" / name, policy_path() if name == POLICY else Path(name)):
        if (folder / MANIFEST).exists():
            return folder
    return None


def policy_names(wiki: Path) -> list[str]:
    """The policy that ships and those of the workspace, in order of their names."""
    there = (path.parent.name for path in (wiki / "policies").glob("*/manifest.json"))
    return sorted({POLICY, *(name for name in there if not name.endswith((".partial", ".old")))})


def with_its_map(ways: MoveConfig, folder: Path, manifest: dict[str, Any]) -> MoveConfig:
    """The ways, with the constants of the map that a policy was trained with, unless others were asked for."""
    if "map" not in manifest or ways.map is not None:
        return ways
    with parsing(folder / MANIFEST, "get the policy again, or train it anew"):
        if not isinstance(found := manifest["map"], dict):
            raise ValueError("`map` is no object")
        for name, value in found.items():
            if name not in {field.name for field in fields(MapConfig)}:
                raise ValueError(f"`map` has `{name}`, which this version does not know")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"`map.{name}` is no number")
        try:
            return replace(ways, map=MapConfig(**found))
        except InputError as error:
            raise ValueError(f"`map` has {error}") from None


def map_weights(folder: Path, manifest: dict[str, Any], ground: Walkable) -> Float32s | None:
    """The weights of the map that a policy brings; None where the constants are all that it walks by."""
    if not (folder / MAP).is_file() and MAP not in manifest.get("files", {}):
        return None
    look_at_policy(folder, manifest, MAP)
    return read_map(folder / MAP).on(ground.article_length)


def own_part(name: str, graph: Walkable, vectors: Units | None) -> Any:
    """What a name stands for where an agent is wanted; a class is made with the graph and its embeddings."""
    return make_part(name, "agent", graph, vectors)


def own_agent(name: str, graph: Walkable, vectors: Units | None) -> Agent:
    """An agent of one's own."""
    agent: Agent = own_part(name, graph, vectors)
    if not callable(getattr(agent, "run", None)) or not isinstance(getattr(agent, "name", None), str):
        raise InputError(f"{name} is no agent: it needs a `name` and `run(episodes, budget=..., seed=...)`")
    return agent


def fitting_manifest(
    folder: Path, name: str, wiki: Path, table: Embeddings, otherwise: str = "name another agent"
) -> dict[str, Any]:
    """The manifest of a policy, if it was trained on embeddings such as these; or what to do."""
    manifest = read_policy(folder)
    if manifest.get("encoder") == table.fingerprint:
        return manifest
    encoder = manifest.get("encoder_name")
    command = f"linkwalk embed {wiki} --encoder {encoder}"
    if encoder == table.manifest["encoder"]:
        what = f"with other options than {table.name!r}"
    else:
        what = f"of another encoder ({encoder}) than {table.name!r}"
    raise ArtifactError(
        f"the policy {name!r} was trained on embeddings {what}: run `{command}`, or {otherwise}"
    )


def usual_agent(wiki: Path, table: Embeddings, *, directing: bool = False) -> str:
    """Who walks where nobody is named: a policy for these embeddings, the one that ships first; else greedy-map.

    ``directing`` is for those that say where to look.
    """
    fitting = fitting_policies(wiki, table).items()
    return next((name for name, found in fitting if not directing or is_compass(found)), UNTRAINED)


def without_shipped(wiki: Path, graph: Graph, table: Embeddings) -> str | None:
    """What helps where the policy that ships cannot walk as MiniLM is the plain one; None elsewhere.

    An earlier version embedded with that. Where the wiki is not in English, the policy that ships is no help.
    """
    other = table.manifest["encoder"] != MINILM or table.has_beside(MINILM_WALKS)
    if other or usual_agent(wiki, table) != UNTRAINED or choose_encoder(graph)[0] != MINILM_WALKS:
        return None
    return f"the policy that ships goes by other embeddings than {table.name!r}: run `linkwalk embed {wiki}`"


def fitting_policies(wiki: Path, table: Embeddings) -> dict[str, dict[str, Any]]:
    """Policies that walk on these embeddings, with their manifests: the one that ships first.

    Looked for each time, as another may have been trained meanwhile.
    """
    found = {}
    for name in dict.fromkeys([POLICY, *policy_names(wiki)]):
        folder = policy_folder(wiki, name)
        with suppress(OSError):  # somebody has just removed it
            manifest = folder and _fits(folder, (folder / MANIFEST).stat().st_mtime_ns, table.fingerprint)
            if manifest and can_open(manifest):
                found[name] = manifest
    return found


@lru_cache(maxsize=256)
def _fits(folder: Path, changed: int, encoder: str) -> dict[str, Any] | None:
    """A policy's manifest if it was trained on an encoder's embeddings; read once, until it has ``changed``."""
    try:
        return read_policy(folder, encoder)
    except LinkwalkError:
        return None
