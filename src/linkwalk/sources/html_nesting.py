"""Keeps HTML from being nested so deep that a parser, which looks up the tree at every block, takes quadratic time."""

import re
from collections import Counter

#: As deep as browsers go.
MAX_NESTING = 512
NESTED = "HTML nested too deep (made flat)"

#: What the parser itself opens again in every block: what is never closed multiplies.
_FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())
_INLINE = _FORMATTING | frozenset(
    "abbr acronym bdi bdo cite data del dfn ins kbd label mark q ruby samp span sub sup time var".split()
)
#: Elements that hold nothing, or end where the next of their kind begins: they do not pile up.
_SHALLOW = frozenset(
    """a area base body br col colgroup dd dt embed head hr html img input keygen li link meta option p param
    rp rt script source style tbody td tfoot th thead title tr track wbr""".split()
)
_TAG = re.compile(
    rf"<(/?)(?!(?:{'|'.join(sorted(_SHALLOW))})\b)([a-z][a-z0-9]*+)[^<>]*+>?",
    re.IGNORECASE,
)


class _OpenTags:
    """How many elements are open, blocks and inline ones apart; never too low a guess."""

    def __init__(self) -> None:
        self.depth = [0, 0]
        self.names: Counter[str] = Counter()

    def add(self, name: str) -> bool:
        """Open an element, unless that is too deep."""
        inline = name in _INLINE
        if self.depth[inline] >= MAX_NESTING:
            return False
        self.depth[inline] += 1
        self.names[name] += 1
        return True

    def remove(self, name: str) -> None:
        """Close one, if one is open."""
        if self.names[name]:
            self.names[name] -= 1
            self.depth[name in _INLINE] -= 1


def flatten(html: str, damage: Counter[str]) -> str:
    """A page as it is or, where it is nested deeper than ``MAX_NESTING``, with paragraphs for the tags beyond."""
    if html.count("<") <= MAX_NESTING or not _is_deep(html):
        return html
    damage[NESTED] += 1
    opened, beyond = _OpenTags(), Counter[str]()

    def kept(tag: re.Match[str]) -> str:
        name = tag[2].lower()
        if name in _FORMATTING:
            return ""
        if not tag[1]:
            if opened.add(name):
                return tag[0]
            beyond[name] += 1
            return "" if name in _INLINE else "<p>"
        if beyond[name]:
            beyond[name] -= 1
            return "" if name in _INLINE else "<p>"
        opened.remove(name)
        return tag[0]

    return _TAG.sub(kept, html)


def _is_deep(html: str) -> bool:
    opened = _OpenTags()
    for end, name in _TAG.findall(html):
        name = name.lower()
        if end:
            opened.remove(name)
        elif not opened.add(name):
            return True
    return False
