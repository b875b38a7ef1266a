"""Both cores do as the plain one does, step by step, and draw the same episodes."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import linkwalk.envs
from linkwalk.envs.on_cpu import Navigation, SeenVectors, Vectors
from linkwalk.envs.on_torch import NavigationOnDevice
from linkwalk.envs.world import EpisodeSource, Rules, StepResult, World, draw_episode, task_of
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig
from linkwalk.walks import ForwardWalks, ReverseWalks
from tests.envs.oracle import Plain
from tests.on_device import DEVICE
from tests.test_architecture import FILES, imports

COUNT, STEPS = 7, 120


def on_cpu(world: World, rules: Rules, **options: Any) -> Navigation:
    return Navigation(world, rules, COUNT, workers=2, **options)


def on_torch(world: World, rules: Rules, **options: Any) -> NavigationOnDevice:
    return NavigationOnDevice(world, rules, COUNT, device=DEVICE, **options)


def numbers(core: Any, array: Any) -> Any:
    """What a core takes."""
    return torch.from_numpy(array).to(DEVICE) if isinstance(core, NavigationOnDevice) else array


def row(named: Any, b: int) -> dict[str, Any]:
    """What is seen in one episode."""
    return {name: value[b].tolist() for name, value in named._asdict().items()}


@pytest.mark.parametrize("make", [on_cpu, on_torch])
@pytest.mark.parametrize("task", ["navigation-4", "multistep-6-reverse"])
@pytest.mark.parametrize("back", [False, True])
def test_a_core_does_as_the_plain_one(dead_ends: World, make: Any, task: str, back: bool) -> None:
    rules = Rules(task=task_of(task), budget=9, back=back, step_cost=0.25)
    core, rng = make(dead_ends, rules), np.random.default_rng(3)
    core.seeded(11)
    seen, drawing = core.reset(), EpisodeSource.of(dead_ends, rules.task)
    plain = [Plain(dead_ends.forward, dead_ends.kinds, budget=9, back=back, cost=0.25) for _ in range(COUNT)]
    numbered, over, met = [0] * COUNT, [True] * COUNT, Counter[str]()
    for b in range(COUNT):
        assert row(seen, b) == plain[b].reset(*draw_episode(drawing, np.uint64(11 + b), 0))
        numbered[b], over[b] = 1, False
    for _ in range(STEPS):
        actions = rng.integers(-1, core.actions + 1, size=COUNT)  # some of them illegal
        actions[::2] %= np.maximum(seen.action_mask.sum(1).tolist(), 1)[::2]
        found: StepResult = core.step(numbers(core, actions))
        seen = found.seen
        for b in range(COUNT):
            if over[b]:
                expected = plain[b].reset(*draw_episode(drawing, np.uint64(11 + b), numbered[b]))
                reward, terminated, truncated, illegal = 0.0, False, False, False
                numbered[b] += 1
            else:
                expected, reward, terminated, truncated, illegal = plain[b].step(int(actions[b]))
            assert row(found.seen, b) == expected
            assert (float(found.reward[b]), bool(found.terminated[b])) == (reward, terminated)
            assert (bool(found.truncated[b]), bool(found.illegal[b])) == (truncated, illegal)
            over[b] = terminated or truncated
            reached = terminated and plain[b].here == plain[b].goal
            met.update(["reached"] * reached + ["stuck"] * (terminated and not reached))
            met.update(["truncated"] * truncated + ["illegal"] * illegal)
            met.update(["back"] * int(back and not illegal and actions[b] == core.links))
    wanted = {"reached", "truncated", "illegal"} | ({"back"} if back else {"stuck"})
    assert wanted <= set(met)


@pytest.mark.parametrize("sampling", ["forward", "reverse"])
@pytest.mark.parametrize("task", ["navigation", "multistep"])
def test_an_episode_is_the_walk_of_its_number(random_world: Path, sampling: Any, task: Any) -> None:
    world = World.open(random_world, sees=False)
    config = TaskConfig(task=task, steps=3, sampling=sampling)
    options = {"steps": 3, "multistep": task == "multistep", "apart": True}
    walks = (
        ForwardWalks(world.forward, **options)
        if sampling == "forward"
        else ReverseWalks(world.forward, world.reverse, **options)
    ).sample(200, np.random.default_rng(5))
    seed = np.random.default_rng(5).integers(1 << 64, dtype=np.uint64)
    drawn = [draw_episode(EpisodeSource.of(world, config), seed, number) for number in range(200)]
    assert drawn == list(zip(walks.starts.tolist(), walks.goals.tolist(), strict=True))


def test_both_cores_have_the_same_episodes_however_long_they_last(random_world: Path) -> None:
    world, rules = World.open(random_world), Rules(task=task_of("navigation-2"), budget=1)
    cpu, device = on_cpu(world, rules), on_torch(world, rules)
    for core in (cpu, device):
        core.seeded(2**64 - 3)  # seeds count on from 0 behind the last
    assert row(cpu.reset(), 0) == row(device.reset(), 0)
    rng = np.random.default_rng(0)
    for _ in range(80):  # forty episodes: more than are in store
        actions = rng.integers(3, size=COUNT)
        one, other = cpu.step(actions), device.step(numbers(device, actions))
        assert [row(one.seen, b) for b in range(COUNT)] == [row(other.seen, b) for b in range(COUNT)]


@pytest.mark.parametrize("make", [on_cpu, on_torch])
def test_without_autoreset_an_episode_that_has_ended_stands_still_until_it_is_reset(
    random_world: Path, make: Any
) -> None:
    core = make(World.open(random_world), Rules(task=task_of("navigation-5"), budget=1), autoreset=False)
    core.seeded(0)
    core.reset()
    first, reward = core.step(numbers(core, np.zeros(COUNT, np.int64))), None
    before = row(first.seen, 0), bool(first.terminated[0]), bool(first.truncated[0])
    again = core.step(numbers(core, np.ones(COUNT, np.int64)))
    reward = float(again.reward[0])
    assert (row(again.seen, 0), bool(again.terminated[0]), bool(again.truncated[0])) == before
    assert reward == 0
    which = np.arange(COUNT) == 0
    seen = core.reset(which=numbers(core, which))
    assert row(seen, 0) != before[0]
    after = core.step(numbers(core, np.full(COUNT, core.links + 5)))
    assert after.illegal.tolist() == which.tolist()


def test_vectors_are_rows_of_the_table_and_zeros_behind_the_last_link(random_world: Path) -> None:
    world, rules = World.open(random_world), Rules(budget=5)
    cpu, device = on_cpu(world, rules), on_torch(world, rules)
    vectors, rng = Vectors(cpu), np.random.default_rng(1)
    for core in (cpu, device):
        core.seeded(4)
        core.reset()
    table = np.concatenate((world.table, np.zeros((1, 12), np.float16))).astype(np.float32)
    for _ in range(30):
        actions = rng.integers(5, size=COUNT)
        seen, other = cpu.step(actions).seen, device.step(numbers(device, actions)).seen
        looks = vectors.look()
        for name in looks._fields:
            expected = table[getattr(seen, name)]
            assert np.array_equal(getattr(looks, name), expected), name
            assert np.array_equal(device.look_up(getattr(other, name)).float().cpu().numpy(), expected), name


def test_looks_stay_as_they_are_while_anybody_holds_a_part_of_them(random_world: Path) -> None:
    core, rng = on_cpu(World.open(random_world), Rules()), np.random.default_rng(2)
    vectors, held = Vectors(core), list[tuple[Any, Any]]()
    core.seeded(0)
    core.reset()
    for step in range(30):
        core.step(rng.integers(4, size=COUNT))
        looks = vectors.look(fresh=True)
        part = [looks, looks.goal, looks.links[3], torch.from_numpy(looks.current)[1:]][step % 4]
        whole = part.links if isinstance(part, SeenVectors) else part
        held.append((part, whole.tolist()))
        del looks, part, whole
        held = held[-9:]
        for kept, before in held:
            assert (kept.links if isinstance(kept, SeenVectors) else kept).tolist() == before
    held.clear()
    first = vectors.look(fresh=True).links.ctypes.data
    assert vectors.look(fresh=True).links.ctypes.data == first, "what nobody holds is taken again"


def test_fewer_links_are_the_first_ones_and_every_goal_is_reached_by_them(random_world: Path) -> None:
    whole, cut = World.open(random_world), World.open(random_world, max_links=2)
    assert cut.most_links == 2
    for node in range(whole.graph.nodes):
        assert cut.forward.row(node).tolist() == whole.forward.row(node)[:2].tolist()
    core = on_cpu(cut, Rules(task=task_of("navigation-1-reverse")))
    core.seeded(0)
    seen = core.reset()
    assert all(seen.goal[b] in seen.links[b] for b in range(COUNT))


@pytest.mark.parametrize("make", [on_cpu, on_torch])
def test_ends_that_cannot_be_played_are_refused(random_world: Path, dead_ends: World, make: Any) -> None:
    core = make(World.open(random_world), Rules())
    pages = numbers(core, np.arange(COUNT, dtype=np.int32))
    with pytest.raises(InputError, match="both start and goal"):
        core.reset(starts=pages, goals=pages)
    with pytest.raises(InputError, match="no block 1000"):
        core.reset(starts=pages, goals=pages + 1000)
    stuck = make(dead_ends, Rules())
    with pytest.raises(InputError, match="no link leads out of"):
        stuck.reset(starts=pages, goals=pages + 1)  # page 0 has none


@pytest.mark.parametrize(
    "name", ["navigation", "navigation-0", "sentence-5", "multistep--3", "navigation-5-up"]
)
def test_an_unknown_task_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no task"):
        task_of(name)


def test_the_core_does_without_gymnasium() -> None:
    wrappers = {"__init__.py", "gym_core.py", "gym_envs.py"}
    core = [path for path in FILES if path.parent.name == "envs" and path.name not in wrappers]
    assert len(core) == 3
    for path in core:
        found = {name for _, name in imports(path)}
        assert not [name for name in found if name.startswith("gymnasium")], path
        assert not [name for name in found if name.removeprefix("linkwalk.envs.") + ".py" in wrappers], path


def test_names_are_where_they_are_said_to_be() -> None:
    assert all(getattr(linkwalk.envs, name) is not None for name in linkwalk.envs.__all__)
