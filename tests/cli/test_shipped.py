"""The policy that ships is the agent where none is named, on part of the bundled encyclopedia."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk import shipped
from linkwalk.artifact import seal
from linkwalk.embed import Embeddings, embed
from linkwalk.graph.store import LINK, Graph
from linkwalk.navigate import BASELINES, MoveConfig, unit_rows
from linkwalk.navigate.trained_map import MAP, SHIPPED
from linkwalk.policy.checkpoint import load_compass, read_policy, save_policy
from linkwalk.policy.heads import CompassHead, HeadConfig, build_head
from linkwalk.wiki import Wiki
from linkwalk.wiki.agents import with_its_map
from tests.cli.conftest import Ran
from tests.conftest import Once
from tests.graph.conftest import Page, write_graph
from tests.older import unseal

Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def read_only(encyclopedia: Path, once: Once) -> Path:
    """Sixty blocks of the bundled encyclopedia, embedded by MiniLM."""
    from linkwalk.cli import main

    def make(folder: Path) -> None:
        with pytest.raises(SystemExit) as leave:
            main(["split", str(encyclopedia), "-o", str(folder), "--by", "node", "--nodes", "60"])
        assert not leave.value.code
        embed(folder / "train", device="cpu")

    return once("shipped", make) / "train"


@pytest.fixture
def wiki(read_only: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(read_only, tmp_path / "wiki"))


def ends(wiki: Path) -> tuple[str, ...]:
    """From the block with the most links to the farthest one."""
    from linkwalk.graph.paths import distances_from

    graph = Graph.open(wiki)
    start = int(graph.forward.degrees().argmax())
    goal = int(distances_from(graph.forward, start).argmax())
    return "--from", graph.name(start), "--to", graph.name(goal)


def a_policy(wiki: Path, head: str, name: str, turn: float = 0.0) -> Path:
    """An untrained head, saved in the workspace; a compass may be turned."""
    table = Embeddings.open(wiki)
    config = HeadConfig(head=head, width=table.width)
    torch.manual_seed(0)
    built = build_head(config)
    if isinstance(built, CompassHead):
        with torch.no_grad():
            built.turn.weight.copy_(turn * torch.eye(table.width))
    folder = wiki / "policies" / name
    save_policy(folder, built, config, {"encoder": table.fingerprint, "encoder_name": "minilm-walks"})
    return folder


def test_eval_measures_it_beside_the_baseline_and_chance(run: Run, wiki: Path) -> None:
    found = run("eval", wiki, "--steps", 4, "--episodes", 200, "--budget", 12, "--json", "-q").json()
    rows = {row["agent"]: row for row in found["results"]}
    assert list(rows) == ["compass", "greedy-unvisited", "random"]
    assert rows["compass"]["success"] > rows["random"]["success"] + 0.1
    assert rows["compass"]["failure_ratio"] < rows["random"]["failure_ratio"]
    people = run("eval", wiki, "--steps", 4, "--episodes", 20, "-q")
    assert [line.split()[0] for line in people.out.splitlines()[2:5]] == list(rows)


def test_walk_follows_it(run: Run, wiki: Path) -> None:
    found = run("walk", wiki, *ends(wiki), "--back", "--json").json()  # this part of a wiki has dead ends
    assert (found["agent"], found["success"]) == ("compass", True)
    found = run("walk", wiki, *ends(wiki), "--json").json()
    assert [found["ways"][way] for way in ("back", "sampled", "revisit")] == [False, False, False]
    assert all(0 < click["probability"] <= 1 for click in found["steps"])
    people = run("walk", wiki, *ends(wiki))
    assert ", by compass\n" in people.out
    assert "probability 0." in people.out
    assert "worth " in people.out
    assert people.out.splitlines()[-1] == f"next: linkwalk eval {wiki} --agent compass"
    words = run("walk", wiki, "--from", ends(wiki)[1], "--sentence", "a river to the sea", "--budget", 5)
    assert ", by compass\n" in words.out
    assert "closest of the pages seen in 5 steps: " in words.out


def test_traces_are_its(run: Run, wiki: Path) -> None:
    shown = run("reproduce", "traces", wiki, "--quick", "--episodes", 50, "--steps", 4)
    assert shown.out.startswith("# Traces of compass\n")


def test_scores_are_what_it_goes_by(run: Run, wiki: Path) -> None:
    table, graph = Embeddings.open(wiki), Graph.open(wiki)
    vectors = unit_rows(table.vectors)
    goal = vectors[graph.find(ends(wiki)[3])]
    (direction,) = load_compass(shipped.policy_path(), table.fingerprint).directions(goal[None])
    # With the back button, the constants of the map decide alone.
    (click, *_) = run("walk", wiki, *ends(wiki), "--back", "--json").json()["steps"]
    folder = shipped.policy_path()
    map_ = with_its_map(MoveConfig(), folder, read_policy(folder)).constants
    here = vectors[click["at"]["node"]]
    for choice in click["choices"]:  # at first nothing counts but the link, and how like the start it is
        target = vectors[choice["node"]]
        alike = max(0.0, float(target @ here) - map_.likeness) / (1 - map_.likeness)
        worth = float(target @ direction) - map_.crowding * np.log1p(alike)
        assert choice["score"] is None or choice["score"] == pytest.approx(worth, abs=1e-5)
    assert click["choices"][0]["taken"]
    assert abs(float(target @ direction) - float(target @ goal)) > 1e-3, "the direction is not the goal"


def test_a_policy_of_that_name_in_the_workspace_comes_first(run: Run, wiki: Path) -> None:
    options = ("--steps", 4, "--episodes", 200, "--budget", 8, "--json", "-q")
    ours = run("eval", wiki, *options).json()["results"][0]
    a_policy(wiki, "compass", "compass", turn=-2.0)  # away from everything
    own = run("eval", wiki, *options).json()["results"][0]
    assert (ours["agent"], own["agent"]) == ("compass", "compass")
    assert own["success"] < ours["success"] - 0.1
    path = run("eval", wiki, "--agent", shipped.policy_path(), *options).json()["results"][0]
    assert path["success"] == ours["success"]


def test_a_policy_walks_by_the_map_it_brings(run: Run, wiki: Path) -> None:
    for name in ("constants", "mapped"):
        folder = Path(shutil.copytree(shipped.policy_path(), wiki / "policies" / name))
        (folder / MAP).unlink(missing_ok=True)
        if name == "mapped":
            shutil.copyfile(SHIPPED, folder / MAP)
        seal(folder, json.loads((folder / "manifest.json").read_bytes()))
    options = ("--agent", "constants,mapped", "--steps", 6, "--episodes", 300, "--json", "-q")
    without, with_map = run("eval", wiki, *options).json()["results"]
    assert without["mean_steps"] != with_map["mean_steps"]
    without, with_map = run("eval", wiki, *options, "--back").json()["results"]
    assert without["mean_steps"] == with_map["mean_steps"], "it was not trained with the button"
    clicks = run("walk", wiki, *ends(wiki), "--agent", "mapped", "--json").json()["steps"]
    assert all(click["choices"][0]["taken"] for click in clicks)
    file = wiki / "policies" / "mapped" / MAP
    file.write_text(file.read_text().replace("1", "2", 1))
    ran = run("walk", wiki, *ends(wiki), "--agent", "mapped")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert f"{file} is damaged (its checksum is not the one it was written with)" in ran.err


def test_damaged_policies_are_not_listed_and_refused_by_name(run: Run, wiki: Path) -> None:
    damages: dict[str, Callable[[Path], object]] = {
        "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
        "empty": lambda path: path.write_bytes(b""),
        "folder": lambda path: (path.unlink(), path.mkdir()),
        "types": lambda path: unseal(path.parent, head=[1]),
        "number": lambda path: path.write_text("7"),
    }
    for name, damage in damages.items():
        damage(a_policy(wiki, "compass", name) / "manifest.json")
    a_policy(wiki, "compass", "whole")
    shutil.copytree(wiki / "policies" / "whole", wiki / "policies" / "whole.partial")  # of a killed training
    unseal(a_policy(wiki, "compass", "older"))
    found = Wiki.open(wiki).agents
    assert [name for name in found if name not in BASELINES] == ["compass", "older", "whole"]
    for name in damages:
        for ran in (run("walk", wiki, *ends(wiki), "--agent", name), run("eval", wiki, "--agent", name)):
            assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
            assert f"{wiki / 'policies' / name / 'manifest.json'} is damaged (" in ran.err
            assert f"run `linkwalk train {wiki} --name {name} --force` again" in ran.err
    ran = run("eval", wiki, "--agent", "nobody")
    assert "choose from" in ran.err
    assert "whole.partial" not in ran.err


@pytest.mark.slow
def test_damage_to_what_ships_is_mended_by_installing_it_again(wiki: Path, tmp_path: Path) -> None:
    package = Path(shipped.__file__).parents[1]
    shutil.copytree(package, tmp_path / "linkwalk", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from linkwalk.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, str(tmp_path), "walk", str(wiki), *ends(wiki)]
    file = tmp_path / "linkwalk" / "shipped" / "policy" / "weights.safetensors"
    data = bytearray(file.read_bytes())
    data[5000] ^= 1
    file.write_bytes(data)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{file} is damaged (its checksum is not the one it was written with)" in done.stderr
    assert "run `pip install --force-reinstall linkwalk`\n" in done.stderr


def test_an_untrained_compass_is_greedy_with_a_map(run: Run, wiki: Path) -> None:
    a_policy(wiki, "compass", "plain")
    options = ("--steps", 5, "--episodes", 100, "--budget", 20, "--json", "-q")
    for more in ((), ("--back",), ("--sampled",), ("--back", "--sampled")):
        plain, greedy = run("eval", wiki, "--agent", "plain,greedy-map", *options, *more).json()["results"]
        assert plain["mean_steps"] == pytest.approx(greedy["mean_steps"], rel=0.05), more


@pytest.mark.parametrize("command", [("eval",), ("walk",), ("reproduce", "traces")])
def test_embeddings_of_another_encoder(run: Run, wiki: Path, command: tuple[str, ...]) -> None:
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    where = ends(wiki) if command == ("walk",) else ()
    ran = run(*command, wiki, *where, "--embeddings", "random", "--agent", "compass")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert (
        "the policy 'compass' was trained on embeddings of another encoder (minilm-walks) than 'random': "
        in ran.err
    )
    assert f"run `linkwalk embed {wiki} --encoder minilm-walks`, or name another agent" in ran.err


def test_no_embeddings(run: Run, wiki: Path) -> None:
    shutil.rmtree(wiki / "embeddings")
    for ran in (run("eval", wiki), run("walk", wiki, *ends(wiki))):
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert (
            f"run `linkwalk embed {wiki}` first, or name an agent that needs none, such as random" in ran.err
        )


def without_torch(*args: object) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.modules['torch'] = None; from linkwalk.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_walks_without_torch(wiki: Path) -> None:
    done = without_torch("walk", wiki, *ends(wiki), "--back", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["success"]


def test_other_policies_say_what_they_need(wiki: Path) -> None:
    a_policy(wiki, "residual", "mine")
    done = without_torch("eval", wiki, "--agent", "mine", "-q")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "torch is not installed: run `pip install" in done.stderr


def test_sampled_walks_follow_the_seed(run: Run, wiki: Path) -> None:
    a_policy(wiki, "residual", "mine")
    for agent in ("compass", "mine", "greedy-map"):

        def nodes(seed: int, agent: str = agent) -> tuple[int, ...]:
            options = ("--agent", agent, "--sampled", "--seed", seed, "--json")
            return tuple(
                click["to"]["node"] for click in run("walk", wiki, *ends(wiki), *options).json()["steps"]
            )

        assert nodes(3) == nodes(3)
        assert len({nodes(seed) for seed in range(8)}) > 1, agent
    shown = run("walk", wiki, *ends(wiki), "--sampled")
    assert ", by compass, sampled\n" in shown.out
    assert shown.out.endswith("--agent compass --sampled\n")


def test_revisiting_is_for_policies_without_a_map(run: Run, wiki: Path) -> None:
    a_policy(wiki, "residual", "mine")
    options = ("--steps", 6, "--episodes", 100, "--json", "-q")
    (free,) = run("eval", wiki, "--agent", "mine", "--revisit", *options).json()["results"]
    (plain,) = run("eval", wiki, "--agent", "mine", *options).json()["results"]
    assert (plain["revisit"], free["revisit"]) == (False, True)
    assert free["loop_rate"] > plain["loop_rate"]
    assert free["success"] < plain["success"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--revisit"],
            "revisit changes nothing for compass, greedy-unvisited, random: it is for policies",
        ),
        (
            ["--agent", "greedy", "--revisit"],
            "revisit changes nothing for greedy: it is for policies other",
        ),
        (
            ["--agent", "greedy-dfs", "--sampled"],
            "sampled changes nothing for greedy-dfs: it is for policies",
        ),
        (["--agent", "mine", "--sampled", "--back"], "mine with a back button takes the best unseen link"),
        (["--agent", "mine", "--revisit", "--back"], "leave out back, or sampled and revisit"),
    ],
)
def test_options_that_would_do_nothing(run: Run, wiki: Path, options: list[str], message: str) -> None:
    a_policy(wiki, "residual", "mine")
    ran = run("eval", wiki, *options)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_a_walker_with_a_map_says_where_it_is_going(run: Run, tmp_path: Path) -> None:
    """Six of Hub's links lead to pages whose only way out is Hub."""
    traps = {f"Trap {i}": [Page("back to hub", [("Hub", 0, LINK)])] for i in range(6)}
    links = [*((title, 0, LINK) for title in traps), ("Way", 0, LINK)]
    pages = {"Hub": [Page("many ways out", links)], **traps, "Way": [Page("on", [("Goal", 0, LINK)])]}
    write_graph(tmp_path / "w", pages | {"Goal": [Page("here it is")]})
    assert run("embed", tmp_path / "w", "--encoder", "random", "-q").status == 0
    options = ("--from", "Hub", "--to", "Goal", "--embeddings", "random", "--agent", "greedy-map")
    steps = run("walk", tmp_path / "w", *options, "--json").json()["steps"]
    turns = [t for t, click in enumerate(steps) if click["to"]["title"] == "Hub"]
    assert turns, "the first guess was right: choose another seed"
    assert [click["seen"] for click in steps] == [click["to"]["title"] == "Hub" for click in steps]
    shown = run("walk", tmp_path / "w", *options).out
    for t in turns:
        assert f"{t + 1:>3}. Hub (0) " in shown
        assert f"seen before, on the way to {steps[t + 1]['to']['name']}\n" in shown
    assert shown.count("seen before") == len(turns)
    assert np.all([step["kind"] == "link" for step in steps])
