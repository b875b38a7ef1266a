"""A file made ready to be asked: read by its data set, aligned with a wiki, cut to a half or to its first lines."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import md5
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from linkwalk.arrays import Bools
from linkwalk.downstream.align_passages import align_answers, align_paragraphs, align_passages
from linkwalk.downstream.align_sentences import THRESHOLD, align_sentences
from linkwalk.downstream.dataset import (
    AlignedQuestion,
    Alignment,
    DataSet,
    GoldParagraph,
    GoldPassage,
    Question,
    plain,
)
from linkwalk.downstream.fever import Fever
from linkwalk.downstream.link_questions import LinkQuestions
from linkwalk.downstream.question_sets import MultiHop, NaturalQuestions
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.parts import is_part, make_part
from linkwalk.records import BadLine

DATA_SETS: dict[str, Callable[[], DataSet]] = {
    "fever": Fever,
    "nq": NaturalQuestions,
    "multihop": MultiHop,
    "links": LinkQuestions,
}
PARTS = ("all", "tuned", "kept")
_T = TypeVar("_T", AlignedQuestion, Question)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """What is asked of a wiki, in the file's order, and what of it can be judged."""

    kind: str
    """A name that may be a file's."""
    data: DataSet
    file: Path
    ids: list[str]
    texts: list[str]
    """All that a method of retrieval is told."""
    judged: list[AlignedQuestion]
    """Those of them whose evidence the wiki has."""
    places: list[int]
    """Where among the texts each of those is."""
    claims: list[Question]
    """FEVER by sentence numbers: one for each text; else none."""
    tuned: frozenset[str]
    kept: frozenset[str]
    """Ids of two halves without a common page (``page_disjoint``)."""
    part: str
    limit: int | None
    level: str
    report: dict[str, Any]
    damage: list[BadLine]

    @property
    def counts_as(self) -> Callable[[Graph, Sequence[int]], list[int]] | None:
        """What recall is counted on, if not on blocks."""
        return as_pages if self.level == "page" else None

    @property
    def weaker(self) -> bool:
        """Whether a block with the answer string will do (NQ-open)."""
        return any(one.answers and not one.gold for one in self.judged)

    def hidden(self, graph: Graph) -> Bools | None:
        """The blocks [N] that must neither be found nor read, where there are some."""
        hidden = getattr(self.data, "hidden", None)
        return None if hidden is None else hidden(graph)

    @property
    def paper_distance(self) -> float | None:
        """The paper's mean of links from BM25's first block to the evidence."""
        return getattr(self.data, "distance", None)


def open_data(given: str | DataSet, *, wiki_pages: Path | None = None) -> DataSet:
    """A data set by its name, or as ``package.module:Name`` (a class is called with nothing); an object as it is."""
    data: Any = given
    if isinstance(given, str):
        if given not in DATA_SETS and not is_part(given):
            known = ", ".join(DATA_SETS)
            raise InputError(
                f"no data set named {given!r}: choose one of {known}, or your own as package.module:Name"
            )
        data = DATA_SETS[given]() if given in DATA_SETS else make_part(given, "data set")
    if not isinstance(data, DataSet):
        raise InputError(f"{given!r} is no data set: it needs a name and read(path, damage)")
    if wiki_pages is None:
        return data
    if not isinstance(data, Fever):
        raise InputError("wiki-pages belong to FEVER: leave them out")
    return replace(data, wiki_pages=wiki_pages)


def align(
    data: DataSet,
    path: Path,
    graph: Graph,
    *,
    threshold: float = THRESHOLD,
    level: str = "block",
    scan: bool = True,
) -> Alignment:
    """A file beside a wiki: what can be asked, with the blocks that it needs, and how much did not match.

    ``scan=False`` leaves out the look into all blocks that tells which questions with answers alone have one here.
    """
    level = getattr(data, "level", level)
    damage: list[BadLine] = []
    questions = list(_read(data, path, damage))
    kind = _kind_of_gold(questions)
    if kind in (GoldPassage, GoldParagraph, str):
        if level != "block":
            raise InputError("level page belongs to FEVER and evidence in sentences: leave it out")
        by_kind = {GoldPassage: align_passages, GoldParagraph: align_paragraphs}
        by_kind[str] = partial(align_answers, scan=scan)
        found = by_kind[kind](data.name, questions, graph, damage)
        found = found._replace(questions=_with_own_ids(found.questions))
    elif claims := _with_own_ids(questions):
        found = align_sentences(path, claims, graph, damage, threshold=threshold, level=level)
    else:
        why = f": line {damage[0].line} {damage[0].reason}" if damage else ""
        raise InputError(f"{path} holds no questions with answers{why}")
    if tell := getattr(data, "tell", None):
        tell(found.report)
    return found


def _read(data: DataSet, path: Path, damage: list[BadLine]) -> Iterator[Question]:
    """What a data set reads, which may be anybody's."""
    try:
        for one in data.read(path, damage):
            if not isinstance(one, Question):
                raise InputError(f"{data.name} reads {type(one).__name__}, where a Question is wanted")
            yield one
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _kind_of_gold(questions: Iterable[Question]) -> type | None:
    """What evidence questions have (``str``: answers alone), as the first that has any tells."""
    for one in questions:
        for piece in chain.from_iterable(one.evidence):
            return type(piece)
        if one.answers and not one.left_out:
            return str
    return None


def read_benchmark(
    given: str | DataSet,
    path: Path,
    graph: Graph,
    *,
    wiki_pages: Path | None = None,
    threshold: float = THRESHOLD,
    level: str = "block",
    part: str = "all",
    limit: int | None = None,
    unlabelled: bool = False,
) -> Benchmark:
    """Read a file beside a wiki; ``unlabelled`` lets FEVER claims pass of which none can be judged.

    With ``wiki_pages`` every claim of FEVER's is asked, as the official scores want it; else those that are judged.
    """
    data = open_data(given, wiki_pages=wiki_pages)
    level = getattr(data, "level", level)
    if part not in PARTS:
        raise InputError(f"no part named {part!r}: choose one of {', '.join(PARTS)}")
    if wiki_pages is not None and level == "page":
        raise InputError("level page counts pages, wiki-pages sentences: choose one of them")
    found = pages = align(data, path, graph, threshold=threshold, level=level)
    claims = found.claims
    if claims and level != "page":
        pages = align_sentences(path, claims, graph, found.damage, level="page")
    # Halves are made at page level, whatever is counted: so they are the same at every threshold.
    tuned, kept = (frozenset(one.id for one in half) for half in page_disjoint(pages.questions, graph))
    every: Sequence[Question | AlignedQuestion] = claims if wiki_pages is not None else found.questions
    half = {"tuned": tuned, "kept": kept}.get(part)
    asked = [one for one in every if half is None or one.id in half][:limit]
    at = {one.id: place for place, one in enumerate(asked)}
    judged = [one for one in found.questions if one.id in at]
    if not judged and not (unlabelled and at):
        raise InputError(_nothing(path, graph, found, part, limit))
    return Benchmark(
        kind=given if isinstance(given, str) and given in DATA_SETS else type(data).__name__,
        data=data,
        file=path,
        ids=list(at),
        texts=[one.text for one in asked],
        judged=judged,
        places=[at[one.id] for one in judged],
        claims=[one for one in asked if isinstance(one, Question)],
        tuned=tuned,
        kept=kept,
        part=part,
        limit=limit if limit is not None and limit < len(every) else None,
        level=level,
        report=found.report,
        damage=found.damage,
    )


def _with_own_ids(questions: Iterable[_T]) -> list[_T]:
    """With ids that tell them apart: questions may come twice, and each time counts."""
    seen: Counter[str] = Counter()
    named = []
    for one in questions:
        seen[one.id] += 1
        named.append(one if seen[one.id] == 1 else one._replace(id=f"{one.id} ({seen[one.id]})"))
    return named


def _nothing(path: Path, graph: Graph, found: Alignment, part: str, limit: int | None) -> str:
    """Why nothing can be asked, in one line."""
    if found.questions:
        what = f"part {part!r}" if part != "all" else "what is asked"
        return f"nothing of {path} is left in {what}{f' within the first {limit}' if limit else ''}: take more of it"
    reasons = {**found.report.get("left out", {}), **found.report.get("unmatched", {})}
    why = ", ".join(f"{name} ({count:,})" for name, count in sorted(reasons.items(), key=lambda x: -x[1]))
    return (
        f"nothing of {path} can be asked of {graph.snapshot or 'this wiki'}"
        f"{f': {why}' if why else ''}; give a wiki that holds its evidence"
    )


def as_pages(graph: Graph, ranked: Sequence[int]) -> list[int]:
    """Each block's article, stood for by its first block: what page recall is counted on."""
    return [int(graph.article_node[graph.node_article[node]]) for node in ranked]


def page_disjoint(
    questions: Sequence[AlignedQuestion], graph: Graph, *, parts: int = 2
) -> tuple[list[AlignedQuestion], list[AlignedQuestion]]:
    """Split so that no article with evidence, and no text asked, is on both sides: for tuning, and kept from it.

    One title in ``parts`` is kept, by a hash of its letters, so that neither the file's order nor the threshold for
    blocks matters. What shares an article (in any alternative) or its words stays together, and is kept only if all
    of its articles are: what is near anything that was tuned on counts as tuned on.
    """
    parent: dict[object, object] = {}

    def root(key: object) -> object:
        while (up := parent.setdefault(key, key)) != key:
            parent[key] = parent[up]
            key = up
        return key

    pairs = [(plain(one.text) or one.text, one) for one in questions]
    for key, one in pairs:
        for node in one.blocks:
            parent[root(int(graph.node_article[node]))] = root(key)
    tuned = set()
    for key, one in pairs:
        titles = {graph.title(node) for node in one.blocks} or {one.text}
        if not all(_kept(title, parts) for title in titles):
            tuned.add(root(key))
    halves: tuple[list[AlignedQuestion], list[AlignedQuestion]] = [], []
    for key, one in pairs:
        halves[root(key) not in tuned].append(one)
    return halves


def _kept(title: str, parts: int) -> bool:
    """Whether an article is kept from tuning, by a hash of its title."""
    digest = md5(title.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big") % parts == parts - 1
