"""A walk as a reader follows it: every click with what else there was to click on, and how likely each was."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkwalk.navigate import Step
from linkwalk.wiki.agents import Ways
from linkwalk.wiki.places import Place


class Choice(NamedTuple):
    """A page that the page clicked on leads to."""

    node: int
    title: str
    block: int
    kind: str
    """Of the link that was taken, or of the first that leads there."""
    link: str
    """Its words; empty for the blocks before and after."""
    score: float | None
    """Inner product with what is looked for; None without embeddings."""
    probability: float
    seen: bool
    """Whether the walk had been there by then."""
    taken: bool

    def to_json(self) -> dict[str, Any]:
        """As the server sends it."""
        return self._asdict()


@dataclass(frozen=True, kw_only=True)
class Click:
    """One move: from where, to where, how, and what else there was."""

    number: int
    """Counted from 1."""
    start: Place
    """The page clicked on."""
    to: Place
    step: Step
    segment: int | None
    """Which of the page's segments the link clicked begins in; None for previous, next and back."""
    choices: tuple[Choice, ...] = ()
    """What the page leads to, best first; the one taken is always among them."""
    others: int = 0
    """How many more there were."""

    @property
    def link(self) -> str:
        """The words clicked, or how else one went: prev, next, back."""
        return self.step.link or self.step.kind

    @property
    def probability(self) -> float:
        """Of this click, to the agent; 1 where it leaves nothing to chance."""
        return self.step.probability

    def to_json(self, *, choices: bool = True) -> dict[str, Any]:
        """As the server sends it."""
        sentence = self.step.sentence
        value = {
            "number": self.number,
            "from": self.start.to_json(),
            "to": self.to.to_json(),
            "kind": self.step.kind,
            "link": self.step.link,
            "seen": self.step.seen,
            "score": self.step.score,
            "probability": self.step.probability,
            "segment": self.segment,
            "sentence": None if sentence is None else sentence._asdict(),
        }
        if choices:
            value |= {"choices": [choice.to_json() for choice in self.choices], "others": self.others}
        return value


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
    success: bool | None = None
    """None towards a sentence."""
    distance: int | None = None
    """Clicks of the shortest path; None towards a sentence."""
    steps: tuple[Click, ...]
    optimum: tuple[Click, ...] | None = None
    """A shortest path."""
    closest: Closest | None = None
    """Towards a sentence."""
    budget: int
    seed: int
    ways: Ways = field(default_factory=Ways)
    measure: str = "cosine"
    """What the scores are: ``cosine``, or a compass's ``score``."""

    @property
    def best(self) -> Place | None:
        """Of the pages seen on the way to a sentence, the one nearest to it."""
        return None if self.closest is None else self.closest.place

    def to_json(self, *, steps: bool = True, optimum: bool = True) -> dict[str, Any]:
        """As the server sends it."""
        value: dict[str, Any] = {
            "agent": self.agent,
            "start": self.start.to_json(),
            "goal": self.goal and self.goal.to_json(),
            "sentence": self.sentence,
            "success": self.success,
            "distance": self.distance,
        }
        if steps:
            value["steps"] = [click.to_json() for click in self.steps]
        if optimum:
            path = self.optimum
            value["optimum"] = None if path is None else [click.to_json() for click in path]
        return value | {
            "best": self.best and self.best.to_json(),
            "budget": self.budget,
            "seed": self.seed,
        }
