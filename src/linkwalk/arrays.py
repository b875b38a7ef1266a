"""Arrays by what they hold, in a word: what signatures are written in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Integers = NDArray[np.integer[Any]]
UInt16s = NDArray[np.uint16]
UInt32s = NDArray[np.uint32]
UInt64s = NDArray[np.uint64]
Float16s = NDArray[np.float16]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Array = NDArray[Any]
