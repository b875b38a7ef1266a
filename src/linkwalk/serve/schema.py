"""What is asked and what is answered, as the OpenAPI description says it.

The answers mirror the dataclasses of ``linkwalk.wiki``. They describe: what is sent is written straight from those
dataclasses, and tests hold the two together.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from linkwalk.demo import POLICY

BIGGEST = 2**31 - 1
_START, _GOAL = "Star", "Coral reef (1)"
_PLACE: dict[str, Any] = {
    "node": 812,
    "title": "Star",
    "block": 0,
    "blocks": 3,
    "section": "",
    "name": "Star (0)",
}

Name = Annotated[
    str, Field(min_length=1, max_length=300, description='A block\'s name: "Title", or "Title (3)".')
]
Node = Annotated[int, Field(ge=0, le=BIGGEST, description="A block's number.")]
Target = Name | Node
Seed = Annotated[int, Field(ge=0, le=2**32 - 1, description="Makes all chance repeatable.")]
Navigation = Literal["tabs", "walks", "expand", "order", "lead", "none"]
Rerank = Literal["cross", "tfidf", "none"]
Kind = Literal["link", "entity", "prev", "next", "back"]


class _Answer(BaseModel):
    """Something the server says."""

    model_config = ConfigDict(extra="forbid")


class _Request(BaseModel):
    """Something the server is asked: what it does not know, it says so instead of passing it over."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, value: Any) -> Any:
        """To JSON 5.0 is an integer; the types are strict, since to Python "5" and True would be integers, too."""
        return {name: _whole(part) for name, part in value.items()} if isinstance(value, dict) else value


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class ErrorBody(_Answer):
    """What went wrong."""

    type: Literal[
        "bad_input",
        "not_found",
        "method_not_allowed",
        "too_large",
        "busy",
        "timeout",
        "damaged",
        "internal",
    ]
    message: str = Field(description="One line for people.")


class Error(_Answer):
    """Every answer that is not a success."""

    error: ErrorBody


class Place(_Answer):
    """A block: where it stands and what it is called."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_PLACE]})

    node: int = Field(description="The block's number.")
    title: str = Field(description="The article's title: text, not markup.")
    block: int = Field(description="Which block of the article, from 0.")
    blocks: int = Field(description="How many blocks the article has.")
    section: str = Field(description="The section it stands in; empty for the lead.")
    name: str = Field(description='"Title (block)", which finds it again.')


class Choice(_Answer):
    """One way out of a page, and what the agent thought of it."""

    node: int
    title: str
    block: int
    kind: Kind
    link: str = Field(description="The words one would click; empty for the blocks before and after.")
    score: float | None = Field(description="Inner product of the page and what the agent looks for.")
    probability: float = Field(
        description="Softmax of the agent's scores over all distinct targets of the page."
    )
    seen: bool = Field(description="Whether the walk had been there by then.")
    taken: bool


class Sentence(_Answer):
    """The sentence a link stands in, cut where the link begins and ends."""

    before: str
    link: str
    after: str


class PlainClick(_Answer):
    """One move: from which page to which, and how."""

    number: int = Field(description="From 1.")
    from_: Place = Field(alias="from")
    to: Place
    kind: Kind
    link: str
    seen: bool = Field(description="Whether the walk had been there before.")
    score: float | None
    probability: float = Field(description="1 where the agent leaves nothing to chance.")
    segment: int | None = Field(description="Which segment of the page left behind was clicked.")
    sentence: Sentence | None


class Click(PlainClick):
    """One move, and what else there was to click on."""

    choices: list[Choice] = Field(description="Best first, at most 12.")
    others: int = Field(description="How many more there were.")


class Segment(_Answer):
    """A piece of a block's text; joined, the pieces are the text."""

    text: str
    link: int | None = Field(description="Index into the block's links, if this piece is one.")


class Link(_Answer):
    """A way out of a block."""

    node: int
    title: str
    block: int
    kind: Kind
    text: str


class Block(_Answer):
    """A page as one reads it."""

    place: Place
    segments: list[Segment]
    links: list[Link]
    previous: Place | None
    next: Place | None


class WalkEnd(_Answer):
    """How a walk went, without its clicks."""

    agent: str
    start: Place
    goal: Place | None
    sentence: str | None
    success: bool | None = Field(description="Null where only words were looked for.")
    distance: int | None = Field(description="Clicks on the shortest path.")
    optimum: list[Click] | None = Field(description="The shortest path itself.")
    best: Place | None = Field(description="Of the pages seen, the one closest to the sentence.")
    budget: int
    seed: int


class Walk(WalkEnd):
    """A walk, click by click."""

    steps: list[Click]


class Comparison(_Answer):
    """Agents side by side."""

    walks: list[Walk]


class Evidence(_Answer):
    """A sentence, and the clicks that led to it."""

    score: float
    sentence: str
    place: Place
    start: Place
    path: list[PlainClick] = Field(description="Empty where the search itself found the block.")


class Answer(_Answer):
    """The sentences that answer a question or bear on a claim."""

    query: str
    start: str
    navigation: str
    rerank: str
    agent: str | None
    blocks: int = Field(description="How many blocks were read.")
    evidence: list[Evidence]


class Titles(_Answer):
    """Suggestions."""

    query: str
    titles: list[Place]


class Pair(_Answer):
    """Two articles for a game."""

    start: Place
    goal: Place
    distance: int
    seed: int


class AgentInfo(_Answer):
    """Who can walk here."""

    name: str
    about: str


class WikiInfo(_Answer):
    """Which wiki this is."""

    name: str
    snapshot: str
    blocks: int
    articles: int
    links: int


class Health(_Answer):
    """That the server answers, and what it can do."""

    status: Literal["ok"]
    version: str
    wiki: WikiInfo
    agents: list[AgentInfo]
    find: bool = Field(description="Whether there is an index, so that evidence can be looked for.")
    navigate: bool = Field(description="Whether there are embeddings, so that agents see more than chance.")
    rerank: str = Field(description="Who ranks sentences where nobody is named.")
    missing: dict[Literal["find", "navigate"], str] = Field(
        description="What cannot be done yet, each with the command that makes it possible."
    )
    budget: int = Field(description="The most steps a walk may have.")


Pairs = Annotated[list[int], Field(min_length=2, max_length=2)]


class GraphStatistics(BaseModel):
    """The graph in numbers (app. A.3)."""

    model_config = ConfigDict(extra="allow")

    snapshot: str
    name: str
    date: str
    articles: int
    blocks: int
    links: dict[str, int] = Field(description="How many of each kind.")
    degree: dict[Literal["out", "in"], list[Pairs]] = Field(description="[degree, blocks] each.")
    path_lengths: dict[str, Any] = Field(
        description="Pairs, reachable, mean, median, histogram of [length, share]."
    )


class StoredRun(_Answer):
    """A finished game, checked: one line of the run file."""

    who: str
    wiki: str
    start: str
    goal: str
    start_node: int
    goal_node: int
    steps: list[int]
    clicks: int
    seconds: float
    won: bool = Field(description="Whether the steps end at the goal.")
    distance: int | None
    optimum: list[int] | None
    when: str
    stored: bool = Field(description="Whether the server keeps games (`linkwalk serve --runs FILE`).")


_HAS_WORDS: dict[str, Any] = {"pattern": r"[^\W_]"}
_TO: dict[str, Any] = {
    "properties": {"goal": {"not": {"type": "null"}}, "sentence": {"type": "null"}},
    "required": ["goal"],
}
_WORDS: dict[str, Any] = {
    "properties": {"sentence": {"not": {"type": "null"}}, "goal": {"type": "null"}},
    "required": ["sentence"],
}


class WalkRequest(_Request):
    """Where from, and what to find: a block (``goal``) or words (``sentence``), one of the two."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"start": _START, "goal": _GOAL, "agent": POLICY, "budget": 100}],
            "oneOf": [_TO, _WORDS],
        }
    )

    start: Target
    goal: Target | None = None
    sentence: str | None = Field(
        default=None, description="What to find, in words of your own.", json_schema_extra=_HAS_WORDS
    )
    agent: str = Field(default=POLICY, max_length=100, description="Who walks: /api/v1/health lists them.")
    budget: int | None = Field(default=None, ge=1, description="Steps. [100; towards a sentence: 20]")
    back: bool = Field(default=False, description="Give the agent a back button.")
    seed: Seed = 0


class CompareRequest(_Request):
    """Several agents on the same pair."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"start": _START, "goal": _GOAL, "agents": [POLICY, "greedy-unvisited", "random"]}]
        }
    )

    start: Target
    goal: Target
    agents: list[Annotated[str, Field(max_length=100)]] = Field(min_length=1, max_length=6)
    budget: int = Field(default=100, ge=1)
    seed: Seed = 0


class FindRequest(_Request):
    """A claim or a question."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "Who wrote the first computer program?", "limit": 3}]}
    )

    query: str = Field(min_length=1, description="In words.", json_schema_extra=_HAS_WORDS)
    limit: int = Field(default=5, ge=1, le=20, description="Sentences to answer with.")
    offset: int = Field(default=0, ge=0, le=100, description="Better ones to leave out.")
    candidates: int = Field(default=20, ge=1, le=100, description="Blocks to read.")
    navigation: Navigation = Field(default="tabs", description="How to go on from the search results.")
    rerank: Rerank | None = Field(default=None, description="Who ranks the sentences. [the best there is]")


class RunRequest(_Request):
    """A finished game."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"who": "Ada", "start": _START, "goal": _GOAL, "steps": [], "seconds": 42.5, "won": False}
            ]
        }
    )

    who: str = Field(min_length=1, max_length=80)
    start: Target
    goal: Target
    steps: list[Node] = Field(max_length=1000, description="The blocks opened, in order; without the start.")
    seconds: float = Field(ge=0, le=10_000_000)
    won: bool = Field(description="As the player saw it; what is stored is what the steps say.")
