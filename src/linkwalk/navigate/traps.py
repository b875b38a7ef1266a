"""Traps: where all that can still be reached has been seen, a walk is over, whatever steps it has left."""

from linkwalk.graph.csr import Csr


def trapped_at(graph: Csr, path: list[int], *, back: bool) -> int | None:
    """The first step of a walk at which nothing unseen could be reached any more; None if there is none.

    A page is looked at only where the walk goes on to one it has seen, or ends: from a trap there is no other way.
    """
    seen: set[int] = set()
    pages: list[int] = []  # the same, in order
    leads_on: set[int] = set()  # pages that lead to something unseen, as long as nothing more has been seen
    done = 0  # with a back button: so many of the pages seen lead to nothing new, and never will again
    for step, node in enumerate(path):
        if node not in seen:
            seen.add(node)
            pages.append(node)
            leads_on.clear()
        on = path[step + 1] if step + 1 < len(path) else node
        if on not in seen or node in leads_on:
            continue
        if back:  # every page seen can be reached again
            while done < len(pages) and seen.issuperset(graph.row(pages[done]).tolist()):
                done += 1
            trapped = done == len(pages)
        else:
            trapped = not _leads_on(graph, node, seen)
        if trapped:
            return step
        leads_on.add(node)
    return None


def _leads_on(graph: Csr, start: int, seen: set[int]) -> bool:
    """Whether links lead from a page, by way of pages seen, to one that is not."""
    to_do, found = [start], {start}
    while to_do:
        for target in graph.row(to_do.pop()).tolist():
            if target not in seen:
                return True
            if target not in found:
                found.add(target)
                to_do.append(target)
    return False
