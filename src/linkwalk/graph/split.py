"""Cuts a graph into two disjoint halves, one to train on and one to be tested on (app. A.2).

The paper sorts nodes by in-degree and gives odd ranks to train, even ranks to eval. ``by="node"`` does that;
by default whole articles move, so that no article is known in part when the other half is walked.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from linkwalk.arrays import Bools, Int32s, Int64s
from linkwalk.artifact import locked, publish
from linkwalk.compiled import kernel, row_of, within
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, links_of
from linkwalk.graph.store import Graph
from linkwalk.graph.subgraph import write_subgraph
from linkwalk.progress import Progress, Stage

HALVES = ("train", "eval")
By = Literal["article", "node"]

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Half:
    """One half as it was written."""

    name: str
    workspace: Path
    articles: int
    nodes: int
    edges_kept: dict[str, int]
    edges_cut: dict[str, int]
    """Edges of the half's nodes that led out of it, by kind."""
    exhausted: bool
    """Fewer nodes than asked for: no link led to another node of this half."""

    @property
    def edges(self) -> int:
        """Edges that stayed."""
        return sum(self.edges_kept.values())

    @property
    def cut(self) -> int:
        """Edges that vanished."""
        return sum(self.edges_cut.values())

    def to_json(self) -> dict[str, Any]:
        """What the half's ``ledger.json`` holds: every edge of its nodes is kept or cut."""
        return {
            "articles": self.articles,
            "nodes": self.nodes,
            "edges_seen": self.edges + self.cut,
            "edges_kept": self.edges,
            "edges_kept_by_kind": self.edges_kept,
            "edges_cut": self.cut,
            "edges_cut_by_kind": self.edges_cut,
            "exhausted": self.exhausted,
        }


def split(
    graph: Graph,
    out_dir: Path,
    by: By = "article",
    nodes: int | None = None,
    progress: Progress | None = None,
) -> tuple[Half, Half]:
    """Write the workspaces ``out_dir/train`` and ``out_dir/eval``, which share no node or edge (app. A.2).

    Articles are ranked by the links that other articles have to any of their blocks, nodes by their
    in-degree, ties by number. With ``nodes``, each half is grown from its top-ranked article or node to the
    ones connected with it, by a link in either direction, until it has that many nodes. Whole articles move, so the
    last one may make it a few more.
    """
    progress = progress or Progress(quiet=True)
    if nodes is not None and nodes < 1:
        raise InputError(f"{nodes} nodes: a half needs at least one")
    if (graph.articles if by == "article" else graph.nodes) < 2:
        raise InputError(f"{graph.snapshot} has fewer than two {by}s: there is nothing to split")
    _check_room(graph, out_dir)
    with progress.stage("rank", graph.edges, "edges") as stage:
        units = _Units(graph, by, stage)
        stage.update(graph.edges)
    finished = []
    with locked(out_dir / HALVES[0] / "graph"), locked(out_dir / HALVES[1] / "graph"):
        for parity, name in enumerate(HALVES):
            chosen, exhausted = units.half(parity, nodes)
            workspace = out_dir / name
            config = {"by": by, "nodes": nodes, "half": name}
            with progress.stage(name, len(chosen), "nodes") as stage:
                finished.append(_write(graph, chosen, workspace, name, config, exhausted, stage))
            del chosen
        for half in finished:  # both or, if the second fails, neither
            publish(half.workspace / "graph.partial", half.workspace / "graph")
    return finished[0], finished[1]


def nodes_of_half(graph: Graph, half: Graph) -> Int64s:
    """The numbers that the nodes of a half have in the graph it was split from [half's N].

    They follow from how the split was asked for, which the half's manifest tells.
    """
    source, config = half.manifest["inputs"], half.manifest["config"]
    if "half" not in config or source[0]["fingerprint"] != graph.fingerprint:
        raise InputError(f"{half.snapshot} is no half of {graph.snapshot} as it is now: split it anew")
    units = _Units(graph, config["by"], Stage("rank", graph.edges, "edges"))
    return units.half(HALVES.index(config["half"]), config["nodes"])[0]


def _check_room(graph: Graph, out_dir: Path) -> None:
    """Refuse a folder that holds anything but an earlier split."""
    if out_dir.resolve() in graph.folder.resolve().parents:
        raise InputError(f"{out_dir} holds the graph that is to be split: choose another folder with -o")
    if not out_dir.exists():
        return
    if not out_dir.is_dir():
        raise InputError(f"{out_dir} is a file: choose another folder with -o")
    own = {"graph", "graph.partial", "graph.old"}
    for entry in sorted(out_dir.iterdir()):
        if entry.name not in HALVES or not entry.is_dir():
            raise InputError(f"{out_dir} holds something else ({entry.name}): choose another folder with -o")
        for inner in sorted(entry.iterdir()):
            if inner.name not in own and not inner.name.startswith("."):
                raise InputError(
                    f"{entry} holds more than a graph ({inner.name}): choose another folder with -o"
                )
        if (entry / "graph").exists() and not _is_half(entry / "graph"):
            raise InputError(f"{entry} holds a graph that no split made: choose another folder with -o")


def _is_half(folder: Path) -> bool:
    """Whether a graph was made by a split."""
    try:
        return "half" in json.loads((folder / "manifest.json").read_bytes())["config"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


@kernel
def _count_incoming(graph: Csr, article: Int32s, start: int, stop: int, incoming: Int64s) -> None:
    """Add to each article the links that some nodes of other articles have to it."""
    targets = graph.indices
    for node in range(start, stop):
        own = article[node]
        first, last = links_of(graph, node)
        for edge in range(first, last):
            other = within(article[within(targets[edge], article.shape[0])], incoming.shape[0])
            if other != own:
                incoming[other] += 1


class _Units:
    """What moves as a whole: an article with its blocks, or a node. Its rank's parity is its half."""

    def __init__(self, graph: Graph, by: By, stage: Stage) -> None:
        # Unit u holds the nodes first[u] to first[u + 1]; node_unit is the other direction.
        if by == "article":
            self.first: Int64s = np.append(graph.article_node.astype(np.int64), graph.nodes)
            self.node_unit: Int32s = graph.node_article
            scores = np.zeros(graph.articles, np.int64)  # links from other articles
            for start in range(0, graph.nodes, _CHUNK):
                stop = min(start + _CHUNK, graph.nodes)
                _count_incoming(graph.forward, graph.node_article, start, stop, scores)
                stage.update(int(graph.out_indptr[stop]))
        else:
            self.first = np.arange(graph.nodes + 1, dtype=np.int64)
            self.node_unit = np.arange(graph.nodes, dtype=np.int32)
            scores = np.diff(graph.in_indptr)
        self.graph, self.rank = (
            graph,
            np.empty(len(scores), np.int32),
        )  # from 0 for the highest, ties by number
        self.rank[np.argsort(-scores, kind="stable")] = np.arange(len(scores), dtype=np.int32)

    def half(self, parity: int, nodes: int | None) -> tuple[Int64s, bool]:
        """The nodes of one half, ascending, and whether the half ran out of links before it had enough."""
        if nodes is None:
            return np.flatnonzero(self.rank[self.node_unit] % 2 == parity), False
        chosen = np.zeros(len(self.rank), np.bool_)
        top = np.flatnonzero(self.rank == parity)
        chosen[top] = True
        total = self._size(top)
        level = top
        while total < nodes and len(level):
            ways = (self.graph.forward, self.graph.reverse)
            level = np.concatenate(
                [_next_level(way, self.first, self.node_unit, self.rank, level, chosen) for way in ways]
            )
            level = level[np.argsort(self.rank[level])]
            sizes = np.cumsum(self.first[level + 1] - self.first[level])
            # A level that exceeds what is left is taken in the order of rank, up to the unit that reaches it.
            enough = int(np.searchsorted(sizes, nodes - total)) + 1
            chosen[level[enough:]] = False
            level = level[:enough]
            total += self._size(level)
        return np.flatnonzero(chosen[self.node_unit]), total < nodes

    def _size(self, units: Int64s) -> int:
        return int((self.first[units + 1] - self.first[units]).sum())


@kernel
def _next_level(
    graph: Csr, first: Int64s, node_unit: Int32s, rank: Int32s, level: Int64s, chosen: Bools
) -> Int64s:
    """Units of the same half, not chosen yet, next to a level's units; they are marked as chosen."""
    indptr, targets = graph
    found = np.empty(1024, np.int64)
    count, edges = 0, targets.shape[0] + 1  # bounds of rows: as many as edges, and one more
    for i in range(level.shape[0]):
        unit = level[i]
        begin, end = row_of(first, unit, indptr.shape[0] - 1)
        for edge in range(within(indptr[begin], edges), within(indptr[end], edges)):
            other = within(node_unit[within(targets[edge], node_unit.shape[0])], chosen.shape[0])
            if chosen[other] or (rank[other] - rank[unit]) % 2 != 0:
                continue
            chosen[other] = True
            if count == found.shape[0]:
                longer = np.empty(2 * count, np.int64)
                longer[:count] = found
                found = longer
            found[count] = other
            count += 1
    return found[:count]


def _write(
    graph: Graph,
    chosen: Int64s,
    workspace: Path,
    name: str,
    config: dict[str, Any],
    exhausted: bool,
    stage: Stage,
) -> Half:
    """Write the subgraph of the chosen nodes into ``workspace/graph.partial``."""
    partial = workspace / "graph.partial"
    shutil.rmtree(partial, ignore_errors=True)
    snapshot = graph.manifest["snapshot"]
    facts = {
        "config": config,
        "inputs": [{"name": graph.snapshot, "fingerprint": graph.fingerprint}],
        "snapshot": snapshot | {"name": f"{snapshot['name']} ({name} half)"},
        "split": {"exhausted": exhausted},
    }

    def half(counts: dict[str, Any], cut: dict[str, int]) -> Half:
        kept = counts["edges_by_kind"]
        return Half(name, workspace, counts["articles"], counts["nodes"], kept, cut, exhausted)

    counts, cut = write_subgraph(
        graph, chosen, partial, facts, stage, lambda counts, cut: half(counts, cut).to_json()
    )
    return half(counts, cut)
