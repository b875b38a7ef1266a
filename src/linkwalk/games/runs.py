"""Run files: what people, policies, baselines and language models did, in one format.

A file is JSON Lines. A header says who played on which wiki; the runs below it are theirs, until the next header. A run
that stands alone, as one saved from the page, has its header's fields in its own line.
Start, goal and clicks are names or numbers of articles, or of blocks; ``<`` is the back button. docs/games.md has every
field.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr
from linkwalk.navigate.journeys import BACK, Episodes, Journeys
from linkwalk.records import BadLine, stream_records, write_records

FORMAT, VERSION = "linkwalk-runs", 1
BACK_CLICK = "<"


class Wikis(Protocol):
    """What runs are on: a wiki's blocks, or a board of articles."""

    @property
    def forward(self) -> Csr:
        """Out-links."""

    @property
    def reverse(self) -> Csr:
        """In-links."""

    @property
    def fingerprint(self) -> str:
        """Which state of the wiki it is."""

    @property
    def snapshot(self) -> str:
        """What it is called."""

    def find(self, name: str) -> int:
        """The node of a name."""

    def name(self, node: int) -> str:
        """A name that finds the node again."""


@dataclass(frozen=True, kw_only=True)
class Header:
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
        """As it is written."""
        return {"format": FORMAT, "version": VERSION, **vars(self)}

    @classmethod
    def on(cls, wiki: Wikis, at: Path, agent: str, budget: int, level: str = "block") -> "Header":
        """That of somebody on a workspace's blocks, or on an archive's articles."""
        known = {"wiki": wiki.fingerprint, "snapshot": wiki.snapshot, "at": str(at)}
        return cls(agent=agent, budget=budget, level=level, **known)

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Header":
        """As it was written."""
        if record["format"] != FORMAT:
            raise ValueError(f"a file of another format, {record['format']!r}")
        if record.get("version") != VERSION:
            raise ValueError(
                f"version {record.get('version')!r}, while this linkwalk reads version {VERSION}"
            )
        fields = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        texts = all(
            isinstance(fields.get(name, ""), str) for name in ("wiki", "snapshot", "agent", "level", "at")
        )
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
        """As it is written."""
        seconds = {} if self.seconds is None else {"seconds": self.seconds}
        return {
            "start": self.start,
            "goal": self.goal,
            "clicks": self.clicks,
            "success": self.success,
            **seconds,
        }

    @classmethod
    def of(cls, record: dict[str, Any], line: int) -> "Run":
        """As it was written."""
        start, goal, clicks = (record.get(name) for name in ("start", "goal", "clicks"))
        named = isinstance(clicks, list) and all(type(step) in (str, int) for step in (start, goal, *clicks))
        if not isinstance(clicks, list) or not named:
            raise ValueError("no run: it needs start, goal and a list of clicks")
        success, seconds = record.get("success"), record.get("seconds")
        if type(success) is not bool or not (seconds is None or type(seconds) in (int, float)):
            raise ValueError("no run: success is true or false, seconds a number")
        return cls(start, goal, clicks, success, seconds, line)  # type: ignore[arg-type]


class Section(NamedTuple):
    """A header and its runs."""

    header: Header
    runs: list[Run]


def read_runs(path: Path) -> list[Section]:
    """All runs of a file, those under equal headers together; a line that is neither is an error that names it."""
    sections: list[Section] = []
    damage: list[BadLine] = []
    for line, record in stream_records(path, damage):
        try:
            if "format" in record:
                sections.append(Section(Header.of(record), []))
            if "format" in record and "clicks" not in record:
                continue
            if not sections:
                raise ValueError("a run without a header above it")
            sections[-1].runs.append(Run.of(record, line))
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}") from None
    if damage:
        raise InputError(f"{path}, line {damage[0].line}: {damage[0].reason}")
    players: dict[Header, Section] = {}
    for section in sections:
        players.setdefault(section.header, Section(section.header, [])).runs.extend(section.runs)
    return list(players.values())


def write_runs(path: Path, sections: Iterable[tuple[Header, Iterable[Run]]]) -> int:
    """Write runs under their headers; returns how many lines that are."""
    return write_records(path, _records(sections))


def _records(sections: Iterable[tuple[Header, Iterable[Run]]]) -> Iterator[dict[str, Any]]:
    for header, runs in sections:
        yield header.to_json()
        for run in runs:
            yield run.to_json()


def runs_of(
    wiki: Wikis, episodes: Episodes, journeys: Journeys, seconds: float | None = None
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
