"""``linkwalk train-map``, and its map in ``eval`` and ``walk``."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linkwalk.graph.store import Graph
from tests.cli.conftest import Ran

Run = Callable[..., Ran]
QUICK = (
    "--set",
    "walks=10",
    "--set",
    "trials=10",
    "--set",
    "rounds=1",
    "--set",
    "epochs=1",
    "--set",
    "hidden=3",
    "-q",
)


def test_a_map_is_trained_and_walks(run: Run, wiki: Path, tmp_path: Path) -> None:
    out = tmp_path / "own.json"
    bare = run("train-map", wiki, "-o", out, *QUICK)
    assert (bare.status, "has no embeddings: run `linkwalk embed" in bare.err) == (2, True)
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    made = run("train-map", wiki, wiki, "-o", out, *QUICK, "--json").json()
    assert made["map"] == str(out)
    assert made["on"] == [{"wiki": "wiki", "embeddings": ["random"]}] * 2
    assert made["config"]["walks"] == 10
    assert 0 < made["forecast"]["off"]["8"] < 1

    rows = run("eval", wiki, "--agent", f"{out},learned-map", "--episodes", 20, "--steps", 5, "--json", "-q")
    assert [row["agent"] for row in rows.json()["results"]] == [str(out), "learned-map"]
    title, other = (Graph.open(wiki).title(node) for node in (0, 5))
    walk = run("walk", wiki, "--from", title, "--to", other, "--agent", out, "--sampled", "--json").json()
    assert walk["agent"] == str(out)
    assert (
        run("train-map", wiki, "-o", tmp_path / "second.json", *QUICK).out.count("next: linkwalk eval") == 1
    )

    out.write_text("{}")
    damaged = run("walk", wiki, "--from", title, "--to", other, "--agent", out)
    assert (damaged.status, damaged.err.count("\n"), "own.json" in damaged.err) == (2, 1, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-o", "map.bin"), "a map's file ends in .json"),
        (("-o", "there.json"), "is there already"),
        (("-o", "m.json", "--set", "walks=0"), "walks=0: choose 1 or more"),
        (("-o", "m.json", "--set", "wlks=1"), "there is no such setting"),
        (("-o", "m.json", "--embeddings", "minilm"), "minilm"),
    ],
)
def test_bad_input_is_one_line(
    run: Run,
    wiki: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.json").touch()
    found = run("train-map", wiki, *options)
    assert (found.status, found.err.count("\n"), says in found.err) == (2, 1, True)
