"""Code that has a way with kernels and one without: every test of it takes both, where there is Triton.

Kernels need a GPU, or on a CPU Triton's interpreter: TRITON_INTERPRET=1 pytest tests -k on_device. Without Triton
``tests.triton_in_numpy`` stands in for it.
"""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch

from linkwalk.gpu.walks import runs_kernels, without_kernels

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(
    params=[
        "plain",
        pytest.param(
            "kernels",
            marks=pytest.mark.skipif(not runs_kernels(DEVICE), reason="needs a GPU, or Triton's interpreter"),
        ),
    ]
)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """With kernels, or as if Triton were not there."""
    with without_kernels() if request.param == "plain" else nullcontext():
        yield request.param
