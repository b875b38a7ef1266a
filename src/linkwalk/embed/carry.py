"""Embeddings of a part of a graph, taken from those of the whole: what has been embedded is not embedded again."""

import shutil
from pathlib import Path

import numpy as np

from linkwalk.arrays import Int64s
from linkwalk.artifact import digest, locked, publish, seal
from linkwalk.embed.features import RANDOM
from linkwalk.embed.fitted import copy_fitted
from linkwalk.embed.store import Embeddings, folder_of
from linkwalk.errors import InputError
from linkwalk.graph.columns import ArrayWriter
from linkwalk.graph.store import Graph

_CHUNK = 1 << 16


def carry(whole: Embeddings, workspace: Path, part: Graph, nodes: Int64s) -> None:
    """Write ``WORKSPACE/embeddings/NAME``: row ``i`` is the whole's row ``nodes[i]``.

    Random features go by a node's number, which is another one in the part: they are drawn anew, not carried.
    """
    if whole.manifest["encoder"] == RANDOM:
        raise InputError("random features are drawn for each graph: run `linkwalk embed --encoder random`")
    if len(nodes) != part.nodes:
        raise InputError(f"{len(nodes)} rows do not fit a graph of {part.nodes} nodes")
    final = folder_of(workspace, whole.name)
    partial = final.with_name(final.name + ".carried.partial")
    with locked(final):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        writer = ArrayWriter(partial / "vectors.npy", np.float16, whole.width)
        for start in range(0, len(nodes), _CHUNK):
            writer.append(whole.vectors[nodes[start : start + _CHUNK]])
        writer.close()
        copy_fitted(whole.folder, partial)
        manifest = whole.manifest | {
            "graph": part.fingerprint,
            "snapshot": part.manifest["snapshot"],
            "nodes": part.nodes,
            "fingerprint": digest([part.fingerprint, whole.fingerprint]),
        }
        seal(partial, manifest)
        publish(partial, final)
