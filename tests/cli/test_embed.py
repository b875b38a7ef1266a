from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from linkwalk.embed import EmbedConfig, Embeddings
from linkwalk.graph.store import Graph
from tests.embed.conftest import pages
from tests.graph.conftest import write_graph

DEFAULTS = EmbedConfig.__init__.__kwdefaults__


def test_one_json_object(run: Callable[..., Any], wiki: Path) -> None:
    ran = run("embed", wiki, "--encoder", "random", "--seed", 7, "--name", "rf", "--json", "--quiet")
    assert (ran.status, ran.err) == (0, "")
    value = ran.json()
    nodes = Graph.open(wiki).nodes
    assert (value["name"], value["nodes"], value["width"], value["complete"]) == ("rf", nodes, 384, True)
    assert value["encoder"] == "random"
    assert value["config"]["seed"] == 7
    assert value["shards"] == {"total": 1, "made": 1, "imported": 0, "missing": 0}
    assert value["workspace"] == str(wiki)
    assert Embeddings.open(wiki, "rf").vectors.shape == (nodes, 384)


def test_minilm_is_the_default(run: Callable[..., Any], tmp_path: Path) -> None:
    write_graph(tmp_path / "wiki", pages(2))
    ran = run("embed", tmp_path / "wiki", "--device", "cpu", "--tanh", "--max-tokens", 40)
    assert ran.status == 0
    assert "4 x 384" in ran.out
    assert f"next: linkwalk eval {tmp_path / 'wiki'}" in ran.out
    assert "embed: 4 blocks in" in ran.err
    assert "blocks/s" in ran.err
    assert len(ran.err.splitlines()) == 1
    table = Embeddings.open(tmp_path / "wiki")
    assert abs(table.vectors).max() < 1
    assert table.manifest["config"] == {
        "max_tokens": 40,
        "shard_blocks": 4096,
        "tanh": True,
        "text": "{title}. {text}",
    }
    again = run("embed", tmp_path / "wiki", "--device", "cpu", "--tanh", "--max-tokens", 40)
    assert "up to date" in again.out
    other = run("embed", tmp_path / "wiki", "--device", "cpu")
    assert (other.status, len(other.err.splitlines())) == (2, 1)
    assert "give another name" in other.err


def test_what_comes_next_looks_at_what_was_made(run: Callable[..., Any], wiki: Path) -> None:
    for args, next_ in (
        (("--encoder", "words"), f"linkwalk eval {wiki}"),
        (("--encoder", "random"), f"linkwalk eval {wiki} --embeddings random"),  # words would be looked at
    ):
        assert run("embed", wiki, *args, "-q").out.splitlines()[-1] == f"next: {next_}"


def test_shards_from_elsewhere(run: Callable[..., Any], wiki: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbedConfig.__init__, "__kwdefaults__", {**DEFAULTS, "shard_blocks": 30})
    args = ("embed", wiki, "--encoder", "random")
    ran = run(*args, "--name", "away", "--only-shards", "1:3", "--json", "-q")
    value = ran.json()
    assert (ran.status, value["complete"], value["shards"]["made"]) == (0, False, 2)
    partial = wiki / "embeddings" / "away.partial"
    assert value["partial"] == str(partial)
    people = run(*args, "--name", "away", "--only-shards", "1:2", "-q").out
    assert f"2 of {value['shards']['total']} shards are in {partial}" in people
    assert people.endswith(
        f"next: linkwalk embed {wiki} --encoder random --name away --import-shards away.partial\n"
    )
    value = run(*args, "--import-shards", partial, "--json", "-q").json()
    assert (value["complete"], value["shards"]["imported"]) == (True, 2)
    ran = run(*args, "--name", "b", "--import-shards", wiki / "graph")
    assert ran.status == 2
    assert "holds no shards" in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--device", "gpu"], "no such device"),
        (["--device", "cuda"], "no CUDA device"),
        (["--max-tokens", "2"], "--max-tokens"),
        (["--encoder", "random", "--tanh"], "tanh is for encoders"),
        (["--encoder", "random", "--name", "a/b"], "cannot name embeddings"),
        (["--encoder", "random", "--only-shards", "3"], "--only-shards 3"),
        (["--encoder", "random", "--only-shards", "1:2"], "0 to 0"),
        (["--encoder", "random", "--seed", "-1"], "--seed"),
        (["--encoder", ""], "--encoder is empty"),
        (["--encoder", "random", "--name", ""], "cannot name embeddings"),
        (["--encoder", "."], "not a Hugging Face model"),
        (["--max-tokens", "600", "--device", "cpu"], "3 to 512"),
    ],
)
def test_bad_options_are_status_2(
    run: Callable[..., Any], wiki: Path, args: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(wiki)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ran = run("embed", wiki, *args)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_workspace_that_is_none(run: Callable[..., Any], tmp_path: Path) -> None:
    for workspace in (tmp_path, tmp_path / "nothing"):
        ran = run("embed", workspace, "--encoder", "random")
        assert (ran.status, ran.out) == (2, "")
        assert "linkwalk build" in ran.err
