"""What ``linkwalk score`` shows to people: how a file was aligned, recall by group, ways side by side."""

from typing import TYPE_CHECKING, Any

from linkwalk.cli.output import print_columns, print_table

if TYPE_CHECKING:
    from linkwalk.downstream.benchmark import Benchmark
    from linkwalk.downstream.distances import Distances
    from linkwalk.downstream.measure import BenchmarkAnswers, MethodScores
    from linkwalk.downstream.methods import Method
    from linkwalk.graph.store import Graph
    from linkwalk.retrieve import FindConfig


def print_scores(
    questions: "Benchmark",
    graph: "Graph",
    scored: "dict[str, MethodScores]",
    asked: "FindConfig",
    rows: "list[Method]",
    names: dict[str, str],
    outcome: "BenchmarkAnswers",
) -> None:
    """All of it, for one way or for many."""
    print(headline(questions, graph))
    print_table(alignment(questions))
    if questions.weaker:
        print(
            "  The weaker measure: a block counts if it has the answer string, even where it does not answer."
        )
    print()
    who = f"{asked.who} navigates, " if rows or asked.navigated else ""
    if rows:
        _print_rows(scored, rows)
        print(f"\n  {who}each way reads {asked.candidates} blocks at most; cross-encoder: {_cross(names)}.")
    else:
        ((name, own),) = scored.items()
        print(f"{name}: {who}{asked.candidates or 'all'} blocks\n")
        if own.recall is not None:
            _print_groups(own.recall.to_json())
    _print_fever(scored)
    rate = len(questions.texts) / max(outcome.seconds, 1e-9)
    what = f"{len(rows)} ways, " if rows else ""
    print(f"\n  {what}{rate:,.1f} questions/s")


def _cross(names: dict[str, str]) -> str:
    return next((name for name in names.values() if name not in ("none", "tfidf")), "none")


def headline(questions: "Benchmark", graph: "Graph") -> str:
    """What was asked of which wiki, in a line."""
    part = "" if questions.part == "all" else f", the half {questions.part!r}"
    first = f", the first {questions.limit:,} alone" if questions.limit else ""
    judged = "" if len(questions.judged) == len(questions.texts) else f", {len(questions.judged):,} judged"
    return (
        f"{questions.data.name}: {questions.file.name} on {graph.snapshot}: "
        f"{len(questions.texts):,} asked{judged}{part}{first}"
    )


def alignment(questions: "Benchmark") -> list[tuple[str, str]]:
    """How much of the file the wiki holds, beside what the paper matched (app. C)."""
    report, lines = questions.report, []
    for what in ("articles", "sentences", "passages", "paragraphs", "answerable"):
        if own := report.get(what):
            name = what if what == "answerable" else f"{what} matched"
            lines.append((name, _matched(own)))
    if "sentences" in report:
        lines.append(("threshold", f"{report['sentences']['threshold']:g}"))
    if lost := {**report.get("left out", {}), **report.get("unmatched", {})}:
        lines.append(("left out", ", ".join(f"{count:,} {name}" for name, count in lost.items())))
    if cut := report.get("more_alternatives_than_kept"):
        lines.append(("cut", f"{cut:,} with more alternatives than are kept: their recall is at least this"))
    if questions.damage:
        lines.append(("damaged", f"{len(questions.damage):,} (see standard error)"))
    return lines


def _matched(own: dict[str, Any]) -> str:
    """How many of how many; of sentences also of those whose article is here."""
    part = own["matched"]
    whole = next(own[key] for key in ("of", "named", "supporting") if key in own)
    rate = f"{100 * part / whole:.1f} %" if whole else "none"
    paper = own.get("paper")
    if paper is not None and paper <= 1:  # a share, as FEVER's rates are
        paper = round(100 * paper, 1)
    within = own.get("rate within articles in the wiki")
    return (
        f"{part:,} of {whole:,} ({rate}{f'; the paper {paper:g} %' if paper else ''})"
        f"{f'; {100 * within:.1f} % of those of matched articles' if within is not None else ''}"
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _print_groups(groups: dict[str, dict[str, Any]]) -> None:
    """Recall in percent, a group a line."""
    head = ("in percent", "questions", *(f"recall@{k}" for k in range(1, 6)), "all found@5", "seen", "blocks")
    lines = [
        (
            name,
            f"{own['questions']:,}",
            *map(_percent, own["recall"]),
            _percent(own["complete"][-1]),
            _percent(own["seen"]),
            f"{own['blocks']:.1f}",
        )
        for name, own in groups.items()
    ]
    print_columns([head, *lines])
    print('  "seen": among all blocks read; no reranker can find more.')


def _gained(against: dict[str, Any]) -> str:
    low, high = against["difference_ci95"]
    return f"{100 * against['difference']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _print_rows(scored: "dict[str, MethodScores]", rows: "list[Method]") -> None:
    """A way a line; then recall@5 by group."""
    from linkwalk.downstream.measure import compare

    head = (
        "in percent",
        *(f"recall@{k}" for k in range(1, 6)),
        "all found@5",
        "seen",
        "blocks",
        "@5 gained",
        "by links",
    )
    lines: list[tuple[str, ...]] = [head]
    groups: list[tuple[str, ...]] = []
    for row in rows:
        own = scored[row.name].recall
        if own is None:
            continue
        figures = own.to_json()
        every, gained = figures["all"], []
        for name in (row.reference, row.control):
            other = scored[name].recall if name is not None else None
            against = compare(own, other)["all"] if other is not None else None
            gained.append("" if against is None else _gained(against))
        lines.append(
            (
                row.name,
                *map(_percent, every["recall"]),
                _percent(every["complete"][-1]),
                _percent(every["seen"]),
                f"{every['blocks']:.1f}",
                *gained,
            )
        )
        groups = groups or [("recall@5", *(f"{n} ({f['questions']:,})" for n, f in figures.items()))]
        groups.append((row.name, *(_percent(f["recall"][-1]) for f in figures.values())))
    print_columns(lines)
    print('  "gained": against the same without navigation, with a paired 95 % interval.')
    if groups and len(groups[0]) > 2:
        print()
        print_columns(groups)


def _print_fever(scored: "dict[str, MethodScores]") -> None:
    """FEVER's own measures, where its sentences are known."""
    with_scores = {name: own.fever for name, own in scored.items() if own.fever}
    if not with_scores:
        return
    single = len(with_scores) == 1
    lines: list[tuple[str, ...]] = [
        ("FEVER's scores", "claims", "P@5", "R@5", "F1@5", "partial", "sentences")
    ]
    for name, fever in with_scores.items():
        chosen = fever["thresholded"]
        figures = {
            "five, all claims" if single else name: fever["all"],
            "five, pages in the wiki": fever["pages_in_wiki"] if single else None,
            "five, kept half": chosen["kept_fixed"] if chosen and single else None,
            "thresholded, kept half" if single else f"{name}, thresholded": chosen and chosen["kept"],
        }
        lines += [
            (
                label,
                f"{own['verifiable']:,}",
                *(f"{own[key]:.3f}" for key in ("precision", "recall", "f1")),
                f"{own['partial']:.3f}" if "partial" in own else "",
                f"{own['submitted']:.1f}",
            )
            for label, own in figures.items()
            if own
        ]
    print()
    print_columns(lines)
    print(
        "  No label is predicted: evidence alone is scored, as in the paper's table 5. Five sentences, or those"
    )
    print(
        "  from a threshold on, chosen on one half and scored on the other (kept), which shares no page with it."
    )
    print(
        "  Recall: a whole set of evidence; partial: the share of one. Silence is a precision of 1, officially."
    )


def print_distances(away: "Distances", paper_mean: float | None) -> None:
    """How far the evidence is from where BM25 begins, in a line."""
    every = away.groups["all"]
    means = {top: own.mean for top, own in every.items()}
    told = ", ".join(
        f"{mean:.1f} from {'the first' if top == 1 else f'the best of {top}'}"
        for top, mean in means.items()
        if mean is not None
    )
    paper = f" (the paper: {paper_mean:g})" if paper_mean is not None else ""
    print(f"\n  links from BM25's blocks to the evidence, on average: {told or 'none leads there'}{paper}")
