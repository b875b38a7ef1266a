"""How evidence is looked for: what was asked, and what it takes, opened."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwalk.arrays import Float32s
from linkwalk.embed import Embeddings, Encoder
from linkwalk.errors import ArtifactError, InputError
from linkwalk.navigate import BASELINES, unit_rows
from linkwalk.navigate.moves import MoveConfig
from linkwalk.parts import is_part
from linkwalk.policy.checkpoint import is_compass, open_policy, read_policy
from linkwalk.policy.compass import Compass
from linkwalk.retrieve import Cascade, EvidenceList, FindConfig, Finder, Reranker, tfidf
from linkwalk.retrieve.config import NAVIGATED
from linkwalk.retrieve.evidence import Clock
from linkwalk.retrieve.finder import QueryVectors
from linkwalk.retrieve.judge import Judge
from linkwalk.wiki.agents import check_agents, own_part, policy_folder, usual_agent
from linkwalk.wiki.rerankers import (
    QUICK,
    open_judge,
    open_reranker,
    open_searcher,
    reranker_name,
    usual_reranker,
)
from linkwalk.wiki.workspace import Workspace, need_search, threads

if TYPE_CHECKING:
    from linkwalk.downstream.methods import Method, SideBySide

_DIRECTED = {"tabs", "order"}  # an agent says where to look


class QueryReader(NamedTuple):
    """What reads queries: for the agent, and for search where it has a reader of its own."""

    encoder: Encoder | None
    searcher: Encoder | None

    def meant(self, queries: Sequence[str]) -> QueryVectors:
        """What the queries mean to the agent and to search [Q, D]; None where nobody wants to know."""
        # One after the other: two threads with short products each wait for each other's Python on a busy machine.
        return QueryVectors(_meanings(self.encoder, queries), _meanings(self.searcher, queries))


def _meanings(encoder: Encoder | None, queries: Sequence[str]) -> Float32s | None:
    return None if encoder is None else unit_rows(encoder.encode(list(queries)))


class Retriever:
    """A finder with what reads queries; ``asked`` says all that was left open in what was asked."""

    def __init__(self, finder: Finder, reader: QueryReader, asked: FindConfig) -> None:
        self.finder, self.reader, self.asked = finder, reader, asked
        self.reranker = reranker_name(asked.rerank)

    def find(self, queries: Sequence[str], count: int) -> list[EvidenceList]:
        """What is found for each query."""
        clock = Clock()
        with clock("meaning"):
            meanings, sought = self.reader.meant(queries)
        return self.finder.find_many(queries, count, meanings=meanings, sought=sought, clock=clock)

    def find_waves(self, query: str, count: int) -> Iterator[EvidenceList]:
        """What is found for a query, as soon as anything is."""
        return self.finder.find_waves(query, count, lambda: self.reader.meant([query]))

    @property
    def alone(self) -> bool:
        """Whether it serves one thread at a time: where a network reads, or somebody's own reranker."""
        return self.reader.encoder is not None or self.reranker not in QUICK


class RowRetriever:
    """Several ways of retrieval at once."""

    def __init__(self, ways: "SideBySide", reader: QueryReader, reranker: str) -> None:
        self.ways, self.reader, self.reranker = ways, reader, reranker

    def find(self, queries: Sequence[str], count: int) -> dict[str, list[EvidenceList]]:
        """What each way finds for each query."""
        return self.ways.find_many(queries, count, *self.reader.meant(queries))


def open_finder(workspace: Workspace, asked: FindConfig) -> Retriever:
    """All that a way of retrieval needs, opened; nothing that it does not need, nor what is open already."""
    parts = _open_parts(workspace, asked, {asked.navigation}, {asked.begin}, judged=True)
    asked = parts.asked
    rerank = None
    if parts.judge is None:
        rerank = open_reranker(workspace, asked.rerank, lambda slow: Cascade(slow, tfidf, top=asked.top))
    finder = Finder(
        workspace.graph, workspace.bm25(), asked, rerank=rerank, judge=parts.judge, **parts.navigation
    )
    finder.sentences = workspace.opened("sentences", lambda: finder.sentences)
    return Retriever(finder, parts.reader, asked)


def open_rows(workspace: Workspace, asked: FindConfig, rows: "Sequence[Method]") -> RowRetriever:
    """Several ways, each held to as many blocks; ``asked`` says who navigates and who is the cross-encoder."""
    from linkwalk.downstream.methods import PairScoreCache, SideBySide

    ranked = any(row.rerank == "cross" for row in rows)
    parts = _open_parts(
        workspace, asked, {row.navigation for row in rows}, {row.start for row in rows}, judged=ranked
    )
    asked = parts.asked

    def cross(quick: Reranker) -> Reranker | None:
        return open_reranker(
            workspace, asked.rerank, lambda slow: Cascade(PairScoreCache(slow), quick, top=asked.top)
        )

    ways = SideBySide(
        workspace.graph,
        workspace.bm25(),
        rows,
        asked.candidates,
        cross=cross if ranked and parts.judge is None else None,
        judge=parts.judge,
        **parts.navigation,
    )
    return RowRetriever(ways, parts.reader, reranker_name(asked.rerank) if ranked else "none")


def settled(
    workspace: Workspace, asked: FindConfig, navigation: set[str], starts: set[str]
) -> tuple[FindConfig, Embeddings | None]:
    """What was asked, with what was left open: who navigates, who ranks, and the embeddings that are looked at."""
    if not navigation & NAVIGATED and starts == {"bm25"}:
        return replace(asked, rerank=asked.rerank or usual_reranker(None)), None
    named = [asked.agent] if isinstance(asked.agent, str) else []
    try:
        table = workspace.table(*named, embeddings=asked.embeddings)
    except ArtifactError as error:
        if asked.start not in (None, "bm25") or asked.embeddings is not None:
            raise
        raise ArtifactError(f"{error}, or read search results alone, without navigation") from None
    asked = replace(
        asked,
        embeddings=table.name,
        agent=asked.agent or usual_agent(workspace.folder, table, directing=bool(navigation & _DIRECTED)),
        rerank=asked.rerank or usual_reranker(table),
    )
    return asked, table


class _Parts(NamedTuple):
    """What ways of retrieval are put together from."""

    asked: FindConfig
    """With nothing left open."""
    reader: QueryReader
    judge: Judge | None
    navigation: dict[str, Any]
    """What a finder goes on from search results with, by the names of its arguments."""


def _open_parts(
    workspace: Workspace, asked: FindConfig, navigation: set[str], starts: set[str], *, judged: bool
) -> _Parts:
    need_search()
    asked, table = settled(workspace, asked, navigation, starts)
    workspace.bm25()
    agent = asked.agent
    if isinstance(agent, str):
        folder, who = workspace.folder, asked.who
        agent, *others = workspace.opened(("checked", who), lambda: check_agents([who], folder))
        if others:
            raise InputError("one agent navigates at a time: name one")
    encoder, going = None, dict[str, Any](workers=threads())
    if table is not None:
        going["vectors"] = workspace.units(table)
        encoder = workspace.encoder(table, agent if isinstance(agent, str) else None)
        going |= {
            "agent": _open_walker(workspace, asked, table) if "walks" in navigation else None,
            "compass": _open_compass(workspace, asked, table) if navigation & _DIRECTED else None,
            "near": workspace.opened(("near", table.name), lambda: _near(workspace, table)),
        }
    judge = open_judge(workspace, asked, table) if judged else None
    searcher = open_searcher(workspace, asked, table) if judge else None
    return _Parts(asked, QueryReader(encoder, searcher), judge, going)


def _open_walker(workspace: Workspace, asked: FindConfig, table: Embeddings) -> Any:
    """Who walks from each start."""
    name, walker = asked.who, asked.agent
    if isinstance(walker, str):
        walker = workspace.opened(
            ("agent", name, MoveConfig(), table.name), lambda: workspace.agent(name, MoveConfig(), table)
        )
    if not callable(getattr(walker, "run", None)):
        raise InputError(f"{name} does not walk: let it say where to look, with tabs or order")
    return walker


def _open_compass(workspace: Workspace, asked: FindConfig, table: Embeddings) -> Compass | None:
    """Where the agent looks: a compass's direction, straight on for the greedy ones, or what one's own says."""
    name, compass = asked.who, asked.agent
    if isinstance(compass, str):
        if name in BASELINES and not BASELINES[name].blind:
            return None
        compass = workspace.opened(("compass", table.name, name), lambda: _compass(workspace, name, table))
    if not isinstance(compass, Compass):
        raise InputError(
            f"{name} walks, but does not say where to look: let it walk, or name compass, greedy or a compass of yours"
        )
    return compass


def _compass(workspace: Workspace, name: str, table: Embeddings) -> Any:
    folder = policy_folder(workspace.folder, name)
    if folder is not None:
        return open_policy(folder, table.fingerprint) if is_compass(read_policy(folder)) else None
    return own_part(name, workspace.graph, workspace.units(table)) if is_part(name) else None


def _near(workspace: Workspace, table: Embeddings) -> Any:
    """The index of embeddings, where looking at all of them takes too long."""
    from linkwalk.retrieve.dense import WORTH_IT, Dense

    index = workspace.folder / "index" / "dense" / "manifest.json"
    if workspace.graph.nodes < WORTH_IT or not index.exists():
        return None
    return Dense.open(workspace.folder, table)
