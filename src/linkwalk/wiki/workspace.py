"""A workspace, each part opened once; and so who walks, who ranks and what is looked at, where nobody says."""

import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar

from linkwalk.embed import Embeddings
from linkwalk.embed.encoder import TellingEncoder
from linkwalk.embed.store import choose
from linkwalk.errors import ArtifactError, DamagedError, InputError, LinkwalkError, SuspectError
from linkwalk.graph.store import Graph
from linkwalk.navigate import BASELINES, Agent, Units, open_baseline, units_of
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.map_walkers import LearnedMapWalker
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.trained_map import read_map, shipped_map
from linkwalk.policy.checkpoint import open_policy, read_policy
from linkwalk.policy.compass import Compass
from linkwalk.policy.target import load_target
from linkwalk.retrieve import Bm25, Reranker
from linkwalk.shipped import POLICY
from linkwalk.wiki.agents import (
    LEARNED_MAP,
    Walkable,
    fitting_manifest,
    fitting_policies,
    is_blind,
    is_map,
    map_weights,
    own_agent,
    policy_folder,
    policy_names,
    usual_agent,
    with_its_map,
    without_shipped,
)
from linkwalk.wiki.rerankers import reranker_name, usual_reranker

Thing = TypeVar("Thing")


def threads() -> int:
    """Threads that a batch of episodes is shared among."""
    return min(4, os.cpu_count() or 1)


def need_search() -> None:
    """Say what to install where the search engine is missing."""
    if find_spec("tantivy") is None:
        raise InputError("tantivy is not installed: pip install 'linkwalk[find]'")


class Shelf:
    """Things by name, made when first asked for; what could not be made is tried again next time."""

    def __init__(self) -> None:
        self._things: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, RLock] = {}  # one each, so that nobody waits for what is not wanted
        self._lock = Lock()

    def get(self, name: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of that name; where two threads ask at once, one makes it and the other waits."""
        with self._lock:
            if name in self._things:
                found: Thing = self._things[name]
                return found
            own = self._locks.setdefault(name, RLock())
        with own:
            if name not in self._things:
                made = make()
                with self._lock:
                    self._things[name] = made
            found = self._things[name]
            return found


class Workspace:
    """A graph and what was made for it; ``embeddings`` and ``rerank`` are what somebody wants.

    With the embeddings ``mapped`` it takes little memory, and is as quick for some queries at a time. Networks that
    read sentences do so on ``device``.
    """

    def __init__(
        self,
        folder: Path,
        graph: Graph,
        embeddings: str | None = None,
        rerank: str | Reranker | None = None,
        *,
        device: str = "auto",
        mapped: bool = False,
    ) -> None:
        self.folder, self.graph, self.embeddings, self.rerank = folder, graph, embeddings, rerank
        self.device, self.mapped = device, mapped
        self.opened = Shelf().get
        """What has been opened, by name, or what opens it now."""

    def table(self, *agents: str, embeddings: str | None = None) -> Embeddings:
        """The embeddings that are looked at: those named, or the ones that fit the agents, or are there at all."""
        name = self.embeddings if embeddings is None else embeddings
        if name is None:
            name = self.opened(("used", *agents), lambda: self._choose(agents))
        return self.opened(("table", name), lambda: Embeddings.open(self.folder, name, self.graph))

    def _choose(self, agents: Sequence[str]) -> str:
        """What ``embed.store.choose`` says where nobody does: a policy named wants its own."""
        fits = []
        for folder in (policy_folder(self.folder, name) for name in agents):
            with suppress(LinkwalkError):  # said when it is opened
                fits += [] if folder is None else [read_policy(folder)["encoder"]]
        return choose(self.folder, self.graph, None, fits[:1])

    def units(self, table: Embeddings) -> Units:
        """The rows of a table, of unit length."""
        return self.opened(("units", table.name), lambda: units_of(table.vectors, mapped=self.mapped))

    def table_for(self, agents: Sequence[str]) -> Embeddings | None:
        """What some agents look at; None if there are no embeddings, and neither an agent nor the user wants them."""
        try:
            table = self.table(*agents)
            self.units(table)
        except ArtifactError as error:
            if self.embeddings is not None:
                raise
            if all(map(is_blind, agents)):
                return None
            if isinstance(error, DamagedError | SuspectError):
                raise
            raise ArtifactError(f"{error}, or name an agent that needs none, such as random") from None
        return table

    def agent(
        self,
        name: str,
        ways: MoveConfig,
        table: Embeddings | None,
        ground: Walkable | None = None,
        vectors: Units | None = None,
    ) -> Agent:
        """The agent of that name, moving in those ways: a baseline, or a learned policy.

        It walks from block to block and looks at the table, or on another ``ground``, at the ``vectors`` of its nodes.
        """
        ground = ground or self.graph
        if vectors is None and table is not None:
            vectors = self.units(table)
        if is_map(name) or name == LEARNED_MAP:
            trained = read_map(Path(name)) if is_map(name) else shipped_map()
            length = ground.article_length
            return LearnedMapWalker(
                name, ground.forward, vectors, ways, workers=threads(), trained=trained, length=length
            )
        if name in BASELINES:
            return open_baseline(name, ground.forward, vectors, ways, workers=threads())
        folder = policy_folder(self.folder, name)
        if folder is None:
            return own_agent(name, ground, vectors)
        assert table is not None, "table_for sees to it"
        assert vectors is not None, "likewise"
        manifest = fitting_manifest(folder, name, self.folder, table)
        policy = open_policy(folder, table.fingerprint)
        if isinstance(policy, Compass):
            ways, weights = with_its_map(ways, folder, manifest), map_weights(folder, manifest, ground)
            return CompassWalker(
                name, policy, ground.forward, vectors, ways, workers=threads(), weights=weights
            )
        from linkwalk.navigate.policy_walker import PolicyWalker  # which needs torch

        rows = table.vectors if ground is self.graph else vectors[:]
        return PolicyWalker(name, policy, ground.forward, ground.out_kinds, rows, ways)

    def encoder(self, table: Embeddings, agent: str | None = None) -> TellingEncoder:
        """What an agent reads sentences with: its policy's target encoder, or else the one that made the embeddings.

        None is an agent that is an object, and has no policy.
        """
        plain = self.opened(("encoder", table.name), lambda: table.encoder(self.device))
        folder = None if agent is None or agent in BASELINES else policy_folder(self.folder, agent)
        if folder is None:
            return plain
        own = self.opened(
            ("encoder", table.name, folder), lambda: load_target(folder, table, device=self.device)
        )
        return own or plain

    def bm25(self) -> Bm25:
        """The index of words."""
        need_search()
        return self.opened("bm25", lambda: Bm25.open(self.folder, self.graph))

    @property
    def usual(self) -> str:
        """Who walks where nobody is named: a policy that fits the embeddings, or else greedy-map.

        Without embeddings it is the policy that ships, which says what is missing.
        """
        table = self._any_table()
        return POLICY if table is None else usual_agent(self.folder, table)

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
        table = self._any_table()
        if table is None:
            return [name for name, kind in BASELINES.items() if kind.blind]
        policies = fitting_policies(self.folder, table)
        return list(dict.fromkeys((usual_agent(self.folder, table), *policies, *BASELINES)))

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
        return usual_reranker(self._any_table())

    def _any_table(self) -> Embeddings | None:
        """The embeddings that are looked at where nobody says, if they can be opened."""
        try:
            return self.table()
        except LinkwalkError:
            return None

    def missing(self) -> dict[str, str]:
        """What cannot be done here yet, each with the line that says what helps.

        ``find``: there is no index; ``navigate``: no embeddings; ``read``: nothing to read sentences with; ``policy``:
        not the embeddings that the policy which ships goes by.
        """
        found = {}
        try:
            self.bm25()
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
