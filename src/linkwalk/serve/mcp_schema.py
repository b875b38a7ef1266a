"""What the tools for a language model answer, as their schemas say it."""

from pydantic import BaseModel, Field


class Hit(BaseModel):
    """A block that a search found."""

    block: str = Field(description='Its name, "Title (number)", for the other tools.')
    section: str = Field(description="The heading above it; empty at the beginning of an article.")
    by: str = Field(description="title: its article's title matches; text: it has the words.")
    excerpt: str = Field(description="How it begins.")


class Hits(BaseModel):
    """What a search found."""

    words: str
    results: list[Hit]


class LinkOut(BaseModel):
    """A link in a block's text."""

    words: str = Field(description="The words one would click.")
    to: str = Field(description="The block it leads to.")
    kind: str = Field(description="link: written as one; entity: a name that was recognised.")


class Opened(BaseModel):
    """A block."""

    block: str
    section: str
    blocks: int = Field(description="How many blocks the article has.")
    text: str
    offset: int = Field(description="Characters of the block before this text.")
    characters_left: int = Field(description="Characters behind it: read on with offset.")
    links: list[LinkOut]
    links_left: int = Field(description="How many more there are: list them with `links`.")
    previous: str | None = Field(description="The block before it in the article.")
    next: str | None = Field(description="The block after it.")


class Links(BaseModel):
    """The links of a block."""

    block: str
    links: list[LinkOut]
    offset: int = Field(description="Links of the block before these.")
    links_left: int = Field(description="Links behind these: ask for them with offset.")
    previous: str | None
    next: str | None


class Move(BaseModel):
    """A click."""

    number: int
    to: str
    kind: str = Field(description="link, entity, prev, next or back.")
    words: str = Field(description="The words clicked; empty for prev, next and back.")
    sentence: str | None = Field(description="Where they stand, the words in [[ ]].")


class Route(BaseModel):
    """A walk."""

    agent: str
    start: str
    goal: str | None
    sentence: str | None
    found: bool | None = Field(description="Whether the goal was reached; null towards a sentence.")
    clicks: int
    shortest: int | None = Field(description="Clicks of the shortest path; null towards a sentence.")
    path: list[Move]
    clicks_left_out: int = Field(description="Clicks in the middle of a long walk that are not listed.")
    end: str = Field(description="The block where the walk ended, or the one closest to the sentence.")
    excerpt: str = Field(description="How that block begins.")


class Proof(BaseModel):
    """A sentence and where it comes from."""

    sentence: str
    block: str
    paragraph: str = Field(description="The text around it.")
    score: float
    start: str = Field(description="The search result that the path begins at.")
    path: list[Move] = Field(description="The clicks from there; none if the sentence stands there.")


class Proofs(BaseModel):
    """Evidence."""

    query: str
    navigation: str = Field(description="tabs: links were followed; none: search results alone.")
    blocks_read: int
    evidence: list[Proof]
