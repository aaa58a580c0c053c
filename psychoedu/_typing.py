"""Array aliases used in every signature of the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
CodeArray = NDArray[np.int8]
"""One byte a cell: 1 right, 0 wrong, negative for a cell without a score."""

AnyArray = NDArray[Any]
