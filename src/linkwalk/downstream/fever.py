"""FEVER (app. C.1): claims, and the sentences that prove or refute them.

Files come in the official form, evidence as ``[[[annotation, evidence, page, sentence number], ...], ...]``: any inner
list is enough, all of its sentences are needed. Two shorter forms are read too: ``[page, sentence number]``, and
``evidence_sentence``, the text, which makes FEVER's own Wikipedia unnecessary.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from linkwalk.downstream.dataset import EXAMPLES, GoldSentence, Question
from linkwalk.downstream.wiki_pages import WikiPages
from linkwalk.errors import InputError
from linkwalk.records import BadLine, own_records

NOT_ENOUGH = "NOT ENOUGH INFO"
LABELS = ("SUPPORTS", "REFUTES", NOT_ENOUGH)
PAPER_ARTICLES, PAPER_SENTENCES = 0.995, 0.931
"""What the paper matched of FEVER's articles and evidence sentences (app. C.1)."""


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
        known = {
            one: one._replace(text=wiki.sentence(one.title, one.number))
            for one in sorted(named, key=lambda one: one.title)
            if one.text is None and one.number is not None
        }
        if named and not any(known.get(one, one).text for one in named):
            raise InputError(
                f"none of the sentences that {path} names is in {self.wiki_pages}: is it the whole of wiki-pages.zip?"
            )
        for claim in claims:
            groups = ([one for one in group if isinstance(one, GoldSentence)] for group in claim.evidence)
            yield replace(
                claim, evidence=tuple(tuple(known.get(one, one) for one in group) for group in groups)
            )

    def tell(self, report: dict[str, Any]) -> None:
        """The paper's rates, and what FEVER's Wikipedia lacks."""
        report["articles"]["paper"] = PAPER_ARTICLES
        if "sentences" in report:
            more = {"paper": PAPER_SENTENCES, "pages not among FEVER's": self.missing[:EXAMPLES]}
            report["sentences"].update(more)


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
