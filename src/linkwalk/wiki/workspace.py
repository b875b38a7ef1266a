"""What a workspace has, and so who walks, who ranks and what is looked at, where nobody says."""

from pathlib import Path

from linkwalk.embed import Embeddings
from linkwalk.errors import ArtifactError, LinkwalkError
from linkwalk.graph.store import Graph
from linkwalk.navigate import BASELINES
from linkwalk.policy.checkpoint import read_policy
from linkwalk.retrieve import Bm25, Reranker
from linkwalk.shipped import POLICY
from linkwalk.wiki.agents import (
    open_table,
    policies,
    policy_folder,
    policy_names,
    used_embeddings,
    usual_agent,
    without_shipped,
)
from linkwalk.wiki.retrieval import need_search, reranker_name, usual_reranker
from linkwalk.wiki.shelf import Shelf


class Workspace:
    """A graph and what was made for it; ``embeddings`` and ``rerank`` are what somebody wants."""

    def __init__(
        self, folder: Path, graph: Graph, embeddings: str | None, rerank: str | Reranker | None
    ) -> None:
        self.folder, self.graph = folder, graph
        self.embeddings, self.rerank = embeddings, rerank
        self._shelf = Shelf()

    def table(self, *agents: str) -> Embeddings:
        """The embeddings that are looked at: those named, or the ones that fit the agents, or are there at all."""
        used = self._shelf.get(
            ("used", self.embeddings, *agents),
            lambda: used_embeddings(self.folder, self.graph, self.embeddings, agents),
        )
        return open_table(self.folder, self.graph, used, self._shelf)

    @property
    def usual(self) -> str:
        """Who walks where nobody is named: a policy that fits the embeddings, or else greedy-map."""
        try:
            return usual_agent(self.folder, self.table())
        except LinkwalkError:
            return POLICY

    @property
    def without_shipped(self) -> str | None:
        """What would let the policy that ships walk here, where it cannot for the table's sake alone."""
        try:
            return without_shipped(self.folder, self.graph, self.table())
        except LinkwalkError:
            return None

    @property
    def agents(self) -> list[str]:
        """Who can walk here, the usual one first: policies that fit the embeddings, and baselines."""
        try:
            table = self.table()
        except LinkwalkError:
            return [name for name, kind in BASELINES.items() if kind.blind]
        # Looked for each time: another may have been trained.
        return list(
            dict.fromkeys((usual_agent(self.folder, table), *policies(self.folder, table), *BASELINES))
        )

    def why_no_agent(self, name: str) -> LinkwalkError:
        """Why nobody of that name walks here; a policy of the workspace that cannot be opened says it itself."""
        why = self.missing().get("navigate")
        folder = policy_folder(self.folder, name) if name in policy_names(self.folder) else None
        if folder is not None and why is None:
            try:
                read_policy(folder, self.table(name).fingerprint)
            except LinkwalkError as error:
                return error
        others = f" (others need embeddings: {why})" if why else ""
        return ArtifactError(f"no agent named {name[:80]!r}: choose from {', '.join(self.agents)}{others}")

    @property
    def ranks(self) -> str:
        """Who ranks sentences where nobody is named."""
        if self.rerank is not None:
            return reranker_name(self.rerank)
        try:
            return usual_reranker(self.table())
        except LinkwalkError:
            return usual_reranker(None)

    def missing(self) -> dict[str, str]:
        """What cannot be done here yet, each with the line that says what helps.

        ``find``: there is no index; ``navigate``: no embeddings; ``read``: nothing to read sentences with; ``policy``:
        not the embeddings that the policy which ships goes by.
        """
        found = {}
        try:
            need_search()
            self._shelf.get("bm25", lambda: Bm25.open(self.folder, self.graph))
        except LinkwalkError as error:
            found["find"] = str(error)
        try:
            table = self.table()
        except ArtifactError as error:
            found["navigate"] = str(error)
            return found
        try:
            table.check_encoder()
        except LinkwalkError as error:
            found["read"] = str(error)
        if line := self.without_shipped:
            found["policy"] = line
        return found
