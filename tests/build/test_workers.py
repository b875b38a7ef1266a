import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linkwalk.build.workers import WorkerPool
from linkwalk.errors import InputError, LinkwalkError


def note(folder: Path, number: int) -> None:
    (folder / str(number)).write_text(str(os.getpid()))


def fail(kind: str) -> None:
    if kind == "input":
        raise InputError("no good")
    if kind == "disk":
        raise OSError(28, "No space left on device", "/some/file")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("count", [1, 2])
def test_every_task_is_done_and_told_of_in_order(tmp_path: Path, count: int) -> None:
    told: list[int] = []
    with WorkerPool(count) as workers:
        workers.run(((note, (tmp_path, i)) for i in range(20)), lambda: told.append(len(told)))
        workers.run([], lambda: told.append(-1))
    assert told == list(range(20))
    processes = {path.read_text() for path in tmp_path.iterdir()}
    assert len(list(tmp_path.iterdir())) == 20
    assert (str(os.getpid()) in processes) == (count == 1)


def test_a_fast_reader_is_held_back(tmp_path: Path) -> None:
    ahead = []
    done = 0

    def tasks():  # type: ignore[no-untyped-def]
        for i in range(30):
            ahead.append(i - done)
            yield note, (tmp_path, i)

    def count() -> None:
        nonlocal done
        done += 1

    with WorkerPool(2) as workers:
        workers.run(tasks(), count)
    assert done == 30
    assert max(ahead) <= 7


@pytest.mark.parametrize("count", [1, 2])
def test_errors_come_through(count: int) -> None:
    with WorkerPool(count) as workers, pytest.raises(InputError, match="no good"):
        workers.run([(fail, ("input",))], lambda: None)
    with WorkerPool(count) as workers, pytest.raises(OSError, match="No space") as caught:
        workers.run([(fail, ("disk",))], lambda: None)
    assert (caught.value.errno, caught.value.filename) == (28, "/some/file")


def test_a_worker_that_dies_is_an_error_in_words() -> None:
    with WorkerPool(2) as workers, pytest.raises(LinkwalkError, match="a worker process died"):
        workers.run([(fail, ("kill",))] * 3, lambda: None)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at processes")
def test_workers_do_not_outlive_their_parent(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from linkwalk.build.workers import WorkerPool\n"
        "from tests.build.test_workers import note\n"
        "if __name__ == '__main__':\n"
        "    w = WorkerPool(2); w.run([(note, (Path(sys.argv[1]), i)) for i in range(8)], lambda: None)\n"
        "    print('ready', flush=True); time.sleep(60)\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    (tmp_path / "notes").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "notes")],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert parent.stdout is not None
    with parent, parent.stdout:
        assert parent.stdout.readline() == "ready\n"
        children = {int(path.read_text()) for path in (tmp_path / "notes").iterdir()}
        assert children
        assert all(map(alive, children))
        parent.kill()
    deadline = time.monotonic() + 20
    while any(map(alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, children))
