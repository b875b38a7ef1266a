"""A benchmark's file made ready to be asked: read, aligned, cut to a half or to its first lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linkwalk.downstream.align import THRESHOLD, as_pages, page_disjoint
from linkwalk.downstream.asked import Asked, Benchmark
from linkwalk.downstream.fever import read_claims
from linkwalk.downstream.fever_claims import Claim, read_claim_file
from linkwalk.downstream.lines import Damage, is_table, kind_of, stream_records
from linkwalk.downstream.multihop import read_multihop
from linkwalk.downstream.nq import read_questions
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph

KINDS = ("fever", "nq", "multihop")
PARTS = ("all", "tuned", "kept")
NAMES = {"fever": "FEVER", "nq": "Natural Questions", "multihop": "multi-hop questions"}
FILES = {
    "FEVER claims": "fever",
    "multi-hop questions": "multihop",
    "Natural Questions": "nq",
    "questions and their answers alone": "nq",
}
"""What ``lines.kind_of`` sees in a file, and which benchmark reads it."""


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What is asked, in the file's order, and what of it can be judged."""

    kind: str
    file: Path
    ids: list[str]
    texts: list[str]
    """All that a way of retrieval is told."""
    judged: list[Asked]
    """Those of them whose evidence the wiki has."""
    places: list[int]
    """Where among the texts each of those is."""
    claims: list[Claim]
    """FEVER by sentence numbers: one for each text; else none."""
    tuned: frozenset[str]
    kept: frozenset[str]
    """Ids of two halves without a common page (``align.page_disjoint``)."""
    part: str
    limit: int | None
    level: str
    report: dict[str, Any]
    damage: list[Damage]

    @property
    def counts_as(self) -> Callable[[Graph, Sequence[int]], list[int]] | None:
        """What recall is counted on, if not on blocks."""
        return as_pages if self.level == "page" else None

    @property
    def weaker(self) -> bool:
        """Whether a block with the answer string will do (NQ-open)."""
        return any(one.answers and not one.gold for one in self.judged)


def read_benchmark(
    kind: str,
    path: Path,
    graph: Graph,
    *,
    wiki_pages: Path | None = None,
    threshold: float = THRESHOLD,
    level: str = "block",
    part: str = "all",
    limit: int | None = None,
    unlabelled: bool = False,
) -> Questions:
    """Read a file beside a wiki; ``unlabelled`` lets FEVER claims pass of which none can be judged.

    With ``wiki_pages`` every claim of FEVER's is asked, as the official scores want it; else those that are judged.
    """
    if kind not in KINDS:
        raise InputError(f"no benchmark named {kind!r}: choose one of {', '.join(KINDS)}")
    if part not in PARTS:
        raise InputError(f"no part named {part!r}: choose one of {', '.join(PARTS)}")
    if kind != "fever" and (wiki_pages is not None or level != "block"):
        raise InputError("wiki-pages and level belong to FEVER: leave them out")
    if wiki_pages is not None and level == "page":
        raise InputError("level page counts pages, wiki-pages sentences: choose one of them")
    _check_kind(kind, path)
    found = _read(kind, path, graph, wiki_pages, threshold, level)
    # Halves are made at page level, whatever is counted: so they are the same at every threshold.
    whole = found
    if kind == "fever" and level == "block":
        whole = read_claims(path, graph, level="page")
    tuned, kept = (frozenset(one.id for one in half) for half in page_disjoint(whole.asked, graph))
    sentences = kind == "fever" and wiki_pages is not None and level == "block"
    claims = read_claim_file(path)[0] if sentences else []
    each = [(claim.id, claim.text) for claim in claims] or [(one.id, one.text) for one in found.asked]
    wanted = {"all": None, "tuned": tuned, "kept": kept}[part]
    places = [i for i, (name, _) in enumerate(each) if wanted is None or name in wanted][:limit]
    at = {each[i][0]: place for place, i in enumerate(places)}
    judged = [one for one in found.asked if one.id in at]
    if not judged and not (unlabelled and at):
        raise InputError(_nothing(path, graph, found, part, limit))
    return Questions(
        kind=kind,
        file=path,
        ids=[each[i][0] for i in places],
        texts=[each[i][1] for i in places],
        judged=judged,
        places=[at[one.id] for one in judged],
        claims=[claims[i] for i in places] if claims else [],
        tuned=tuned,
        kept=kept,
        part=part,
        limit=limit if limit is not None and limit < len(each) else None,
        level=level,
        report=found.report,
        damage=found.damage,
    )


def _read(
    kind: str, path: Path, graph: Graph, wiki_pages: Path | None, threshold: float, level: str
) -> Benchmark:
    """By the benchmark's own reader."""
    if kind == "fever":
        return read_claims(path, graph, wiki_pages=wiki_pages, threshold=threshold, level=level)
    found = read_questions(path, graph) if kind == "nq" else read_multihop(path, graph)
    return found._replace(asked=_named(found.asked))


def _named(asked: Sequence[Asked]) -> list[Asked]:
    """With ids that tell them apart: questions may come twice, and each time counts."""
    seen: dict[str, int] = {}
    for one in asked:
        seen[one.id] = seen.get(one.id, 0) + 1
    if max(seen.values(), default=1) == 1:
        return list(asked)
    left = dict.fromkeys(seen, 0)
    named = []
    for one in asked:
        left[one.id] += 1
        named.append(replace(one, id=one.id if left[one.id] == 1 else f"{one.id} ({left[one.id]})"))
    return named


def _check_kind(kind: str, path: Path) -> None:
    """A file of another benchmark: say which it is."""
    if is_table(path):
        return
    for _, record in stream_records(path, []):
        own = FILES.get(kind_of(record) or "")
        if own is not None and own != kind:
            raise InputError(f"{path} holds {NAMES[own]}, not {NAMES[kind]}: `linkwalk score {own}` reads it")
        return


def _nothing(path: Path, graph: Graph, found: Benchmark, part: str, limit: int | None) -> str:
    """Why nothing can be asked, in one line."""
    if found.asked:
        what = f"part {part!r}" if part != "all" else "what is asked"
        return f"nothing of {path} is left in {what}{f' within the first {limit}' if limit else ''}: take more of it"
    reasons = found.report.get("left out") or found.report.get("unmatched") or {}
    why = ", ".join(f"{name} ({count:,})" for name, count in sorted(reasons.items(), key=lambda x: -x[1]))
    return (
        f"nothing of {path} can be asked of {graph.snapshot or 'this wiki'}"
        f"{f': {why}' if why else ''}; give a wiki that holds its evidence"
    )
