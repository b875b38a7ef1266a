"""``linkwalk split``: two disjoint halves of a graph."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from linkwalk.cli.options import BuiltWiki, Json, Quiet, option
from linkwalk.cli.output import Columns, print_columns, print_json, print_next
from linkwalk.progress import Progress


def split(
    wiki: BuiltWiki,
    out: Annotated[
        Path,
        option(
            "DIR", "New folder for the workspaces DIR/train and DIR/eval, or an old split.", "-o", "--out"
        ),
    ],
    by: Annotated[
        Literal["article", "node"],
        Option(
            help="Move whole articles, or single blocks as the paper did: sorted by in-degree, odd ranks go "
            "to train, even ranks to eval. Single blocks lose most of their previous and next links."
        ),
    ] = "article",
    nodes: Annotated[
        int | None,
        option(
            "N",
            "Only N blocks each, grown along links from the most linked-to one (the paper: 200000). "
            "[default: all]",
            min=1,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Split a wiki into two disjoint halves, DIR/train to learn from and DIR/eval to be tested on.

    Links from one half to the other vanish; DIR/*/graph/ledger.json counts them.

    Example: linkwalk split WIKI -o HALVES --nodes 200000
    """
    from linkwalk.graph.split import split as split_graph
    from linkwalk.graph.store import Graph

    graph = Graph.open(wiki)
    halves = split_graph(graph, out, by=by, nodes=nodes, progress=Progress(quiet=quiet))
    if json:
        value = {half.name: {"workspace": str(half.workspace)} | half.to_json() for half in halves}
        print_json({"by": by, "nodes": nodes, **value})
        return
    print(f"{graph.snapshot}, split by {by}:")
    rows: Columns = [("", "articles", "blocks", "edges kept", "edges cut", "cut")]
    for half in halves:
        counts = (half.articles, half.nodes, half.edges, half.cut)
        share = half.cut / max(half.edges + half.cut, 1)
        rows.append((str(half.workspace), *(f"{count:,}" for count in counts), f"{share:.1%}"))
    print_columns(rows)
    for half in halves:
        if half.exhausted:
            print(f"  {half.name} has {half.nodes:,} of {nodes:,} blocks: no link leads to the rest of it")
    print_next(f"linkwalk stats {halves[0].workspace}")
