"""Reads for questions, several processes at a time, and keeps all that was known while it was done."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from world import Question, World, asked_of

from linkwalk.downstream.dataset import answer_phrases, holds, plain
from linkwalk.downstream.mining import _STOP as STOP
from linkwalk.downstream.mining import SHORTEST
from linkwalk.retrieve.desk import Desk, Library, Meanings
from linkwalk.retrieve.judge import HEARD_OF, RANK, SURE, WORTH, Judge, JudgeWeights, sentences_of
from linkwalk.retrieve.pagerank import rest_of
from linkwalk.retrieve.scorer import Scorer
from linkwalk.retrieve.starts import SearchHits

CANDIDATES, PIECE = 20, 64
EXPLORED, OTHERS = 40, 20
"""Unread blocks of a moment that the network which opens blocks learns from: the first, and some that stand for the
rest."""


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

    worth = scorer(WORTH, search=10, words=3, words_rank=1, near_rank=1, both=1, linked=0.5, via=1.5, title=1)
    return JudgeWeights(worth=worth, rank=scorer(RANK, best=10, search=3, words=1), sure=scorer(SURE, best=1))


class Prepared(NamedTuple):
    """What search says of some questions, and what they mean."""

    questions: Sequence[Question]
    gone: list[frozenset[int]]
    """Articles that each of them has to do without."""
    meanings: list[Meanings]
    hits: list[SearchHits]
    ranks: list[dict[int, float]]


def prepare(world: World, name: str, some: Sequence[Question], deleted: bool) -> Prepared:
    """All that is known of some questions before anything is read."""
    graph = world.graph_of(name)
    texts = [one.text for one in some]
    gone = [
        frozenset(graph.node_article[[n for g in one.gold for n in g]].tolist()) if deleted else frozenset()
        for one in some
    ]
    meanings = world.meanings(texts)
    hits = world.hits(name, texts, meanings, gone)
    return Prepared(some, gone, meanings, hits, rest_of(graph, hits, 2))


def desks_for(world: World, name: str, known: Prepared, links: bool = True, only: str = "") -> list[Desk]:
    """A desk for each of some questions; ``only`` bm25 or dense knows one list, and without dense no meanings."""
    library, desks = library_of(world, name), []
    none = np.zeros(0, np.int32)
    for one, lost, meaning, hits, weights in zip(*known, strict=True):
        own: Meanings | None = meaning
        if only == "bm25":
            hits, own = hits._replace(near=none), None
        elif only == "dense":
            hits = hits._replace(words=none, scores=np.zeros(0, np.float32))
        if only:
            weights = rest_of(library.graph, [hits], 1)[0]
        desk = WithoutArticles(library, one.text, hits, own, weights, links=links)
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


def read_set(
    world: World, name: str, questions: Sequence[Question], weights: JudgeWeights, deleted: bool
) -> dict[str, Any]:
    """Everything that was known while a set was read: moments before a block is opened, and blocks once read."""
    judge = Judge(world.graph_of(name), world.block_reader, weights)
    moments, chosen_ones, weigh, figures, labels, nodes, bounds = [], [], [], [], [], [], [0]
    rng = np.random.default_rng(0)
    whose: list[int] = []
    for at in range(0, len(questions), PIECE):
        some = questions[at : at + PIECE]
        desks = desks_for(world, name, prepare(world, name, some, deleted))
        for desk, own in zip(desks, (d.hits for d in desks), strict=True):
            desk.hear(own.heard(HEARD_OF))
        good = [to_learn(world, name, one) for one in some]

        def look(desks: Any = desks, good: Any = good, at: int = at) -> None:
            for number, (desk, is_good) in enumerate(zip(desks, good, strict=True)):
                rows = desk.unread()
                if not len(rows) or len(desk.opened) >= CANDIDATES:
                    continue
                x = desk.heard_of(rows)
                label = is_good([desk.nodes[r] for r in rows])
                order = np.argsort(-weights.worth(x), kind="stable")
                weight = label.astype(np.float32)
                weight[order[:EXPLORED]] = 1
                rest = order[EXPLORED:][~label[order[EXPLORED:]]]
                some = rng.permutation(rest)[:OTHERS]
                weight[some] = len(rest) / max(1, len(some))
                keep = weight > 0
                whose.append(at + number)
                moments.append(x[keep].astype(np.float16))
                chosen_ones.append(label[keep])
                weigh.append(weight[keep])

        look()
        for _ in judge.read_on(desks, CANDIDATES, enough=0.0):
            look()
        for desk, is_good in zip(desks, good, strict=True):
            read = [desk.nodes[r] for r in desk.opened]
            figures.append(judge.judged(desk))
            labels.append(is_good(read))
            nodes.append(np.array(read, np.int32))
            bounds.append(bounds[-1] + len(read))
        world.block_reader.reader.clear()
    return {
        "moments": np.concatenate(moments),
        "wanted": np.concatenate(chosen_ones),
        "weigh": np.concatenate(weigh),
        "whose": np.repeat(np.array(whose, np.int32), [len(m) for m in moments]),
        "figures": np.concatenate(figures),
        "labels": np.concatenate(labels),
        "nodes": np.concatenate(nodes),
        "bounds": np.array(bounds),
    }


def in_processes(
    asked: argparse.Namespace, to: str, jobs: list[tuple[str, str, bool]], ways: bool, weights: str
) -> None:
    """All jobs, several at a time; tuned parts in two folds, each by readers that have not seen it."""
    world = World(asked.wikis, asked.sets, asked.out)
    size = {job: len(asked_of(world, job[0], job[1])) for job in jobs}
    folds = (-1,) if ways else (0,)
    running = []
    for fold in folds:
        loads: list[list[tuple[str, str, bool]]] = [[] for _ in range(max(1, asked.processes // len(folds)))]
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
                each = str(max(1, (os.cpu_count() or 1) // asked.processes))
                threads = {
                    "OMP_NUM_THREADS": each,
                    "OPENBLAS_NUM_THREADS": each,
                    "TOKENIZERS_PARALLELISM": "true",
                }
                running.append(subprocess.Popen(line, env=os.environ | threads))
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("reading failed")
