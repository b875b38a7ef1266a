"""Whatever one asks ``walk``, ``eval`` and ``train`` for: one line that says what to do and status 2, no traceback."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk.embed import Embeddings
from linkwalk.graph.store import LINK
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.heads import HeadConfig, build_head
from tests.cli.conftest import Ran
from tests.cli.test_bad_input import assert_refused
from tests.graph.conftest import Page, write_graph
from tests.older import unseal

Run = Callable[..., Ran]
TRAIN = ("--set", "updates=3", "--set", "batch=4", "--set", "steps=4", "-q")
RANDOM = ("--embeddings", "random")
PAGES = {
    "Ada Lovelace": [Page("to Iron and on", [("Iron", 0, LINK), ("Copper", 0, LINK)])],
    "Iron": [Page("a metal", [("Copper", 0, LINK), ("Ada Lovelace", 0, LINK)]), Page("more of it")],
    "Copper": [Page("a metal, too", [("Iron", 0, LINK), ("Ada Lovelace", 0, LINK)])],
    "Harbour": [Page("leads in", [("Iron", 0, LINK)])],
    "Islands": [Page("apart"), Page("from all")],
    "End": [Page("of the road")],
    "Way": [Page("to the end", [("End", 0, LINK)])],
}


def embedded(run: Run, wiki: Path, pages: dict[str, list[Page]]) -> Path:
    """A workspace with random features and, fitting them, a compass and a policy of another kind."""
    write_graph(wiki, pages)
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    table = Embeddings.open(wiki, "random")
    for name, kind in (("turned", "compass"), ("mine", "residual")):
        config = HeadConfig(head=kind, width=table.width, hidden=4)
        manifest = {"encoder": table.fingerprint, "encoder_name": "random"}
        save_policy(wiki / "policies" / name, build_head(config), config, manifest)
    return wiki


@pytest.fixture
def wiki(run: Run, tmp_path: Path) -> Path:
    return embedded(run, tmp_path / "wiki", PAGES)


def walk(run: Run, wiki: Path, start: str, goal: str, *options: object) -> Ran:
    return run("walk", wiki, "--from", start, "--to", goal, *RANDOM, *options)


def evaluate(run: Run, wiki: Path, *options: object) -> Ran:
    return run("eval", wiki, *RANDOM, "--steps", 3, "--episodes", 5, "-q", *options)


AGENTS = ("turned", "mine", "greedy-map", "greedy-unvisited", "random")
POLICIES = ("turned", "mine")


def test_all_of_them_walk_where_nothing_is_wrong(run: Run, wiki: Path) -> None:
    for agent in AGENTS:
        for options in ((), ("--back",)):
            assert walk(run, wiki, "Ada Lovelace", "Copper", "--agent", agent, *options).status == 0
            assert evaluate(run, wiki, "--agent", agent, *options).status == 0


def test_an_unknown_title(run: Run, wiki: Path) -> None:
    where = "in testwiki 2018-12-20"
    for start, goal, message in (
        ("Ada Lovelase", "Iron", f"no article named 'Ada Lovelase' {where}: did you mean 'Ada Lovelace'?"),
        ("Iron", "Coper", f"no article named 'Coper' {where}: did you mean 'Copper'?"),
        ("Iron", "harbor (0)", "did you mean 'Harbour'?"),
        ("Iron", "Xyzzyq", f"no article named 'Xyzzyq' {where}"),
        ("", "Iron", "no article named ''"),
        ("Iron (2)", "Copper", "'Iron' has no block 2: its blocks are 0 to 1"),
    ):
        for agent in ("turned", "random"):
            assert_refused(walk(run, wiki, start, goal, "--agent", agent), message)
        if goal == "Iron":
            towards = ("--sentence", "a metal", *RANDOM, "--agent", "turned")
            assert_refused(run("walk", wiki, "--from", start, *towards), message)


def test_a_goal_that_cannot_be_reached(run: Run, wiki: Path) -> None:
    for start, goal, why in (
        ("Iron", "Harbour", "nothing links to Harbour (0), so no path leads there: choose another goal"),
        ("End", "Iron", "End (0) has no links, so no path leads anywhere: start elsewhere"),
        ("Iron", "Islands", "no path leads from Iron (0) to Islands (0): 3 other blocks can be reached"),
        ("Iron", "End", "1 leads to the second"),
    ):
        for agent in AGENTS:
            assert_refused(walk(run, wiki, start, goal, "--agent", agent), why)


@pytest.mark.parametrize("agent", POLICIES)
def test_a_policy_of_another_encoder(run: Run, wiki: Path, agent: str) -> None:
    other = ("--encoder", "random", "--seed", 7, "--name", "other", "-q")
    assert run("embed", wiki, *other).status == 0
    ends = ("--from", "Iron", "--to", "Copper")
    for command in (("walk", wiki, *ends), ("eval", wiki, "-q")):
        ran = run(*command, "--agent", agent, "--embeddings", "other")
        assert_refused(ran, f"the policy '{agent}' was trained on embeddings with other options than 'other'")
    # That which ships reads MiniLM's.
    for command in (("walk", wiki, *ends), ("eval", wiki, "-q")):
        ran = run(*command, *RANDOM, "--agent", "compass")
        assert_refused(ran, "the policy 'compass' was trained on embeddings of another encoder")


@pytest.mark.parametrize("agent", AGENTS)
def test_embeddings_older_than_the_graph(run: Run, wiki: Path, agent: str) -> None:
    write_graph(wiki, PAGES | {"New": [Page("since then", [("Iron", 0, LINK)])]})
    message = "the embeddings 'random' in"
    for ran in (
        walk(run, wiki, "New", "Iron", "--agent", agent),
        evaluate(run, wiki, "--agent", agent),
        run("train", wiki, *RANDOM, *TRAIN, "--recipe", "residual" if agent == "mine" else "ours"),
        run("reproduce", "traces", wiki, "--agent", agent, *RANDOM, "--quick"),
    ):
        assert_refused(ran, message)
        assert f"are of another graph: run `linkwalk embed {wiki} --encoder random` again" in ran.err
    assert not (wiki / "policies" / "ours").exists()


BARE = {
    "one page": {"Only": [Page("there is")]},
    "no links": {"One": [Page("alone")], "Two": [Page("alone, too")]},
}


@pytest.mark.parametrize("pages", BARE)
def test_a_graph_without_links(run: Run, tmp_path: Path, pages: str) -> None:
    bare = embedded(run, tmp_path / "bare", BARE[pages])
    first, last = next(iter(BARE[pages])), list(BARE[pages])[-1]
    for agent in AGENTS:
        options = ("--agent", agent, *(["--back"] if agent in ("turned", "greedy-unvisited") else []))
        message = "the graph has no links, so nothing can walk it"
        for more in ((), ("--task", "multistep", "--sampling", "reverse")):
            assert_refused(evaluate(run, bare, *options, *more), message)
        if first != last:
            ran = walk(run, bare, first, last, *options)
            assert_refused(ran, f"{first} (0) has no links, so no path leads anywhere: start elsewhere")
        there = walk(run, bare, first, first, "--json", *options)
        assert (there.status, there.json()["success"], there.json()["steps"]) == (0, True, [])


@pytest.mark.parametrize("pages", BARE)
def test_training_on_a_graph_without_links(run: Run, tmp_path: Path, pages: str) -> None:
    bare = embedded(run, tmp_path / "bare", BARE[pages])
    for recipe in ("ours", "residual", "paper", "paper-reverse", "paper-shortest"):
        for settings in ((), ("--set", "validation=0.5")):
            ran = run("train", bare, *RANDOM, *TRAIN, "--recipe", recipe, *settings)
            assert_refused(ran, "too few links" if settings else "the graph has no links")
    assert sorted(path.name for path in (bare / "policies").iterdir()) == ["mine", "turned"]


def test_training_where_there_is_nothing_to_decide(run: Run, tmp_path: Path) -> None:
    """Own walks need a page with two links; a street has none."""
    street = embedded(
        run, tmp_path / "street", {"Way": [Page("on", [("End", 0, LINK)])], "End": [Page("of it")]}
    )
    assert_refused(
        run("train", street, *RANDOM, *TRAIN), "the graph offers nothing to decide: no page has two links"
    )
    assert run("train", street, *RANDOM, *TRAIN, "--recipe", "residual").status == 0


def spoil(folder: Path, *, nan: bool) -> None:
    """Put something into a policy's weights that is no number, or cut them off."""
    from safetensors.torch import load_file, save_file

    file = folder / "weights.safetensors"
    if not nan:
        file.write_bytes(file.read_bytes()[:-40])
        return
    weights = load_file(file)
    for value in weights.values():
        value.view(-1)[0] = float("nan")
    save_file(weights, file)


@pytest.mark.parametrize("nan", [True, False])
@pytest.mark.parametrize("agent", POLICIES)
def test_weights_that_are_not_numbers(run: Run, wiki: Path, agent: str, nan: bool) -> None:
    folder = wiki / "policies" / agent
    spoil(folder, nan=nan)
    unseal(folder)  # else a checksum tells
    why = "weights that are not numbers" if nan else ""
    message = f"{folder / 'weights.safetensors'} is damaged ({why}"
    for name in (agent, folder):
        for options in ((), ("--back",)):
            assert_refused(walk(run, wiki, "Iron", "Copper", "--agent", name, *options), message)
            assert_refused(evaluate(run, wiki, "--agent", f"{name},random", *options), message)
    assert_refused(run("reproduce", "traces", wiki, "--agent", agent, *RANDOM, "--quick"), message)


@pytest.mark.parametrize("agent", POLICIES)
def test_a_policy_that_is_none(run: Run, wiki: Path, agent: str) -> None:
    path = wiki / "policies" / agent / "manifest.json"
    whole = path.read_bytes()
    unknown = "has a head that this version does not know"
    for change, message in (
        ({"artifact": "embeddings"}, "policy"),
        ({"format": 99}, "format 99"),
        ({"format": 2}, "it is not as it was written"),
        ({"head": {"head": "deep", "width": 8}}, unknown),
        ({"head": None}, "no `head`"),
        (None, ""),
    ):
        path.write_bytes(b"{broken" if change is None else whole)
        if change is not None:
            unseal(path.parent, **change)
        for ran in (
            walk(run, wiki, "Iron", "Copper", "--agent", agent),
            evaluate(run, wiki, "--agent", agent),
        ):
            assert_refused(ran, message)
            assert str(path.parent) in ran.err


@pytest.mark.parametrize("agent", ["turned", "mine", "greedy-map"])
def test_embeddings_that_are_not_numbers(run: Run, wiki: Path, agent: str) -> None:
    vectors = np.lib.format.open_memmap(wiki / "embeddings" / "random" / "vectors.npy", "r+")
    vectors[2, 5] = np.nan
    vectors.flush()
    unseal(wiki / "embeddings" / "random")  # else a checksum tells
    message = "the embedding of node 2 is not a number: run `linkwalk embed WIKI` again"
    assert_refused(walk(run, wiki, "Iron", "Copper", "--agent", agent), message)
    assert_refused(evaluate(run, wiki, "--agent", agent), message)
    recipe = "residual" if agent == "mine" else "ours"
    assert_refused(run("train", wiki, *RANDOM, *TRAIN, "--recipe", recipe), "number")


def test_cuda_asked_for_and_absent(run: Run, wiki: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for command in (
        ("train", wiki, *RANDOM),
        ("embed", wiki),
        ("reproduce", "table1", wiki, *RANDOM, "--quick"),
    ):
        for device in ("cuda", "cuda:1"):
            ran = run(*command, "--device", device, "-q")
            assert_refused(ran, "no CUDA device that torch can use: choose cpu or auto")
    assert not (wiki / "halves").exists()
    assert not (wiki / "embeddings" / "minilm").exists()
    assert sorted(path.name for path in (wiki / "policies").iterdir()) == ["mine", "turned"]


def test_settings_that_cannot_be(run: Run, wiki: Path) -> None:
    for setting, message in (
        (
            "head.head=residual",
            "walks=own is for a head that walks with a map, not for residual: choose head",
        ),
        ("edge_dropout=0.3", "edge_dropout=0.3 is for walks that are imitated; with walks=own choose"),
        ("head.visited=false", "what walks with a map never looks at that"),
        ("head.dropout=2", "head.dropout=2.0: choose a share below 1"),
        ("head.temperature=nan", "head.temperature=nan: choose 0 or more"),
        ("trust=1.5", "trust=1.5: choose 0 to 1"),
        ("learning_rate=nan", "learning_rate=nan: choose 0 or more"),
    ):
        assert_refused(run("train", wiki, *RANDOM, *TRAIN, "--set", setting), message)
    assert not (wiki / "policies" / "ours").exists()
