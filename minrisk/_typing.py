"""Array aliases. Shapes are said where an array is used: n rows, d features, K classes, D decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
Codes = IntArray | Int32Array
Keys = npt.NDArray[np.uint64]
Labels = npt.NDArray[Any]
Binned = npt.NDArray[np.uint8]  # (d, n): one feature is contiguous
Bag = npt.NDArray[np.bool_]
LeftOut = npt.NDArray[np.float32]  # scores of rows that a member leaves out, which only rows look into
