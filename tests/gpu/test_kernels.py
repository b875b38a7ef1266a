"""Triton's kernels where there is no Triton: in numpy, they pass the tests that they pass on a GPU."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/gpu",
    "tests/walks/test_samplers.py",
    "tests/learn/test_clone_on_device.py",
    "tests/learn/test_impala.py",
)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is not None, reason="the tests themselves run them")
def test_kernels_compute_what_plain_torch_does() -> None:
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.triton_in_numpy",
        "-k",
        "kernels and not torch_does",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *TESTS],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout
