"""Policy heads: a ragged softmax, a start as the cosine, weights that survive the disk."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.errors import ArtifactError, InputError
from linkwalk.policy import from_walks
from linkwalk.policy.checkpoint import load_compass, load_policy, save_policy
from linkwalk.policy.decisions import some
from linkwalk.policy.heads import HEADS, CompassHead, HeadConfig, NodeTable, build_head, log_softmax
from linkwalk.walks import ForwardWalks
from tests.graph.conftest import csr
from tests.older import unseal


def decisions(seed: int = 0):
    rng = np.random.default_rng(seed)
    graph = csr(25, sorted({(int(a), int(b)) for a, b in rng.integers(0, 25, (150, 2)) if a != b}))
    kinds = rng.integers(0, 4, len(graph.indices)).astype(np.uint8)
    vectors = torch.tensor(rng.normal(size=(25, 12)), dtype=torch.float32)
    return from_walks(ForwardWalks(graph, steps=5).sample(30, rng), graph, kinds), NodeTable(vectors)


def test_a_ragged_softmax_is_a_softmax_per_decision() -> None:
    logits = torch.randn(10, generator=torch.Generator().manual_seed(0)) * 50
    owner = torch.tensor([0, 0, 0, 1, 2, 2, 2, 2, 3, 3])
    found = log_softmax(logits, owner, 4)
    for d in range(4):
        assert torch.allclose(found[owner == d], torch.log_softmax(logits[owner == d], 0), atol=1e-5)


@pytest.mark.parametrize("name", HEADS)
def test_a_decision_does_not_depend_on_its_batch(name: str) -> None:
    found, table = decisions()
    torch.manual_seed(0)
    head = build_head(HeadConfig(head=name, width=12, hidden=8)).eval()
    whole, _ = table.logits(head, found)
    a, b = int(found.indptr[4]), int(found.indptr[5])
    alone = some(found, np.array([4]))
    assert torch.allclose(whole[a:b], table.logits(head, alone)[0], atol=1e-5)


def test_the_residual_head_begins_as_the_cosine() -> None:
    found, table = decisions()
    logits, _ = table.logits(build_head(HeadConfig(width=12)), found)
    units = torch.nn.functional.normalize(table.vectors, dim=-1)
    owner = np.repeat(np.arange(len(found.current)), np.diff(found.indptr))
    cosine = (units[found.target] * units[found.goal[owner]]).sum(-1)
    assert torch.allclose(logits, 20 * cosine, atol=1e-4)


def test_the_mlp_is_one_hidden_layer_on_the_concatenation() -> None:
    """Appendix B.1, written out for each action."""
    found, table = decisions()
    torch.manual_seed(0)
    head = build_head(HeadConfig(head="mlp", width=12, hidden=8))
    logits, _ = table.logits(head, found)
    owner = np.repeat(np.arange(len(found.current)), np.diff(found.indptr))
    for action in range(0, len(found.target), 17):
        kind = torch.nn.functional.one_hot(torch.tensor(int(found.kind[action])), 4)
        goal, current = found.goal[owner[action]], found.current[owner[action]]
        visited = torch.tensor([float(found.visited[action])])
        seen = torch.cat((*table.vectors[[goal, current, found.target[action]]], kind, visited))
        assert torch.allclose(head.outer(head.inner(seen).relu())[0], logits[action], atol=1e-5)


def test_the_visited_bit_and_the_kind_reach_the_heads() -> None:
    found, table = decisions()
    for name in ("feedforward", "mlp", "residual"):
        torch.manual_seed(0)
        head = build_head(HeadConfig(head=name, width=12, hidden=8))
        if name == "residual":
            torch.nn.init.normal_(head.outer.weight)
        for changed in (found._replace(visited=~found.visited), found._replace(kind=(found.kind + 1) % 4)):
            assert not torch.allclose(table.logits(head, found)[0], table.logits(head, changed)[0], atol=1e-4)


def test_heads_that_cannot_be() -> None:
    with pytest.raises(InputError, match="hidden 0: choose 1 or more"):
        build_head(HeadConfig(hidden=0))
    with pytest.raises(InputError, match="no policy head named 'deep'"):
        build_head(HeadConfig(head="deep"))
    for wrong in ({"dropout": 1.0}, {"dropout": -0.1}, {"temperature": -1.0}, {"temperature": float("nan")}):
        with pytest.raises(InputError, match=f"head.{next(iter(wrong))}=.*: choose"):
            HeadConfig(head="compass", **wrong)


@pytest.mark.parametrize("name", HEADS)
def test_a_policy_survives_the_disk(name: str, tmp_path: Path) -> None:
    found, table = decisions()
    config = HeadConfig(head=name, width=12, hidden=8)
    head = build_head(config).eval()
    save_policy(tmp_path / "p", head, config, {"encoder": "abc", "encoder_name": "minilm"})
    again, manifest = load_policy(tmp_path / "p", "abc")
    assert manifest["head"]["head"] == name
    assert torch.equal(table.logits(head, found)[0], table.logits(again, found)[0])


def test_policies_that_cannot_be_used(tmp_path: Path) -> None:
    config = HeadConfig(width=12)
    head = build_head(config)
    save_policy(tmp_path / "p", head, config, {"encoder": "abc", "encoder_name": "minilm"})
    with pytest.raises(ArtifactError, match="embeddings of another encoder: embed the wiki with minilm"):
        load_policy(tmp_path / "p", "other")
    for change in ({"head": "deep"}, {"layers": 3}):
        unseal(tmp_path / "p", head=asdict(config) | change)
        with pytest.raises(ArtifactError, match="a head that this version does not know"):
            load_policy(tmp_path / "p", "abc")
    with torch.no_grad():
        head.temperature.fill_(float("nan"))
    save_policy(tmp_path / "nan", head, config, {"encoder": "abc", "encoder_name": "minilm"})
    with pytest.raises(ArtifactError, match="not numbers"):
        load_policy(tmp_path / "nan", "abc")


@pytest.mark.parametrize("name", ["feedforward", "mlp"])
def test_the_visited_bit_can_be_hidden(name: str, tmp_path: Path) -> None:
    found, table = decisions()
    nowhere = found._replace(visited=np.zeros_like(found.visited))
    assert found.visited.any()
    for sees in (True, False):
        torch.manual_seed(0)
        config = HeadConfig(head=name, width=12, hidden=8, visited=sees)
        head = build_head(config)
        with torch.no_grad():
            marked, unmarked = table.logits(head, found)[0], table.logits(head, nowhere)[0]
        assert torch.equal(marked, unmarked) != sees
    save_policy(tmp_path / "p", head, config, {"encoder": "x", "encoder_name": "toy"})
    again, _ = load_policy(tmp_path / "p", "x")
    assert torch.equal(table.logits(again, found)[0], marked)


def owners(found) -> np.ndarray:
    return np.repeat(np.arange(len(found.current)), np.diff(found.indptr))


@pytest.mark.parametrize("temperature", [20.0, 7.5])
def test_the_compass_begins_as_the_cosine(temperature: float) -> None:
    found, table = decisions()
    head = build_head(HeadConfig(head="compass", width=12, temperature=temperature))
    units = torch.nn.functional.normalize(table.vectors, dim=-1)
    cosine = (units[found.target] * units[found.goal[owners(found)]]).sum(-1)
    assert torch.allclose(table.logits(head, found)[0], temperature * cosine, atol=1e-4)


def compass(*, dropout: float = 0.0) -> CompassHead:
    torch.manual_seed(1)
    head = CompassHead(HeadConfig(head="compass", width=12, dropout=dropout))
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.02 if weight is head.scales else 0.5)
    return head


def test_the_compass_is_a_direction_and_a_scale() -> None:
    """Its docstring, written out for each action: the current page and the visited bit do not matter, kinds do."""
    found, table = decisions()
    head = compass()
    logits, _ = table.logits(head, found)
    units = torch.nn.functional.normalize(table.vectors, dim=-1)
    temperature = 20 * torch.exp(30 * head.scales[0])
    for action, decision in enumerate(owners(found)):
        goal = units[found.goal[decision]]
        direction = goal + head.turn.weight @ goal + head.turn.bias
        expected = temperature * (direction @ units[found.target[action]])
        expected = expected + 30 * head.scales[1 + int(found.kind[action])]
        assert torch.allclose(logits[action], expected, atol=1e-4)
    blind = found._replace(visited=~found.visited, current=np.zeros_like(found.current))
    assert torch.equal(table.logits(head, blind)[0], logits)


def test_features_are_hidden_from_the_compass_in_training_only() -> None:
    found, table = decisions()
    exact, _ = table.logits(compass(), found)
    head = compass(dropout=0.5)
    assert head.training
    first, second = (table.logits(head, found)[0] for _ in range(2))
    assert not torch.allclose(first, second)
    assert torch.equal(table.logits(head.eval(), found)[0], exact)
    # Hidden from what is learned alone: untrained it is the cosine all the same, and on average nothing is missing.
    plain = CompassHead(HeadConfig(head="compass", width=12, dropout=0.9))
    assert torch.equal(table.logits(plain, found)[0], table.logits(plain.eval(), found)[0])
    goals = torch.randn(4, 12, generator=torch.Generator().manual_seed(0))
    mean = torch.stack([head.train().direction(goals) for _ in range(4000)]).mean(0)
    assert torch.allclose(mean, head.eval().direction(goals), atol=0.1)


def test_a_trained_compass_survives_the_disk(tmp_path: Path) -> None:
    found, table = decisions()
    config = HeadConfig(head="compass", width=12, temperature=7.0, dropout=0.5)
    head = CompassHead(config)
    head.load_state_dict(compass().state_dict())
    save_policy(tmp_path / "p", head, config, {"encoder": "abc", "encoder_name": "minilm"})
    again, manifest = load_policy(tmp_path / "p", "abc")
    assert isinstance(again, CompassHead)
    assert not again.training
    assert manifest["head"] == asdict(config)
    assert torch.equal(table.logits(head.eval(), found)[0], table.logits(again, found)[0])
    goals = table.vectors.numpy()
    walks = load_compass(tmp_path / "p", "abc").directions(goals)
    assert walks.dtype == np.float32
    assert np.allclose(walks, again.directions(goals), atol=1e-5)
