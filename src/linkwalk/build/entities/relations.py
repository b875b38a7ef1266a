"""The graph of articles, by which the entity linker tells what belongs together: what shares rare neighbours."""

from pathlib import Path

import numpy as np

from linkwalk.build.entities.linker import neighbourhood_norms
from linkwalk.graph.csr import Csr, Int32s, transpose, union


def write_relations(folder: Path, articles: int, source: Int32s, target: Int32s) -> None:
    """Write who links to whom, sorted and without repeats, and how much each shared neighbour says."""
    other = source != target
    indptr = np.concatenate(
        (np.zeros(1, np.int64), np.cumsum(np.bincount(source[other], minlength=articles)))
    )
    outgoing = Csr(indptr.astype(np.int64), target[other])
    both = union(outgoing, transpose(outgoing))
    fame = np.bincount(both.indices, minlength=articles)
    weight = np.log(articles / np.maximum(fame, 1)) ** 2
    for name, array in (
        ("outgoing-indptr", outgoing.indptr),
        ("outgoing", outgoing.indices),
        ("neighbour-indptr", both.indptr),
        ("neighbours", both.indices),
        ("neighbour-weight", weight),
        ("neighbour-norm", neighbourhood_norms(both.indptr, both.indices, weight)),
    ):
        np.save(folder / f"{name}.npy", array)
