"""Articles about people: after the first mention a text says "Euler", not "Leonhard Euler"."""

import re

_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
#: Dates of birth and death, or of birth alone, in the brackets that follow a name.
_LIFE = re.compile(
    r"\((?:[^()]|\([^()]*\)){0,160}?"
    r"(?:\bborn\b|\bb\. |\d{3,4}(?: (?:BC|AD|CE|BCE))?\s*[–—-]\s*[^()\n]{0,40}?\d{3,4})"
)
_NAME = re.compile(r"(?:[^\W\d_][\w.'’-]* ){1,3}((?:Mc|Mac|O'|D')?[A-ZÀ-Þ][^\W\d_A-Z]['’\w-]+)$")
_NO_NAME = re.compile(r"\b(?:of|the|and|in|for|on)\b", re.IGNORECASE)
_LEAD_CHARS = 300


def surname(title: str, lead: str) -> str | None:
    """The last name of the person an article is about, going by its title and first lines; None for other articles."""
    title = _QUALIFIER.sub("", title)
    match = _NAME.match(title)
    if match is None or _NO_NAME.search(title) or not _LIFE.search(lead[:_LEAD_CHARS]):
        return None
    return match[1]
