"""How evidence is looked for, as the command line says it: the options that ``find`` and ``score`` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linkwalk.cli.agents import (
    Ways,
    check_agents,
    open_agent,
    open_encoders,
    policy_folder,
    threads,
)
from linkwalk.demo import POLICY, reranker_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linkwalk.downstream.rows import Row
    from linkwalk.downstream.shared import SideBySide
    from linkwalk.embed import Embeddings, Encoder
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Agent
    from linkwalk.navigate.guided import Guide
    from linkwalk.navigate.journeys import Float32s
    from linkwalk.retrieve import Bm25, Finder, Found, Reranker

Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="HOW",
        help="Where to begin: bm25, dense (the nearest embeddings) or hybrid (both lists fused). [default: hybrid; "
        "bm25 with --walk, --expand, --lead and --no-navigation]",
    ),
]
StartCount = Annotated[
    int,
    typer.Option("--starts", min=1, max=1000, metavar="N", help="Blocks that --walk and --expand begin at."),
]
StepCount = Annotated[
    int, typer.Option("--steps", min=1, max=1000, metavar="N", help="Clicks from each of them, with --walk.")
]
NoNavigation = Annotated[
    bool,
    typer.Option("--no-navigation", help="Read search results alone; by BM25 this needs no embeddings."),
]
NoLinks = Annotated[
    bool,
    typer.Option("--no-links", help="Read search results alone, the most promising to the agent first."),
]
Expand = Annotated[
    bool,
    typer.Option(
        "--expand", help="Read every block one link away from a start, as far as --candidates goes."
    ),
]
Walk = Annotated[
    bool,
    typer.Option("--walk", help="The paper's way: the agent walks from each start on its own."),
]
Lead = Annotated[
    bool, typer.Option("--lead", help="Read the first block of each article that the search hits.")
]
Candidates = Annotated[
    int,
    typer.Option(
        "--candidates", min=0, max=100_000, metavar="N", help="Blocks to read. [0 with --walk, --expand: all]"
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="HOW",
        help="Who ranks the sentences: cross (TF-IDF, then the cross-encoder that ships on the best 20), tfidf, none "
        "(as they were read), or the folder of a reranker: one that `linkwalk train --reranker` made, or any sequence "
        "classifier in Hugging Face's form. [default: cross, or tfidf without torch]",
    ),
]
AgentName = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="A",
        help="Who navigates: compass (the policy that ships), a baseline or a policy. Without --walk it says where to "
        "look, so it is a compass or greedy.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Retrieval:
    """What was asked for."""

    start: str | None = None
    starts: int = 5
    steps: int = 20
    no_navigation: bool = False
    no_links: bool = False
    expand: bool = False
    walk: bool = False
    lead: bool = False
    candidates: int = 20
    rerank: str | None = None
    agent: str = POLICY
    embeddings: str | None = None

    @property
    def begin(self) -> str:
        """Where to begin: where embeddings are looked at in any case, both lists are better than one."""
        return self.start or ("hybrid" if self.navigation in ("tabs", "reorder") else "bm25")

    @property
    def navigation(self) -> str:
        """The way of navigation that was chosen."""
        from linkwalk.errors import InputError

        ways = {
            "none": self.no_navigation,
            "reorder": self.no_links,
            "expand": self.expand,
            "walk": self.walk,
            "lead": self.lead,
        }
        chosen = [way for way, wanted in ways.items() if wanted]
        if len(chosen) > 1:
            names = [{"none": "--no-navigation", "reorder": "--no-links"}.get(w, f"--{w}") for w in chosen]
            raise InputError(f"{' and '.join(names)}: choose one of them")
        return chosen[0] if chosen else "tabs"


class Opened:
    """A finder with what it takes to read queries."""

    def __init__(self, finder: "Finder", encoder: "Encoder | None", reranker: str) -> None:
        self.finder, self.encoder, self.reranker = finder, encoder, reranker

    def meanings(self, queries: "Sequence[str]") -> "Float32s | None":
        """What the queries mean to the agent [Q, D]; None where nobody wants to know."""
        return _meanings(self.encoder, queries)

    def find(self, queries: "Sequence[str]", count: int) -> "list[Found]":
        """What is found for each query."""
        return self.finder.find_many(queries, count, meanings=self.meanings(queries))


def _meanings(encoder: "Encoder | None", queries: "Sequence[str]") -> "Float32s | None":
    from linkwalk.navigate import unit_rows

    return None if encoder is None else unit_rows(encoder.encode(list(queries)))


class Compared:
    """Several ways of retrieval at once."""

    def __init__(self, ways: "SideBySide", encoder: "Encoder | None", reranker: str) -> None:
        self.ways, self.encoder, self.reranker = ways, encoder, reranker

    def find(self, queries: "Sequence[str]", count: int) -> "dict[str, list[Found]]":
        """What each way finds for each query."""
        return self.ways.find_many(queries, count, _meanings(self.encoder, queries))


class _Parts(NamedTuple):
    """What ways of retrieval are put together from."""

    search: "Bm25"
    walker: "Agent | None" = None
    guide: "Guide | None" = None
    vectors: "Float32s | None" = None
    near: Any = None
    encoder: "Encoder | None" = None


def open_finder(wiki: Path, graph: "Graph", asked: Retrieval) -> Opened:
    """All that a way of retrieval needs, opened; nothing that it does not need."""
    need_search()
    from linkwalk.retrieve import FindConfig, Finder

    config = FindConfig(
        start=asked.begin,
        navigation=asked.navigation,
        starts=asked.starts,
        steps=asked.steps,
        candidates=asked.candidates,
    )
    parts = _open_parts(wiki, graph, asked, {config.navigation}, {config.start})
    rerank, name = open_reranker(asked.rerank)
    finder = Finder(
        graph,
        parts.search,
        config,
        agent=parts.walker,
        guide=parts.guide,
        rerank=rerank,
        vectors=parts.vectors,
        near=parts.near,
        workers=threads(),
    )
    return Opened(finder, parts.encoder, name)


def open_rows(wiki: Path, graph: "Graph", asked: Retrieval, rows: "Sequence[Row]") -> Compared:
    """Several ways, each held to as many blocks; ``asked`` says who navigates and who is the cross-encoder."""
    need_search()
    from linkwalk.downstream.shared import SideBySide

    parts = _open_parts(wiki, graph, asked, {row.navigation for row in rows}, {row.start for row in rows})
    cross, name = None, "none"
    if any(row.rerank == "cross" for row in rows):
        cross, name = open_reranker(asked.rerank)
    ways = SideBySide(
        graph,
        parts.search,
        rows,
        asked.candidates,
        cross=cross,
        agent=parts.walker,
        guide=parts.guide,
        vectors=parts.vectors,
        near=parts.near,
        workers=threads(),
    )
    return Compared(ways, parts.encoder, name)


def _open_parts(
    wiki: Path, graph: "Graph", asked: Retrieval, navigation: set[str], starts: set[str]
) -> _Parts:
    from linkwalk.errors import ArtifactError, InputError
    from linkwalk.retrieve import Bm25

    bm25 = Bm25.open(wiki, graph)
    agents = check_agents([asked.agent], wiki)
    if len(agents) != 1:
        raise InputError("one agent navigates at a time: name one with --agent")
    if not navigation & {"tabs", "reorder", "walk"} and starts == {"bm25"}:
        return _Parts(bm25)
    from linkwalk.embed import Embeddings
    from linkwalk.navigate import unit_rows

    try:
        table = Embeddings.open(wiki, asked.embeddings or "minilm", graph)
    except ArtifactError as error:
        if asked.start not in (None, "bm25") or asked.embeddings is not None:
            raise
        raise ArtifactError(f"{error}, or read search results alone (--no-navigation)") from None
    vectors = unit_rows(table.vectors)
    (encoder,) = open_encoders(wiki, agents, table).values()
    walker = guide = None
    if "walk" in navigation:
        walker = open_agent(agents[0], wiki, graph, vectors, Ways(), asked.embeddings)
    if navigation & {"tabs", "reorder"}:
        guide = _guide(agents[0], wiki, table)
    return _Parts(bm25, walker, guide, vectors, _near(wiki, graph, table), encoder)


def open_reranker(asked: str | None) -> "tuple[Reranker | None, str]":
    """The reranker that was asked for, or the best there is, and its name."""
    from importlib.util import find_spec

    from linkwalk.errors import InputError
    from linkwalk.retrieve import Cascade, tfidf

    if asked is None:
        asked = "cross" if find_spec("torch") and find_spec("transformers") else "tfidf"
    if asked in ("tfidf", "none"):
        return (tfidf if asked == "tfidf" else None), asked
    folder = reranker_path() if asked == "cross" else Path(asked)
    if not folder.is_dir():
        raise InputError(f"no reranker {asked!r}: choose none, tfidf, cross, or give a reranker's folder")
    from linkwalk.device import choose_device

    choose_device("auto")  # without torch, this says what to install
    from linkwalk.retrieve.cross import load_cross

    return Cascade(load_cross(folder)), asked


def _guide(agent: str, wiki: Path, table: "Embeddings") -> "Guide | None":
    """Where the agent looks: a compass's direction, or straight on for the greedy ones."""
    from linkwalk.errors import InputError
    from linkwalk.policy.checkpoint import is_compass, load_direction, read_policy

    folder = policy_folder(wiki, agent)
    if agent.startswith("greedy") and folder is None:
        return None
    if folder is None or not is_compass(read_policy(folder)):
        raise InputError(
            f"{agent} walks, but does not say where to look: add --walk, or name compass, greedy or a compass of yours"
        )
    return load_direction(folder, table.fingerprint)


def _near(wiki: Path, graph: "Graph", table: "Embeddings") -> Any:
    """The index of embeddings, where looking at all of them takes too long."""
    from linkwalk.retrieve.dense import WORTH_IT, Dense

    if graph.nodes < WORTH_IT or not (wiki / "index" / "dense" / "manifest.json").exists():
        return None
    return Dense.open(wiki, table)


def need_search() -> None:
    """Say what to install where the search engine is missing."""
    from importlib.util import find_spec

    from linkwalk.errors import InputError

    if find_spec("tantivy") is None:
        raise InputError("tantivy is not installed: pip install 'linkwalk[find]'")
