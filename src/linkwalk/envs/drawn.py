"""Episodes by counter: episode ``k`` of a seed is walk ``k`` of that seed, whoever draws it and when (sec. 4.1).

A walk that ends where it began is no episode and is drawn again, as ``ForwardWalks`` does with ``apart``. Every
environment has a seed and counts its own episodes, so that they depend neither on how many there are beside it nor on
how fast these get ahead.
"""

from typing import NamedTuple

import numpy as np

from linkwalk.arrays import Int32s, Int64s
from linkwalk.compiled import guarded, row_of, within
from linkwalk.envs.world import World
from linkwalk.errors import InputError
from linkwalk.evaluate import TaskConfig
from linkwalk.walks.draws import FIRST_STEP_DRAW, LENGTH_DRAW, START_DRAW, below, draw, key_of
from linkwalk.walks.sampler import linked_nodes

ATTEMPTS = 1000


class Drawing(NamedTuple):
    """What a kernel needs to draw episodes of a task: the graph walked on, which is the transposed one in reverse."""

    indptr: Int64s
    indices: Int32s
    begins: Int32s
    """Where a walk may begin."""
    steps: int
    multistep: bool
    reverse: bool

    @classmethod
    def of(cls, world: World, task: TaskConfig) -> "Drawing":
        """The drawing of a task's episodes."""
        reverse = task.sampling == "reverse"
        graph = world.reverse if reverse else world.forward
        begins = linked_nodes(graph, what="links")
        return cls(graph.indptr, graph.indices, begins, task.steps, task.task == "multistep", reverse)


def none_found(steps: int) -> InputError:
    """The error that walks lead nowhere."""
    return InputError(f"no walk of {steps} steps ends elsewhere than it began: the graph has too few links")


@guarded
def draw_episode(drawing: Drawing, seed: np.uint64, number: int) -> tuple[int, int]:
    """Start and goal of an episode; -1 and -1 where none is found."""
    size = drawing.indptr.shape[0] - 1
    for attempt in range(ATTEMPTS):
        key = key_of(seed, attempt, number)
        begin = within(drawing.begins[below(draw(key, START_DRAW), drawing.begins.shape[0])], size)
        length = np.int64(drawing.steps)
        if drawing.multistep:
            length = 1 + below(draw(key, LENGTH_DRAW), drawing.steps)
        here = begin
        for step in range(1, length + 1):
            first, last = row_of(drawing.indptr, here, drawing.indices.shape[0])
            if first == last:
                break
            link = first + below(draw(key, FIRST_STEP_DRAW + step), last - first)
            here = within(drawing.indices[link], size)
        if here != begin:
            return (here, begin) if drawing.reverse else (begin, here)
    return -1, -1
