"""The columns of the slices of a trace that come from arguments and joins."""

from __future__ import annotations

import numpy as np

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.kineto.arguments import ArgumentColumns
from stepscope.readers.kineto.trace_slices import Joins, TraceSlices
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.kernel_types import kernel_types
from stepscope.readers.trace_json.codes import Codes


def describe(trace: TraceSlices, joins: Joins, step: Int64s, arguments: ArgumentColumns, stack: Int64s) -> None:
    """Fill the columns of the slices that come from arguments and joins."""
    slices, argument = trace.table, trace.argument
    slices.integers |= {
        "step": step,
        "correlation": argument["correlation"],
        "stream": np.where(trace.on_device, argument.pop("stream"), NULL),
        "bytes": argument["bytes"],
        "stack": np.where(slices.is_kind("python", "module"), NULL, stack),
    }
    operator = np.where(joins.operator == NONE, -1, slices.name[joins.operator])
    slices.texts |= {
        "phase": (joins.phase, list(pytorch.PHASES)),
        "operator": (operator, slices.names.texts()),
        "core": (np.where(joins.device_work, np.int8(0), np.int8(-1)), ["GPU"]),
        "type": kernel_types(slices, joins.device_work),
        "module": pytorch.modules(slices, joins.launch, argument["module"], arguments.texts["module"]),
        "input_shapes": (argument["input_shapes"], _decoded(arguments.texts["input_shapes"])),
        "dtypes": (argument["dtypes"], _decoded(arguments.texts["dtypes"])),
    }


def _decoded(texts: Codes) -> list[str | None]:
    return [text.decode("utf-8", "replace") for text in texts]
