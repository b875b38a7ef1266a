"""The baselines again, one episode at a time in plain Python, from the words that describe them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.csr import Csr
from linkwalk.navigate import BACK

Walk = tuple[list[int], list[int]]


def cosines(vectors: NDArray[np.float32], targets: Sequence[int], goal: int) -> list[float]:
    return [float(vectors[t] @ vectors[goal]) for t in targets]


def greedy(graph: Csr, vectors: NDArray[np.float32], start: int, goal: int, budget: int, back: bool) -> Walk:
    path, stack = [start], [start]
    moves: list[int] = []
    while path[-1] != goal and len(moves) < budget:
        targets = graph.row(path[-1]).tolist()
        pages = targets + ([stack[-2]] if back and len(stack) > 1 else [])
        if not pages:
            break
        scores = cosines(vectors, pages, goal)
        choice = scores.index(max(scores))
        if choice < len(targets):
            stack.append(targets[choice])
        else:
            stack.pop()
            choice = BACK
        moves.append(choice)
        path.append(stack[-1])
    return path, moves


def greedy_unvisited(graph: Csr, vectors: NDArray[np.float32], start: int, goal: int, budget: int) -> Walk:
    path = [start]
    moves: list[int] = []
    while path[-1] != goal and len(moves) < budget:
        targets = graph.row(path[-1]).tolist()
        if not targets:
            break
        scores = cosines(vectors, targets, goal)
        fresh = [i for i, t in enumerate(targets) if t not in path]
        if fresh:
            choice = max(fresh, key=lambda i: (scores[i], -i))
        else:
            ages = [path[::-1].index(t) for t in targets]
            choice = ages.index(max(ages))
        moves.append(choice)
        path.append(targets[choice])
    return path, moves


def best_first(
    graph: Csr, vectors: NDArray[np.float32], start: int, goal: int, budget: int, window: int
) -> Walk:
    path, stack = [start], [start]
    moves: list[int] = []

    def press_back() -> None:
        stack.pop()
        path.append(stack[-1])
        moves.append(BACK)

    def click(choice: int) -> None:
        stack.append(int(graph.row(stack[-1])[choice]))
        path.append(stack[-1])
        moves.append(choice)

    while path[-1] != goal and len(moves) < budget:
        found = []
        for away, page in enumerate(stack[::-1][:window]):
            targets = graph.row(page).tolist()
            for i, score in enumerate(cosines(vectors, targets, goal)):
                if targets[i] not in path:
                    found.append((-score, away, i))
        if found:
            _, away, choice = min(found)
            for _ in range(away):
                if len(moves) < budget:
                    press_back()
            if len(moves) < budget:
                click(choice)
        elif len(stack) > 1:
            press_back()
        else:
            targets = graph.row(stack[0]).tolist()
            if not targets:
                break
            ages = [path[::-1].index(t) for t in targets]
            click(ages.index(max(ages)))
    return path, moves


def greedy_dfs(
    graph: Csr, vectors: NDArray[np.float32], start: int, goal: int, budget: int, depth: int
) -> Walk:
    path = [start]
    moves: list[int] = []

    def search(node: int, below: int) -> bool:
        """Whether the journey is over."""
        while node != goal and len(moves) < budget:
            targets = graph.row(node).tolist()
            fresh = [i for i, t in enumerate(targets) if t not in path] if below < depth else []
            if not fresh:
                return False
            scores = cosines(vectors, targets, goal)
            choice = max(fresh, key=lambda i: (scores[i], -i))
            moves.append(choice)
            path.append(targets[choice])
            if search(targets[choice], below + 1) or len(moves) == budget:
                return True
            moves.append(BACK)
            path.append(node)
        return True

    search(start, 0)
    return path, moves


def replay(graph: Csr, path: Sequence[int], moves: Sequence[int]) -> list[int]:
    """The pages behind the back button after those moves, the current one last; every move must be one."""
    stack = [path[0]]
    for page, move in zip(path[1:], moves, strict=True):
        if move == BACK:
            stack.pop()
        else:
            stack.append(int(graph.row(stack[-1])[move]))
        assert stack[-1] == page
    return stack


def map_ways(
    graph: Csr,
    vectors: NDArray[np.float32],
    direction: NDArray[np.float32],
    path: Sequence[int],
    moves: Sequence[int],
    *,
    window: int,
    detour: float,
    crowding: float,
    likeness: float,
    homing: float = 0.0,
) -> dict[int, float]:
    """What each first move is worth to a walker with a map that has come this far; moves that lead to nothing unseen
    are left out."""
    pages, look = vectors.astype(float), direction.astype(float)
    seen = list(dict.fromkeys(path))
    stack = replay(graph, path, moves)
    depth = {path[0]: 0}
    for read, page in enumerate(seen):
        for target in graph.row(page).tolist():
            if target not in seen[: read + 1]:
                depth[target] = min(depth.get(target, depth[page] + 1), depth[page] + 1)
    # A place is a page and how often the back button was pressed to get there, None once a link was clicked: then
    # pages behind the button are no longer so many presses away.
    places: list[tuple[int, int | None, tuple[int, ...]]] = [(stack[-1], 0, ())]
    been = {(stack[-1], 0)}
    ways: dict[int, float] = {}
    found = set()
    while places:
        further: list[tuple[int, int | None, tuple[int, ...]]] = []
        for page, pressed, way in places:
            if page not in seen:
                if page not in found:
                    found.add(page)
                    crowd = np.maximum(0, (pages[seen] @ pages[page] - likeness) / (1 - likeness)).sum()
                    worth = pages[page] @ look - crowding * np.log(1 + crowd) - detour * (len(way) - 1)
                    worth -= homing * np.log(depth[page])
                    ways[way[0]] = max(ways.get(way[0], -np.inf), float(worth))
                continue
            steps: list[tuple[int, int | None, int]] = []
            if pressed is not None and pressed + 1 < min(window, len(stack)):
                steps.append((stack[-2 - pressed], pressed + 1, BACK))
            steps += [(target, None, i) for i, target in enumerate(graph.row(page).tolist())]
            for to, presses, move in steps:
                if (to, presses) not in been:
                    been.add((to, presses))
                    further.append((to, presses, (*way, move)))
        places = further
    return ways


Look = Callable[[int, set[int]], list[float]]
"""How good a policy finds each link of a page, if it has been at those pages."""


def policy_with_back(
    graph: Csr, look: Look, path: Sequence[int], moves: Sequence[int], window: int, near: float
) -> list[set[int]]:
    """What a policy with a back button may do before each of those moves, and after them; within ``near`` of the best
    is as good as the best."""
    stack: list[int] = [path[0]]
    # Of each page opened its best unseen links, equally good, and how good, as it was last looked at.
    known: list[tuple[float, list[int]] | None] = []
    allowed: list[set[int]] = []
    for t in range(len(path)):
        seen = set(path[: t + 1])
        for at in range(max(0, len(stack) - window), len(stack)):
            targets = graph.row(stack[at]).tolist()
            if at < len(known):
                best = known[at]
                if best is None or targets[best[1][0]] not in seen:
                    continue
            else:
                known.append(None)
            fresh = {i: score for i, score in enumerate(look(stack[at], seen)) if targets[i] not in seen}
            top = max(fresh.values(), default=0.0)
            known[at] = (top, [i for i, score in fresh.items() if score > top - near]) if fresh else None
        found = [best for best in known[-window:] if best is not None]
        targets = graph.row(stack[-1]).tolist()
        if found:
            top, here = max(score for score, _ in found), known[-1]
            good = set(here[1]) if here is not None and here[0] > top - near else set()
            behind = any(best is not None and best[0] > top - near for best in known[-window:-1])
            allowed.append(good | ({BACK} if behind else set()))
        elif len(stack) > 1:
            allowed.append({BACK})
        else:
            ages = [path[t::-1].index(target) for target in targets]
            allowed.append({ages.index(max(ages))} if ages else set())
        if t == len(moves):
            break
        if moves[t] == BACK:
            stack.pop()
            known.pop()
        else:
            stack.append(int(graph.row(stack[-1])[moves[t]]))
        assert stack[-1] == path[t + 1]
    return allowed
