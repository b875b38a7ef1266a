"""What a language model may do with a wiki: search, open, links, navigate, find_evidence.

Answers are the wiki's own dataclasses, cut to the size of a paragraph: what is left out is counted, and can be asked
for. Evidence and walks come with the clicks that led there, so that they can be checked with ``open``. The docstrings
and descriptions are what a model is told.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Annotated

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from linkwalk.errors import InputError
from linkwalk.serve.schema import Links, ServerAnswer
from linkwalk.wiki import Answer, Click, Link, Page, Place, Segment, Walk, Wiki

TEXT, EXCERPT, PARAGRAPH, AROUND = 2000, 240, 1200, 120
"""Characters: of a block opened, of an excerpt, of a paragraph around evidence, on either side of a link clicked."""
LINKS, CLICKS = 12, 20
"""Links of a block opened, and clicks of a walk, that are listed."""
_NOTHING = "Nothing was found: try other words."
_UNANSWERED = "Nothing here answers this"

Name = Annotated[str, Field(max_length=1000, description='A block: "Title", or "Title (3)" for its block 3.')]
Words = Annotated[str, Field(max_length=1000, description="A title or its beginning, or words of the text.")]
Offset = Annotated[int, Field(ge=0, le=1000, description="How many to leave out, to list the next ones.")]


class Match(ServerAnswer):
    """A block that a search found."""

    place: Place
    by: str
    """title: its article's title matches; text: it has the words."""
    excerpt: str
    """How it begins."""


class Matches(ServerAnswer):
    """What a search found."""

    words: str
    offset: int
    results: tuple[Match, ...]


class Excerpt(ServerAnswer):
    """A block, or as much of it as one reads at once."""

    page: Page
    """Its text in one piece, and the first of its links."""
    offset: int
    """Characters of the block before this text."""
    characters_left: int
    """Characters behind it: read on with offset."""
    links_left: int
    """How many more links there are: list them with `links`."""


class Walked(ServerAnswer):
    """A walk."""

    walk: Walk
    """Of a long one the first and the last clicks; what else there was to click on is left out."""
    clicks: int
    """How many there were in all."""
    end: Place
    """Where the walk ended, or the block closest to the sentence."""
    excerpt: str
    """How that block begins."""


class Proof(ServerAnswer):
    """Evidence."""

    answer: Answer
    paragraphs: tuple[str, ...]
    """The text around each sentence."""


class Tools:
    """The tools of one wiki."""

    def __init__(self, wiki: Wiki) -> None:
        self.wiki = wiki
        self.all = (self.search, self.open, self.links, self.navigate, self.find_evidence)

    def search(
        self,
        words: Words,
        limit: Annotated[int, Field(ge=1, le=20, description="How many blocks to list.")] = 8,
        offset: Offset = 0,
    ) -> Annotated[CallToolResult, Matches]:
        """Find blocks by the title of their article (as it is typed, redirects too) and by the words in their text.

        Lists names for `open`, each with how the block begins.
        """
        if not words.strip():
            raise InputError("words is empty: give a title or words to look for")
        many = offset + limit
        by_text = [] if "find" in self.wiki.missing() else self.wiki.search(words, many)
        by_title = self.wiki.titles(words, many, alike=not by_text)
        found: dict[int, tuple[Place, str]] = {}
        for both in zip_longest(by_title, by_text):
            for place, by in zip(both, ("title", "text"), strict=True):
                if place is not None:
                    found.setdefault(place.node, (place, by))
        hits = tuple(
            Match(place=place, by=by, excerpt=self._excerpt(place))
            for place, by in list(found.values())[offset:many]
        )
        lines = [f"{_where(hit.place)}: {hit.excerpt}" for hit in hits]
        return _result("\n".join(lines) or _NOTHING, Matches(words=words, offset=offset, results=hits))

    def open(
        self,
        block: Name,
        offset: Annotated[
            int, Field(ge=0, description="Characters to leave out, to read on in a long block.")
        ] = 0,
    ) -> Annotated[CallToolResult, Excerpt]:
        """Read a block: its text, the first of its links, and the blocks before and after it."""
        page = self.wiki.block(block)
        text = page.text
        if offset and offset >= len(text):
            raise InputError(f"{page.place.name} has {len(text):,} characters: choose a smaller offset")
        shown = text[offset : offset + TEXT]
        read = Excerpt(
            page=replace(
                page,
                segments=(Segment(shown, None),),
                links=page.links[:LINKS],
                below=page.below.first(LINKS),
                linked_from=page.linked_from.first(LINKS),
            ),
            offset=offset,
            characters_left=max(0, len(text) - offset - TEXT),
            links_left=max(0, len(page.links) - LINKS),
        )
        if read.characters_left:
            shown += f" … ({read.characters_left:,} more characters: offset={offset + TEXT})"
        place = page.place
        about = (place.name, f"one of {place.blocks} blocks", place.section, place.address)
        lines = [
            ", ".join(filter(None, about)),
            shown,
            _list("Links", read.page.links, read.links_left),
            _beside(page),
        ]
        return _result("\n".join(filter(None, lines)), read)

    def links(
        self,
        block: Name,
        limit: Annotated[int, Field(ge=1, le=100, description="How many links to list.")] = 30,
        offset: Annotated[int, Field(ge=0, description="Links to leave out, to list the next ones.")] = 0,
    ) -> Annotated[CallToolResult, Links]:
        """List where a block leads: the words of each link and the block it goes to, in the order of the text."""
        page = self.wiki.block(block)
        name, total = page.place.name, len(page.links)
        if offset and offset >= total:
            raise InputError(f"{name} has {total} links: choose a smaller offset")
        some = page.links[offset : offset + limit]
        said = _list(f"Links of {name}", some, total - offset - len(some))
        return _result(
            f"{said or f'{name} has no links in its text.'}\n{_beside(page)}",
            Links(place=page.place, links=some, offset=offset, total=total),
        )

    def navigate(
        self,
        start: Name,
        goal: Annotated[
            str, Field(max_length=1000, description="The block to find; or else give a sentence.")
        ] = "",
        sentence: Annotated[
            str,
            Field(
                max_length=2000, description="What to find, in words: the walk goes where it is spoken of."
            ),
        ] = "",
        agent: Annotated[
            str,
            Field(max_length=100, description="Who walks: compass, or a baseline; nobody named, the best."),
        ] = "",
        budget: Annotated[
            int, Field(ge=0, le=1000, description="Most clicks; 0: 100, or 20 to a sentence.")
        ] = 0,
    ) -> Annotated[CallToolResult, Walked]:
        """Let a trained agent click its way from a block to another, or towards what a sentence says.

        Tells every click, with the sentence that its link stands in: the path says how the two are connected.
        """
        if bool(goal.strip()) == bool(sentence.strip()):
            raise InputError("say what to find: goal or sentence, one of the two")
        agent = agent or self.wiki.usual
        if agent not in self.wiki.agents:  # and nobody from elsewhere on this machine
            raise self.wiki.why_no_agent(agent)
        walk = self.wiki.walk(
            start,
            goal if goal.strip() else None,
            sentence=sentence if sentence.strip() else None,
            agent=agent,
            budget=budget or None,
        )
        clicks, half = len(walk.steps), CLICKS // 2
        shown = walk.steps if clicks <= CLICKS else (*walk.steps[:half], *walk.steps[-half:])
        end = walk.closest.place if walk.closest else walk.end
        walked = Walked(
            walk=replace(walk, steps=tuple(map(_short, shown)), optimum=None),
            clicks=clicks,
            end=end,
            excerpt=self._excerpt(end),
        )
        moves = _tell(walked.walk.steps)
        if clicks > CLICKS:
            moves.insert(half, f"… {clicks - CLICKS} more clicks …")
        return _result("\n".join([_verdict(walked), *moves, f"{end.name}: {walked.excerpt}"]), walked)

    def find_evidence(
        self,
        query: Annotated[str, Field(max_length=2000, description="A claim or a question, as a sentence.")],
        limit: Annotated[int, Field(ge=1, le=10, description="How many sentences.")] = 3,
    ) -> Annotated[CallToolResult, Proof]:
        """Find the sentences that answer a question or bear on a claim, each with its paragraph and its provenance.

        A search gives places to begin; an agent follows the most promising links from there. The path says how each
        sentence was reached. Where nothing that was read settles it, that is said first (`answered` is false), and the
        sentences are only the nearest.
        """
        navigation = "none" if {"navigate", "read"} & self.wiki.missing().keys() else "tabs"
        answer = self.wiki.find(query, limit, navigation=navigation)
        proof = Proof(
            answer=replace(
                answer.untimed,
                evidence=tuple(
                    replace(one, sentence=_cut(one.sentence, PARAGRAPH), path=tuple(map(_short, one.path)))
                    for one in answer.evidence
                ),
            ),
            paragraphs=tuple(self._around(one.place.node, one.sentence) for one in answer.evidence),
        )
        lines = [] if answer.answered else [_unanswered(answer)]
        for number, (one, text) in enumerate(zip(proof.answer.evidence, proof.paragraphs, strict=True), 1):
            way = f"reached from {one.start.name}:" if one.path else "a search result"
            lines += [
                f"{number}. {one.sentence}",
                f"   {one.place.name}: {text}",
                f"   {way}",
                *_tell(one.path),
            ]
        return _result("\n".join(lines) or _NOTHING, proof)

    def _excerpt(self, place: Place) -> str:
        return _cut(" ".join(self.wiki.graph.texts[place.node].split()), EXCERPT)

    def _around(self, node: int, sentence: str) -> str:
        """A block's text, or as much of it around a sentence as makes a paragraph."""
        text = " ".join(self.wiki.graph.texts[node].split())
        at = max(0, text.find(" ".join(sentence.split())))
        begin = max(0, min(at - (PARAGRAPH - len(sentence)) // 2, len(text) - PARAGRAPH))
        return ("…" if begin else "") + _cut(text[begin:], PARAGRAPH)


def _short(click: Click) -> Click:
    """A click without what else there was, and with no more of a long sentence than stands around the link."""
    sentence = click.sentence
    if sentence is not None:
        before, after = sentence.before, _cut(sentence.after, AROUND)
        before = before if len(before) <= AROUND else "…" + before[-AROUND:]
        sentence = replace(sentence, before=before, link=_cut(sentence.link, EXCERPT), after=after)
    return replace(click, link=_cut(click.link, EXCERPT), sentence=sentence, choices=(), others=0)


def _tell(path: Iterable[Click]) -> list[str]:
    ways = {"prev": "the block before", "next": "the block after", "back": "back"}
    ways |= {"contents": "by the contents", "backlink": "a page that links here"}
    lines = []
    for click in path:
        how, of = ways.get(click.kind, ""), click.sentence
        if of is not None:
            how = f"{of.before}[[{of.link}]]{of.after}"
        lines.append(f"   {click.number}. {click.to.name}: {how}")
    return lines


def _verdict(walked: Walked) -> str:
    walk, count = walked.walk, f"{walked.clicks} click{'s' * (walked.clicks != 1)}"
    if walk.goal is None:
        return f"Walked {count} from {walk.start.name}; closest to the sentence is {walked.end.name}."
    found = "Found" if walk.success else "Did not find"
    seen = ", after which all that can be reached has been seen" if walk.trapped else ""
    from_to = f"{found} {walk.goal.name} from {walk.start.name} in {count}{seen}"
    return f"{from_to}; the shortest path has {walk.distance}."


def _unanswered(answer: Answer) -> str:
    said = _UNANSWERED
    if answer.confidence is not None:
        said += f" (the chance that it does is {answer.confidence:.0%})"
    return f"{said}; the nearest sentences:" if answer.evidence else f"{said}: try other words."


def _where(place: Place) -> str:
    return f"{place.name}, {place.section}" if place.section else place.name


def _beside(page: Page) -> str:
    before, after = (place.name if place else "none" for place in (page.previous, page.next))
    lines = [f"Before: {before}; after: {after}"]
    if page.above:
        lines.append(f"Above in the contents: {page.above.name}")
    for what, listed in (("Below in the contents", page.below), ("Linked from", page.linked_from)):
        if listed.total:
            names = [place.name for place in listed.places[:LINKS]]
            left = listed.total - len(names)
            lines.append(f"{what}: {'; '.join(names)}" + (f"; {left} more" if left else ""))
    return "\n".join(lines)


def _list(what: str, links: Iterable[Link], left: int) -> str:
    listed = "; ".join(f"{_cut(link.text, EXCERPT)} → {link.title} ({link.block})" for link in links)
    return f"{what}: {listed}" + (f"; {left} more" if left else "") if listed else ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + "…"


def _result(text: str, answer: ServerAnswer) -> CallToolResult:
    """As text to read, and as structured content that says the same."""
    content = TextContent(type="text", text=text)
    return CallToolResult(content=[content], structured_content=answer.model_dump(mode="json"))
