"""Compiled loops that cannot leave their arrays, whatever the arrays hold, and a place for their machine code.

What a kernel indexes by comes from files, and files get damaged. In ``@kernel`` the compiler compares every index with
its array's length; one that does not fit is an ``IndexError``, not a crash or a figure made of foreign memory. That
costs a loop up to half of its speed. The few loops that this project is measured by are ``@guarded``: they compare what
they have read from a file with the bound themselves, once, before they index by it, and raise the same error.
``linkwalk.artifact.explain`` turns it into a line that names the damaged file.

Both ask ``within`` and ``row_of`` about numbers from files: to the compiler -1 is the last of an array, here it is
damage. Which of the two a function is holds for it alone, whoever calls it, unless it is inlined: then its caller's
rule holds.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from linkwalk.arrays import Int64s

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])

OUTSIDE = "a number read from a file leads outside of its array"
"""What a guarded kernel raises, as an ``IndexError``."""


def kernel(function: Function) -> Function:
    """Compile a loop in which every index is compared with its array's length."""
    return _compiled(function, boundscheck=True)


def guarded(function: Function) -> Function:
    """Compile a loop that compares by itself what it has read from files, before it indexes by it."""
    return _compiled(function, boundscheck=False)


def inlined(function: Function) -> Function:
    """Compile a part of a kernel into it, under the kernel's own rule."""
    return _compiled(function, boundscheck=True, inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    """Compile when first called; keep the machine code beside the source, in the user's cache, or where else one can.

    numba gives up where neither can be written, as in many containers.
    """
    with suppress(RuntimeError):
        return _kept(function, options)
    if folder := _own_folder():
        settings: Any = config
        before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
        try:
            with suppress(RuntimeError):
                return _kept(function, options)
        finally:
            settings.CACHE_DIR = before
    anew: Callable[[Function], Function] = njit(
        nogil=True, **options
    )  # in every process: seconds, but it works
    return anew(function)


def _kept(function: Function, options: dict[str, Any]) -> Function:
    """Compile when first called; keep the machine code where numba finds a place for it."""
    compiled: Any = njit(cache=True, nogil=True, **options)(function)
    if hasattr(compiled, "_cache"):  # it is the function itself where numba has been told not to compile
        files, compile = compiled._cache._cache_file, compiled.compile
        files.__class__ = CodeFiles

        def compile_once(signature: Any) -> Any:
            # numba's own lock first, as threads of one process take it before they ask for files.
            with global_compiler_lock, files.alone():
                return compile(signature)

        compiled.compile = compile_once
    return cast(Function, compiled)


class CodeFiles(IndexDataCacheFile):
    """numba's files of one function, read and written by one process at a time, from looking for code to keeping it.

    numba takes the next free number, notes it, and then writes. Two processes that come with different types at once
    take the same number, and from then on one of them finds the other's machine code. And sixteen workers that start
    together would all compile the same: here one does, and the others wait for what it keeps.
    """

    _held = False

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code under the types it is for."""
        with self.alone():
            super().save(key, data)  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        """The machine code for these types; None if none is kept."""
        with self.alone():
            return super().load(key)  # type: ignore[no-untyped-call]

    def _load_index(self) -> Any:
        """What is kept; nothing, where it is for types that a later version has no longer, or names otherwise."""
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            return {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out; in this one it is for whoever holds numba's lock, who may ask again within."""
        if self._held:
            yield
            return
        with ExitStack() as held:
            with suppress(OSError):  # where this cannot be written, nor can the code
                file = held.enter_context(open(f"{self._index_path}.lock", "ab"))
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
            self._held = True
            held.callback(setattr, self, "_held", False)
            yield


def _set_up() -> None:
    """Tell numba that there is scipy, where it is installed, instead of letting it load scipy to see: 0.2 s.

    Whether products of matrices can be compiled hangs on it; whoever compiles or runs one loads scipy then.
    """
    with suppress(ImportError, AttributeError, ValueError):  # where another version has it otherwise
        if find_spec("scipy") is None:
            return
        from numba.np import linalg

        asked = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            import numba.np.arraymath  # noqa: F401  (it asks once, and remembers)
        finally:
            linalg.ensure_blas = asked


_set_up()


def _own_folder() -> Path | None:
    """A folder for temporary files that nobody but us can write to: what is in it will be run."""
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir(), f"linkwalk-kernels-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if ours and not found.st_mode & 0o077 and os.access(folder, os.W_OK) else None


def in_pieces(count: int, workers: int, work: Callable[[int, int], None]) -> None:
    """Cut a batch into one piece per worker, and work on all at once; kernels let go of the interpreter."""
    cuts = np.linspace(0, count, max(1, workers) + 1).astype(int).tolist()
    pieces = [(a, b) for a, b in pairwise(cuts) if a < b]
    if len(pieces) <= 1:
        for piece in pieces:
            work(*piece)
        return
    with ThreadPoolExecutor(len(pieces)) as pool:
        list(pool.map(lambda piece: work(*piece), pieces))


@guarded
def within(number: int, size: int) -> int:
    """The number, if something of that size can be indexed by it."""
    if number < 0 or number >= size:
        raise IndexError(OUTSIDE)
    return number


@guarded
def row_of(indptr: Int64s, row: int, size: int) -> tuple[int, int]:
    """Where a row of a ragged array of ``size`` values begins and ends, if there is such a row."""
    if row < 0 or row >= indptr.shape[0] - 1:
        raise IndexError(OUTSIDE)
    first, last = indptr[row], indptr[row + 1]
    if first < 0 or last < first or last > size:
        raise IndexError(OUTSIDE)
    return first, last


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Begin to load ``array[index]`` into the caches; the index is not checked and nothing is read.

    Walks on a large graph are waits for memory, and waits can overlap.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, index_type = signature.args
        data = context.make_array(array_type)(context, builder, arguments[0]).data
        at = context.cast(builder, arguments[1], index_type, types.intp)
        pointer = builder.bitcast(builder.gep(data, [at]), cgutils.voidptr_t)
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        # A read, of data, into the second level of the cache: it keeps more requests in flight than the first, which
        # made steps a quarter faster at 10M nodes.
        builder.call(function, [pointer, word(0), word(2), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)
"""``prefetch(array, index)``, for compiled code only."""
