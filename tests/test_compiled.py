"""Kernels stay in their arrays whatever a file holds, and run where nothing can be written."""

import ast
import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwalk.compiled import OUTSIDE, CodeFiles, guarded, inlined, kernel, row_of, within
from tests.test_architecture import FILES, PACKAGE, imports

ROOT = Path(__file__).parents[1]
_COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "jit_module"}


@kernel
def _read(array: NDArray[np.int64], at: int) -> int:
    return int(array[at])


@inlined
def _part(array: NDArray[np.int64], at: int) -> int:
    return int(array[at])


@kernel
def _read_in_part(array: NDArray[np.int64], at: int) -> int:
    return _part(array, at)


@guarded
def _ask(array: NDArray[np.int64], at: int) -> int:
    return _read(array, at)


@pytest.mark.parametrize("read", [_read, _read_in_part, _ask])
def test_an_index_beyond_its_array_is_an_error(read: Callable[..., int]) -> None:
    """Wherever the kernel's parts stand, and whoever calls it."""
    array = np.arange(3)
    assert [read(array, at) for at in range(3)] == [0, 1, 2]
    for at in (3, -4, 2**40, -(2**63)):
        with pytest.raises(IndexError):
            read(array, at)


wide = st.sampled_from([-(2**63), -(2**31), -1, 2**31 - 1, 2**63 - 1]) | st.integers(-3, 8)


@given(wide, st.integers(-2, 8))
def test_numbers_are_within_or_an_error(number: int, size: int) -> None:
    for of_type in (np.int64(number), np.int32(np.clip(number, -(2**31), 2**31 - 1))):
        if 0 <= of_type < size:
            assert within(of_type, size) == of_type
        else:
            with pytest.raises(IndexError, match=OUTSIDE):
                within(of_type, size)


@given(st.lists(wide, max_size=4), wide, st.integers(0, 8))
def test_rows_are_rows_or_an_error(bounds: list[int], row: int, size: int) -> None:
    indptr = np.array(bounds, np.int64)
    if 0 <= row < len(bounds) - 1 and 0 <= bounds[row] <= bounds[row + 1] <= size:
        assert row_of(indptr, row, size) == (bounds[row], bounds[row + 1])
    else:
        with pytest.raises(IndexError, match=OUTSIDE):
            row_of(indptr, row, size)


def test_everything_is_compiled_in_one_place() -> None:
    """One that is compiled elsewhere is not compared with anything."""
    for path in FILES:
        if path == PACKAGE / "compiled.py":
            continue
        named = {name for _, name in imports(path) if name.startswith("numba")}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "numba":
                named.add(node.attr)
        assert not {name.rpartition(".")[2] for name in named} & _COMPILERS, path


@pytest.mark.slow
def test_damaged_graphs_end_in_an_error_and_never_in_a_crash() -> None:
    """Every operation on some hundred graphs; the output's last line is the one that failed."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.damaged", "300"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-5000:]}"


def test_two_who_compile_for_different_types_at_once_keep_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert type(within._cache._cache_file) is CodeFiles
    looked, look = threading.Barrier(2), CodeFiles._load_index

    def look_together(self: CodeFiles) -> object:
        found = look(self)
        with contextlib.suppress(threading.BrokenBarrierError):
            looked.wait(1)  # in vain, where only one at a time may look
        return found

    files = [CodeFiles(str(tmp_path), "kernel", "source") for _ in "ab"]
    with monkeypatch.context() as meanwhile, ThreadPoolExecutor() as both:
        meanwhile.setattr(CodeFiles, "_load_index", look_together)
        saved = [both.submit(one.save, f"types {i}", f"code {i}") for i, one in enumerate(files)]
    assert [one.result() for one in saved] == [None, None]
    assert [files[0].load(f"types {i}") for i in range(2)] == ["code 0", "code 1"]


def test_of_several_processes_that_need_the_same_code_one_compiles_it(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        "from linkwalk.compiled import kernel\n"
        "@kernel\n"
        "def inner(n):\n    return n + 1\n"
        "@kernel\n"
        "def outer(n):\n    return inner(n) + 1\n"
        "Path(sys.argv[1]).touch()\n"
        "while len(list(Path(sys.argv[1]).parent.glob('ready-*'))) < 3: time.sleep(0.001)\n"
        "assert outer(1) == 3\n"
        "print(sum(outer.stats.cache_misses.values()))\n"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(PACKAGE.parent)}
    commands = [[sys.executable, str(tmp_path / "slow.py"), str(tmp_path / f"ready-{i}")] for i in range(3)]
    started = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for command in commands]
    assert sorted(process.communicate()[0].strip() for process in started) == ["0", "0", "1"]


@pytest.fixture
def frozen(tmp_path: Path) -> dict[str, str]:
    """The environment of an installed package where neither its folder nor the user's cache can be written.

    Files stand where folders would have to be made: that stops root, too.
    """
    package = tmp_path / "installed" / "linkwalk"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "data", "static"))
    for folder in (package, *(entry for entry in package.iterdir() if entry.is_dir())):
        (folder / "__pycache__").touch()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "below")
    known = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return known | {
        "PYTHONPATH": str(package.parent),
        "TMPDIR": str(tmp_path / "temporary"),
        **dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"), nowhere),
    }


_GATHER = """
import numba, numpy as np
from linkwalk.graph import csr
try:
    numba.njit(cache=True)(csr.union)
except RuntimeError as error:
    assert "no locator available" in str(error)
else:
    raise SystemExit("numba finds a place by itself")
graph = csr.Csr(np.array([0, 2, 2]), np.array([1, 0], np.int32))
print(csr.__file__, graph.gather(np.array([1, 0])).indices.tolist())
"""


def _gather(environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", _GATHER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("linkwalk")[2]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="elsewhere no folder is known to be ours alone")
def test_machine_code_is_kept_in_a_folder_of_our_own(frozen: dict[str, str]) -> None:
    folder = Path(frozen["TMPDIR"], f"linkwalk-kernels-{os.getuid()}")
    for _ in range(2):
        assert _gather(frozen).endswith("csr.py [1, 0]\n")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(list(folder.rglob("*.nbc"))) > 0


def test_code_for_types_that_are_gone_is_compiled_anew(tmp_path: Path) -> None:
    """As after an update in which a tuple that kernels take has another name."""
    files = CodeFiles(str(tmp_path), "kernel", "source")
    files.save("key", "code")
    Path(files._index_path).write_bytes(
        b"".join((b"\x80\x04\x8c\x11linkwalk.compiled", b"\x8c\x04Gone\x93."))
    )
    assert files.load("key") is None
    files.save("key", "newer")
    assert files.load("key") == "newer"


def test_kernels_run_where_nothing_can_be_kept(frozen: dict[str, str]) -> None:
    """A folder of that name that others can write to is not ours: what is in it would be run."""
    folder = Path(frozen["TMPDIR"], f"linkwalk-kernels-{os.getuid() if hasattr(os, 'getuid') else 0}")
    folder.mkdir()
    folder.chmod(0o777)
    assert _gather(frozen).endswith("csr.py [1, 0]\n")
    assert list(folder.iterdir()) == []


_PRODUCT = """
import sys
from linkwalk.compiled import within
assert within(1, 2) == 1
assert "scipy.linalg" not in sys.modules, "the first kernel loads it"
from numba.np import arraymath, linalg
assert arraymath._HAVE_BLAS
linalg.ensure_blas()
assert "scipy.linalg" in sys.modules
"""


def test_scipy_is_not_loaded_before_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", _PRODUCT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
