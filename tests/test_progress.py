import io
import os
import pty
import re
import subprocess
import sys

import pytest

from linkwalk import progress as module
from linkwalk.progress import Progress


def test_plain_lines_off_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with Progress().stage("read", 200, "MB") as stage:
        for done in range(1, 101):
            now += 1
            stage.update(done)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10 + 1
    assert lines[0] == "read: 5 %, 10/200 MB, 1.0 MB/s, ETA 3:10"
    assert lines[-1] == "read: 100 MB in 100.0 s (1.0 MB/s)"


def test_quiet_shows_nothing_but_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Progress(quiet=True)
    with quiet.stage("read", 2, "MB") as stage:
        stage.advance()
        stage.advance()
        assert stage.done == 2
    quiet.warn("mind the gap")
    assert capsys.readouterr() == ("", "warning: mind the gap\n")


def test_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress().stage("read", 0, "MB") as stage:
        stage.update(0)
        assert stage.line().startswith("read: 100 %, 0/0 MB")


def test_an_error_passes_through() -> None:
    with pytest.raises(ValueError, match="stop"), Progress().stage("read", 1, "MB"):
        raise ValueError("stop")


def test_a_bar_with_rate_and_eta_on_a_terminal() -> None:
    code = (
        "import time; from linkwalk.progress import Progress\n"
        "with Progress().stage('link', 2000, 'shards') as stage:\n"
        "    for _ in range(10):\n        time.sleep(0.05); stage.advance(200)\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, stdout=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    shown = io.BytesIO()
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        shown.write(block)
    os.close(ours)
    assert process.wait(timeout=30) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue().decode())
    assert "2,000/2,000 shards" in text
    assert re.search(r"[\d,.]+ shards/s", text)
    assert "ETA" in text
