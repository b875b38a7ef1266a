"""Questions that a wiki asks of itself, without labels: a sentence with a link in it, the link's words left out.

The page that the link leads to is the answer; any of its blocks will do, so that pages are counted. The sentence itself
must not be found again: for all questions of a wiki together, the blocks that they were taken from are neither found
nor read, and no link leads from or to them (``without_sources``). With its block the link that was asked about goes.

A two-link question (``bridge``) is a part of such a sentence and a part of a sentence of the page that it leads to;
both blocks are to be found, and nothing is taken from the wiki. These are to learn from, not to be scored by.

What makes a sentence a question is told by English words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Int64s
from linkwalk.compiled import kernel, row_of
from linkwalk.downstream.dataset import Asked, GoldSentence, Question, plain
from linkwalk.downstream.unanswerable import lacking
from linkwalk.errors import InputError
from linkwalk.graph.sentence import find_sentence
from linkwalk.graph.store import LINK, Graph
from linkwalk.learn.limits import at_least
from linkwalk.records import BadLine, own_records, write_records
from linkwalk.retrieve.finder import Finder

LINK_GROUP, BRIDGE = "link", "bridge"
MASK = "..."
"""What stands where the link's words stood."""
_TRIES = 200
"""Links that are looked at for each question wanted, at most."""
_BLOCKS = 4
"""Blocks of the second page that are looked at for a sentence."""
_PART, _WHOLE = 8, 12
"""Words that a part of a sentence has at least, before its ends are trimmed, and the sentence."""
_FUNCTION = frozenset(
    "a an the of in on at by for from to with without into onto over under between through during before after since "
    "until as than that this these those which who whom whose what when where while how if because so and or but not "
    "nor is are was were be been being am has have had do does did can could may might must shall should will would "
    "it its he she they them their his her him you your we our us i there".split()
)
_PALE = frozenset(
    "see also more most many some any such other another used use uses using called known example examples note "
    "information details detail read learn page pages section documentation document following follow refer link "
    "links here about like all each both only just then very e.g i.e etc please check find below above".split()
)
"""Words that say little: no content, as the words of grammar are none."""
_ANAPHORS = frozenset(
    "it its this that these those he she they his her their such here both another one also however therefore thus "
    "hence then later instead similarly likewise conversely moreover furthermore nevertheless otherwise meanwhile "
    "additionally finally consequently and but or so as we i".split()
)
"""What a sentence that leans on the one before begins with."""
_SOME = frozenset("many some most all several few each none others much one two three four".split())
"""The same, if a word of grammar comes next: "Many can", "Some of these", not "Many birds"."""
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_CLAUSE = re.compile(r"(?<=[,;:])\s+|\s+(?=[(–—])|(?<=\))\s+")
_BEGIN = re.compile(r"""^(?:[-*•]\s+|\[[^\]]*\]\s*|\d+[.)]\s+)+""")
_END = re.compile(r"""[.!?:;][)"'”’\]]*$""")
_STRANGE = re.compile(r"[|⏵•→{}<>=\\]|::|->|\w/\w+/\w|\w_\w|\w\(")
_HERE = re.compile(
    r"\bth(?:is|e following) (?:page|article|section|document|tutorial|guide|chapter|example|wiki|list|table|entry)s?\b"
    r"|\b(?:below|above)\b|[(;—–] ?(?:see|cf\.?|compare)\b[^()]*\.\.\.|\b(?:see|compare) also\b",
    re.IGNORECASE,
)
"""What points at its own page, or at others beside the matter."""
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)$")
_NAMESPACE = re.compile(r"^\w+:\s*")


@dataclass(frozen=True, kw_only=True)
class DrawConfig:
    """What is drawn."""

    count: int = 500
    """Questions; fewer where the wiki has no more."""
    seed: int = 0
    per_page: int = 3
    """Questions with the same answer, at most, and as many from the same page."""
    words: int = 8
    """Of a question, at least."""
    content: int = 4
    """Different words of it that say something, at least."""
    longest: int = 50
    """Words of a sentence, at most."""
    closed: frozenset[int] = frozenset()
    """Articles that nothing is drawn from, and that are no answers."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        at_least(self, count=1, per_page=1, words=2, longest=2)
        at_least(self, seed=0, content=0)


@dataclass(frozen=True, kw_only=True)
class LinkQuestion:
    """A question made from a link."""

    id: str
    text: str
    source: int
    """The block that it was taken from."""
    edge: int
    """The link: its number among all of the graph's."""
    target: int
    """The block that the link leads to; of a two-link question the one that the second part was taken from."""
    group: str = LINK_GROUP

    def asked(self, graph: Graph) -> Asked:
        """What must be found: the page, stood for by its first block (``as_pages``), or both blocks of a bridge."""
        gold = {int(graph.article_node[graph.node_article[self.target]])}
        if self.group == BRIDGE:
            gold = {self.source, self.target}
        return Asked(id=self.id, text=self.text, gold=(frozenset(gold),), group=self.group)


class _Cut(NamedTuple):
    """A sentence with a link, fit to be asked."""

    text: str
    source: int
    edge: int
    target: int


def draw_links(graph: Graph, config: DrawConfig | None = None) -> list[LinkQuestion]:
    """Questions whose answer is the page that a sentence links to; the same ones for the same seed.

    One for each block at most. Every answer keeps, without the blocks that any of the questions was taken from, the
    block that the link leads to, and a link of another article to it or to another of its blocks.
    """
    config = config or DrawConfig()
    sources: set[int] = set()
    targets: set[int] = set()
    taken: list[_Cut] = []
    per_page: Counter[tuple[str, int]] = Counter()
    for cut in _cuts(graph, config):
        pages = _pages(graph, cut)
        if cut.source in targets or cut.target in sources or cut.source in sources:
            continue
        if max(per_page[page] for page in pages) >= config.per_page:
            continue
        per_page.update(pages)
        sources.add(cut.source)
        targets.add(cut.target)
        taken.append(cut)
        if len(taken) == config.count:
            break
    reached = _linked_to(graph, _mask(graph, sources))
    kept = [cut for cut in taken if reached[graph.node_article[cut.target]] > 0]
    return [LinkQuestion(id=f"{LINK_GROUP} {number}", **cut._asdict()) for number, cut in enumerate(kept)]


def draw_bridges(graph: Graph, config: DrawConfig | None = None) -> list[LinkQuestion]:
    """Two-link questions: a part of a sentence with a link, and of one of the page that it leads to."""
    config = config or DrawConfig()
    config = replace(config, words=max(config.words, _WHOLE))
    repeated = _Repeated(graph)
    sources: set[int] = set()
    per_page: Counter[tuple[str, int]] = Counter()
    found: list[LinkQuestion] = []
    for cut in _cuts(graph, config):
        pages = _pages(graph, cut)
        if cut.source in sources or max(per_page[page] for page in pages) >= config.per_page:
            continue
        second = _second(graph, cut, config, repeated)
        if second is None or not _says(first := _part(cut.text), config):
            continue
        sources.add(cut.source)
        per_page.update(pages)
        target, part = second
        own = cut._replace(text=f"{first} {part}", target=target)
        found.append(LinkQuestion(id=f"{BRIDGE} {len(found)}", group=BRIDGE, **own._asdict()))
        if len(found) == config.count:
            break
    return found


def sources_of(graph: Graph, questions: Iterable[LinkQuestion]) -> NDArray[np.bool_]:
    """Which blocks [N] are the questions themselves, word for word; those of two-link questions are not."""
    return _mask(graph, (one.source for one in questions if one.group != BRIDGE))


def without_sources(finder: Finder, questions: Iterable[LinkQuestion]) -> Finder:
    """The same finder on a wiki that lacks the blocks that all these questions were taken from."""
    return lacking(finder, sources_of(finder.graph, questions))


def write_links(path: Path, graph: Graph, questions: Iterable[LinkQuestion]) -> int:
    """Questions as JSON lines, by the names of blocks and pages; how many."""
    return write_records(path, (_record(graph, one) for one in questions))


def _record(graph: Graph, one: LinkQuestion) -> dict[str, Any]:
    """A line of a file."""
    return {
        "id": one.id,
        "text": one.text,
        "source": graph.name(one.source),
        "target": graph.title(one.target),
        "group": one.group,
        "block": graph.name(one.target),
        "link": one.edge - int(graph.out_indptr[one.source]),
    }


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
class FromLinks:
    """Questions made from links, as ``write_links`` writes them; pages are counted."""

    name: str = field(default="questions from links", init=False)
    level: str = field(default="page", init=False)
    """What is found: a link says no more than the page."""
    sources: list[str] = field(default_factory=list, init=False)
    """The blocks that the questions read last were taken from."""

    def read(self, path: Path, damage: list[BadLine]) -> Iterator[Question]:
        """Every question; of a two-link question both pages are needed."""
        self.sources = []
        for line, record in own_records(path, damage, "links"):
            wrong = [key for key in ("text", "source", "target") if not _is_text(record.get(key))]
            if wrong:
                damage.append(BadLine(line, f"has no {wrong[0]!r}"))
                continue
            group, source = str(record.get("group") or LINK_GROUP), record["source"]
            pages = [record["target"]]
            if group == BRIDGE:
                pages.insert(0, _IN_BRACKETS.sub("", source))
            else:
                self.sources.append(source)
            yield Question(
                id=str(record.get("id", line)),
                text=record["text"],
                evidence=(tuple(GoldSentence(page) for page in pages),),
                group=group,
                line=line,
            )

    def hidden(self, graph: Graph) -> NDArray[np.bool_]:
        """The blocks [N] that are neither to be found nor to be read: the questions themselves."""
        return _mask(graph, (graph.find(name) for name in self.sources))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _mask(graph: Graph, nodes: Iterable[int]) -> NDArray[np.bool_]:
    mask = np.zeros(graph.nodes, bool)
    mask[list(nodes)] = True
    return mask


def _pages(graph: Graph, cut: _Cut) -> tuple[tuple[str, int], tuple[str, int]]:
    """What a question counts for: the page that it is from, and the one that it leads to."""
    here, there = graph.node_article[[cut.source, cut.target]].tolist()
    return ("from", here), ("to", there)


def _linked_to(graph: Graph, gone: NDArray[np.bool_]) -> Int64s:
    """How many links of other articles lead to each article [A], without some blocks; not previous and next."""
    source = np.repeat(np.arange(graph.nodes), graph.forward.degrees())
    links = (graph.out_kinds >= LINK) & ~gone[source] & ~gone[graph.out_targets]
    here, there = graph.node_article[source[links]], graph.node_article[graph.out_targets[links]]
    return np.bincount(there[here != there], minlength=graph.articles)


def _cuts(graph: Graph, config: DrawConfig) -> Iterator[_Cut]:
    """Sentences with links that can be asked, drawn; no text comes twice."""
    source = np.repeat(np.arange(graph.nodes, dtype=np.int32), graph.forward.degrees())
    here, there = graph.node_article[source], graph.node_article[graph.out_targets]
    fit = (graph.out_kinds == LINK) & (here != there) & (graph.out_spans[:, 1] > graph.out_spans[:, 0])
    fit &= _linked_to(graph, np.zeros(graph.nodes, bool))[there] > 1
    if config.closed:
        closed = np.zeros(graph.articles, bool)
        closed[list(config.closed)] = True
        fit &= ~closed[here] & ~closed[there]
    edges = np.flatnonzero(fit)
    rng = np.random.default_rng(config.seed)
    drawn = rng.permutation(len(edges))[: _TRIES * config.count]
    repeated, seen = _Repeated(graph), set[str]()
    for edge in edges[drawn].tolist():
        node, target = int(source[edge]), int(graph.out_targets[edge])
        if repeated.at(node, int(graph.out_spans[edge, 0])):
            continue
        text = _question(graph, node, edge, config)
        if text is not None and (key := plain(text)) not in seen:
            seen.add(key)
            yield _Cut(text, node, edge, target)


def _question(graph: Graph, node: int, edge: int, config: DrawConfig) -> str | None:
    """The sentence around a link without its words, if it can be asked."""
    sentence = find_sentence(graph, node, edge)
    length = len(sentence.before.split()) + len(sentence.after.split())
    if not config.words <= length <= config.longest or _mostly_links(
        graph, node, sentence.before, sentence.after
    ):
        return None
    title = graph.title(int(graph.out_targets[edge]))
    if _is_pale(_IN_BRACKETS.sub("", title)):
        return None
    names = _names(title, sentence.link)
    # What sticks to the link belongs to its word: the "s" of a plural.
    before = re.sub(r"[^\W_]+$", "", sentence.before)
    after = re.sub(r"^[^\W_]+", "", sentence.after)
    text = _tidy(_masked(before, names) + MASK + _masked(after, names))
    return text if MASK in text and _fits(text, config) else None


def _second(graph: Graph, cut: _Cut, config: DrawConfig, repeated: "_Repeated") -> tuple[int, str] | None:
    """A block of the page that a link leads to, and a part of a sentence of it, without the page's name."""
    rng = np.random.default_rng((config.seed, cut.edge))
    blocks = graph.article_blocks(int(graph.node_article[cut.target]))
    drawn = rng.permutation(blocks)[:_BLOCKS].tolist()
    first = [cut.target] if rng.random() < 0.5 else []  # as often the block that the link leads to as any
    names = _names(graph.title(cut.target), find_sentence(graph, cut.source, cut.edge).link)
    for node in dict.fromkeys([*first, *drawn]):
        sentences = graph.block(node).sentences
        for place in rng.permutation(len(sentences)).tolist():
            sentence = _tidy(_masked(sentences[place], names))
            length = len(sentence.split())
            if not config.words <= length <= config.longest or repeated.number(node, place):
                continue
            if _fits(sentence, config, leaning=True) and _says(part := _part(sentence), config):
                return node, part
    return None


def _fits(text: str, config: DrawConfig, *, leaning: bool = False) -> bool:
    """Whether a text can be asked: long enough, a whole sentence, and not about the one before (unless ``leaning``)."""
    words = _words(text)
    if len(words) < config.words or _HERE.search(text) or not _says(text, config):
        return False
    leans = words[0] in _ANAPHORS or (words[0] in _SOME and words[1] in _FUNCTION)
    if leans and not leaning:
        return False
    if sum(word in _FUNCTION for word in words) < max(2, len(words) // 8):  # a list, a caption
        return False
    whole = _END.search(text) and (text.startswith(MASK) or not text[0].islower())
    return (
        bool(whole)
        and not _STRANGE.search(text)
        and 5 * text.count(",") <= len(words)
        and text.count(MASK) <= 3
    )


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _says(text: str, config: DrawConfig) -> bool:
    """Whether a text has enough words that say something."""
    words = set(_words(text)) - _FUNCTION - _PALE
    return sum(not word.isdigit() for word in words) >= config.content


def _mostly_links(graph: Graph, node: int, before: str, after: str) -> bool:
    """Whether the words around a link are links themselves, for the most part: a list of them."""
    rest = f"{before} {after}"
    anchors = {edge.anchor for edge in graph.links(node) if edge.kind == "link" and edge.anchor in rest}
    return 2 * sum(len(anchor.split()) for anchor in anchors) > len(rest.split())


def _names(title: str, anchor: str) -> list[str]:
    """What an article may be called by: as the link does, by its title, or without what is beside the name in it."""
    short = _IN_BRACKETS.sub("", title)
    names = title, short, _NAMESPACE.sub("", short), short.split(", ")[0], anchor
    return list(dict.fromkeys(name for name in names if not _is_pale(name)))


def _is_pale(name: str) -> bool:
    """Whether a name is nothing but words of grammar, or a letter."""
    return len(plain(name)) < 2 or not set(plain(name).split()) - _FUNCTION - _PALE


def _masked(text: str, names: Sequence[str]) -> str:
    """A text without some names, whole words in any case, with the endings of plural and genitive."""
    each = sorted({*names, *(name[:-1] for name in names if name.endswith("s") and len(name) > 4)}, key=len)
    pattern = "|".join(re.escape(name) for name in reversed(each))
    return re.sub(rf"(?<!\w)(?:{pattern})(?:e?s|['’]s?)?(?!\w)", MASK, text, flags=re.IGNORECASE)


def _tidy(text: str) -> str:
    """In one line, without the mark of a list before it, and without two masks side by side."""
    text = _BEGIN.sub("", " ".join(text.split()))
    text = re.sub(r"(?:\.\.\.[\s,]*)+(?=\.\.\.)", "", text)
    return re.sub(r"\.\.\. ?\.$", MASK, re.sub(r"\.\.\. (?=[,:;!?])", MASK, text))


def _part(sentence: str) -> str:
    """Some more than half of a sentence: the clause with the mask, if that is long enough, or the words around it."""
    words = sentence.split()
    at = next((i for i, word in enumerate(words) if MASK in word), 0)
    wanted = max(_PART, 3 * len(words) // 5)
    first = min(max(0, at - wanted // 2), max(0, len(words) - wanted))
    last, start = first + wanted, 0
    for clause in _CLAUSE.split(sentence):
        stop = start + len(clause.split())
        if start <= at < stop and _PART <= stop - start <= wanted:
            first, last = start, stop
        start = stop
    chosen = words[first:last]
    while chosen and first and chosen[0].lower() in _FUNCTION:
        first, chosen = first + 1, chosen[1:]
    while chosen and last < len(words) and chosen[-1].lower() in _FUNCTION:
        chosen.pop()
    text = " ".join(chosen).strip(" ,;:()–—")
    return text[:1].upper() + text[1:].rstrip(".") + (MASK if text.endswith(MASK) else ".")


class _Repeated:
    """Which sentences of a wiki stand there more than once, whatever figures and signs they have: boilerplate."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        keys = np.empty(len(graph.sentence_ends), np.uint64)
        _sentence_keys(
            graph.texts.blob, graph.texts.offsets, graph.sentence_indptr, graph.sentence_ends, keys
        )
        _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
        self.repeated = counts[which] > 1

    def number(self, node: int, sentence: int) -> bool:
        """Whether a sentence of a block, by its number, comes again."""
        return bool(self.repeated[int(self.graph.sentence_indptr[node]) + sentence])

    def at(self, node: int, byte: int) -> bool:
        """Whether the sentence comes again that a place in a block's text is in."""
        first, last = self.graph.sentence_indptr[node : node + 2].tolist()
        place = int(np.searchsorted(self.graph.sentence_ends[first:last], byte, side="right"))
        return place < last - first and self.number(node, place)


@kernel
def _sentence_keys(
    blob: NDArray[np.uint8],
    offsets: Int64s,
    indptr: Int64s,
    ends: NDArray[np.uint16],
    keys: NDArray[np.uint64],
) -> None:
    """FNV-1a of each sentence's letters, small ones."""
    for node in range(indptr.shape[0] - 1):
        start, stop = row_of(offsets, node, blob.shape[0])
        first, last = row_of(indptr, node, ends.shape[0])
        at = start
        for sentence in range(first, last):
            value = np.uint64(0xCBF29CE484222325)
            end = start + np.int64(ends[sentence])
            while at < end and at < stop:
                letter = blob[at]
                if 65 <= letter <= 90:
                    letter = np.uint8(letter + 32)
                if letter >= 128 or 97 <= letter <= 122:
                    value = (value ^ np.uint64(letter)) * np.uint64(0x100000001B3)
                at += 1
            keys[sentence] = value
