"""The data sets that are there, each read in one call."""

from pathlib import Path
from typing import Any

from linkwalk.downstream.benchmark import align
from linkwalk.downstream.dataset import Alignment, Question
from linkwalk.downstream.fever import Fever
from linkwalk.downstream.question_sets import MultiHop, NaturalQuestions
from linkwalk.graph.store import Graph
from linkwalk.records import BadLine


def read_claims(path: Path, graph: Graph, *, wiki_pages: Path | None = None, **options: Any) -> Alignment:
    return align(Fever(wiki_pages), path, graph, **options)


def read_claim_file(path: Path) -> tuple[list[Question], list[BadLine]]:
    damage: list[BadLine] = []
    return list(Fever().read(path, damage)), damage


def read_questions(path: Path, graph: Graph, *, all_positives: bool = False, scan: bool = True) -> Alignment:
    return align(NaturalQuestions(all_positives), path, graph, scan=scan)


def read_multihop(path: Path, graph: Graph) -> Alignment:
    return align(MultiHop(), path, graph)
