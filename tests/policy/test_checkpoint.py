"""A policy's folder: opened whole or refused in a line, put in its place in one step, read as version 0.1 left it."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from linkwalk import shipped
from linkwalk.artifact import faults, seal
from linkwalk.errors import ArtifactError, DamagedError
from linkwalk.policy.checkpoint import (
    KIND,
    WEIGHTS,
    command_for,
    link_files,
    load_compass,
    load_policy,
    put_policy,
    read_policy,
    save_policy,
)
from linkwalk.policy.heads import HeadConfig, build_head
from tests.killing import is_killed
from tests.older import unseal

CONFIG = HeadConfig(head="compass", width=12)
MADE = {"encoder": "abc", "encoder_name": "minilm", "recipe": "ours"}
LOADERS = (load_policy, load_compass)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    folder = tmp_path / "wiki" / "policies" / "mine"
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text('{"update": 1}\n')
    save_policy(folder, build_head(CONFIG), CONFIG, MADE)
    return folder


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 8
    path.write_bytes(data)


def into_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(b"\xff\x00noise" * 50),
    "flipped early": lambda path: flip(path, 3),
    "flipped late": lambda path: flip(path, -7),
    "a folder": into_folder,
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("name", [WEIGHTS, "manifest.json"])
@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_one_line_that_names_the_file(
    what: str, name: str, load: Callable[..., Any], folder: Path
) -> None:
    DAMAGE[what](folder / name)
    with pytest.raises(ArtifactError) as refused:
        load(folder, "abc")
    line = str(refused.value)
    assert "\n" not in line
    wiki = folder.parents[1]
    if (what, name) == ("gone", "manifest.json"):
        assert line.startswith(f"no policy in {folder.parent}")
    else:
        assert line.startswith(f"{folder / name} is damaged (")
    recipe = "--recipe ours " if name == WEIGHTS else ""  # which the manifest tells
    assert f"run `linkwalk train {wiki} {recipe}--name mine --force`" in line


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("what", ["cut off", "empty", "noise", "flipped early", "a folder", "gone"])
def test_damage_is_told_without_checksums(what: str, load: Callable[..., Any], folder: Path) -> None:
    DAMAGE[what](unseal(folder) / WEIGHTS)
    with pytest.raises(DamagedError) as refused:
        load(folder, "abc")
    assert refused.value.path == folder / WEIGHTS
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"turn.bias": torch.full((12,), torch.nan)}, "weights that are not numbers"),
        ({"turn.weight": torch.full((12, 12), torch.inf)}, "weights that are not numbers"),
        ({"turn.weight": torch.eye(5), "turn.bias": torch.zeros(5)}, ""),
        ({"turn.bias": torch.zeros(4)}, ""),
        ({"turn.bias": torch.zeros(())}, ""),
        ({"turn.weight": None}, ""),
    ],
)
def test_weights_that_are_whole_and_of_no_use(
    change: dict[str, Any], words: str, load: Callable[..., Any], folder: Path
) -> None:
    weights = load_file(folder / WEIGHTS) | change
    save_file({name: value for name, value in weights.items() if value is not None}, folder / WEIGHTS)
    seal(folder, read_policy(folder))
    for _ in (0, 1):
        with pytest.raises(DamagedError) as refused:
            load(folder, "abc")
        assert refused.value.path == folder / WEIGHTS
        assert words in str(refused.value)
        assert "\n" not in str(refused.value)
        unseal(folder)


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"artifact": "graph"}, "it is not a policy's manifest"),
        ({"format": 99}, "it has format 99"),
        ({"format": 2}, "it is not as it was written"),
        ({"head": None}, "no `head`"),
        ({"head": [1]}, "`head` is no dict"),
        ({"encoder": 7}, "`encoder` is no str"),
        ({"head": {"head": "compass", "width": "wide"}}, ""),
        ({"head": {"head": "compass", "width": 10**9}}, ""),
        ({"head": {"head": "compass", "width": 10**30}}, ""),
    ],
)
def test_manifests_of_another_kind(
    changes: dict[str, Any], words: str, load: Callable[..., Any], folder: Path
) -> None:
    with pytest.raises(ArtifactError) as refused:
        load(unseal(folder, **changes), "abc")
    assert words in str(refused.value)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("head", ["compass", "residual"])
def test_a_policy_of_version_0_1_opens(head: str, tmp_path: Path) -> None:
    config = HeadConfig(head=head, width=12, hidden=4)
    torch.manual_seed(3)
    built = build_head(config)
    save_policy(tmp_path / "p", built, config, MADE)
    again, manifest = load_policy(unseal(tmp_path / "p"), "abc")
    assert (manifest["format"], "files" in manifest) == (1, False)
    for name, value in built.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    if head == "compass":
        assert np.isfinite(load_compass(tmp_path / "p", "abc").weight).all()


def test_damage_to_what_is_not_opened_is_none_to_the_policy(folder: Path) -> None:
    (folder / "target.safetensors").write_bytes(b"whatever")
    seal(folder, read_policy(folder))
    (folder / "target.safetensors").unlink()
    (folder / "metrics.jsonl").write_text("")
    for load in LOADERS:
        load(folder, "abc")
    damaged = [fault.path.name for fault in faults(folder, KIND)]
    assert damaged == ["metrics.jsonl", "target.safetensors"]


def test_what_mends_it(folder: Path) -> None:
    wiki = folder.parents[1]
    assert command_for(shipped.policy_path(), "train") == "pip install --force-reinstall linkwalk"
    assert command_for(shipped.reranker_path(), "train-reranker") == "pip install --force-reinstall linkwalk"
    assert (
        command_for(wiki / "policies" / "x", "train", "--name", "x")
        == f"linkwalk train {wiki} --name x --force"
    )
    assert command_for(wiki / "x", "train", "--name", "a b") == "linkwalk train WIKI --name 'a b' --force"
    seal(folder, read_policy(folder) | {"recipe": "paper", "embeddings": "random"})
    (folder / WEIGHTS).unlink()
    with pytest.raises(DamagedError, match="--embeddings random --recipe paper --name mine --force`"):
        load_policy(folder, "abc")


def test_what_ships_is_sealed() -> None:
    assert list(faults(shipped.policy_path(), KIND)) == []
    assert list(faults(shipped.reranker_path(), "cross", name="cross.json")) == []
    for folder, name in ((shipped.policy_path(), "manifest.json"), (shipped.reranker_path(), "cross.json")):
        sealed = json.loads((folder / name).read_bytes())["files"]
        assert set(sealed) == {p.name for p in folder.iterdir()} - {name, "MODEL_CARD.md"}


def test_linking_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "inner").mkdir(parents=True)
    for name in ("x", "inner/y", "z.1.partial", "left"):
        (tmp_path / "a" / name).write_text(name)
    link_files(tmp_path / "a", tmp_path / "linked", leave=("left",))
    assert (tmp_path / "linked" / "x").samefile(tmp_path / "a" / "x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    link_files(tmp_path / "a", tmp_path / "copied", leave=("left",))
    assert not (tmp_path / "copied" / "x").samefile(tmp_path / "a" / "x")
    for new in ("linked", "copied"):
        found = {p.relative_to(tmp_path / new).as_posix() for p in (tmp_path / new).rglob("*") if p.is_file()}
        assert found == {"x", "inner/y"}
        assert (tmp_path / new / "inner" / "y").read_text() == "inner/y"


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_killed_at_any_step_it_is_whole_and_the_training_is_there(there: bool, folder: Path) -> None:
    """Until the policy is in its place, the training can go on; afterwards the policy is the new one."""
    old = json.loads((folder / "manifest.json").read_bytes()) if there else None
    if not there:
        shutil.rmtree(folder)
    partial, head = folder.with_name("mine.partial"), build_head(CONFIG)

    def put() -> None:
        put_policy(partial, folder, head, CONFIG, MADE | {"updates": 7}, leave=("state.safetensors",))

    step, ends = 1, set()
    while True:
        partial.mkdir(exist_ok=True)
        for name in ("metrics.jsonl", "state.safetensors", "state.safetensors.123.partial"):
            (partial / name).write_text('{"update": 7}\n')
        killed = is_killed(step, folder.parent, put)
        if folder.exists():
            assert list(faults(folder, KIND)) == []
            manifest = read_policy(folder)
            ends.add("updates" in manifest)
            assert ("updates" in manifest) or manifest == old
        if not folder.exists() or "updates" not in read_policy(folder):
            assert (partial / "state.safetensors").read_text() == '{"update": 7}\n'
        if (partial / "state.safetensors").exists():
            assert (partial / "metrics.jsonl").read_text() == '{"update": 7}\n'
        if not killed:
            break
        if folder.exists() and "updates" in read_policy(folder):  # back to what was there
            shutil.rmtree(folder)
            if there:
                save_policy(folder, head, CONFIG, MADE)
                old = read_policy(folder)
        step += 1
    assert step > 10
    assert ends == ({True, False} if there else {True})
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "metrics.jsonl", WEIGHTS]
    assert not partial.exists()
