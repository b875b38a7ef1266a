"""The learned map: untrained it is greedy-map, what it sees is what the words say, and its file is read with care."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwalk.errors import DamagedError
from linkwalk.graph.csr import Csr
from linkwalk.navigate import BASELINES, Episodes, HalfUnits, MoveConfig, open_baseline, unit_rows
from linkwalk.navigate.map_sights import ALIKE_FROM, OF_LINKS, SIGHTS, TWINS_FROM, MapNotes
from linkwalk.navigate.map_walkers import LearnedMapWalker, MapWalker
from linkwalk.navigate.trained_map import (
    CLICKS,
    SHIPPED,
    Forecast,
    TrainedMap,
    article_length,
    measure_of,
    quantile,
    read_map,
    shipped_map,
    within_clicks,
)
from tests.walks.conftest import unsorted_graph

Floats = NDArray[np.float32]


def world(seed: int, nodes: int) -> tuple[Csr, Floats, Episodes]:
    rng = np.random.default_rng(seed)
    graph, vectors = unsorted_graph(rng, nodes=nodes, links=3), unit_rows(rng.normal(size=(nodes, 6)))
    pairs = rng.integers(nodes, size=(8, 2))
    return graph, vectors, Episodes.of(pairs[:, 0], pairs[:, 1])


def some_weights(rng: np.random.Generator) -> Floats:
    return rng.normal(scale=0.1, size=len(OF_LINKS)).astype(np.float32)


def trained(rng: np.random.Generator) -> TrainedMap:
    sizes = (len(SIGHTS), 4), (4,), (4, len(CLICKS) + 1), (len(CLICKS) + 1,)
    forecast = Forecast(*(rng.normal(scale=0.1, size=size).astype(np.float32) for size in sizes))
    return TrainedMap(some_weights(rng), forecast, {"on": []})


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans(), st.booleans(), st.booleans())
def test_untrained_it_is_greedy_map(seed: int, nodes: int, back: bool, sampled: bool, half: bool) -> None:
    graph, vectors, episodes = world(seed, nodes)
    units = HalfUnits(vectors.astype(np.float16)) if half else vectors
    plain = open_baseline("greedy-map", graph, units, ways := MoveConfig(back=back, sampled=sampled))
    blank = MapWalker("blank", graph, units, ways)
    blank.weights = np.zeros(len(OF_LINKS), np.float32)
    a, b = (agent.run(episodes, budget=30, seed=seed) for agent in (plain, blank))
    np.testing.assert_array_equal(a.nodes, b.nodes)
    np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=1e-5)


def sights(graph: Csr, vectors: Floats, direction: Floats, path: list[int], target: int) -> dict[str, float]:
    """What is seen of one unseen link at the end of a walk without a back button, in plain words."""
    mean, spread = measure_of(vectors)
    step, length = len(path) - 1, float(np.linalg.norm(direction))

    def measured(cosine: float) -> float:
        return (cosine - mean) / spread

    def own(page: int) -> float:
        return measured(float(vectors[page] @ direction) / length)

    firsts = sorted({page: path.index(page) for page in path}.items(), key=lambda item: item[1])
    known: dict[int, int] = {}  # unseen pages: the step of the page on which their link was seen first
    tried: dict[int, int] = {0: 1}
    runs, adjacent, linked = {path[0]: 0}, 0, list[int]()
    degrees = []
    for page, first in firsts:
        if first:
            tried[known[page]] = tried.get(known[page], 0) + 1
        degrees.append(np.log1p(len(graph.row(page))))
        for link in graph.row(page).tolist():
            if link not in known and link != path[0]:
                known[link] = first
                near = abs(link - page) == 1
                runs[link] = runs[page] + 1 if near else 0
                adjacent += near
            if link == target:
                linked.append(page)
    origin = path[known[target]]
    cosines = [own(page) for page in known]
    row = graph.row(origin).tolist()
    alike = {page: measured(float(vectors[target] @ vectors[page])) for page, _ in firsts}
    closest = max(alike, key=lambda page: alike[page])
    likeness = [max(0.0, (float(vectors[target] @ vectors[page]) - 0.3) / 0.7) for page in alike]
    return {
        "cosine": own(target),
        "cosine in the walk": (own(target) - np.mean(cosines)) / max(0.25, float(np.std(cosines))),
        "page": own(origin),
        "link": measured(float(vectors[target] @ vectors[origin])),
        "behind": max(own(link) for link in row) - own(target),
        "adjacent": float(abs(target - origin) == 1),
        "run": np.log1p(runs[target]),
        "best page": max(own(page) for page in linked),
        "linked": np.log1p(len(linked)),
        "crowd": np.log1p(sum(likeness)),
        "alike": np.log1p(sum(max(0.0, cosine - ALIKE_FROM) for cosine in alike.values())),
        "twins": np.log1p(sum(max(0.0, cosine - TWINS_FROM) for cosine in alike.values())),
        "closest": alike[closest],
        "closest page": own(closest),
        "closest link": max(own(link) for link in graph.row(closest).tolist()),
        "age": np.log1p(step - known[target]),
        "tried": np.log1p(tried.get(known[target], 0)),
        "degree": np.log1p(len(row)),
        "step": np.log1p(step),
        "here": own(path[-1]),
        "best": max(cosines),
        "degrees": float(np.mean(degrees)),
        "adjacency": adjacent / len(known),
    }


def test_what_is_seen_is_what_the_words_say() -> None:
    compared = 0
    for seed in range(12):
        graph, vectors, episodes = world(seed, 50)
        agent = MapWalker("map", graph, vectors)
        agent.weights = some_weights(np.random.default_rng(seed))
        journeys = agent.run(episodes, budget=15)
        for e in range(episodes.size):
            path, one = journeys.path(e).tolist(), episodes.part(e, e + 1)
            noted = MapNotes.blank(len(path) - 1, 1)
            noted.steps[:] = np.arange(len(path) - 1)
            agent.note(one, noted, budget=15)
            for step in range(len(path) - 1):
                row = noted.sights[step, 0]
                if (
                    noted.counts[step] and row[SIGHTS.index("detour")] == 0
                ):  # the next page is what it goes for
                    seen = sights(graph, vectors, vectors[one.goals[0]], path[: step + 1], path[step + 1])
                    found = {name: float(row[SIGHTS.index(name)]) for name in seen}
                    assert found == pytest.approx(seen, abs=2e-3)
                    compared += 1
    assert compared > 150


def test_what_is_seen_adds_to_the_constants() -> None:
    graph, vectors, episodes = world(3, 60)
    agent = MapWalker("map", graph, vectors)
    agent.weights = weights = some_weights(np.random.default_rng(0))
    weighed = 0
    for e in range(episodes.size):
        one = episodes.part(e, e + 1)
        journeys = agent.run(one, budget=12)
        steps = int(journeys.steps[0])
        noted = MapNotes.blank(steps, 1)
        noted.steps[:] = np.arange(steps)
        agent.note(one, noted, budget=12)
        said = agent.explain(one, journeys)
        for step in range(steps):
            if noted.counts[step]:
                added = noted.sights[step, 0, : len(OF_LINKS)] @ weights
                own = said.worth[said.indptr[step] : said.indptr[step + 1]]
                assert np.nanmax(own) == pytest.approx(float(noted.worth[step, 0] + added), abs=1e-3)
                weighed += 1
    assert weighed > 20


def test_the_one_that_ships() -> None:
    assert BASELINES["learned-map"] is LearnedMapWalker
    graph, vectors, episodes = world(1, 80)
    agent = open_baseline("learned-map", graph, vectors)
    assert isinstance(agent, LearnedMapWalker)
    journeys = agent.run(episodes, budget=20)
    chances = agent.forecast(episodes, journeys)
    assert chances.shape == (journeys.steps[0], len(CLICKS) + 1)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    back = (
        open_baseline(name, graph, vectors, MoveConfig(back=True)) for name in ("learned-map", "greedy-map")
    )
    np.testing.assert_array_equal(*(agent.run(episodes, budget=20).nodes for agent in back))
    assert SHIPPED.stat().st_size < 50_000
    assert shipped_map().trained["on"]


def test_a_file_comes_back_and_damage_is_one_line(tmp_path: Path) -> None:
    path, made = tmp_path / "map.json", trained(np.random.default_rng(2))
    path.write_bytes(made.to_bytes())
    again = read_map(path)
    for a, b in zip((made.weights, *made.forecast), (again.weights, *again.forecast), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
    good = made.to_json()
    for change in (
        {"format": 99},
        {"sights": ["cosine"]},
        {"worth": {}},
        {"worth": good["worth"] | {"cosine": [1.0]}},
        {"worth": good["worth"] | {"cosine": float("nan")}},
        {"clicks": good["clicks"] | {"last": "no numbers"}},
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(DamagedError, match=r"`linkwalk train-map WIKI\.\.\. -o .*map\.json --force`"):
            read_map(path)
    (tmp_path / "manifest.json").touch()  # it lies in a policy's folder, and is for that policy
    with pytest.raises(DamagedError, match=rf"WIKI\.\.\. --policy {tmp_path} -o .*map\.json --force`"):
        read_map(path)


def test_weights_are_for_articles_of_a_length_that_they_were_good_at(tmp_path: Path) -> None:
    # Articles of three blocks each: two of the three have one that follows.
    # A link to the next article's first block does not join them.
    rows = [[1], [0, 2, 5], [1, 3], [4], [3, 5], [4, 0]]
    graph = Csr(np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32))
    assert article_length(graph) == 3
    assert article_length(Csr(np.zeros(1, np.int64), np.zeros(0, np.int32))) == 0
    some = trained(np.random.default_rng(0))
    vectors = unit_rows(np.random.default_rng(1).normal(size=(6, 4)))
    for longest, used in ((3.0, True), (2.9, False), (float("inf"), True)):
        (tmp_path / "map.json").write_bytes(some._replace(longest=longest).to_bytes())
        found = read_map(tmp_path / "map.json")
        assert (found.longest, len(found.on(article_length(graph))) > 0) == (longest, used)
        walker = LearnedMapWalker("map", graph, vectors, trained=found)
        assert bool(walker.weights.any()) == used
        counted = LearnedMapWalker("map", graph, vectors, trained=found, length=100.0)
        assert bool(counted.weights.any()) == (longest > 100)


def test_clicks_to_go_read_off_a_forecast() -> None:
    chances = np.zeros((2, len(CLICKS) + 1), np.float32)
    chances[0, 4] = chances[0, -1] = 0.5  # from 6 to 8 clicks, or never
    chances[1, 0] = 1.0
    assert within_clicks(chances, 5).tolist() == [0, 1]
    assert within_clicks(chances, 8).tolist() == [0.5, 1]
    assert within_clicks(chances, 1000).tolist() == [0.5, 1]
    assert quantile(chances, 0.25).tolist() == [pytest.approx(6.5), 0.25]
    assert quantile(chances, 0.9).tolist() == [np.inf, pytest.approx(0.9)]
