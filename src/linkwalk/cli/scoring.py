"""A benchmark asked of a wiki, by one method or by several: what is found, and how it is told.

The heavy half of ``linkwalk score``, which ``linkwalk reproduce`` uses, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwalk.cli.output import Columns, print_columns, print_table
from linkwalk.downstream.benchmark import Benchmark
from linkwalk.downstream.distances import Distances, plot_distances, start_distances
from linkwalk.downstream.fever_submission import SENTENCES
from linkwalk.downstream.measure import (
    BenchmarkAnswers,
    Find,
    MethodScores,
    ask,
    compare,
    score_answers,
)
from linkwalk.downstream.methods import METHODS, Method
from linkwalk.downstream.unanswerable import lacking, prune
from linkwalk.graph.store import Graph
from linkwalk.progress import Progress
from linkwalk.retrieve import Bm25, FindConfig
from linkwalk.retrieve.config import NAVIGATED
from linkwalk.wiki.rerankers import QUICK
from linkwalk.wiki.retrieval import open_finder, open_rows, settled
from linkwalk.wiki.workspace import Workspace

_DAMAGE_SHOWN = 5
_STARTS = 10
"""Of BM25, for distances."""


@dataclass(frozen=True, kw_only=True)
class ScoredBenchmark:
    """A benchmark with what was found for it, by each method."""

    graph: Graph
    benchmark: Benchmark
    asked: FindConfig
    """With nothing left open."""
    methods: Sequence[Method]
    """Empty where it was asked in the one way of ``asked``."""
    rerankers: dict[str, str]
    """Who ranks in each method."""
    answers: BenchmarkAnswers
    scores: dict[str, MethodScores]

    @property
    def cross(self) -> str | None:
        """The cross-encoder among the rerankers."""
        return next((name for name in self.rerankers.values() if name not in ("none", "tfidf")), None)

    @property
    def rate(self) -> float:
        """Questions a second."""
        return len(self.benchmark.texts) / max(self.answers.seconds, 1e-9)

    def facts(self) -> dict[str, Any]:
        """What was asked of which wiki, for ``--json``."""
        asked = self.benchmark
        return {
            "file": str(asked.file),
            "wiki": self.graph.snapshot,
            "measure": "answer string (weaker)" if asked.weaker else f"gold {asked.level}",
            "part": asked.part,
            "limit": asked.limit,
            "asked": len(asked.texts),
            "judged": len(asked.judged),
            "alignment": asked.report,
            "damaged": len(asked.damage),
        }

    def results(self) -> Iterator[dict[str, Any]]:
        """One object for each method, for ``--json``."""
        methods, asked = {method.name: method for method in self.methods}, self.asked
        for name, own in self.scores.items():
            method = methods.get(name)
            start, navigation = (
                (method.start, method.navigation) if method else (asked.begin, asked.navigation)
            )
            result: dict[str, Any] = {
                "agent": asked.who if navigation in NAVIGATED else None,
                "way": name,
                "start": start,
                "navigation": navigation,
                "rerank": self.rerankers[name],
                "candidates": asked.candidates,
                "metrics": own.metrics(),
            }
            if method is None:
                result["metrics"]["questions_per_second"] = round(self.rate, 2)
            for what, other in self.beside(method).items():
                result[what] = other
                if (gained := self.gained(name, other)) is not None:
                    result[f"against_{what}"] = gained
            yield result

    def beside(self, method: Method | None) -> dict[str, str]:
        """What a method is compared with, where that was asked as well."""
        others = {} if method is None else {"reference": method.reference, "control": method.control}
        return {what: other for what, other in others.items() if other in self.scores}

    def gained(self, name: str, other: str) -> dict[str, Any] | None:
        """How much more of the evidence one method finds than another; None where nothing can be judged."""
        ours, theirs = self.scores[name].recall, self.scores[other].recall
        return None if ours is None or theirs is None else compare(ours, theirs)

    def print_asked(self) -> None:
        """What was asked of which wiki, and how much of it the wiki holds, beside what the paper matched (app. C)."""
        asked = self.benchmark
        part = "" if asked.part == "all" else f", the half {asked.part!r}"
        first = f", the first {asked.limit:,} alone" if asked.limit else ""
        judged = "" if len(asked.judged) == len(asked.texts) else f", {len(asked.judged):,} judged"
        print(
            f"{asked.data.name}: {asked.file.name} on {self.graph.snapshot}: "
            f"{len(asked.texts):,} asked{judged}{part}{first}"
        )
        print_table(_alignment(asked))


def score_benchmark(
    wiki: Path,
    graph: Graph,
    benchmark: Benchmark,
    asked: FindConfig,
    methods: Sequence[Method],
    wiki_pages: Path | None,
    progress: Progress,
) -> ScoredBenchmark:
    """Ask everything in the one way of ``asked``, or by all ``methods``, and judge what is found."""
    find: Find
    workspace = Workspace(wiki, graph, asked.embeddings)
    navigation = {method.navigation for method in methods} or {asked.navigation}
    asked, _ = settled(workspace, asked, navigation, {method.start for method in methods} or {asked.begin})
    if (gone := benchmark.hidden(graph)) is not None:
        workspace = Workspace(wiki, prune(graph, gone), asked.embeddings)  # for who walks, too
    if methods:
        compared = open_rows(workspace, asked, methods)
        if gone is not None:
            finders = compared.ways.finders
            compared.ways.finders = {name: lacking(finder, gone) for name, finder in finders.items()}
        find = compared.find
        rerankers = {
            method.name: compared.reranker if method.rerank == "cross" else method.rerank
            for method in methods
        }
    else:
        opened = open_finder(workspace, asked)
        if gone is not None:
            opened.finder = lacking(opened.finder, gone)
        way = {"none": "", "tabs": " + navigation"}.get(asked.navigation, f" + {asked.navigation}")
        name = f"{asked.begin}{way} + {opened.reranker}"

        def find(queries: Sequence[str], count: int) -> Any:
            return {name: opened.find(queries, count)}

        rerankers = {name: opened.reranker}
    sentences = SENTENCES if benchmark.claims else 0
    answers = ask(find, benchmark.texts, sentences=sentences, progress=progress)
    return ScoredBenchmark(
        graph=graph,
        benchmark=benchmark,
        asked=asked,
        methods=methods,
        rerankers=rerankers,
        answers=answers,
        scores=score_answers(graph, benchmark, answers, wiki_pages),
    )


def warn_of_damaged(benchmark: Benchmark, progress: Progress) -> None:
    """Say which lines could not be used: how many, and the first of them."""
    if not benchmark.damage:
        return
    shown = [f"line {line.line}: {line.reason}" for line in benchmark.damage[:_DAMAGE_SHOWN]]
    more = len(benchmark.damage) - len(shown)
    progress.warn(
        f"{len(benchmark.damage):,} damaged in {benchmark.file}, left out: {'; '.join(shown)}"
        + (f"; and {more:,} more" if more else "")
    )


def possible_methods(wiki: Path, graph: Graph, asked: FindConfig, progress: Progress) -> list[Method]:
    """The methods that can be run: those with a cross-encoder only where there is one."""
    cross = (asked.rerank or Workspace(wiki, graph, asked.embeddings).ranks) not in QUICK
    if asked.rerank is None and not cross:
        progress.warn("no cross-encoder for these embeddings: its rows are left out; name one with --rerank")
    return [method for method in METHODS if cross or method.rerank != "cross"]


def draw_distances(wiki: Path, graph: Graph, benchmark: Benchmark, folder: Path) -> Distances:
    """How far the evidence is from where BM25 begins, drawn into a folder."""
    texts = [one.text for one in benchmark.judged]
    found = Bm25.open(wiki, graph).search_many(texts, _STARTS)
    away = start_distances(graph, [nodes for nodes, _ in found], benchmark.judged)
    title = f"{benchmark.data.name} on {graph.snapshot}"
    plot_distances(away, folder / f"distances_{benchmark.kind}.png", title, benchmark.paper_distance)
    return away


def print_scores(scored: ScoredBenchmark) -> None:
    """How much was found, by one way or by many, and how quickly."""
    asked, methods = scored.asked, scored.methods
    scored.print_asked()
    if scored.benchmark.weaker:
        print(
            "  The weaker measure: a block counts if it has the answer string, even where it does not answer."
        )
    print()
    who = f"{asked.who} navigates, " if methods or asked.navigated else ""
    if methods:
        _print_methods(scored)
        cross = scored.cross or "none"
        print(f"\n  {who}each way reads {asked.candidates} blocks at most; cross-encoder: {cross}.")
    else:
        ((name, own),) = scored.scores.items()
        print(f"{name}: {who}{asked.candidates or 'all'} blocks\n")
        if own.recall is not None:
            _print_groups(own.recall.to_json())
    _print_fever(scored.scores)
    what = f"{len(methods)} ways, " if methods else ""
    print(f"\n  {what}{scored.rate:,.1f} questions/s")


def _alignment(benchmark: Benchmark) -> list[tuple[str, str]]:
    report, lines = benchmark.report, []
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
    if benchmark.damage:
        lines.append(("damaged", f"{len(benchmark.damage):,} (see standard error)"))
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


_DEPTHS = tuple(f"recall@{k}" for k in range(1, 6))


def _figures(own: dict[str, Any]) -> tuple[str, ...]:
    """Recall in percent, and how many blocks were read for it."""
    shares = (*own["recall"], own["complete"][-1], own["seen"])
    return *(f"{100 * share:.1f}" for share in shares), f"{own['blocks']:.1f}"


def _print_groups(groups: dict[str, dict[str, Any]]) -> None:
    """Recall, a group a line."""
    head = ("in percent", "questions", *_DEPTHS, "all found@5", "seen", "blocks")
    print_columns([head, *((name, f"{own['questions']:,}", *_figures(own)) for name, own in groups.items())])
    print('  "seen": among all blocks read; no reranker can find more.')


def _print_methods(scored: ScoredBenchmark) -> None:
    """Recall, a method a line; then recall@5 by group."""
    lines: Columns = [("in percent", *_DEPTHS, "all found@5", "seen", "blocks", "@5 gained", "by links")]
    groups: Columns = []
    for method in scored.methods:
        own = scored.scores[method.name].recall
        if own is None:
            continue
        figures = own.to_json()
        gained = []
        for name in (method.reference, method.control):
            against = None if name is None else scored.gained(method.name, name)
            gained.append("" if against is None else _gained(against["all"]))
        lines.append((method.name, *_figures(figures["all"]), *gained))
        groups = groups or [("recall@5", *(f"{n} ({f['questions']:,})" for n, f in figures.items()))]
        groups.append((method.name, *(f"{100 * f['recall'][-1]:.1f}" for f in figures.values())))
    print_columns(lines)
    print('  "gained": against the same without navigation, with a paired 95 % interval.')
    if groups and len(groups[0]) > 2:
        print()
        print_columns(groups)


def _gained(against: dict[str, Any]) -> str:
    low, high = against["difference_ci95"]
    return f"{100 * against['difference']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _print_fever(scored: dict[str, MethodScores]) -> None:
    """FEVER's own measures, where its sentences are known."""
    with_scores = {name: own.fever for name, own in scored.items() if own.fever}
    if not with_scores:
        return
    single = len(with_scores) == 1
    lines: Columns = [("FEVER's scores", "claims", "P@5", "R@5", "F1@5", "partial", "sentences")]
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


def print_distances(away: Distances, paper_mean: float | None) -> None:
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
