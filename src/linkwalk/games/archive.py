"""People's games as Wikispeedia keeps them: articles, links, and paths that ended at the target or did not.

The official files (SNAP's ``wikispeedia_paths-and-graph``) and others of their kind are read, from a folder or a tar.
Names are URL-encoded; ``<`` in a path is a click on the back button. What cannot be used is set aside and counted.
"""

import io
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote

from linkwalk.errors import InputError
from linkwalk.games.board import Board, plain_name

ARTICLES, LINKS, UNFINISHED = "articles.tsv", "links.tsv", "paths_unfinished.tsv"
FINISHED = ("paths_finished_all.tsv", "paths_finished.tsv", "paths_finished_unique.tsv")
"""The finished games; of several such files the first counts, which has the most games."""
BACK_CLICK = "<"
_PATH_OF = {1: 0, 5: 3, 6: 4}
"""Which column of a finished game is the path, by how many there are; the one before it is the time."""
_COLUMNS = 6
"""Of an unfinished game: player, time stamp, seconds, path, target, why it ended."""


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


class _Unknown(Exception):
    """An article that the archive does not have."""


def read_archive(place: Path) -> Archive:
    """Read an archive of games: a folder, or a tar of one, packed or not."""
    if not place.exists():
        raise InputError(f"no such file or folder: {place}")
    with _files(place) as files:
        for name in (ARTICLES, LINKS):
            if name not in files:
                raise InputError(f"{place} is no archive of games: it has no {name}")
        names = [plain_name(unquote(line)) for _, line in _lines(files[ARTICLES])]
        if not names:
            raise InputError(f"{place} has no article: {ARTICLES} is empty")
        archive = Archive(Board.of(names, [], str(place)))
        numbers = {name: number for number, name in enumerate(archive.board.names)}
        archive.board = Board.of(names, list(_links(files[LINKS], numbers, archive)), place.name)
        if not len(archive.board.forward.indices):
            raise InputError(
                f"{place} has no link between its articles: {LINKS} is empty or of another archive"
            )
        finished = [name for name in FINISHED if name in files][:1]
        for file in [*finished, *(name for name in (UNFINISHED,) if name in files)]:
            _read_games(file, files[file], file != UNFINISHED, numbers, archive)
    if not archive.games:
        first = archive.bad[0] if archive.bad else None
        why = f": {first.file}, line {first.line}, {first.reason}" if first else ""
        raise InputError(f"{place} has no game that could be read{why}")
    return archive


def _read_games(file: str, raw: BinaryIO, ended: bool, numbers: dict[str, int], archive: Archive) -> None:
    for line, text in _lines(raw):
        cells = text.split("\t")
        if cells[0] == "path_id":  # a line of headings
            continue
        try:
            game = _game(cells, ended, numbers)
        except ValueError as error:
            archive.bad.append(BadGame(file, line, str(error)))
        except _Unknown as error:
            archive.unknown[str(error)] += 1
            archive.lost += 1
        else:
            if game.start == game.goal:
                archive.trivial += 1
            else:
                archive.games.append(game)


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
    name = plain_name(unquote(name))
    if not name:
        raise ValueError("an article without a name")
    if name not in numbers:
        raise _Unknown(name)
    return numbers[name]


def _links(raw: BinaryIO, numbers: dict[str, int], archive: Archive) -> Iterator[tuple[int, int]]:
    for line, text in _lines(raw):
        try:
            source, target = (_number(cell, numbers) for cell in text.split("\t"))
        except ValueError:
            archive.bad.append(BadGame(LINKS, line, "not two articles"))
        except _Unknown as error:
            archive.bad.append(BadGame(LINKS, line, f"no article {error}"))
        else:
            yield source, target


def _lines(raw: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor remarks, with their numbers from 1."""
    for number, line in enumerate(io.TextIOWrapper(raw, "utf-8-sig", "replace"), 1):
        text = line.rstrip("\r\n")
        if text.strip() and not text.startswith("#"):
            yield number, text


@contextmanager
def _files(place: Path) -> Iterator[Mapping[str, BinaryIO]]:
    """The files of an archive by their names, each to be read once."""
    wanted = {ARTICLES, LINKS, UNFINISHED, *FINISHED}
    try:
        if place.is_dir():
            found = {path.name: path for path in sorted(place.rglob("*.tsv")) if path.name in wanted}
            yield {name: io.BytesIO(path.read_bytes()) for name, path in found.items()}
            return
        with tarfile.open(place) as tar:
            packed = {}
            for member in tar:
                if (name := Path(member.name).name) in wanted and (file := tar.extractfile(member)):
                    packed[name] = io.BytesIO(file.read())
            yield packed
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"cannot read {place}: {getattr(error, 'strerror', None) or error}") from None
