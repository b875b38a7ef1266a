"""Metrics: JSON lines always, the same numbers in TensorBoard's files."""

import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from linkwalk.learn.metrics import Metrics, read_rows

ROWS = [{"update": u, "loss": 1 / u, "accuracy": 0.25} for u in (10, 20, 30)]


def board(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(folder)).Reload()
    return {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_rows_and_board_agree(tmp_path: Path) -> None:
    with Metrics(tmp_path) as metrics:
        for row in ROWS:
            metrics.write(row)
    assert read_rows(tmp_path) == ROWS
    found = board(tmp_path)
    assert sorted(found) == ["accuracy", "loss"]
    assert found["loss"] == [(u, pytest.approx(1 / u)) for u in (10, 20, 30)]


def test_going_on_drops_what_came_after_the_save(tmp_path: Path) -> None:
    with Metrics(tmp_path) as metrics:
        for row in ROWS:
            metrics.write(row)
    with Metrics(tmp_path, after=20) as metrics:
        metrics.write({"update": 30, "loss": 7.0})
    assert read_rows(tmp_path) == [*ROWS[:2], {"update": 30, "loss": 7.0}]
    assert board(tmp_path)["loss"] == [(10, pytest.approx(0.1)), (20, pytest.approx(0.05)), (30, 7.0)]


def test_damaged_rows_are_none(tmp_path: Path) -> None:
    assert read_rows(tmp_path) == []
    with Metrics(tmp_path) as metrics:
        for row in ROWS:
            metrics.write(row)
    lines = (tmp_path / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    bad = [b"{\n", b"\n", b"7\n", b"[]\n", b"\xff\xfe\n", b"\x00\n", b"{}\n", b"[" * 9999 + b"\n"]
    bad += [b'{"update": "x"}\n', b'{"update": true}\n', b'{"update": 9, "loss": "low"}\n', b'{"update": 7']
    (tmp_path / "metrics.jsonl").write_bytes(b"".join((*bad[:5], *lines, *bad[5:])))
    assert read_rows(tmp_path) == ROWS
    with Metrics(tmp_path, after=20) as metrics:
        metrics.write({"update": 30, "loss": 7.0})
    assert read_rows(tmp_path) == [*ROWS[:2], {"update": 30, "loss": 7.0}]
    (tmp_path / "metrics.jsonl").unlink()
    (tmp_path / "metrics.jsonl").mkdir()
    assert read_rows(tmp_path) == []


def test_without_tensorboard_there_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with Metrics(tmp_path) as metrics:
        metrics.write(ROWS[0])
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]
    with Metrics(None) as metrics:
        metrics.write(ROWS[0])
