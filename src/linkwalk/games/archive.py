"""People's games as Wikispeedia keeps them: articles, links, and paths that ended at the target or did not.

The official files (SNAP's ``wikispeedia_paths-and-graph``) and others of their kind are read, from a folder or a tar.
Names are URL-encoded; ``<`` in a path is a click on the back button. What cannot be used is set aside and counted.

Games are played on a board: articles and the links between them, a graph whose nodes are whole articles. It has what
agents ask of a wiki's graph, so that whoever walks from block to block walks here, too.
"""

import io
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from linkwalk.arrays import Bytes
from linkwalk.errors import InputError
from linkwalk.graph.csr import Csr, transpose
from linkwalk.graph.store import LINK

ARTICLES, LINKS, UNFINISHED = "articles.tsv", "links.tsv", "paths_unfinished.tsv"
FINISHED = ("paths_finished_all.tsv", "paths_finished.tsv", "paths_finished_unique.tsv")
"""The finished games; of several such files the first counts, which has the most games."""
BACK_CLICK = "<"
_PATH_OF = {1: 0, 5: 3, 6: 4}
"""Which column of a finished game is the path, by how many there are; the one before it is the time."""
_COLUMNS = 6
"""Of an unfinished game: player, time stamp, seconds, path, target, why it ended."""


def plain_name(name: str) -> str:
    """An article's name as one writes it: blanks for underscores, one at a time."""
    return " ".join(name.replace("_", " ").split())


@dataclass(frozen=True)
class Board:
    """Articles by number, and who links to whom."""

    names: tuple[str, ...]
    forward: Csr
    snapshot: str
    """What it is called."""

    @classmethod
    def of(cls, names: Sequence[str], links: Sequence[tuple[int, int]], snapshot: str) -> "Board":
        """A board of articles and of links between their numbers, each counted once."""
        pairs = np.unique(np.array(links, np.int64).reshape(-1, 2), axis=0)
        indptr = np.searchsorted(pairs[:, 0], np.arange(len(names) + 1))
        return cls(tuple(names), Csr(indptr, pairs[:, 1].astype(np.int32)), snapshot)

    @cached_property
    def reverse(self) -> Csr:
        """In-links."""
        return transpose(self.forward)

    @property
    def nodes(self) -> int:
        """How many articles there are."""
        return len(self.names)

    @property
    def article_length(self) -> float:
        """An article is one node here."""
        return 1.0

    @cached_property
    def out_kinds(self) -> Bytes:
        """Every edge is a link."""
        return np.full(len(self.forward.indices), LINK, np.uint8)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with any article or link."""
        found = blake2b("\n".join(self.names).encode(), digest_size=16)
        found.update(self.forward.indptr.tobytes())
        found.update(self.forward.indices.tobytes())
        return found.hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def find(self, name: str) -> int:
        """The number of an article."""
        number = self._numbers.get(plain_name(name))
        if number is None:
            raise InputError(f"no article named {name!r} in {self.snapshot}")
        return number

    def name(self, node: int) -> str:
        """An article's name."""
        return self.names[node]


class PlayedGame(NamedTuple):
    """One game of one person; articles by their numbers."""

    start: int
    goal: int
    path: tuple[int, ...]
    """The articles from the start to the end, without those that were left by the back button."""
    clicks: int
    """Clicks on links and on the back button together; without such buttons as many as the path has links."""
    seconds: float | None
    finished: bool

    @property
    def links(self) -> int:
        """How many links the path has."""
        return len(self.path) - 1


class BadGame(NamedTuple):
    """A line that is no game, and why."""

    file: str
    line: int
    reason: str


@dataclass
class Archive:
    """What an archive holds."""

    board: Board
    games: list[PlayedGame] = field(default_factory=list)
    bad: list[BadGame] = field(default_factory=list)
    """Lines that could not be read."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Articles that games name and the archive does not have, and in how many games."""
    lost: int = 0
    """Games left out for such an article."""
    trivial: int = 0
    """Games left out as the start is the goal."""

    @cached_property
    def finished(self) -> list[PlayedGame]:
        """Those that ended at their goal."""
        return [game for game in self.games if game.finished]

    @cached_property
    def unfinished(self) -> list[PlayedGame]:
        """Those that somebody gave up, or let run out."""
        return [game for game in self.games if not game.finished]


def read_archive(place: Path) -> Archive:
    """Read an archive of games: a folder, or a tar of one, packed or not."""
    if not place.exists():
        raise InputError(f"no such file or folder: {place}")
    files = _files(place)
    for name in (ARTICLES, LINKS):
        if name not in files:
            raise InputError(f"{place} is no archive of games: it has no {name}")
    names = [plain_name(unquote(line)) for _, line in _lines(files[ARTICLES])]
    if not names:
        raise InputError(f"{place} has no article: {ARTICLES} is empty")
    numbers = {name: number for number, name in enumerate(names)}
    links, bad = [], []
    for line, text in _lines(files[LINKS]):
        try:
            source, target = (_number(cell, numbers) for cell in text.split("\t"))
        except ValueError:
            bad.append(BadGame(LINKS, line, "not two articles"))
        except KeyError as error:
            bad.append(BadGame(LINKS, line, f"no article {error.args[0]}"))
        else:
            links.append((source, target))
    if not links:
        raise InputError(f"{place} has no link between its articles: {LINKS} is empty or of another archive")
    archive = Archive(Board.of(names, links, place.name), bad=bad)
    finished = [name for name in FINISHED if name in files][:1]
    for name in [*finished, *({UNFINISHED} & files.keys())]:
        for line, text in _lines(files[name]):
            cells = text.split("\t")
            if cells[0] == "path_id":  # a line of headings
                continue
            try:
                game = _game(cells, name != UNFINISHED, numbers)
            except ValueError as error:
                bad.append(BadGame(name, line, str(error)))
            except KeyError as error:
                archive.unknown[error.args[0]] += 1
                archive.lost += 1
            else:
                if game.start == game.goal:
                    archive.trivial += 1
                else:
                    archive.games.append(game)
    if not archive.games:
        why = f": {bad[0].file}, line {bad[0].line}, {bad[0].reason}" if bad else ""
        raise InputError(f"{place} has no game that could be read{why}")
    return archive


def _game(cells: Sequence[str], ended: bool, numbers: dict[str, int]) -> PlayedGame:
    if ended and len(cells) not in _PATH_OF:
        raise ValueError(f"{len(cells)} columns instead of 1, 5 or 6")
    if not ended and len(cells) != _COLUMNS:
        raise ValueError(f"{len(cells)} columns instead of {_COLUMNS}")
    at = _PATH_OF[len(cells)] if ended else 3
    seconds = float(cells[at - 1]) if at else None
    steps = cells[at].split(";")
    history: list[int] = []
    for step in steps:
        if step != BACK_CLICK:
            history.append(_number(step, numbers))
        elif len(history) > 1:
            history.pop()
        else:
            raise ValueError("a click back from the start")
    goal = history[-1] if ended else _number(cells[at + 1], numbers)
    return PlayedGame(history[0], goal, tuple(history), len(steps) - 1, seconds, ended)


def _number(name: str, numbers: dict[str, int]) -> int:
    """The article of a name; a KeyError names one that the archive does not have."""
    name = plain_name(unquote(name))
    if not name:
        raise ValueError("an article without a name")
    return numbers[name]


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor remarks, with their numbers from 1."""
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "replace"), 1):
        text = line.rstrip("\r\n")
        if text.strip() and not text.startswith("#"):
            yield number, text


def _files(place: Path) -> dict[str, bytes]:
    """The files of an archive by their names."""
    known = {ARTICLES, LINKS, UNFINISHED, *FINISHED}
    try:
        if place.is_dir():
            paths = [path for path in sorted(place.rglob("*.tsv")) if path.name in known]
            return {path.name: path.read_bytes() for path in paths}
        with tarfile.open(place) as tar:
            files = {}
            for member in tar:  # in its order: a packed one is read once
                if (name := Path(member.name).name) in known and (file := tar.extractfile(member)):
                    files[name] = file.read()
            return files
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"cannot read {place}: {getattr(error, 'strerror', None) or error}") from None
