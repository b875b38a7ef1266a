"""Learning from reward: in a corridor the way is learned, episodes go on across unrolls, and a stopped run goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from linkwalk.envs.on_torch import NavigationOnDevice
from linkwalk.envs.world import Rules, World, fixed, task_of
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.rewards.actors import Actors, Places, likelihoods, look_back
from linkwalk.learn.rewards.impala import ImpalaConfig, reinforce
from linkwalk.learn.state import read_state
from linkwalk.navigate import Episodes
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.heads import HeadConfig, build_head
from tests.graph.conftest import csr
from tests.on_device import DEVICE, way  # noqa: F401 (a fixture)

PAGES = 8
EYE = np.eye(PAGES, dtype=np.float32)
HEAD = HeadConfig(head="feedforward", width=PAGES)
QUICK = ImpalaConfig(head=HEAD, steps=10, multistep=True, budget=20, batch=16, unroll=10, updates=6)


@pytest.fixture(scope="module")
def corridor() -> World:
    """A row of pages, each linked to the ones beside it; nobody asks for their names."""
    links = [(i, j) for i in range(PAGES) for j in (i - 1, i + 1) if 0 <= j < PAGES]
    kinds = np.array([int(j > i) for i, j in links], np.uint8)
    return World(cast(Graph, None), fixed(csr(PAGES, links)), kinds, None)


def test_a_corridor_is_learned(corridor: World, tmp_path: Path) -> None:
    config = replace(QUICK, updates=100, batch=32, unroll=10, entropy_cost=0.03)
    head = reinforce(corridor, EYE, config, folder=tmp_path / "run")
    rows = read_rows(tmp_path / "run")
    starts, goals = np.nonzero(~np.eye(PAGES, dtype=bool))
    walker = PolicyWalker("p", head, corridor.forward, corridor.kinds, EYE)
    found = walker.run(Episodes.of(starts, goals), budget=PAGES)
    assert found.success.mean() > 0.95
    assert (found.steps == abs(starts - goals)).mean() > 0.95, "the shortest ways"
    assert rows[-1]["reward"] > 0.99
    assert rows[-1]["entropy"] < rows[0]["entropy"]
    assert rows[-1]["clipped"] == 0, "the actors have the learner's own weights"


@pytest.mark.parametrize("name", ["feedforward", "compass"])
@pytest.mark.usefixtures("way")
def test_what_is_drawn_on_device_is_what_the_policy_thinks_likely(corridor: World, name: str) -> None:
    torch.manual_seed(0)
    core = NavigationOnDevice(
        corridor, Rules(task=task_of("navigation-3")), 500, device=DEVICE, autoreset=False
    )
    core.seeded(0)
    standing: dict[str, list[Any]] = {
        "goal": [0],
        "steps": [0],
        "paths": [[5]],
        "taken": [0],
        "terminated": [False],
        "truncated": [False],
    }
    core.from_json({key: 500 * values for key, values in standing.items()})
    config = HeadConfig(head=name, width=PAGES, temperature=2.0)
    head, vectors = build_head(config).to(DEVICE).eval(), torch.as_tensor(EYE, device=DEVICE)
    unroll = Actors(core, vectors).act(head, 1)
    one = Places(*(x[0, :1] for x in (unroll.current, unroll.goal, unroll.path, unroll.steps)))
    _, log_pi = likelihoods(head, vectors, core.graph, one)
    forward = (unroll.action[0] == 1).float().mean().item()
    assert forward == pytest.approx(log_pi[1].exp().item(), abs=0.08)
    assert torch.allclose(unroll.log_mu[0], log_pi[unroll.action[0]], atol=1e-5)


@pytest.mark.usefixtures("way")
def test_an_unroll_on_device_is_episodes_one_after_another(corridor: World) -> None:
    torch.manual_seed(0)
    core = NavigationOnDevice(
        corridor, Rules(task=task_of("navigation-3"), budget=4), 8, device=DEVICE, autoreset=False, store=30
    )
    core.seeded(0)
    core.reset()
    found = Actors(core, torch.as_tensor(EYE, device=DEVICE)).act(build_head(HEAD).to(DEVICE), 30)
    assert int(core.taken.sum()) == 8 + int((found.terminated | found.truncated).sum())
    ended = found.terminated | found.truncated
    assert found.terminated.any()
    assert found.truncated.any()
    for b in range(8):
        for t in range(30):
            here, steps = int(found.current[t, b]), int(found.steps[t, b])
            assert int(found.landed[t, b]) == corridor.forward.row(here)[int(found.action[t, b])]
            assert (
                (found.landed[t, b] == found.goal[t, b])
                == bool(found.terminated[t, b])
                == bool(found.reward[t, b])
            )
            assert bool(found.truncated[t, b]) == (steps == 3 and not found.terminated[t, b])
            path = found.path[t, b].tolist()
            assert path[steps] == here
            assert path[steps + 1 :] == [-1] * (4 - steps)
            if t < 29:
                assert (int(found.steps[t + 1, b]) == 0) == bool(ended[t, b])
                if not ended[t, b]:
                    assert found.current[t + 1, b] == found.landed[t, b]
                    assert found.path[t + 1, b].tolist()[: steps + 1] == path[: steps + 1]


@pytest.mark.parametrize("name", ["feedforward", "compass"])
@pytest.mark.usefixtures("way")
def test_looking_back_on_device_has_the_figures_and_gradients_of_all_links(name: str) -> None:
    torch.manual_seed(1)
    rng = np.random.default_rng(0)
    pages, width = 30, 12
    links = [(i, int(j)) for i in range(pages) for j in rng.choice(pages, 1 + i, replace=False)]
    kinds = rng.integers(0, 3, len(links)).astype(np.uint8)
    world = World(cast(Graph, None), fixed(csr(pages, links)), kinds, None)
    core = NavigationOnDevice(world, Rules(task=task_of("navigation-3")), 5, device=DEVICE, autoreset=False)
    core.seeded(0)
    core.reset()
    vectors = torch.randn(pages, width).to(DEVICE)
    head = build_head(HeadConfig(head=name, width=width, temperature=3.0)).to(DEVICE).eval()
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.05)
    unroll = Actors(core, vectors).act(head, 12)
    places, action = unroll.places(slice(0, 60)), unroll.action.flatten()
    counts = torch.as_tensor(np.diff(world.forward.indptr), device=DEVICE)
    assert counts[places.current.long()].max() > 8, "more links than are read at a time"

    found = look_back(head, vectors, core.graph, places, action)
    weights = torch.randn(2, 60).to(DEVICE)
    (weights * torch.stack(found)).sum().backward()
    gradients = [weight.grad.clone() for weight in head.parameters() if weight.grad is not None]
    head.zero_grad()
    links, log_pi = likelihoods(head, vectors, core.graph, places)
    wanted = []
    for step in range(60):
        own = log_pi[links.owner == step]
        wanted.append(torch.stack((own[action[step]], -(own.exp() * own).sum())))
    assert torch.allclose(torch.stack(found, 1), torch.stack(wanted), atol=1e-5)
    (weights.T * torch.stack(wanted)).sum().backward()
    true = [weight.grad for weight in head.parameters() if weight.grad is not None]
    assert all(torch.allclose(a, b, atol=1e-4, rtol=1e-4) for a, b in zip(gradients, true, strict=True))


def test_an_older_policy_that_acts_is_corrected_for(corridor: World, tmp_path: Path) -> None:
    config = replace(QUICK, updates=80, batch=32, unroll=10, entropy_cost=0.03, refresh=4)
    head = reinforce(corridor, EYE, config, folder=tmp_path / "run")
    rows = read_rows(tmp_path / "run")
    assert rows[0]["clipped"] == 0, "at first they have the same weights"
    assert 0 < rows[-1]["clipped"] < 1
    starts, goals = np.nonzero(~np.eye(PAGES, dtype=bool))
    found = PolicyWalker("p", head, corridor.forward, corridor.kinds, EYE).run(
        Episodes.of(starts, goals), budget=PAGES
    )
    assert found.success.mean() > 0.9


@pytest.mark.parametrize("refresh", [1, 4])
def test_a_stopped_training_goes_on_to_the_same_weights(
    corridor: World, tmp_path: Path, refresh: int
) -> None:
    config, folder = replace(QUICK, refresh=refresh), tmp_path / "run"
    whole = reinforce(corridor, EYE, config).state_dict()
    reinforce(corridor, EYE, replace(config, updates=3), folder=folder, checkpoint_every=3)
    saved = read_state(folder)
    assert saved is not None
    assert saved.update == 3
    resumed = reinforce(corridor, EYE, config, folder=folder, resume=saved).state_dict()
    assert all(torch.equal(whole[name], value) for name, value in resumed.items())


def test_it_goes_on_from_a_policy(corridor: World) -> None:
    torch.manual_seed(3)
    start = build_head(HEAD)
    same = reinforce(corridor, EYE, replace(QUICK, updates=1, learning_rate=0.0), start=start).state_dict()
    assert all(torch.equal(same[name], value) for name, value in start.state_dict().items())


def test_a_compass_learns_from_reward(corridor: World) -> None:
    config = replace(QUICK, head=HeadConfig(head="compass", width=PAGES, temperature=1.0), updates=3)
    head = reinforce(corridor, EYE, config)
    assert any(bool(value.abs().sum() > 0) for value in head.parameters())


def test_links_are_looked_at_in_parts(corridor: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reinforce(corridor, EYE, QUICK).state_dict()
    monkeypatch.setattr("linkwalk.learn.rewards.impala._LINKS", {"cpu": 7, "cuda": 7})
    parts = reinforce(corridor, EYE, QUICK).state_dict()
    assert all(torch.allclose(whole[name], value, atol=1e-4) for name, value in parts.items())


def test_what_makes_no_sense_is_refused(corridor: World) -> None:
    with pytest.raises(InputError, match="transformer"):
        ImpalaConfig(head=HeadConfig(head="transformer", width=8))
    with pytest.raises(InputError, match="width 8"):
        reinforce(corridor, np.eye(PAGES, 5, dtype=np.float32), QUICK)
    with pytest.raises(InputError, match="discount"):
        ImpalaConfig(discount=1.5)
