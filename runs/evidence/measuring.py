"""Measures every way on the parts that were kept from all of it."""

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from reading import CANDIDATES, PIECE, Job, desks_for, in_processes, prepare, read_set
from telling import table
from world import LISTED, Question, World, asked_of, recalls

from linkwalk.graph.store import Graph
from linkwalk.retrieve.judge import HEARD_OF, Judge, JudgeWeights
from linkwalk.retrieve.pagerank import HITS, spread
from linkwalk.retrieve.starts import SearchHits, fuse

DELETED = ("fever", "hotpot", "encyclopedia")
"""Sets that are asked once more without the articles that answer them."""
WAYS = ("default", "stops", "no links", "bm25", "dense", "hybrid", "pagerank", "expand")
PARTS = 96
"""Questions of a set that are asked of parts of its wiki."""
PLAIN = ("bm25", "dense", "hybrid", "pagerank", "expand")
"""Ways that choose what is read without looking at what was read before."""


def measure_set(
    world: World,
    name: str,
    questions: Sequence[Question],
    weights: JudgeWeights,
    deleted: bool,
    ways: Sequence[str] = WAYS,
) -> dict[str, Any]:
    """Recall of every way: ranked by the last ranking, by the reader alone, and as it was found."""
    graph = world.graph_of(name)
    judge = Judge(graph, world.block_reader, weights)
    rows: dict[str, list[Any]] = defaultdict(list)
    unanswerable = deleted or name.startswith("foreign")
    for at in range(0, len(questions), PIECE):
        known = prepare(world, name, questions[at : at + PIECE], deleted)
        for way in WAYS[:2] if unanswerable else ways:
            desks = desks_for(world, name, known, way in WAYS[:2], way if way in ("bm25", "dense") else "")
            if way not in PLAIN:
                for desk in desks:
                    desk.hear(desk.hits.heard(HEARD_OF))
                for _ in judge.read_on(desks, CANDIDATES, enough=weights.enough if way == "stops" else 0.0):
                    pass
                found = [[desk.nodes[r] for r in desk.opened] for desk in desks]
            else:
                found = [listed(graph, way, own) for own in known.hits]
                for desk, nodes in zip(desks, found, strict=True):
                    desk.hear(nodes)
                judge.open(
                    desks, [[desk.row[n] for n in nodes] for desk, nodes in zip(desks, found, strict=True)]
                )
            for one, desk, nodes in zip(known.questions, desks, found, strict=True):
                verdict = judge.verdict(desk)
                ranked = [nodes[i] for i in verdict.order]
                rows[way].append((*recalls(world, name, one, ranked), len(nodes), verdict.sure))
                alone = np.argsort([-block.scores.max(initial=-99) for block in desk.read], kind="stable")
                rows[f"{way}, reader"].append(recalls(world, name, one, [nodes[i] for i in alone]))
                if way in PLAIN:
                    rows[f"{way}, as found"].append(recalls(world, name, one, nodes))
        world.block_reader.reader.clear()
    return {name: np.array(values, np.float32) for name, values in rows.items()} | {
        "group": np.array([one.group for one in questions])
    }


def listed(graph: Graph, way: str, hits: SearchHits) -> list[int]:
    """What a way without a desk reads."""
    if way == "bm25":
        return hits.words[:CANDIDATES].tolist()
    if way == "dense":
        return hits.near[:CANDIDATES].tolist()
    both, scores = fuse(hits.words, hits.near, count=LISTED)
    if way == "hybrid":
        return both[:CANDIDATES].tolist()
    if way == "pagerank":
        return spread(graph.forward, [(both[:HITS], scores[:HITS])], CANDIDATES)[0].nodes.tolist()
    starts = both[: CANDIDATES // 4].tolist()
    return list(dict.fromkeys((*starts, *(int(t) for s in starts for t in graph.forward.row(s)))))[
        :CANDIDATES
    ]


def shard(world: World, asked: argparse.Namespace, weights: JudgeWeights, jobs: Sequence[Job]) -> None:
    """One process's share of the reading."""
    folder = world.out / asked.to
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs:
        questions = asked_of(world, job.name, job.part)
        limit = min(asked.limit or PARTS, PARTS) if job.parts else asked.limit
        questions = questions[:limit]
        if not questions:
            continue
        began = time.monotonic()
        path = folder / f"{job.stem}{'' if world.fold < 0 else f'-f{world.fold}'}.npz"
        if asked.ways:
            np.savez_compressed(
                path, **measure_set(world, job.name, questions, weights, job.deleted, asked.way or WAYS)
            )
        else:
            np.savez(path, **read_set(world, job.name, questions, weights, job.deleted, job.parts))
        print(f"{path.name}: {len(questions)} in {time.monotonic() - began:.0f} s", flush=True)


def measure(world: World, asked: argparse.Namespace) -> None:
    """Every way on the kept parts."""
    jobs = [
        Job(n, "kept")
        for n in world.questions
        if n != "fever-pages" and any(one.part == "kept" for one in world.questions[n])
    ]
    jobs += [Job(n, "kept", deleted=True) for n in DELETED if n in world.questions]
    if asked.only:
        jobs = [job for job in jobs if job.name in asked.only]
    in_processes(asked, f"kept{world.seed}", jobs, True, f"weights{world.seed}.json")
    table(world.out / f"kept{world.seed}", world)
