"""What is asked, and those answers that are the server's own; all others are dataclasses of ``linkwalk.wiki``.

A dataclass is sent as its fields, and described by the strings beneath them.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from pydantic_core import to_json

from linkwalk.graph.store import Sentence
from linkwalk.navigate.moves import MapConfig, MoveConfig
from linkwalk.shipped import POLICY
from linkwalk.wiki import Answer, Choice, Click, Evidence, Link, Page, Place, Segment, Walk
from linkwalk.wiki.answers import Closest
from linkwalk.wiki.pages import Listed

BIGGEST = 2**31 - 1
_START, _GOAL = "Star", "Coral reef (1)"

Name = Annotated[
    str, Field(min_length=1, max_length=300, description='A block\'s name: "Title", or "Title (3)".')
]
Node = Annotated[int, Field(ge=0, le=BIGGEST, description="A block's number.")]
Target = Name | Node
Seed = Annotated[int, Field(ge=0, le=2**32 - 1, description="Makes all chance repeatable.")]
Navigation = Literal["tabs", "walks", "expand", "pagerank", "order", "lead", "none"]
Rerank = Literal["cross", "tfidf", "none"]

SHAPES = (
    *(Place, Segment, Link, Listed, Page, Sentence, Choice, Click, Closest, MapConfig, MoveConfig, Walk),
    *(Evidence, Answer),
)
_DESCRIBED = ConfigDict(
    extra="forbid", use_attribute_docstrings=True, json_schema_serialization_defaults_required=True
)
for _shape in SHAPES:  # here, so that the layers below need not know of pydantic
    _shape.__pydantic_config__ = _DESCRIBED  # type: ignore[union-attr]

# Now, in one thread: the strings are read from the source, and Python 3.11 cannot parse in several at once.
_WRITERS = {shape: TypeAdapter[Any](shape) for shape in (Page, Click, Walk, Answer)}


def to_bytes(value: Any) -> bytes:
    """An answer as JSON: fields by their names, as ``wiki.answers.plain`` gives them, in a tenth of its time."""
    writer = _WRITERS.get(type(value))  # which knows the types, and need not look at each value
    return to_json(value) if writer is None else writer.dump_json(value)


def known_names(description: dict[str, Any]) -> dict[str, Any]:
    """A description in which shapes are called what clients know them by, whatever their classes are called."""
    text = json.dumps(description).replace('"MoveConfig"', '"Ways"').replace("/MoveConfig", "/Ways")
    found: dict[str, Any] = json.loads(text)
    for shapes in (found.get("components", {}).get("schemas", {}), found.get("$defs", {})):
        for name in sorted(shapes):
            shapes[name] = shapes.pop(name)
    return found


class ServerAnswer(BaseModel):
    """An answer that is the server's own."""

    model_config = _DESCRIBED


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


class ErrorBody(ServerAnswer):
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
    message: str
    """One line for people."""


class Error(ServerAnswer):
    """Every answer that is not a success."""

    error: ErrorBody


class Suggestions(ServerAnswer):
    """Titles that begin with some words, or look like them."""

    query: str
    titles: tuple[Place, ...]


class Links(ServerAnswer):
    """Where a block leads, a part of it at a time."""

    place: Place
    links: tuple[Link, ...]
    """Those in its text, in its order."""
    offset: int
    """How many there are before these."""
    total: int
    """How many there are in all."""


class Comparison(ServerAnswer):
    """Agents side by side."""

    walks: tuple[Walk, ...]


class Game(ServerAnswer):
    """Two articles for a game."""

    start: Place
    goal: Place
    distance: int
    """Clicks of the shortest path."""
    seed: int


class AgentInfo(ServerAnswer):
    """Who can walk here."""

    name: str
    about: str


class WikiInfo(ServerAnswer):
    """Which wiki this is."""

    name: str
    snapshot: str
    blocks: int
    articles: int
    links: int


class Health(ServerAnswer):
    """That the server answers, and what it can do."""

    status: Literal["ok"] = "ok"
    version: str
    wiki: WikiInfo
    agents: tuple[AgentInfo, ...]
    """Who can walk; the first does where nobody is named."""
    find: bool
    """Whether there is an index, so that evidence can be looked for."""
    navigate: bool
    """Whether there are embeddings, so that agents see more than chance."""
    embeddings: str | None
    """Which ones agents look at and sentences are read with; null if there are none."""
    rerank: str
    """Who ranks sentences where nobody is named."""
    missing: dict[Literal["find", "navigate", "read", "policy"], str]
    """What cannot be done yet, each with the command that makes it possible."""
    budget: int
    """The most steps a walk may have."""


class GraphStatistics(BaseModel):
    """The graph in numbers (app. A.3)."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    snapshot: str
    name: str
    date: str
    articles: int
    blocks: int
    links: dict[str, int]
    """How many of each kind."""
    degree: dict[Literal["out", "in"], list[Annotated[list[int], Field(min_length=2, max_length=2)]]]
    """[degree, blocks] each."""
    path_lengths: dict[str, Any]
    """Pairs, reachable, mean, median, histogram of [length, share]."""


class StoredRun(ServerAnswer):
    """A finished game, checked."""

    who: str
    wiki: str
    start: str
    goal: str
    start_node: int
    goal_node: int
    steps: list[int]
    clicks: int
    seconds: float
    won: bool
    """Whether the steps end at the goal."""
    distance: int | None
    optimum: list[int] | None
    when: str
    run: dict[str, Any]
    """As a line of a run file, which `linkwalk games score` reads."""
    stored: bool
    """Whether the server keeps games (`linkwalk serve --runs FILE`)."""


HAS_WORDS: dict[str, Any] = {"pattern": r"[^\W_]"}
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
        default=None, description="What to find, in words of your own.", json_schema_extra=HAS_WORDS
    )
    agent: str | None = Field(
        default=None, max_length=100, description="Who walks: /api/v1/health lists them, the usual one first."
    )
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

    query: str = Field(min_length=1, description="In words.", json_schema_extra=HAS_WORDS)
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
