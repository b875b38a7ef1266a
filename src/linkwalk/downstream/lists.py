"""Lists with hard negatives for the cross-encoder, mined from benchmarks on a wiki (sec. 4.3).

Claims (FEVER): what should come first is the evidence sentence, its tokenisation undone. Against it stand sentences of
BM25's first blocks, half of them TF-IDF's best and half drawn; none from a block with evidence, and none that is like
the evidence in other words.

Questions with answers (Natural Questions): what should come first is a sentence that has an answer, of the gold block
where the file names one. Where it does not, these are distant labels: any sentence of BM25's first blocks that has the
answer string and shares content words with the question, which need not answer it. Against it stand TF-IDF's best
without an answer.

Of the half of a file that is kept for scoring (``page_disjoint``) nothing is read: no query, no evidence, and no
sentence of its articles as a negative either.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkwalk.downstream.benchmark import align, page_disjoint
from linkwalk.downstream.dataset import Asked, holds, plain, sought
from linkwalk.downstream.fever import Fever, sentences_of
from linkwalk.downstream.nq import NaturalQuestions
from linkwalk.downstream.sentences import THRESHOLD, align_sentences, comparable, match_blocks
from linkwalk.downstream.wiki_pages import decode, match_title, page_title
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.limits import at_least
from linkwalk.learn.readers.cross import SentenceList
from linkwalk.progress import Progress
from linkwalk.records import BadLine, is_table, kind_of, stream_records, write_records
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.rerank import tfidf

LISTS = "lists"
PARTS = ("all", "tuned")
SHORTEST = 3
"""Letters of an answer that is looked for; shorter ones are anywhere."""
_BATCH = 64
_WORD = re.compile(r"\w")
_STOP = frozenset(
    "of in on is was are were what who when where which how many did does do to and for by from with that this it "
    "his her its as at has have had be first last name most much".split()
)
_UNDONE = (
    (re.compile(r"``\s*"), '"'),
    (re.compile(r"\s*''"), '"'),
    (re.compile(r"(-L[RSC]B-)\s+"), r"\1"),
    (re.compile(r"\s+(-R[RSC]B-|[.,;:!?%])"), r"\1"),
    (re.compile(r"\s+('(?:s|re|ve|ll|d|m)|n't)\b"), r"\1"),
)

Titled = tuple[str, str]
"""A title and what stands in its article."""


@dataclass(frozen=True, kw_only=True)
class MineConfig:
    """How lists are mined."""

    negatives: int = 24
    """Of a list, at most."""
    depth: int = 30
    """BM25's blocks that a claim's negatives come from."""
    question_depth: int = 15
    """The same for questions, and for sentences with an answer."""
    positives: int = 2
    """Of a question without a gold block, at most: those that share the most words with it."""
    shared: int = 2
    """Content words that such a sentence, with its title, shares with the question."""
    alike: float = 55
    """Token-set ratio from which a sentence may be the evidence in other words."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        at_least(self, negatives=1, depth=1, question_depth=1, positives=1)
        at_least(self, shared=0, alike=0, seed=0)


class Wanted(NamedTuple):
    """A query and what is known of its evidence."""

    query: str
    evidence: tuple[Titled, ...] = ()
    """The sentences themselves (claims)."""
    gold: frozenset[int] = frozenset()
    """Blocks that hold them."""
    answers: tuple[str, ...] = ()
    """What a sentence must have (questions)."""


class Wanting(NamedTuple):
    """A benchmark's queries to be mined."""

    wanted: list[Wanted]
    closed: frozenset[int]
    """Articles of the half that is kept: nothing is read there."""
    damage: list[BadLine]


def kind_of_file(path: Path) -> str:
    """What a file holds, by its first object: ``lists``, ``fever``, ``nq`` or ``multihop``."""
    if is_table(path):
        return "nq"
    _, record = next(stream_records(path, []))
    if set(SentenceList._fields) <= record.keys():
        return LISTS
    kind = kind_of(record)
    if kind is None:
        raise InputError(
            f"{path} holds neither lists (query, positives, negatives) nor claims or questions of a benchmark: its "
            f"first object has {', '.join(map(str, list(record)[:6])) or 'nothing'}"
        )
    return kind


def part_of(kind: str, part: str | None) -> str:
    """Which part of a benchmark is learnt from: what was asked for, or of FEVER the tuned half and of others all."""
    if part is None:
        return "tuned" if kind == "fever" else "all"
    if part not in PARTS:
        raise InputError(f"no part named {part!r} to learn from: choose one of {', '.join(PARTS)}")
    return part


def wanted_claims(
    path: Path,
    graph: Graph,
    *,
    part: str = "tuned",
    wiki_pages: Path | None = None,
    threshold: float = THRESHOLD,
) -> Wanting:
    """FEVER's claims with the text of their evidence, each claim once."""
    damage: list[BadLine] = []
    claims = list(Fever(wiki_pages).read(path, damage))
    tuned, kept = page_disjoint(align_sentences(path, claims, graph, damage, level="page").asked, graph)
    closed, ids = _articles(graph, kept) if part == "tuned" else frozenset(), {one.id for one in tuned}
    chosen = [claim for claim in claims if not claim.left_out and (part != "tuned" or claim.id in ids)]
    articles = {one.title: match_title(graph, one.title) for claim in chosen for one in sentences_of(claim)}
    found: dict[str, tuple[str, dict[Titled, None]]] = {}
    places: dict[str, set[tuple[int, str]]] = {}
    for claim in chosen:
        key = plain(claim.text) or claim.text
        _, evidence = found.setdefault(key, (claim.text, {}))
        for one in sentences_of(claim):
            text, at = one.text, articles[one.title]
            if not text or (at and at[0] in closed):
                continue
            # As the wiki calls it: a title in another spelling would give the evidence away.
            evidence[graph.titles[at[0]] if at else page_title(one.title), text] = None
            if at:
                places.setdefault(key, set()).add((at[0], text))
    if chosen and not any(evidence for _, evidence in found.values()):
        raise InputError(
            f"{path} names sentences whose text is not known: give FEVER's wiki-pages, which have it"
        )
    matches = match_blocks(graph, sorted({place for own in places.values() for place in own}), threshold)
    wanted = []
    for key, (query, evidence) in found.items():
        blocks = [matches[place].above(threshold) for place in sorted(places.get(key, ()))]
        sentences = tuple((title, untokenised(text)) for title, text in evidence)
        wanted.append(Wanted(query, sentences, frozenset(node for own in blocks for node in own)))
    return Wanting(wanted, closed, damage)


def wanted_questions(path: Path, graph: Graph, *, part: str = "all") -> Wanting:
    """Natural Questions with their answers, and their gold blocks where the file has passages."""
    found = align(NaturalQuestions(), path, graph, scan=False)
    asked, closed = found.asked, frozenset[int]()
    if part == "tuned":
        asked, kept = page_disjoint(asked, graph)
        closed = _articles(graph, kept)
    wanted = [Wanted(one.text, gold=frozenset[int]().union(*one.gold), answers=one.answers) for one in asked]
    return Wanting(wanted, closed, found.damage)


def _articles(graph: Graph, asked: Iterable[Asked]) -> frozenset[int]:
    """Articles with evidence for what is asked."""
    return frozenset(int(graph.node_article[node]) for one in asked for nodes in one.gold for node in nodes)


def untokenised(sentence: str) -> str:
    """A sentence of FEVER's as people write it: brackets and quotes decoded, no blank before a comma."""
    for pattern, replacement in _UNDONE:
        sentence = pattern.sub(replacement, sentence)
    return " ".join(decode(sentence).split())


def mine_lists(
    graph: Graph,
    bm25: Bm25,
    wanted: Sequence[Wanted],
    config: MineConfig | None = None,
    *,
    closed: frozenset[int] = frozenset(),
    progress: Progress | None = None,
) -> Iterator[SentenceList]:
    """A list for each query, in order, one after the other; without positives where no evidence was found.

    What is drawn for a query depends on it and on the seed alone, not on what else is mined.
    """
    config, progress = config or MineConfig(), progress or Progress(quiet=True)
    miner = _Miner(graph, config, closed)
    with progress.stage("mine", len(wanted), "queries") as stage:
        for at in range(0, len(wanted), _BATCH):
            part = wanted[at : at + _BATCH]
            asked = [one.query for one in part if _WORD.search(one.query)]
            hits = iter(bm25.search_many(asked, max(config.depth, config.question_depth)))
            for one in part:
                nodes = next(hits)[0].tolist() if _WORD.search(one.query) else []
                yield miner.of_question(one, nodes) if one.answers else miner.of_claim(one, nodes)
                stage.advance()


class _Miner:
    """Reads blocks and makes lists of their sentences."""

    def __init__(self, graph: Graph, config: MineConfig, closed: frozenset[int]) -> None:
        self.graph, self.config, self.closed = graph, config, closed
        self.sentences = lru_cache(1 << 14)(self._sentences)

    def _sentences(self, node: int) -> tuple[Titled, ...]:
        title = self.graph.title(node)
        return tuple((title, text) for text in goal_sentences(self.graph, node))

    def pool(self, nodes: Iterable[int], gold: frozenset[int]) -> list[Titled]:
        """What stands in some blocks that hold no evidence, each sentence once."""
        open_ones = (n for n in nodes if n not in gold and int(self.graph.node_article[n]) not in self.closed)
        return list(dict.fromkeys(sentence for node in open_ones for sentence in self.sentences(node)))

    def of_claim(self, one: Wanted, nodes: list[int]) -> SentenceList:
        """Evidence that is known, against what is not like it."""
        pool = unlike(self.pool(nodes[: self.config.depth], one.gold), one.evidence, self.config.alike)
        negatives = hard_and_drawn(one.query, pool, self.config.negatives, self.config.seed)
        return SentenceList(one.query, list(one.evidence), negatives)

    def of_question(self, one: Wanted, nodes: list[int]) -> SentenceList:
        """Sentences with an answer, against those without."""
        answers = sought_answers(one.answers)
        if not answers:
            return SentenceList(one.query, [], [])
        pool = self.pool(nodes[: self.config.question_depth], one.gold)
        hits = [holds(text, answers) for _, text in pool]
        if one.gold:
            good = [s for node in sorted(one.gold) for s in self.sentences(node) if holds(s[1], answers)]
        else:
            good = self._distant(one.query, [s for s, hit in zip(pool, hits, strict=True) if hit])
        bad = [s for s, hit in zip(pool, hits, strict=True) if not hit]
        return SentenceList(one.query, good, by_tfidf(one.query, bad)[: self.config.negatives])

    def _distant(self, query: str, having: list[Titled]) -> list[Titled]:
        """Those that share the most content words with the question."""
        content = set(plain(query).split()) - _STOP
        shared = [len(content & set(plain(f"{title} {text}").split())) for title, text in having]
        order = sorted(range(len(having)), key=lambda i: -shared[i])
        return [having[i] for i in order if shared[i] >= self.config.shared][: self.config.positives]


def sought_answers(answers: Sequence[str]) -> list[str]:
    """Answers to be looked for in texts; not those of a letter or two, which are anywhere."""
    return sought([answer for answer in answers if len(plain(answer)) >= SHORTEST])


def unlike(pool: Sequence[Titled], evidence: Sequence[Titled], alike: float) -> list[Titled]:
    """Those sentences that are not one of the evidence in other words."""
    from rapidfuzz import fuzz, process

    if not pool or not evidence:
        return list(pool)
    scores_ES = process.cdist(
        [comparable(text) for _, text in evidence],
        [comparable(text) for _, text in pool],
        scorer=fuzz.token_set_ratio,
    )
    return [pool[i] for i in np.flatnonzero(scores_ES.max(0) < alike).tolist()]


def by_tfidf(query: str, pool: Sequence[Titled]) -> list[Titled]:
    """Sentences as the paper's reranker has them."""
    if not pool:
        return []
    scores = tfidf(query, [title for title, _ in pool], [text for _, text in pool])
    return [pool[i] for i in np.argsort(-scores, kind="stable").tolist()]


def hard_and_drawn(query: str, pool: Sequence[Titled], count: int, seed: int) -> list[Titled]:
    """So many sentences: TF-IDF's best half, and of the others as many by chance."""
    ranked = by_tfidf(query, pool)
    hard, rest = ranked[: (count + 1) // 2], ranked[(count + 1) // 2 :]
    return hard + random.Random(f"{seed} {query}").sample(rest, min(len(rest), count // 2))


def write_lists(path: Path, lists: Iterable[SentenceList], source: str | None = None) -> int:
    """Lists as ``read_lists`` reads them, written as they come; how many."""
    extra = {"source": source} if source else {}
    return write_records(path, (one._asdict() | extra for one in lists))
