"""The threads of numpy's BLAS do not wait busily in a command of a second, unless somebody wants them to."""

import os
import subprocess
import sys

import pytest

_BEGIN = """
import os, sys
from linkwalk.cli import main
try:
    main(["--version"])
finally:
    print(os.environ["OPENBLAS_THREAD_TIMEOUT"], "numpy" in sys.modules)
"""


@pytest.mark.parametrize(
    ("own", "expected"), [({}, "20 False"), ({"OPENBLAS_THREAD_TIMEOUT": "26"}, "26 False")]
)
def test_threads_rest_early(own: dict[str, str], expected: str) -> None:
    known = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    done = subprocess.run([sys.executable, "-c", _BEGIN], env=known | own, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == expected, done.stderr
