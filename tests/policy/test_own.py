"""Heads of one's own: known once they are named, and never imported because a manifest names them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from linkwalk.errors import ArtifactError, InputError
from linkwalk.policy.checkpoint import can_open, is_compass, load_policy, open_policy, read_policy
from linkwalk.policy.checkpoint import save_policy as save
from linkwalk.policy.compass import Compass, LinearCompass
from linkwalk.policy.heads import HeadConfig, Pointing, build_head
from linkwalk.policy.own import OWN, use_head

MADE = {"encoder": "abc", "encoder_name": "minilm"}


class Plain(nn.Module):
    """The inner product."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(config.width))

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        return (self.scale * action * goal[owner]).sum(-1)


class Backwards(Pointing):
    """Looks where the goal is not."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(-1.0))

    def direction(self, goal: Tensor) -> Tensor:
        return self.scale * goal

    def forward(self, current: Tensor, goal: Tensor, action: Tensor, traits: Tensor, owner: Tensor) -> Tensor:
        return (action * self.direction(goal)[owner]).sum(-1)


@pytest.fixture(autouse=True)
def _nobody_has_named_any(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(OWN):
        monkeypatch.delitem(OWN, name)


def save_policy(folder: Path, head: str, *, visited: bool = True) -> Path:
    config = HeadConfig(head=head, width=6, visited=visited)
    save(folder, build_head(config), config, MADE)
    return folder


@pytest.mark.parametrize("by", ["class", "name"])
def test_it_is_saved_and_opened_by_its_name(by: str, tmp_path: Path) -> None:
    name = use_head(Plain if by == "class" else f"{__name__}:Plain")
    assert name == f"{__name__}:Plain"
    folder = save_policy(tmp_path / "p", name)
    assert read_policy(folder)["head"]["head"] == name
    head, _ = load_policy(folder, "abc")
    assert type(head) is Plain
    assert not isinstance(open_policy(folder, "abc", device="cpu"), Compass)
    assert can_open(read_policy(folder))


def test_a_manifest_imports_nothing(tmp_path: Path) -> None:
    folder = save_policy(tmp_path / "p", use_head(Backwards))
    OWN.clear()
    manifest = read_policy(folder)
    assert not can_open(manifest)
    assert not is_compass(manifest)
    with pytest.raises(
        ArtifactError, match=r"the policy 'p' has a head of one's own, .*:Backwards: name that"
    ):
        open_policy(folder, "abc", device="cpu")
    with pytest.raises(InputError, match=r"no policy head named .*, or name your own as package.module:Name"):
        HeadConfig(head=f"{__name__}:Backwards")


def test_one_that_says_where_to_look_guides(tmp_path: Path) -> None:
    folder = save_policy(tmp_path / "p", use_head(Backwards))
    assert is_compass(read_policy(folder))
    compass = open_policy(folder, "abc", device="cpu")
    assert isinstance(compass, Compass)
    goals = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    assert np.array_equal(compass.directions(goals), -goals)
    hidden = save_policy(tmp_path / "h", use_head(Backwards), visited=False)
    assert not is_compass(read_policy(hidden))
    assert not isinstance(open_policy(hidden, "abc", device="cpu"), Compass)


def test_a_compass_is_opened_without_torch(tmp_path: Path) -> None:
    assert isinstance(open_policy(save_policy(tmp_path / "p", "compass"), "abc"), LinearCompass)


def test_names_of_heads_that_are_built_in_stay_as_they_are() -> None:
    assert use_head("residual") == "residual"
    assert not OWN


@pytest.mark.parametrize("name", ["json:loads", "json:JSONDecoder"])
def test_what_is_no_head(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is no policy head: a head is a class"):
        use_head(name)
