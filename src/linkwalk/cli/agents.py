"""Agents as the command line names them, and the embeddings they look at."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings, Encoder
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Agent, BaselineConfig
    from linkwalk.navigate.journeys import Float32s

Back = Annotated[
    bool,
    typer.Option(
        "--back",
        help="Give the agent a back button, one step a page: greedy-unvisited goes back to the best link of the "
        "last 16 pages, random and greedy have one more way to go. Without it the paper's rules hold; depth-first "
        "search goes back in any case.",
    ),
]
Budget = Annotated[
    int, typer.Option(min=1, max=1_000_000, metavar="B", help="Steps an agent has to reach the goal.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Makes all chance repeatable.")]
EmbeddingsName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Embeddings that agents look at. [default: minilm]"),
]


def threads() -> int:
    """Threads that a batch of episodes is shared among."""
    return min(4, os.cpu_count() or 1)


def check_agents(names: Iterable[str], wiki: Path, *, back: bool = False) -> list[str]:
    """The agents named, each once: baselines, policies of the workspace, or paths of policies elsewhere."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES

    agents = list(dict.fromkeys(name.strip() for part in names for name in part.split(",")))
    for name in agents:
        if name in BASELINES:
            continue
        if policy_folder(wiki, name) is None:
            policies = sorted(p.parent.name for p in (wiki / "policies").glob("*/manifest.json"))
            raise InputError(f"no agent named {name!r}: choose from {', '.join([*BASELINES, *policies])}")
    return agents


def policy_folder(wiki: Path, name: str) -> Path | None:
    """Where the policy of that name or path is; None if there is none."""
    for folder in (wiki / "policies" / name, Path(name)):
        if (folder / "manifest.json").is_file():
            return folder
    return None


def open_agent(
    name: str,
    wiki: Path,
    graph: "Graph",
    vectors: "Float32s | None",
    config: "BaselineConfig",
    embeddings: str | None,
) -> "Agent":
    """The agent of that name: a baseline with ``config``, or a learned policy."""
    from dataclasses import replace

    from linkwalk.navigate import BASELINES, Baseline

    folder = None if name in BASELINES else policy_folder(wiki, name)
    if folder is None:
        return Baseline(replace(config, name=name), graph.forward, vectors, workers=threads())
    from linkwalk.device import choose_device
    from linkwalk.embed import Embeddings
    from linkwalk.navigate.guided import Guided, GuidedConfig
    from linkwalk.navigate.learned import Learned, LearnedConfig
    from linkwalk.policy.checkpoint import load_policy
    from linkwalk.policy.heads import Compass

    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    head, _ = load_policy(folder, table.fingerprint, device=str(choose_device("auto")))
    if isinstance(head, Compass) and vectors is not None:
        guided = GuidedConfig(back=config.back, window=config.window)
        return Guided(name, head, graph.forward, vectors, guided, workers=threads())
    learned = LearnedConfig(back=config.back, window=config.window)
    return Learned(name, head, graph.forward, graph.out_kinds, table.vectors, learned)


def open_vectors(wiki: Path, graph: "Graph", agents: list[str], name: str | None) -> "Float32s | None":
    """Embeddings of unit length; None if there are none, and neither an agent nor the user wants them."""
    from linkwalk.embed import Embeddings
    from linkwalk.errors import ArtifactError
    from linkwalk.navigate import BLIND, unit_rows

    try:
        embeddings = Embeddings.open(wiki, name or "minilm", graph)
    except ArtifactError:
        if name is None and BLIND.issuperset(agents):
            return None
        raise
    return unit_rows(embeddings.vectors)


def open_encoders(wiki: Path, agents: Iterable[str], table: "Embeddings") -> "dict[str, Encoder]":
    """What each agent reads sentences with: its policy's target encoder, or else the one that made the embeddings."""
    from linkwalk.navigate import BASELINES

    plain = table.encoder()
    encoders: dict[str, Encoder] = {}
    for name in agents:
        own = None
        folder = None if name in BASELINES else policy_folder(wiki, name)
        if folder is not None:
            from linkwalk.policy.target import load_target

            own = load_target(folder, table)
        encoders[name] = own or plain
    return encoders
