"""``linkwalk reproduce table3``: the sizes of graphs, beside the paper's."""

import os
from pathlib import Path

from linkwalk.cli.output import print_columns, print_json
from linkwalk.cli.stats import beside_paper
from linkwalk.progress import Progress

_SOURCES = 1000


def sizes_table(wikis: list[Path], *, markdown: bool, json: bool, quiet: bool) -> None:
    """One wiki, or two editions of it."""
    from linkwalk.graph.statistics import statistics
    from linkwalk.graph.store import Graph
    from linkwalk.reproduce.show import markdown as as_markdown

    workers, progress = min(4, os.cpu_count() or 1), Progress(quiet=quiet)
    graphs = [Graph.open(wiki) for wiki in wikis]
    found = [statistics(g, sources=_SOURCES, workers=workers, progress=progress) for g in graphs]
    if json:
        print_json({"what": "table3", "wikis": [one.to_json() for one in found]})
        return
    names = ["ours", "ours, later"][: len(found)]
    lines = beside_paper(dict(zip(names, found, strict=True)))
    print("Graph statistics: ours | the paper's\n")
    if markdown:
        print(as_markdown(lines))
    else:
        print_columns(lines)
    told = "; ".join(f"{name}: {one.snapshot}" for name, one in zip(names, found, strict=True))
    print(f"\n{told}. Path lengths from the {_SOURCES:,} most linked-to blocks.")
