"""Run files: what people, policies, baselines and language models did, in one format.

A file is JSON Lines. A header says who played on which wiki; the runs below it are theirs, until the next header. A run
that stands alone, as one saved from the page, has its header's fields in its own line.
Start, goal and clicks are names or numbers of articles, or of blocks; ``<`` is the back button. docs/games.md has every
field.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from linkwalk.errors import InputError
from linkwalk.games.archive import BACK_CLICK, Board
from linkwalk.graph.store import Graph
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.records import whole_records, write_records

FORMAT, VERSION = "linkwalk-runs", 1
GameWiki = Graph | Board
"""What runs are on: a wiki's blocks, or an archive's articles."""


class Header(NamedTuple):
    """Who played, on what, by which rules."""

    wiki: str
    """The wiki's fingerprint."""
    snapshot: str
    agent: str
    budget: int
    """Clicks that were allowed; 0 where nobody counted."""
    level: str = "block"
    """What a node is: block or article."""
    at: str = ""
    """Where the wiki was: a workspace, or an archive of games."""

    def to_json(self) -> dict[str, Any]:
        """A line of a run file."""
        return {"format": FORMAT, "version": VERSION, **self._asdict()}

    @classmethod
    def on(cls, wiki: GameWiki, at: Path, agent: str, budget: int, level: str = "block") -> "Header":
        """That of somebody on a workspace's blocks, or on an archive's articles."""
        return cls(wiki.fingerprint, wiki.snapshot, agent, budget, level, str(at))

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Header":
        """From a line of a run file."""
        if record["format"] != FORMAT:
            raise ValueError(f"a file of another format, {record['format']!r}")
        if record.get("version") != VERSION:
            raise ValueError(
                f"version {record.get('version')!r}, while this linkwalk reads version {VERSION}"
            )
        fields = {name: record[name] for name in cls._fields if name in record}
        texts = all(isinstance(value, str) for name, value in fields.items() if name != "budget")
        if not {"wiki", "agent", "budget"} <= fields.keys() or not texts or type(fields["budget"]) is not int:
            raise ValueError("a header without wiki, agent and budget")
        return cls(**{"snapshot": "", **fields})


class Run(NamedTuple):
    """One run, as it is written."""

    start: str | int
    goal: str | int
    clicks: list[str | int]
    success: bool
    seconds: float | None = None
    line: int = 0
    """Where it stands in its file."""

    def to_json(self) -> dict[str, Any]:
        """A line of a run file."""
        unwritten = {"line"} if self.seconds is not None else {"line", "seconds"}
        return {name: value for name, value in self._asdict().items() if name not in unwritten}

    @classmethod
    def of(cls, record: dict[str, Any], line: int) -> "Run":
        """From a line of a run file."""
        start, goal, clicks = (record.get(name) for name in ("start", "goal", "clicks"))
        if not isinstance(clicks, list) or {type(step) for step in (start, goal, *clicks)} - {str, int}:
            raise ValueError("no run: it needs start, goal and a list of clicks")
        success, seconds = record.get("success"), record.get("seconds")
        if type(success) is not bool or type(seconds) not in (int, float, NoneType):
            raise ValueError("no run: success is true or false, seconds a number")
        return cls(start, goal, clicks, success, seconds, line)  # type: ignore[arg-type]


class PlayerRuns(NamedTuple):
    """A header and its runs."""

    header: Header
    runs: list[Run]


def read_runs(path: Path) -> list[PlayerRuns]:
    """All runs of a file, those under equal headers together; a line that is neither is an error that names it."""
    header: Header | None = None
    sections: dict[Header, PlayerRuns] = {}
    for line, record in whole_records(path):
        try:
            if "format" in record:
                header = Header.of(record)
                sections.setdefault(header, PlayerRuns(header, []))
            if "format" in record and "clicks" not in record:
                continue
            if header is None:
                raise ValueError("a run without a header above it")
            sections[header].runs.append(Run.of(record, line))
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}") from None
    return list(sections.values())


def write_runs(path: Path, sections: Iterable[tuple[Header, Iterable[Run]]]) -> int:
    """Write runs under their headers; returns how many lines that are."""
    return write_records(
        path, (one.to_json() for header, runs in sections for one in chain[Header | Run]([header], runs))
    )


def runs_of(
    wiki: GameWiki, episodes: Episodes, journeys: Journeys, seconds: float | None = None
) -> Iterator[Run]:
    """An agent's journeys as runs; ``seconds`` is what each of them took."""
    for at in range(episodes.size):
        path = journeys.path(at).tolist()
        choices = journeys.choices[at, : len(path) - 1].tolist()
        clicks: list[str | int] = [
            BACK_CLICK if choice == BACK else wiki.name(node)
            for node, choice in zip(path[1:], choices, strict=True)
        ]
        start, goal = wiki.name(path[0]), wiki.name(int(episodes.goals[at]))
        yield Run(start, goal, clicks, bool(journeys.success[at]), seconds)


def check_writable(path: Path) -> None:
    """Refuse before the long work a file that could not be written after it."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write runs to {path}: name a file in a folder that is there")
