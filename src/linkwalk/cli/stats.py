"""``linkwalk stats``: a graph in numbers, beside the paper's."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from linkwalk.cli.options import BuiltWiki, Json, Quiet, option
from linkwalk.cli.output import print_columns, print_json, print_next, print_table
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.graph.statistics import Statistics


def stats(
    wiki: BuiltWiki,
    sources: Annotated[
        int,
        option(
            "N",
            "Measure path lengths from the N blocks of highest in-degree (the paper: 250000). "
            "More takes longer: 64 sources need one sweep over the graph.",
            min=0,
        ),
    ] = 1000,
    plots: Annotated[
        Path | None,
        option("DIR", "Draw the paper's figures as PNG files into DIR."),
    ] = None,
    workers: Annotated[
        int | None,
        option("N", "Threads for path lengths. [default: all cores, at most 4]", min=1),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Describe a wiki's graph: size, words, degrees, components, path lengths, beside the paper's two graphs.

    Example: linkwalk stats WIKI --sources 5000 --plots figures
    """
    from linkwalk.embed.store import names
    from linkwalk.graph import plots as drawing
    from linkwalk.graph.statistics import statistics
    from linkwalk.graph.store import Graph

    if plots is not None:
        drawing.require(plots)
    graph = Graph.open(wiki)
    workers = workers or min(4, os.cpu_count() or 1)
    found = statistics(graph, sources=sources, workers=workers, progress=Progress(quiet=quiet))
    written = drawing.plot_statistics(found, plots) if plots is not None else []
    if json:
        print_json(found.to_json() | ({"plots": [str(path) for path in written]} if written else {}))
        return
    _show(found)
    for path in written:
        print(f"  wrote {path}")
    print_next(f"linkwalk {'eval' if names(wiki) else 'embed'} {wiki}")


def beside_paper(wikis: "dict[str, Statistics]") -> list[tuple[str, ...]]:
    """Wikis by what they are called, beside the paper's two (table 3)."""
    from linkwalk.graph.statistics import PAPER

    def median(value: float | None) -> str:
        return "-" if value is None else f"{value:g}"

    ours = [
        (
            f"{found.articles:,}",
            f"{found.nodes:,}",
            f"{found.edges:,}",
            f"{found.words_per_node:.1f}",
            median(found.median_path_length),
        )
        for found in wikis.values()
    ]
    paper = [
        (f"{a / 1e6:.2f}M", f"{n / 1e6:.1f}M", f"{e / 1e6:.0f}M", str(w), str(m))
        for a, n, e, w, m in PAPER.values()
    ]
    names = ("articles", "blocks (nodes)", "edges", "words per block", "median path length")
    head = ("", *wikis, *(f"paper {year}" for year in PAPER))
    return [head, *zip(names, *ours, *paper, strict=True)]


def _show(found: "Statistics") -> None:
    print(f"{found.snapshot}:")
    print_columns(beside_paper({"ours": found}))
    print()
    print_table(
        [
            ("edges by kind", _kinds(found)),
            ("links per block", f"{found.links_per_node:.2f}, besides previous and next"),
            *(
                (name, f"mean {d.mean:.1f}, median {d.median:g}, max {d.max:,}")
                for name, d in (
                    ("out-degree", found.out_degree),
                    ("in-degree", found.in_degree),
                    ("blocks per article", found.blocks_per_article),
                )
            ),
            ("path length", _lengths(found)),
            ("dead ends", f"{found.dead_ends.count:,} blocks without a link ({found.dead_ends.share:.1%})"),
            ("", f"{found.chain_only.count:,} with at most previous and next ({found.chain_only.share:.1%})"),
            ("never linked to", f"{found.unreferenced.count:,} blocks ({found.unreferenced.share:.1%})"),
            (
                "",
                f"{found.chain_reached.count:,} except by their neighbours ({found.chain_reached.share:.1%})",
            ),
            *(
                (name, f"{c.count:,}; the largest holds {c.largest:,} blocks ({c.largest_share:.1%})")
                for name, c in (
                    ("weak components", found.weak_components),
                    ("strong components", found.strong_components),
                )
            ),
            ("filed", _filed(found)),
            ("text", f"{found.text_bytes / 1e6:,.1f} MB, {found.words:,} words"),
        ]
    )


def _kinds(found: "Statistics") -> str:
    """How many edges of each kind there are; of contents and backlinks only where there are any."""
    from linkwalk.graph.store import TYPES

    return ", ".join(f"{kind} {n:,}" for kind, n in found.edges_by_kind.items() if n or kind in TYPES)


def _filed(found: "Statistics") -> str:
    """How many articles the filters of ``find`` by date and tag have something to go by."""
    tags = f"{found.tags:,} {'tag' if found.tags == 1 else 'tags'}"
    return f"{found.dated:,} articles with a date, {found.tagged:,} under {tags}"


def _lengths(found: "Statistics") -> str:
    paths = found.path_lengths
    if paths.mean is None:
        return f"no pairs from {paths.sources:,} sources"
    return (
        f"mean {paths.mean:.2f}, longest {len(paths.counts) - 1}, from the {paths.sources:,} most linked-to "
        f"blocks; {paths.unreachable_share:.1%} of pairs unreachable"
    )
