"""How evidence is looked for: what was asked, and what it takes, opened."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwalk.navigate.ways import Ways
from linkwalk.parts import is_part, make_part, takes
from linkwalk.shipped import reranker_path
from linkwalk.wiki.agents import (
    check_agents,
    open_agent,
    open_encoder,
    open_table,
    open_units,
    own_part,
    policy_folder,
    threads,
    used_embeddings,
    usual_agent,
)
from linkwalk.wiki.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from linkwalk.downstream.rows import Row
    from linkwalk.downstream.shared import SideBySide
    from linkwalk.embed import Embeddings, Encoder
    from linkwalk.graph.store import Graph
    from linkwalk.navigate import Agent
    from linkwalk.navigate.cosine import Units
    from linkwalk.navigate.journeys import Float32s
    from linkwalk.policy.compass import Compass
    from linkwalk.retrieve import Bm25, FindConfig, Finder, Found, Reranker
    from linkwalk.retrieve.finder import Meant
    from linkwalk.retrieve.judge import Judge


QUICK = ("tfidf", "none")
"""Rerankers that are no models, and need nothing to be opened."""


class Opened:
    """A finder with what it takes to read queries; ``asked`` says all that was left open in what was asked."""

    def __init__(
        self,
        finder: "Finder",
        encoder: "Encoder | None",
        asked: "FindConfig",
        searcher: "Encoder | None" = None,
    ) -> None:
        self.finder, self.encoder, self.asked, self.searcher = finder, encoder, asked, searcher
        self.reranker = reranker_name(asked.rerank)

    def meanings(self, queries: "Sequence[str]") -> "Float32s | None":
        """What the queries mean to the agent [Q, D]; None where nobody wants to know."""
        return _meanings(self.encoder, queries)

    def meant(self, queries: "Sequence[str]") -> "Meant":
        """The same, and what they mean to search."""
        return _meant(self.encoder, self.searcher, queries)

    def find(self, queries: "Sequence[str]", count: int) -> "list[Found]":
        """What is found for each query."""
        from linkwalk.retrieve.found import Clock

        clock = Clock()
        with clock("meaning"):
            meanings, sought = self.meant(queries)
        return self.finder.find_many(queries, count, meanings=meanings, sought=sought, clock=clock)

    def find_waves(self, query: str, count: int) -> "Iterator[Found]":
        """What is found for a query, as soon as anything is."""
        return self.finder.find_waves(query, count, lambda: self.meant([query]))

    @property
    def alone(self) -> bool:
        """Whether it serves one thread at a time: where a network reads, or somebody's own reranker."""
        return self.encoder is not None or self.reranker not in QUICK


def _meanings(encoder: "Encoder | None", queries: "Sequence[str]") -> "Float32s | None":
    from linkwalk.navigate import unit_rows

    return None if encoder is None else unit_rows(encoder.encode(list(queries)))


def _meant(encoder: "Encoder | None", searcher: "Encoder | None", queries: "Sequence[str]") -> "Meant":
    """What queries mean to the agent and to search."""
    from linkwalk.retrieve.finder import Meant

    # One after the other: two threads with short products each wait for each other's Python on a busy machine.
    return Meant(_meanings(encoder, queries), _meanings(searcher, queries))


class Compared:
    """Several ways of retrieval at once."""

    def __init__(
        self,
        ways: "SideBySide",
        encoder: "Encoder | None",
        reranker: str,
        searcher: "Encoder | None" = None,
    ) -> None:
        self.ways, self.encoder, self.reranker, self.searcher = ways, encoder, reranker, searcher

    def find(self, queries: "Sequence[str]", count: int) -> "dict[str, list[Found]]":
        """What each way finds for each query."""
        return self.ways.find_many(queries, count, *_meant(self.encoder, self.searcher, queries))


class _Parts(NamedTuple):
    """What ways of retrieval are put together from."""

    search: "Bm25"
    walker: "Agent | None" = None
    compass: "Compass | None" = None
    vectors: "Units | None" = None
    near: Any = None
    encoder: "Encoder | None" = None
    table: "Embeddings | None" = None


def open_finder(
    wiki: Path,
    graph: "Graph",
    asked: "FindConfig",
    shelf: Shelf | None = None,
    *,
    device: str = "auto",
    mapped: bool = False,
) -> Opened:
    """All that a way of retrieval needs, opened; nothing that it does not need, nor what is on the shelf already.

    With the embeddings ``mapped`` it takes little memory, and is as quick for some queries at a time.
    """
    need_search()
    from linkwalk.retrieve import Finder

    shelf = shelf or Shelf()
    asked = settled(wiki, graph, asked, {asked.navigation}, {asked.begin}, shelf)
    parts = _open_parts(wiki, graph, asked, {asked.navigation}, {asked.begin}, shelf, device, mapped)
    judge = _open_judge(graph, asked, parts.table, shelf, device)
    finder = Finder(
        graph,
        parts.search,
        asked,
        agent=parts.walker,
        compass=parts.compass,
        rerank=None if judge else open_reranker(asked.rerank, asked.top, shelf, device),
        vectors=parts.vectors,
        near=parts.near,
        judge=judge,
        workers=threads(),
    )
    finder.sentences = shelf.get("sentences", lambda: finder.sentences)
    searcher = _open_searcher(asked, parts.table, shelf, device) if judge else None
    return Opened(finder, parts.encoder, asked, searcher)


def settled(
    wiki: Path,
    graph: "Graph",
    asked: "FindConfig",
    navigation: set[str],
    starts: set[str],
    shelf: Shelf,
) -> "FindConfig":
    """What was asked, with what was left open: which embeddings, who navigates, who ranks."""
    from linkwalk.errors import ArtifactError

    if not looks(navigation, starts):
        return replace(asked, rerank=asked.rerank or usual_reranker(None))
    named = [asked.agent] if isinstance(asked.agent, str) else []
    try:
        name = shelf.get(
            ("used", asked.embeddings, *named), lambda: used_embeddings(wiki, graph, asked.embeddings, named)
        )
        table = open_table(wiki, graph, name, shelf)
    except ArtifactError as error:
        if asked.start not in (None, "bm25") or asked.embeddings is not None:
            raise
        raise ArtifactError(f"{error}, or read search results alone, without navigation") from None
    return replace(
        asked,
        embeddings=name,
        agent=asked.agent or usual_agent(wiki, table, directing=bool(navigation & {"tabs", "order"})),
        rerank=asked.rerank or usual_reranker(table),
    )


def looks(navigation: set[str], starts: set[str]) -> bool:
    """Whether embeddings are looked at."""
    from linkwalk.retrieve.config import NAVIGATED

    return bool(navigation & NAVIGATED) or starts != {"bm25"}


def open_rows(wiki: Path, graph: "Graph", asked: "FindConfig", rows: "Sequence[Row]") -> Compared:
    """Several ways, each held to as many blocks; ``asked`` says who navigates and who is the cross-encoder."""
    need_search()
    from linkwalk.downstream.shared import Remembered, SideBySide

    navigation, starts = {row.navigation for row in rows}, {row.start for row in rows}
    shelf = Shelf()
    asked = settled(wiki, graph, asked, navigation, starts, shelf)
    parts = _open_parts(wiki, graph, asked, navigation, starts, shelf, "auto")
    ranked = any(row.rerank == "cross" for row in rows)
    judge = _open_judge(graph, asked, parts.table, shelf, "auto") if ranked else None

    def cross(quick: "Reranker") -> "Reranker | None":
        return open_reranker(asked.rerank, asked.top, shelf, "auto", quick, Remembered)

    ways = SideBySide(
        graph,
        parts.search,
        rows,
        asked.candidates,
        cross=cross if ranked and judge is None else None,
        judge=judge,
        agent=parts.walker,
        compass=parts.compass,
        vectors=parts.vectors,
        near=parts.near,
        workers=threads(),
    )
    searcher = _open_searcher(asked, parts.table, shelf, "auto") if judge else None
    return Compared(ways, parts.encoder, reranker_name(asked.rerank) if ranked else "none", searcher)


def _open_parts(
    wiki: Path,
    graph: "Graph",
    asked: "FindConfig",
    navigation: set[str],
    starts: set[str],
    shelf: Shelf,
    device: str,
    mapped: bool = False,
) -> _Parts:
    from linkwalk.errors import InputError
    from linkwalk.retrieve import Bm25

    bm25 = shelf.get("bm25", lambda: Bm25.open(wiki, graph))
    agent = asked.agent
    if isinstance(agent, str):
        agent, *others = shelf.get(("checked", agent), lambda: check_agents([asked.who], wiki))
        if others:
            raise InputError("one agent navigates at a time: name one")
    if not looks(navigation, starts):
        return _Parts(bm25)

    assert asked.embeddings is not None, "settled sees to it"
    name = asked.embeddings
    table = open_table(wiki, graph, name, shelf)
    vectors = open_units(wiki, graph, name, shelf, mapped=mapped)
    encoder = open_encoder(wiki, agent if isinstance(agent, str) else None, table, shelf, device)
    walker: Any = None
    compass = None
    if "walks" in navigation:
        walker = agent
        if isinstance(agent, str):
            walker = shelf.get(
                ("agent", agent, Ways(), name),
                lambda: open_agent(asked.who, wiki, graph, vectors, Ways(), asked.embeddings),
            )
        if not callable(getattr(walker, "run", None)):
            raise InputError(f"{asked.who} does not walk: let it say where to look, with tabs or order")
    if navigation & {"tabs", "order"}:
        compass = _compass(asked, wiki, graph, vectors, table, shelf)
    near = shelf.get(("near", name), lambda: _near(wiki, graph, table))
    return _Parts(bm25, walker, compass, vectors, near, encoder, table)


def usual_reranker(table: "Embeddings | None") -> str:
    """Who ranks where nobody is named: the cross-encoder that ships stands on MiniLM, and reads what that reads.

    A wiki that MiniLM has embedded is one that it reads, whichever table is looked at.
    """
    from linkwalk.embed.model import has_minilm

    return "cross" if _minilm_reads(table) and has_minilm() else "tfidf"


def _minilm_reads(table: "Embeddings | None") -> bool:
    from linkwalk.embed.model import MINILM, MINILM_WALKS

    return (
        table is None
        or table.manifest["encoder"] in (MINILM_WALKS, MINILM)
        or ("trained" in table.manifest and any(map(table.has_beside, (MINILM_WALKS, MINILM))))
    )


def _open_judge(
    graph: "Graph", asked: "FindConfig", table: "Embeddings | None", shelf: Shelf, device: str
) -> "Judge | None":
    """Who reads, weighs and ranks: where the reranker named has learned to, and knows embeddings such as these."""
    from linkwalk.retrieve.block_folder import read_ranking
    from linkwalk.retrieve.block_reader import BlockReader
    from linkwalk.retrieve.cross import MANIFEST
    from linkwalk.retrieve.judge import Judge

    name = asked.rerank
    if not isinstance(name, str) or name in QUICK or not _minilm_reads(table):
        return None
    folder = _folder(name)
    if not (folder / MANIFEST).exists():
        return None
    reader = shelf.get(("reranker", name), lambda: _load_cross(folder, device))
    weights = shelf.get(("ranking", name), lambda: read_ranking(folder))
    if weights is None or not isinstance(reader, BlockReader):
        return None
    return shelf.get(("judge", name), lambda: Judge(graph, reader, weights))


def _open_searcher(
    asked: "FindConfig", table: "Embeddings | None", shelf: Shelf, device: str
) -> "Encoder | None":
    """What reads queries for dense search, where the folder of the reranker has one for these embeddings."""
    from linkwalk.retrieve.block_folder import load_search

    if table is None or not isinstance(asked.rerank, str):
        return None
    folder = _folder(asked.rerank)
    return shelf.get(("searcher", table.name, folder), lambda: load_search(folder, table, device=device))


def reranker_name(asked: "str | Reranker | None") -> str:
    """What answers call who ranks."""
    from linkwalk.retrieve.rerank import name_of

    if asked is None:
        return usual_reranker(None)
    return asked if isinstance(asked, str) else name_of(asked)


def open_reranker(
    asked: "str | Reranker | None",
    top: int,
    shelf: Shelf,
    device: str = "cpu",
    quick: "Reranker | None" = None,
    memory: "Callable[[Reranker], Reranker] | None" = None,
) -> "Reranker | None":
    """Who ranks: an object as it is, one by name, or a cross-encoder that reads ``top`` sentences of TF-IDF's choice.

    One that reads blocks reads all of them. ``quick`` takes the place of TF-IDF, and ``memory`` is put before the
    cross-encoder.
    """
    from linkwalk.retrieve import Cascade, tfidf
    from linkwalk.retrieve.block_reader import BlockReader

    if not isinstance(asked, str | None):
        return _checked(asked, reranker_name(asked))
    name = reranker_name(asked)
    if name in QUICK:
        return tfidf if name == "tfidf" else None
    check_reranker(name)
    folder = _folder(name)
    if not folder.is_dir():
        return shelf.get(("reranker", name), lambda: _own_reranker(name))
    slow: Reranker = shelf.get(("reranker", name), lambda: _load_cross(folder, device))
    if isinstance(slow, BlockReader):
        return slow
    return Cascade(memory(slow) if memory else slow, quick or tfidf, top=top)


def check_reranker(name: str) -> None:
    """Refuse what is no reranker's name."""
    from linkwalk.errors import InputError

    if name not in QUICK and not _folder(name).is_dir() and not is_part(name):
        there = "none, tfidf, cross, folders of rerankers, and package.module:Name"
        raise InputError(f"no reranker {name!r}: there are {there}")


def _folder(name: str) -> Path:
    """Where a cross-encoder would be."""
    return reranker_path() if name == "cross" else Path(name)


def _load_cross(folder: Path, device: str) -> "Reranker":
    from linkwalk.retrieve.cross import load_cross

    return load_cross(folder, device=device)


def _own_reranker(name: str) -> "Reranker":
    """A reranker of one's own; a class is made with nothing."""
    return _checked(make_part(name, "reranker"), name)


def _checked(rerank: "Reranker", name: str) -> "Reranker":
    from linkwalk.errors import InputError

    if not callable(rerank) or not takes(rerank, "", [], []):
        raise InputError(f"{name} is no reranker: it is to be called with a query, titles and sentences")
    return rerank


def _compass(
    asked: "FindConfig", wiki: Path, graph: "Graph", vectors: "Units", table: "Embeddings", shelf: Shelf
) -> "Compass | None":
    """Where the agent looks: a compass's direction, straight on for the greedy ones, or what one's own says."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import BASELINES
    from linkwalk.policy.compass import Compass

    agent, name = asked.agent, asked.who
    if isinstance(agent, str):
        if name in BASELINES and not BASELINES[name].blind:
            return None
        agent = shelf.get(
            ("compass", table.name, name), lambda: _open_compass(name, wiki, graph, vectors, table)
        )
    if not isinstance(agent, Compass):
        raise InputError(
            f"{name} walks, but does not say where to look: let it walk, or name compass, greedy or a compass of yours"
        )
    return agent


def _open_compass(name: str, wiki: Path, graph: "Graph", vectors: "Units", table: "Embeddings") -> Any:
    from linkwalk.policy.checkpoint import is_compass, open_policy, read_policy

    folder = policy_folder(wiki, name)
    if folder is not None:
        return open_policy(folder, table.fingerprint) if is_compass(read_policy(folder)) else None
    return own_part(name, graph, vectors) if is_part(name) else None


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
