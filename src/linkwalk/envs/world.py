"""What an environment walks on: a workspace's links, their kinds and the embeddings of its pages (sec. 4.1)."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from linkwalk.arrays import Bools, Bytes, Float16s, Int32s
from linkwalk.compiled import OUTSIDE
from linkwalk.embed import Embeddings
from linkwalk.embed.store import names
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.store import KINDS, Graph, types_of


class Workspaced(Protocol):
    """Whatever has a graph, the folder it was opened from and embeddings by name, as ``Wiki`` does."""

    folder: Path
    graph: Graph
    embeddings: str | None


@dataclass(frozen=True)
class World:
    """The links that can be clicked, N pages and E links, and the table of embeddings where one looks at it."""

    graph: Graph
    """For names and texts."""
    forward: Csr
    kinds: Bytes
    """The type of every link [E], as policies tell them apart (``graph.store.TYPES``)."""
    table: Float16s | None
    """Embeddings [N, D] as they are stored, mapped."""

    @classmethod
    def open(
        cls,
        wiki: "str | Path | Workspaced",
        *,
        embeddings: str | None = None,
        max_links: int | None = None,
        sees: bool = True,
    ) -> "World":
        """Open a workspace; without ``sees`` it need not have embeddings.

        With ``max_links`` a page keeps the first of its links only. The others are not there for whoever draws episodes
        either, so that every goal can be reached.
        """
        if isinstance(wiki, str | Path):
            folder, graph = Path(wiki), Graph.open(wiki)
        else:
            folder, graph, embeddings = wiki.folder, wiki.graph, embeddings or wiki.embeddings
        kinds = graph.out_kinds
        if len(kinds) and kinds.max() >= len(KINDS):
            raise IndexError(OUTSIDE)
        forward, kinds = _first_links(graph.forward, types_of(kinds), max_links)
        sees = sees or embeddings is not None or bool(names(folder))
        table = Embeddings.open(folder, embeddings, graph).vectors if sees else None
        return cls(graph, forward, kinds, table)

    @cached_property
    def reverse(self) -> Csr:
        """In-links."""
        cut = len(self.forward.indices) < self.graph.edges
        return fixed(transpose(self.forward)) if cut else self.graph.reverse

    @cached_property
    def most_links(self) -> int:
        """A, the links of the page that has most."""
        return int(self.forward.degrees().max(initial=1))

    def check_ends(self, starts: Int32s, goals: Int32s) -> None:
        """Refuse episodes that cannot be played."""
        for node in (*starts[_outside(starts, self.graph.nodes)], *goals[_outside(goals, self.graph.nodes)]):
            self.node(int(node))
        if len(same := starts[starts == goals]):
            raise InputError(f"{self.graph.name(int(same[0]))!r} is both start and goal: choose two pages")
        indptr = self.forward.indptr
        if len(stuck := starts[indptr[starts + 1] == indptr[starts]]):
            raise InputError(f"no link leads out of {self.graph.name(int(stuck[0]))!r}: choose another start")

    def node(self, name: str | int) -> int:
        """The number of a page that is named by its title, ``"Title (3)"`` or the number itself."""
        if isinstance(name, str):
            return self.graph.find(name)
        if not 0 <= name < self.graph.nodes:
            raise InputError(
                f"no block {name}: the blocks of {self.graph.snapshot} are 0 to {self.graph.nodes - 1}"
            )
        return int(name)


def _outside(nodes: Int32s, size: int) -> Bools:
    return (nodes < 0) | (nodes >= size)


def _first_links(graph: Csr, kinds: Bytes, most: int | None) -> tuple[Csr, Bytes]:
    """The first links of every row and their kinds."""
    if most is None:
        return graph, kinds
    if most < 1:
        raise InputError(f"max_links={most}: choose 1 or more")
    degrees = graph.degrees()
    kept = np.arange(len(graph.indices)) - np.repeat(graph.indptr[:-1], degrees) < most
    indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.minimum(degrees, most))))
    return fixed(Csr(indptr, graph.indices[kept])), kinds[kept]


def fixed(graph: Csr) -> Csr:
    """A graph that nobody can write to, as mapped ones are: kernels are compiled for these alone."""
    for array in graph:
        array.flags.writeable = False
    return graph
