"""Communication calls of a rank: the slices of kind ``collective``, with what the vendor says of their parts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.mindinsight.communication import Communication
from stepscope.readers.mindinsight.step_trace import StepTrace
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import nullable


def calls(
    slices: SliceTable, step: npt.NDArray[np.int64], trace: StepTrace, communication: Communication, group: str | None
) -> pl.DataFrame:
    """Rows of ``collectives``; ``step`` is the step of each slice, ``group`` that of all ranks of the stage."""
    kinds, words = slices.texts["type"]
    names = slices.names.texts()
    known = {(call.start, call.end, call.name): call for call in trace.calls}
    rows = []
    positions = np.flatnonzero(slices.is_kind("collective"))
    for position in positions.tolist():
        start, end = int(slices.start[position]), int(slices.end[position])
        name = names[slices.name[position]] or ""
        call = known.get((start, end, name))
        parts = communication.of(call) if call is not None else {}
        in_stage = call is not None and communication.within_stage.get(call.column, False)
        rows.append(
            {
                "slice": int(slices.id[position]),
                "kind": words[kinds[position]] if kinds[position] >= 0 else "other",
                "name": name,
                "start_ns": start,
                "end_ns": end,
                "group": group if in_stage else None,
                "transit_ns": None,
                "wait_ns": None,
                **parts,
            }
        )
    if not rows:
        return pl.DataFrame()
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        step=nullable(step[positions]), stream=nullable(slices.integers["stream"][positions])
    )
