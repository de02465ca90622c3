"""Names for arrays by their element, and what stands in an integer array for no value."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Int8s = npt.NDArray[np.int8]
Float64s = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

#: In a column of values, such as times and sizes: there is none. It becomes null in a table.
NULL: Final = int(np.iinfo(np.int64).min)
#: In an array of positions: it points nowhere.
NONE: Final = -1
