"""Agents by name, and the embeddings they look at."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwalk.demo import POLICY, policy_path
from linkwalk.wiki.shelf import Shelf

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings, Encoder
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Agent, Units


DEFAULT = "minilm"
"""The embeddings that are looked at where none are named."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How agents may move: privileges, and what the paper leaves open."""

    back: bool = False
    sampled: bool = False
    revisit: bool = False
    depth: int = 20
    """How many links below the start depth-first search goes."""

    def words(self) -> str:
        """For people, behind an agent's name."""
        said = ("with a back button", self.back), ("sampled", self.sampled), ("may revisit", self.revisit)
        return "".join(f", {words}" for words, is_so in said if is_so)

    def options(self) -> str:
        """As they are given on the command line."""
        names = ("back", "sampled", "revisit")
        return "".join(f" --{name}" for name in names if getattr(self, name))

    def to_json(self) -> dict[str, bool]:
        """As ``--json`` prints them."""
        return {"back": self.back, "sampled": self.sampled, "revisit": self.revisit}


def threads() -> int:
    """Threads that a batch of episodes is shared among."""
    return min(4, os.cpu_count() or 1)


def check_agents(names: Iterable[str], wiki: Path, ways: Ways = Ways()) -> list[str]:  # noqa: B008 (frozen)
    """The agents named, each once: baselines, policies of the workspace, or paths of policies elsewhere."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES

    agents = list(dict.fromkeys(name.strip() for part in names for name in part.split(",")))
    for name in agents:
        if name not in BASELINES and policy_folder(wiki, name) is None:
            there = [*BASELINES, *policy_names(wiki)]
            raise InputError(f"no agent named {name!r}: choose from {', '.join(there)}")
    compasses = {name for name in agents if has_map(name, wiki)}
    learned = [name for name in agents if name not in BASELINES and name not in compasses]
    if ways.sampled and not (compasses or learned):
        raise InputError(
            f"sampled changes nothing for {', '.join(agents)}: it is for policies and greedy-map"
        )
    if ways.revisit and not learned:
        raise InputError(
            f"revisit changes nothing for {', '.join(agents)}: it is for policies other than a compass, "
            "as `linkwalk train WIKI --recipe paper` makes"
        )
    if ways.back and (ways.sampled or ways.revisit) and learned:
        raise InputError(
            f"{learned[0]} with a back button takes the best unseen link of the last pages: "
            "leave back away, or sampled and revisit"
        )
    return agents


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


def has_map(name: str, wiki: Path) -> bool:
    """Whether the agent of that name remembers links and finds its way back to them: a compass, greedy-map."""
    from linkwalk.navigate import BASELINES
    from linkwalk.policy.checkpoint import gives_directions, read_policy

    folder = None if name in BASELINES else policy_folder(wiki, name)
    return name == "greedy-map" if folder is None else gives_directions(read_policy(folder))


def open_agent(
    name: str,
    wiki: Path,
    graph: "Graph",
    vectors: "Units | None",
    ways: Ways,
    embeddings: str | None,
) -> "Agent":
    """The agent of that name, moving in those ways: a baseline, or a learned policy."""
    from linkwalk.navigate import BASELINES, Baseline, BaselineConfig
    from linkwalk.navigate.mapped import MapConfig

    folder = None if name in BASELINES else policy_folder(wiki, name)
    if folder is None:
        config = BaselineConfig(
            name=name, back=ways.back, depth=ways.depth, map=MapConfig(sampled=ways.sampled)
        )
        return Baseline(config, graph.forward, vectors, workers=threads())
    assert vectors is not None, "open_vectors sees to it"
    from linkwalk.embed import Embeddings
    from linkwalk.policy.checkpoint import open_policy
    from linkwalk.policy.direction import Guide

    table = Embeddings.open(wiki, embeddings or DEFAULT, graph)
    fitting(folder, name, wiki, table)
    policy = open_policy(folder, table.fingerprint)
    if isinstance(policy, Guide):
        from linkwalk.navigate.guided import Guided, GuidedConfig

        guided = GuidedConfig(back=ways.back, map=MapConfig(sampled=ways.sampled))
        return Guided(name, policy, graph.forward, vectors, guided, workers=threads())
    from linkwalk.navigate.learned import Learned, LearnedConfig

    learned = LearnedConfig(back=ways.back, sampled=ways.sampled, revisit=ways.revisit)
    return Learned(name, policy, graph.forward, graph.out_kinds, table.vectors, learned)


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
    command = f"linkwalk embed {wiki}" + ("" if encoder == "minilm" else f" --encoder {encoder}")
    if encoder == table.manifest["encoder"]:
        what = f"with other options than {table.name!r}"
    else:
        what = f"of another encoder ({encoder}) than {table.name!r}"
    raise ArtifactError(
        f"the policy {name!r} was trained on embeddings {what}: run `{command}`, or {otherwise}"
    )


def policies(wiki: Path, table: "Embeddings") -> list[str]:
    """Policies that walk on these embeddings: the one that ships first, then those of the workspace."""
    from linkwalk.errors import LinkwalkError
    from linkwalk.policy.checkpoint import can_open, read_policy

    found = []
    for name in dict.fromkeys([POLICY, *policy_names(wiki)]):
        folder = policy_folder(wiki, name)
        if folder is None:  # somebody has just removed it
            continue
        try:
            manifest = read_policy(folder, table.fingerprint)
        except LinkwalkError:
            continue
        if can_open(manifest):
            found.append(name)
    return found


def open_table(wiki: Path, graph: "Graph", name: str, shelf: Shelf) -> "Embeddings":
    """The embeddings of that name."""
    from linkwalk.embed import Embeddings

    return shelf.get(("table", name), lambda: Embeddings.open(wiki, name, graph))


def open_units(wiki: Path, graph: "Graph", name: str, shelf: Shelf) -> "Units":
    """The same, of unit length."""
    from linkwalk.navigate import units_of

    table = open_table(wiki, graph, name, shelf)
    return shelf.get(("vectors", name), lambda: units_of(table.vectors))


def open_vectors(
    wiki: Path, graph: "Graph", agents: list[str], name: str | None, shelf: Shelf | None = None
) -> "Units | None":
    """Embeddings of unit length; None if there are none, and neither an agent nor the user wants them."""
    from linkwalk.errors import ArtifactError, DamagedError, SuspectError
    from linkwalk.navigate import BLIND

    try:
        return open_units(wiki, graph, name or DEFAULT, shelf or Shelf())
    except ArtifactError as error:
        if name is not None:
            raise
        if BLIND.issuperset(agents):
            return None
        if isinstance(error, DamagedError | SuspectError):
            raise
        raise ArtifactError(f"{error}, or name an agent that needs none, such as random") from None


def open_encoder(wiki: Path, agent: str, table: "Embeddings", shelf: Shelf) -> "Encoder":
    """What an agent reads sentences with: its policy's target encoder, or else the one that made the embeddings."""
    from linkwalk.navigate import BASELINES

    plain = shelf.get(("encoder", table.name), table.encoder)
    folder = None if agent in BASELINES else policy_folder(wiki, agent)
    if folder is None:
        return plain
    from linkwalk.policy.target import load_target

    own = shelf.get(("encoder", table.name, folder), lambda: load_target(folder, table))
    return own or plain


def open_encoders(wiki: Path, agents: Iterable[str], table: "Embeddings") -> "dict[str, Encoder]":
    """The same for several agents."""
    shelf = Shelf()
    return {name: open_encoder(wiki, name, table, shelf) for name in agents}
