"""Results as they come, one JSON line each: a run that is stopped goes on from what it has."""

import json
from pathlib import Path
from typing import Any

from linkwalk.artifact import digest


class Journal:
    """Results by what they follow from; the last of several with the same key counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, dict[str, Any]] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            lines = []
        for line in lines:
            try:
                entry = json.loads(line)
                self._found[entry["key"]] = entry["value"]
            except (ValueError, KeyError, TypeError):  # what a killed run left unfinished
                continue

    def get(self, of: object) -> dict[str, Any] | None:
        """The result of a cell, if it is known; ``of`` is all that it depends on."""
        return self._found.get(digest(of))

    def add(self, of: object, value: dict[str, Any]) -> None:
        """Note a result, and what it is of."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        key = digest(of)
        # A newline before as well as after: a line that was cut off must not swallow this one.
        line = json.dumps({"key": key, "of": of, "value": value}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n" if _unfinished(self.path) else f"{line}\n")
        self._found[key] = value


def _unfinished(path: Path) -> bool:
    with path.open("rb") as file:
        end = file.seek(0, 2)
        if end == 0:
            return False
        file.seek(end - 1)
        return file.read(1) != b"\n"
