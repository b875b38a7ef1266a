"""What a page is filed under and when it was last changed: tags and dates, as the formats write them.

Tags are categories, keywords, labels: whatever a page says it belongs to. Nothing is guessed, and no file's own date is
looked at: the same input gives the same graph wherever it was copied to.
"""

import datetime
import re
from collections.abc import Iterable

from linkwalk.graph.store import NO_DATE, nfc

_DATE = re.compile(r"\s*([0-9]{4})([-/])([0-9]{1,2})\2([0-9]{1,2})(?![0-9])")
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_INLINE = re.compile(r"(?<![^\s(])#([\w/-]*[^\W\d_][\w/-]*)")
#: What is longer is a sentence that got into the wrong field.
_MAX_CHARS = 200


def day_of(written: str) -> int:
    """The day that a date or timestamp begins with, counted from 1970; ``NO_DATE`` where it begins with none."""
    found = _DATE.match(written)
    if found is None:
        return NO_DATE
    try:
        return datetime.date(int(found[1]), int(found[3]), int(found[4])).toordinal() - _EPOCH
    except ValueError:  # the 31st of February
        return NO_DATE


def date_of(day: int) -> str:
    """A day as ISO 8601 writes it, empty for ``NO_DATE``."""
    return "" if day == NO_DATE else datetime.date.fromordinal(day + _EPOCH).isoformat()


def distinct_tags(written: Iterable[str]) -> list[str]:
    """Tags with single blanks, without a ``#`` before them, each once, in the order in which they are written."""
    tags = (nfc(" ".join(tag.split())).removeprefix("#").strip() for tag in written)
    return list(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= _MAX_CHARS))


def inline_tags(text: str) -> list[str]:
    """The tags that stand in a note's text as Obsidian has them, ``#project/alpha``: with a letter, and no blank."""
    return _INLINE.findall(text) if "#" in text else []
