"""schemathesis against a real server: it asks whatever the description allows, and much that it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.conftest import Served


@pytest.mark.slow
def test_the_description_holds(server: Served, tmp_path: Path) -> None:
    """All checks, all phases; examples are drawn anew in every run but in continuous integration, as elsewhere."""
    command = [
        *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
        *("run", f"{server.url}/openapi.json", "--checks", "all", "--max-examples", "8"),
        *("--generation-database", "none", "--continue-on-failure", "--no-color"),
        # Twice what the server allows itself, since a busy machine is no finding.
        *("--request-timeout", "60", "--max-response-time", "60"),
        *(("--seed", "1") if os.environ.get("CI") else ()),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout
    assert "14 selected / 14 total" in done.stdout
