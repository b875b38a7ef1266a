"""Searches from many nodes at once: 64 breadth-first searches share one look at each link (Then et al., 2014).

Searches of a small-world graph meet nearly all nodes within some steps, and so do the next one's. A word holds, for
each node, which of 64 searches have been there; one pass over the links of a node moves all of them a step further.
"""

import numpy as np
from numpy.typing import NDArray

from linkwalk.arrays import Int32s, Int64s
from linkwalk.compiled import guarded, row_of, within

AT_ONCE = 64
_ONE = np.uint64(1)


@guarded
def flood_many(
    indptr: Int64s, indices: Int32s, sources: Int32s, nodes: Int32s, distance: NDArray[np.int8], far: int
) -> None:
    """Fill ``distance`` [S, C]: the steps from each source to some nodes, each of these once, ``far`` at most."""
    size = indptr.shape[0] - 1
    place = np.full(size, -1, np.int32)
    for i in range(nodes.shape[0]):
        place[within(nodes[i], size)] = i
    distance[:] = far
    seen, now, new = np.empty(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    queue, found = np.empty(size, np.int32), np.empty(size, np.int32)
    for first in range(0, sources.shape[0], AT_ONCE):
        seen[:] = 0
        now[:] = 0
        many = min(AT_ONCE, sources.shape[0] - first)
        count = 0
        for i in range(many):
            source = within(sources[first + i], size)
            if now[source] == 0:
                queue[count] = source
                count += 1
            now[source] |= _ONE << np.uint64(i)
            if place[source] >= 0:
                distance[first + i, place[source]] = 0
        for k in range(count):
            seen[queue[k]] = now[queue[k]]
        step = 0
        while count > 0 and step + 1 < far:
            step += 1
            met = 0
            for k in range(count):
                node = queue[k]
                here = now[node]
                begin, end = row_of(indptr, node, indices.shape[0])
                for edge in range(begin, end):
                    to = within(indices[edge], size)
                    fresh = here & ~seen[to]
                    if fresh != 0:
                        if new[to] == 0:
                            found[met] = to
                            met += 1
                        new[to] |= fresh
            for k in range(count):
                now[queue[k]] = 0
            for k in range(met):
                to = found[k]
                now[to] = new[to]
                seen[to] |= new[to]
                new[to] = 0
                if place[to] >= 0:
                    for i in range(many):
                        if (now[to] >> np.uint64(i)) & _ONE:
                            distance[first + i, place[to]] = step
            queue, found = found, queue
            count = met
