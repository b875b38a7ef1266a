"""Training the target encoder: the terms are what they say, and training lowers them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.embed import Embeddings
from linkwalk.embed.encoder import TransformerEncoder
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.target import CosinePolicy, Sentences, TargetConfig, losses, train_target
from linkwalk.policy import from_walks
from linkwalk.policy.target import AdapterConfig
from linkwalk.walks import ShortcutWalks

QUICK = TargetConfig(
    adapter=AdapterConfig(rank=4), updates=15, batch=16, warmup=2, negatives=30, steps=5, learning_rate=3e-3
)


@pytest.fixture(scope="module")
def graph(embedded_world: Path) -> Graph:
    return Graph.open(embedded_world)


@pytest.fixture(scope="module")
def table(embedded_world: Path) -> Embeddings:
    return Embeddings.open(embedded_world)


@pytest.fixture
def encoder(table: Embeddings) -> TransformerEncoder:
    return table.encoder("cpu")


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


def test_the_terms_are_what_they_say(graph: Graph, table: Embeddings) -> None:
    rng = np.random.default_rng(3)
    walks = ShortcutWalks(graph.forward, steps=4).sample(6, rng)
    decisions = from_walks(walks, graph.forward, np.array(graph.out_kinds))
    vectors = torch.from_numpy(np.array(table.vectors)).float()
    units = torch.nn.functional.normalize(vectors, dim=-1)
    q = vectors[torch.from_numpy(rng.integers(0, graph.nodes, 6))]
    unit_q = torch.nn.functional.normalize(q, dim=-1)
    goals = walks.goals.astype(np.int64)
    others = np.array([*goals[:2], 1, 2], np.int32)
    walk = np.repeat(np.arange(6), walks.lengths)
    found = losses(CosinePolicy(7.0), vectors, q, decisions, walk, walks.goals, others, temperature=0.1)

    assert found.distance.item() == pytest.approx(1 - (unit_q * units[goals]).sum(-1).mean().item(), abs=1e-5)
    contrastive, cloning = [], []
    for b in range(6):
        blocks = [goals[b], *(n for n in [*goals, *others] if n != goals[b])]
        contrastive.append(-torch.log_softmax(units[blocks] @ unit_q[b] / 0.1, 0)[0].item())
    assert found.contrastive.item() == pytest.approx(np.mean(contrastive), abs=1e-4)
    for s in range(len(decisions.current)):
        actions = slice(decisions.indptr[s], decisions.indptr[s + 1])
        new = ~decisions.visited[actions]
        logits = 7 * units[decisions.target[actions][new].astype(np.int64)] @ unit_q[walk[s]]
        place = int(new[: decisions.taken[s] - decisions.indptr[s]].sum())
        cloning.append(-torch.log_softmax(logits, 0)[place].item())
    assert found.cloning.item() == pytest.approx(np.mean(cloning), abs=1e-4)


def logged(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_training_lowers_the_loss(
    graph: Graph, table: Embeddings, encoder: TransformerEncoder, tmp_path: Path
) -> None:
    before = encoder.model.encoder.layer[0].output.dense.weight.detach().clone()
    model = train_target(graph, table.vectors, encoder, QUICK, metrics=tmp_path / "log")
    first, last = logged(tmp_path / "log")
    assert (first["update"], last["update"]) == (1, 15)
    assert last["contrastive"] < 0.8 * first["contrastive"]
    assert last["cloning"] < 0.8 * first["cloning"]
    layer = model.model.encoder.layer[0].output.dense.layer
    assert torch.equal(layer.weight, before), "the encoder's own weights must stay"


def test_training_repeats(graph: Graph, table: Embeddings, tmp_path: Path) -> None:
    short = replace(QUICK, updates=2, batch=4)
    runs = []
    for config in (short, short, replace(short, seed=1)):
        train_target(graph, table.vectors, table.encoder("cpu"), config, metrics=tmp_path / "log")
        runs.append([row["loss"] for row in logged(tmp_path / "log")])
    assert runs[0] == runs[1] != runs[2]


def test_a_head_that_is_given_stays_as_it_is(graph: Graph, table: Embeddings) -> None:
    head = CosinePolicy(20.0)
    scale = head.log_scale.item()
    config = TargetConfig(
        adapter=AdapterConfig(rank=2, turn=False), updates=2, batch=4, negatives=5, warmup=1
    )
    model = train_target(graph, table.vectors, table.encoder("cpu"), config, head=head)
    assert head.log_scale.item() == scale
    assert max(float(value.abs().max()) for name, value in model.adapter().items() if name.endswith("up")) > 0


def test_unknown_walks(graph: Graph, table: Embeddings, encoder: TransformerEncoder) -> None:
    with pytest.raises(InputError, match="no walks named 'sideways': choose one of forward, shortcut"):
        train_target(graph, table.vectors, encoder, TargetConfig(walks="sideways"))
