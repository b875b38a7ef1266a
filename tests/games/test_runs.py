import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwalk.errors import InputError
from linkwalk.games.archive import Board
from linkwalk.games.run_scores import check_runs, score_runs
from linkwalk.games.runs import Header, Run, read_runs, runs_of, write_runs
from linkwalk.navigate import Episodes, MoveConfig, open_baseline

BOARD = Board.of(["Ant", "Bee", "Cat", "Elk"], [(0, 1), (1, 2), (2, 3), (1, 0), (3, 0)], "ring")
HEADER = Header(wiki=BOARD.fingerprint, snapshot="ring", agent="me", budget=5, level="article")


def write(path: Path, *runs: Any, header: Any = None) -> Path:
    lines = [HEADER.to_json() if header is None else header, *runs]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_what_agents_did_is_read_again_and_scored(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    episodes = Episodes.of([0, 1, 2], [3, 3, 1])
    vectors = rng.standard_normal((4, 3)).astype(np.float32)
    agent = open_baseline("random", BOARD.forward, vectors, MoveConfig(back=True))
    journeys = agent.run(episodes, budget=50)
    made = list(runs_of(BOARD, episodes, journeys, 0.25))
    header = Header(wiki=BOARD.fingerprint, snapshot="ring", agent="random", budget=50)
    file = tmp_path / "runs.jsonl"
    assert write_runs(file, [(header, made), (HEADER, [Run("Ant", "Bee", ["Bee"], True)])]) == 6
    first, second = read_runs(file)
    assert (first.header, [run._replace(line=0) for run in first.runs]) == (header, made)
    scores = score_runs(BOARD, first.header, check_runs(BOARD, first))
    assert (scores.success, scores.mean_distance) == (1, pytest.approx((3 + 2 + 3) / 3))
    assert scores.mean_clicks == pytest.approx(journeys.steps.mean())
    assert (scores.seconds, second.header.agent) == (0.25, "me")


def test_nodes_back_clicks_and_budgets(tmp_path: Path) -> None:
    runs = [
        {"start": 0, "goal": 3, "clicks": [1, 2, 3], "success": True},
        {"start": "Ant", "goal": "Elk", "clicks": ["Bee", "<", "Bee", "Cat", "<"], "success": False},
        {
            "start": "Ant",
            "goal": "Elk",
            "clicks": ["Bee", "Ant", "Bee", "Cat", "<", "Cat", "Elk"],
            "success": True,
        },
    ]
    (section,) = read_runs(write(tmp_path / "x", *runs))
    checked = check_runs(BOARD, section)
    assert [run.success for run in checked] == [True, False, False]  # the last one beyond its budget
    assert [run.looped for run in checked] == [False, True, True]
    assert checked[1].address(BOARD) == "/?view=play&from=Ant&to=Elk&steps=1.0.1.2.1&end=lost"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"clicks": ["Bee", "Elk"]}, "line 2: click 2: no link leads from Bee to Elk"),
        ({"clicks": ["Yeti"]}, "line 2: click 1: no article named 'Yeti'"),
        ({"clicks": [7]}, "line 2: click 1: no node 7"),
        ({"clicks": ["<"]}, "line 2: click 1 goes back from the start"),
        ({"clicks": ["Bee"]}, "line 2: it says success, and its clicks end at Bee"),
        ({"clicks": "Bee"}, "line 2: no run"),
        ({"success": "yes"}, "line 2: no run"),
        ({"start": None}, "line 2: no run"),
    ],
)
def test_a_run_that_its_wiki_does_not_allow_is_refused(tmp_path: Path, run: Any, said: str) -> None:
    good = {"start": "Ant", "goal": "Elk", "clicks": ["Bee", "Cat", "Elk"], "success": True}
    file = write(tmp_path / "x", good | run)
    with pytest.raises(InputError, match=said):
        [check_runs(BOARD, section) for section in read_runs(file)]


def test_headers_are_checked(tmp_path: Path) -> None:
    good, file = HEADER.to_json(), tmp_path / "x"
    for header, said in (
        (good | {"version": 9}, "line 1: version 9, while"),
        (good | {"format": "other"}, "another format"),
        (good | {"budget": "30"}, "a header without"),
        ({"start": "Ant"}, "a run without a header"),
    ):
        with pytest.raises(InputError, match=said):
            read_runs(write(file, header=header))
    (section,) = read_runs(write(file, header=good | {"wiki": "another"}))
    with pytest.raises(InputError, match="on another wiki"):
        check_runs(BOARD, section)
    file.write_text(json.dumps(good) + "\nnothing")
    with pytest.raises(InputError, match="line 2: no JSON"):
        read_runs(file)
