"""``linkwalk reproduce`` on a tiny wiki, end to end."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkwalk.artifact import seal
from linkwalk.embed import Embeddings
from linkwalk.evaluate import paper
from linkwalk.graph.store import Graph
from linkwalk.policy.low_rank import TargetModel, save_target
from linkwalk.policy.target import AdapterConfig
from tests.cli.conftest import Ran
from tests.embed.conftest import tiny_bert
from tests.graph.conftest import Page, write_graph

Run = Callable[..., Ran]
TINY = (
    "--quick",
    "--updates",
    3,
    "--episodes",
    20,
    "--budget",
    15,
    "--embeddings",
    "random",
    "--device",
    "cpu",
    "-q",
)


def trained(wiki: Path) -> dict[str, float]:
    """When each policy was written."""
    return {
        path.parent.name: path.stat().st_mtime_ns for path in wiki.glob("halves/train/policies/*/weights*")
    }


@pytest.mark.slow
def test_tables_share_policies_and_results(run: Run, wiki: Path) -> None:
    first = run("reproduce", "table1", wiki, *TINY, "--json").json()
    assert (first["what"], first["quick"], first["updates"], first["episodes"]) == ("table1", True, 3, 20)
    assert first["train"]["nodes"] + first["eval"]["nodes"] == first_nodes(wiki)
    labels = [row["row"] for row in first["rows"]]
    assert labels[0::2] == ["Forward", "Reverse", "Shortest path", "greedy-unvisited"]
    assert labels[1::2] == [f"{label} (never revisit)" for label in paper.TABLE1]
    for row in first["rows"]:
        assert [cell["column"] for cell in row["cells"]] == list(paper.TABLE1_COLUMNS)
        for cell, figure in zip(row["cells"], paper.TABLE1.get(row["row"], (None,) * 6), strict=True):
            assert cell["paper"] == (None if figure is None else pytest.approx(figure / 100))
            assert cell["success_ci95"][0] <= cell["success"] <= cell["success_ci95"][1]
            assert (cell["episodes"], cell["budget"]) == (20, 15)
            assert ("policy" in cell) == (row["row"] != "greedy-unvisited")
    cells = first["rows"][0]["cells"]
    assert len({cell["policy"] for cell in cells}) == 3, "one policy for each T, whatever the sampling"
    assert cells[0]["policy"] == cells[3]["policy"] == first["rows"][1]["cells"][0]["policy"]
    assert all(cell["failure_ratio"] in (1, None) for cell in first["rows"][-1]["cells"])
    policies = trained(wiki)
    assert len(policies) == 9

    assert run("reproduce", "table1", wiki, *TINY, "--json").json() == first
    cost = run("reproduce", "table7", wiki, *TINY, "--json").json()
    by_reward = set(trained(wiki)) - set(policies)
    assert [name.rpartition("-")[0] for name in by_reward] == ["rl-reward-5"]
    assert cost["rows"][0]["cells"][0]["success"] == cells[0]["success"]

    second = run("reproduce", "table2", wiki, *TINY, "--json").json()
    assert [row["row"] for row in second["rows"] if row["row"] in paper.TABLE2] == list(paper.TABLE2)
    assert second["rows"][0]["cells"][0] == cells[0] | {"column": "5"}
    assert all(cell["success"] is None for row in second["rows"] for cell in row["cells"][4:])
    rewarded = [row for row in second["rows"] if "sweep" in row["cells"][0]]
    assert {row["row"].removesuffix(" (never revisit)") for row in rewarded} == {"RL", "RFBC + RL", "RL + RF"}
    assert all(
        cell["success"] == max(one["success"] for one in cell["sweep"])
        for row in rewarded
        for cell in row["cells"][:4]
    )
    more = set(trained(wiki)) - set(policies)
    tuned = {name for name in more if name.startswith("rl-")}
    assert len(tuned) == 3 * 4, "with and without embeddings, and after cloning; each for every T"
    assert sorted(name.rpartition("-")[0] for name in more - tuned) == [
        "paper-forward-10-rf",
        "paper-forward-20-rf",
        "paper-forward-5-rf",
        "paper-forward-multi20",
        "paper-forward-multi20-rf",
    ]


def first_nodes(wiki: Path) -> int:
    counts: dict[str, Any] = json.loads((wiki / "graph" / "manifest.json").read_bytes())["counts"]
    return int(counts["nodes"])


def test_a_stopped_run_goes_on(run: Run, wiki: Path) -> None:
    whole = run("reproduce", "table1", wiki, *TINY, "--rows", "forward,greedy-unvisited", "--json").json()
    assert [row["row"] for row in whole["rows"]] == ["Forward", "Forward (never revisit)", "greedy-unvisited"]
    journal = wiki / "halves" / "reproduce" / "results.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    assert len(lines) == 3 * 6
    policies = trained(wiki)
    journal.write_text("".join(lines[:7]) + lines[7][:40])  # killed while it wrote
    again = run("reproduce", "table1", wiki, *TINY, "--rows", "forward,greedy-unvisited", "--json").json()
    assert trained(wiki) == policies
    assert journal.read_text().startswith("".join(lines[:7]))
    times = ("seconds", "training_seconds")
    for row, other in zip(whole["rows"], again["rows"], strict=True):
        for cell, same in zip(row["cells"], other["cells"], strict=True):
            assert {k: v for k, v in cell.items() if k not in times} == {
                k: v for k, v in same.items() if k not in times
            }
    third = run("reproduce", "table1", wiki, *TINY, "--rows", "forward,greedy-unvisited", "--json").json()
    assert third == again


def test_what_people_read(run: Run, wiki: Path) -> None:
    shown = run("reproduce", "table2", wiki, *TINY, "--rows", "RL,random,greedy-unvisited").out
    assert "the paper's | ours" in shown
    assert '"RL": 3 updates of 16 episodes x 20 steps (the paper: 50,000 of 512 x 100' in shown
    assert "quick run" in shown
    assert "3 updates of 64 walks (the paper: 50,000 of 512)" in shown
    marked = run(
        "reproduce", "table7", wiki, *TINY, "--rows", "random,greedy-unvisited", "--markdown"
    ).out.splitlines()
    assert marked[2] == "|  | cost, O() | scales | success % | ms an update | us a step |"
    assert marked[3].count("---") == 6
    assert marked[4].startswith("| Random | T | yes | 12.3 / ")


def test_a_folder_of_halves_is_taken_as_it_is(run: Run, wiki: Path, tmp_path: Path) -> None:
    assert run("split", wiki, "-o", tmp_path / "two", "-q").status == 0
    missing = run("reproduce", "table1", tmp_path / "two", "--quick", "-q")
    assert missing.status == 2
    assert f"no embeddings in {tmp_path / 'two' / 'train'}" in missing.err
    found = run("reproduce", "table7", tmp_path / "two", *TINY, "--rows", "random", "--json").json()
    assert found["train"]["workspace"] == str(tmp_path / "two" / "train")
    assert not (wiki / "halves").exists()


def test_halves_take_their_embeddings_from_the_whole(run: Run, wiki: Path) -> None:
    assert run("embed", wiki, "--encoder", "random", "--name", "toy", "-q").status == 0
    folder = wiki / "embeddings" / "toy"
    seal(folder, json.loads((folder / "manifest.json").read_bytes()) | {"encoder": "toy"})
    options = [option if option != "random" else "toy" for option in TINY]
    assert run("reproduce", "table7", wiki, *options, "--rows", "greedy").status == 0
    for half in ("train", "eval"):
        assert (wiki / "halves" / half / "embeddings" / "toy" / "vectors.npy").is_file()
    write_graph(wiki, {"A": [Page("a")], "B": [Page("b")]})
    assert run("embed", wiki, "--encoder", "random", "--name", "toy", "-q", "--force").status == 0
    stale = run("reproduce", "table7", wiki, *options, "--rows", "greedy")
    assert stale.status == 2
    assert "is of an older graph" in stale.err


def test_the_bound(run: Run, wiki: Path) -> None:
    found = run("reproduce", "bound", wiki, *TINY, "--steps", 3, "--json").json()["bounds"]
    walks = ("forward", "reverse", "shortest", "shortcut")
    policies = ["random", "cosine", *(f"{recipe}, {name}" for recipe in ("paper", "ours") for name in walks)]
    assert list(dict.fromkeys(row["policy"] for row in found)) == policies
    assert all(row["bound"] < 0 and row["standard_error"] > 0 and row["steps"] == 3 for row in found)
    shown = run("reproduce", "bound", wiki, *TINY, "--steps", 3).out
    assert "log P(goal reached within 3 steps)" in shown


def test_traces(run: Run, wiki: Path) -> None:
    assert run("embed", wiki, "--encoder", "random", "-q").status == 0
    options = ("--embeddings", "random", "--episodes", 200, "--steps", 8, "--budget", 6, "--count", 3)
    found = run("reproduce", "traces", wiki, *options, "--agent", "greedy", "--json").json()
    assert len(found["found"]) == len(found["missed"]) == 3
    for one in found["found"]:
        assert one["success"]
        assert one["links_left"] == 0
        assert one["steps"][-1] == one["optimum"][-1] == one["goal"]
        assert len(one["optimum"]) == one["distance"] <= len(one["steps"])
    for one in found["missed"]:
        assert not one["success"]
        assert 1 <= one["links_left"] <= one["distance"]
        assert one["goal"] not in one["steps"]
    goals = [one["goal"]["title"] for one in found["missed"]]
    assert len(set(goals)) == 3
    shown = run("reproduce", "traces", wiki, *options, "--agent", "greedy").out
    assert shown.startswith("# Traces of greedy")
    assert shown.count("\n### ") == 6
    assert f"it was {found['missed'][0]['links_left']} link" in shown or "one link away" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["table9"],
            "there is no 'table9' to reproduce: choose one of table1, table2, table3, table4, "
            "table5, table6, table7, bound, traces",
        ),
        (["table1", "--later", "x"], "--later belongs to table3 and table4"),
        (["table3", "--later", "x"], "no such workspace: x"),
        (["table1", "--rows", "forward,backward"], "table1 has no row 'backward': its rows are Forward, "),
        (["table1"], "no embeddings in"),
        (["table1", "--device", "abacus"], "no such device: 'abacus'"),
        (["traces", "--agent", "nobody"], "no agent named 'nobody': choose from random"),
        (["traces", "--agent", "random,greedy"], "traces are of one agent"),
        (["traces"], "no embeddings in"),
    ],
)
def test_bad_input(run: Run, wiki: Path, arguments: list[str], message: str) -> None:
    ran = run("reproduce", arguments[0], wiki, *arguments[1:], "-q")
    assert ran.status == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (wiki / "halves").exists()
    assert not ran.out


def test_no_such_workspace(run: Run, tmp_path: Path) -> None:
    ran = run("reproduce", "table1", tmp_path / "nothing", "--quick")
    assert ran.status == 2
    assert "no such workspace" in ran.err


def test_sizes_of_two_editions(run: Run, wiki: Path) -> None:
    found = run("reproduce", "table3", wiki, "--later", wiki, "-q").out
    assert "ours, later" in found
    assert "36.3M" in found


@pytest.mark.slow
def test_trained_embeddings_on_a_later_edition(run: Run, wiki: Path, tmp_path: Path) -> None:
    later, tiny = Path(shutil.copytree(wiki, tmp_path / "later")), tiny_bert(tmp_path / "tiny")
    for place in (wiki, later):
        options = ("--encoder", tiny, "--name", "tiny", "--max-tokens", 32, "--device", "cpu", "-q")
        assert run("embed", place, *options).status == 0
    asked = ("table4", wiki, "--later", later, "--quick", "--updates", 3, "--episodes", 15, "--budget", 10)
    asked += ("--embeddings", "tiny", "--device", "cpu", "-q", "--encoder-set", "updates=2")
    found = run("reproduce", *asked, "--json").json()
    rows = {row["row"]: row["cells"] for row in found["rows"]}
    assert [cell["column"] for cell in rows["WebNav"]] == list(paper.TABLE4_COLUMNS)
    quoted = [cell["paper"] for cell in rows["WebNav"]]
    assert quoted == [None] * 6 + [0.125, None]
    ran = [label for label, cells in rows.items() if all(cell["success"] is not None for cell in cells)]
    assert ran == [label for label in rows if label != "WebNav"]
    policies = {cell["policy"] for label in ran[:-2] for cell in rows[label]}
    assert len(policies) == 4 * 3, "an embedding and a policy each, for 5, 10 and 20 steps"
    assert len(list((wiki / "encoders").glob("trained-*"))) == 1
    before = {path: path.stat().st_mtime_ns for path in wiki.rglob("*.safetensors")}
    shown = run("reproduce", *asked).out
    rows = "embed train + feed-forward,embed train + its own policy"
    other = run("reproduce", *asked, "--trained", "tiny", "--rows", rows, "--json").json()
    assert [row["cells"][0]["success"] is None for row in other["rows"]] == [False, False, True]
    read = (*asked, "--readers", "--reader-set", "updates=2", "--rows", "roberta + transformer")
    assert "a target encoder trained with each" in run("reproduce", *read).out
    made = [path.parent for path in (wiki / "readers").glob("*/target.safetensors")]
    assert len(made) == 3, "for 5, 10 and 20 steps"
    for folder in made:
        shutil.rmtree(folder)
    assert "- | 12.5" in shown or "12.5 | -" in shown
    assert before == {path: path.stat().st_mtime_ns for path in wiki.rglob("*.safetensors")}, (
        "nothing is run twice"
    )


@pytest.mark.slow
def test_sentence_search(run: Run, wiki: Path, tmp_path: Path) -> None:
    assert run("embed", wiki, "--encoder", "minilm", "-q").status == 0
    options = [option if option != "random" else "minilm" for option in TINY]
    command = ("reproduce", "table2", wiki, *options, "--rows", "rfbc,greedy,greedy-unvisited")
    plain = run(*command, "--json").json()
    rows = {row["row"]: row["cells"] for row in plain["rows"]}
    assert [cell["column"] for cell in rows["RFBC"]] == list(paper.TABLE2_COLUMNS)
    assert all(cell["success"] is not None for name in rows if name != "Greedy" for cell in rows[name])
    assert [cell["success"] is None for cell in rows["Greedy"]] == [False] * 4 + [True] * 3
    assert rows["RFBC"][0]["policy"] == rows["RFBC"][4]["policy"]
    assert rows["RFBC"][4]["task"] == "sentence"
    # An adapter that changes nothing is another way of seeing that gives the same figures.
    graph = Graph.open(wiki / "halves" / "eval")
    table = Embeddings.open(wiki / "halves" / "eval", graph=graph)
    config = AdapterConfig(rank=2)
    adapter = TargetModel(table.transformer("cpu").model, config).adapter()
    save_target(tmp_path / "target", adapter, config, table.fingerprint, {})
    same = run(*command, "--target", tmp_path / "target", "--json").json()
    assert same["target"] == str(tmp_path / "target")
    for row, other in zip(plain["rows"], same["rows"], strict=True):
        assert [c["success"] for c in row["cells"]] == [c["success"] for c in other["cells"]]
    journal = (wiki / "halves" / "reproduce" / "results.jsonl").read_text().splitlines()
    assert sum('"target"' in line for line in journal) == 2 * 3
    none = run(*command, "--target", tmp_path)
    assert none.status == 2
    assert "holds no target encoder" in none.err
