"""Articles that are held out of training, chosen by a hash of their titles: the same on any machine, in any edition."""

import numpy as np

from linkwalk.arrays import Bools
from linkwalk.graph.hashes import GOLDEN, hash_strings
from linkwalk.graph.store import Graph

WITHHELD = 0.1
"""Share of the articles that a wiki's own word table is never trained towards: what it gained is measured there."""


def held_out_nodes(graph: Graph, share: float, *, beyond: float = 0.0) -> Bools:
    """The blocks of about that share of the articles; none of those that a share of ``beyond`` would give."""
    keys = hash_strings(graph.titles, 0, graph.articles)
    keys ^= keys >> np.uint64(32)  # the upper bits of FNV-1a hardly know a title's last letters
    keys *= GOLDEN
    chosen: Bools = keys < np.uint64((share + beyond) * 2.0**64)
    if beyond:
        chosen &= keys >= np.uint64(beyond * 2.0**64)
    held_out: Bools = chosen[graph.node_article]
    return held_out
