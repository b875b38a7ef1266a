"""Agents by name, and the embeddings they look at."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from linkwalk.navigate.ways import MapConfig, Ways
from linkwalk.parts import import_part, is_part, make_part
from linkwalk.shipped import POLICY, policy_path
from linkwalk.wiki.shelf import Shelf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwalk.embed import Embeddings
    from linkwalk.embed.encoder import TellingEncoder
    from linkwalk.graph.csr import Csr
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Agent, Units
    from linkwalk.navigate.journeys import Float32s


class Walkable(Protocol):
    """What agents walk on: the blocks of a wiki, or what else has nodes and links."""

    @property
    def forward(self) -> "Csr":
        """Out-links."""

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def article_length(self) -> float:
        """How many of them an article has, on average."""

    @property
    def out_kinds(self) -> "NDArray[np.uint8]":
        """What kind each link is of."""


UNTRAINED = "greedy-map"
"""Who walks where no policy fits the embeddings."""
LEARNED_MAP = "learned-map"


def threads() -> int:
    """Threads that a batch of episodes is shared among."""
    return min(4, os.cpu_count() or 1)


_FOR = {
    "back": "baselines and policies",
    "sampled": "policies, greedy-map and learned-map",
    "revisit": "policies other than a compass, as `linkwalk train WIKI --recipe paper` makes",
}


def check_agents(names: Iterable[str], wiki: Path, ways: Ways = Ways()) -> list[str]:  # noqa: B008 (frozen)
    """The agents named, each once: baselines, policies of the workspace or elsewhere, or parts of one's own.

    A way of moving that changes nothing for any of them is refused.
    """
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES

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
    from linkwalk.navigate import BASELINES
    from linkwalk.navigate.compass import CompassWalker
    from linkwalk.policy.checkpoint import is_compass, read_policy

    if name in BASELINES or is_map(name):
        return BASELINES.get(name, BASELINES["learned-map"]).minds
    folder = policy_folder(wiki, name)
    if folder is None:
        return getattr(import_part(name, "agent"), "minds", frozenset())
    return (
        CompassWalker.minds if is_compass(read_policy(folder)) else frozenset({"back", "sampled", "revisit"})
    )


def is_map(name: str) -> bool:
    """Whether a name is that of a file which `linkwalk train-map` made: such a map is an agent."""
    return name.endswith(".json") and Path(name).is_file()


def policy_folder(wiki: Path, name: str) -> Path | None:
    """Where the policy of that name or path is, those of the workspace first; None if there is none."""
    for folder in (wiki / "policies" / name, policy_path() if name == POLICY else Path(name)):
        if (folder / "manifest.json").exists():
            return folder
    return None


def policy_names(wiki: Path) -> list[str]:
    """The policy that ships and those of the workspace, in order of their names."""
    there = (path.parent.name for path in (wiki / "policies").glob("*/manifest.json"))
    return sorted({POLICY, *(name for name in there if not name.endswith((".partial", ".old")))})


def open_agent(
    name: str,
    wiki: Path,
    graph: "Graph",
    vectors: "Units | None",
    ways: Ways,
    embeddings: str | None,
    ground: "Walkable | None" = None,
) -> "Agent":
    """The agent of that name, moving in those ways: a baseline, or a learned policy.

    It walks from block to block, or on another ``ground``, whose nodes the ``vectors`` are of then.
    """
    from linkwalk.navigate import BASELINES, open_baseline

    ground = ground or graph
    if is_map(name) or name == LEARNED_MAP:
        from linkwalk.navigate.learned_map import LearnedMap
        from linkwalk.navigate.trained_map import read_map, shipped_map

        trained = read_map(Path(name)) if is_map(name) else shipped_map()
        length = ground.article_length
        return LearnedMap(
            name, ground.forward, vectors, ways, workers=threads(), trained=trained, length=length
        )
    if name in BASELINES:
        return open_baseline(name, ground.forward, vectors, ways, workers=threads())
    folder = policy_folder(wiki, name)
    if folder is None:
        return own_agent(name, ground, vectors)
    assert vectors is not None, "open_vectors sees to it"
    from linkwalk.embed import Embeddings
    from linkwalk.policy.checkpoint import open_policy
    from linkwalk.policy.compass import Compass

    table = Embeddings.open(wiki, used_embeddings(wiki, graph, embeddings, [name]), graph)
    manifest = fitting(folder, name, wiki, table)
    policy = open_policy(folder, table.fingerprint)
    if isinstance(policy, Compass):
        from linkwalk.navigate.compass import CompassWalker

        ways, weights = with_its_map(ways, folder, manifest), _map_of(folder, manifest, ground)
        return CompassWalker(name, policy, ground.forward, vectors, ways, workers=threads(), weights=weights)
    from linkwalk.navigate.learned import Learned

    rows = table.vectors if ground is graph else vectors[:]
    return Learned(name, policy, ground.forward, ground.out_kinds, rows, ways)


def with_its_map(ways: Ways, folder: Path, manifest: dict[str, Any]) -> Ways:
    """The ways, with the constants of the map that a policy was trained with, unless others were asked for."""
    from linkwalk.artifact import MANIFEST, parsing
    from linkwalk.errors import InputError

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


def _map_of(folder: Path, manifest: dict[str, Any], ground: "Walkable") -> "Float32s | None":
    """The weights of the map that a policy brings; None where the constants are all that it walks by."""
    from linkwalk.navigate.trained_map import MAP, read_map
    from linkwalk.policy.checkpoint import look_at_policy

    if not (folder / MAP).is_file() and MAP not in manifest.get("files", {}):
        return None
    look_at_policy(folder, manifest, MAP)
    return read_map(folder / MAP).on(ground.article_length)


def own_part(name: str, graph: "Walkable", vectors: "Units | None") -> Any:
    """What a name stands for where an agent is wanted; a class is made with the graph and its embeddings."""
    return make_part(name, "agent", graph, vectors)


def own_agent(name: str, graph: "Walkable", vectors: "Units | None") -> "Agent":
    """An agent of one's own."""
    from linkwalk.errors import InputError

    agent: Agent = own_part(name, graph, vectors)
    if not callable(getattr(agent, "run", None)) or not isinstance(getattr(agent, "name", None), str):
        raise InputError(f"{name} is no agent: it needs a `name` and `run(episodes, budget=..., seed=...)`")
    return agent


def fitting(
    folder: Path, name: str, wiki: Path, table: "Embeddings", otherwise: str = "name another agent"
) -> dict[str, Any]:
    """The manifest of a policy, if it was trained on embeddings such as these; or what to do."""
    from linkwalk.errors import ArtifactError
    from linkwalk.policy.checkpoint import read_policy

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


def used_embeddings(wiki: Path, graph: "Graph", asked: str | None, agents: Iterable[str] = ()) -> str:
    """The name of the embeddings that are looked at (``embed.store.choose``): a policy named wants its own."""
    from linkwalk.embed.store import choose
    from linkwalk.errors import LinkwalkError
    from linkwalk.policy.checkpoint import read_policy

    fits = []
    for folder in (policy_folder(wiki, name) for name in agents if asked is None):
        with suppress(LinkwalkError):  # said when it is opened
            fits += [] if folder is None else [read_policy(folder)["encoder"]]
    return choose(wiki, graph, asked, fits[:1])


def usual_agent(wiki: Path, table: "Embeddings | None", *, directing: bool = False) -> str:
    """Who walks where nobody is named: a policy for these embeddings, the one that ships first; else greedy-map.

    ``directing`` is for those that say where to look. Without embeddings it is the policy that ships, which says what
    is missing.
    """
    from linkwalk.policy.checkpoint import is_compass

    if table is None:
        return POLICY
    fitting = _fitting(wiki, table).items()
    return next((name for name, found in fitting if not directing or is_compass(found)), UNTRAINED)


def without_shipped(wiki: Path, graph: "Graph", table: "Embeddings") -> str | None:
    """What helps where the policy that ships cannot walk as MiniLM is the plain one; None elsewhere.

    An earlier version embedded with that. Where the wiki is not in English, the policy that ships is no help.
    """
    from linkwalk.embed.language import choose_encoder
    from linkwalk.embed.model import MINILM, MINILM_WALKS

    other = table.manifest["encoder"] != MINILM or table.has_beside(MINILM_WALKS)
    if other or usual_agent(wiki, table) != UNTRAINED or choose_encoder(graph).encoder != MINILM_WALKS:
        return None
    return f"the policy that ships goes by other embeddings than {table.name!r}: run `linkwalk embed {wiki}`"


def policies(wiki: Path, table: "Embeddings") -> list[str]:
    """Policies that walk on these embeddings: the one that ships first, then those of the workspace."""
    return list(_fitting(wiki, table))


def _fitting(wiki: Path, table: "Embeddings") -> dict[str, dict[str, Any]]:
    """The same, with their manifests. Looked for each time, as another may have been trained meanwhile."""
    from linkwalk.policy.checkpoint import can_open

    found = {}
    for name in dict.fromkeys([POLICY, *policy_names(wiki)]):
        folder = policy_folder(wiki, name)
        with suppress(OSError):  # somebody has just removed it
            manifest = folder and _fits(
                folder, (folder / "manifest.json").stat().st_mtime_ns, table.fingerprint
            )
            if manifest and can_open(manifest):
                found[name] = manifest
    return found


@lru_cache(maxsize=256)
def _fits(folder: Path, changed: int, encoder: str) -> dict[str, Any] | None:
    """A policy's manifest if it was trained on an encoder's embeddings; read once, until it has ``changed``."""
    from linkwalk.errors import LinkwalkError
    from linkwalk.policy.checkpoint import read_policy

    try:
        return read_policy(folder, encoder)
    except LinkwalkError:
        return None


def open_table(wiki: Path, graph: "Graph", name: str, shelf: Shelf) -> "Embeddings":
    """The embeddings of that name."""
    from linkwalk.embed import Embeddings

    return shelf.get(("table", name), lambda: Embeddings.open(wiki, name, graph))


def open_units(wiki: Path, graph: "Graph", name: str, shelf: Shelf, *, mapped: bool = False) -> "Units":
    """The same, of unit length; who reads little of them at a time has them mapped, which takes no memory."""
    from linkwalk.navigate import units_of

    table = open_table(wiki, graph, name, shelf)
    return shelf.get(("vectors", name, mapped), lambda: units_of(table.vectors, mapped=mapped))


def open_vectors(
    wiki: Path,
    graph: "Graph",
    agents: list[str],
    name: str | None,
    shelf: Shelf | None = None,
    *,
    mapped: bool = False,
) -> "Units | None":
    """Embeddings of unit length; None if there are none, and neither an agent nor the user wants them."""
    from linkwalk.errors import ArtifactError, DamagedError, SuspectError

    try:
        used = used_embeddings(wiki, graph, name, agents)
        return open_units(wiki, graph, used, shelf or Shelf(), mapped=mapped)
    except ArtifactError as error:
        if name is not None:
            raise
        if all(_blind(agent) for agent in agents):
            return None
        if isinstance(error, DamagedError | SuspectError):
            raise
        raise ArtifactError(f"{error}, or name an agent that needs none, such as random") from None


def _blind(agent: str) -> bool:
    """Whether the agent of that name does without embeddings."""
    from linkwalk.navigate import BASELINES

    kind = BASELINES.get(agent) or (import_part(agent, "agent") if is_part(agent) else None)
    return bool(getattr(kind, "blind", False))


def open_encoder(
    wiki: Path, agent: str | None, table: "Embeddings", shelf: Shelf, device: str = "cpu"
) -> "TellingEncoder":
    """What an agent reads sentences with: its policy's target encoder, or else the one that made the embeddings.

    None is an agent that is an object, and has no policy.
    """
    from linkwalk.navigate import BASELINES

    plain = shelf.get(("encoder", table.name), lambda: table.encoder(device))
    folder = None if agent is None or agent in BASELINES else policy_folder(wiki, agent)
    if folder is None:
        return plain
    from linkwalk.policy.target import load_target

    own = shelf.get(("encoder", table.name, folder), lambda: load_target(folder, table, device=device))
    return own or plain


def open_encoders(wiki: Path, agents: Iterable[str], table: "Embeddings") -> "dict[str, TellingEncoder]":
    """The same for several agents, to read much: on a GPU where there is one."""
    shelf = Shelf()
    return {name: open_encoder(wiki, name, table, shelf, "auto") for name in agents}
