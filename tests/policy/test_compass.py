"""A trained compass without torch is the compass."""

from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.errors import ArtifactError
from linkwalk.policy.checkpoint import is_compass, load_compass, read_policy, save_policy
from linkwalk.policy.compass import LinearCompass
from linkwalk.policy.heads import CompassHead, HeadConfig, build_head

MADE = {"encoder": "abc", "encoder_name": "minilm"}


@pytest.fixture
def compass(tmp_path: Path) -> tuple[CompassHead, Path]:
    """A compass of random weights, half of whose view is hidden in training, and its folder."""
    torch.manual_seed(0)
    config = HeadConfig(head="compass", width=12, dropout=0.5)
    head = build_head(config)
    assert isinstance(head, CompassHead)
    for value in head.parameters():
        torch.nn.init.normal_(value)
    save_policy(tmp_path / "p", head, config, MADE)
    return head, tmp_path / "p"


def test_it_looks_where_the_compass_looks(compass: tuple[CompassHead, Path]) -> None:
    head, folder = compass
    goals = np.random.default_rng(0).normal(size=(5, 12)).astype(np.float32)
    goals[3] = 0  # an empty text
    found = load_compass(folder, "abc").directions(goals)
    assert found.dtype == np.float32
    with torch.no_grad():
        expected = head.eval().direction(torch.from_numpy(goals)).numpy()
    assert np.abs(found - expected).max() < 1e-5
    head.train()
    assert np.array_equal(head.directions(goals), expected), "nothing is hidden from who walks"
    assert head.training


def test_which_policies_are_one(tmp_path: Path) -> None:
    for head, visited, expected in (("compass", True, True), ("compass", False, False), ("mlp", True, False)):
        config = HeadConfig(head=head, width=12, visited=visited)
        save_policy(tmp_path / "p", build_head(config), config, MADE)
        assert is_compass(read_policy(tmp_path / "p")) is expected
    assert not is_compass({"head": "compass"})


def test_a_compass_that_cannot_be_used(compass: tuple[CompassHead, Path]) -> None:
    with pytest.raises(ArtifactError, match="embeddings of another encoder: embed the wiki with minilm"):
        load_compass(compass[1], "other")
    with pytest.raises(ValueError, match="a matrix of"):
        LinearCompass(np.zeros((3, 2), np.float32), np.zeros(3, np.float32))
