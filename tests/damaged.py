"""Everything that reads a graph, on graphs whose arrays were damaged at random; ``tests/test_compiled.py`` runs it.

    python -m tests.damaged 300

This is a process of its own, since what leaves its arrays may end it: the last damage printed is then to blame.
"""

import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwalk.build.entities.linker import _contains, _shared_weight, neighbourhood_norms
from linkwalk.errors import LinkwalkError
from linkwalk.evaluate.bound import draw_trajectories
from linkwalk.graph.columns import Strings
from linkwalk.graph.components import strong_components, weak_components
from linkwalk.graph.csr import gather_rows, transpose, union
from linkwalk.graph.diff import diff
from linkwalk.graph.hashes import hash_strings
from linkwalk.graph.paths import ShortestPaths, distances_from
from linkwalk.graph.split import nodes_of_half
from linkwalk.graph.statistics import count_words, statistics
from linkwalk.graph.store import Graph
from linkwalk.graph.subgraph import write_subgraph
from linkwalk.graph.sweeps import path_lengths
from linkwalk.learn.own_walks import OwnWalks
from linkwalk.navigate import BASELINES, Episodes, HalfUnits, MoveConfig, open_baseline, unit_rows
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.navigate.tabs import Hits, read_tabs
from linkwalk.policy import from_walks
from linkwalk.policy.heads import HeadConfig, build_head
from linkwalk.progress import Stage
from linkwalk.walks import (
    ForwardWalks,
    ReverseWalks,
    ShortcutWalks,
    ShortestWalks,
    Walks,
    drop_edges,
    take_shortcuts,
)
from tests.graph.conftest import random_graph

EXPECTED = (IndexError, LinkwalkError, ValueError)
"""How damage may end; nobody asked for memory that there is not, and nothing was divided by nothing."""
WIDTH = 4
_REACH = 60  # beyond the lengths of most arrays

Damage = tuple[str, int, int]
"""Array, position, number."""


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@cache
def sound() -> Graph:
    with tempfile.TemporaryDirectory() as folder:
        graph = random_graph(Path(folder), np.random.default_rng(4), articles=6, links=2.5, blocks=3)
        graph.arrays = {name: read_only(np.array(array)) for name, array in graph.arrays.items()}
        for name, strings in graph.strings.items():
            graph.strings[name] = Strings(
                read_only(np.array(strings.blob)), read_only(np.array(strings.offsets))
            )
    return graph


def damaged(damages: list[Damage], cuts: dict[str, int]) -> Graph:
    """The sound graph with some numbers changed, and the ends of some arrays cut off."""
    whole = sound()
    graph = Graph(whole.folder, whole.manifest)
    arrays = dict(whole.arrays)
    for name, strings in whole.strings.items():
        arrays |= {f"{name}.offsets": strings.offsets, f"{name}.blob": strings.blob}
    for name, position, number in damages:
        array = arrays[name] = arrays[name].copy()
        limits = np.iinfo(array.dtype)
        if array.size:
            array.flat[position % array.size] = min(max(number, limits.min), limits.max)
    for name, rows in cuts.items():
        arrays[name] = arrays[name][: max(0, len(arrays[name]) - rows)].copy()
    for name in whole.strings:
        graph.strings[name] = Strings(
            *(read_only(arrays.pop(f"{name}.{part}")) for part in ("blob", "offsets"))
        )
    graph.arrays = {name: read_only(array) for name, array in arrays.items()}
    return graph


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def vectors(rows: int) -> NDArray[np.float32]:
    return unit_rows(rng().normal(size=(rows, WIDTH)))


def nodes_are_nodes(nodes: NDArray[np.integer], graph: Graph) -> None:
    assert nodes.min(initial=0) >= -1
    assert nodes.max(initial=-1) < max(len(graph.out_indptr), len(graph.in_indptr)) - 1


def sampled(make: Callable[[Graph], Any]) -> Callable[[Graph], None]:
    return lambda graph: nodes_are_nodes(make(graph).sample(30, rng()).nodes, graph)


def sound_walks(steps: int = 5) -> Walks:
    return ForwardWalks(sound().forward, steps=steps).sample(20, rng())


def agent(name: str, *, back: bool, half: bool = False) -> Callable[[Graph], None]:
    def run(graph: Graph) -> None:
        table: Any = vectors(graph.forward.nodes)
        if half:
            table = HalfUnits(table.astype(np.float16))
        player = open_baseline(name, graph.forward, table, MoveConfig(back=back))
        nodes_are_nodes(player.run(episodes(graph), budget=12).nodes, graph)

    return run


def episodes(graph: Graph) -> Episodes:
    ends = rng().integers(len(sound().out_indptr) - 1, size=(2, 20))
    return Episodes.of(*ends)


def learned(**options: Any) -> Callable[[Graph], None]:
    def run(graph: Graph) -> None:
        torch.manual_seed(0)
        head = build_head(HeadConfig(head="feedforward", width=WIDTH, hidden=4))
        table = vectors(graph.forward.nodes)
        player = PolicyWalker("it", head, graph.forward, graph.out_kinds, table, MoveConfig(**options))
        player.run(episodes(graph), budget=6)

    return run


def search(graph: Graph) -> None:
    """A search that fails leaves nothing behind that the next one falls over."""
    paths = ShortestPaths(graph.forward, graph.reverse)
    for start in range(paths.forward.nodes):
        for goal in range(0, paths.forward.nodes, 3):
            try:
                nodes_are_nodes(paths.path(start, goal).nodes, graph)
            except EXPECTED:
                continue
    nodes_are_nodes(paths.paths([0, 1], [2, 3], 4)[1], graph)


def exact(graph: Graph) -> None:
    sampler = ShortestWalks(graph.forward, graph.reverse, steps=2, reading="exact", redraws=20)
    for seed in range(5):
        try:
            nodes_are_nodes(sampler.sample(10, np.random.default_rng(seed)).nodes, graph)
        except EXPECTED:
            continue
    sampler.sample(10, rng())


def half(by: str, nodes: int | None) -> Callable[[Graph], None]:
    def run(graph: Graph) -> None:
        part = Graph(graph.folder, {})
        part.manifest["inputs"] = [{"fingerprint": graph.fingerprint}]
        part.manifest["config"] = {"by": by, "half": "eval", "nodes": nodes}
        nodes_of_half(graph, part)

    return run


def subgraph(graph: Graph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        facts = {key: graph.manifest[key] for key in ("config", "inputs", "snapshot")}
        stage = Stage("nodes", 1, "nodes")
        write_subgraph(graph, np.arange(1, graph.nodes, 2), Path(folder), facts, stage, lambda *_: {})


def own_walks(graph: Graph) -> None:
    table = vectors(graph.forward.nodes)
    walks = OwnWalks(
        graph.forward, graph.reverse, graph.out_kinds, table, steps=4, multistep=False, workers=1
    )
    journeys = open_baseline("random", sound().forward).run(episodes(graph), budget=5)
    walks.label(episodes(graph).goals, journeys, rng())


def relate(graph: Graph) -> None:
    a, b = np.arange(10, dtype=np.int32), np.arange(10, dtype=np.int32)[::-1].copy()
    weight = np.ones(graph.forward.nodes)
    norm = neighbourhood_norms(*graph.forward, weight)
    _contains(*graph.forward, a, b)
    _shared_weight(*graph.forward, weight, norm, a, b)


def tabs(graph: Graph) -> None:
    table, hits = vectors(graph.forward.nodes), np.arange(3, dtype=np.int32)
    found = Hits.of([(hits, np.ones(3, np.float32))] * 4)
    nodes_are_nodes(read_tabs(graph.forward, graph.out_kinds, table, vectors(4), found, 8).nodes, graph)


OPERATIONS: dict[str, Callable[[Graph], object]] = {
    "forward": sampled(lambda g: ForwardWalks(g.forward, steps=5)),
    "multistep": sampled(lambda g: ForwardWalks(g.forward, steps=5, multistep=True, apart=True)),
    "reverse": sampled(lambda g: ReverseWalks(g.forward, g.reverse, steps=5)),
    "shortcut": sampled(lambda g: ShortcutWalks(g.forward, steps=5)),
    "shortcuts of other walks": lambda g: take_shortcuts(g.forward, sound_walks()),
    "shortest": sampled(lambda g: ShortestWalks(g.forward, g.reverse, steps=4)),
    "exact": exact,
    "dropout": lambda g: drop_edges(g.forward, sound_walks(), rng=rng()),
    "decisions": lambda g: from_walks(sound_walks(), g.forward, g.out_kinds),
    "own walks": own_walks,
    "bound": lambda g: draw_trajectories(g.forward, g.reverse, steps=2, count=10),
    "gather": lambda g: g.forward.gather(np.arange(g.forward.nodes)),
    "gather kinds": lambda g: gather_rows(g.out_indptr, g.out_kinds, g.out_targets),
    "texts": lambda g: g.texts.gather(g.node_article),
    "titles": lambda g: g.titles.take(g.node_article),
    "words": lambda g: count_words(g.texts, 0, len(g.texts)),
    "hashes": lambda g: hash_strings(g.texts, 0, len(g.texts)),
    "distances": lambda g: [distances_from(g.forward, node) for node in range(g.forward.nodes)],
    "paths": search,
    "transpose": lambda g: nodes_are_nodes(transpose(g.forward).indices, g),
    "union": lambda g: union(g.forward, g.reverse),
    "weak": lambda g: weak_components(g.forward),
    "strong": lambda g: strong_components(g.forward),
    "lengths": lambda g: path_lengths(g.forward, np.arange(g.forward.nodes)),
    "statistics": lambda g: statistics(g, sources=5),
    "diff": lambda g: (diff(g, sound()), diff(sound(), g)),
    "half by article": half("article", None),
    "half by node": half("node", 5),
    "half grown by article": half("article", 7),
    "subgraph": subgraph,
    "relate": relate,
    "tabs": tabs,
    "learned": learned(),
    "learned, sampled": learned(sampled=True),
    "learned, back": learned(back=True),
    **{f"{name}, back {back}": agent(name, back=back) for name in BASELINES for back in (False, True)},
    "greedy, halves": agent("greedy", back=True, half=True),
    "greedy-map, halves": agent("greedy-map", back=True, half=True),
}
numbers = st.sampled_from([-(2**63), -(2**31), -2, -1, 2**31 - 1, 2**40, 2**63 - 1]) | st.integers(-3, _REACH)
names = st.deferred(
    lambda: st.sampled_from(
        [*sound().arrays, *(f"{name}.{part}" for name in sound().strings for part in ("offsets", "blob"))]
    )
)
links = st.sampled_from(["out_indptr", "out_targets", "in_indptr", "in_sources"])
damages = st.lists(st.tuples(links | names, st.integers(0, _REACH), numbers), min_size=1, max_size=3)
cuts = st.just({}) | st.dictionaries(links | names, st.integers(1, _REACH), max_size=1)


def main(examples: int) -> None:
    """Run everything on the sound graph, then on so many damaged ones."""
    refused = set()
    for run in OPERATIONS.values():
        run(sound())

    @settings(max_examples=examples, deadline=None, database=None, derandomize=True)
    @given(damages, cuts)
    def survive(damages: list[Damage], cuts: dict[str, int]) -> None:
        graph = damaged(damages, cuts)
        for name, run in OPERATIONS.items():
            print(name, damages, cuts, flush=True)
            try:
                run(graph)
            except EXPECTED:
                refused.add(name)

    survive()
    assert set(OPERATIONS) - refused == set(), "they never saw any damage"


if __name__ == "__main__":
    main(int(sys.argv[1]))
