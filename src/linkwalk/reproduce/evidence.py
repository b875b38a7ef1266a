"""Tables 5 and 6: how much evidence is found with and without navigation, the paper's figures and ours.

Two rows of ours stand beside each of the paper's with navigation: its own way (walks from each start) and the one that
``linkwalk find`` takes. Where the paper ranks by BigBird, ours is ranked by the cross-encoder at hand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwalk.downstream.align_passages import ANSWERABLE
from linkwalk.downstream.measure import MethodScores, compare
from linkwalk.downstream.methods import METHODS, Method
from linkwalk.errors import InputError
from linkwalk.evaluate import paper

QUICK = 200
"""Questions of a quick run."""
DASH = "–"
Line = tuple[str, ...]


class PaperRow(NamedTuple):
    """A row of a table of the paper's, and those of ours that stand beside it."""

    paper: str | None
    ours: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EvidenceTable:
    """A table of the paper."""

    title: str
    benchmark: str
    """As ``linkwalk score`` names it."""
    figures: dict[str, paper.Figures]
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]

    def choose(self, names: Sequence[str], *, cross: bool = True) -> list[Method]:
        """The rows of ours to run: those named, or all; those with a cross-encoder only where there is one."""
        known = [name for row in self.rows for name in row.ours]
        for name in names:
            if name not in known:
                raise InputError(f"no row {name!r}: choose from {', '.join(known)}")
        wanted = [row for row in METHODS if row.name in (names or known)]
        found = [row for row in wanted if cross or row.rerank != "cross"]
        if not found:
            raise InputError("all rows asked for need a cross-encoder: name one with --rerank")
        return found


TABLES = {
    "table5": EvidenceTable(
        title="Table 5: evidence for FEVER's claims",
        benchmark="fever",
        figures=paper.TABLE5,
        columns=paper.TABLE5_COLUMNS,
        rows=(
            PaperRow("BM25 + TF-IDF", ("BM25 + TF-IDF",)),
            PaperRow("BM25 + RFBC + TF-IDF", ("BM25 + walks + TF-IDF", "BM25 + navigation + TF-IDF")),
            PaperRow(None, ("BM25 + cross-encoder",)),
            PaperRow(
                "BM25 + RFBC + BigBird", ("BM25 + walks + cross-encoder", "BM25 + navigation + cross-encoder")
            ),
            PaperRow("Stammbach (2021)", ("BM25 + one-hop + cross-encoder",)),
        ),
    ),
    "table6": EvidenceTable(
        title="Table 6: passages for Natural Questions",
        benchmark="nq",
        figures=paper.TABLE6,
        columns=paper.TABLE6_COLUMNS,
        rows=(
            PaperRow("RocketQA", ()),
            PaperRow("BM25", ("BM25",)),
            PaperRow("BM25 + BigBird", ("BM25 + cross-encoder",)),
            PaperRow(
                "BM25 + RFBC + BigBird", ("BM25 + walks + cross-encoder", "BM25 + navigation + cross-encoder")
            ),
        ),
    ),
}


def table_json(table: EvidenceTable, scored: dict[str, MethodScores]) -> list[dict[str, Any]]:
    """Each row of the paper with the rows of ours beside it, and what navigation gains."""
    rows = []
    for row in table.rows:
        ours = [
            {"row": name, "metrics": scored[name].metrics(), "gained": gains(name, scored)}
            for name in row.ours
            if name in scored
        ]
        figures = table.figures[row.paper] if row.paper else None
        rows.append({"row": row.paper, "paper": figures and list(figures), "ours": ours})
    return rows


def gains(name: str, scored: dict[str, MethodScores]) -> list[dict[str, Any]] | None:
    """Recall@1 to 5 against the same ranking without navigation, with paired intervals; None if that was not run."""
    reference = next(row.reference for row in METHODS if row.name == name)
    if reference not in scored:
        return None
    ours, theirs = scored[name].recall, scored[reference].recall
    if ours is None or theirs is None:
        return None
    return [compare(ours, theirs, depth=depth)["all"] for depth in range(1, 6)]


def table_lines(table: EvidenceTable, scored: dict[str, MethodScores], level: str = "block") -> list[Line]:
    """The table as it is printed: the paper's rows, ours below each; ``level`` is what recall counts in table 5.

    Table 5 has FEVER's own scores where sentences are known; else how many of the blocks are found. Table 6 has recall
    in percent, and the relative improvement that navigation brings.
    """
    percent = table.benchmark == "nq"
    sentences = any(own.fever is not None for own in scored.values())
    if percent:
        more: Line = ()
    elif sentences:
        more = tuple(f"{name}, threshold" for name in table.columns)
    else:
        more = (f"{level} recall@5", "all found@5", "seen")
    lines: list[Line] = [("the paper's / ours" + ", in percent" * percent, *table.columns, *more)]
    improvement: list[Line] = []
    for row in table.rows:
        if row.paper:
            figures = (x for x in table.figures[row.paper] if x is not None)
            lines.append((row.paper, *(f"{x:.{1 if percent else 2}f}" for x in figures), *("" for _ in more)))
        for name in row.ours:
            if name not in scored:
                continue
            own = scored[name]
            if percent:
                metrics = own.metrics()
                parts = {"": metrics, f", {ANSWERABLE}": metrics["groups"].get(ANSWERABLE)}
                for which, part in parts.items():
                    if part:
                        lines.append((f"  ours: {name}{which}", *(f"{100 * x:.1f}" for x in part["recall"])))
                if found := gains(name, scored):
                    improvement.append((f"  ours: {name}", *map(_relative, found)))
            else:
                lines.append((f"  ours: {name}", *_fever_cells(own, sentences)))
    if percent:
        figures = (x for x in table.figures["Improvement"] if x is not None)
        lines.append(("Improvement", *(f"{x:+.1f} %" for x in figures)))
    return lines + improvement


def _fever_cells(own: MethodScores, sentences: bool) -> Iterator[str]:
    """Precision, recall and F1, of five sentences and of those from a threshold on; or what is found of the blocks."""
    names = ("precision", "recall", "f1")
    if sentences:
        scores = own.fever or {"all": None, "thresholded": None}
        chosen = scores["thresholded"] and scores["thresholded"]["kept"]
        for figures in (scores["all"], chosen):
            yield from (f"{figures[name]:.2f}" if figures else DASH for name in names)
        return
    metrics = own.metrics()
    yield from (DASH for _ in names)
    yield from (f"{x:.2f}" for x in (metrics["recall"][-1], metrics["complete"][-1], metrics["seen"]))


def _relative(gain: dict[str, Any]) -> str:
    if gain["relative"] is None:
        return DASH
    interval = gain["relative_ci95"]
    around = f" [{100 * interval[0]:+.0f}, {100 * interval[1]:+.0f}]" if interval else ""
    return f"{100 * gain['relative']:+.1f} %{around}"


def notes(
    table: EvidenceTable,
    scored: dict[str, MethodScores],
    *,
    candidates: int,
    reranker: str | None,
    level: str,
    asked: int,
    wiki: str,
    weaker: bool,
    quick: bool,
) -> list[str]:
    """What a reader has to know about the figures."""
    lines = [
        f"Ours: {asked:,} asked of {wiki}, each way reading {candidates} blocks at most; the paper: the whole of "
        "English Wikipedia, up to 100 blocks. Compare rows, not cells.",
        '"walks" is the paper\'s way to navigate; "navigation" is ours: the best link of all pages read, or the next '
        "search result.",
        f"Where the paper ranks by BigBird, ours is ranked by a cross-encoder that is smaller ({reranker})."
        if reranker
        else "No cross-encoder was at hand to stand beside BigBird: name one with --rerank.",
    ]
    if table.benchmark == "fever":
        if any(own.fever is not None for own in scored.values()):
            lines.append(
                "Evidence alone is scored, by FEVER's own measures: five sentences for every claim; then those from a "
                "threshold on, chosen on one half of the claims and scored on the other, which shares no page with it."
            )
        else:
            lines.append(
                "Without --wiki-pages FEVER's own measures, which count sentences, cannot be given: ours is the share "
                f"of the evidence's {level}s among the first five."
            )
    if weaker:
        lines.append(
            "The file has answers alone: ours counts a block that has the answer string, which is weaker than the "
            "paper's measure; over all questions, and over those that some block of the wiki can answer."
        )
    if table.benchmark == "nq":
        lines.append(
            "Improvement: relative to the same ranking without navigation, with paired 95 % intervals."
        )
    if quick:
        lines.append(f"A quick run: the first {QUICK} alone.")
    return lines
