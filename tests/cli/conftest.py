"""Runs the command line in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from linkwalk.cli import main
from tests.graph.conftest import random_graph


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*args: object) -> Ran:
        with pytest.raises(SystemExit) as leave:
            main([str(arg) for arg in args])
        code = leave.value.code
        return Ran(code if isinstance(code, int) else 0 if code is None else 1, *capsys.readouterr())

    return run


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    random_graph(tmp_path / "wiki", np.random.default_rng(5), articles=30)
    return tmp_path / "wiki"
