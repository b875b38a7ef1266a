"""The graph in numbers, as the page draws them (app. A.3)."""

from typing import Any

from linkwalk.graph.store import Graph


def graph_view(graph: Graph, found: dict[str, Any]) -> dict[str, Any]:
    """What ``linkwalk stats --json`` says, with histograms as pairs and path lengths as shares.

    Shares are of the pairs that a path joins; ``reachable`` is the share of all pairs that were looked at.
    """
    snapshot, paths = graph.manifest["snapshot"], found["path_lengths"]
    counts = paths["counts"]
    joined = sum(counts)
    rest = {name: value for name, value in found.items() if name not in _SHAPED}
    return {
        "snapshot": found["snapshot"],
        "name": snapshot["name"],
        "date": snapshot["date"],
        "articles": found["articles"],
        "blocks": found["nodes"],
        "edges": found["edges"],
        "links": found["edges_by_kind"],
        "degree": {way: _pairs(found[f"{way}_degree"]["histogram"]) for way in ("out", "in")},
        "degree_mean": {way: found[f"{way}_degree"]["mean"] for way in ("out", "in")},
        "blocks_per_article": _pairs(found["blocks_per_article"]["histogram"]),
        "path_lengths": {
            "sources": paths["sources"],
            "pairs": joined + paths["unreachable"],
            "reachable": 1 - paths["unreachable_share"],
            "mean": paths["mean"],
            "median": paths["median"],
            "histogram": [[length, n / joined] for length, n in enumerate(counts) if n],
        },
        **rest,
    }


_SHAPED = {
    "snapshot",
    "articles",
    "nodes",
    "edges",
    "edges_by_kind",
    "out_degree",
    "in_degree",
    "blocks_per_article",
    "path_lengths",
    "median_path_length",
}


def _pairs(histogram: dict[str, list[int]]) -> list[tuple[int, int]]:
    return list(zip(histogram["values"], histogram["counts"], strict=True))
