"""What Gymnasium asks of an environment, and what we promise about seeds, options and illegal actions."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import linkwalk.envs
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig, draw_episodes
from linkwalk.graph.store import Graph
from linkwalk.wiki import Wiki


def single(wiki: Any, **options: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(linkwalk.envs.ID, wiki=wiki, **options)


def vector(wiki: Any, count: int, **options: Any) -> Any:
    return gymnasium.make_vec(linkwalk.envs.ID, num_envs=count, wiki=wiki, **options)


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    "options",
    [{}, {"observation": "indices", "back": True}, {"text": True, "max_links": 3, "step_cost": 0.01}],
    ids=["vectors", "indices", "text"],
)
def test_it_is_an_environment(random_world: Path, options: dict[str, Any]) -> None:
    env = single(random_world, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is no link of", UserWarning)
        warnings.filterwarnings("ignore", ".*no page to go back to", UserWarning)
        check_env(env.unwrapped)


def test_environment_b_of_a_vector_has_the_episodes_of_the_single_one_of_its_seed(random_world: Path) -> None:
    """With Gymnasium's own next-step mode around the single ones, step by step, ends and new beginnings included."""
    options = {"task": "navigation-2", "budget": 6, "back": True}
    ours = vector(random_world, 4, **options)
    theirs = vector(random_world, 4, **options, vectorization_mode="sync")
    for envs in (ours, theirs):
        envs.action_space.seed(5)
    (seen, info), (expected, told) = ours.reset(seed=7), theirs.reset(seed=7)
    ended = 0
    for _ in range(60):
        assert same(seen, expected)
        assert same(info, told)
        assert ours.observation_space.contains(seen)
        actions = ours.action_space.sample(mask=tuple(seen["action_mask"]))
        seen, reward, terminated, truncated, info = ours.step(actions)
        expected, *outcome, told = theirs.step(actions)
        for mine, other in zip((reward, terminated, truncated), outcome, strict=True):
            assert np.array_equal(mine, other)
        assert reward.tolist() == [float(x) for x in info["success"] & terminated]
        ended += int(terminated.sum()) * int(truncated.sum() + 1)
    assert ended > 3


def test_in_same_step_mode_what_was_last_seen_is_told_besides(random_world: Path) -> None:
    options = {"task": "navigation-2", "budget": 4, "observation": "indices"}
    ours = vector(random_world, 3, **options, autoreset_mode=AutoresetMode.SAME_STEP)
    theirs = vector(
        random_world,
        3,
        **options,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )
    (seen, _), (expected, _) = ours.reset(seed=1), theirs.reset(seed=1)
    finals = 0
    for _ in range(20):
        actions = np.array([int(np.flatnonzero(mask)[-1]) for mask in seen["action_mask"]])
        seen, *_, info = ours.step(actions)
        expected, *_, told = theirs.step(actions)
        assert same(seen, expected)
        assert ("final_obs" in info) == ("final_obs" in told)
        for b in np.flatnonzero(told.get("_final_obs", [])):
            assert same(info["final_obs"][b], told["final_obs"][b])
            for name, column in told["final_info"].items():
                assert np.array_equal(info["final_info"][name][b], column[b]), name
            finals += 1
    assert finals > 3
    assert ours.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


def test_without_autoreset_one_asks_for_it(random_world: Path) -> None:
    envs = vector(random_world, 2, budget=1, autoreset_mode=AutoresetMode.DISABLED, observation="indices")
    seen, _ = envs.reset(seed=0)
    envs.step(np.zeros(2, np.int64))
    with pytest.raises(InputError, match="environment 0 is over"):
        envs.step(np.zeros(2, np.int64))
    again, _ = envs.reset(seed=0, options={"reset_mask": np.array([True, False])})
    assert again["current"][0] == seen["current"][0]
    assert again["goal"][1] == seen["goal"][1]


def test_numbers_of_pages_are_rows_of_the_table(random_world: Path) -> None:
    by_number, by_vector = single(random_world, observation="indices"), single(random_world)
    (pages, _), (vectors, _) = by_number.reset(seed=1), by_vector.reset(seed=1)
    links = int(pages["action_mask"].sum())
    table = by_number.unwrapped.table
    assert np.array_equal(table[pages["goal"]], vectors["goal"])
    assert np.array_equal(table[pages["links"][:links]], vectors["links"][:links])
    assert not vectors["links"][links:].any()


def test_nothing_can_be_clicked_before_an_episode_has_begun(random_world: Path) -> None:
    with pytest.raises(InputError, match="reset the environments"):
        vector(random_world, 2, observation="indices").step(np.zeros(2, np.int64))
    with pytest.raises(InputError, match="reset the environment"):
        single(random_world, observation="indices").unwrapped.step(0)


def test_a_seed_repeats_its_episodes_and_no_seed_goes_on(random_world: Path) -> None:
    env = single(random_world, observation="indices")

    def ends(**options: Any) -> tuple[int, int]:
        info = env.reset(**options)[1]
        return info["node"], info["goal_node"]

    first = [ends(seed=5), ends(), ends()]
    assert len(set(first)) > 1
    assert [ends(seed=5), ends(), ends()] == first
    assert [ends(seed=6), ends(), ends()] != first
    assert [ends(seed=5), ends(options={"episode": 3}), ends()] != first  # one that is named counts for none
    assert ends() == first[2]


def test_pages_are_named_by_title_or_number(random_world: Path) -> None:
    wiki = Wiki.open(random_world)
    graph = wiki.graph
    start, goal = graph.name(3), graph.title(9)
    env = single(wiki, text=True, strict=True, render_mode="ansi")
    _, info = env.reset(options={"start": start, "goal": goal})
    assert (info["node"], info["goal_node"]) == (3, graph.find(goal))
    assert info["text"].startswith(f"{start}\n")
    assert info["goal_text"].endswith(graph.texts[graph.find(goal)])
    row = graph.forward.row(3).tolist()
    assert [line.rpartition(": ")[2] for line in info["link_texts"]] == [graph.name(node) for node in row]
    env.step(0)
    assert env.render() == "\n".join(
        (
            f"goal  {graph.name(graph.find(goal))}",
            f"   0  {start}",
            f"   1  {graph.name(row[0])}",
            "1 step of 100",
        )
    )
    envs = vector(wiki, 2, observation="indices")
    seen, _ = envs.reset(options={"start": 3, "goal": [graph.name(5), 6]})
    assert (seen["current"].tolist(), seen["goal"].tolist()) == ([3, 3], [5, 6])


def test_an_episode_by_its_number_is_the_one_that_agents_are_compared_on(random_world: Path) -> None:
    graph, task = Graph.open(random_world), TaskConfig(steps=3, episodes=40, seed=2)
    drawn = draw_episodes(graph.forward, graph.reverse, task)
    envs = vector(random_world, 5, task=task, observation="indices")
    for first in (0, 20, 7):
        seen, _ = envs.reset(options={"episode": first})
        assert seen["current"].tolist() == drawn.starts[first : first + 5].tolist()
        assert seen["goal"].tolist() == drawn.goals[first : first + 5].tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": 3, "goal": 3}, "both start and goal"),
        ({"start": 3}, "give both"),
        ({"start": 3, "goal": "Nowhere at all"}, "no article named"),
        ({"start": 3, "goal": 10**6}, "no block 1000000"),
        ({"start": 3, "goal": 4, "episode": 1}, "'episode' alone"),
        ({"episode": -1}, "numbered from 0"),
        ({"begin": 3}, "no option 'begin'"),
    ],
)
def test_what_cannot_be_played_is_refused(random_world: Path, options: dict[str, Any], said: str) -> None:
    env = single(random_world, observation="indices")
    with pytest.raises(InputError, match=said):
        env.reset(options=options)


def test_an_illegal_action_is_an_error_or_leads_nowhere(random_world: Path) -> None:
    graph = Graph.open(random_world)
    links = len(graph.forward.row(3))
    begin = {"start": 3, "goal": 9}
    strict = single(random_world, strict=True, back=True, observation="indices")
    strict.reset(options=begin)
    with pytest.raises(InputError, match=f"its {links} links are 0 to {links - 1}"):
        strict.step(links)
    with pytest.raises(InputError, match="no page to go back to"):
        strict.step(strict.action_space.n - 1)
    assert strict.unwrapped.core.state.steps[0] == 0

    env = single(random_world, step_cost=0.5, observation="indices")
    env.reset(options=begin)
    with pytest.warns(UserWarning, match=f"action {links} is no link of"):
        _, reward, terminated, truncated, info = env.step(links)
    assert (reward, terminated, truncated, info["node"], info["illegal"]) == (-0.5, False, False, 3, True)
    assert env.step(links)[4]["illegal"], "and no second warning, which would be an error here"
    assert not env.step(0)[4]["illegal"]


def test_actions_are_whole_numbers_one_for_each(random_world: Path) -> None:
    envs = vector(random_world, 2, observation="indices")
    envs.reset(seed=0)
    for wrong in (np.zeros(3, np.int64), np.zeros(2), np.int64(0)):
        with pytest.raises(InputError, match="a whole number for each"):
            envs.step(wrong)


def test_an_end_by_the_budget_is_told_from_one_at_the_goal(random_world: Path) -> None:
    row = Graph.open(random_world).forward.row(3).tolist()
    env = single(random_world, budget=1, observation="indices")
    env.reset(options={"start": 3, "goal": row[0]})
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    with pytest.raises(InputError, match="over"):
        env.step(0)
    env.reset(options={"start": 3, "goal": row[0]})
    _, reward, terminated, truncated, info = env.step(1)
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)


def test_what_is_not_copied_is_written_over(random_world: Path) -> None:
    kept, passing = vector(random_world, 2), vector(random_world, 2, copy=False)
    for envs, stays in ((kept, True), (passing, False)):
        seen, _ = envs.reset(seed=1)
        before = seen["current"].copy()
        envs.step(np.zeros(2, np.int64))
        assert np.array_equal(seen["current"], before) == stays
