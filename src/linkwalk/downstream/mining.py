"""What readers are trained on, mined from benchmarks on a wiki (sec. 4.3, app. C).

For a target encoder: pairs of a claim or question with where search begins and the blocks that it needs. For a
cross-encoder: lists with hard negatives. Where a file has answers alone (NQ-open), what has an answer string among
BM25's first blocks stands for the evidence: distant labels, since it may have the string and not answer the question.

Lists of claims (FEVER): what should come first is the evidence sentence, its tokenisation undone. Against it stand
sentences of BM25's first blocks, half of them TF-IDF's best and half drawn; none from a block with evidence, and none
that is like the evidence in other words.

Lists of questions with answers (Natural Questions): what should come first is a sentence that has an answer, of the
gold block where the file names one. Where it does not, any sentence of BM25's first blocks that has the answer string
and shares content words with the question. Against it stand TF-IDF's best without an answer.

Of the half of a file that is kept for scoring (``page_disjoint``) nothing is read: no query, no evidence, and no
sentence of its articles as a negative either.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwalk.downstream.align_sentences import THRESHOLD, align_sentences, match_blocks, similarities
from linkwalk.downstream.benchmark import align, page_disjoint, read_benchmark
from linkwalk.downstream.dataset import answer_phrases, gold_articles, holds, plain
from linkwalk.downstream.fever import Fever, decode, match_title, page_title, sentences_of
from linkwalk.downstream.question_sets import NaturalQuestions
from linkwalk.embed.text import goal_sentences
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.ranking import SentenceList
from linkwalk.learn.readers.tune_target import TuningQuestion
from linkwalk.progress import Progress
from linkwalk.records import BadLine, is_table, kind_of, stream_records, write_records
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.retrieve.rerank import tfidf
from linkwalk.settings import CheckedSettings, Count, CountOrNone, NotNegative

LISTS = "lists"
PARTS = ("all", "tuned")
SHORTEST = 3
"""Letters of an answer that is looked for; shorter ones are anywhere."""
STARTS = 10
"""BM25's first blocks, from which a target encoder's expert sets out."""
DEPTH = 20
"""BM25's first blocks, among which an answer is looked for where no gold block is known."""
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
class MineConfig(CheckedSettings):
    """How lists are mined."""

    negatives: Count = 24
    """Of a list, at most."""
    depth: Count = 30
    """BM25's blocks that a claim's negatives come from."""
    question_depth: Count = 15
    """The same for questions, and for sentences with an answer."""
    positives: Count = 2
    """Of a question without a gold block, at most: those that share the most words with it."""
    shared: CountOrNone = 2
    """Content words that such a sentence, with its title, shares with the question."""
    alike: NotNegative = 55
    """Token-set ratio from which a sentence may be the evidence in other words."""
    seed: CountOrNone = 0


class MiningQuery(NamedTuple):
    """A query that a list is mined for, and what is known of its evidence."""

    query: str
    evidence: tuple[Titled, ...] = ()
    """The sentences themselves (claims)."""
    gold: frozenset[int] = frozenset()
    """Blocks that hold them."""
    answers: tuple[str, ...] = ()
    """What a sentence must have (questions)."""


class MiningQueries(NamedTuple):
    """A benchmark's queries to be mined."""

    queries: list[MiningQuery]
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


def claims_to_mine(
    path: Path,
    graph: Graph,
    *,
    part: str = "tuned",
    wiki_pages: Path | None = None,
    threshold: float = THRESHOLD,
) -> MiningQueries:
    """FEVER's claims with the text of their evidence, each claim once."""
    damage: list[BadLine] = []
    claims = list(Fever(wiki_pages).read(path, damage))
    chosen, closed = [claim for claim in claims if not claim.left_out], frozenset[int]()
    if part == "tuned":
        aligned = align_sentences(path, claims, graph, damage, level="page").questions
        tuned, kept = page_disjoint(aligned, graph)
        ids, closed = {one.id for one in tuned}, gold_articles(graph, kept)
        chosen = [claim for claim in chosen if claim.id in ids]
    match = cache(partial(match_title, graph))
    found: dict[str, tuple[str, dict[Titled, tuple[int, str] | None]]] = {}
    for claim in chosen:
        _, evidence = found.setdefault(plain(claim.text) or claim.text, (claim.text, {}))
        for one in sentences_of(claim):
            page = match(one.title)
            if one.text and not (page and page[0] in closed):
                # As the wiki calls it: a title in another spelling would give the evidence away.
                title = graph.titles[page[0]] if page else page_title(one.title)
                evidence[title, one.text] = (page[0], one.text) if page else None
    if chosen and not any(evidence for _, evidence in found.values()):
        raise InputError(
            f"{path} names sentences whose text is not known: give FEVER's wiki-pages, which have it"
        )
    places = {place for _, evidence in found.values() for place in evidence.values() if place}
    matches = match_blocks(graph, sorted(places), threshold)
    queries = []
    for query, evidence in found.values():
        blocks = (matches[place].above(threshold) for place in evidence.values() if place)
        sentences = tuple((title, untokenised(text)) for title, text in evidence)
        queries.append(MiningQuery(query, sentences, frozenset[int]().union(*blocks)))
    return MiningQueries(queries, closed, damage)


def questions_to_mine(path: Path, graph: Graph, *, part: str = "all") -> MiningQueries:
    """Natural Questions with their answers, and their gold blocks where the file has passages."""
    questions, _, damage, _ = align(NaturalQuestions(), path, graph, scan=False)
    closed = frozenset[int]()
    if part == "tuned":
        questions, kept = page_disjoint(questions, graph)
        closed = gold_articles(graph, kept)
    queries = [MiningQuery(one.text, gold=one.blocks, answers=one.answers) for one in questions]
    return MiningQueries(queries, closed, damage)


def untokenised(sentence: str) -> str:
    """A sentence of FEVER's as people write it: brackets and quotes decoded, no blank before a comma."""
    for pattern, replacement in _UNDONE:
        sentence = pattern.sub(replacement, sentence)
    return " ".join(decode(sentence).split())


def mine_lists(
    graph: Graph,
    bm25: Bm25,
    queries: Sequence[MiningQuery],
    config: MineConfig | None = None,
    *,
    closed: frozenset[int] = frozenset(),
    progress: Progress | None = None,
) -> Iterator[SentenceList]:
    """A list for each query, in order, one after the other; without positives where no evidence was found.

    What is drawn for a query depends on it and on the seed alone, not on what else is mined.
    """
    config = config or MineConfig()
    miner, depth = _Miner(graph, config, closed), max(config.depth, config.question_depth)
    texts = [one.query for one in queries]
    for one, nodes in zip(queries, _searched(bm25, texts, depth, "mine", progress), strict=True):
        yield miner.of_question(one, nodes) if one.answers else miner.of_claim(one, nodes)


def _searched(
    bm25: Bm25, texts: Sequence[str], depth: int, stage_name: str, progress: Progress | None
) -> Iterator[list[int]]:
    """BM25's first blocks for each text; none where it has no word."""
    with (progress or Progress(quiet=True)).stage(stage_name, len(texts), "queries") as stage:
        for at in range(0, len(texts), _BATCH):
            some = texts[at : at + _BATCH]
            hits = iter(bm25.search_many([*filter(_WORD.search, some)], depth))
            for text in some:
                yield next(hits)[0].tolist() if _WORD.search(text) else []
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

    def of_claim(self, one: MiningQuery, nodes: list[int]) -> SentenceList:
        """Evidence that is known, against what is not like it."""
        pool = unlike(self.pool(nodes[: self.config.depth], one.gold), one.evidence, self.config.alike)
        negatives = hard_and_drawn(one.query, pool, self.config.negatives, self.config.seed)
        return SentenceList(one.query, list(one.evidence), negatives)

    def of_question(self, one: MiningQuery, nodes: list[int]) -> SentenceList:
        """Sentences with an answer, against those without."""
        answers = answer_phrases(one.answers, SHORTEST)
        if not answers:
            return SentenceList(one.query, [], [])
        pool = self.pool(nodes[: self.config.question_depth], one.gold)
        good = [sentence for sentence in pool if holds(sentence[1], answers)]
        bad = [sentence for sentence in pool if sentence not in good]
        if one.gold:
            known = (sentence for node in sorted(one.gold) for sentence in self.sentences(node))
            good = [sentence for sentence in known if holds(sentence[1], answers)]
        else:
            good = self._distant(one.query, good)
        return SentenceList(one.query, good, by_tfidf(one.query, bad)[: self.config.negatives])

    def _distant(self, query: str, having: list[Titled]) -> list[Titled]:
        """Those that share the most content words with the question."""
        content = set(plain(query).split()) - _STOP
        shared = {one: len(content & set(plain(" ".join(one)).split())) for one in having}
        best = sorted(having, key=shared.__getitem__, reverse=True)
        return [one for one in best if shared[one] >= self.config.shared][: self.config.positives]


def unlike(pool: Sequence[Titled], evidence: Sequence[Titled], alike: float) -> list[Titled]:
    """Those sentences that are not one of the evidence in other words."""
    if not pool or not evidence:
        return list(pool)
    scores_ES = similarities((text for _, text in evidence), (text for _, text in pool))
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


class TargetPairs(NamedTuple):
    """A benchmark's file as pairs that a target encoder is tuned on."""

    pairs: list[TuningQuestion]
    report: dict[str, Any]
    """The kind, the part, and how many were asked and used; ready for JSON."""
    damage: list[BadLine]


def read_pairs(
    path: Path,
    graph: Graph,
    bm25: Bm25,
    *,
    part: str | None = None,
    threshold: float = THRESHOLD,
    wiki_pages: Path | None = None,
    progress: Progress | None = None,
) -> TargetPairs:
    """The pairs of a file; what no block is known for is counted and left out."""
    kind = kind_of_file(path)
    if kind == LISTS:
        raise InputError(f"{path} holds lists for a reranker: give claims or questions of a benchmark")
    part = part_of(kind, part)
    found = read_benchmark(kind, path, graph, part=part, threshold=threshold, wiki_pages=wiki_pages)
    pairs: list[TuningQuestion] = []
    texts = [one.text for one in found.judged]
    for one, nodes in zip(found.judged, _searched(bm25, texts, DEPTH, "search", progress), strict=True):
        gold = sorted(one.blocks)
        if not gold and (answers := answer_phrases(one.answers, SHORTEST)):
            gold = [node for node in nodes if holds(graph.texts[node], answers)]
        if gold and nodes:
            pairs.append(TuningQuestion(one.text, nodes[:STARTS], gold))
    report = {
        "file": path.name,
        "kind": kind,
        "part": part,
        "asked": len(found.judged),
        "pairs": len(pairs),
        "distant": found.weaker,
    }
    if not pairs:
        raise InputError(f"no block is known that holds what {path} asks for: there is nothing to learn from")
    return TargetPairs(pairs, report, found.damage)
