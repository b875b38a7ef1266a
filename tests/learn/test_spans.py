"""Training phi by the words of links: their tokens are found, pieces add up, training learns and can be resumed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from linkwalk.build.build import BuildConfig, build
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.block_tokens import BlockTokens
from linkwalk.embed.text import node_texts
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.spans import SpanConfig, SpanTraining, train_spans
from linkwalk.learn.loop import seeded
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.readers.target import Sentences
from linkwalk.navigate import Episodes
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.decisions import from_walks, some
from linkwalk.policy.heads import HeadConfig
from linkwalk.policy.spans import SpanModel, show
from linkwalk.walks import ForwardWalks
from tests.conftest import P, write_dump
from tests.embed.conftest import tiny_bert
from tests.learn.stopping import same_when_stopped

WIDTH = 16
QUICK = SpanConfig(
    head=HeadConfig(head="feedforward", width=WIDTH),
    steps=4,
    batch=24,
    updates=8,
    warmup=1,
    learning_rate=3e-3,
    max_tokens=48,
)


@pytest.fixture(scope="module")
def graph(embedded_world: Path) -> Graph:
    return Graph.open(embedded_world)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def encoder(model_folder: Path) -> TransformerEncoder:
    return open_transformer(str(model_folder), device="cpu")


def test_the_tokens_of_a_link_are_those_of_its_words(tmp_path: Path, encoder: TransformerEncoder) -> None:
    more = "More words follow here. " * 30
    first = f"Ünïts of [[Light|löng wävés]] here and [[Sun]] there. {more}At last [[Moon|cut off]].\n\n{more}"
    second = "It is seen by [[Ångström|the ünit]], as people say and have said, and 東京 [[Sun|too]]."
    pages = [P("Ångström", first), P("Light", second), P("Sun", "It shines on all of us."), P("Moon", more)]
    build([write_dump(tmp_path / "dump.xml", pages)], tmp_path / "wiki", BuildConfig())
    graph, tokenizer = Graph.open(tmp_path / "wiki"), encoder.tokenizer
    blocks, seen = BlockTokens.read(graph, tokenizer, 40), set()
    for node in range(graph.nodes):
        tokens, text = blocks.batch(np.array([node])).tokens, node_texts(graph, node, node + 1)
        assert tokens.tolist() == tokenizer(text, truncation=True, max_length=40)["input_ids"][0]
        first = int(graph.out_indptr[node])
        for place, link in enumerate(graph.links(node)):
            a, b = blocks.spans[first + place].tolist()
            if b:
                assert tokens[a:b].tolist() == tokenizer(link.anchor, add_special_tokens=False)["input_ids"]
            seen.add((link.anchor, bool(b)))
    assert {("löng wävés", True), ("Sun", True), ("the ünit", True), ("too", True), ("", False)} <= seen
    assert ("cut off", True) not in seen


def test_an_action_is_the_mean_of_its_tokens(graph: Graph, encoder: TransformerEncoder) -> None:
    with seeded(0, "cpu"):
        model = SpanModel(encoder.model, QUICK.head, own_target=False).eval()
    blocks = BlockTokens.read(graph, encoder.tokenizer, 48)
    table = model.table(graph, blocks, 256, lambda _: None)
    node = int(np.flatnonzero(np.diff(graph.out_indptr) > 2)[0])
    ids = torch.from_numpy(blocks.batch(np.array([node])).tokens)[None]
    tokens = encoder.model(input_ids=ids).last_hidden_state[0]
    state = tokens.mean(0).tanh()
    assert torch.allclose(table.vectors[node].float(), state, atol=2e-3)
    for edge in range(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1])):
        a, b = blocks.spans[edge].tolist()
        wanted = tokens[a:b].mean(0).tanh() if b else model.kinds[graph.out_kinds[edge]].tanh()
        assert torch.allclose(table.actions[edge].float(), wanted, atol=2e-3)


def test_other_models_are_padded_to_the_same_end(graph: Graph, encoder: TransformerEncoder) -> None:
    model = SpanModel(encoder.model, QUICK.head, own_target=False).eval()
    texts = BlockTokens.read(graph, encoder.tokenizer, 48).batch(np.arange(7))
    packed = model.states(model.phi, texts)
    encoder.model.config.hidden_act = "another"  # which says that it is of another kind, and changes nothing
    for one, other in zip(packed, model.states(model.phi, texts), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_it_walks_by_what_it_was_trained_to_see(graph: Graph, encoder: TransformerEncoder) -> None:
    with seeded(0, "cpu"):
        model = SpanModel(encoder.model, QUICK.head).eval()
    blocks = BlockTokens.read(graph, encoder.tokenizer, 48)
    walks = ForwardWalks(graph.forward, steps=3).sample(5, np.random.default_rng(1))
    decisions = from_walks(walks, graph.forward, np.array(graph.out_kinds))
    seen, _ = model(decisions, show(decisions, graph.forward, blocks))
    table = model.table(graph, blocks, 256, lambda _: None)
    walked, _ = table.logits(model.head, decisions)
    assert torch.allclose(seen, walked, atol=0.05)  # the table is in halves
    agent = PolicyWalker("spans", model.head, graph.forward, np.array(graph.out_kinds), table)
    journeys = agent.run(Episodes.of(walks.starts, walks.goals), budget=5)
    assert (journeys.steps > 0).any()


@pytest.mark.parametrize(
    ("head", "walks"), [("feedforward", "forward"), ("mlp", "own"), ("compass", "shortcut")]
)
def test_training_learns(
    graph: Graph, encoder: TransformerEncoder, tmp_path: Path, head: str, walks: str
) -> None:
    head_config = HeadConfig(head=head, width=WIDTH)
    config = replace(QUICK, head=head_config, walks=walks, steps=1, batch=64, updates=60, edge_dropout=0)
    vectors = np.random.default_rng(0).standard_normal((graph.nodes, WIDTH)).astype(np.float32)
    blocks = BlockTokens.read(graph, encoder.tokenizer, 48)

    def loss(model: SpanModel) -> float:
        fixed = SpanTraining(replace(config, batch=200, seed=9), model, graph, blocks, None, vectors)
        return sum(piece.item() for piece in fixed.pieces(1))

    with seeded(config.seed, "cpu"):
        before = loss(SpanModel(encoder.model, config.head).eval())
    model = train_spans(graph, encoder, config, vectors=vectors, blocks=blocks, folder=tmp_path / "run")
    assert loss(model) < before
    assert {"loss", "accuracy", "learning_rate"} <= read_rows(tmp_path / "run")[-1].keys()


@pytest.mark.parametrize("change", [{}, {"rank": 2, "sentences": 0.5, "picks": 3}])
def test_pieces_add_up(graph: Graph, encoder: TransformerEncoder, change: dict[str, Any]) -> None:
    gradients = []
    with seeded(3, "cpu"):
        model = SpanModel(encoder.model, QUICK.head, rank=change.get("rank", 0)).eval()
    blocks = BlockTokens.read(graph, encoder.tokenizer, 48)
    sentences = Sentences.read(graph, encoder, 48)
    for pieces in (1, 5):
        config = replace(QUICK, pieces=pieces, **change)
        training = SpanTraining(config, model, graph, blocks, sentences, None)
        model.zero_grad()
        losses = list(training.pieces(1))
        torch.stack(losses).sum().backward()
        gradients.append([w.grad.clone() for w in training.parameters() if w.grad is not None])
        assert len(losses) == pieces
    assert len(gradients[0]) == len(gradients[1]) > 10
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_a_decision_is_one_of_many(graph: Graph) -> None:
    walks = ForwardWalks(graph.forward, steps=4).sample(6, np.random.default_rng(1))
    all_ = from_walks(walks, graph.forward, np.array(graph.out_kinds))
    part = some(all_, np.array([7, 2]))
    for place, whole in enumerate((7, 2)):
        a, b = part.indptr[place : place + 2]
        c, d = all_.indptr[whole : whole + 2]
        assert part.target[a:b].tolist() == all_.target[c:d].tolist()
        assert part.taken[place] - a == all_.taken[whole] - c
        assert part.current[place] == all_.current[whole]
        assert part.steps is not None
        assert part.steps.paths[part.steps.walk[place], part.steps.step[place]] == part.current[place]


def test_stopped_and_gone_on_it_ends_the_same(graph: Graph, model_folder: Path, tmp_path: Path) -> None:
    def train(**kept: Any) -> dict[str, Tensor]:
        encoder = open_transformer(str(model_folder), device="cpu")
        model = train_spans(graph, encoder, replace(QUICK, sentences=0.5, pieces=2), **kept)
        return {name: weight.detach() for name, weight in model.named_parameters()}

    same_when_stopped(train, tmp_path, 2, 3)


@pytest.mark.parametrize("rank", [0, 2])
def test_what_was_trained_is_an_encoder(embedded_world: Path, graph: Graph, encoder: TransformerEncoder,
                                        tmp_path: Path, rank: int) -> None:  # fmt: skip
    import shutil

    model = train_spans(graph, encoder, replace(QUICK, rank=rank))
    model.save(tmp_path / "encoder", encoder.tokenizer)
    wiki = Path(shutil.copytree(embedded_world, tmp_path / "wiki"))
    config = EmbedConfig(encoder=str(tmp_path / "encoder"), tanh=True, max_tokens=48)
    embed(wiki, config, name="mine", device="cpu")
    blocks = BlockTokens.read(graph, encoder.tokenizer, 48)
    table = model.table(graph, blocks, 256, lambda _: None)
    vectors = torch.tensor(np.array(Embeddings.open(wiki, "mine").vectors))
    assert torch.allclose(vectors.float(), table.vectors.float(), atol=5e-3)
    again, _ = SpanModel.open(tmp_path / "encoder")
    there = again.table(graph, blocks, 256, lambda _: None)
    for name in ("vectors", "goals", "actions"):
        assert torch.allclose(getattr(there, name).float(), getattr(table, name).float(), atol=5e-3)
