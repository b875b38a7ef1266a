r"""FEVER (app. C.1): claims, the sentences that prove or refute them, and the Wikipedia that these are numbered in.

Files come in the official form, evidence as ``[[[annotation, evidence, page, sentence number], ...], ...]``: any inner
list is enough, all of its sentences are needed. Two shorter forms are read too: ``[page, sentence number]``, and
``evidence_sentence``, the text, which makes FEVER's own Wikipedia unnecessary.

That one (June 2017, introductions only) is about 109 files of 50,000 pages, ``wiki-pages``, one JSON object a line:
``id`` (the title, encoded), ``text``, and ``lines``, the sentences with their numbers:
``0\tsentence\tlink text\tlink title...\n1\t...``.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwalk.downstream.dataset import EXAMPLES, Gold, GoldSentence, Question
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine, own_records

NOT_ENOUGH = "NOT ENOUGH INFO"
LABELS = ("SUPPORTS", "REFUTES", NOT_ENOUGH)
PAPER_ARTICLES, PAPER_SENTENCES = 0.995, 0.931
"""What the paper matched of FEVER's articles and evidence sentences (app. C.1)."""
HOW = ("exact", "encoding", "case", "redirect")
"""How a title can match, the strictest first."""
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


@dataclass
class Fever:
    """FEVER's claims; sentences have their texts where the file has them, or FEVER's own Wikipedia."""

    wiki_pages: Path | None = None
    name: str = field(default="FEVER", init=False)
    distance: float = field(default=4.3, init=False)
    """The paper's mean of links from BM25's first block to the evidence (sec. 4.3)."""
    missing: list[str] = field(default_factory=list, init=False)
    """Pages that FEVER's Wikipedia does not have."""

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """All claims, whether they can be aligned or not."""
        claims, lines = [], dict[str, int]()
        for line, record in own_records(path, damage, "fever"):
            try:
                claim = _claim(record, line)
                if (first := lines.setdefault(claim.id, line)) != line:
                    raise ValueError(f"id {claim.id} a second time, first in line {first}")
            except ValueError as error:
                damage.append(BadLine(line, str(error)))
            else:
                claims.append(claim)
        if not claims:
            raise InputError(
                f"{path} has no claim of FEVER's: line {damage[0].line} has {damage[0].reason}; "
                "give a file with id, claim, label and evidence"
            )
        yield from claims if self.wiki_pages is None else self._with_texts(path, claims, damage)

    def _with_texts(self, path: Path, claims: list[Question], damage: list[BadLine]) -> Iterator[Question]:
        """Claims whose sentences have the texts of FEVER's Wikipedia."""
        assert self.wiki_pages is not None
        named = dict.fromkeys(one for claim in claims for one in sentences_of(claim))
        wiki = WikiPages.open(self.wiki_pages, dict.fromkeys(one.title for one in named))
        damage += wiki.damage
        self.missing = wiki.missing
        known: dict[Gold, Gold] = {
            one: one._replace(text=wiki.sentence(one.title, one.number))
            for one in sorted(named, key=lambda one: one.title)
            if one.text is None and one.number is not None
        }
        if named and not any(known.get(one, one).text for one in named):
            raise InputError(
                f"none of the sentences that {path} names is in {self.wiki_pages}: is it the whole of wiki-pages.zip?"
            )
        for claim in claims:
            evidence = tuple(tuple(known.get(one, one) for one in group) for group in claim.evidence)
            yield claim._replace(evidence=evidence)

    def tell(self, report: dict[str, Any]) -> None:
        """The paper's rates, and what FEVER's Wikipedia lacks."""
        report["articles"]["paper"] = PAPER_ARTICLES
        if "sentences" in report:
            report["sentences"]["paper"] = PAPER_SENTENCES
            report["sentences"]["pages not among FEVER's"] = self.missing[:EXAMPLES]


def sentences_of(claim: Question) -> list[GoldSentence]:
    """Every sentence that a claim's evidence names, once."""
    every = (one for group in claim.evidence for one in group)
    return list(dict.fromkeys(one for one in every if isinstance(one, GoldSentence)))


def _claim(record: Mapping[str, Any], line: int) -> Question:
    """One line of a file, or what is wrong with it."""
    text = _text(record.get("claim"), "claim")
    number = record.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str | None):
        raise ValueError("an id that is neither number nor text")
    label = record.get("label")
    if label is not None and label not in LABELS:
        raise ValueError(f"a label that is none of {', '.join(LABELS)}")
    sentence = record.get("evidence_sentence")
    evidence = _evidence(record.get("evidence"))
    if sentence is not None:
        sentence = _text(sentence, "evidence_sentence")
        if len({one for group in evidence for one in group}) > 1:
            raise ValueError("an evidence_sentence, but several sentences that it could be")
        evidence = tuple(tuple(one._replace(text=sentence) for one in group) for group in evidence)
    return Question(
        id=f"line {line}" if number is None else str(number),
        text=text,
        label=label,
        evidence=evidence,
        left_out=(label or "no label") if label in (None, NOT_ENOUGH) else "",
        line=line,
    )


def _text(value: Any, name: str) -> str:
    """A text that says something, and can be written."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text as {name}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half a character (a lone surrogate) in {name}") from None
    return value


def _evidence(value: Any) -> tuple[tuple[GoldSentence, ...], ...]:
    """Sets that name pages; those of NOT ENOUGH INFO name none, and are left out."""
    if value is None:
        return ()
    groups: dict[tuple[GoldSentence, ...], None] = {}
    if not isinstance(value, list) or not all(isinstance(group, list) for group in value):
        raise ValueError("evidence that is no list of lists")
    for group in value:
        named: dict[GoldSentence, None] = {}
        whole = bool(group)
        for entry in group:
            if not isinstance(entry, list) or len(entry) not in (2, 4):
                raise ValueError(
                    "evidence that is neither [annotation, evidence, page, sentence] nor [page, sentence]"
                )
            page, number = entry[-2:]
            if page is None:
                whole = False
                continue
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                raise ValueError("a sentence number that is no number")
            named[GoldSentence(_text(page, "a page of the evidence"), None, number)] = None
        if whole:
            groups[tuple(named)] = None
    return tuple(groups)  # annotators often name the same set


def decode(text: str) -> str:
    """Brackets, colons and quotes as they are written everywhere else; of a sentence or of a title."""
    return _MARK.sub(lambda mark: _MARKS[mark[0]], text)


def page_title(page: str) -> str:
    """The title that a page's ``id`` stands for: ``Soul_Food_-LRB-film-RRB-`` is Soul Food (film)."""
    return " ".join(unicodedata.normalize("NFC", decode(page)).replace("_", " ").split())


def match_title(graph: Graph, page: str) -> tuple[int, str] | None:
    """The article that a page of FEVER is, and how it was matched (one of ``HOW``); None where the wiki has none."""
    given = " ".join(page.replace("_", " ").split())
    title = page_title(given)
    # As it stands, decoded, and with the two dashes that ``--`` may have been.
    for name in dict.fromkeys((given, title, title.replace("--", "–"), title.replace("--", "—"))):
        article = graph.article(name)
        if article is None:
            continue
        called = graph.titles[article]
        if called == name:
            return article, "exact" if name == given else "encoding"
        return article, "case" if called == name[:1].upper() + name[1:] else "redirect"
    return None


def names_of(graph: Graph, titles: Iterable[str]) -> dict[str, list[str]]:
    """For articles of ours, the names under which FEVER may have them: the title, then its redirects."""
    articles = {title: graph.article(title) for title in titles}
    redirects: dict[int | None, list[str]] = {article: [] for article in articles.values()}
    for number, article in enumerate(graph.redirect_articles.tolist()):
        if article in redirects:
            redirects[article].append(graph.redirects[number])
    return {title: [title, *redirects[article]] for title, article in articles.items()}


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
        """Keep the page of a line if it is wanted."""
        # Only the id is decoded of most lines: five million pages in a minute or two.
        head = _ID.match(line)
        try:
            if not head or page_title(json.loads(head[1])) in wanted:
                record = json.loads(line)
                page, lines = record["id"], record["lines"]
                if not isinstance(page, str) or not isinstance(lines, str):
                    raise TypeError
                if (title := page_title(page)) in wanted:
                    self._pages.setdefault(title, (page, lines))
            self.read += 1
        except (ValueError, RecursionError, KeyError, TypeError):
            if len(self.damage) < _MAX_DAMAGE:
                self.damage.append(BadLine(number, f"no page with id and lines, in {path.name}"))

    def __contains__(self, page: str) -> bool:
        return page_title(page) in self._pages

    def __len__(self) -> int:
        return len(self._pages)

    def id(self, page: str) -> str | None:
        """The page's name as FEVER writes it; None where it is not among the pages."""
        return self._pages.get(page_title(page), (None,))[0]

    def sentences(self, page: str) -> dict[int, str]:
        """The page's sentences by number; none where it is not among the pages."""
        title = page_title(page)
        if title != self._split[0]:  # evidence comes page by page, so one is enough to remember
            self._split = title, split_lines(self._pages.get(title, ("", ""))[1])
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
