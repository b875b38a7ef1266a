"""Tuning a target encoder on what is asked, with a thin BERT: the expert's paths, the loss, where it begins."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from linkwalk.build.build import BuildConfig, build
from linkwalk.embed.text import goal_sentences, node_texts
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.errors import InputError
from linkwalk.graph.paths import ShortestPaths
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.tune_target import PAPER, ExpertPaths, TuneConfig, TuningQuestion, tune_target
from linkwalk.policy.heads import CompassHead, HeadConfig
from linkwalk.policy.low_rank import TargetModel
from linkwalk.policy.target import AdapterConfig, TargetEncoder
from tests.conftest import world, write_dump
from tests.embed.conftest import tiny_bert
from tests.learn.stopping import same_when_stopped

SIZES = AdapterConfig(rank=2)
QUICK = TuneConfig(updates=3, batch=8, learning_rate=0.01, negatives=10)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("tune")
    build([write_dump(folder / "dump.xml", world(6))], folder / "wiki", BuildConfig())
    return Graph.open(folder / "wiki")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("tune") / "tiny", initializer_range=0.2))


@pytest.fixture
def encoder(base: str) -> TransformerEncoder:
    return open_transformer(base, device="cpu")


@pytest.fixture(scope="module")
def vectors(graph: Graph, base: str) -> NDArray[np.float32]:
    return open_transformer(base, device="cpu").encode(node_texts(graph, 0, graph.nodes))


@pytest.fixture(scope="module")
def pairs(graph: Graph) -> list[TuningQuestion]:
    """A sentence of each block, sought from three others; a path may lead nowhere."""
    rng = np.random.default_rng(0)
    return [
        TuningQuestion(goal_sentences(graph, node)[0], rng.integers(graph.nodes, size=3).tolist(), [node])
        for node in range(graph.nodes)
    ]


def fresh(base: str, *, shaken: bool = False) -> dict[str, Tensor]:
    """An adapter as it begins, or as an earlier training leaves it."""
    torch.manual_seed(3)
    target = TargetModel(open_transformer(base, device="cpu").model, SIZES)
    with torch.no_grad():
        for weight in target.parameters():
            if shaken and weight.requires_grad:
                weight += 0.2 * torch.randn(weight.shape)
    return {name: value.clone() for name, value in target.adapter().items()}


def compass() -> CompassHead:
    torch.manual_seed(4)
    return CompassHead(HeadConfig(head="compass", width=16))


def tune(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion], config: TuneConfig, **options: Any
) -> dict[str, Tensor]:
    adapter = options.pop("adapter", None) or fresh(base)
    encoder = open_transformer(base, device="cpu")
    return tune_target(graph, vectors, encoder, adapter, SIZES, compass(), pairs, config, **options)


def rows(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_experts_take_shortest_paths(graph: Graph, pairs: list[TuningQuestion]) -> None:
    some = [*pairs, TuningQuestion("at its goal", [3], [3]), TuningQuestion("two", [0, 5], [5, 7, 0])]
    experts = ExpertPaths.of(graph, some, longest=20)
    paths = ShortestPaths(graph.forward, graph.reverse)
    assert len(experts.bounds) == len(some) + 1
    assert experts.bounds[-1] == len(experts.walks.nodes) > len(pairs)
    for number, pair in enumerate(some):
        own = range(int(experts.bounds[number]), int(experts.bounds[number + 1]))
        ends = []
        for path in own:
            length = int(experts.walks.lengths[path])
            nodes = experts.walks.nodes[path, : length + 1].tolist()
            assert nodes[0] in pair.starts
            assert nodes[-1] in pair.gold
            assert length == paths.distances([nodes[0]], [nodes[-1]])[0] >= 1
            for a, b in pairwise(nodes):
                assert b in graph.forward.indices[graph.forward.indptr[a] : graph.forward.indptr[a + 1]]
            ends.append((nodes[0], nodes[-1]))
        reachable = [
            (s, g)
            for s in pair.starts
            for g in pair.gold
            if s != g and 0 < paths.distances([s], [g])[0] <= 20
        ]
        assert ends == reachable
    assert experts.bounds[-3] == experts.bounds[-2], "there is nothing to learn at the goal"


def test_long_paths_are_left_out(graph: Graph, pairs: list[TuningQuestion]) -> None:
    whole, short = (ExpertPaths.of(graph, pairs, longest) for longest in (20, 1))
    assert set(short.walks.lengths.tolist()) == {1}
    assert len(short.walks.lengths) == (whole.walks.lengths == 1).sum() < len(whole.walks.lengths)


def test_only_pairs_with_a_path_are_drawn(graph: Graph, pairs: list[TuningQuestion]) -> None:
    some = [TuningQuestion("at its goal", [3], [3]), *pairs[:4]]
    experts = ExpertPaths.of(graph, some, 20)
    which, walks = experts.draw(200, np.random.default_rng(0))
    assert 0 not in which
    assert len(set(which.tolist())) > 1
    for number, start, goal in zip(which.tolist(), walks.starts.tolist(), walks.goals.tolist(), strict=True):
        assert start in some[number].starts
        assert goal in some[number].gold


def test_the_cloning_loss_falls(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion], tmp_path: Path
) -> None:
    config = TuneConfig(updates=60, batch=32, learning_rate=0.02, contrastive=0, distance=0, negatives=5)
    adapter = tune(graph, vectors, base, pairs, config, folder=tmp_path)
    found = rows(tmp_path)
    assert [row["update"] for row in found] == [1, 10, 20, 30, 40, 50, 60]
    first, last = (np.mean([row["cloning"] for row in part]) for part in (found[:1], found[-3:]))
    assert last < 0.9 * first
    assert found[0]["loss"] == pytest.approx(found[0]["cloning"])
    assert adapter.keys() == fresh(base).keys()


def test_it_goes_on_from_the_adapter_that_is_there(
    graph: Graph,
    vectors: Any,
    base: str,
    pairs: list[TuningQuestion],
    encoder: TransformerEncoder,
    tmp_path: Path,
) -> None:
    earlier = fresh(base, shaken=True)
    # With a rate of nothing, what comes back is what the first update began with.
    still = replace(QUICK, updates=1, learning_rate=0.0, weight_decay=0.0)
    folder = tmp_path / "log"
    same = tune(graph, vectors, base, pairs, still, adapter=earlier, folder=folder)
    assert all(torch.equal(same[name], earlier[name]) for name in earlier)
    texts = [pair.text for pair in pairs[:5]]
    before = TargetEncoder(open_transformer(base, device="cpu"), earlier).encode(texts)
    again = TargetEncoder(open_transformer(base, device="cpu"), same).encode(texts)
    np.testing.assert_array_equal(again, before)
    assert np.abs(before - encoder.encode(texts)).max() > 0.01, "it is not the encoder itself"
    began = rows(folder)[0]["cloning"]
    tune(graph, vectors, base, pairs, still, folder=folder)
    assert rows(folder)[0]["cloning"] != pytest.approx(began, rel=1e-4)


def test_an_adapter_of_another_size_is_refused(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion]
) -> None:
    cut = {name: value[:1] for name, value in fresh(base).items()}
    with pytest.raises(ValueError, match="the adapter is of another model"):
        tune(graph, vectors, base, pairs, QUICK, adapter=cut)


def test_the_same_seed_gives_the_same_weights(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion]
) -> None:
    one, again, other = (tune(graph, vectors, base, pairs, replace(QUICK, seed=seed)) for seed in (1, 1, 2))
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not any(torch.equal(one[name], other[name]) for name in one if name.endswith(".up"))


def test_stopped_it_goes_on_to_the_same_weights(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion], tmp_path: Path
) -> None:
    config, earlier = replace(QUICK, updates=12), fresh(base, shaken=True)

    def train(**kept: Any) -> dict[str, Tensor]:
        return tune(graph, vectors, base, pairs, config, adapter=earlier, **kept)

    same_when_stopped(train, tmp_path, 4, 7)


def test_the_policy_stays_as_it_is(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion]
) -> None:
    head = compass()
    before = {name: value.clone() for name, value in head.state_dict().items()}
    encoder = open_transformer(base, device="cpu")
    tune_target(graph, vectors, encoder, fresh(base), SIZES, head, pairs, QUICK)
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())


def test_the_papers_settings(
    graph: Graph, vectors: Any, base: str, pairs: list[TuningQuestion], tmp_path: Path
) -> None:
    assert (PAPER.batch, PAPER.learning_rate, PAPER.epsilon) == (512, 1e-6, 1e-6)
    assert (PAPER.cloning, PAPER.distance, PAPER.contrastive) == (1, 0.1, 0)
    folder = tmp_path / "log"
    earlier = fresh(base, shaken=True)
    adapter = tune(graph, vectors, base, pairs, replace(PAPER, updates=2), adapter=earlier, folder=folder)
    for row in rows(folder):
        assert row["loss"] == pytest.approx(row["cloning"] + 0.1 * row["distance"], rel=1e-5)
    moved = max(float((adapter[name] - earlier[name]).abs().max()) for name in earlier)
    assert 0 < moved < 1e-5


def test_nothing_to_learn_from(graph: Graph, vectors: Any, base: str) -> None:
    for pairs in ([], [TuningQuestion("at its goal", [3], [3])], [TuningQuestion("no starts", [], [3])]):
        with pytest.raises(InputError, match="no start of any query has a path to its evidence"):
            tune(graph, vectors, base, pairs, QUICK)


@pytest.mark.parametrize("name", ["updates", "batch", "longest"])
def test_tuning_with_nothing_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}=0: choose 1 or more"):
        TuneConfig(**{name: 0})


def test_settings_of_tuning_have_limits() -> None:
    with pytest.raises(InputError, match="max_tokens=2: choose 3 or more"):
        TuneConfig(max_tokens=2)
    with pytest.raises(InputError, match="temperature=0: choose more than 0"):
        TuneConfig(temperature=0.0)
