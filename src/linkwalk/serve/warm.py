"""The first request should not be the slow one: kernels compiled and models read while nobody waits."""

import contextlib
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwalk.serve.api import Api


def warm_up(api: "Api", describe: Callable[[], object]) -> None:
    """Walk a little and look for something, in the threads that will do so; what fails will be told when asked for."""
    api.lanes.walks.start(lambda: _settled(lambda: _walk(api)))
    api.lanes.walks.start(lambda: _settled(describe))
    if api.health.find:
        api.lanes.torch.start(lambda: _settled(lambda: _find(api)))


def _settled(work: Callable[[], object]) -> None:
    """Do it, and let the garbage collector leave alone what is there to stay.

    Half a million objects, most of them torch's: looking through them all takes 0.2 s, in which nobody is answered.
    """
    with contextlib.suppress(BaseException):  # a panic of a Rust library is no Exception
        work()
    gc.collect()
    gc.freeze()


def _walk(api: "Api") -> None:
    api.wiki.titles("a", 1)
    start, goal, _ = api.wiki.pair(0, 2, 6)
    for agent in api.wiki.agents[:1]:
        api.wiki.walk(start.node, goal.node, agent=agent, budget=5)


def _find(api: "Api") -> None:
    api.wiki.find(api.wiki.graph.title(0), 1)
