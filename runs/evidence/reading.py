"""Reads for questions, several processes at a time, and keeps all that was known while it was done."""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from world import Question, World, asked_of

from linkwalk.downstream.dataset import answer_phrases, holds, plain
from linkwalk.downstream.mining import _STOP as STOP
from linkwalk.downstream.mining import SHORTEST
from linkwalk.downstream.unanswerable import prune
from linkwalk.graph.store import Graph
from linkwalk.retrieve.desk import Desk, Library, Meanings
from linkwalk.retrieve.judge import (
    HEARD_OF,
    RANK,
    SURE,
    WAVES,
    WORTH,
    Judge,
    JudgeWeights,
    sentences_of,
    tried,
)
from linkwalk.retrieve.pagerank import rest_of
from linkwalk.retrieve.scorer import Scorer
from linkwalk.retrieve.starts import SearchHits

CANDIDATES, PIECE = 20, 64
SMALL_PIECE = 12
"""Questions that are asked of the same part of a wiki."""
SMALLEST = 400
"""Blocks of a part, at least."""
EXPLORED, OTHERS = 40, 20
"""Unread blocks of a moment that the network which opens blocks learns from: the first, and some that stand for the
rest."""
WAITING = 8
"""Unread blocks, the best, that it is known of after every wave what they look like."""


class Job(NamedTuple):
    """A set to read for."""

    name: str
    part: str
    deleted: bool = False
    """Without the articles that answer it."""
    parts: bool = False
    """In parts of its wiki."""

    @property
    def stem(self) -> str:
        """What its file is called."""
        return f"{self.name}-{self.part}{'-parts' * self.parts}{'-deleted' * self.deleted}"


class WithoutArticles(Desk):
    """A desk on which some articles never come to lie."""

    gone: frozenset[int] = frozenset()

    def hear(self, nodes: Sequence[int], parents: Any = None) -> None:
        """Of the others alone."""
        article = self.library.graph.node_article
        keep = [i for i, node in enumerate(nodes) if int(article[node]) not in self.gone]
        super().hear([nodes[i] for i in keep], None if parents is None else [parents[i] for i in keep])


def by_hand() -> JudgeWeights:
    """What is opened and how it is ranked before anything was learned: nearly what `tabs` does by constants."""

    def scorer(names: Sequence[str], **weights: float) -> Scorer:
        linear = np.array([weights.get(name, 0.0) for name in names], np.float32)
        zero, one = np.zeros(len(names), np.float32), np.ones(len(names), np.float32)
        return Scorer(
            tuple(names), zero, one, linear, np.zeros((0, len(names) + 1), np.float32), zero[:0], 0.0
        )

    worth = scorer(
        WORTH, search=10, words=3, words_rank=1, near_rank=1, both=1, linked=0.5, via=1.5, title=1, tried=-2
    )
    return JudgeWeights(worth=worth, rank=scorer(RANK, best=10, search=3, words=1), sure=scorer(SURE, best=1))


class Prepared(NamedTuple):
    """What search says of some questions, and what they mean."""

    questions: Sequence[Question]
    gone: list[frozenset[int]]
    """Articles that each of them has to do without."""
    meanings: list[Meanings]
    hits: list[SearchHits]
    ranks: list[dict[int, float]]
    library: Library


def prepare(
    world: World, name: str, some: Sequence[Question], deleted: bool, part: int | None = None
) -> Prepared:
    """All that is known of some questions before anything is read; of a ``part`` of the wiki, drawn by that number."""
    graph = world.graph_of(name)
    texts = [one.text for one in some]
    own = [frozenset(graph.node_article[[n for g in one.gold for n in g]].tolist()) for one in some]
    gone = own if deleted else [frozenset()] * len(some)
    meanings, library = world.meanings(texts), library_of(world, name)
    if part is None:
        hits = world.hits(name, texts, meanings, gone)
        return Prepared(some, gone, meanings, hits, rest_of(graph, hits, 2), library)
    there = part_of(graph, frozenset().union(*own), part)
    graph = prune(graph, ~there)
    hits = []
    for text, meaning, lost in zip(texts, meanings, gone, strict=True):
        kept = there & ~np.isin(graph.node_article, list(lost))
        hits += world.hits_among(name, [text], [meaning], kept)
    return Prepared(some, gone, meanings, hits, rest_of(graph, hits, 2), Library.of(graph, library.vectors))


def part_of(graph: Graph, needed: frozenset[int], seed: int) -> np.ndarray:
    """Blocks [N] of the articles that are needed and of others, drawn: a wiki of any size up to half of this one."""
    rng = np.random.default_rng(seed)
    size = float(np.exp(rng.uniform(np.log(SMALLEST), np.log(max(SMALLEST, graph.nodes / 2)))))
    order = np.array([*sorted(needed), *(a for a in rng.permutation(len(graph.titles)) if a not in needed)])
    blocks = np.cumsum(np.diff(np.append(graph.article_node, graph.nodes))[order])
    count = max(len(needed), int(np.searchsorted(blocks, size)) + 1)
    return np.isin(graph.node_article, order[:count])


def desks_for(world: World, name: str, known: Prepared, links: bool = True, only: str = "") -> list[Desk]:
    """A desk for each of some questions; ``only`` bm25 or dense knows one list, and without dense no meanings."""
    desks = []
    none = np.zeros(0, np.int32)
    for one, lost, meaning, hits, weights in zip(*known[:-1], strict=True):
        own: Meanings | None = meaning
        if only == "bm25":
            hits, own = hits._replace(near=none), None
        elif only == "dense":
            hits = hits._replace(words=none, scores=np.zeros(0, np.float32))
        if only:
            weights = rest_of(known.library.graph, [hits], 1)[0]
        desk = WithoutArticles(known.library, one.text, hits, own, weights, links=links)
        desk.gone = lost
        desks.append(desk)
    return desks


@cache
def library_of(world: World, name: str) -> Library:
    """What all desks of a set have in common."""
    return Library.of(world.graph_of(name), world.vectors(world.questions[name][0].wiki))


def right(world: World, name: str, one: Question) -> Callable[[Sequence[int]], np.ndarray]:
    """Which of some blocks are evidence."""
    graph = world.graph_of(name)
    gold = sorted({node for alternative in one.gold for node in alternative})
    if one.level == "page":
        pages = np.unique(graph.node_article[gold])
        return lambda nodes: np.isin(graph.node_article[np.array(nodes, np.int64)], pages)
    return lambda nodes: np.isin(np.array(nodes, np.int64), gold)


def to_learn(world: World, name: str, one: Question) -> Callable[[Sequence[int]], np.ndarray]:
    """The same, but a block with an answer must say it in a sentence that has something of the question."""
    plainly, graph = right(world, name, one), world.graph_of(name)
    sought = answer_phrases(one.answers, SHORTEST)
    if not sought:
        return plainly
    content = set(plain(one.text).split()) - STOP
    known: dict[int, bool] = {}

    def says(node: int) -> bool:
        if node not in known:
            title = graph.title(node)
            known[node] = any(
                holds(text, sought) and len(content & set(plain(f"{title} {text}").split())) >= 2
                for text in sentences_of(graph, node).texts
            )
        return known[node]

    def label(nodes: Sequence[int]) -> np.ndarray:
        found = plainly(nodes)
        return np.array([bool(hit) and says(int(n)) for n, hit in zip(nodes, found, strict=True)], np.bool_)

    return label


class Notes:
    """What was known while a set was read: moments before a block is opened, after each wave, and at the end."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.rng = judge, np.random.default_rng(0)
        self.kept: dict[str, list[Any]] = defaultdict(list)

    def moment(
        self, whose: int, desk: Desk, one: Question, is_good: Callable[[Sequence[int]], np.ndarray]
    ) -> None:
        """What could be opened next, some of the wave being chosen already, and which of it is wanted."""
        rows = desk.unread()
        if not len(rows) or len(desk.opened) >= CANDIDATES:
            return
        x, articles = desk.weighed(rows), desk.articles(rows)
        wanted = is_good([desk.nodes[r] for r in rows])
        size = WAVES[bool(desk.opened)]
        chosen = np.searchsorted(rows, self.judge.next(desk, size, 0.0)[: self.rng.integers(size)])
        for at in chosen.tolist():
            tried(x, articles == articles[at])
        if one.level == "page":  # one that was seen is seen
            wanted &= ~np.isin(articles, [*desk.articles(desk.opened), *articles[chosen]])
        left = np.ones(len(rows), np.bool_)
        left[chosen] = False
        order = np.argsort(-self.judge.weights.worth.of(x, WORTH), kind="stable")
        order = order[left[order]]
        weight = (wanted & left).astype(np.float32)
        weight[order[:EXPLORED]] = 1
        rest = order[EXPLORED:][~wanted[order[EXPLORED:]]]
        some = self.rng.permutation(rest)[:OTHERS]
        weight[some] = len(rest) / max(1, len(some))
        keep = weight > 0
        self.kept["whose"].append(np.full(keep.sum(), whose, np.int32))
        self.kept["moments"].append(x[keep].astype(np.float16))
        self.kept["wanted"].append(wanted[keep])
        self.kept["weigh"].append(weight[keep])

    def stage(self, whose: int, desk: Desk) -> None:
        """What is known after a wave: the figures of all blocks read, and of the best that wait."""
        rows = desk.unread()
        x = desk.weighed(rows)
        best = np.argsort(-self.judge.weights.worth.of(x, WORTH), kind="stable")[:WAITING]
        waiting = np.full((1, WAITING, len(WORTH)), np.nan, np.float32)
        waiting[0, : len(best)] = x[best]
        self.kept["stage_whose"].append([whose])
        self.kept["stage_read"].append([len(desk.opened)])
        self.kept["stage_waiting"].append(waiting.astype(np.float16))
        self.kept["stage_figures"].append(self.judge.judged(desk))

    def end(self, desk: Desk, is_good: Callable[[Sequence[int]], np.ndarray]) -> None:
        """What was read."""
        read = [desk.nodes[row] for row in desk.opened]
        self.kept["figures"].append(self.judge.judged(desk))
        self.kept["labels"].append(is_good(read))
        self.kept["nodes"].append(np.array(read, np.int32))
        self.kept["bounds"].append([len(read)])

    def arrays(self) -> dict[str, Any]:
        """For a file."""
        found = {name: np.concatenate(values) for name, values in self.kept.items()}
        return found | {"bounds": np.concatenate(([0], np.cumsum(found["bounds"])))}


def read_set(
    world: World,
    name: str,
    questions: Sequence[Question],
    weights: JudgeWeights,
    deleted: bool,
    parts: bool = False,
) -> dict[str, Any]:
    """Everything that was known while a set was read; of ``parts`` of its wiki, every dozen of questions another."""
    judge = Judge(world.graph_of(name), world.block_reader, weights)
    notes = Notes(judge)
    piece = SMALL_PIECE if parts else PIECE
    for at in range(0, len(questions), piece):
        some = questions[at : at + piece]
        desks = desks_for(world, name, prepare(world, name, some, deleted, at if parts else None))
        for desk in desks:
            desk.hear(desk.hits.heard(HEARD_OF))
        good = [to_learn(world, name, one) for one in some]
        known = [0] * len(some)

        def look(
            some: Any = some, desks: Any = desks, good: Any = good, at: int = at, known: Any = known
        ) -> None:
            for number, (one, desk, is_good) in enumerate(zip(some, desks, good, strict=True)):
                if len(desk.opened) > known[number]:
                    notes.stage(at + number, desk)
                if not known[number] or len(desk.opened) > known[number]:
                    notes.moment(at + number, desk, one, is_good)
                known[number] = len(desk.opened)

        look()
        for _ in judge.read_on(desks, CANDIDATES, enough=0.0):
            look()
        for desk, is_good in zip(desks, good, strict=True):
            notes.end(desk, is_good)
        world.block_reader.reader.clear()
    return notes.arrays()


def in_processes(asked: argparse.Namespace, to: str, jobs: list[Job], ways: bool, weights: str) -> None:
    """All jobs, several at a time; tuned parts in two folds, each by readers that have not seen it."""
    world = World(asked.wikis, asked.sets, asked.out)
    size = {job: len(asked_of(world, job[0], job[1])) for job in jobs}
    folds = (-1,) if ways else (0,)
    running = []
    for fold in folds:
        loads: list[list[Job]] = [[] for _ in range(max(1, asked.processes // len(folds)))]
        for job in sorted(jobs, key=lambda job: -size[job]):
            min(loads, key=lambda load: sum(size[j] for j in load)).append(job)
        for load in loads:
            if load:
                line = [
                    sys.executable,
                    str(Path(__file__).parent),
                    "shard",
                    str(asked.wikis),
                    str(asked.sets),
                    "--out",
                    str(asked.out),
                ]
                line += [
                    "--device",
                    asked.device,
                    "--seed",
                    str(asked.seed),
                    "--to",
                    to,
                    "--weights",
                    weights,
                ]
                line += ["--fold", str(fold), "--jobs", json.dumps(load)] + (["--ways"] if ways else [])
                line += ["--limit", str(asked.limit)] if asked.limit else []
                line += [word for way in asked.way for word in ("--way", way)]
                each = str(max(1, (os.cpu_count() or 1) // asked.processes))
                threads = {"OMP_NUM_THREADS": each, "OPENBLAS_NUM_THREADS": each}
                given = {name: os.environ.get(name, value) for name, value in threads.items()}
                given["TOKENIZERS_PARALLELISM"] = "true"
                running.append(subprocess.Popen(line, env=os.environ | given))
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("reading failed")
