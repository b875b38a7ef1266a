"""Agents as the command line names them, and the embeddings they look at."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from linkwalk.graph.store import Graph
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


def check_agents(names: Iterable[str]) -> list[str]:
    """The agents named, each once; a comma separates as a second option does."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES

    agents = list(dict.fromkeys(name.strip() for part in names for name in part.split(",")))
    for name in agents:
        if name not in BASELINES:
            raise InputError(f"no agent named {name!r}: choose from {', '.join(BASELINES)}")
    return agents


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
