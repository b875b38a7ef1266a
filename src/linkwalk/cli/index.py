"""``linkwalk index``: BM25 over all blocks."""

import os
from pathlib import Path
from typing import Annotated

import typer

from linkwalk.cli.output import Json, Quiet, print_json, print_next, print_table


def index(
    wiki: Annotated[Path, typer.Argument(metavar="WIKI", help="Workspace that `linkwalk build` made.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Index a wiki's blocks for `linkwalk find`: BM25 on disk, title and text as fields of their own, English stems.

    Example: linkwalk index encyclopedia
    """
    import time

    from linkwalk.cli.find import need_search
    from linkwalk.graph.store import Graph
    from linkwalk.progress import Progress

    need_search()
    from linkwalk.retrieve import index as build_index

    graph, began = Graph.open(wiki), time.monotonic()
    folder = build_index(wiki, graph, threads=min(8, os.cpu_count() or 1), progress=Progress(quiet=quiet))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    seconds = round(time.monotonic() - began, 2)
    if json:
        print_json({"index": str(folder), "blocks": graph.nodes, "bytes": size, "seconds": seconds})
        return
    print_table(
        [("indexed", f"{graph.nodes:,} blocks in {seconds} s"), ("size", f"{size / 1e6:.1f} MB, in {folder}")]
    )
    print_next(f'linkwalk find {wiki} "a claim or a question"')
