"""Traps: where all that can still be reached has been seen, a walk is over, whatever steps it has left."""

from collections.abc import Iterable

from linkwalk.graph.csr import Csr


def trapped_at(graph: Csr, path: list[int], *, back: bool) -> int | None:
    """The first step of a walk at which nothing unseen could be reached any more; None if there is none.

    With a back button every page seen can be reached again. A page is looked at only where the walk goes on to one it
    has seen, or ends: from a trap there is no other way.
    """
    seen: set[int] = set()
    leads_on: set[int] = set()  # pages that lead to something unseen, as long as nothing more has been seen
    for step, node in enumerate(path):
        if node not in seen:
            seen.add(node)
            leads_on.clear()
        on = path[step + 1] if step + 1 < len(path) else node
        if on in seen and node not in leads_on:
            if not _leads_on(graph, seen if back else (node,), seen):
                return step
            leads_on.add(node)
    return None


def _leads_on(graph: Csr, starts: Iterable[int], seen: set[int]) -> bool:
    """Whether links lead from these pages, by way of pages seen, to one that is not."""
    to_do = list(starts)
    found = set(to_do)
    while to_do:
        for target in graph.row(to_do.pop()).tolist():
            if target not in seen:
                return True
            if target not in found:
                found.add(target)
                to_do.append(target)
    return False
