"""``linkwalk diff``: what changed from one snapshot of a wiki to another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from linkwalk.cli.options import Json, Quiet, argument, option
from linkwalk.cli.output import print_columns, print_json, print_next, print_table
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.graph.diff import Diff


def diff(
    old: Annotated[Path, argument("OLD", "Workspace of the earlier snapshot.")],
    new: Annotated[Path, argument("NEW", "Workspace of the later snapshot.")],
    plots: Annotated[
        Path | None,
        option("DIR", "Draw the histogram of edge changes as a PNG file into DIR."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare two snapshots of a wiki: what came, went and stayed, beside the paper's figures.

    An article is known by its title, a block by its title and number.

    Example: linkwalk diff wiki-2017 wiki-2018 --plots figures
    """
    from linkwalk.graph import plots as drawing
    from linkwalk.graph.diff import diff as diff_graphs
    from linkwalk.graph.store import Graph

    if plots is not None:
        drawing.require(plots)
    found = diff_graphs(Graph.open(old), Graph.open(new), Progress(quiet=quiet))
    written = drawing.plot_diff(found, plots) if plots is not None else []
    if json:
        print_json(found.to_json() | ({"plots": [str(path) for path in written]} if written else {}))
        return
    print(f"from {found.old_snapshot}\nto   {found.new_snapshot}:")
    _show(found)
    for path in written:
        print(f"  wrote {path}")
    print_next(f"linkwalk stats {new}")


def _show(found: "Diff") -> None:
    from linkwalk.graph.diff import PAPER

    articles, nodes = found.articles, found.nodes
    ours = {
        "new articles": (articles.added, articles.added_share),
        "new nodes": (nodes.added, nodes.added_share),
        "deleted articles": (articles.deleted, articles.deleted_share),
        "deleted nodes": (nodes.deleted, nodes.deleted_share),
    }
    rows: list[tuple[str, ...]] = [("", "ours", "", "paper 2017-2018", "")]
    for name, (count, share) in ours.items():
        theirs, their_share = PAPER[name]
        rows.append((name, f"{count:,}", f"{share:.1%}", f"{theirs:,}", f"{their_share:.1%}"))
    print_columns(rows)
    print()
    share = found.unchanged / max(nodes.kept, 1)
    edges, within = found.edge_changes, found.edge_changes_within
    print_table(
        [
            ("kept", f"{articles.kept:,} articles, {nodes.kept:,} blocks"),
            ("same text", f"{found.unchanged:,} of the kept blocks ({share:.1%})"),
            ("moved text", f"{found.moved:,} blocks stand under another number of their article"),
            (
                "edge changes",
                f"{edges.mean:.2f} per kept block: {found.edges_added:,} added, "
                f"{found.edges_removed:,} removed",
            ),
            (
                "between kept blocks",
                f"{within.mean:.2f} per kept block: {found.edges_added_within:,} added, "
                f"{found.edges_removed_within:,} removed",
            ),
        ]
    )
