"""Keeps HTML from being nested so deep that a parser, which looks up the tree at every block, takes quadratic time."""

import re
from collections.abc import Iterator

from linkwalk.sources.documents import Counts

#: As deep as browsers go.
MAX_NESTING = 512
#: Of these the parser makes a copy in every further block, until they are closed.
MAX_FORMATTING = 16
NESTED = "HTML nested too deep (made flat)"

_FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())
_INLINE = _FORMATTING | frozenset(
    "abbr acronym bdi bdo cite data del dfn ins kbd label mark q ruby samp span sub sup time var".split()
)
#: Elements that hold nothing, or end where the next of their kind begins: they do not pile up.
_SHALLOW = frozenset(
    """a area base body br col colgroup dd dt embed head hr html img input keygen li link meta option p param
    rp rt script source style tbody td tfoot th thead title tr track wbr""".split()
)
#: Elements in which nothing is a tag but their own end, unless they stand in a drawing or a formula.
_RAW = frozenset("iframe noembed noframes script style textarea title xmp".split())
_FOREIGN = frozenset(("svg", "math"))
_DRAWN = (
    "circle defs ellipse g line lineargradient path polygon polyline radialgradient rect stop text tspan use"
)
#: What a parser takes for a comment, an ordinary drawing, or a tag with its attributes: each as a whole, so that what
#: looks like a tag in it is none. All of it is possessive: no way back, no quadratic time.
_TOKEN = re.compile(
    rf"""<!--(?:-?>|(?s:.)*?(?:--!?>|\Z))
    |<[!?][^>]*+>?
    |</[^a-z>][^>]*+>?
    |<svg\b[^<>]*+>(?:[^<]++|</?(?:{"|".join(_DRAWN.split())})\b[^<>]*+>|<title>[^<]*+</title>){{0,1000}}+</svg>
    |<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)
     (?:[\s/]++|[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+)*+>?""",
    re.IGNORECASE | re.VERBOSE,
)
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}


class _OpenTags:
    """How many elements are open, blocks, inline ones and formatting apart; never too low a guess."""

    limits = (MAX_NESTING, MAX_NESTING, MAX_FORMATTING)

    def __init__(self) -> None:
        self.depth = [0, 0, 0]
        self.names = Counts()

    def add(self, name: str) -> bool:
        """Open an element, unless that is too deep."""
        kind = (name in _INLINE) + (name in _FORMATTING)
        if self.depth[kind] >= self.limits[kind]:
            return False
        self.depth[kind] += 1
        self.names[name] += 1
        return True

    def remove(self, name: str) -> None:
        """Close one, if one is open."""
        if self.names[name]:
            self.names[name] -= 1
            self.depth[(name in _INLINE) + (name in _FORMATTING)] -= 1


def flatten(html: str, damage: Counts) -> str:
    """A page as it is or, where it is nested deeper than ``MAX_NESTING``, with paragraphs for the tags beyond."""
    if html.count("<") <= MAX_NESTING or not _is_deep(html):
        return html
    damage[NESTED] += 1
    opened, beyond = _OpenTags(), Counts()

    def kept(tag: re.Match[str], name: str) -> str:
        if name in _FORMATTING:
            return ""
        if not tag["end"]:
            if opened.add(name):
                return tag[0]
            beyond[name] += 1
            return "" if name in _INLINE else "<p>"
        if beyond[name]:
            beyond[name] -= 1
            return "" if name in _INLINE else "<p>"
        opened.remove(name)
        return tag[0]

    parts, at = list[str](), 0
    for tag, name in _tags(html):
        parts += html[at : tag.start()], kept(tag, name)
        at = tag.end()
    return "".join(parts) + html[at:]


def _is_deep(html: str) -> bool:
    opened = _OpenTags()
    for tag, name in _tags(html):
        if tag["end"]:
            opened.remove(name)
        elif not opened.add(name):
            return True
    return False


def _tags(html: str) -> Iterator[tuple[re.Match[str], str]]:
    """The tags of elements that may pile up, with their names; those in comments, scripts and the like are none."""
    at, foreign = 0, False
    while (tag := _TOKEN.search(html, at)) is not None:
        at = tag.end()
        name = (tag["name"] or "").lower()
        foreign = foreign or name in _FOREIGN
        if name in _RAW and not tag["end"] and not foreign:
            # Without an end it goes on to the end of the page.
            end = _RAW_END[name].search(html, at)
            at = end.start() if end else len(html)
        if name and name not in _SHALLOW:
            yield tag, name
