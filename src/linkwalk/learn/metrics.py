"""What a training reports: one JSON line a row, and the same numbers for TensorBoard where that is installed."""

import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

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
        partial = folder / (FILE + ".partial")
        partial.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        os.replace(partial, folder / FILE)
        self._log = (folder / FILE).open("a", encoding="utf-8")
        self._board = _board(folder, after)

    def write(self, row: dict[str, Any]) -> None:
        """Add a row; its ``update`` is the x-axis."""
        if self._log is not None:
            self._log.write(json.dumps(row) + "\n")
            self._log.flush()
        if self._board is not None:
            for name, value in row.items():
                if name != "update":
                    self._board.add_scalar(name, value, row["update"])

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
    """The rows of a training, the earliest first; a line that a killed run left unfinished is none."""
    rows = []
    for line in (folder / FILE).read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows
