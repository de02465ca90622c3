"""The type of device work whose file states none: the short name of its kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.facts.kernel_names import short_name
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.codes import Codes


def kernel_types(
    slices: SliceTable, device_work: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int32], list[str | None]]:
    """Codes and texts of the column ``type``, -1 on the host; each distinct name is made short once."""
    names = slices.names.texts()
    types = Codes()
    type_of_name = np.full(len(names) + 1, -1, np.int32)
    for name in np.unique(slices.name[device_work]).tolist():
        if name >= 0 and (text := names[name]) is not None:
            type_of_name[name] = types[short_name(text)]
    return np.where(device_work, type_of_name[slices.name], np.int32(-1)), types.texts()
