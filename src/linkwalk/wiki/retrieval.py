"""How evidence is looked for: what was asked, and what it takes, opened."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwalk.demo import reranker_path
from linkwalk.navigate.ways import Ways
from linkwalk.wiki.agents import (
    DEFAULT,
    check_agents,
    open_agent,
    open_encoder,
    open_table,
    open_units,
    policy_folder,
    threads,
)
from linkwalk.wiki.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linkwalk.downstream.rows import Row
    from linkwalk.downstream.shared import SideBySide
    from linkwalk.embed import Embeddings, Encoder
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Agent
    from linkwalk.navigate.cosine import Units
    from linkwalk.navigate.journeys import Float32s
    from linkwalk.policy.direction import Guide
    from linkwalk.retrieve import Bm25, FindConfig, Finder, Found, Reranker


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
    vectors: "Units | None" = None
    near: Any = None
    encoder: "Encoder | None" = None


def open_finder(wiki: Path, graph: "Graph", asked: "FindConfig", shelf: Shelf | None = None) -> Opened:
    """All that a way of retrieval needs, opened; nothing that it does not need, nor what is on the shelf already."""
    need_search()
    from linkwalk.retrieve import Finder

    shelf = shelf or Shelf()
    parts = _open_parts(wiki, graph, asked, {asked.navigation}, {asked.begin}, shelf)
    rerank, name = shelf.get(("reranker", asked.rerank), lambda: open_reranker(asked.rerank))
    rerank = _reading(rerank, asked.top)
    finder = Finder(
        graph,
        parts.search,
        asked,
        agent=parts.walker,
        guide=parts.guide,
        rerank=rerank,
        vectors=parts.vectors,
        near=parts.near,
        workers=threads(),
    )
    finder.sentences = shelf.get("sentences", lambda: finder.sentences)
    return Opened(finder, parts.encoder, name)


def open_rows(wiki: Path, graph: "Graph", asked: "FindConfig", rows: "Sequence[Row]") -> Compared:
    """Several ways, each held to as many blocks; ``asked`` says who navigates and who is the cross-encoder."""
    need_search()
    from linkwalk.downstream.shared import SideBySide

    navigation, starts = {row.navigation for row in rows}, {row.start for row in rows}
    parts = _open_parts(wiki, graph, asked, navigation, starts, Shelf())
    cross, name = None, "none"
    if any(row.rerank == "cross" for row in rows):
        cross, name = open_reranker(asked.rerank)
        cross = _reading(cross, asked.top)
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
    wiki: Path, graph: "Graph", asked: "FindConfig", navigation: set[str], starts: set[str], shelf: Shelf
) -> _Parts:
    from linkwalk.errors import ArtifactError, InputError
    from linkwalk.retrieve import Bm25
    from linkwalk.retrieve.config import NAVIGATED

    bm25 = shelf.get("bm25", lambda: Bm25.open(wiki, graph))
    agents = check_agents([asked.agent], wiki)
    if len(agents) != 1:
        raise InputError("one agent navigates at a time: name one")
    if not navigation & NAVIGATED and starts == {"bm25"}:
        return _Parts(bm25)

    name = asked.embeddings or DEFAULT
    try:
        table = open_table(wiki, graph, name, shelf)
    except ArtifactError as error:
        if asked.start not in (None, "bm25") or asked.embeddings is not None:
            raise
        raise ArtifactError(f"{error}, or read search results alone, without navigation") from None
    vectors = open_units(wiki, graph, name, shelf)
    encoder = open_encoder(wiki, agents[0], table, shelf)
    walker = guide = None
    if "walks" in navigation:
        walker = open_agent(agents[0], wiki, graph, vectors, Ways(), asked.embeddings)
    if navigation & {"tabs", "order"}:
        guide = _guide(agents[0], wiki, table)
    near = shelf.get(("near", name), lambda: _near(wiki, graph, table))
    return _Parts(bm25, walker, guide, vectors, near, encoder)


def open_reranker(asked: str | None) -> "tuple[Reranker | None, str]":
    """The reranker that was asked for, or the best there is, and its name."""
    from linkwalk.embed.model import has_minilm
    from linkwalk.errors import InputError
    from linkwalk.retrieve import Cascade, tfidf

    if asked is None:
        asked = "cross" if has_minilm() else "tfidf"
    if asked in ("tfidf", "none"):
        return (tfidf if asked == "tfidf" else None), asked
    folder = reranker_path() if asked == "cross" else Path(asked)
    if not folder.is_dir():
        raise InputError(f"no reranker {asked!r}: there are none, tfidf, cross, and folders of rerankers")
    from linkwalk.retrieve.cross import load_cross

    return Cascade(load_cross(folder)), asked


def _reading(rerank: "Reranker | None", top: int) -> "Reranker | None":
    """A reranker that reads so many sentences; the same model, whatever the number."""
    from linkwalk.retrieve import Cascade

    return Cascade(rerank.slow, rerank.quick, top=top) if isinstance(rerank, Cascade) else rerank


def _guide(agent: str, wiki: Path, table: "Embeddings") -> "Guide | None":
    """Where the agent looks: a compass's direction, or straight on for the greedy ones."""
    from linkwalk.errors import InputError
    from linkwalk.policy.checkpoint import gives_directions, open_policy, read_policy
    from linkwalk.policy.direction import Guide

    folder = policy_folder(wiki, agent)
    if agent.startswith("greedy") and folder is None:
        return None
    if folder is None or not gives_directions(read_policy(folder)):
        raise InputError(
            f"{agent} walks, but does not say where to look: let it walk, or name compass, greedy or a compass of yours"
        )
    policy = open_policy(folder, table.fingerprint)
    assert isinstance(policy, Guide), "its manifest says so"
    return policy


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
