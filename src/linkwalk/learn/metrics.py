"""What a training reports: one JSON line a row, and the same numbers for TensorBoard where that is installed."""

import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from linkwalk.artifact import replacing

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FILE = "metrics.jsonl"


class Metrics:
    """Writes the rows of one training into its folder; with no folder, nowhere.

    A training that goes on after update ``after`` keeps the rows up to there and writes the later ones anew.
    """

    def __init__(self, folder: Path | None, *, after: int = 0) -> None:
        self._log: IO[str] | None = None
        self._board: SummaryWriter | None = None
        if folder is None:
            return
        kept = [row for row in read_rows(folder) if row["update"] <= after] if after else []
        with replacing(folder / FILE) as file:
            file.write("".join(json.dumps(row) + "\n" for row in kept).encode())
        self._log = (folder / FILE).open("a", encoding="utf-8")
        self._board = _board(folder, after)

    def write(self, row: dict[str, Any]) -> None:
        """Add a row; its ``update`` is the x-axis."""
        if self._log is not None:
            self._log.write(json.dumps(row) + "\n")
            self._log.flush()
        if self._board is not None:
            for name, value in row.items():
                if name == "update":
                    continue
                parts = value if isinstance(value, list) else [value]
                for number, part in enumerate(parts):
                    tag = f"{name}/{number}" if isinstance(value, list) else name
                    self._board.add_scalar(tag, part, row["update"])

    def sync(self) -> None:
        """Wait until all rows are on the disk, so that a state that is saved now has its rows."""
        if self._log is not None:
            os.fsync(self._log.fileno())

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, *_: object) -> None:
        if self._log is not None:
            self._log.close()
        if self._board is not None:
            self._board.close()


def _board(folder: Path, after: int) -> "SummaryWriter | None":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # it comes with the extra `train`, but nothing depends on it
        return None
    return SummaryWriter(str(folder), purge_step=after + 1 if after else None)


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a training, the earliest first."""
    return rows_of(folder / FILE)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; what a killed run left unfinished or has been damaged since is none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [row for line in lines if (row := _row(line)) is not None]


def _row(line: str) -> dict[str, Any] | None:
    """A line as a row: an update, and numbers or lists of them."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or type(row.get("update")) is not int:
        return None
    return row if all(type(value) in (int, float, list) for value in row.values()) else None
