"""The walker with a map against a plain one, choice by choice, and what must hold of all its journeys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate import BACK, Episodes, Journeys, MapConfig, MoveConfig, open_baseline, unit_rows
from tests.graph.conftest import csr
from tests.navigate.oracle import map_ways, replay
from tests.navigate.test_agents import check, random_csr
from tests.walks.conftest import assert_fits, unsorted_graph

NEAR = 1e-6
"""Ways whose worth differs by less are equally good to a walker that computes in float32."""


def walk(
    graph: Csr,
    vectors: NDArray[np.float32],
    episodes: Episodes,
    *,
    budget: int = 20,
    seed: int = 0,
    window: int = 0,
    workers: int = 1,
    **trades: Any,
) -> Journeys:
    """Journeys by a map; ``window`` 0 means no back button."""
    sampled = bool(trades.pop("sampled", False))
    ways = MoveConfig(back=window > 0, sampled=sampled, window=window or 16, map=MapConfig(**trades))
    return open_baseline("greedy-map", graph, vectors, ways, workers=workers).run(
        episodes, budget=budget, seed=seed
    )


def units(rng: np.random.Generator, nodes: int, width: int = 5) -> NDArray[np.float32]:
    return unit_rows(rng.normal(size=(nodes, width)))


def compare(
    journeys: Journeys,
    graph: Csr,
    vectors: NDArray[np.float32],
    episodes: Episodes,
    budget: int,
    window: int,
    config: MoveConfig,
) -> int:
    """Hold every choice against what the plain walker would do there; how many were held."""
    check(journeys, graph, episodes, budget)
    compared = 0
    for e in range(episodes.size):
        goal, path = int(episodes.goals[e]), journeys.path(e).tolist()
        moves = journeys.choices[e, : len(path) - 1].tolist()
        direction = vectors[goal] if episodes.queries is None else episodes.queries[e]
        for t in range(len(path)):
            if path[t] == goal or t == budget:
                assert t == len(moves)
                break
            ways = map_ways(
                graph,
                vectors,
                direction,
                path[: t + 1],
                moves[:t],
                window=window,
                detour=config.constants.detour,
                crowding=config.constants.crowding,
                likeness=config.constants.likeness,
                homing=config.constants.homing,
            )
            row = graph.row(path[t]).tolist()
            probability = 1.0
            if ways:
                best = max(ways.values())
                allowed = [move for move, worth in ways.items() if config.sampled or worth > best - NEAR]
                chances = {m: np.exp(config.map.temperature * (worth - best)) for m, worth in ways.items()}
                if t < len(moves):
                    probability = chances[moves[t]] / sum(chances.values())
            elif window and len(replay(graph, path[: t + 1], moves[:t])) > 1:
                allowed = [BACK]
            elif row:
                ages = [path.index(target) for target in row]
                allowed = [ages.index(min(ages))]
            else:
                assert t == len(moves)
                break
            assert moves[t] in allowed
            assert journeys.probabilities[e, t] == pytest.approx(probability, rel=1e-3)
            compared += 1
    return compared


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("crowding", "homing"), [(0, 0), (0.3, 0), (0.3, 0.4)])
@pytest.mark.parametrize("detour", [0, 0.1])
@pytest.mark.parametrize("window", [0, 3, 16])
def test_every_choice_is_what_the_words_say(
    window: int, detour: float, crowding: float, homing: float, sampled: bool
) -> None:
    compared = back = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(1, 40))
        make = (
            random_csr
            if seed % 2
            else lambda rng, nodes, links: unsorted_graph(rng, nodes=nodes, links=links)
        )
        graph, vectors = make(rng, nodes, rng.uniform(0.4, 2.5)), units(rng, nodes)
        pairs, budget = rng.integers(nodes, size=(12, 2)), int(rng.choice([1, 7, 40]))
        episodes = Episodes.of(pairs[:, 0], pairs[:, 1])
        map_ = MapConfig(detour=detour, crowding=crowding, homing=homing, temperature=3.0)
        config = MoveConfig(sampled=sampled, map=map_)
        journeys = walk(
            graph,
            vectors,
            episodes,
            budget=budget,
            seed=seed,
            window=window,
            sampled=config.sampled,
            **vars(config.map),
        )
        compared += compare(journeys, graph, vectors, episodes, budget, window, config)
        back += int((journeys.choices == BACK).sum())
    assert compared > 200
    assert (back > 5) == (window > 0)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 17), st.booleans(), st.booleans())
def test_any_small_graph(seed: int, nodes: int, window: int, crowded: bool, sampled: bool) -> None:
    """Self-links, double links, dead ends, pages without a way back."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(nodes, size=(int(rng.integers(0, 3 * nodes)), 2)).tolist()
    graph, vectors = csr(nodes, [(a, b) for a, b in edges]), units(rng, nodes)
    episodes = Episodes.of(rng.integers(nodes, size=4), rng.integers(nodes, size=4))
    queries = unit_rows(vectors[episodes.goals] + rng.normal(size=(4, 5)))
    episodes = episodes._replace(queries=queries) if seed % 2 else episodes
    map_ = MapConfig(crowding=0.5 * crowded, likeness=-0.5, homing=seed % 3, temperature=2.0)
    config = MoveConfig(sampled=sampled, map=map_)
    journeys = walk(
        graph,
        vectors,
        episodes,
        budget=15,
        seed=seed,
        window=window,
        sampled=config.sampled,
        **vars(config.map),
    )
    compare(journeys, graph, vectors, episodes, 15, window, config)


@pytest.mark.parametrize("window", [0, 16])
@pytest.mark.parametrize("budget", [1, 100])
def test_hubs_with_more_links_than_the_map_has_room_for(window: int, budget: int) -> None:
    """The table grows in the middle of journeys, again and again, with pages on it that are to be kept."""
    rng = np.random.default_rng(4)
    hubs, leaves = (0, 1, 2), 5000
    nodes, goal = leaves + 4, leaves + 3
    edges = [(hub, int(to)) for hub in hubs for to in rng.integers(3, leaves + 3, size=1000 * (1 + hub))]
    edges += [(leaf, int(rng.choice(hubs))) for leaf in range(3, leaves + 3)]
    graph, vectors = csr(nodes, edges), units(rng, nodes, 12)
    vectors[:3] = unit_rows(vectors[goal] + 0.1 * vectors[:3])  # hubs look good, so it goes there early
    episodes = Episodes.of([0, 3, 4], [goal] * 3)
    config = MoveConfig()
    journeys = walk(graph, vectors, episodes, budget=budget, window=window)
    check(journeys, graph, episodes, budget)
    # A map of this size takes the plain walker a while: some steps of every journey will do.
    for e in range(3):
        path, moves = journeys.path(e).tolist(), journeys.choices[e].tolist()
        assert budget == 1 or set(hubs) < set(path[:20])
        for t in range(0, int(journeys.steps[e]), 33):
            ways = map_ways(
                graph,
                vectors,
                vectors[goal],
                path[: t + 1],
                moves[:t],
                window=window,
                detour=config.constants.detour,
                crowding=config.constants.crowding,
                likeness=config.constants.likeness,
                homing=config.constants.homing,
            )
            assert ways[moves[t]] > max(ways.values()) - NEAR


def test_it_sees_all_there_is_to_see() -> None:
    """While something unseen can be reached it gets there, however far back it is."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(2, 30))
        ring = [(i, (i + 1) % nodes) for i in range(nodes)]
        chords = [(int(a), int(b)) for a, b in rng.integers(nodes, size=(nodes, 2))]
        graph, vectors = csr(nodes + 1, ring + chords), units(rng, nodes + 1)
        for trades in ({}, {"detour": 0.0, "crowding": 0.0}, {"crowding": 2.0, "likeness": -1.0}):
            # No link leads to the goal, so it goes on looking.
            journeys = walk(graph, vectors, Episodes.of([0], [nodes]), budget=nodes * nodes, **trades)
            assert set(journeys.path(0).tolist()) == set(range(nodes))


def test_it_goes_back_as_far_as_it_must() -> None:
    # 30 pages in a row and a dead end at their end; the goal is a link of the first page, and of no other.
    graph = csr(32, [(i, i + 1) for i in range(30)] + [(0, 31)])
    vectors = units(np.random.default_rng(1), 32, 8)
    query = unit_rows(vectors[1:2] - vectors[31:])  # which leads it away
    episodes = Episodes.of([0], [31])._replace(queries=query)
    journeys = walk(graph, vectors, episodes, budget=100, window=16)
    assert journeys.path(0).tolist() == [*range(31), *range(29, -1, -1), 31]
    assert journeys.success[0]
    assert not journeys.looped[0]
    alone = walk(graph, vectors, episodes, budget=100)
    assert (alone.path(0).tolist(), bool(alone.success[0])) == (list(range(31)), False)


@pytest.mark.parametrize(("away", "comes"), [(15, True), (16, False)])
def test_sixteen_pages_compete_behind_the_back_button(away: int, comes: bool) -> None:
    """The current page and 15 behind it, as those of greedy-unvisited."""
    # A row of pages, each like the goal, so that it follows them to their end; from there another row leads on, and
    # the first page has a link that looks better than that. Afterwards it gets there, too, going back page by page.
    end, other = away, 2 * away + 1
    goal = other + 1
    graph = csr(goal + 1, [(i, i + 1) for i in range(2 * away)] + [(0, other), (other, goal)])
    vectors = np.zeros((goal + 1, 3), np.float32)
    vectors[: end + 1], vectors[end + 1 : other], vectors[other] = (1, 0, 0), (0, 0, 1), (0.5, 0.75**0.5, 0)
    vectors[goal] = 0, 1, 0
    episodes = Episodes.of([0], [goal])._replace(queries=vectors[:1])
    for name, trades in (
        ("greedy-map", MapConfig(detour=0.0, crowding=0.0)),
        ("greedy-unvisited", MapConfig()),
    ):
        ways = MoveConfig(back=True, map=trades)
        path = open_baseline(name, graph, vectors, ways).run(episodes, budget=100).path(0).tolist()
        assert path[: end + 1] == list(range(end + 1))
        assert path[end + 1] == (end - 1 if comes else end + 1), name
        assert path[-1] == goal


def test_a_link_to_a_page_behind_the_back_button_hides_none_behind_that() -> None:
    # 0 > 1 > 2 > 3, and 3 links to 1: page 0 is three presses away all the same, and only 0 leads on.
    graph = csr(6, [(0, 1), (1, 2), (2, 3), (3, 1), (0, 4)])
    vectors = units(np.random.default_rng(0), 6, 8)
    query = unit_rows(vectors[1:2] - vectors[4:5])
    episodes = Episodes.of([0], [4])._replace(queries=query)
    journeys = walk(graph, vectors, episodes, window=16)
    assert journeys.path(0).tolist() == [0, 1, 2, 3, 2, 1, 0, 4]
    assert journeys.choices[0, 3:6].tolist() == [BACK] * 3
    assert not journeys.looped[0]


def test_as_greedy_unvisited_where_nothing_is_worth_a_detour() -> None:
    rng = np.random.default_rng(2)
    graph, vectors = random_csr(rng, 300, 4.0), units(rng, 300, 8)
    pairs = rng.integers(300, size=(200, 2))
    episodes = Episodes.of(pairs[:, 0], pairs[:, 1])
    exact = open_baseline("greedy-unvisited", graph, vectors).run(episodes, budget=30)
    journeys = walk(graph, vectors, episodes, budget=30, detour=1e6, crowding=0.0, homing=0.0)
    free = ~exact.looped
    assert free.sum() > 100
    for name in ("nodes", "choices", "steps", "success"):
        np.testing.assert_array_equal(getattr(journeys, name)[free], getattr(exact, name)[free])


def test_a_page_not_worth_it_is_left_for_one_seen_long_ago() -> None:
    """Two ways on, of which the better-looking leads into a room of pages alike: crowding leads out of it."""
    near, far = [1.0, 0.0, 0.0], [0.6, 0.8, 0.0]
    graph = csr(
        8, [(0, 1), (0, 6), *((a, b) for a in range(1, 6) for b in (0, *range(1, 6)) if a != b), (6, 7)]
    )
    vectors = unit_rows(np.array([[0, 0, 1], *[near] * 5, far, [0, 1, 0]], np.float32))
    episodes = Episodes.of([0], [7])._replace(queries=np.array([near], np.float32))
    patient = walk(graph, vectors, episodes, detour=0.01, crowding=0.0, budget=30)
    weary = walk(graph, vectors, episodes, detour=0.01, crowding=1.0, likeness=0.7, budget=30)
    assert patient.path(0).tolist()[:6] == [0, 1, 2, 3, 4, 5]
    assert weary.path(0).tolist() == [0, 1, 0, 6, 7]
    assert weary.looped[0], "it clicked its way back"


@pytest.mark.parametrize("window", [0, 16])
@pytest.mark.parametrize("sampled", [False, True])
def test_batches_threads_and_company_do_not_matter(sampled: bool, window: int) -> None:
    rng = np.random.default_rng(3)
    graph, vectors = unsorted_graph(rng, nodes=200, links=3), units(rng, 200, 8)
    pairs = rng.integers(200, size=(150, 2))
    episodes = Episodes.of(pairs[:, 0], pairs[:, 1])
    how: dict[str, Any] = {"budget": 30, "sampled": sampled, "window": window}
    whole = walk(graph, vectors, episodes, seed=7, **how)
    threads = walk(graph, vectors, episodes, seed=7, workers=3, **how)
    pieces = [walk(graph, vectors, episodes.part(a, a + 37), seed=7, **how) for a in range(0, 150, 37)]
    for i, column in enumerate(whole):
        np.testing.assert_array_equal(column, threads[i])
        np.testing.assert_array_equal(column, np.concatenate([piece[i] for piece in pieces]))
    other = walk(graph, vectors, episodes, seed=8, **how)
    assert (other.nodes == whole.nodes).all() == (not sampled)
    assert 0 < whole.success.mean() < 1


@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_ways_are_drawn_by_their_probability(temperature: float) -> None:
    # From 1 there are ways to 2, to 3 twice, to 4, and by the back button to 5; the way to 0 leads nowhere new.
    graph = csr(7, [(0, 1), (0, 5), (1, 0), (1, 2), (1, 3), (1, 3), (1, 4)])
    rng = np.random.default_rng(0)
    vectors, count = units(rng, 7, 4), 20_000
    episodes = Episodes.of([0] * count, [6] * count)
    config = MoveConfig(
        sampled=True, map=MapConfig(temperature=temperature, detour=0.1, crowding=0.2, homing=0.3)
    )
    journeys = walk(graph, vectors, episodes, budget=2, window=16, sampled=config.sampled, **vars(config.map))
    at = journeys.nodes[:, 1] == 1
    ways = map_ways(
        graph, vectors, vectors[6], [0, 1], [0], window=16, detour=0.1, crowding=0.2, likeness=0.3, homing=0.3
    )
    assert set(ways) == {BACK, 1, 2, 4}
    chances = np.exp(temperature * np.array([ways[m] for m in sorted(ways)]))
    chances /= chances.sum()
    found = journeys.choices[at, 1]
    assert_fits(np.array([(found == move).sum() for move in sorted(ways)]), chances)
    for move, chance in zip(sorted(ways), chances, strict=True):
        assert np.allclose(journeys.probabilities[at, 1][found == move], chance, atol=1e-4)


def test_the_smallest_worlds() -> None:
    lone = csr(1, [])
    for graph in (lone, csr(1, [(0, 0)]), csr(1, [(0, 0), (0, 0)])):
        for window in (0, 16):
            journeys = walk(graph, np.ones((1, 1), np.float32), Episodes.of([0], [0]), window=window)
            assert (journeys.steps.tolist(), journeys.success.tolist()) == ([0], [True])
            # A goal that no page is, as where only a sentence is known of it.
            unknown = Episodes.of([0], [-1])._replace(queries=np.ones((1, 1), np.float32))
            journeys = walk(graph, np.ones((1, 1), np.float32), unknown, budget=3, window=window)
            assert not journeys.success[0]
            check(journeys, graph, unknown, 3)
            assert int(journeys.steps[0]) <= (3 if len(graph.indices) else 0)
    assert walk(lone, np.ones((1, 1), np.float32), Episodes.of([], [])).nodes.shape == (0, 21)


def test_what_makes_no_sense_is_refused() -> None:
    for name in ("detour", "crowding", "homing", "temperature"):
        for value in (-0.1, float("inf"), float("nan")):
            with pytest.raises(InputError, match=rf"{name}=.*: choose 0 or more"):
                MapConfig(**{name: value})
    for value in (1.0, -1.5, float("nan")):
        with pytest.raises(InputError, match=r"likeness=.*: choose a cosine"):
            MapConfig(likeness=value)
    assert replace(MapConfig(), likeness=-1.0).trades()[2] == -1
