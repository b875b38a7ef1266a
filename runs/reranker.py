"""Make the lists of the reranker that ships, and train it (sec. 4.3).

python runs/reranker.py DATA SCHOOLS [WIKI ...] --out DIR [--name NAME] [--set key=value ...]
python runs/reranker.py DATA SCHOOLS [WIKI ...] --out DIR --lists-only --limit 50       a look at the lists

DATA is the folder with the files below, SCHOOLS the workspace of schools2007, the others further workspaces for
questions; all are indexed. Lists go to DIR, the reranker to SCHOOLS/rerankers/NAME.

fever      fever-train-in-schools2007.jsonl, the tuned half: claims with the page and sentence of their evidence.
sentences  fever-train-10k-sentences.csv.xz: claims with the sentence alone, so nothing in these lists has a title.
           Negatives are TF-IDF's neighbours among the other sentences, and BM25's. Rows whose claim or sentence is of
           the kept half, or of dev, are left out, as are claims that name a page of the kept half.
nq         nq-efficientqa.jsonl in each workspace: distant labels by the answer string. Questions of nq-open-dev.jsonl,
           which figures are of, are left out.
"""

import argparse
import csv
import lzma
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from linkwalk.device import choose_device
from linkwalk.downstream.align_sentences import comparable
from linkwalk.downstream.benchmark import align, page_disjoint
from linkwalk.downstream.dataset import plain
from linkwalk.downstream.fever import NOT_ENOUGH, Fever, sentences_of
from linkwalk.downstream.mining import (
    MineConfig,
    MiningQuery,
    Titled,
    claims_to_mine,
    mine_lists,
    questions_to_mine,
    unlike,
    untokenised,
    write_lists,
)
from linkwalk.downstream.question_sets import NaturalQuestions
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.ranking import SentenceList
from linkwalk.progress import Progress
from linkwalk.retrieve.bm25 import Bm25
from linkwalk.trainings.rerankers import train_reranker
from linkwalk.trainings.run import BenchmarkChoice, TrainingRun

CLAIMS, DEV = "fever-train-in-schools2007.jsonl", "fever-dev-in-schools2007.jsonl"
SENTENCES = "fever-train-10k-sentences.csv.xz"
QUESTIONS, NOT_THESE = "nq-efficientqa.jsonl", "nq-open-dev.jsonl"
#: BM25's part of the lists without titles, and from which ratio a sentence is alike there.
WITHOUT_TITLES = MineConfig(negatives=10, depth=8, alike=70)
NEAR, LOOKED_AT = 14, 40
BATCH = 256


class Kept(NamedTuple):
    """What must not be learnt from."""

    claims: set[str]
    sentences: set[str]
    pages: re.Pattern[str]
    """Any of the kept pages' names, as a claim would have it."""

    @classmethod
    def of(cls, data: Path, graph: Graph) -> "Kept":
        """The kept half of the claims, and all of dev's."""
        _, kept = page_disjoint(align(Fever(), data / CLAIMS, graph, level="page").questions, graph)
        ids = {one.id for one in kept}
        claims = [claim for claim in Fever().read(data / CLAIMS, []) if claim.id in ids]
        claims += Fever().read(data / DEV, [])
        titles = {graph.title(node) for one in kept for nodes in one.gold for node in nodes}
        names = sorted({re.sub(r" \(.*\)$", "", title) for title in titles}, key=len, reverse=True)
        return cls(
            {plain(claim.text) for claim in claims},
            {comparable(one.text) for claim in claims for one in sentences_of(claim) if one.text},
            re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b"),
        )


def read_rows(path: Path, kept: Kept) -> tuple[dict[str, list[Titled]], list[Titled]]:
    """Claims with their sentences, and all sentences that negatives can be; without anything that is kept."""
    evidence: dict[str, list[Titled]] = {}
    pool: dict[Titled, None] = {}
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if comparable(row["sentence"]) in kept.sentences:
                continue
            sentence = "", untokenised(row["sentence"])
            pool[sentence] = None
            claim = row["claim"]
            known = plain(claim) in kept.claims or kept.pages.search(claim)
            if row["label"] != NOT_ENOUGH and not known and sentence not in evidence.setdefault(claim, []):
                evidence[claim].append(sentence)
    return evidence, sorted(pool)


def neighbours(queries: Sequence[str], pool: Sequence[Titled]) -> Iterator[list[Titled]]:
    """For each query the sentences nearest by TF-IDF, the nearest first."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectoriser = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    known = vectoriser.fit_transform([text for _, text in pool])
    for at in range(0, len(queries), BATCH):
        scores_QS = (vectoriser.transform(queries[at : at + BATCH]) @ known.T).toarray()
        for scores in scores_QS:
            yield [pool[i] for i in (-scores).argsort(kind="stable")[:LOOKED_AT].tolist()]


def without_titles(
    path: Path,
    kept: Kept,
    graph: Graph,
    bm25: Bm25,
    closed: frozenset[int],
    progress: Progress,
    limit: int | None,
) -> Iterator[SentenceList]:
    """The lists of claims whose evidence comes without its page."""
    evidence, pool = read_rows(path, kept)
    wanted = [MiningQuery(claim, tuple(own)) for claim, own in islice(evidence.items(), limit) if own]
    mined = mine_lists(graph, bm25, wanted, WITHOUT_TITLES, closed=closed, progress=progress)
    near = neighbours([one.query for one in wanted], pool)
    for one, far, others in zip(wanted, mined, near, strict=True):
        bad = unlike(others, one.evidence, WITHOUT_TITLES.alike)[:NEAR]
        bad += [("", text) for _, text in far.negatives]
        yield SentenceList(one.query, list(one.evidence), list(dict.fromkeys(bad)))


def main() -> None:
    """Mine, write, train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("wikis", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="shipped")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--lists-only", action="store_true")
    parser.add_argument("--limit", type=int, help="queries of each file, for a look")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    progress, data, limit, files = Progress(), asked.data, asked.limit, []

    def write(name: str, lists: Iterator[SentenceList]) -> None:
        files.append(asked.out / f"{name}.jsonl")
        found = (one for one in lists if one.positives)
        print(f"{files[-1]}: {write_lists(files[-1], found, name):,} lists", flush=True)

    schools = Graph.open(asked.wikis[0])
    bm25, kept = Bm25.open(asked.wikis[0], schools), Kept.of(data, schools)
    claims = claims_to_mine(data / CLAIMS, schools, part="tuned")
    write("fever", mine_lists(schools, bm25, claims.queries[:limit], closed=claims.closed, progress=progress))
    rows = data / SENTENCES
    write("sentences", without_titles(rows, kept, schools, bm25, claims.closed, progress, limit))
    never = {
        plain(one.text) for one in align(NaturalQuestions(), data / NOT_THESE, schools, scan=False).questions
    }
    for number, wiki in enumerate(asked.wikis):
        graph = Graph.open(wiki)
        found = questions_to_mine(data / QUESTIONS, graph).queries
        wanted = [one for one in found if plain(one.query) not in never][:limit]
        # Of the claims' wiki, what is kept from claims is kept from questions, too.
        closed = claims.closed if number == 0 else frozenset[int]()
        mined = mine_lists(graph, Bm25.open(wiki, graph), wanted, closed=closed, progress=progress)
        write(f"nq-{number + 1}", mined)
    if asked.lists_only:
        return
    device = str(choose_device(asked.device))
    run = TrainingRun(asked.settings, device, checkpoint_every=1000, restart=False, force=False, quiet=False)
    trained = train_reranker(asked.wikis[0], files, BenchmarkChoice(), asked.name, run)
    print(f"{trained.folder}: {trained.last}")


if __name__ == "__main__":
    main()
