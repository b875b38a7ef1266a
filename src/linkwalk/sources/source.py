"""What a graph is built from: a source says what it reads, cuts it into pieces, and turns a piece into documents.

A source of one's own is a class with these members in a file of one's own: see docs/extending.md. It is made from a
path and sent to worker processes with every piece, so it holds paths and options, and no open files.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from linkwalk.errors import InputError
from linkwalk.sources import packed
from linkwalk.sources.documents import Counts, Document, Wikitext
from linkwalk.sources.site import Site

PLAIN = "plain"
MARKUPS = (PLAIN, "wikitext", "markdown")
MAINS = (RULE := "rule", "trafilatura")
_CODE = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*|simple")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ReadConfig:
    """How a source is read; what a format knows nothing of, it leaves alone."""

    language: str = ""
    """The text's language where the source does not say, or says it wrong: a code such as ``de``."""
    tables: bool | None = None
    """Keep tables, each row a line; None is what the format does by itself."""
    code: bool = False
    """Keep blocks of code."""
    main: str = RULE
    """What tells a page's own text from what stands around it: the format's ``rule``, or ``trafilatura``."""
    markup: str = PLAIN
    """What text is written in where it may be one or the other: ``plain``, ``wikitext`` or ``markdown``."""
    contents: bool = True
    """A folder without a page of its own gets a document that lists what lies in it."""

    def differences(self) -> str:
        """What differs from the usual, for a source's ``version``."""
        ours = ((entry.name, getattr(self, entry.name), entry.default) for entry in fields(self))
        return "".join(f", {name} {value}" for name, value, usual in ours if value != usual)

    def __post_init__(self) -> None:
        if self.language and not _CODE.fullmatch(self.language):
            raise InputError(f"{self.language!r} is no code of a language: write `de` or `pt-BR`, say")

    def in_language(self, site: Site) -> Site:
        """What a source says about itself, in the language that was stated for it."""
        return replace(site, language=self.language) if self.language else site


USUAL = ReadConfig()


class Source(Protocol):
    """Something that documents come from."""

    @property
    def path(self) -> Path:
        """Where it is: a file or a folder."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """All that is read, in order: a graph is up to date while their names and bytes are the same."""
        ...

    @property
    def version(self) -> str:
        """What else the documents follow from: the format's name and number, options; empty where there is nothing."""
        ...

    @property
    def site(self) -> Site:
        """What it says about itself: its name, its language, how titles are written."""
        ...

    def pieces(self) -> Iterable[tuple[Any, int]]:
        """What one worker reads at a time, the same whenever it is asked: plain values, each with its size in bytes."""
        ...

    def documents(self, piece: Any, damage: Counts) -> Iterator[Document | Wikitext]:
        """The documents of a piece; what is wrong with it is counted by kind, and its good documents are kept."""
        ...


def in_groups(files: Iterable[Path]) -> Iterator[tuple[list[Path], int]]:
    """Pieces of many small files: as many to a piece as are worth a worker's while."""
    return grouped((file, file.stat().st_size) for file in files)


def grouped(sized: Iterable[tuple[T, int]]) -> Iterator[tuple[list[T], int]]:
    """Things with their sizes in bytes, as many together as are worth a worker's while."""
    group: list[T] = []
    size = 0
    for thing, its_size in sized:
        group.append(thing)
        size += its_size
        if size >= packed.CHUNK_BYTES:
            yield group, size
            group, size = [], 0
    if group:
        yield group, size


def commonest(codes: Iterable[str]) -> str:
    """What is stated most often, of several the first in the alphabet; empty where nothing is."""
    counts = Counter(filter(None, codes))
    return min(counts, key=lambda code: (-counts[code], code), default="")
