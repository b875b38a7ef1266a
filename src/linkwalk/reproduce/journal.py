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
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
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
        line = json.dumps({"key": key, "of": of, "value": value}, ensure_ascii=False) + "\n"
        with self.path.open("a+b") as file:
            if file.seek(0, 2):
                file.seek(-1, 2)
                if file.read(1) != b"\n":  # a line that was cut off must not swallow this one
                    line = "\n" + line
            file.write(line.encode())
        self._found[key] = value
