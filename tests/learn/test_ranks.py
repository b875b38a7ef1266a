"""Two processes with half of a batch each learn what one learns from the whole."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.embed.conftest import tiny_bert
from tests.learn import ranked


@pytest.mark.slow
def test_two_processes_learn_what_one_does(embedded_world: Path, tmp_path: Path) -> None:
    model = tiny_bert(tmp_path / "tiny")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    root = str(Path(__file__).parents[2])
    places = os.pathsep.join((root, os.environ.get("PYTHONPATH", "")))
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "PYTHONPATH": places}
    command = [sys.executable, "-m", "tests.learn.ranked", embedded_world, model, tmp_path / "two"]
    both = [
        subprocess.Popen(command, env={**os.environ, **common, "RANK": str(rank)}, stdout=subprocess.PIPE)
        for rank in range(2)
    ]
    one = ranked.main(embedded_world, model, tmp_path / "one")
    first, second = (json.loads(process.communicate(timeout=100)[0]) for process in both)
    assert second["policy"] == second["encoder"] == second["wikis"] == [], "the first writes for all"
    assert first["weights"] == second["weights"]
    for name, losses in one.items():
        assert len(losses) > 1
        assert first[name] == pytest.approx(losses, rel=1e-4)
