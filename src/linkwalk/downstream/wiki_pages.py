r"""FEVER's own Wikipedia (June 2017, introductions only): how it writes titles, and the sentences its evidence names.

The official ``wiki-pages`` are about 109 files of 50,000 pages, one JSON object a line: ``id`` (the title, encoded),
``text``, and ``lines``, the sentences with their numbers: ``0\tsentence\tlink text\tlink title...\n1\t...``.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine

_MARKS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
    "``": '"',
    "''": '"',
}
_MARK = re.compile("|".join(_MARKS))
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")')
_MAX_DAMAGE = 100
HOW = ("exact", "encoding", "case", "redirect")
"""How a title can match, the strictest first."""


def decode(text: str) -> str:
    """Brackets, colons and quotes as they are written everywhere else; of a sentence or of a title."""
    return _MARK.sub(lambda mark: _MARKS[mark[0]], text)


def page_title(page: str) -> str:
    """The title that a page's ``id`` stands for: ``Soul_Food_-LRB-film-RRB-`` is Soul Food (film)."""
    return " ".join(unicodedata.normalize("NFC", decode(page)).replace("_", " ").split())


def match_title(graph: Graph, page: str) -> tuple[int, str] | None:
    """The article that a page of FEVER is, and how it was matched (one of ``HOW``); None where the wiki has none."""
    given = " ".join(page.replace("_", " ").split())
    for name in _spellings(given):
        article = graph.article(name)
        if article is None:
            continue
        title = graph.titles[article]
        if title == name:
            return article, "exact" if name == given else "encoding"
        return article, "case" if title == name[:1].upper() + name[1:] else "redirect"
    return None


def _spellings(given: str) -> Iterator[str]:
    """As it stands, decoded, and with the two dashes that ``--`` may have been."""
    yield given
    title = page_title(given)
    yield title
    if "--" in title:
        yield title.replace("--", "–")
        yield title.replace("--", "—")


def names_of(graph: Graph, titles: Iterable[str]) -> dict[str, list[str]]:
    """For articles of ours, the names under which FEVER may have them: the title, then its redirects."""
    wanted = {title: graph.article(title) for title in titles}
    articles = {article for article in wanted.values() if article is not None}
    redirects: dict[int, list[str]] = {article: [] for article in articles}
    for number, article in enumerate(graph.redirect_articles.tolist()):
        if article in articles:
            redirects[article].append(graph.redirects[number])
    return {
        title: [title, *(redirects[article] if article is not None else [])]
        for title, article in wanted.items()
    }


def split_lines(lines: str) -> dict[int, str]:
    """Sentences by number, of the field ``lines``; a number with nothing behind it is an empty sentence.

    Sentences hold line breaks and links follow behind tabs, so a line begins a sentence only where its number is the
    next one (or the next that comes at all, should numbers be missing); other lines belong to the one before.
    """
    parts = lines.split("\n")  # not splitlines: other breaks, such as U+2028, stand within sentences
    heads = [part.partition("\t") for part in parts]
    numbers = [int(head) if head.isascii() and head.isdigit() else -1 for head, _, _ in heads]
    sentences: dict[int, str] = {}
    last = -1
    for at, (part, number) in enumerate(zip(parts, numbers, strict=True)):
        if number == last + 1 or (number > last and last + 1 not in numbers[at:]):
            last = number
            sentences[last] = heads[at][2]
        elif last in sentences:
            sentences[last] += "\n" + part
    return {number: " ".join(sentence.partition("\t")[0].split()) for number, sentence in sentences.items()}


class WikiPages:
    """Those pages of FEVER's Wikipedia that were asked for."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[str, str]] = {}
        self._split: tuple[str, dict[int, str]] = ("", {})
        self.missing: list[str] = []
        """Asked for, and in none of the files."""
        self.damage: list[BadLine] = []
        """Lines that could not be read, with the file's name in the reason; the first 100 of them."""
        self.read = 0
        """How many pages the files hold."""

    @classmethod
    def open(cls, folder: Path, pages: Iterable[str]) -> "WikiPages":
        """Stream all files once and keep ``pages``, named in FEVER's way or ours; memory grows with those alone."""
        self, wanted = cls(), {page_title(page): page for page in pages}
        for path in wiki_files(folder):
            try:
                with path.open("rb") as file:
                    for number, line in enumerate(file, 1):
                        if line.strip():
                            self._keep(path, number, line, wanted)
            except OSError as error:
                raise InputError(f"cannot read {path}: {error.strerror or error}") from None
        self.missing = [page for title, page in wanted.items() if title not in self._pages]
        return self

    def _keep(self, path: Path, number: int, line: bytes, wanted: dict[str, str]) -> None:
        # Only the id is decoded of most lines: five million pages in a minute or two.
        """Keep the page of a line if it is wanted."""
        head = _ID.match(line)
        try:
            self.read += 1
            if head and page_title(json.loads(head[1])) not in wanted:
                return
            record = json.loads(line)
            page, lines = record["id"], record["lines"]
            if not isinstance(page, str) or not isinstance(lines, str):
                raise TypeError
        except (ValueError, RecursionError, KeyError, TypeError):
            self.read -= 1
            if len(self.damage) < _MAX_DAMAGE:
                self.damage.append(BadLine(number, f"no page with id and lines, in {path.name}"))
            return
        title = page_title(page)
        if title in wanted:
            self._pages.setdefault(title, (page, lines))

    def __contains__(self, page: str) -> bool:
        return page_title(page) in self._pages

    def __len__(self) -> int:
        return len(self._pages)

    def id(self, page: str) -> str | None:
        """The page's name as FEVER writes it; None where it is not among the pages."""
        kept = self._pages.get(page_title(page))
        return kept[0] if kept else None

    def sentences(self, page: str) -> dict[int, str]:
        """The page's sentences by number; none where it is not among the pages."""
        title = page_title(page)
        if title != self._split[0]:  # evidence comes page by page, so one is enough to remember
            self._split = title, split_lines(self._pages[title][1]) if title in self._pages else {}
        return self._split[1]

    def sentence(self, page: str, number: int) -> str | None:
        """The text of one sentence; None where there is none of that number, or nothing in it."""
        return self.sentences(page).get(number) or None


def wiki_files(folder: Path) -> Sequence[Path]:
    """``wiki-*.jsonl`` in a folder, or in the folder ``wiki-pages`` within, as the archive unpacks."""
    for place in (folder, folder / "wiki-pages"):
        if found := sorted(place.glob("wiki-*.jsonl")):
            return found
    what = "has no wiki-*.jsonl" if folder.is_dir() else "is no folder"
    raise InputError(
        f"{folder} {what}: download wiki-pages.zip from https://fever.ai/dataset/fever.html, "
        "unpack it and give the folder with wiki-001.jsonl to wiki-109.jsonl"
    )
