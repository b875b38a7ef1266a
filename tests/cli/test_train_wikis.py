"""``linkwalk train-wikis``: a policy that brings its encoder is made once, embeds, and walks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.errors import ArtifactError
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.policy.checkpoint import read_policy
from linkwalk.wiki.agents import with_its_map
from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert

Run = Callable[..., Ran]
SETTINGS = (
    "updates=2",
    "lessons=1",
    "lesson.goals=6",
    "lesson.steps=4",
    "ahead=0",
    "kept_rank=4",
    "map.detour=0.2",
)
QUICK = tuple(word for setting in SETTINGS for word in ("--set", setting))


def test_a_policy_is_trained_once_with_its_encoder_and_walks(run: Run, wiki: Path, tmp_path: Path) -> None:
    tiny = tiny_bert(tmp_path / "tiny")
    train = ("train-wikis", wiki, wiki, "--encoder", tiny, "--name", "mine", "--device", "cpu", "-q", *QUICK)
    made = run(*train, "--json").json()
    folder = wiki / "policies" / "mine"
    assert made["policy"] == str(folder)
    assert made["fresh"]
    assert made["last"]["update"] == 2
    assert not run(*train, "--json").json()["fresh"]
    assert "up to date" in run(*train).out

    assert run("embed", wiki, "--encoder", folder, "-q").status == 0
    rows = run("eval", wiki, "--agent", "mine", "--steps", "3", "--episodes", "20", "--json").json()[
        "results"
    ]
    assert [row["agent"] for row in rows] == ["mine"]

    small = tuple(
        word for one in ("walks=10", "trials=10", "rounds=1", "epochs=1") for word in ("--set", one)
    )
    own = run("train-map", wiki, "-o", folder / "map.json", "--policy", folder, *small)
    assert "used" in own.out
    again = run("eval", wiki, "--agent", "mine", "--steps", "3", "--episodes", "20", "-q")
    assert (again.status, again.err) == (0, "")  # the map is the policy's own now, and sealed with it
    (folder / "map.json").write_text("{}")
    damaged = run("eval", wiki, "--agent", "mine", "--steps", "3", "--episodes", "20", "-q")
    assert (damaged.status, "train-wikis WIKI... --name mine --force" in damaged.err) == (2, True)
    (folder / "map.json").unlink()

    manifest = read_policy(folder)
    assert with_its_map(MoveConfig(back=True), folder, manifest).constants.detour == 0.2
    for asked in (
        MoveConfig(map=MapConfig(detour=0.1)),
        MoveConfig(map=MapConfig()),
    ):  # the usual ones can be asked for
        assert with_its_map(asked, folder, manifest) == asked
    with pytest.raises(ArtifactError, match="detour=-1"):
        with_its_map(MoveConfig(), folder, manifest | {"map": {"detour": -1}})

    other = run(*train, "--set", "updates=3")
    assert other.status == 2
    assert "another training (config.updates was 2, is 3)" in other.err
    assert "no such setting" in run(*train, "--set", "x=3").err
