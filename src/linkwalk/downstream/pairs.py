"""What a target encoder is tuned on: a claim or question, where search begins, the blocks it needs (sec. 4.3, app. C).

Where a file has answers alone (NQ-open), blocks among BM25's first that have one stand for the evidence: distant
labels, since a block may have the answer string and not answer the question.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from linkwalk.downstream.benchmark import read_benchmark
from linkwalk.downstream.dataset import holds
from linkwalk.downstream.lists import LISTS, kind_of_file, part_of, sought_answers
from linkwalk.downstream.sentences import THRESHOLD
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.tune_target import TuningQuestion
from linkwalk.progress import Progress
from linkwalk.records import BadLine
from linkwalk.retrieve.bm25 import Bm25

STARTS = 10
"""BM25's first blocks, from which the expert sets out."""
DEPTH = 20
"""BM25's first blocks, among which an answer is looked for where no gold block is known."""
_BATCH = 64
_WORD = re.compile(r"\w")


class Asking(NamedTuple):
    """A benchmark's file as pairs."""

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
) -> Asking:
    """The pairs of a file; what no block is known for is counted and left out."""
    kind = kind_of_file(path)
    if kind == LISTS:
        raise InputError(f"{path} holds lists for a reranker: give claims or questions of a benchmark")
    part = part_of(kind, part)
    found = read_benchmark(kind, path, graph, part=part, threshold=threshold, wiki_pages=wiki_pages)
    progress = progress or Progress(quiet=True)
    pairs: list[TuningQuestion] = []
    judged = [one for one in found.judged if _WORD.search(one.text)]
    with progress.stage("search", len(judged), "queries") as stage:
        for at in range(0, len(judged), _BATCH):
            asked = judged[at : at + _BATCH]
            searched = bm25.search_many([one.text for one in asked], DEPTH)
            for one, (hits, _) in zip(asked, searched, strict=True):
                nodes = hits.tolist()
                gold = sorted(frozenset[int]().union(*one.gold))
                if not gold and (answers := sought_answers(one.answers)):
                    gold = [node for node in nodes if holds(graph.texts[node], answers)]
                if gold and nodes:
                    pairs.append(TuningQuestion(one.text, nodes[:STARTS], gold))
                stage.advance()
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
    return Asking(pairs, report, found.damage)
