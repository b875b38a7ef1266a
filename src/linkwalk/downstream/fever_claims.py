"""FEVER's claim files.

They come in the official form, evidence as ``[[[annotation, evidence, page, sentence number], ...], ...]``: any inner
list is enough, all of its sentences are needed. Two shorter forms are read too: ``[page, sentence number]``, and
``evidence_sentence``, the text, which makes FEVER's own Wikipedia unnecessary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.lines import Damage, read_records
from linkwalk.errors import InputError

NOT_ENOUGH = "NOT ENOUGH INFO"
LABELS = ("SUPPORTS", "REFUTES", NOT_ENOUGH)


class Named(NamedTuple):
    """A sentence as evidence names it."""

    page: str
    number: int | None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One line of a claim file."""

    id: str
    text: str
    label: str | None
    """None in files without labels."""
    evidence: tuple[tuple[Named, ...], ...]
    """Alternatives; all sentences of one are needed."""
    sentence: str | None = None
    """The text of the one sentence named, where the file has it."""


def read_claim_file(path: Path) -> tuple[list[Claim], list[Damage]]:
    """All claims of a file, whether they can be aligned or not; what is malformed is listed with its line."""
    records, damage = read_records(path)
    claims, lines = [], dict[str, int]()
    for line, record in records:
        try:
            claim = _claim(record, line)
            if (first := lines.setdefault(claim.id, line)) != line:
                raise ValueError(f"id {claim.id} a second time, first in line {first}")
        except ValueError as error:
            damage.append(Damage(line, str(error)))
        else:
            claims.append(claim)
    damage.sort()
    if not claims:
        raise InputError(
            f"{path} has no claim of FEVER's: line {damage[0].line} has {damage[0].reason}; "
            "give a file with id, claim, label and evidence"
        )
    return claims, damage


def _claim(record: Mapping[str, Any], line: int) -> Claim:
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
        if len({named for group in evidence for named in group}) > 1:
            raise ValueError("an evidence_sentence, but several sentences that it could be")
    return Claim(
        id=f"line {line}" if number is None else str(number),
        text=text,
        label=label,
        evidence=evidence,
        sentence=sentence,
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


def _evidence(value: Any) -> tuple[tuple[Named, ...], ...]:
    """Sets that name pages; those of NOT ENOUGH INFO name none, and are left out."""
    if value is None:
        return ()
    groups: dict[tuple[Named, ...], None] = {}
    if not isinstance(value, list) or not all(isinstance(group, list) for group in value):
        raise ValueError("evidence that is no list of lists")
    for group in value:
        named: dict[Named, None] = {}
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
            named[Named(_text(page, "a page of the evidence"), number)] = None
        if whole:
            groups[tuple(named)] = None
    return tuple(groups)  # annotators often name the same set
