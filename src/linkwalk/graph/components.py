"""Connected components, weak and strong: which blocks a walk can reach and come back from (app. A.3)."""

from dataclasses import dataclass

import numpy as np

from linkwalk.arrays import Bools, Int32s, Int64s
from linkwalk.compiled import guarded, kernel, row_of, within
from linkwalk.graph.csr import Csr


@dataclass(frozen=True)
class Components:
    """A partition of the nodes: ``labels[node]`` is the component's number, ``sizes[label]`` its nodes."""

    labels: Int32s
    sizes: Int64s

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.sizes)

    @property
    def largest(self) -> int:
        """Nodes in the largest component."""
        return int(self.sizes.max(initial=0))

    @property
    def largest_share(self) -> float:
        """Share of all nodes that are in the largest component."""
        return self.largest / max(len(self.labels), 1)

    def in_largest(self) -> Bools:
        """Whether each node is in the largest component, the first of them if several are as large."""
        return np.equal(self.labels, int(self.sizes.argmax()) if self.count else -1)


def weak_components(graph: Csr) -> Components:
    """Components when links are followed both ways, numbered by first node (union-find, 4 bytes per node)."""
    labels = np.arange(graph.nodes, dtype=np.int32)
    _unite(graph, labels)
    count = _number_roots(labels)
    return Components(labels, np.bincount(labels, minlength=count))


def strong_components(graph: Csr) -> Components:
    """Components within which every node reaches every other, in O(N + E) and 17 bytes per node.

    A component gets its number after all those it can reach: links between components lead to
    smaller numbers.
    """
    n = graph.nodes
    labels = np.zeros(n, np.int32)
    _find_strong(graph, labels, np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.bool_))
    np.subtract(n - 1, labels, out=labels)
    return Components(labels, np.bincount(labels))


@guarded
def _root(parents: Int32s, node: int) -> int:
    """The first node of what has been united with this one; parents are nodes, and so are theirs."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]  # halve the way for whoever comes next
        node = parents[node]
    return node


@guarded
def _unite(graph: Csr, parents: Int32s) -> None:
    indptr, indices = graph
    for node in range(indptr.shape[0] - 1):
        a = _root(parents, node)
        first, last = row_of(indptr, node, indices.shape[0])
        for edge in range(first, last):
            b = _root(parents, within(indices[edge], parents.shape[0]))
            if a < b:  # the smaller number wins, so a component's root is its first node
                parents[b] = a
            elif b < a:
                parents[a] = b
                a = b


@kernel
def _number_roots(parents: Int32s) -> int:
    """Replace parents by components' numbers: a parent stands before its nodes, so it is numbered already."""
    count = 0
    for node in range(parents.shape[0]):
        if parents[node] == node:
            parents[node] = count
            count += 1
        else:
            parents[node] = parents[parents[node]]
    return count


@guarded
def _find_strong(graph: Csr, label: Int32s, stack: Int32s, cursor: Int64s, root: Bools) -> None:
    """Depth-first with one number per node (Pearce's variant of Tarjan's algorithm), without recursion.

    ``label`` is 0 before a visit, then the smallest visiting number reachable, in the end the component's,
    counted down from N - 1. A node is either on the way down (``stack`` from its left end) or waiting for its
    component's root (from its right end), never both: one array holds the two stacks, and has room for all nodes.
    """
    indptr, indices = graph
    n = indptr.shape[0] - 1
    visiting, component = 1, n - 1
    down, waiting = 0, n
    for first in range(n):
        if label[first] != 0:
            continue
        stack[0] = first
        down = 1
        label[first] = visiting
        visiting += 1
        root[first] = True
        cursor[first] = row_of(indptr, first, indices.shape[0])[0]
        while down > 0:
            node = stack[down - 1]
            deeper = False
            while cursor[node] < indptr[node + 1]:
                target = within(indices[cursor[node]], n)
                if label[target] == 0:
                    # The cursor stays on this edge: the target is looked at again once it is done.
                    stack[down] = target
                    down += 1
                    label[target] = visiting
                    visiting += 1
                    root[target] = True
                    cursor[target] = row_of(indptr, target, indices.shape[0])[0]
                    deeper = True
                    break
                if label[target] < label[node]:
                    label[node] = label[target]
                    root[node] = False
                cursor[node] += 1
            if deeper:
                continue
            down -= 1
            if root[node]:
                visiting -= 1
                while waiting < n and label[node] <= label[stack[waiting]]:
                    label[stack[waiting]] = component
                    waiting += 1
                    visiting -= 1
                label[node] = component
                component -= 1
            else:
                waiting -= 1
                stack[waiting] = node
