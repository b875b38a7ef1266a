"""The contents of a source: which article stands above which, as one number an article, and its children in order.

A page names the one above it, by title or address. Where that one is left out, for being empty, say, the page stands
below the next one above. Pages in a ring, each above the other, are below none.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkwalk.arrays import Bools, Int32s, Int64s
from linkwalk.build.names import Names, count_outcomes
from linkwalk.build.tables import Arrays, Tables, ends_of_chains, find_keys, write_tables
from linkwalk.sources.documents import Counts

NONE = -1


@dataclass(frozen=True)
class Contents(Tables):
    """Every article's parent and children."""

    above: Int32s
    """Negative for none."""
    children_indptr: Int64s
    children: Int32s


def write_contents(folder: Path, columns: Arrays) -> Counts:
    """Write the tables of ``Contents`` by the keys of articles' parents (0 is none); count what came of them."""
    stated = columns["article_parent"] != 0
    above = np.full(len(stated), NONE, np.int32)
    outcomes = Counts()
    if stated.any():
        above[stated] = _find_parents(Names.open(folder), columns, stated)
        outcomes = count_outcomes(above[stated], "page above: ")
        above[above < 0] = NONE
        ring = in_a_ring(above)
        above[ring] = NONE
        outcomes["page above: in a ring"] = int(ring.sum())
        outcomes["pages below another"] = int((above >= 0).sum())
    below = np.flatnonzero(above >= 0)
    below = below[np.argsort(above[below], kind="stable")]
    write_tables(
        folder,
        above=above,
        children=below.astype(np.int32),
        children_indptr=np.searchsorted(above[below], np.arange(len(above) + 1)),
    )
    return outcomes


def _find_parents(names: Names, columns: Arrays, stated: Bools) -> Int32s:
    """Articles of parents' keys, or codes that say why there is none; through pages left out one climbs on."""
    parents, above = columns["article_parent"][stated], columns["skipped_parent"]
    found = names.look_up(parents)[0]
    climbs = np.flatnonzero(above)
    climbs = climbs[np.argsort(columns["skipped_key"][climbs], kind="stable")]
    source, target = columns["skipped_key"][climbs], above[climbs]
    article = names.look_up(target)[0]
    step = find_keys(source, target)
    top = ends_of_chains(np.where((step >= 0) & (article < 0), step, np.arange(len(source))))
    at = find_keys(source, parents)
    left_out = (at >= 0) & (found < 0)
    found[left_out] = article[top[at[left_out]]]
    return found


def in_a_ring(above: Int32s) -> Bools:
    """Marks articles that stand above themselves: they are what is left after as many steps up as there are of them."""
    root = above < 0
    ring = np.zeros(len(above), np.bool_)
    ring[ends_of_chains(np.where(root, np.arange(len(above)), above))] = True
    return ring & ~root
