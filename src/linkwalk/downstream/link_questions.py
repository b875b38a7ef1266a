"""Questions that a wiki asks of itself, without labels: a sentence with a link in it, the link's words left out.

The page that the link leads to is the answer; any of its blocks will do, so that pages are counted. The sentence itself
must not be found again: for all questions of a wiki together, the blocks that they were taken from are neither found
nor read, and no link leads from or to them (``unanswerable.lacking``). With its block the link that was asked about
goes.

A two-link question (``bridge``) is a part of such a sentence and a part of a sentence of the page that it leads to;
both blocks are to be found, and nothing is taken from the wiki. These are to learn from, not to be scored by.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from linkwalk.arrays import Bools, Int64s
from linkwalk.downstream.dataset import AlignedQuestion, GoldSentence, Question, plain
from linkwalk.downstream.link_sentences import (
    MASK,
    RepeatedSentences,
    can_be_asked,
    is_pale,
    masked,
    mostly_links,
    names_of_article,
    part_of_sentence,
    says_enough,
    tidy,
    without_brackets,
)
from linkwalk.errors import InputError
from linkwalk.graph.store import LINK, Graph, find_sentence
from linkwalk.records import BadLine, own_records, write_records
from linkwalk.settings import CheckedSettings, Count, CountOrNone, at_least

LINK_GROUP, BRIDGE = "link", "bridge"
_TRIES = 200
"""Links that are looked at for each question wanted, at most."""
_BLOCKS = 4
"""Blocks of the second page that are looked at for a sentence."""
_WHOLE = 12
"""Words that a sentence has at least whose part is asked."""


@dataclass(frozen=True, kw_only=True)
class LinkDrawConfig(CheckedSettings):
    """Which questions are drawn, and how many."""

    count: Count = 500
    """Questions; fewer where the wiki has no more."""
    seed: CountOrNone = 0
    per_page: Count = 3
    """Questions with the same answer, at most, and as many from the same page."""
    words: Annotated[int, at_least(2)] = 8
    """Of a question, at least."""
    content: CountOrNone = 4
    """Different words of it that say something, at least."""
    longest: Annotated[int, at_least(2)] = 50
    """Words of a sentence, at most."""
    closed: frozenset[int] = frozenset()
    """Articles that nothing is drawn from, and that are no answers."""


class LinkQuestion(NamedTuple):
    """A question made from a link."""

    text: str
    source: int
    """The block that it was taken from."""
    edge: int
    """The link: its number among all of the graph's."""
    target: int
    """The block that the link leads to; of a two-link question the one that the second part was taken from."""
    group: str = LINK_GROUP
    id: str = ""

    def aligned(self, graph: Graph) -> AlignedQuestion:
        """What must be found: the page, stood for by its first block (``as_pages``), or both blocks of a bridge."""
        gold = {int(graph.article_node[graph.node_article[self.target]])}
        if self.group == BRIDGE:
            gold = {self.source, self.target}
        return AlignedQuestion(id=self.id, text=self.text, gold=(frozenset(gold),), group=self.group)


def draw_links(graph: Graph, config: LinkDrawConfig | None = None) -> list[LinkQuestion]:
    """Questions whose answer is the page that a sentence links to; the same ones for the same seed.

    One for each block at most. Every answer keeps, without the blocks that any of the questions was taken from, the
    block that the link leads to, and a link of another article to it or to another of its blocks.
    """
    sources: set[int] = set()
    targets: set[int] = set()

    def apart(one: LinkQuestion) -> LinkQuestion | None:
        """A question whose answer asks none, and that is no answer itself."""
        if one.source in targets or one.target in sources:
            return None
        sources.add(one.source)
        targets.add(one.target)
        return one

    drawn = _draw(graph, config or LinkDrawConfig(), RepeatedSentences(graph), apart)
    reached = _links_to_articles(graph, _mask(graph, sources))
    return _numbered(one for one in drawn if reached[graph.node_article[one.target]] > 0)


def draw_bridges(graph: Graph, config: LinkDrawConfig | None = None) -> list[LinkQuestion]:
    """Two-link questions: a part of a sentence with a link, and of one of the page that it leads to."""
    config = config or LinkDrawConfig()
    config = replace(config, words=max(config.words, _WHOLE))
    repeated = RepeatedSentences(graph)

    def bridged(one: LinkQuestion) -> LinkQuestion | None:
        """The question that goes on with a part of a sentence of its answer."""
        second, first = _second_part(graph, one, config, repeated), part_of_sentence(one.text)
        if second is None or not says_enough(first, config.content):
            return None
        target, part = second
        return one._replace(text=f"{first} {part}", target=target, group=BRIDGE)

    return _numbered(_draw(graph, config, repeated, bridged))


def sources_of(graph: Graph, questions: Iterable[LinkQuestion]) -> Bools:
    """Which blocks [N] are the questions themselves, word for word; those of two-link questions are not."""
    return _mask(graph, (one.source for one in questions if one.group != BRIDGE))


def write_links(path: Path, graph: Graph, questions: Iterable[LinkQuestion]) -> int:
    """Questions as JSON lines, by the names of blocks and pages; how many."""
    records = (
        {
            "id": one.id,
            "text": one.text,
            "source": graph.name(one.source),
            "target": graph.title(one.target),
            "group": one.group,
            "block": graph.name(one.target),
            "link": one.edge - int(graph.out_indptr[one.source]),
        }
        for one in questions
    )
    return write_records(path, records)


def read_links(path: Path, graph: Graph) -> list[LinkQuestion]:
    """The questions of a file that was written for this wiki, with their blocks and links."""
    found, damage = [], list[BadLine]()
    for line, record in own_records(path, damage, "links"):
        try:
            own = {key: str(record[key]) for key in ("id", "text", "group")}
            source, target = graph.find(record["source"]), graph.find(record["block"])
            first, last = graph.out_indptr[source : source + 2].tolist()
            edge = first + int(record["link"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(f"{path} has no question from a link in line {line}: write it anew") from None
        there = graph.node_article[[graph.out_targets[edge], target]] if first <= edge < last else (-1, -2)
        if there[0] != there[1] or graph.out_kinds[edge] != LINK:
            raise InputError(
                f"{path} is of another wiki: {record['source']!r} has no such link (line {line})"
            )
        found.append(LinkQuestion(source=source, target=target, edge=edge, **own))
    if damage:
        raise InputError(f"{path} is damaged: line {damage[0].line} is {damage[0].reason}")
    return found


@dataclass
class LinkQuestions:
    """The data set of questions made from links, as ``write_links`` writes them; pages are counted."""

    name: str = field(default="questions from links", init=False)
    level: str = field(default="page", init=False)
    """What is found: a link says no more than the page."""
    sources: list[str] = field(default_factory=list, init=False)
    """The blocks that the questions read last were taken from."""

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """Every question; of a two-link question both pages are needed."""
        self.sources = []
        for line, record in own_records(path, damage, "links"):
            texts = {key: record.get(key) for key in ("text", "source", "target")}
            wrong = [key for key, text in texts.items() if not isinstance(text, str) or not text.strip()]
            if wrong:
                damage.append(BadLine(line, f"has no {wrong[0]!r}"))
                continue
            group, source = str(record.get("group") or LINK_GROUP), record["source"]
            pages = [record["target"]]
            if group == BRIDGE:
                pages.insert(0, without_brackets(source))
            else:
                self.sources.append(source)
            yield Question(
                id=str(record.get("id", line)),
                text=record["text"],
                evidence=(tuple(map(GoldSentence, pages)),),
                group=group,
                line=line,
            )

    def hidden(self, graph: Graph) -> Bools:
        """The blocks [N] that are neither to be found nor to be read: the questions themselves."""
        return _mask(graph, map(graph.find, self.sources))


def _mask(graph: Graph, nodes: Iterable[int]) -> Bools:
    mask = np.zeros(graph.nodes, bool)
    mask[list(nodes)] = True
    return mask


def _numbered(questions: Iterable[LinkQuestion]) -> list[LinkQuestion]:
    return [one._replace(id=f"{one.group} {number}") for number, one in enumerate(questions)]


def _links_to_articles(graph: Graph, gone: Bools) -> Int64s:
    """How many links of other articles lead to each article [A], without some blocks; not previous and next."""
    source = np.repeat(np.arange(graph.nodes), graph.forward.degrees())
    links = (graph.out_kinds >= LINK) & ~gone[source] & ~gone[graph.out_targets]
    here, there = graph.node_article[source[links]], graph.node_article[graph.out_targets[links]]
    return np.bincount(there[here != there], minlength=graph.articles)


def _draw(
    graph: Graph,
    config: LinkDrawConfig,
    repeated: RepeatedSentences,
    finish: Callable[[LinkQuestion], LinkQuestion | None],
) -> list[LinkQuestion]:
    """As many as are wanted of the questions that ``finish`` makes of sentences with a link: one of a block."""
    sources: set[int] = set()
    per_page: Counter[tuple[str, int]] = Counter()
    found: list[LinkQuestion] = []
    for one in _candidates(graph, config, repeated):
        here, there = graph.node_article[[one.source, one.target]].tolist()
        pages = ("from", here), ("to", there)
        if one.source in sources or max(per_page[page] for page in pages) >= config.per_page:
            continue
        if (finished := finish(one)) is None:
            continue
        sources.add(one.source)
        per_page.update(pages)
        found.append(finished)
        if len(found) == config.count:
            break
    return found


def _candidates(graph: Graph, config: LinkDrawConfig, repeated: RepeatedSentences) -> Iterator[LinkQuestion]:
    """Sentences with links that can be asked, drawn; no text comes twice."""
    source = np.repeat(np.arange(graph.nodes, dtype=np.int32), graph.forward.degrees())
    here, there = graph.node_article[source], graph.node_article[graph.out_targets]
    fit = (graph.out_kinds == LINK) & (here != there) & (graph.out_spans[:, 1] > graph.out_spans[:, 0])
    fit &= _links_to_articles(graph, np.zeros(graph.nodes, bool))[there] > 1
    if config.closed:
        closed = np.zeros(graph.articles, bool)
        closed[list(config.closed)] = True
        fit &= ~closed[here] & ~closed[there]
    edges = np.flatnonzero(fit)
    rng = np.random.default_rng(config.seed)
    drawn = rng.permutation(len(edges))[: _TRIES * config.count]
    seen: set[str] = set()
    for edge in edges[drawn].tolist():
        node, target = int(source[edge]), int(graph.out_targets[edge])
        if repeated.at(node, int(graph.out_spans[edge, 0])):
            continue
        text = _question(graph, node, edge, config)
        if text is not None and (key := plain(text)) not in seen:
            seen.add(key)
            yield LinkQuestion(text, node, edge, target)


def _question(graph: Graph, node: int, edge: int, config: LinkDrawConfig) -> str | None:
    """The sentence around a link without its words, if it can be asked."""
    sentence = find_sentence(graph, node, edge)
    rest = f"{sentence.before} {sentence.after}"
    title = graph.title(int(graph.out_targets[edge]))
    if (
        not config.words <= len(rest.split()) <= config.longest
        or mostly_links(graph, node, rest)
        or is_pale(without_brackets(title))
    ):
        return None
    names = names_of_article(title, sentence.link)
    # What sticks to the link belongs to its word: the "s" of a plural.
    before = re.sub(r"[^\W_]+$", "", sentence.before)
    after = re.sub(r"^[^\W_]+", "", sentence.after)
    text = tidy(masked(before, names) + MASK + masked(after, names))
    return text if MASK in text and can_be_asked(text, config.words, config.content) else None


def _second_part(
    graph: Graph, first: LinkQuestion, config: LinkDrawConfig, repeated: RepeatedSentences
) -> tuple[int, str] | None:
    """A block of the page that a link leads to, and a part of a sentence of it, without the page's name."""
    rng = np.random.default_rng((config.seed, first.edge))
    blocks = graph.article_blocks(int(graph.node_article[first.target]))
    drawn = rng.permutation(blocks)[:_BLOCKS].tolist()
    if rng.random() < 0.5:  # as often the block that the link leads to as any
        drawn.insert(0, first.target)
    names = names_of_article(graph.title(first.target), find_sentence(graph, first.source, first.edge).link)
    for node in dict.fromkeys(drawn):
        sentences = graph.block(node).sentences
        for place in rng.permutation(len(sentences)).tolist():
            sentence = tidy(masked(sentences[place], names))
            if not config.words <= len(sentence.split()) <= config.longest or repeated.number(node, place):
                continue
            part = part_of_sentence(sentence)
            if can_be_asked(sentence, config.words, config.content, leaning=True) and says_enough(
                part, config.content
            ):
                return node, part
    return None
