"""A walk as a reader follows it: every click, and what else there was to click on.

Whoever asks, in Python, on the command line, over HTTP or MCP, gets these; in JSON a dataclass is its fields
(``linkwalk.wiki.plain``).
"""

from dataclasses import dataclass, field

from linkwalk.graph.sentence import Sentence
from linkwalk.navigate.ways import Ways
from linkwalk.wiki.places import Place


@dataclass(
    slots=True
)  # not frozen: a walk has a thousand of them, and frozen ones take three times as long to make
class Choice:
    """A way out of a page, and what the agent thought of it."""

    node: int
    title: str
    block: int
    kind: str
    """prev, next, link, entity or back; where several links lead there, that of the one clicked, or else the first."""
    link: str
    """The words one would click; empty for prev, next and back."""
    score: float | None
    """What the agent went by; None where it did not weigh this way, or weighs nothing."""
    probability: float
    """At which the agent would click it, by its scores, if it drew its clicks; one that does not takes the best."""
    seen: bool
    """Whether the walk had been there by then."""
    taken: bool
    towards: str | None = None
    """The page further on that makes this way worth its score, for walkers with a map or a back button."""


@dataclass(frozen=True, kw_only=True)
class Click:
    """One move: from where, to where, how, and what else there was."""

    number: int
    """Counted from 1."""
    at: Place
    """The page clicked on."""
    to: Place
    kind: str
    """prev, next, link, entity or back."""
    link: str
    """The words clicked; empty for prev, next and back."""
    sentence: Sentence | None
    """Where these words stand."""
    segment: int | None
    """Which of the page's segments the link begins in; None for prev, next and back."""
    seen: bool
    """Whether the walk had been there before."""
    score: float | None = None
    """That of the choice taken; None where nobody weighed, as on a shortest path."""
    probability: float | None = None
    """Likewise."""
    choices: tuple[Choice, ...] = ()
    """What the page leads to, best first; the one taken is always among them."""
    others: int = 0
    """How many more there were."""

    @property
    def words(self) -> str:
        """The words clicked, or how else one went: prev, next, back."""
        return self.link or self.kind


@dataclass(frozen=True, kw_only=True)
class Closest:
    """Of the pages seen on the way to a sentence, the one nearest to it."""

    place: Place
    step: int
    """After how many steps it was seen first."""
    score: float
    """Its cosine to the sentence."""


@dataclass(frozen=True, kw_only=True)
class Walk:
    """What an agent did, from its start to where it ended."""

    agent: str
    start: Place
    goal: Place | None = None
    """None where a sentence is all that is known."""
    sentence: str | None = None
    """What was looked for, in words; None towards a block."""
    success: bool | None = None
    """None towards a sentence."""
    distance: int | None = None
    """Clicks of the shortest path; None towards a sentence."""
    steps: tuple[Click, ...]
    optimum: tuple[Click, ...] | None = None
    """A shortest path; None towards a sentence."""
    closest: Closest | None = None
    """Towards a sentence: the best of the pages seen."""
    budget: int
    seed: int
    ways: Ways = field(default_factory=Ways)
    measure: str | None = None
    """What the clicks' scores are: ``cosine``; ``worth``, for a compass and walkers with a map; ``log-probability``,
    for other policies; ``chance``, where nothing is weighed; None for an agent that does not say."""
    trapped: bool = False
    """It ended before its steps were used up: all that could still be reached had been seen."""
