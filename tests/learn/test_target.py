"""Training the target encoder: the terms are what they say, and training lowers them."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from linkwalk.build.build import BuildConfig, build
from linkwalk.embed import Embeddings, embed
from linkwalk.embed.text import goal_sentences, node_texts
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.target import GoalWalks, Sentences, TargetConfig, losses, train_target
from linkwalk.policy import from_walks
from linkwalk.policy.heads import CompassHead, HeadConfig, NodeTable, build_head
from linkwalk.policy.low_rank import scaled
from linkwalk.policy.target import AdapterConfig, TargetEncoder
from linkwalk.policy.trajectory import TrajectoryConfig
from linkwalk.walks import ShortcutWalks
from tests.conftest import P, prose, write_dump
from tests.embed.conftest import tiny_bert
from tests.learn.stopping import same_when_stopped

QUICK = TargetConfig(
    adapter=AdapterConfig(rank=4),
    updates=15,
    batch=16,
    warmup=2,
    negatives=30,
    steps=5,
    uniform=0,
    learning_rate=3e-3,
    contrastive=1,
    dropout=False,
)


@pytest.fixture(scope="module")
def graph(embedded_world: Path) -> Graph:
    return Graph.open(embedded_world)


@pytest.fixture(scope="module")
def table(embedded_world: Path) -> Embeddings:
    return Embeddings.open(embedded_world)


@pytest.fixture
def encoder(table: Embeddings) -> TransformerEncoder:
    return table.transformer("cpu")


def test_sentences_are_drawn_from_their_block(graph: Graph, encoder: TransformerEncoder) -> None:
    sentences = Sentences.read(graph, encoder, max_tokens=12)
    assert np.diff(sentences.blocks).tolist() == [len(goal_sentences(graph, n)) for n in range(graph.nodes)]
    nodes = np.array([3, 0, 3, 19] * 20, np.int32)
    ids, mask = sentences.draw(nodes, np.random.default_rng(0))
    assert ids.shape == mask.shape
    assert ids.shape[1] % 8 == 0
    seen = set()
    for node, row, real in zip(nodes.tolist(), ids, mask, strict=True):
        tokens = row[real == 1].tolist()
        assert len(tokens) <= 12
        whole = [
            t for s in goal_sentences(graph, node) if (t := encoder.tokenize([s])[0])[:11] == tokens[:11]
        ]
        assert whole
        assert tokens[-1] == whole[0][-1]
        assert (row[real == 0] == encoder.tokenizer.pad_token_id).all()
        seen.add((node, tuple(tokens)))
    assert len(seen) > 10


@pytest.mark.parametrize("labelled", [False, True])
def test_the_terms_are_what_they_say(graph: Graph, table: Embeddings, labelled: bool) -> None:
    rng = np.random.default_rng(3)
    walks = ShortcutWalks(graph.forward, steps=4).sample(6, rng)
    decisions = from_walks(walks, graph.forward, np.array(graph.out_kinds))
    if labelled:
        decisions = decisions._replace(
            share=rng.random(len(decisions.target)).astype(np.float32),
            visited=np.zeros(len(decisions.target), np.bool_),
        )
    vectors = torch.from_numpy(np.array(table.vectors)).float()
    units = torch.nn.functional.normalize(vectors, dim=-1)
    q = vectors[torch.from_numpy(rng.integers(0, graph.nodes, 6))]
    unit_q = torch.nn.functional.normalize(q, dim=-1)
    goals = walks.goals.astype(np.int64)
    others = np.array([*goals[:2], 1, 2], np.int32)
    walk = np.repeat(np.arange(6), walks.lengths)
    head = CompassHead(HeadConfig(head="compass", temperature=7.0))
    found = losses(head, NodeTable(vectors), q, decisions, walk, walks.goals, others, temperature=0.1)

    assert found.distance.item() == pytest.approx(1 - (unit_q * units[goals]).sum(-1).mean().item(), abs=1e-5)
    contrastive, cloning = [], []
    for b in range(6):
        blocks = [goals[b], *(n for n in [*goals, *others] if n != goals[b])]
        contrastive.append(-torch.log_softmax(units[blocks] @ unit_q[b] / 0.1, 0)[0].item())
    assert found.contrastive.item() == pytest.approx(np.mean(contrastive), abs=1e-4)
    for s in range(len(decisions.current)):
        actions = slice(decisions.indptr[s], decisions.indptr[s + 1])
        new = ~decisions.visited[actions]
        likely = torch.log_softmax(
            7 * units[decisions.target[actions][new].astype(np.int64)] @ unit_q[walk[s]], 0
        )
        if decisions.share is not None:
            cloning.append(-(torch.from_numpy(decisions.share[actions]) * likely).sum().item())
        else:
            cloning.append(-likely[int(new[: decisions.taken[s] - decisions.indptr[s]].sum())].item())
    assert found.cloning.item() == pytest.approx(np.mean(cloning), abs=1e-4)


def test_goals_come_from_both_ends(graph: Graph) -> None:
    rng = np.random.default_rng(0)
    walks = GoalWalks(graph, TargetConfig(batch=400, uniform=0.5, steps=6)).draw(rng)
    assert len(walks.starts) == 400
    assert (walks.starts != walks.goals).all()
    linked = graph.reverse.degrees() > 0
    even = np.bincount(walks.goals[200:], minlength=graph.nodes)
    assert (even[linked] > 0).all(), "those of the second half are uniform"
    assert even.max() < np.bincount(walks.goals[:200], minlength=graph.nodes).max()
    for path, length in zip(
        *GoalWalks(graph, TargetConfig(walks="shortcut", batch=50, steps=6)).draw(rng), strict=True
    ):
        kept = path[: length + 1].tolist()
        assert len(set(kept)) == len(kept)
        assert all(b in graph.forward.row(a) for a, b in pairwise(kept))


def logged(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def measure(
    graph: Graph, table: Embeddings, adapter: dict[str, torch.Tensor] | None = None
) -> dict[str, float]:
    """The terms on one batch that is always the same."""
    rng = np.random.default_rng(9)
    walks = GoalWalks(graph, replace(QUICK, walks="shortcut", batch=40)).draw(rng)
    texts = [goal_sentences(graph, int(goal))[0] for goal in walks.goals]
    encoder = table.transformer("cpu")
    q = torch.from_numpy((encoder if adapter is None else TargetEncoder(encoder, adapter)).encode(texts))
    decisions = from_walks(walks, graph.forward, np.array(graph.out_kinds))
    found = losses(
        CompassHead(HeadConfig(head="compass")),
        NodeTable.of(table.vectors, "cpu"),
        q,
        decisions,
        np.repeat(np.arange(40), walks.lengths),
        walks.goals,
        np.arange(graph.nodes, dtype=np.int32),
        0.05,
    )
    return {name: value.item() for name, value in found._asdict().items()}


@pytest.mark.slow
def test_training_lowers_the_loss(
    graph: Graph, table: Embeddings, encoder: TransformerEncoder, tmp_path: Path
) -> None:
    untrained = measure(graph, table)
    adapter = train_target(graph, table.vectors, encoder, QUICK, folder=tmp_path / "log")
    trained = measure(graph, table, adapter)
    assert trained["contrastive"] < 0.9 * untrained["contrastive"]
    assert trained["cloning"] < 0.9 * untrained["cloning"]
    first, last = logged(tmp_path / "log")
    assert (first["update"], last["update"]) == (1, 15)
    assert 0 < first["success"] <= 1
    assert measure(graph, table, scaled(adapter, 0.0)) == pytest.approx(untrained, abs=1e-5)
    half = measure(graph, table, scaled(adapter, 0.5))
    assert trained["contrastive"] < half["contrastive"] < untrained["contrastive"]


@pytest.mark.parametrize("name", ["feedforward", "mlp", "residual", "transformer"])
def test_every_head_gets_a_reader(name: str, graph: Graph, tmp_path: Path) -> None:
    encoder = open_transformer(str(tiny_bert(tmp_path / "tiny")), device="cpu")
    vectors = encoder.encode(node_texts(graph, 0, graph.nodes)) + 0.5
    sizes = TrajectoryConfig(layers=1, heads=2, size=4, inner=8) if name == "transformer" else None
    head = build_head(HeadConfig(head=name, width=16, hidden=8, trajectory=sizes))
    before = {key: value.clone() for key, value in head.state_dict().items()}
    config = replace(QUICK, walks="shortcut", cloning=0.1, distance=10, updates=25, learning_rate=0.02)
    train_target(graph, vectors, encoder, config, head=head, folder=tmp_path / "log")
    first, last = logged(tmp_path / "log")
    assert last["distance"] < first["distance"]
    assert all(torch.equal(value, head.state_dict()[key]) for key, value in before.items())
    with pytest.raises(InputError, match="walks=own is for a policy that walks with a map"):
        train_target(graph, vectors, encoder, QUICK, head=head)


def test_training_repeats(graph: Graph, table: Embeddings, tmp_path: Path) -> None:
    short = replace(QUICK, updates=2, batch=4)
    runs = []
    for config in (short, short, replace(short, seed=1)):
        train_target(graph, table.vectors, table.transformer("cpu"), config, folder=tmp_path / "log")
        runs.append([row["loss"] for row in logged(tmp_path / "log")])
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"dropout": True}, {"walks": "shortcut", "uniform": 0.5}, {"trust": 0.5}]
)
def test_stopped_it_goes_on_to_the_same_weights(
    changes: dict[str, Any], graph: Graph, table: Embeddings, encoder: TransformerEncoder, tmp_path: Path
) -> None:
    config = replace(QUICK, updates=6, batch=8, **changes)
    sentences = Sentences.read(graph, encoder, config.max_tokens)

    def train(**kept: Any) -> dict[str, torch.Tensor]:
        encoder = table.transformer("cpu")
        return train_target(graph, table.vectors, encoder, config, sentences=sentences, **kept)

    same_when_stopped(train, tmp_path, 2, 3)


def test_a_batch_with_nothing_to_decide_is_drawn_again(tmp_path: Path) -> None:
    """In a row of blocks there is a choice at the start alone, and from either end of the row there is none."""
    row = P("Row", "\n\n".join(prose(90, seed=i) for i in range(4)))
    build([write_dump(tmp_path / "dump.xml", [row])], tmp_path / "wiki", BuildConfig())
    embed(tmp_path / "wiki", device="cpu")
    graph, table = Graph.open(tmp_path / "wiki"), Embeddings.open(tmp_path / "wiki")
    assert graph.nodes > 2
    config = replace(QUICK, updates=6, batch=1, negatives=1)
    target = table.transformer("cpu")
    adapter = train_target(graph, table.vectors, target, config, folder=tmp_path / "log")
    assert logged(tmp_path / "log")[-1]["update"] == 6
    assert all(torch.isfinite(value).all() for value in adapter.values())


def test_a_head_that_is_given_stays_as_it_is(graph: Graph, table: Embeddings) -> None:
    head = CompassHead(HeadConfig(head="compass"))
    before = {name: value.clone() for name, value in head.state_dict().items()}
    config = replace(QUICK, updates=2, batch=8)
    encoder = table.transformer("cpu")
    own = encoder.model.encoder.layer[0].output.dense.weight.detach().clone()
    adapter = train_target(graph, table.vectors, encoder, config, head=head)
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())
    assert max(float(value.abs().max()) for name, value in adapter.items() if name.endswith("up")) > 0
    layer = encoder.model.encoder.layer[0].output.dense.layer
    assert torch.equal(layer.weight, own), "the encoder's own weights must stay"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"walks": "sideways"}, "no walks named 'sideways': choose one of forward, shortcut, own"),
        ({"batch": 0}, "batch=0: choose 1 or more"),
        ({"uniform": 1.5}, "uniform=1.5: choose 0 to 1"),
        ({"learning_rate": -1e-4}, "learning_rate=-0.0001: choose 0 or more"),
        ({"max_tokens": 2}, "max_tokens=2: choose 3 or more"),
        ({"temperature": 0.0}, "temperature=0: choose more than 0"),
        ({"adapter": AdapterConfig(rank=0)}, "adapter.rank=0: choose 1 or more"),
    ],
)
def test_settings_that_make_no_sense(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TargetConfig(**setting)
