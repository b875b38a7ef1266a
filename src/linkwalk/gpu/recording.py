"""An update recorded once and replayed: what costs more to start than to run needs the host no more.

A single update is dozens of small operations. Done one by one, a GPU waits for the host between them; as one CUDA
graph they follow each other by themselves.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

_WARM_UP = 3
"""Times it is done one operation at a time before it is recorded: kernels are compiled, buffers are made."""


class RecordedUpdate:
    """Something to be done over and over on a GPU, of which only tensors change from one time to the next."""

    def __init__(self, do: Callable[[], Tensor]) -> None:
        self._do, self._times = do, 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._found: Tensor | None = None

    def __call__(self) -> Tensor:
        """Do it once more; what comes of it, on the device, until the next time."""
        if self._graph is None and self._times < _WARM_UP:
            self._times += 1
            # Not on the usual stream, so that what autograd keeps for a stream is not that of another later on.
            with _aside():
                return self._do()
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._found = self._do()
        self._graph.replay()  # recording has done nothing yet
        assert self._found is not None
        return self._found


@contextmanager
def _aside() -> Iterator[None]:
    """A stream of its own, which waits for the usual one and which the usual one waits for."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)
